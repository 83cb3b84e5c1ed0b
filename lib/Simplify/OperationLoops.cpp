//===- OperationLoops.cpp - Which elements follow from which --------------===//
//
// The loops of each operation that can be computed in part, and what zeros in
// its operands make zero.
//
//===----------------------------------------------------------------------===//

#include "OperationLoops.h"

#include "Rules.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/ReductionTree.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Dialect/Step/StochasticRounding.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

namespace tenon::simplify {

Box wholeOf(ArrayRef<int64_t> extents) {
  Box box;
  for (int64_t extent : extents)
    box.push_back({0, extent});
  return box;
}

Box wholeOf(Value tensor) { return wholeOf(shapeOf(tensor)); }

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {

using Dimensions = SmallVector<LoopDimension, 4>;

Dimensions allWhole(Value tensor) { return Dimensions(shapeOf(tensor).size()); }

/// A loop per dimension of the result.
OperationLoops overResult(Operation *op) {
  OperationLoops loops;
  Value result = op->getResult(0);
  llvm::append_range(loops.extents, shapeOf(result));
  Dimensions dims;
  for (int64_t loop = 0; loop < int64_t(loops.extents.size()); ++loop)
    dims.push_back({loop});
  loops.results.push_back(std::move(dims));
  for (Value operand : op->getOperands())
    loops.operands.push_back(allWhole(operand));
  return loops;
}

std::optional<OperationLoops> ofElements(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return std::nullopt;
  OperationLoops loops = overResult(op);
  for (auto [operand, dims] :
       llvm::zip_equal(op->getOperands(), loops.operands))
    if (shapeOf(operand) == ArrayRef<int64_t>(loops.extents))
      dims = loops.results[0];
    else if (!dims.empty()) // a scalar predicate or limit has no dimensions
      return std::nullopt;
  return loops;
}

OperationLoops ofBroadcast(BroadcastInDimOp op) {
  OperationLoops loops = overResult(op);
  for (auto [dim, to] : llvm::enumerate(op.getBroadcastDimensions()))
    if (shapeOf(op.getOperand())[dim] == loops.extents[to])
      loops.operands[0][dim].loop = to;
  return loops;
}

OperationLoops ofTranspose(TransposeOp op) {
  OperationLoops loops = overResult(op);
  for (auto [loop, dim] : llvm::enumerate(op.getPermutation()))
    loops.operands[0][dim].loop = int64_t(loop);
  return loops;
}

/// Dimensions that stay one dimension have loops.
OperationLoops ofReshape(ReshapeOp op) {
  OperationLoops loops = overResult(op);
  loops.results[0] = allWhole(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand()), to = shapeOf(op);
  if (llvm::is_contained(from, 0))
    return loops;
  size_t i = 0, j = 0;
  while (true) {
    while (i < from.size() && from[i] == 1)
      ++i;
    while (j < to.size() && to[j] == 1)
      ++j;
    if (i == from.size() || j == to.size())
      return loops;
    if (from[i] == to[j]) {
      loops.operands[0][i].loop = loops.results[0][j].loop = int64_t(j);
      ++i, ++j;
      continue;
    }
    // The shortest runs of dimensions with as many elements.
    int64_t left = from[i++], right = to[j++];
    while (left != right)
      if (left < right)
        left *= from[i++];
      else
        right *= to[j++];
  }
}

OperationLoops ofSlice(SliceOp op) {
  OperationLoops loops = overResult(op);
  for (auto [dim, stride] : llvm::enumerate(op.getStrides()))
    if (stride == 1)
      loops.operands[0][dim] = {int64_t(dim), op.getStartIndices()[dim]};
    else
      loops.results[0][dim] = {};
  return loops;
}

bool isZero(Value value) {
  return isSplat(value, 0) || isNegativeZeroSplat(value);
}

OperationLoops ofPad(PadOp op) {
  OperationLoops loops = overResult(op);
  bool ofZeros = isZero(op.getPaddingValue());
  for (size_t dim = 0; dim < loops.extents.size(); ++dim) {
    int64_t low = op.getEdgePaddingLow()[dim];
    int64_t high = op.getEdgePaddingHigh()[dim];
    bool addsNothing = low == 0 && high == 0;
    bool addsZerosAround = ofZeros && low >= 0 && high >= 0;
    if (op.getInteriorPadding()[dim] == 0 && (addsNothing || addsZerosAround))
      loops.operands[0][dim] = {int64_t(dim), -low};
    else
      loops.results[0][dim] = {};
  }
  return loops;
}

/// The dimension along which parts lie one behind the other is whole.
OperationLoops ofConcatenate(ConcatenateOp op) {
  OperationLoops loops = overResult(op);
  loops.results[0][op.getDimension()] = {};
  for (Dimensions &dims : loops.operands)
    dims = loops.results[0];
  return loops;
}

OperationLoops ofDot(DotGeneralOp op) {
  OperationLoops loops = overResult(op);
  auto numbers = op.getDotDimensionNumbers();
  ArrayRef<int64_t> batching[] = {numbers.getLhsBatchingDimensions(),
                                  numbers.getRhsBatchingDimensions()};
  ArrayRef<int64_t> contracting[] = {numbers.getLhsContractingDimensions(),
                                     numbers.getRhsContractingDimensions()};
  auto firstContracted = int64_t(loops.extents.size());
  for (int64_t dim : contracting[0])
    loops.extents.push_back(shapeOf(op.getLhs())[dim]);
  auto nextFree = int64_t(batching[0].size());
  for (int side : {0, 1}) {
    for (auto [dim, of] : llvm::enumerate(loops.operands[side])) {
      auto find = [&](ArrayRef<int64_t> dims) -> std::optional<int64_t> {
        const int64_t *found = llvm::find(dims, int64_t(dim));
        if (found == dims.end())
          return std::nullopt;
        return found - dims.begin();
      };
      if (auto batch = find(batching[side]))
        of.loop = *batch;
      else if (auto contracted = find(contracting[side]))
        of.loop = firstContracted + *contracted;
      else
        of.loop = nextFree++;
    }
  }
  return loops;
}

OperationLoops ofReduce(ReduceOp op) {
  OperationLoops loops = overResult(op);
  Dimensions input = allWhole(op.getInputs()[0]);
  int64_t kept = 0;
  for (auto [dim, of] : llvm::enumerate(input))
    if (llvm::is_contained(op.getDimensions(), int64_t(dim))) {
      of.loop = int64_t(loops.extents.size());
      loops.extents.push_back(shapeOf(op.getInputs()[0])[dim]);
    } else {
      of.loop = kept++;
    }
  for (size_t number = 0; number < op.getInputs().size(); ++number)
    loops.operands[number] = input;
  loops.results.resize(op.getNumResults(), loops.results[0]);
  return loops;
}

/// The loops of attention are batch dimensions, by number, and then queries.
template <typename Op>
OperationLoops ofAttention(Op op) {
  step::AttentionProblem problem(op);
  OperationLoops loops;
  llvm::append_range(loops.extents, problem.batch);
  loops.extents.push_back(problem.queries);
  auto queries = int64_t(problem.batch.size());
  auto over = [&](ArrayRef<int64_t> labels) {
    Dimensions dims;
    for (int64_t label : labels)
      dims.push_back({label >= 0                      ? label
                      : label == step::queryPositions ? queries
                                                      : -1});
    return dims;
  };
  Dimensions row;
  for (int64_t loop = 0; loop <= queries; ++loop)
    row.push_back({loop});
  loops.operands = {over(problem.queryDims), over(problem.keyDims),
                    over(problem.valueDims)};
  if (problem.bias)
    loops.operands.push_back(over(problem.biasDims));
  if (problem.mask)
    loops.operands.push_back(over(problem.maskDims));
  if (problem.factor)
    loops.operands.push_back(over(problem.factorDims));
  if constexpr (std::is_same_v<Op, step::AttentionOp>) {
    loops.results = {over(op.getOutputDims()), row, row};
  } else {
    loops.operands.append({row, row, over(op.getOutputGradientDims())});
    loops.results = {over(op.getQueryGradientDims()),
                     over(op.getKeyGradientDims()),
                     over(op.getValueGradientDims())};
  }
  return loops;
}

} // namespace

std::optional<OperationLoops> loopsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<OperationLoops>>(op)
      .Case(ofBroadcast)
      .Case(ofTranspose)
      .Case(ofReshape)
      .Case(ofSlice)
      .Case(ofPad)
      .Case(ofConcatenate)
      .Case(ofDot)
      .Case(ofReduce)
      .Case<step::AttentionOp, step::AttentionGradientOp>(
          [](auto attention) { return ofAttention(attention); })
      .Default([](Operation *other) -> std::optional<OperationLoops> {
        // What is rounded by chance depends on the element's place.
        if (classify(other) == OperationClass::pointwise &&
            !isa<step::StochasticRoundOp>(other))
          return ofElements(other);
        return std::nullopt;
      });
}

