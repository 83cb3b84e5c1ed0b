//===- Scores.cpp - What the scores of attention are made of --------------===//
//
// Back from the softmax through mask, bias and scale to the product of queries
// and keys.
//
//===----------------------------------------------------------------------===//

#include "Search.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::attention;

namespace hlo = tenon::stablehlo;

bool Search::findScores() {
  return comesFromProduct(scores) && followScore({scores, scoreLabels()});
}

bool Search::followScore(LabelledTensor at) {
  Operation *op = at.value.getDefiningOp();
  include(at.value);
  if (!elementOf(at.value).isF32())
    return fail("its scores are rounded to " + textOf(elementOf(at.value)));
  if (auto dot = dyn_cast<hlo::DotGeneralOp>(op))
    return takeProduct(dot, at.labels);
  if (auto convert = dyn_cast<hlo::ConvertOp>(op))
    return fail("its scores are rounded to " +
                textOf(elementOf(convert.getOperand())));
  if (auto transpose = dyn_cast<hlo::TransposeOp>(op))
    return followScore(
        {transpose.getOperand(), beforeTranspose(transpose, at.labels)});
  if (auto reshape = dyn_cast<hlo::ReshapeOp>(op))
    if (auto labels = acrossUnits(shapeOf(at.value), at.labels,
                                  shapeOf(reshape.getOperand())))
      return followScore({reshape.getOperand(), *labels});
  if (auto scaled = scaling(op)) {
    found.scale *= float(scaled->second);
    return followScore({scaled->first, at.labels});
  }
  if (found.scale != 1)
    return fail("its scores are scaled behind a bias or a mask");
  if (auto select = dyn_cast<hlo::SelectOp>(op)) {
    auto fill = repeatedNumber(select.getOnFalse());
    if (!fill || found.fill || found.bias)
      return fail("its mask does not put one number in the place of scores "
                  "that have their bias");
    found.fill = float(*fill);
    if (!takeMask({select.getPred(), at.labels}))
      return false;
    return followScore({select.getOnTrue(), at.labels});
  }
  if (auto add = dyn_cast<hlo::AddOp>(op)) {
    bool isLeft = comesFromProduct(add.getLhs());
    if (found.bias || isLeft == comesFromProduct(add.getRhs()))
      return fail("more than one sum makes its scores");
    found.bias =
        beforeBroadcasts({isLeft ? add.getRhs() : add.getLhs(), at.labels});
    return followScore({isLeft ? add.getLhs() : add.getRhs(), at.labels});
  }
  return fail("its scores come from " + op->getName().getStringRef());
}

/// The side whose free dimension alone is the keys'.
bool Search::takeProduct(hlo::DotGeneralOp dot, ArrayRef<int64_t> labels) {
  Product product(dot);
  for (bool keysLeft : {false, true}) {
    auto keyLabels = product.sideLabels(keysLeft, labels, step::queryFeatures);
    auto queryLabels =
        product.sideLabels(!keysLeft, labels, step::queryFeatures);
    if (!keyLabels)
      return fail("its scores are sums over several dimensions");
    Labels keyFree = product.realFreeDims(keysLeft);
    Labels queryFree = product.realFreeDims(!keysLeft);
    if (keyFree.size() != 1 || (*keyLabels)[keyFree.front()] != keyDim)
      continue;
    if (queryFree.empty())
      return fail("it has one query per batch");
    found.key = asStored({product.side(keysLeft), *keyLabels});
    found.query = asStored({product.side(!keysLeft), *queryLabels});
    // Queries that share keys come in groups; the groups lie further out.
    for (int64_t dim : queryFree)
      queryDim = std::max(queryDim, (*queryLabels)[dim]);
    return true;
  }
  return fail("its softmax does not run along the keys");
}

/// The dimension that an integer counts along, from 0 in steps of 1.
std::optional<int64_t> Search::countsAlong(LabelledTensor tensor) const {
  tensor = beforeBroadcasts(tensor);
  auto iota = tensor.value.getDefiningOp<hlo::IotaOp>();
  if (!iota)
    return std::nullopt;
  return tensor.labels[iota.getIotaDimension()];
}

/// Whether a mask takes keys up to the query.
bool Search::isCausal(LabelledTensor mask) const {
  mask = beforeBroadcasts(mask);
  auto compare = mask.value.getDefiningOp<hlo::CompareOp>();
  if (!compare)
    return false;
  // A boolean as a number that is not zero.
  if (compare.getComparisonDirection() == hlo::ComparisonDirection::NE &&
      repeats(compare.getRhs(), 0))
    if (auto convert = compare.getLhs().getDefiningOp<hlo::ConvertOp>())
      return getElementTypeOrSelf(convert.getOperand().getType())
                 .isInteger(1) &&
             isCausal({convert.getOperand(), mask.labels});
  auto left = countsAlong({compare.getLhs(), mask.labels});
  auto right = countsAlong({compare.getRhs(), mask.labels});
  if (!left || !right)
    return false;
  auto direction = compare.getComparisonDirection();
  return (direction == hlo::ComparisonDirection::GE && *left == queryDim &&
          *right == keyDim) ||
         (direction == hlo::ComparisonDirection::LE && *left == keyDim &&
          *right == queryDim);
}

bool Search::takeMask(LabelledTensor mask) {
  mask = beforeBroadcasts(mask);
  if (mask.labels.empty())
    return fail("its mask is one boolean");
  found.mask = mask;
  return true;
}
