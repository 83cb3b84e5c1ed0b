//===- KernelBuilder.cpp - A kernel function under construction -----------===//
//
// Buffers, loops and parts.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

KernelBuilder::KernelBuilder(const KernelSource &source, func::FuncOp function,
                             int64_t scratchParts,
                             const Instructions &instructions)
    : KernelNest(source, function, instructions), scratchParts(scratchParts) {
  auto arguments = function.getArguments();
  parts = arguments.back();
  part = arguments.drop_back().back();
  if (scratchParts)
    parts = create<arith::MinUIOp>(parts, constantIndex(scratchParts));
}

/// Instructions of the usual cost are 1; a gather is as many loads as it has
/// lanes, and a vector of integer divisions has no instruction.
static double costOf(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>())
    return 0;
  if (isa<vector::GatherOp, vector::ScatterOp>(op))
    return vectorLanes * 1.5;
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return 8;
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
          arith::FloorDivSIOp>(op))
    return isa<VectorType>(op.getResult(0).getType()) ? 24 : 4;
  if (isa<scf::ForOp>(op))
    return 3;
  return 1;
}

double KernelBuilder::cost() const {
  double sum = 0;
  for (auto [block, times] : runs)
    for (Operation &op : *block)
      sum += times * costOf(op);
  return sum;
}

std::pair<Value, Value> KernelBuilder::unitBounds(int64_t count) {
  Value total = constantIndex(count);
  Value next = create<arith::AddIOp>(part, constantIndex(1));
  auto bound = [&](Value p) -> Value {
    Value product = create<arith::MulIOp>(total, p);
    return create<arith::DivUIOp>(product, parts);
  };
  Value low = bound(part), high = bound(next);
  // A part beyond the largest number of parts has nothing to do.
  if (scratchParts)
    high = create<arith::MinUIOp>(high, total);
  return {low, high};
}

void KernelBuilder::forUnits(int64_t count, Body body) {
  if (count == 1) {
    // One unit belongs to the last part; a loop of one trip would only hide it.
    Value last = create<arith::AddIOp>(part, constantIndex(1));
    Value mine = create<arith::CmpIOp>(arith::CmpIPredicate::eq, last, parts);
    ifThen(mine, [&] { body(0); });
    return;
  }
  auto [low, high] = unitBounds(count);
  forLoop(low, high, 1, {0, count - 1}, 1, false, body);
}

void KernelBuilder::forBlock(
    const IndexExpression &block, int64_t count, int64_t size,
    llvm::function_ref<void(const IndexExpression &, int64_t)> body) {
  int64_t whole = count / size, rest = count % size;
  if (!whole)
    return body(0, rest);
  if (!rest)
    return body(block * size, size);
  Value index = algebra.scalar(block);
  Value limit = constantIndex(whole);
  Value isWhole =
      create<arith::CmpIOp>(arith::CmpIPredicate::ult, index, limit);
  ifThen(isWhole, [&] {
    // A variable of its own range: the block is known to be a whole one.
    IndexExpression inside =
        block.isConstant()
            ? block
            : algebra.uniform(index, {0, whole - 1}, levels.current());
    body(inside * size, size);
  });
  Value isRest = create<arith::CmpIOp>(arith::CmpIPredicate::uge, index, limit);
  ifThen(isRest, [&] { body(whole * size, rest); });
}

KernelBuilder::Values KernelBuilder::carryingTail(
    int64_t first, int64_t extent,
    llvm::function_ref<Values(const IndexExpression &)> body) {
  int64_t count = extent - first;
  assert(count > 0 && count < algebra.lanes);
  auto type = VectorType::get({algebra.lanes}, builder.getI1Type());
  Value outer = points.mask;
  assert(!outer && "a tail inside of a tail");
  points.mask = levels.createAt<vector::ConstantMaskOp>(
      0, loc, type, ArrayRef<int64_t>{count});
  points.maskLevel = 0;
  IndexExpression index =
      algebra.laneVariable(constantIndex(first), {first, extent - 1},
                           levels.current(), first ? first : 1 << 20);
  Values results = body(index);
  points.mask = outer;
  return results;
}

void KernelBuilder::tail(int64_t first, int64_t extent, Body body) {
  carryingTail(first, extent, [&](const IndexExpression &index) {
    body(index);
    return Values();
  });
}

void KernelBuilder::forLanes(int64_t extent, Body body) {
  int64_t whole = extent - extent % algebra.lanes;
  if (whole)
    forLoop(constantIndex(0), constantIndex(whole), algebra.lanes,
            {0, whole - 1}, algebra.lanes, true, body);
  if (whole != extent)
    tail(whole, extent, body);
}

void KernelBuilder::forLanes(int64_t extent, const IndexExpression &block,
                             int64_t length, Body body) {
  if (length >= extent)
    return forLanes(extent, body);
  int64_t whole = extent - extent % algebra.lanes;
  Value low = algebra.scalar(block * length);
  Value high = algebra.scalar(block * length + length);
  Value end = create<arith::MinUIOp>(high, constantIndex(whole));
  forLoop(low, end, algebra.lanes, {0, whole - 1}, algebra.lanes, true, body,
          double(length) / algebra.lanes);
  if (whole == extent)
    return;
  Value isLast = create<arith::CmpIOp>(arith::CmpIPredicate::uge, high,
                                       constantIndex(extent));
  ifThen(isLast, [&] { tail(whole, extent, body); });
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

MaskedVectors::MaskedVectors(KernelBuilder &k, int64_t points)
    : k(k), whole(points / vectorLanes) {
  if (int64_t rest = points % vectorLanes)
    k.tail(0, rest, [&](const IndexExpression &) { tailMask = k.points.mask; });
}

void MaskedVectors::forEach(llvm::function_ref<void(int64_t)> body) const {
  k.points.maskLevel = 0;
  for (int64_t vector = 0; vector < count(); ++vector) {
    k.points.mask = vector < whole ? Value() : tailMask;
    body(vector);
  }
  k.points.mask = Value();
}

} // namespace tenon::codegen
