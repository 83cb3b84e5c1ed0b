//===- FuseEpilogues.cpp - Let the library add a bias ---------------------===//
//
// Runs after groups were formed: where an addition found something better to do
// it is in a larger group by now, and only those are left that would be a pass
// over memory of their own.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/LibraryGroup.h"
#include "tenon/Libraries/Library.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using libraries::MatmulDescription;

namespace {

/// The sum of a group that only adds a value per innermost index to another
/// value, and rounds it at most, with the group's operands for what it reads.
std::optional<BiasAddition> biasAddition(step::GroupOp group) {
  if (group.getKind() != step::GroupKind::elementwise ||
      group.getInputs().size() != 2 || group.getNumResults() != 1)
    return std::nullopt;
  auto found = fusion::biasAddition(
      group.getBody().front().getTerminator()->getOperand(0));
  if (!found ||
      llvm::range_size(group.bodyOperations()) != (found->rounding ? 3 : 2))
    return std::nullopt;
  for (Value *value : {&found->product, &found->bias}) {
    auto argument = dyn_cast<BlockArgument>(*value);
    if (!argument)
      return std::nullopt;
    *value = group.getInputs()[argument.getArgNumber()];
  }
  return found;
}

/// The product of a library's call that `value` is, behind reshapes, which are
/// other views of the same bytes; null for any other value.
Value productBehind(Value value) {
  while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>()) {
    if (!value.hasOneUse())
      break;
    value = reshape.getOperand();
  }
  auto call = value.getDefiningOp<step::GroupOp>();
  return call && call.getKind() == step::GroupKind::library ? value : Value();
}

/// The sum of a group that only adds two values of one shape, the first product
/// of a library's call among them that is read by nothing else.
std::optional<BiasAddition> addendAddition(step::GroupOp group) {
  if (group.getKind() != step::GroupKind::elementwise ||
      group.getInputs().size() != 2 || group.getNumResults() != 1 ||
      !llvm::hasSingleElement(group.bodyOperations()))
    return std::nullopt;
  Value result = group.getBody().front().getTerminator()->getOperand(0);
  for (BlockArgument argument : group.getBody().front().getArguments()) {
    Value input = group.getInputs()[argument.getArgNumber()];
    Value product = productBehind(input);
    if (!product || !product.hasOneUse() || !input.hasOneUse())
      continue;
    auto found = fusion::addendAddition(result, argument);
    auto addend =
        found ? dyn_cast<BlockArgument>(found->bias) : BlockArgument();
    if (!addend)
      return std::nullopt;
    found->product = input;
    found->bias = group.getInputs()[addend.getArgNumber()];
    return found;
  }
  return std::nullopt;
}

