//===- SumGradients.cpp - Sums over rows in the gradient of attention -----===//
//
// The gradients of the biases of queries, keys and values are sums over all
// rows of what the kernel of attention's gradient stores, in groups of columns
// that read all of it once more:
//
//   d = gradient of attention   generic, 32 x 1024 x 2304
//   p = sums of d               column, 1024 x 2304
//   b' = b - sums of p          column
//
// becomes
//
//   d, p = gradient of attention, sums of 64 rows of d   generic
//   b' = b - sums of p, 512 x 2304                       column
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/GradientSums.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Fusion/GroupLegality.h"
#include "tenon/Fusion/SumChain.h"
#include "tenon/Target/GpuArchitectures.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_SUMGRADIENTSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// The group with sums of some rows of one of its results as a further result,
/// in front of it.
step::GroupOp withSums(step::GroupOp group, OpResult summed) {
  OpBuilder builder(group);
  const Location loc = group.getLoc();
  Type f32 = builder.getF32Type();
  const int64_t columns = shapeOf(summed).back(),
                blocks =
                    elementCount(shapeOf(summed)) / columns / rowsOfGradientSum;
  SmallVector<Type> types(group->getResultTypes());
  types.push_back(RankedTensorType::get({blocks, columns}, f32));
  auto summing = step::GroupOp::create(builder, loc, types, group.getInputs(),
                                       group.getKind());
  IRMapping mapping;
  group.getBody().cloneInto(&summing.getBody(), mapping);
  Operation *yield = summing.getBody().front().getTerminator();
  builder.setInsertionPoint(yield);
  Value rows = yield->getOperand(summed.getResultNumber());
  if (elementOf(rows) != f32)
    rows = stablehlo::ConvertOp::create(
        builder, loc, cast<RankedTensorType>(rows.getType()).clone(f32), rows);
  rows = stablehlo::ReshapeOp::create(
      builder, loc,
      RankedTensorType::get({blocks, rowsOfGradientSum, columns}, f32), rows);
  Value zero = stablehlo::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get({}, f32), 0.0f));
  yield->insertOperands(yield->getNumOperands(),
                        sumOver(builder, loc, rows, zero, {1}));
  return summing;
}

struct SumGradients : public fusion::impl::SumGradientsPassBase<SumGradients> {
  using SumGradientsPassBase::SumGradientsPassBase;
  SumGradients(const target::Target &machine, MayCompute mayCompute)
      : machine(machine), mayCompute(std::move(mayCompute)) {}

  void runOnOperation() override {
    SmallVector<step::GroupOp> gradients;
    getOperation().walk([&](step::GroupOp group) {
      if (isa_and_nonnull<step::AttentionGradientOp>(
              KernelDescription(group.getBody().front()).root()))
        gradients.push_back(group);
    });
    for (step::GroupOp group : gradients)
      for (unsigned result = 0, count = group.getNumResults(); result < count;
           ++result)
        group = sumResult(group, group->getResult(result));
  }

private:
  /// The group, or the one that takes its place.
  step::GroupOp sumResult(step::GroupOp group, OpResult result) {
    ArrayRef<int64_t> shape = shapeOf(result);
    if (shape.size() < 2 ||
        elementCount(shape.drop_back()) < 2 * rowsOfGradientSum ||
        elementCount(shape.drop_back()) % rowsOfGradientSum != 0)
      return group;
    for (OpOperand &use : result.getUses())
      if (auto chain = chainFrom(use, shape.size() - 1))
        if (step::GroupOp summing = replace(group, result, *chain))
          return summing;
    return group;
  }

  step::GroupOp replace(step::GroupOp group, OpResult result,
                        const SumChain &chain) {
    step::GroupOp last = chain.groups.back();
    if (llvm::any_of(chain.groups, [&](step::GroupOp each) {
          return each->getBlock() != group->getBlock();
        }))
      return nullptr;
    step::GroupOp summing = withSums(group, result);
    OpBuilder builder(last);
    step::GroupOp rest = withSumOf(
        builder, chain, summing->getResults().back(), step::GroupKind::column,
        [](OpBuilder &builder, stablehlo::ReduceOp reduce,
           Value sums) -> Value {
          return sumOver(builder, reduce.getLoc(), sums,
                         reduce.getInitValues().front(), {0});
        });
    if (!isBetter(summing, rest, group, chain.groups)) {
      rest.erase();
      summing.erase();
      return nullptr;
    }
    last->replaceAllUsesWith(rest);
    for (step::GroupOp each : llvm::reverse(chain.groups))
      each.erase();
    group->replaceAllUsesWith(
        summing->getResults().take_front(group.getNumResults()));
    group.erase();
    return summing;
  }

  bool isBetter(step::GroupOp summing, step::GroupOp rest, step::GroupOp group,
                ArrayRef<step::GroupOp> chain) {
    if (!mayCompute(summing) ||
        kindOf(KernelDescription(rest.getBody().front())) !=
            step::GroupKind::column)
      return false;
    const double together = cost::costOf(summing, machine).seconds +
                            cost::costOf(rest, machine).seconds;
    double apart = cost::costOf(group, machine).seconds;
    for (step::GroupOp each : chain)
      apart += cost::costOf(each, machine).seconds;
    if (together >= apart)
      return false;
    remark::passed(summing.getLoc(), remark::RemarkOpts::name("SummedGradients")
                                         .category("fusion-sum-gradients"))
        << remark::add(
               "{0}", llvm::formatv("the gradient of attention adds up rows of "
                                    "what it stores: predicted to take {0:f2} "
                                    "us, {1:f2} us apart",
                                    together * 1e6, apart * 1e6)
                          .str());
    return true;
  }

  /// By default one whose times resemble those of other GPUs.
  target::Target machine =
      target::builtInTarget(*target::gpuArchitectureNamed("sm_90"));
  /// By default whatever a group may hold.
  MayCompute mayCompute = [](step::GroupOp) { return true; };
};

} // namespace

std::unique_ptr<Pass>
fusion::createSumGradientsPass(const target::Target &machine,
                               MayCompute mayCompute) {
  return std::make_unique<SumGradients>(machine, std::move(mayCompute));
}
