//===- SumOperands.cpp - What cuBLASLt adds up beside a product -----------===//
//
// The gradient of a bias is a sum over rows of what is also a factor of the
// gradient of the weights. cuBLASLt adds it up while it multiplies:
//
//   dw = x^T d            library           dw, s = x^T d, sums of d  library
//   p  = sums of d        column, 1024 x n
//   b' = b - sums of p    column            b' = b - s element-wise
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/GroupLegality.h"
#include "tenon/Fusion/SumChain.h"
#include "tenon/Libraries/Library.h"
#include "tenon/Target/GpuArchitectures.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_SUMOPERANDSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using libraries::GpuMatmulDescription;
using libraries::OperandSums;

namespace {

/// The value, and the f32 one that its group rounds to it.
SmallVector<Value> sameBeforeRounding(Value value) {
  SmallVector<Value> same = {value};
  auto writer = value.getDefiningOp<step::GroupOp>();
  if (!writer)
    return same;
  Operation *yield = writer.getBody().front().getTerminator();
  auto rounding = yield->getOperand(cast<OpResult>(value).getResultNumber())
                      .getDefiningOp<stablehlo::ConvertOp>();
  for (OpResult other : writer.getOutputs())
    if (rounding && getElementTypeOrSelf(other).isF32() &&
        yield->getOperand(other.getResultNumber()) == rounding.getOperand())
      same.push_back(other);
  return same;
}

/// Whether the program rounds the sum to this type wherever it reads it.
bool isRoundedTo(Type element, const SumChain &chain) {
  auto reduce = chain.last.reduce;
  if (getElementTypeOrSelf(reduce.getResult(0)) == element)
    return true;
  return llvm::all_of(reduce.getResult(0).getUsers(), [&](Operation *user) {
    return isa<stablehlo::ConvertOp>(user) &&
           getElementTypeOrSelf(user->getResult(0)) == element;
  });
}

struct SumOperands : public fusion::impl::SumOperandsPassBase<SumOperands> {
  using SumOperandsPassBase::SumOperandsPassBase;
  SumOperands(const target::Target &machine, bool mayRound) : machine(machine) {
    this->mayRound = mayRound;
  }

  void runOnOperation() override {
    for (step::GroupOp call : libraryGroups(getOperation()))
      if (auto description = plainGpuMatmul(call))
        sumAnOperand(call, *description);
  }

private:
  void sumAnOperand(step::GroupOp call, const GpuMatmulDescription &product) {
    for (BlockArgument operand : call.getBody().front().getArguments()) {
      ArrayRef<int64_t> contracted = contractedFirst(call, operand);
      GpuMatmulDescription description = product;
      description.sums =
          operand.getArgNumber() == 0 ? OperandSums::lhs : OperandSums::rhs;
      if (contracted.empty() ||
          !libraries::whyNotSupported(description, {}).empty())
        continue;
      SmallVector<SumChain> chains;
      Value factor = call.getInputs()[operand.getArgNumber()];
      Type element = getElementTypeOrSelf(call.getResult(0));
      for (Value terms :
           mayRound ? sameBeforeRounding(factor) : SmallVector<Value>{factor})
        for (OpOperand &use : terms.getUses())
          if (auto chain = chainFrom(use, contracted.size());
              chain && (mayRound || isRoundedTo(element, *chain)))
            chains.push_back(*chain);
      for (const SumChain &chain : chains)
        if (replace(call, operand, description, chain))
          return;
    }
  }

  bool replace(step::GroupOp call, BlockArgument operand,
               const GpuMatmulDescription &description, const SumChain &chain);
  step::GroupOp withSums(step::GroupOp call, BlockArgument operand,
                         const GpuMatmulDescription &description);
  step::GroupOp withoutReduction(const SumChain &chain, Value sums,
                                 Operation *behind);

