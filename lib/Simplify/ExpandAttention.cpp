//===- ExpandAttention.cpp - Attention as many operations again -----------===//
//
// The formulas of Dialect/Step/Attention.td on whole tensors, for whoever knows
// no operation for attention (XLA). Everything is computed in f32, on tensors
// with the dimensions [batch..., queries, keys] or some of them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Simplify/Passes.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

namespace tenon::simplify {
#define GEN_PASS_DEF_EXPANDATTENTIONPASS
#include "tenon/Simplify/Passes.h.inc"
} // namespace tenon::simplify

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;
using step::AttentionProblem;

namespace {

using Dims = SmallVector<int64_t>;

/// A tensor of f32 and what its dimensions run over.
struct Named {
  Value value;
  Dims dims;
};

class AttentionFormulas {
public:
  AttentionFormulas(Operation *op, AttentionProblem problem)
      : builder(op->getLoc(), op), problem(std::move(problem)) {
    for (size_t number = 0; number < this->problem.batch.size(); ++number)
      rows.push_back(number);
    rows.push_back(step::queryPositions);
    pairs = rows;
    pairs.push_back(step::keyPositions);
  }

  void expand(step::AttentionOp op);
  void expand(step::AttentionGradientOp op);

private:
  RankedTensorType typeOf(ArrayRef<int64_t> dims, Type element) {
    SmallVector<int64_t> shape;
    for (int64_t dimension : dims)
      shape.push_back(problem.extentOf(dimension));
    return RankedTensorType::get(shape, element);
  }
  Value converted(Value value, Type element) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getElementType() == element
               ? value
               : ConvertOp::create(builder, type.clone(element), value);
  }
  /// In f32, unless it is a mask.
  Named read(Value tensor, ArrayRef<int64_t> dims) {
    bool isMask = elementOf(tensor).isInteger(1);
    return {isMask ? tensor : converted(tensor, builder.getF32Type()),
            Dims(dims)};
  }
  Value number(double value, ArrayRef<int64_t> dims) {
    RankedTensorType type = typeOf(dims, builder.getF32Type());
    return ConstantOp::create(
        builder, DenseElementsAttr::get(type, APFloat(float(value))));
  }
  Named ordered(const Named &tensor, ArrayRef<int64_t> dims);
  /// The value on all of `dims`.
  Value spread(const Named &tensor, ArrayRef<int64_t> dims);
  /// The sum over the dimensions that `dims` lacks of a * b.
  Named product(const Named &a, const Named &b, ArrayRef<int64_t> dims);
  /// Along the last dimension.
  template <typename Op>
  Named reduced(const Named &tensor, double start);
  /// Rounded to the type of an operand, where the program does so.
  Value rounded(Value numbers, bool isRounded, Value like) {
    return isRounded ? converted(converted(numbers, elementOf(like)),
                                 builder.getF32Type())
                     : numbers;
  }
  Value scaled(Value value) {
    return problem.scale == 1 ? value
                              : multiply(value, number(problem.scale, pairs));
  }
  Value multiply(Value a, Value b) { return MultiplyOp::create(builder, a, b); }
  Value scores();
  void give(Value result, const Named &tensor, ArrayRef<int64_t> dims) {
    result.replaceAllUsesWith(
        converted(ordered(tensor, dims).value, elementOf(result)));
  }

  ImplicitLocOpBuilder builder;
  AttentionProblem problem;
  Dims rows, pairs;
};

Named AttentionFormulas::ordered(const Named &tensor, ArrayRef<int64_t> dims) {
  if (ArrayRef(tensor.dims) == dims)
    return tensor;
  SmallVector<int64_t> permutation;
  for (int64_t dimension : dims)
    permutation.push_back(llvm::find(tensor.dims, dimension) -
                          tensor.dims.begin());
  Value value = TransposeOp::create(
      builder, typeOf(dims, elementOf(tensor.value)), tensor.value,
      builder.getDenseI64ArrayAttr(permutation));
  return {value, Dims(dims)};
}

Value AttentionFormulas::spread(const Named &tensor, ArrayRef<int64_t> dims) {
  Dims own, places;
  for (auto [place, dimension] : llvm::enumerate(dims))
    if (llvm::is_contained(tensor.dims, dimension)) {
      own.push_back(dimension);
      places.push_back(place);
    }
  Value value = ordered(tensor, own).value;
  return own.size() == dims.size()
             ? value
             : BroadcastInDimOp::create(builder, typeOf(dims, elementOf(value)),
                                        value, places);
}

Named AttentionFormulas::product(const Named &a, const Named &b,
                                 ArrayRef<int64_t> dims) {
  Dims leftBatch, rightBatch, leftSum, rightSum, result, ofLeft, ofRight;
  for (auto [i, dimension] : llvm::enumerate(a.dims)) {
    const auto *other = llvm::find(b.dims, dimension);
    bool isKept = llvm::is_contained(dims, dimension);
    if (other == b.dims.end()) {
      ofLeft.push_back(dimension);
      continue;
    }
    (isKept ? leftBatch : leftSum).push_back(i);
    (isKept ? rightBatch : rightSum).push_back(other - b.dims.begin());
    if (isKept)
      result.push_back(dimension);
  }
  for (int64_t dimension : b.dims)
    if (!llvm::is_contained(a.dims, dimension))
      ofRight.push_back(dimension);
  llvm::append_range(result, ofLeft);
  llvm::append_range(result, ofRight);
  auto numbers = DotDimensionNumbersAttr::get(builder.getContext(), leftBatch,
                                              rightBatch, leftSum, rightSum);
  Value value = DotGeneralOp::create(
      builder, typeOf(result, builder.getF32Type()), a.value, b.value, numbers,
      /*precision_config=*/nullptr, /*algorithm=*/nullptr);
  return ordered({value, result}, dims);
}

