//===- SharedTiles.cpp - Tiles in the memory that a block shares ----------===//
//
// See SharedTiles.h.
//
//===----------------------------------------------------------------------===//

#include "SharedTiles.h"

#include "tenon/Codegen/Loops/PointwiseOperations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tenon::codegen {

static constexpr int64_t bytesOfLine = 128; // all banks

static Type pointerTo(MLIRContext *context, NVVM::NVVMMemorySpace space) {
  return LLVM::LLVMPointerType::get(context, unsigned(space));
}

SharedTiles::SharedTiles(GpuKernelBuilder &k)
    : k(k),
      pointer(pointerTo(k.builder.getContext(), NVVM::NVVMMemorySpace::Shared)),
      i32(k.builder.getI32Type()) {}

Value SharedTiles::sharedMemory(int64_t bytes) {
  OpBuilder before(k.function);
  auto global = LLVM::GlobalOp::create(
      before, k.loc, LLVM::LLVMArrayType::get(before.getI8Type(), bytes),
      /*isConstant=*/false, LLVM::Linkage::Private,
      (k.function.getName() + ".tiles").str(), Attribute(),
      /*alignment=*/bytesOfLine, unsigned(NVVM::NVVMMemorySpace::Shared));
  return k.create<LLVM::AddressOfOp>(global);
}

Value SharedTiles::addressAt(Value base, Value bytes) {
  Value offset = k.create<arith::IndexCastOp>(k.builder.getI64Type(), bytes);
  return k.create<LLVM::GEPOp>(pointer, k.builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
}

Value SharedTiles::addressAt(Value base, const IndexExpression &bytes) {
  IndexExpression variable = bytes;
  variable.constant = 0;
  if (!variable.isConstant())
    base = addressAt(base, k.algebra.scalar(variable));
  if (!bytes.constant)
    return base;
  // Becomes part of the instruction that uses it.
  return k.create<LLVM::GEPOp>(pointer, k.builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(bytes.constant)});
}

IndexExpression SharedTiles::swizzled(const IndexExpression &row,
                                      const IndexExpression &chunk,
                                      int64_t chunks, bool pairs) {
  const int64_t rowsOfLine =
      std::max<int64_t>(bytesOfLine / (chunks * bytesOfAccess), 1);
  const int64_t factor = pairs ? 2 : 1;
  const int64_t keys = std::min(chunks, bytesOfLine / bytesOfAccess) / factor;
  if (keys <= 1)
    return chunk;
  IndexExpression key =
      k.algebra.mod(k.algebra.floorDiv(row, rowsOfLine), keys) * factor;
  if (key.isConstant() && chunk.isConstant())
    return key.constant ^ chunk.constant;
  unsigned level = std::max(k.algebra.level(key), k.algebra.level(chunk));
  Value a = k.algebra.scalar(chunk), b = k.algebra.scalar(key);
  Value place = k.levels.createAt<arith::XOrIOp>(level, k.loc, a, b);
  return k.algebra.uniform(place, {0, chunks - 1}, level);
}

void SharedTiles::store(Value address, Value value) {
  int64_t bytes = 0;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    bytes = vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  else
    bytes = value.getType().getIntOrFloatBitWidth() / 8;
  k.create<LLVM::StoreOp>(value, address, unsigned(bytes));
}

Value SharedTiles::load(Value address, Type type) {
  int64_t bytes = 0;
  if (auto vector = dyn_cast<VectorType>(type))
    bytes = vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  else
    bytes = type.getIntOrFloatBitWidth() / 8;
  return k.create<LLVM::LoadOp>(type, address, unsigned(bytes));
}

void SharedTiles::beginCopy(Value to, const Buffer &from,
                            const IndexExpression &position, int64_t bytes,
                            Value condition) {
  Type i64 = k.builder.getI64Type();
  // The memory of arguments is global.
  Value begin = k.create<memref::ExtractAlignedPointerAsIndexOp>(from.memref);
  begin = k.create<arith::IndexCastOp>(i64, begin);
  Value offset = k.algebra.scalar(position * bytesOf(from.elementType));
  offset = k.create<arith::IndexCastOp>(i64, offset);
  Value place = k.create<arith::AddIOp>(begin, offset);
  beginCopy(to,
            k.create<LLVM::IntToPtrOp>(pointerTo(k.builder.getContext(),
                                                 NVVM::NVVMMemorySpace::Global),
                                       place),
            bytes, condition);
}

void SharedTiles::beginCopy(Value to, Value address, int64_t bytes,
                            Value condition) {
  Value count;
  if (condition)
    count = k.create<arith::SelectOp>(
        condition, numberOfType(k.builder, k.loc, i32, double(bytes)),
        numberOfType(k.builder, k.loc, i32, 0));
  // Copies of 16 bytes need not come by the cache of one multiprocessor.
  k.create<NVVM::CpAsyncOp>(to, address, uint32_t(bytes),
                            bytes == bytesOfAccess
                                ? NVVM::LoadCacheModifierKind::CG
                                : NVVM::LoadCacheModifierKind::CA,
                            count);
}

void SharedTiles::endGroup() { k.create<NVVM::CpAsyncCommitGroupOp>(); }

void SharedTiles::awaitGroups(uint32_t left) {
  k.create<NVVM::CpAsyncWaitGroupOp>(left);
}

} // namespace tenon::codegen