struct FuseEpilogues
    : public fusion::impl::FuseEpiloguesPassBase<FuseEpilogues> {
  using FuseEpiloguesPassBase::FuseEpiloguesPassBase;
  FuseEpilogues(FuseEpiloguesPassOptions options, const target::Target &machine)
      : FuseEpiloguesPassBase(std::move(options)), machine(machine) {}

  void runOnOperation() override {
    auto isa = gpu ? FailureOr<target::Isa>(target::Isa())
                   : isaOfOption(getOperation(), cpu);
    if (failed(isa))
      return signalPassFailure();
    SmallVector<step::GroupOp> groups;
    getOperation().walk([&](step::GroupOp group) { groups.push_back(group); });
    for (step::GroupOp group : groups)
      if (auto addition = biasAddition(group))
        fuse(group, *addition, *isa);
      else if (auto addition = gpu ? addendAddition(group) : std::nullopt)
        fuse(group, *addition, *isa);
  }

private:
  void decline(step::GroupOp group, const Twine &reason) {
    remark::missed(
        group.getLoc(),
        remark::RemarkOpts::name("Epilogue").category("fusion-fuse-epilogues"))
        << remark::reason("{0}", reason.str());
  }

  void fuse(step::GroupOp addition, BiasAddition parts, target::Isa isa) {
    Value product = productBehind(parts.product);
    auto call = product ? product.getDefiningOp<step::GroupOp>() : nullptr;
    if (!call || call->getBlock() != addition->getBlock())
      return;
    if (!product.hasOneUse())
      return decline(addition, "the product is read without the sum as well");
    std::string wrong;
    auto description = exec::fromAttribute(
        call->getAttrOfType<DictionaryAttr>(exec::libraryAttrName), wrong);
    MatmulDescription *matmul = description ? matmulOf(*description) : nullptr;
    if (!matmul || matmul->epilogue != libraries::Epilogue::none)
      return;
    if (auto *onGpu =
            std::get_if<libraries::GpuMatmulDescription>(&*description);
        onGpu && onGpu->addend != libraries::Addend::none)
      return;
    if (!addEpilogue(*description, parts, wrong))
      return decline(addition, wrong);
    wrong = libraries::whyNotSupported(*description, isa);
    if (!wrong.empty())
      return decline(addition, wrong);

    step::GroupOp fused = makeGroup(call, addition, parts);
    fused->setAttr(exec::libraryAttrName,
                   exec::toAttribute(&getContext(), *description));
    double together = cost::costOf(fused, machine).seconds;
    double apart = cost::costOf(call, machine).seconds +
                   cost::costOf(addition, machine).seconds;
    std::string prediction =
        llvm::formatv("predicted to take {0:f2} us in one call, {1:f2} us in a "
                      "call and a kernel",
                      together * 1e6, apart * 1e6)
            .str();
    if (together >= apart) {
      fused.erase();
      return decline(addition, prediction);
    }
    addition.getResult(0).replaceAllUsesWith(fused.getResult(0));
    addition.erase();
    for (Operation *unread = parts.product.getDefiningOp(); unread;) {
      Operation *next =
          unread == call ? nullptr : unread->getOperand(0).getDefiningOp();
      unread->erase();
      unread = next;
    }
    remark::passed(
        fused.getLoc(),
        remark::RemarkOpts::name("Epilogue").category("fusion-fuse-epilogues"))
        << remark::add("the library adds the {0}: {1}",
                       parts.broadcast ? "bias" : "other value", prediction);
  }

  /// The call's group with the addition in it, where the addition is.
  step::GroupOp makeGroup(step::GroupOp call, step::GroupOp addition,
                          BiasAddition parts) {
    OpBuilder builder(addition);
    SmallVector<Value> operands(call.getInputs());
    operands.push_back(parts.bias);
    auto fused = step::GroupOp::create(
        builder,
        FusedLoc::get(&getContext(), {call.getLoc(), addition.getLoc()}),
        addition.getResultTypes(), operands, step::GroupKind::library);
    Block *body = builder.createBlock(&fused.getBody());
    IRMapping mapping;
    for (auto [operand, argument] : llvm::zip_equal(
             call.getInputs(), call.getBody().front().getArguments()))
      mapping.map(argument,
                  body->addArgument(operand.getType(), argument.getLoc()));
    Value bias = body->addArgument(parts.bias.getType(), parts.add.getLoc());
    for (Operation &op : call.bodyOperations())
      builder.clone(op, mapping);
    Value product =
        mapping.lookup(call.getBody().front().getTerminator()->getOperand(0));
    if (product.getType() != parts.add.getType())
      product = stablehlo::ReshapeOp::create(builder, call.getLoc(),
                                             parts.add.getType(), product);
    Value first = parts.add.getLhs(), second = parts.add.getRhs();
    auto isBias = [&](Value value) {
      if (parts.broadcast)
        return value == parts.broadcast.getResult();
      return addition.getInputs()[cast<BlockArgument>(value).getArgNumber()] ==
             parts.bias;
    };
    if (isBias(first))
      std::swap(first, second);
    mapping.map(first, product);
    mapping.map(parts.broadcast ? parts.broadcast.getOperand() : second, bias);
    if (parts.broadcast)
      builder.clone(*parts.broadcast, mapping);
    Operation *last = builder.clone(*parts.add, mapping);
    if (parts.rounding)
      last = builder.clone(*parts.rounding, mapping);
    step::YieldOp::create(builder, addition.getLoc(), last->getResults());
    return fused;
  }

  target::Target machine = target::builtInTarget();
};

} // namespace

std::unique_ptr<Pass>
fusion::createFuseEpiloguesPass(FuseEpiloguesPassOptions options,
                                const target::Target &machine) {
  return std::make_unique<FuseEpilogues>(std::move(options), machine);
}