static Box partOf(ArrayRef<LoopDimension> dims, ArrayRef<Interval> rounds,
                  Value tensor) {
  Box part = wholeOf(tensor);
  for (auto [dim, interval] : llvm::zip_equal(dims, part))
    if (!dim.isWhole())
      interval = interval.within(rounds[dim.loop].shifted(dim.offset));
  return part;
}

Box operandPart(const OperationLoops &loops, unsigned operand,
                ArrayRef<Interval> rounds, Value tensor) {
  return partOf(loops.operands[operand], rounds, tensor);
}

Box resultPart(const OperationLoops &loops, unsigned result,
               ArrayRef<Interval> rounds, Value tensor) {
  return partOf(loops.results[result], rounds, tensor);
}

Box boxOf(SliceOp slice) {
  Box box;
  for (auto [start, limit] :
       llvm::zip_equal(slice.getStartIndices(), slice.getLimitIndices()))
    box.push_back({start, limit});
  return box;
}

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

namespace {

/// Which operands, where they are zero, make what is added up or written zero.
struct ZeroRule {
  enum Kind { none, anyOf, allOf } kind = none;
  SmallVector<unsigned, 3> operands;
};

/// A sum of one tensor, or what zeros and falses leave alone like a sum.
bool isSum(ReduceOp op) {
  return isa_and_nonnull<AddOp, OrOp, XorOp>(
      commutativeOperation(op.getBody()));
}

ZeroRule zeroRuleOf(Operation *op) {
  auto all = [&] {
    return llvm::to_vector<3>(llvm::seq(op->getNumOperands()));
  };
  return llvm::TypeSwitch<Operation *, ZeroRule>(op)
      .Case<MultiplyOp, AndOp, DotGeneralOp>([&](auto) {
        return ZeroRule{ZeroRule::anyOf, all()};
      })
      .Case<AddOp, SubtractOp, MaximumOp, MinimumOp, OrOp, XorOp,
            ConcatenateOp>([&](auto) {
        return ZeroRule{ZeroRule::allOf, all()};
      })
      .Case<SelectOp>([](auto) {
        return ZeroRule{ZeroRule::allOf, {1, 2}};
      })
      // An integer divided by zero is no zero.
      .Case<DivideOp, RemainderOp>([](auto division) {
        return isa<FloatType>(elementOf(division))
                   ? ZeroRule{ZeroRule::allOf, {0}}
                   : ZeroRule{};
      })
      .Case<NegateOp, AbsOp, SignOp, SqrtOp, CbrtOp, TanhOp, SineOp, TanOp,
            FloorOp, CeilOp, RoundNearestEvenOp, RoundNearestAfzOp,
            ExponentialMinusOneOp, LogPlusOneOp, ConvertOp, ReducePrecisionOp,
            BroadcastInDimOp, TransposeOp, ReshapeOp, SliceOp>([](auto) {
        return ZeroRule{ZeroRule::allOf, {0}};
      })
      .Case<PadOp>([](PadOp pad) {
        return isZero(pad.getPaddingValue()) ? ZeroRule{ZeroRule::allOf, {0}}
                                             : ZeroRule{};
      })
      .Case<ReduceOp>([](ReduceOp reduce) {
        return isSum(reduce) ? ZeroRule{ZeroRule::allOf, {0}} : ZeroRule{};
      })
      // Queries whose outputs have no gradient add nothing to any gradient.
      .Case<step::AttentionGradientOp>([](step::AttentionGradientOp gradient) {
        return ZeroRule{ZeroRule::allOf, {gradient->getNumOperands() - 1}};
      })
      .Default([](Operation *) { return ZeroRule{}; });
}

} // namespace

