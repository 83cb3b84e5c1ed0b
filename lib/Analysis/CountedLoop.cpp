//===- CountedLoop.cpp - Loops that run a known number of times -----------===//
//
// See CountedLoop.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/CountedLoop.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

/// The value of a constant of one integer element.
static std::optional<int64_t> constantOf(Value value) {
  DenseIntElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) ||
      elements.getNumElements() != 1)
    return std::nullopt;
  APInt integer = *elements.value_begin<APInt>();
  return integer.getBitWidth() <= 64 ? std::optional(integer.getSExtValue())
                                     : std::nullopt;
}

namespace {
/// factor * counter + offset
struct Affine {
  int64_t factor = 0, offset = 0;
};
} // namespace

/// Sums and differences of the counter and constants. The numbers met are
/// small: each is checked against the trip count in the end, and a chain that
/// could overflow on the way is not followed.
static std::optional<Affine> affineOf(Value value, Value counter,
                                      int depth = 8) {
  constexpr int64_t most = int64_t(1) << 24;
  if (value == counter)
    return Affine{1, 0};
  if (auto constant = constantOf(value))
    return std::abs(*constant) <= most ? std::optional(Affine{0, *constant})
                                       : std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!depth || !op || !isa<AddOp, SubtractOp>(op))
    return std::nullopt;
  auto left = affineOf(op->getOperand(0), counter, depth - 1);
  auto right = affineOf(op->getOperand(1), counter, depth - 1);
  if (!left || !right)
    return std::nullopt;
  int64_t sign = isa<AddOp>(op) ? 1 : -1;
  return Affine{left->factor + sign * right->factor,
                left->offset + sign * right->offset};
}

std::optional<CountedLoop> CountedLoop::recognize(WhileOp op) {
  auto returned =
      cast<stablehlo::ReturnOp>(op.getCond().front().getTerminator());
  auto compare = returned.getOperand(0).getDefiningOp<CompareOp>();
  if (!compare || compare.getComparisonDirection() != ComparisonDirection::LT)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  auto bound = constantOf(compare.getRhs());
  if (!counter || counter.getOwner() != &op.getCond().front() || !bound)
    return std::nullopt;
  unsigned position = counter.getArgNumber();
  // An index of 32 bits holds every number met below; so does a wider one.
  auto type = dyn_cast<IntegerType>(
      cast<RankedTensorType>(counter.getType()).getElementType());
  if (!type || type.isUnsigned() || type.getWidth() < 32 || *bound < 1 ||
      *bound > int64_t(1) << 24 || constantOf(op->getOperand(position)) != 0)
    return std::nullopt;
  Block &body = op.getBody().front();
  auto next = affineOf(body.getTerminator()->getOperand(position),
                       body.getArgument(position));
  if (!next || next->factor != 1 || next->offset != 1)
    return std::nullopt;
  return CountedLoop(op, *bound, position);
}

std::optional<CountedLoop::Direction>
CountedLoop::directionOf(Value index) const {
  auto affine = affineOf(index, counter());
  if (affine && affine->factor == 1 && affine->offset == 0)
    return Direction::upwards;
  if (affine && affine->factor == -1 && affine->offset == tripCount - 1)
    return Direction::downwards;
  return std::nullopt;
}

static bool startsAtZero(ValueRange starts) {
  return llvm::all_of(starts.drop_front(),
                      [](Value start) { return constantOf(start) == 0; });
}

bool tenon::takesOneOfFirst(DynamicSliceOp slice) {
  ArrayRef<int64_t> from =
      cast<RankedTensorType>(slice.getOperand().getType()).getShape();
  ArrayRef<int64_t> to = cast<RankedTensorType>(slice.getType()).getShape();
  return !from.empty() && to.front() == 1 &&
         from.drop_front() == to.drop_front();
}

SmallVector<CountedLoop::Stack> CountedLoop::stacks() const {
  SmallVector<Stack> result;
  Operation *next = body().getTerminator();
  for (auto [position, value] : llvm::enumerate(next->getOperands())) {
    auto write = value.getDefiningOp<DynamicUpdateSliceOp>();
    Value carried = body().getArgument(position);
    if (!write || write->getBlock() != &body() ||
        write.getOperand() != carried || !carried.hasOneUse() ||
        !write->hasOneUse() ||
        !op.getCond().front().getArgument(position).use_empty())
      continue;
    ArrayRef<int64_t> whole =
        cast<RankedTensorType>(carried.getType()).getShape();
    ArrayRef<int64_t> part =
        cast<RankedTensorType>(write.getUpdate().getType()).getShape();
    if (whole.empty() || whole.front() != tripCount || part.front() != 1 ||
        whole.drop_front() != part.drop_front() ||
        !startsAtZero(write.getStartIndices()) ||
        !directionOf(write.getStartIndices().front()))
      continue;
    result.push_back({unsigned(position), write});
  }
  return result;
}
