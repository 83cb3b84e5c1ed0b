//===- PackedRoutine.cpp - Functions that kernels of products share -------===//
//
// See PackedRoutine.h.
//
//===----------------------------------------------------------------------===//

#include "PackedRoutine.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tenon::codegen {

func::FuncOp
packedRoutine(KernelBuilder &k, StringRef name, ArrayRef<Type> arguments,
              llvm::function_ref<void(OpBuilder &, ValueRange)> emit) {
  auto module = k.function->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto function =
      func::FuncOp::create(b, k.loc, name, b.getFunctionType(arguments, {}));
  function.setPrivate();
  b.setInsertionPointToEnd(function.addEntryBlock());
  emit(b, function.getArguments());
  func::ReturnOp::create(b, k.loc);
  return function;
}

Type pointerType(KernelBuilder &k) {
  k.builder.getContext()->loadDialect<LLVM::LLVMDialect>();
  return LLVM::LLVMPointerType::get(k.builder.getContext());
}

Value asInteger(KernelBuilder &k, Value index) {
  return k.create<arith::IndexCastOp>(k.builder.getI64Type(), index);
}

Value addressOf(KernelBuilder &k, const PackedPlace &place) {
  Type pointer = pointerType(k);
  Value start =
      k.create<memref::ExtractAlignedPointerAsIndexOp>(place.matrix.memref);
  Value offset =
      k.algebra.scalar((place.row * place.matrix.stride + place.column) *
                       place.matrix.elementBytes());
  Value sum = k.create<arith::AddIOp>(start, offset);
  return k.create<LLVM::IntToPtrOp>(pointer, asInteger(k, sum));
}

} // namespace tenon::codegen
