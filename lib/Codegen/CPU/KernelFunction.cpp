//===- KernelFunction.cpp - The function a kernel is emitted into ---------===//
//
// The attributes say what the planner guarantees: arguments do not overlap (an
// operand updated in place is one argument, never two) and are aligned.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/KernelFunction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tenon::codegen {

void markKernelFunction(func::FuncOp function, StringRef name) {
  Builder builder(function.getContext());
  function.setPrivate();
  function->setAttr(kernelSymbolAttribute, builder.getStringAttr(name));
  for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i) {
    auto type = dyn_cast<MemRefType>(function.getArgumentTypes()[i]);
    if (!type)
      continue;
    assert(type.hasStaticShape() && type.getLayout().isIdentity() &&
           "a kernel argument has a static shape and the identity layout");
    assert(!type.getElementType().isInteger(1) && "pass booleans as i8");
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(kernelArgumentAlignment));
  }
}

} // namespace tenon::codegen
