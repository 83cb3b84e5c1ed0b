//===- Product.cpp - A product with labelled dimensions -------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "Product.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::attention;

namespace hlo = tenon::stablehlo;

Labels Product::freeDims(bool left) const {
  Labels free;
  int64_t rank = cast<RankedTensorType>(side(left).getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batching(left), dim) &&
        !llvm::is_contained(contracting(left), dim))
      free.push_back(dim);
  return free;
}

Labels Product::realFreeDims(bool left) const {
  Labels free = freeDims(left);
  llvm::erase_if(free,
                 [&](int64_t dim) { return shapeOf(side(left))[dim] == 1; });
  return free;
}

std::optional<Labels> Product::sideLabels(bool left, ArrayRef<int64_t> result,
                                          int64_t feature) const {
  if (contracting(left).size() != 1)
    return std::nullopt;
  Labels free = freeDims(left);
  Labels labels(batching(left).size() + free.size() + 1, feature);
  for (auto [i, dim] : llvm::enumerate(batching(left)))
    labels[dim] = result[i];
  size_t next =
      batching(left).size() + (left ? 0 : freeDims(/*left=*/true).size());
  for (int64_t dim : free)
    labels[dim] = result[next++];
  return labels;
}

std::optional<Product::Others>
Product::othersOf(bool left, ArrayRef<int64_t> labels, int64_t feature) const {
  Labels free = realFreeDims(!left);
  if (free.size() != 1)
    return std::nullopt;
  Others others;
  others.side.assign(shapeOf(side(!left)).size(), unitDimension);
  others.side[free.front()] = feature;
  for (auto [own, other] : llvm::zip(batching(left), batching(!left))) {
    others.side[other] = labels[own];
    others.result.push_back(labels[own]);
  }
  for (auto [own, other] : llvm::zip(contracting(left), contracting(!left)))
    others.side[other] = labels[own];
  for (bool ofLeft : {true, false})
    for (int64_t dim : freeDims(ofLeft))
      others.result.push_back(ofLeft == left ? labels[dim] : others.side[dim]);
  return others;
}

Labels attention::summedLabels(const Product &product, bool left,
                               ArrayRef<int64_t> labels) {
  Labels summed;
  for (int64_t dim : product.contracting(left))
    if (shapeOf(product.side(left))[dim] != 1)
      summed.push_back(labels[dim]);
  llvm::sort(summed);
  return summed;
}

hlo::DotGeneralOp attention::productBehind(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 8)
    return nullptr;
  if (auto dot = dyn_cast<hlo::DotGeneralOp>(op))
    return dot;
  if (isa<hlo::TransposeOp, hlo::ConvertOp, hlo::ReshapeOp>(op))
    return productBehind(op->getOperand(0), depth + 1);
  if (auto scaled = scaling(op))
    return productBehind(scaled->first, depth + 1);
  if (isa<hlo::AddOp>(op)) {
    hlo::DotGeneralOp left = productBehind(op->getOperand(0), depth + 1);
    return left ? left : productBehind(op->getOperand(1), depth + 1);
  }
  if (auto select = dyn_cast<hlo::SelectOp>(op))
    return productBehind(select.getOnTrue(), depth + 1);
  return nullptr;
}

bool attention::comesFromProduct(Value value) {
  return bool(productBehind(value));
}

bool attention::reachesProduct(Value value, int depth) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<hlo::DotGeneralOp>(user) ||
           (depth < 4 &&
            isa<hlo::MultiplyOp, hlo::DivideOp, hlo::SelectOp, hlo::ConvertOp,
                hlo::TransposeOp, hlo::ReshapeOp>(user) &&
            reachesProduct(user->getResult(0), depth + 1));
  });
}