  /// By default one whose times resemble those of other GPUs.
  target::Target machine =
      target::builtInTarget(*target::gpuArchitectureNamed("sm_90"));
};

/// The call with the sums as a second result, next to it.
step::GroupOp SumOperands::withSums(step::GroupOp call, BlockArgument operand,
                                    const GpuMatmulDescription &description) {
  OpBuilder builder(call);
  auto type = cast<RankedTensorType>(operand.getType());
  ArrayRef<int64_t> contracted = contractedFirst(call, operand);
  Type element = getElementTypeOrSelf(call.getResult(0));
  auto kept = RankedTensorType::get(
      type.getShape().drop_front(contracted.size()), element);
  auto summing = step::GroupOp::create(
      builder, call.getLoc(), TypeRange{call.getResult(0).getType(), kept},
      call.getInputs(), step::GroupKind::library);
  IRMapping mapping;
  call.getBody().cloneInto(&summing.getBody(), mapping);
  Operation *yield = summing.getBody().front().getTerminator();
  builder.setInsertionPoint(yield);
  const Location loc = call.getLoc();
  Value wide = stablehlo::ConvertOp::create(
      builder, loc, type.clone(builder.getF32Type()), mapping.lookup(operand));
  Value zero = stablehlo::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get({}, builder.getF32Type()),
                             0.0f));
  Value sums = sumOver(builder, loc, wide, zero, contracted);
  if (!element.isF32())
    sums = stablehlo::ConvertOp::create(builder, loc, kept, sums);
  yield->insertOperands(1, sums);
  summing->setAttr(
      exec::libraryAttrName,
      exec::toAttribute(&getContext(), libraries::Description(description)));
  return summing;
}

/// The last group of the chain, which reads the sums, behind `behind`; null if
/// no template emits it.
step::GroupOp SumOperands::withoutReduction(const SumChain &chain, Value sums,
                                            Operation *behind) {
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(behind);
  step::GroupOp rest = withSumOf(
      builder, chain, sums, step::GroupKind::elementwise,
      [](OpBuilder &builder, stablehlo::ReduceOp reduce, Value sums) -> Value {
        Type type = reduce.getResult(0).getType();
        if (sums.getType() == type)
          return sums;
        return stablehlo::ConvertOp::create(builder, reduce.getLoc(), type,
                                            sums);
      });
  auto kind = kindOf(KernelDescription(rest.getBody().front()));
  if (!kind || rest.getBody().front().without_terminator().empty()) {
    rest.erase();
    return nullptr;
  }
  rest.setKind(*kind);
  return rest;
}

bool SumOperands::replace(step::GroupOp call, BlockArgument operand,
                          const GpuMatmulDescription &description,
                          const SumChain &chain) {
  step::GroupOp last = chain.groups.back();
  if (last->getBlock() != call->getBlock())
    return false;
  // What the sums are for may have to wait for the product.
  Operation *behind = last;
  if (last->isBeforeInBlock(call)) {
    behind = call;
    for (Operation *user : last->getUsers())
      if (Operation *reader = call->getBlock()->findAncestorOpInBlock(*user);
          !reader || !call->isBeforeInBlock(reader))
        return false;
  }
  step::GroupOp summing = withSums(call, operand, description);
  step::GroupOp rest = withoutReduction(chain, summing.getResult(1), behind);
  if (!rest) {
    summing.erase();
    return false;
  }
  double apart = cost::costOf(call, machine).seconds;
  for (step::GroupOp group : chain.groups)
    apart += cost::costOf(group, machine).seconds;
  const double together = cost::costOf(summing, machine).seconds +
                          cost::costOf(rest, machine).seconds;
  auto prediction = [&] {
    return llvm::formatv("predicted to take {0:f2} us in one call, {1:f2} us "
                         "in a call and kernels",
                         together * 1e6, apart * 1e6)
        .str();
  };
  auto remarks =
      remark::RemarkOpts::name("SummedOperand").category("fusion-sum-operands");
  if (together >= apart) {
    remark::missed(call.getLoc(), remarks)
        << remark::reason("{0}", prediction());
    rest.erase();
    summing.erase();
    return false;
  }
  remark::passed(call.getLoc(), remarks)
      << remark::add("the library adds up an operand: {0}", prediction());
  last->replaceAllUsesWith(rest);
  for (step::GroupOp group : llvm::reverse(chain.groups))
    group.erase();
  call.getResult(0).replaceAllUsesWith(summing.getResult(0));
  call.erase();
  return true;
}

} // namespace

std::unique_ptr<Pass>
fusion::createSumOperandsPass(const target::Target &machine, bool mayRound) {
  return std::make_unique<SumOperands>(machine, mayRound);
}
