//===- RaiseAttention.cpp - Attention becomes one operation ---------------===//
//
// Puts step.attention, and step.attention_gradient where there is a gradient,
// in the place of what AttentionPattern finds. Whether it does follows from the
// program alone.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "tenon/Analysis/AttentionPattern.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Simplify/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tenon::simplify {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "tenon/Simplify/Passes.h.inc"
} // namespace tenon::simplify

using namespace mlir;
using namespace tenon;
using namespace tenon::simplify;

namespace {

/// Writes the operations of one pattern.
class AttentionWriter {
public:
  AttentionWriter(const AttentionPattern &pattern, Operation *softmax)
      : pattern(pattern), location(softmax->getLoc()), builder(softmax) {}

  void write();

private:
  /// An operand without dimensions that run over nothing.
  LabelledTensor squeezed(const LabelledTensor &tensor);
  /// A result whose features are last, and what it is in the program.
  struct Result {
    LabelledTensor wanted;
    SmallVector<int64_t> labels;
    Type type;
  };
  /// What dropout multiplies the weights by; nothing without dropout.
  LabelledTensor factorOf(const AttentionPattern::Dropout &dropout);
  Result resultFor(const LabelledTensor &wanted);
  void replace(Result result, Value value);
  /// The same for a gradient, of which nobody reads that +0 is added to it.
  void replaceGradient(Result result, Value value);
  /// Behind what is read, at the softmax or later.
  void standBehind(ArrayRef<Value> operands);
  DenseI64ArrayAttr dims(const LabelledTensor &tensor) {
    return tensor ? builder.getDenseI64ArrayAttr(tensor.labels)
                  : DenseI64ArrayAttr();
  }
  UnitAttr flag(bool isSet) {
    return isSet ? builder.getUnitAttr() : UnitAttr();
  }

  const AttentionPattern &pattern;
  Location location;
  OpBuilder builder;
};

AttentionWriter::Result
AttentionWriter::resultFor(const LabelledTensor &wanted) {
  Result result{wanted, {}, {}};
  auto type = cast<RankedTensorType>(wanted.value.getType());
  SmallVector<int64_t> shape;
  for (bool isLast : {false, true})
    for (auto [label, extent] : llvm::zip(wanted.labels, type.getShape()))
      if (label != unitDimension && (label == step::valueFeatures ||
                                     label == step::queryFeatures) == isLast) {
        result.labels.push_back(label);
        shape.push_back(extent);
      }
  result.type = type.clone(shape);
  return result;
}

void AttentionWriter::replace(Result result, Value value) {
  // The wanted order of dimensions, then the wanted dimensions of extent 1.
  SmallVector<int64_t> permutation, shape;
  for (int64_t label : result.wanted.labels)
    if (label != unitDimension) {
      permutation.push_back(llvm::find(result.labels, label) -
                            result.labels.begin());
      shape.push_back(shapeOf(value)[permutation.back()]);
    }
  if (!llvm::is_sorted(permutation))
    value = stablehlo::TransposeOp::create(
        builder, location, cast<RankedTensorType>(value.getType()).clone(shape),
        value, builder.getDenseI64ArrayAttr(permutation));
  if (value.getType() != result.wanted.value.getType())
    value = stablehlo::ReshapeOp::create(builder, location,
                                         result.wanted.value.getType(), value);
  result.wanted.value.replaceAllUsesWith(value);
}

/// Adding +0 makes +0 of -0. Elements that the program's own operations compute
/// are zero with one sign or the other where a sum of small numbers underflows,
/// by the order of the sum, which is not the program's here anyway.
static void dropAddedZeros(Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    auto sum = dyn_cast<stablehlo::AddOp>(user);
    if (sum && sum.getLhs() == value && isSplat(sum.getRhs(), 0))
      sum.replaceAllUsesWith(value);
    else if (isa<stablehlo::ReshapeOp, stablehlo::TransposeOp>(user))
      dropAddedZeros(user->getResult(0));
  }
}

void AttentionWriter::replaceGradient(Result result, Value value) {
  replace(result, value);
  if (getElementTypeOrSelf(value.getType()).isF32())
    dropAddedZeros(value);
}

LabelledTensor AttentionWriter::squeezed(const LabelledTensor &tensor) {
  if (!tensor || !llvm::is_contained(tensor.labels, unitDimension))
    return tensor;
  auto type = cast<RankedTensorType>(tensor.value.getType());
  LabelledTensor result;
  SmallVector<int64_t> shape;
  for (auto [label, extent] : llvm::zip(tensor.labels, type.getShape()))
    if (label != unitDimension) {
      result.labels.push_back(label);
      shape.push_back(extent);
    }
  result.value = stablehlo::ReshapeOp::create(builder, location,
                                              type.clone(shape), tensor.value);
  return result;
}