std::optional<Box> nonZeroRounds(Operation *op, const OperationLoops &loops,
                                 NonZeroPart nonZeroPart) {
  ZeroRule rule = zeroRuleOf(op);
  if (rule.kind == ZeroRule::none)
    return std::nullopt;
  const Box whole = wholeOf(loops.extents);
  std::optional<Box> found;
  for (unsigned number : rule.operands) {
    Value operand = op->getOperand(number);
    const Box *part = nonZeroPart(operand);
    Box rounds = whole;
    if (part || isa<PadOp>(op)) {
      Box all = part ? *part : wholeOf(operand);
      for (auto [dim, interval] : llvm::zip_equal(loops.operands[number], all))
        if (!dim.isWhole())
          rounds[dim.loop] =
              rounds[dim.loop].within(interval.shifted(-dim.offset));
    } else if (rule.kind == ZeroRule::anyOf) {
      continue;
    } else if (rule.operands.size() > 1 && isZero(operand)) {
      continue;
    } else {
      return std::nullopt;
    }
    if (!found)
      found = rounds;
    else
      for (auto [interval, other] : llvm::zip_equal(*found, rounds))
        interval = rule.kind == ZeroRule::anyOf ? interval.within(other)
                                                : interval.joined(other);
  }
  if (!found)
    return std::nullopt;
  // A sum of zeros is what it started at.
  auto reduce = dyn_cast<ReduceOp>(op);
  if (reduce && !isZero(reduce.getInitValues()[0]))
    for (LoopDimension dim : loops.results[0])
      (*found)[dim.loop] = whole[dim.loop];
  if (*found == whole ||
      llvm::any_of(*found, [](Interval i) { return i.isEmpty(); }))
    return std::nullopt;
  return found;
}

} // namespace tenon::simplify