template <typename Op>
Named AttentionFormulas::reduced(const Named &tensor, double start) {
  Dims kept(tensor.dims.begin(), tensor.dims.end() - 1);
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  Value initial = ConstantOp::create(
      builder, DenseElementsAttr::get(scalar, APFloat(float(start))));
  auto reduce =
      ReduceOp::create(builder, TypeRange{typeOf(kept, builder.getF32Type())},
                       ValueRange{tensor.value}, ValueRange{initial},
                       ArrayRef<int64_t>{int64_t(kept.size())});
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&reduce.getBody(), {}, {scalar, scalar},
                                    {builder.getLoc(), builder.getLoc()});
  Value both = Op::create(builder, body->getArgument(0), body->getArgument(1));
  ReturnOp::create(builder, both);
  return {reduce.getResult(0), kept};
}

Value AttentionFormulas::scores() {
  Value scores = scaled(product(read(problem.query, problem.queryDims),
                                read(problem.key, problem.keyDims), pairs)
                            .value);
  if (problem.bias)
    scores = AddOp::create(builder, scores,
                           spread(read(problem.bias, problem.biasDims), pairs));
  if (problem.mask)
    scores = SelectOp::create(
        builder, spread(read(problem.mask, problem.maskDims), pairs), scores,
        number(*problem.fill, pairs));
  if (problem.causal) {
    RankedTensorType counted = typeOf(pairs, builder.getI32Type());
    int64_t rank = counted.getRank();
    Value query = IotaOp::create(builder, counted, rank - 2);
    Value key = IotaOp::create(builder, counted, rank - 1);
    Value isIncluded = CompareOp::create(
        builder, query, key, ComparisonDirection::GE, ComparisonType::SIGNED);
    scores = SelectOp::create(
        builder, isIncluded, scores,
        number(-std::numeric_limits<double>::infinity(), pairs));
  }
  return scores;
}

void AttentionFormulas::expand(step::AttentionOp op) {
  Value all = scores();
  Named maximum = reduced<MaximumOp>({all, pairs},
                                     -std::numeric_limits<double>::infinity());
  Value weights = ExponentialOp::create(
      builder, SubtractOp::create(builder, all, spread(maximum, pairs)));
  Named sum = reduced<AddOp>({weights, pairs}, 0);
  weights = DivideOp::create(builder, weights, spread(sum, pairs));
  if (problem.factor)
    weights = multiply(weights,
                       spread(read(problem.factor, problem.factorDims), pairs));
  give(op.getOutput(),
       product({rounded(weights, problem.roundsWeights, problem.value), pairs},
               read(problem.value, problem.valueDims), op.getOutputDims()),
       op.getOutputDims());
  give(op.getMaximum(), maximum, rows);
  give(op.getSum(), sum, rows);
  op.erase();
}

void AttentionFormulas::expand(step::AttentionGradientOp op) {
  Value maximum = spread(read(op.getMaximum(), rows), pairs);
  Value weights = ExponentialOp::create(
      builder, SubtractOp::create(builder, scores(), maximum));
  weights = DivideOp::create(builder, weights,
                             spread(read(op.getSum(), rows), pairs));
  Named gradient = read(op.getOutputGradient(), op.getOutputGradientDims());
  Named values = read(problem.value, problem.valueDims);
  Value slopes = rounded(product(gradient, values, pairs).value,
                         problem.roundsWeightGradients, problem.value);
  Value multiplied = weights;
  if (problem.factor) {
    Value factor = spread(read(problem.factor, problem.factorDims), pairs);
    slopes = multiply(slopes, factor);
    multiplied = multiply(multiplied, factor);
  }
  Named mean = reduced<AddOp>({multiply(weights, slopes), pairs}, 0);
  slopes = scaled(multiply(
      weights, SubtractOp::create(builder, slopes, spread(mean, pairs))));
  if (problem.mask)
    slopes = SelectOp::create(
        builder, spread(read(problem.mask, problem.maskDims), pairs), slopes,
        number(0, pairs));
  Named slope{rounded(slopes, problem.roundsSlopes, problem.key), pairs};
  give(op.getQueryGradient(),
       product(slope, read(problem.key, problem.keyDims),
               op.getQueryGradientDims()),
       op.getQueryGradientDims());
  give(op.getKeyGradient(),
       product(slope, read(problem.query, problem.queryDims),
               op.getKeyGradientDims()),
       op.getKeyGradientDims());
  Named coefficients{rounded(multiplied, problem.roundsWeights, problem.value),
                     pairs};
  give(op.getValueGradient(),
       product(coefficients, gradient, op.getValueGradientDims()),
       op.getValueGradientDims());
  op.erase();
}

class ExpandAttention
    : public simplify::impl::ExpandAttentionPassBase<ExpandAttention> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation()->walk([&](Operation *op) {
      if (step::isAttention(op))
        found.push_back(op);
    });
    for (Operation *op : found)
      if (auto attention = dyn_cast<step::AttentionOp>(op))
        AttentionFormulas(op, AttentionProblem(attention)).expand(attention);
      else
        AttentionFormulas(op,
                          AttentionProblem(cast<step::AttentionGradientOp>(op)))
            .expand(cast<step::AttentionGradientOp>(op));
  }
};

} // namespace
