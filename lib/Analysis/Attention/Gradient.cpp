//===- Gradient.cpp - The gradient of attention ---------------------------===//
//
// With weights P = E / L, E = exp(S - max S), L = sum E, the gradient of S is
//
//     P (dP - sum P dP)                where the softmax has a rule of its own
//     E (dP / L - sum dP E / (L L))    where it has none
//
//===----------------------------------------------------------------------===//

#include "Search.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::attention;

namespace hlo = tenon::stablehlo;

/// The other operand of an operation of two; null if `value` is none of them.
static Value otherOperand(Operation *op, Value value) {
  if (op->getOperand(0) == value)
    return op->getOperand(1);
  return op->getOperand(1) == value ? op->getOperand(0) : Value();
}

/// Both ways to write the gradient of a softmax, see the head of the file.
bool Search::findSlopes(Value &gradientOfWeights, Value &slopes) {
  /// The row that `value` repeats along the keys.
  auto rowOf = [&](Value value) -> Value {
    auto broadcast = value.getDefiningOp<hlo::BroadcastInDimOp>();
    if (!broadcast)
      return nullptr;
    Value row = beforeReshapes(broadcast.getOperand());
    return repeatsRow(value, row) ? row : Value();
  };
  auto includeRow = [&](Value repeated) {
    for (Value value = repeated; value;) {
      include(value);
      Operation *op = value.getDefiningOp();
      value = op && isa<hlo::BroadcastInDimOp, hlo::ReshapeOp, hlo::AddOp>(op)
                  ? op->getOperand(0)
                  : Value();
    }
  };
  Value e = exponential.getResult();
  for (Operation *user : e.getUsers()) {
    auto last = dyn_cast<hlo::MultiplyOp>(user);
    auto both =
        last ? otherOperand(last, e).getDefiningOp<hlo::AddOp>() : nullptr;
    if (!both)
      continue;
    for (auto [first, second] : {std::pair(both.getLhs(), both.getRhs()),
                                 std::pair(both.getRhs(), both.getLhs())}) {
      auto divided = first.getDefiningOp<hlo::DivideOp>();
      if (!divided || !repeatsRow(divided.getRhs(), sum))
        continue;
      Value row = rowOf(second);
      auto negated = row ? row.getDefiningOp<hlo::NegateOp>() : nullptr;
      if (!negated)
        continue;
      Value total = beforeReshapes(negated.getOperand());
      auto reduce = total.getDefiningOp<hlo::ReduceOp>();
      if (!reduce || !sumsKeys(reduce))
        continue;
      // dP * repeat(1 / (L * L)) * E
      auto outer = reduce.getInputs().front().getDefiningOp<hlo::MultiplyOp>();
      Value scaledGradient = outer ? otherOperand(outer, e) : Value();
      auto inner = scaledGradient
                       ? scaledGradient.getDefiningOp<hlo::MultiplyOp>()
                       : nullptr;
      Value dP = divided.getLhs();
      Value inverse = inner ? otherOperand(inner, dP) : Value();
      Value inverseRow = inverse ? rowOf(inverse) : Value();
      auto reciprocal =
          inverseRow ? inverseRow.getDefiningOp<hlo::DivideOp>() : nullptr;
      auto square = reciprocal && repeats(reciprocal.getLhs(), 1)
                        ? reciprocal.getRhs().getDefiningOp<hlo::MultiplyOp>()
                        : nullptr;
      if (!square || square.getLhs() != sum || square.getRhs() != sum)
        continue;
      for (Operation *op : std::initializer_list<Operation *>{
               last, both, divided, negated, reduce, outer, inner, reciprocal,
               square})
        inside.insert(op);
      includeRow(divided.getRhs());
      includeRow(second);
      includeRow(inverse);
      for (Value value = negated.getOperand(); value != total;
           value = value.getDefiningOp()->getOperand(0))
        include(value);
      gradientOfWeights = dP;
      slopes = last.getResult();
      return true;
    }
  }
  // P (dP - sum P dP)
  for (Operation *user : weights.getUsers()) {
    auto last = dyn_cast<hlo::MultiplyOp>(user);
    auto difference =
        last ? otherOperand(last, weights).getDefiningOp<hlo::SubtractOp>()
             : nullptr;
    if (!difference)
      continue;
    Value row = rowOf(difference.getRhs());
    auto reduce = row ? row.getDefiningOp<hlo::ReduceOp>() : nullptr;
    auto product =
        reduce && sumsKeys(reduce)
            ? reduce.getInputs().front().getDefiningOp<hlo::MultiplyOp>()
            : nullptr;
    if (!product || otherOperand(product, weights) != difference.getLhs())
      continue;
    for (Operation *op :
         std::initializer_list<Operation *>{last, difference, reduce, product})
      inside.insert(op);
    includeRow(difference.getRhs());
    gradientOfWeights = difference.getLhs();
    slopes = last.getResult();
    return true;
  }
  return false;
}

