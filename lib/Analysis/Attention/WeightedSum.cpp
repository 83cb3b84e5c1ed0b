//===- WeightedSum.cpp - What the weights of attention are multiplied with ===//
//
// On from the softmax through dropout to the products with the values and with
// the gradient of the output.
//
//===----------------------------------------------------------------------===//

#include "Search.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::attention;

namespace hlo = tenon::stablehlo;

bool Search::takeDropout(const DropoutStep &step,
                         AttentionPattern::Dropout &dropout) {
  dropout.scale *= step.scale;
  if (!step.kept)
    return true;
  if (dropout.kept)
    return fail("dropout on its weights has two masks");
  if (step.kept.labels.empty())
    return fail("dropout on its weights has one boolean for all");
  dropout.kept = step.kept;
  return true;
}

bool Search::hasSameDropout(const AttentionPattern::Dropout &gradient) {
  const AttentionPattern::Dropout &dropout = found.dropout;
  if (bool(gradient.kept) != bool(dropout.kept) ||
      (dropout.kept && !isSameTensor(gradient.kept, dropout.kept)))
    return fail("the gradient of its weights has another dropout mask");
  return float(gradient.scale) == float(dropout.scale) ||
         fail("the gradient of its weights has another factor of dropout");
}

bool Search::findWeightedSum() {
  multiplied = {weights, scoreLabels()};
  // What lies between the weights and their products.
  while (true) {
    SmallVector<Operation *> users(multiplied.value.user_begin(),
                                   multiplied.value.user_end());
    llvm::erase_if(users, [&](Operation *user) {
      // The gradient of a softmax with a rule of its own reads the weights.
      return isa<hlo::DotGeneralOp>(user) ||
             (multiplied.value == weights && isa<hlo::MultiplyOp>(user) &&
              !scaling(user) && sumAlongKeys(user->getResult(0)));
    });
    if (users.empty())
      break;
    Operation *next = nullptr;
    for (Operation *user : users) {
      if (auto convert = dyn_cast<hlo::ConvertOp>(user)) {
        if (roundedWeights)
          return fail("its weights are rounded to " + textOf(roundedWeights) +
                      " but multiplied in " +
                      textOf(elementOf(convert.getResult())));
        roundedWeights = elementOf(convert.getResult());
        multiplied.value = convert.getResult();
        next = user;
        break;
      }
      if (auto transpose = dyn_cast<hlo::TransposeOp>(user)) {
        multiplied = {transpose.getResult(),
                      afterTranspose(transpose, multiplied.labels)};
        next = user;
        break;
      }
      if (auto reshape = dyn_cast<hlo::ReshapeOp>(user))
        if (auto labels =
                acrossUnits(shapeOf(multiplied.value), multiplied.labels,
                            shapeOf(reshape.getResult()))) {
          multiplied = {reshape.getResult(), *labels};
          next = user;
          break;
        }
      // Numbers of 16 bits that are scaled are rounded once more.
      if (roundedWeights ||
          !isa<hlo::MultiplyOp, hlo::DivideOp, hlo::SelectOp>(user) ||
          !reachesProduct(user->getResult(0)))
        continue;
      if (auto step = dropoutStep(user, multiplied.labels);
          step && step->operand == multiplied.value) {
        if (!takeDropout(*step, found.dropout))
          return false;
        multiplied.value = user->getResult(0);
        next = user;
        break;
      }
    }
    if (!next)
      break;
    inside.insert(next);
  }
  if (!found.dropout.kept && found.dropout.scale != 1)
    return fail("its weights are scaled, but by no mask");

  for (Operation *user : multiplied.value.getUsers()) {
    auto dot = dyn_cast<hlo::DotGeneralOp>(user);
    if (!dot)
      continue;
    Product product(dot);
    bool left = product.side(true) == multiplied.value;
    auto others =
        product.othersOf(left, multiplied.labels, step::valueFeatures);
    if (!others)
      continue;
    Labels summed = summedLabels(product, left, multiplied.labels);
    LabelledTensor other = asStored({product.side(!left), others->side});
    LabelledTensor result = behindTranspose({dot.getResult(), others->result});
    if (summed == Labels{keyDim}) {
      if (found.output)
        return fail("its weights are multiplied by two tensors of values");
      found.value = other;
      found.output = result;
    } else if (!llvm::is_contained(summed, keyDim)) {
      if (found.outputGradient)
        return fail("its weights have two gradients");
      found.outputGradient = other;
      found.valueGradient = result;
    } else {
      continue;
    }
    replaced.insert(dot);
  }
  return true;
}
