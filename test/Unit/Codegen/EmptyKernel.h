//===- EmptyKernel.h - A kernel function that a test fills ---------------===//
//
// What the templates of the code generator write, by hand.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_CODEGEN_EMPTYKERNEL_H
#define TENON_TEST_UNIT_CODEGEN_EMPTYKERNEL_H

#include "tenon/Codegen/Loops/KernelNest.h"

namespace tenon::codegen {

struct KernelFunction {
  mlir::func::FuncOp function;
  /// One memref per kernel argument.
  llvm::SmallVector<mlir::Value> arguments;
  /// Of type index; 0 <= part < parts.
  mlir::Value part;
  mlir::Value parts;
};

/// Appends to `module` the function whose C symbol will be `name`, ends its
/// body with `return` and leaves `builder` in front of that.
inline KernelFunction
createKernelFunction(mlir::OpBuilder &builder, mlir::ModuleOp module,
                     llvm::StringRef name,
                     llvm::ArrayRef<mlir::MemRefType> arguments) {
  using namespace mlir;
  Location loc = module.getLoc();
  SmallVector<Type> types(arguments.begin(), arguments.end());
  types.append(2, builder.getIndexType());

  builder.setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, loc, (name + ".body").str(),
                           builder.getFunctionType(types, TypeRange()));
  markKernelFunction(function, name);

  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  auto end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);

  KernelFunction kernel{function};
  auto values = entry->getArguments();
  kernel.arguments.assign(values.begin(), values.end() - 2);
  kernel.part = values[values.size() - 2];
  kernel.parts = values[values.size() - 1];
  return kernel;
}

} // namespace tenon::codegen

#endif // TENON_TEST_UNIT_CODEGEN_EMPTYKERNEL_H