/// Back to the product of the output's gradient and the values.
bool Search::followGradientOfWeights(Value value) {
  LabelledTensor at{value, scoreLabels()};
  AttentionPattern::Dropout dropout;
  while (true) {
    include(at.value);
    if (Type element = elementOf(at.value);
        !element.isF32() && element != roundedWeightGradients) {
      if (roundedWeightGradients)
        return fail("the gradient of its weights is rounded twice");
      roundedWeightGradients = element;
    }
    Operation *op = at.value.getDefiningOp();
    if (auto convert = dyn_cast_or_null<hlo::ConvertOp>(op)) {
      at.value = convert.getOperand();
      continue;
    }
    if (auto transpose = dyn_cast_or_null<hlo::TransposeOp>(op)) {
      at = {transpose.getOperand(), beforeTranspose(transpose, at.labels)};
      continue;
    }
    if (auto reshape = dyn_cast_or_null<hlo::ReshapeOp>(op))
      if (auto labels = acrossUnits(shapeOf(at.value), at.labels,
                                    shapeOf(reshape.getOperand()))) {
        at = {reshape.getOperand(), *labels};
        continue;
      }
    auto step =
        roundedWeightGradients ? std::nullopt : dropoutStep(op, at.labels);
    if (step) {
      if (!takeDropout(*step, dropout))
        return false;
      at.value = step->operand;
      continue;
    }
    auto dot = dyn_cast_or_null<hlo::DotGeneralOp>(op);
    if (!dot)
      return fail(
          "the gradient of its weights comes from " +
          (op ? op->getName().getStringRef() : StringRef("an argument")));
    Product product(dot);
    for (bool valuesLeft : {false, true}) {
      auto valueLabels =
          product.sideLabels(valuesLeft, at.labels, step::valueFeatures);
      auto gradientLabels =
          product.sideLabels(!valuesLeft, at.labels, step::valueFeatures);
      if (!valueLabels)
        return fail("the gradient of its weights is a sum over several "
                    "dimensions");
      Labels free = product.realFreeDims(valuesLeft);
      if (free.size() != 1 || (*valueLabels)[free.front()] != keyDim)
        continue;
      LabelledTensor values =
          asStored({product.side(valuesLeft), *valueLabels});
      LabelledTensor gradient =
          asStored({product.side(!valuesLeft), *gradientLabels});
      if (found.value && !isSameTensor(values, found.value))
        return fail("the gradient of its weights has other values");
      if (found.outputGradient && !isSameTensor(gradient, found.outputGradient))
        return fail("its weights and values have different gradients of the "
                    "output");
      found.value = values;
      found.outputGradient = gradient;
      return hasSameDropout(dropout);
    }
    return fail("the gradient of its weights is no product with the values");
  }
}

/// On to the products of the slopes with keys and queries.
bool Search::followSlopes(Value value) {
  LabelledTensor at{value, scoreLabels()};
  float scale = 1;
  bool isMasked = false;
  while (true) {
    include(at.value);
    SmallVector<Operation *> users(at.value.user_begin(), at.value.user_end());
    if (llvm::all_of(users,
                     [](Operation *op) { return isa<hlo::DotGeneralOp>(op); }))
      break;
    if (users.size() != 1)
      return fail("the gradient of its scores is also read by " +
                  users.back()->getName().getStringRef());
    Operation *user = users.front();
    if (auto scaled = scaling(user)) {
      if (roundedSlopes)
        return fail(
            "the gradient of its scores is rounded before it is scaled");
      scale *= float(scaled->second);
      at.value = user->getResult(0);
    } else if (auto select = dyn_cast<hlo::SelectOp>(user);
               select && select.getOnTrue() == at.value &&
               repeats(select.getOnFalse(), 0)) {
      LabelledTensor mask = beforeBroadcasts({select.getPred(), at.labels});
      if (isMasked || !found.mask || !isSameTensor(mask, found.mask))
        return fail("the gradient of its scores has another mask");
      isMasked = true;
      at.value = select.getResult();
    } else if (auto convert = dyn_cast<hlo::ConvertOp>(user)) {
      if (roundedSlopes)
        return fail("the gradient of its scores is rounded twice");
      at.value = convert.getResult();
      roundedSlopes = elementOf(at.value);
    } else if (auto transpose = dyn_cast<hlo::TransposeOp>(user)) {
      at = {transpose.getResult(), afterTranspose(transpose, at.labels)};
    } else if (auto labels = isa<hlo::ReshapeOp>(user)
                                 ? acrossUnits(shapeOf(at.value), at.labels,
                                               shapeOf(user->getResult(0)))
                                 : std::nullopt) {
      at = {user->getResult(0), *labels};
    } else {
      return fail("the gradient of its scores is read by " +
                  user->getName().getStringRef());
    }
  }
  if (scale != found.scale)
    return fail("the gradient of its scores has another scale");
  if (isMasked != bool(found.mask))
    return fail("the gradient of its scores has no mask");
  for (Operation *user : at.value.getUsers()) {
    auto dot = cast<hlo::DotGeneralOp>(user);
    Product product(dot);
    bool left = product.side(true) == at.value;
    auto others = product.othersOf(left, at.labels, step::queryFeatures);
    if (!others)
      return fail("a product with the gradient of its scores has several free "
                  "dimensions");
    LabelledTensor other = asStored({product.side(!left), others->side});
    LabelledTensor result = behindTranspose({dot.getResult(), others->result});
    bool isOfQueries = summedLabels(product, left, at.labels) == Labels{keyDim};
    LabelledTensor &expected = isOfQueries ? found.key : found.query;
    LabelledTensor &gradient =
        isOfQueries ? found.queryGradient : found.keyGradient;
    if (gradient || !isSameTensor(other, expected))
      return fail("the gradient of its scores is multiplied by neither its "
                  "keys nor its queries");
    gradient = result;
    replaced.insert(dot);
  }
  return true;
}

bool Search::findGradient() {
  Value gradientOfWeights, slopes;
  if (!findSlopes(gradientOfWeights, slopes))
    return !found.outputGradient ||
           fail("the gradient of its softmax is written in another way");
  return followGradientOfWeights(gradientOfWeights) && followSlopes(slopes);
}
