//===- GpuKernelBuilder.cpp - A GPU kernel under construction -------------===//
//
// See GpuKernelBuilder.h.
//
//===----------------------------------------------------------------------===//

#include "GpuKernelBuilder.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

void describeLaunch(func::FuncOp function, const KernelSource &source,
                    const LaunchShape &launch) {
  Builder builder(function.getContext());
  function->setAttr(launchAttribute,
                    builder.getDenseI64ArrayAttr(
                        {launch.parts, launch.threads, launch.scratchBytes}));
  // What nobody writes is read through the cache for that.
  for (unsigned i = 0; i < source.body->getNumArguments(); ++i)
    if (!llvm::is_contained(source.inPlace, i))
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                          builder.getUnitAttr());
}

GpuKernelBuilder::GpuKernelBuilder(const KernelSource &source,
                                   func::FuncOp function,
                                   const LaunchShape &launch,
                                   const GpuInstructions &instructions)
    : KernelNest(source, function, instructions), launch(launch) {
  auto number = [&](Value id, int64_t count) {
    Value index =
        create<arith::IndexCastUIOp>(builder.getIndexType(), id).getResult();
    return algebra.uniform(index, {0, count - 1}, 0);
  };
  Type i32 = builder.getI32Type();
  block = number(create<NVVM::BlockIdXOp>(i32), launch.parts);
  thread = number(create<NVVM::ThreadIdXOp>(i32), launch.threads);
  describeLaunch(function, source, launch);
}

int64_t longestVector(const KernelSource &source, int64_t elements) {
  int64_t narrowest = bytesOfAccess / 2;
  auto look = [&](Value tensor) {
    if (elementCount(shapeOf(tensor)) >= elements)
      narrowest = std::min(narrowest, bytesOf(elementOf(tensor)));
  };
  llvm::for_each(source.results(), look);
  llvm::for_each(source.body->getArguments(), look);
  // Bytes would take more registers than they are worth.
  return std::min<int64_t>(bytesOfAccess / narrowest, 8);
}

Buffer GpuKernelBuilder::sharedMemory(int64_t elements, Type elementType) {
  auto type = MemRefType::get(
      {elements}, storageType(elementType), MemRefLayoutAttrInterface(),
      builder.getI64IntegerAttr(int64_t(NVVM::NVVMMemorySpace::Shared)));
  std::string name =
      (function.getName() + ".shared" + Twine(sharedMemories++)).str();
  OpBuilder before(function);
  memref::GlobalOp::create(before, loc, name, before.getStringAttr("private"),
                           type, before.getUnitAttr(), /*constant=*/false,
                           before.getI64IntegerAttr(bytesOfAccess));
  Buffer buffer;
  buffer.memref = create<memref::GetGlobalOp>(type, name);
  buffer.shape = {elements};
  buffer.elementType = elementType;
  buffer.isWritten = true;
  return buffer;
}

void GpuKernelBuilder::awaitBlock() { create<NVVM::Barrier0Op>(); }

void GpuKernelBuilder::awaitWarp() {
  create<NVVM::SyncWarpOp>(
      create<arith::ConstantOp>(builder.getI32IntegerAttr(-1)).getResult());
}

IndexExpression GpuKernelBuilder::vectorAt(const IndexExpression &first,
                                           int64_t extent) {
  if (algebra.lanes == 1)
    return first;
  return algebra.laneVariable(algebra.scalar(first), {0, extent - 1},
                              levels.current(), algebra.lanes);
}

/// It has to be 32 bits for the instruction.
Value GpuKernelBuilder::fromLane(Value value, int64_t distance, int64_t group) {
  Type type = value.getType();
  const unsigned width = type.getIntOrFloatBitWidth();
  Type i32 = builder.getI32Type(), bits = builder.getIntegerType(width);
  if (type != bits)
    value = create<arith::BitcastOp>(bits, value);
  auto integer = [&](int64_t number) -> Value {
    return create<arith::ConstantOp>(
        builder.getI32IntegerAttr(int32_t(number)));
  };
  auto shuffle = [&](Value word) -> Value {
    if (distance)
      return create<NVVM::ShflOp>(i32, integer(-1), word, integer(distance),
                                  integer(threadsOfWarp - 1),
                                  NVVM::ShflKind::down, UnitAttr());
    // Lanes of a group have the bits of this mask in common.
    const int64_t segment = (threadsOfWarp - group) << 8;
    return create<NVVM::ShflOp>(i32, integer(-1), word, integer(0),
                                integer(segment | (threadsOfWarp - 1)),
                                NVVM::ShflKind::idx, UnitAttr());
  };
  if (width <= 32) {
    if (width < 32)
      value = create<arith::ExtUIOp>(i32, value);
    value = shuffle(value);
    if (width < 32)
      value = create<arith::TruncIOp>(bits, value);
  } else {
    Value half = create<arith::ConstantOp>(builder.getI64IntegerAttr(32));
    Value high = create<arith::TruncIOp>(
        i32, create<arith::ShRUIOp>(value, half).getResult());
    Value low = create<arith::TruncIOp>(i32, value);
    high = create<arith::ExtUIOp>(bits, shuffle(high));
    low = create<arith::ExtUIOp>(bits, shuffle(low));
    value = create<arith::OrIOp>(create<arith::ShLIOp>(high, half).getResult(),
                                 low);
  }
  return type == bits ? value : Value(create<arith::BitcastOp>(type, value));
}

/// Vectors are computed lane by lane.
static double costOf(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>())
    return 0;
  double lanes = 1;
  if (op.getNumResults() && !isa<vector::LoadOp>(op))
    if (auto type = dyn_cast<VectorType>(op.getResult(0).getType()))
      lanes = double(type.getNumElements());
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return 8 * lanes;
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
          arith::FloorDivSIOp>(op))
    return 4 * lanes;
  return lanes;
}

double GpuKernelBuilder::cost() const {
  double sum = 0;
  for (auto [block, times] : runs)
    for (Operation &op : *block)
      sum += times * costOf(op);
  return sum;
}

void GpuKernelBuilder::ifBelow(
    const IndexExpression &expression, int64_t limit,
    llvm::function_ref<void(const IndexExpression &)> body) {
  auto [low, high] = algebra.range(expression);
  if (high < limit)
    return body(expression);
  Value index = algebra.scalar(expression);
  Value isBelow = create<arith::CmpIOp>(arith::CmpIPredicate::ult, index,
                                        constantIndex(limit));
  ifThen(isBelow, [&] {
    // A variable of its own range.
    body(algebra.uniform(index, {low, limit - 1}, levels.current(),
                         algebra.knownMultiple(expression)));
  });
}

} // namespace tenon::codegen
