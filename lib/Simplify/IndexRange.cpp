//===- IndexRange.cpp - Bounds of integer values --------------------------===//
//
// Interval arithmetic over definitions, to a fixed depth so that it stays cheap
// inside rewrites. A result that could wrap around in its type has no range.
//
// Example: i counts a loop of 8 rounds, so i is in [0, 7]; 7 - i is in [0, 7];
// compare LT (7 - i), 0 is false; the select on it is its second operand.
//
//===----------------------------------------------------------------------===//

#include "IndexRange.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {
namespace {

constexpr int maximalDepth = 10;

using Range = std::optional<IndexRange>;

IntegerType integerElement(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? dyn_cast<IntegerType>(tensor.getElementType())
                : IntegerType();
}

/// What the type itself can hold, in 64 signed bits; for ui64 half of it.
IndexRange typeRange(IntegerType type) {
  unsigned width = type.getWidth();
  if (type.isUnsigned() || width == 1)
    return {0, width >= 63 ? std::numeric_limits<int64_t>::max()
                           : (int64_t(1) << width) - 1};
  int64_t high = llvm::maxIntN(width);
  return {-high - 1, high};
}

Range within(IntegerType type, Range range) {
  if (!range)
    return range;
  IndexRange whole = typeRange(type);
  if (range->low < whole.low || range->high > whole.high)
    return std::nullopt;
  return range;
}

Range find(Value value, int depth);
std::optional<bool> findTruth(Value value, int depth);

Range ofConstant(ConstantOp op, IntegerType type) {
  auto values = dyn_cast<DenseIntElementsAttr>(op.getValue());
  if (!values || values.empty() || (!values.isSplat() && values.size() > 4096))
    return std::nullopt;
  auto read = [&](const APInt &value) -> int64_t {
    return type.isUnsigned() || type.getWidth() == 1
               ? int64_t(value.getZExtValue())
               : value.getSExtValue();
  };
  if (type.isUnsigned() && type.getWidth() == 64)
    for (const APInt &value : values.getValues<APInt>())
      if (value.isNegative())
        return std::nullopt;
  if (values.isSplat()) {
    int64_t value = read(values.getSplatValue<APInt>());
    return IndexRange{value, value};
  }
  IndexRange range{std::numeric_limits<int64_t>::max(),
                   std::numeric_limits<int64_t>::min()};
  for (const APInt &value : values.getValues<APInt>()) {
    range.low = std::min(range.low, read(value));
    range.high = std::max(range.high, read(value));
  }
  return range;
}

/// The counter of a loop: starts at a known value, grows by a positive
/// constant, and the condition keeps it below a known bound.
Range ofLoopCounter(BlockArgument argument, int depth) {
  auto loop = dyn_cast<WhileOp>(argument.getOwner()->getParentOp());
  if (!loop || argument.getOwner()->getParent() != &loop.getBody())
    return std::nullopt;
  unsigned number = argument.getArgNumber();
  Range start = find(loop.getOperand()[number], depth + 1);
  if (!start)
    return std::nullopt;
  Block &body = loop.getBody().front();
  auto next = body.getTerminator()->getOperand(number).getDefiningOp<AddOp>();
  if (!next)
    return std::nullopt;
  Value step = next.getLhs() == argument   ? next.getRhs()
               : next.getRhs() == argument ? next.getLhs()
                                           : Value();
  auto stepConstant = step ? step.getDefiningOp<ConstantOp>() : ConstantOp();
  Range stepRange = stepConstant
                        ? ofConstant(stepConstant, integerElement(step))
                        : std::nullopt;
  if (!stepRange || stepRange->low < 1)
    return std::nullopt;
  Block &condition = loop.getCond().front();
  auto test =
      condition.getTerminator()->getOperand(0).getDefiningOp<CompareOp>();
  if (!test || test.getLhs() != condition.getArgument(number))
    return std::nullopt;
  // The bound must not change from round to round: a constant, a value from
  // outside, or a carried value that the body hands on.
  Value boundValue = test.getRhs();
  if (auto carried = dyn_cast<BlockArgument>(boundValue);
      carried && carried.getOwner() == &condition) {
    unsigned position = carried.getArgNumber();
    if (body.getTerminator()->getOperand(position) !=
        body.getArgument(position))
      return std::nullopt;
    boundValue = loop.getOperand()[position];
  }
  Range bound = find(boundValue, depth + 1);
  if (!bound)
    return std::nullopt;
  int64_t high = bound->high;
  if (test.getComparisonDirection() == ComparisonDirection::LT)
    --high;
  else if (test.getComparisonDirection() != ComparisonDirection::LE)
    return std::nullopt;
  // The counter after the last round must not wrap.
  if (!within(integerElement(argument),
              IndexRange{start->low, high + stepRange->high}))
    return std::nullopt;
  return IndexRange{start->low, std::max(high, start->low)};
}

Range sum(IndexRange a, IndexRange b) {
  IndexRange result;
  if (llvm::AddOverflow(a.low, b.low, result.low) ||
      llvm::AddOverflow(a.high, b.high, result.high))
    return std::nullopt;
  return result;
}

Range product(IndexRange a, IndexRange b) {
  int64_t corners[4];
  if (llvm::MulOverflow(a.low, b.low, corners[0]) ||
      llvm::MulOverflow(a.low, b.high, corners[1]) ||
      llvm::MulOverflow(a.high, b.low, corners[2]) ||
      llvm::MulOverflow(a.high, b.high, corners[3]))
    return std::nullopt;
  return IndexRange{*std::min_element(corners, corners + 4),
                    *std::max_element(corners, corners + 4)};
}

Range ofBinary(Operation *op, int depth) {
  Range a = find(op->getOperand(0), depth + 1);
  // A remainder by a positive number is small whatever it divides.
  if (isa<RemainderOp>(op)) {
    Range b = find(op->getOperand(1), depth + 1);
    if (!b || b->low < 1)
      return std::nullopt;
    int64_t limit = b->high - 1;
    bool positive =
        integerElement(op->getOperand(0)).isUnsigned() || (a && a->low >= 0);
    return IndexRange{positive ? 0 : -limit, limit};
  }
  if (isa<AndOp>(op)) {
    // Masking with a number that is not negative.
    Range b = find(op->getOperand(1), depth + 1);
    int64_t high = -1;
    for (Range side : {a, b})
      if (side && side->low >= 0)
        high = high < 0 ? side->high : std::min(high, side->high);
    return high < 0 ? std::nullopt : Range(IndexRange{0, high});
  }
  if (!a)
    return std::nullopt;
  Range b = find(op->getOperand(1), depth + 1);
  if (!b)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Range>(op)
      .Case<AddOp>([&](auto) { return sum(*a, *b); })
      .Case<SubtractOp>([&](auto) -> Range {
        if (b->low == std::numeric_limits<int64_t>::min())
          return std::nullopt;
        return sum(*a, IndexRange{-b->high, -b->low});
      })
      .Case<MultiplyOp>([&](auto) { return product(*a, *b); })
      .Case<MaximumOp>([&](auto) {
        return IndexRange{std::max(a->low, b->low), std::max(a->high, b->high)};
      })
      .Case<MinimumOp>([&](auto) {
        return IndexRange{std::min(a->low, b->low), std::min(a->high, b->high)};
      })
      .Case<DivideOp>([&](auto) -> Range {
        if (a->low < 0 || b->low < 1)
          return std::nullopt;
        return IndexRange{a->low / b->high, a->high / b->low};
      })
      .Default([](Operation *) { return std::nullopt; });
}

Range ofOperation(Operation *op, IntegerType type, int depth) {
  return llvm::TypeSwitch<Operation *, Range>(op)
      .Case<ConstantOp>(
          [&](ConstantOp constant) { return ofConstant(constant, type); })
      .Case<IotaOp>([&](IotaOp iota) -> Range {
        int64_t extent = cast<RankedTensorType>(iota.getType())
                             .getDimSize(int64_t(iota.getIotaDimension()));
        return IndexRange{0, std::max<int64_t>(extent - 1, 0)};
      })
      .Case<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp,
            DynamicSliceOp, GatherOp>(
          [&](auto) { return find(op->getOperand(0), depth + 1); })
      .Case<ConvertOp>([&](auto) -> Range {
        // Into a type that holds the whole range, nothing wraps.
        return integerElement(op->getOperand(0))
                   ? find(op->getOperand(0), depth + 1)
                   : std::nullopt;
      })
      .Case<AddOp, SubtractOp, MultiplyOp, MaximumOp, MinimumOp, DivideOp,
            RemainderOp, AndOp>([&](auto) { return ofBinary(op, depth); })
      .Case<SelectOp>([&](SelectOp select) -> Range {
        if (std::optional<bool> truth = findTruth(select.getPred(), depth + 1))
          return find(*truth ? select.getOnTrue() : select.getOnFalse(),
                      depth + 1);
        Range a = find(select.getOnTrue(), depth + 1);
        if (!a)
          return std::nullopt;
        Range b = find(select.getOnFalse(), depth + 1);
        if (!b)
          return std::nullopt;
        return IndexRange{std::min(a->low, b->low), std::max(a->high, b->high)};
      })
      .Case<ClampOp>([&](ClampOp clamp) -> Range {
        Range low = find(clamp.getMin(), depth + 1);
        Range high = find(clamp.getMax(), depth + 1);
        if (!low || !high || low->high > high->low)
          return std::nullopt;
        return IndexRange{low->low, high->high};
      })
      .Case<ConcatenateOp>([&](ConcatenateOp concatenate) -> Range {
        Range joined;
        for (Value input : concatenate.getInputs()) {
          Range range = find(input, depth + 1);
          if (!range)
            return std::nullopt;
          joined = joined ? IndexRange{std::min(joined->low, range->low),
                                       std::max(joined->high, range->high)}
                          : *range;
        }
        return joined;
      })
      .Default([](Operation *) { return std::nullopt; });
}

Range find(Value value, int depth) {
  IntegerType type = integerElement(value);
  if (!type || type.getWidth() > 64 || depth > maximalDepth)
    return std::nullopt;
  Range range;
  if (Operation *op = value.getDefiningOp())
    range = ofOperation(op, type, depth);
  else
    range = ofLoopCounter(cast<BlockArgument>(value), depth);
  return within(type, range);
}

std::optional<bool> compareRanges(CompareOp op, int depth) {
  IntegerType type = integerElement(op.getLhs());
  if (!type || type.getWidth() == 1)
    return std::nullopt;
  // A loop's own test must not decide itself.
  Range a = find(op.getLhs(), depth + 1);
  if (!a)
    return std::nullopt;
  Range b = find(op.getRhs(), depth + 1);
  if (!b)
    return std::nullopt;
  bool below = a->high < b->low, notAbove = a->high <= b->low;
  bool above = a->low > b->high, notBelow = a->low >= b->high;
  bool same = a->isPoint() && b->isPoint() && a->low == b->low;
  bool apart = below || above;
  auto decide = [](bool yes, bool no) -> std::optional<bool> {
    if (yes)
      return true;
    if (no)
      return false;
    return std::nullopt;
  };
  switch (op.getComparisonDirection()) {
  case ComparisonDirection::EQ:
    return decide(same, apart);
  case ComparisonDirection::NE:
    return decide(apart, same);
  case ComparisonDirection::LT:
    return decide(below, notBelow);
  case ComparisonDirection::LE:
    return decide(notAbove, above);
  case ComparisonDirection::GT:
    return decide(above, notAbove);
  case ComparisonDirection::GE:
    return decide(notBelow, below);
  }
  return std::nullopt;
}

std::optional<bool> findTruth(Value value, int depth) {
  if (depth > maximalDepth)
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto compare = dyn_cast<CompareOp>(op))
    return compareRanges(compare, depth + 1);
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (splat && splat.getElementType().isInteger(1))
      return splat.getSplatValue<APInt>().getBoolValue();
    return std::nullopt;
  }
  if (isa<BroadcastInDimOp, ReshapeOp, TransposeOp>(op))
    return findTruth(op->getOperand(0), depth + 1);
  bool isAnd = isa<AndOp>(op);
  if ((!isAnd && !isa<OrOp>(op)) || !integerElement(value).isInteger(1))
    return std::nullopt;
  std::optional<bool> a = findTruth(op->getOperand(0), depth + 1);
  std::optional<bool> b = findTruth(op->getOperand(1), depth + 1);
  if (a == !isAnd || b == !isAnd)
    return !isAnd;
  if (a == isAnd && b == isAnd)
    return isAnd;
  return std::nullopt;
}

} // namespace

std::optional<IndexRange> indexRange(Value value) { return find(value, 0); }

std::optional<bool> decidedTruth(Value predicate) {
  return findTruth(predicate, 0);
}

} // namespace tenon::simplify