LabelledTensor
AttentionWriter::factorOf(const AttentionPattern::Dropout &dropout) {
  if (!dropout)
    return {};
  LabelledTensor kept = squeezed(dropout.kept);
  auto type = RankedTensorType::get(shapeOf(kept.value), builder.getF32Type());
  auto number = [&](float value) {
    return stablehlo::ConstantOp::create(builder, location,
                                         DenseElementsAttr::get(type, value));
  };
  return {stablehlo::SelectOp::create(builder, location, type, kept.value,
                                      number(float(dropout.scale)), number(0)),
          kept.labels};
}

void AttentionWriter::standBehind(ArrayRef<Value> operands) {
  for (Value operand : operands) {
    Operation *op = operand ? operand.getDefiningOp() : nullptr;
    // Operands may lie in front of a loop.
    if (op && op->getBlock() == builder.getInsertionBlock() &&
        !op->isBeforeInBlock(&*builder.getInsertionPoint()))
      builder.setInsertionPointAfter(op);
  }
}

void AttentionWriter::write() {
  AttentionPattern p = pattern;
  standBehind({p.query.value, p.key.value, p.value.value, p.bias.value,
               p.mask.value, p.dropout.kept.value});
  for (LabelledTensor *tensor : {&p.query, &p.key, &p.value, &p.bias, &p.mask})
    *tensor = squeezed(*tensor);
  LabelledTensor factor = factorOf(p.dropout);
  auto queryType = cast<RankedTensorType>(p.query.value.getType());
  SmallVector<int64_t> rows(p.batches + 1);
  for (auto [label, extent] : llvm::zip(p.query.labels, queryType.getShape()))
    if (label >= 0)
      rows[label] = extent;
    else if (label == step::queryPositions)
      rows.back() = extent;
  auto rowType = RankedTensorType::get(rows, builder.getF32Type());
  FloatAttr fill = p.fill ? builder.getF32FloatAttr(*p.fill) : FloatAttr();

  // An output that nobody reads looks like its gradient.
  Result output = resultFor(p.output ? p.output : p.outputGradient);
  auto attention = step::AttentionOp::create(
      builder, location, output.type, rowType, rowType, p.query.value,
      p.key.value, p.value.value, p.bias.value, p.mask.value, factor.value,
      dims(p.query), dims(p.key), dims(p.value), dims(p.bias), dims(p.mask),
      dims(factor), builder.getDenseI64ArrayAttr(output.labels),
      builder.getF32FloatAttr(p.scale), fill, flag(p.causal),
      flag(p.roundsWeights));
  if (p.output)
    replace(output, attention.getOutput());
  if (!p.hasGradient())
    return;

  Result query = resultFor(p.queryGradient), key = resultFor(p.keyGradient),
         value = resultFor(p.valueGradient);
  standBehind({p.outputGradient.value});
  p.outputGradient = squeezed(p.outputGradient);
  auto gradient = step::AttentionGradientOp::create(
      builder, location, query.type, key.type, value.type, p.query.value,
      p.key.value, p.value.value, p.bias.value, p.mask.value, factor.value,
      attention.getMaximum(), attention.getSum(), p.outputGradient.value,
      dims(p.query), dims(p.key), dims(p.value), dims(p.bias), dims(p.mask),
      dims(factor), dims(p.outputGradient),
      builder.getDenseI64ArrayAttr(query.labels),
      builder.getDenseI64ArrayAttr(key.labels),
      builder.getDenseI64ArrayAttr(value.labels),
      builder.getF32FloatAttr(p.scale), fill, flag(p.causal),
      flag(p.roundsWeights), flag(p.roundsWeightGradients),
      flag(p.roundsSlopes));
  replaceGradient(query, gradient.getQueryGradient());
  replaceGradient(key, gradient.getKeyGradient());
  replaceGradient(value, gradient.getValueGradient());
}

class RaiseAttention
    : public simplify::impl::RaiseAttentionPassBase<RaiseAttention> {
  void runOnOperation() override {
    SmallVector<stablehlo::ExponentialOp> exponentials;
    getOperation()->walk(
        [&](stablehlo::ExponentialOp op) { exponentials.push_back(op); });
    bool changed = false;
    for (stablehlo::ExponentialOp exponential : exponentials)
      changed |= raise(exponential);
    if (changed)
      eraseUnread();
  }

  bool raise(stablehlo::ExponentialOp exponential) {
    std::string whyNot;
    auto pattern = findAttention(exponential, whyNot);
    auto options = remark::RemarkOpts::name("Attention")
                       .category("simplify-raise-attention");
    if (!pattern) {
      if (!whyNot.empty())
        remark::missed(exponential.getLoc(), options)
            << remark::add("attention stays many operations")
            << remark::reason("{0}", whyNot);
      return false;
    }
    AttentionWriter(*pattern, exponential).write();
    remark::passed(exponential.getLoc(), options) << remark::add(
        "attention of {0} batch dimensions{1}{2}", pattern->batches,
        pattern->hasGradient() ? " with its gradient" : "",
        pattern->dropout ? ", with dropout" : "");
    return true;
  }

  void eraseUnread() {
    SmallVector<Operation *> operations;
    getOperation()->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { operations.push_back(op); });
    for (Operation *op : llvm::reverse(operations))
      if (isOpTriviallyDead(op))
        op->erase();
  }
};

} // namespace
