//===- AttentionPattern.cpp - Attention written as many operations --------===//
//
// Starts at the exponential of a softmax and follows values: back to the
// product of queries and keys, on to the product with the values, and from both
// to what automatic differentiation makes of them. Dimensions are named by
// those of the scores, on the way through transposes and products too.
//
//===----------------------------------------------------------------------===//

#include "Search.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::attention;

namespace hlo = tenon::stablehlo;

std::string attention::textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// A softmax whose weights are not multiplied is none of attention. Where they
/// are, but are changed first, scores of a batch tell it from a loss.
std::nullopt_t Search::declineUnmultiplied() {
  hlo::DotGeneralOp product = productBehind(scores);
  if (!product || Product(product).batching(/*left=*/true).empty())
    return std::nullopt;
  for (Operation *user : multiplied.value.getUsers())
    if (isa<hlo::MultiplyOp, hlo::DivideOp, hlo::SelectOp>(user) &&
        reachesProduct(user->getResult(0)))
      return decline("its weights are changed by " +
                     user->getName().getStringRef() +
                     " before they are multiplied");
  return std::nullopt;
}

/// The operations round to the types of what is multiplied.
bool Search::takeRoundings() {
  for (const LabelledTensor *tensor :
       {&found.query, &found.key, &found.value, &found.bias, &found.output,
        &found.outputGradient, &found.queryGradient, &found.keyGradient,
        &found.valueGradient}) {
    if (!*tensor)
      continue;
    Type element = elementOf(tensor->value);
    if (!element.isF32() && !element.isBF16() && !element.isF16())
      return fail("one of its tensors has elements of " + textOf(element));
  }
  auto take = [&](bool &isRounded, Type type, const LabelledTensor &like,
                  const Twine &what) {
    isRounded = bool(type);
    return !type || type == elementOf(like.value) ||
           fail(what + " is rounded to " + textOf(type) +
                " and multiplied with " + textOf(elementOf(like.value)));
  };
  return take(found.roundsWeights, roundedWeights, found.value, "its weight") &&
         take(found.roundsWeightGradients, roundedWeightGradients, found.value,
              "the gradient of its weights") &&
         take(found.roundsSlopes, roundedSlopes, found.key,
              "the gradient of its scores");
}

/// Nothing else may need what is in between.
bool Search::isClosed() {
  for (Operation *op : inside) {
    if (op->getBlock() != exponential->getBlock())
      return fail("parts of it stand in different blocks");
    if (replaced.contains(op))
      continue;
    for (Operation *user : op->getUsers())
      if (!inside.contains(user) && !replaced.contains(user))
        return fail("the result of " + op->getName().getStringRef() +
                    " in it is also read by " + user->getName().getStringRef());
  }
  return true;
}

/// From dimensions of the scores to those of the operations.
void Search::rename() {
  ArrayRef<int64_t> extents = shapeOf(scores);
  Labels names(rank);
  for (int64_t dim = 0; dim < rank; ++dim)
    names[dim] = dim == keyDim       ? int64_t(step::keyPositions)
                 : dim == queryDim   ? int64_t(step::queryPositions)
                 : extents[dim] == 1 ? unitDimension
                                     : found.batches++;
  for (LabelledTensor *tensor :
       {&found.query, &found.key, &found.value, &found.bias, &found.mask,
        &found.dropout.kept, &found.output, &found.outputGradient,
        &found.queryGradient, &found.keyGradient, &found.valueGradient})
    for (int64_t &label : tensor->labels)
      if (label >= 0)
        label = names[label];
}

std::optional<AttentionPattern> Search::run() {
  if (!findSoftmax())
    return std::nullopt;
  Operation *last = scores.getDefiningOp();
  bool isProduct = comesFromProduct(scores);
  bool isNear = isProduct ||
                (last && llvm::any_of(last->getOperands(), [](Value operand) {
                   return comesFromProduct(operand);
                 }));
  if (!isNear || !findWeightedSum())
    return std::nullopt;
  if (!found.output && !found.outputGradient)
    return declineUnmultiplied();
  if (!isProduct)
    return decline("its scores come from " + last->getName().getStringRef());
  if (!elementOf(exponential.getResult()).isF32())
    return decline("its softmax is computed in " +
                   textOf(elementOf(exponential.getResult())));
  if (!findScores() || !whyNot.empty())
    return std::nullopt;
  if (!findGradient())
    return std::nullopt;
  if (found.hasGradient() &&
      (!found.queryGradient || !found.keyGradient || !found.valueGradient))
    return decline("not all of its gradients are computed");
  if (!takeRoundings() || !isClosed())
    return std::nullopt;
  auto batchOf = [&](const LabelledTensor &tensor) {
    Labels batch;
    for (int64_t label : tensor.labels)
      if (label >= 0 && label != keyDim && shapeOf(scores)[label] != 1)
        batch.push_back(label);
    llvm::sort(batch);
    return batch;
  };
  if (batchOf(found.key) != batchOf(found.value))
    return decline("its keys and values have different batch dimensions");
  if (found.mask && isCausal(found.mask) && *found.fill <= -1e30f) {
    found.causal = true;
    found.mask = {};
    found.fill.reset();
  }
  rename();
  return found;
}

/// Whether a value of a block follows from counting alone, and from what.
static bool onlyCounts(Value value, Block *block,
                       SmallVectorImpl<Operation *> &operations) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || op->hasTrait<OpTrait::ConstantLike>())
    return op && op->hasTrait<OpTrait::ConstantLike>();
  if (!isa<hlo::IotaOp, hlo::BroadcastInDimOp, hlo::CompareOp, hlo::ConvertOp,
           hlo::ReshapeOp, hlo::TransposeOp, hlo::AddOp, hlo::SubtractOp,
           hlo::AndOp, hlo::OrOp, hlo::NotOp>(op))
    return false;
  operations.push_back(op);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return onlyCounts(operand, block, operations);
  });
}

void Search::addScores(llvm::DenseSet<Operation *> &operations) {
  if (!findSoftmax() || !comesFromProduct(scores) || !findScores())
    return;
  // What a softmax without a rule of its own keeps for its gradient.
  for (Operation *user : sum.getUsers())
    if (auto square = dyn_cast<hlo::MultiplyOp>(user))
      for (Operation *inverse : square->getUsers())
        if (isa<hlo::DivideOp>(inverse)) {
          inside.insert(square);
          inside.insert(inverse);
        }
  for (Operation *op : inside) {
    if (op->getBlock() != exponential->getBlock())
      continue;
    operations.insert(op);
    // Masks, and the other shapes of sums.
    if (auto select = dyn_cast<hlo::SelectOp>(op)) {
      SmallVector<Operation *> counting;
      if (onlyCounts(select.getPred(), op->getBlock(), counting))
        operations.insert(counting.begin(), counting.end());
    }
    for (Operation *user : op->getUsers())
      if (isa<hlo::ReshapeOp>(user) ||
          (isa<hlo::BroadcastInDimOp>(user) &&
           cast<RankedTensorType>(user->getResult(0).getType())
                   .getNumElements() ==
               cast<RankedTensorType>(op->getResult(0).getType())
                   .getNumElements()))
        operations.insert(user);
  }
  // The weights as products read them.
  for (Operation *user : weights.getUsers())
    if (isa<hlo::ConvertOp, hlo::TransposeOp>(user))
      operations.insert(user);
  if (findWeightedSum() && found.dropout.kept)
    for (Operation *op : inside)
      if (op->getBlock() == exponential->getBlock())
        operations.insert(op);
}

llvm::DenseSet<Operation *> tenon::attentionScores(Block &block) {
  llvm::DenseSet<Operation *> operations;
  std::string ignored;
  for (Operation &op : block)
    if (auto exponential = dyn_cast<hlo::ExponentialOp>(op))
      Search(exponential, ignored).addScores(operations);
  return operations;
}

std::optional<AttentionPattern>
tenon::findAttention(hlo::ExponentialOp exponential, std::string &whyNot) {
  return Search(exponential, whyNot).run();
}
