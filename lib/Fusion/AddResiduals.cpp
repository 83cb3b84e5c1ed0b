//===- AddResiduals.cpp - Let a GPU's library add to a residual stream ---===//
//
// A block of a deep network adds what it computes to what it read:
//
//   x ---> norm ---> ... ---> product ---> + bias ---> + ---> the next x
//   |                                                  |
//   +--------------------------------------------------+
//
// Both sums are kept for the blocks around them, in f32. With products of 16
// bits a kernel would read the rounded product and the old x and write the new
// one; a call that adds writes the new x itself, while it multiplies, and what
// it adds was never rounded. This comes before groups are formed, since each
// reader of the new x would else compute it again from what the call wrote.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Cost/KernelCost.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/LibraryGroup.h"
#include "tenon/Libraries/Library.h"
#include "tenon/Target/GpuArchitectures.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_ADDRESIDUALSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// new x = (product + bias) + x, or without a bias.
struct Residual {
  step::GroupOp call;
  libraries::GpuMatmulDescription description;
  std::optional<BiasAddition> bias;
  stablehlo::AddOp sum;
  Value old;
  SmallVector<Operation *> chain; // from the call to the sum
};

template <typename Op>
Op onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

/// Whether `value` is computed from `source`, which stands before it in its
/// block, so that the source is in memory until then.
bool dependsOn(Operation *value, Value source) {
  Operation *first = source.getDefiningOp();
  llvm::SmallPtrSet<Operation *, 32> seen = {value};
  SmallVector<Operation *> left = {value};
  while (!left.empty())
    for (Value operand : left.pop_back_val()->getOperands()) {
      if (operand == source)
        return true;
      Operation *writer = operand.getDefiningOp();
      if (writer && writer->getBlock() == value->getBlock() &&
          (!first || first->isBeforeInBlock(writer)) &&
          seen.insert(writer).second)
        left.push_back(writer);
    }
  return false;
}

/// Whether the value is stored as it is if several read it: one that the
/// compiler widened is stored in 16 bits, and what costs nothing not at all.
bool isStoredWide(Value value, Block *block) {
  Operation *writer = value.getDefiningOp();
  if (!writer)
    return value.getParentBlock() == block;
  return writer->getBlock() == block && !step::isCompilerCast(writer) &&
         !isFreeToClone(writer) && !isa<stablehlo::ReshapeOp>(writer);
}

/// The residual that a call of 16 bits is added to; nothing if it is none.
std::optional<Residual> residualOf(step::GroupOp call) {
  auto description = plainGpuMatmul(call);
  if (!description || description->resultType == ElementType::f32)
    return std::nullopt;
  Value product = call.getResult(0);
  if (auto reshape = onlyUser<stablehlo::ReshapeOp>(product))
    product = reshape;
  auto widened = onlyUser<stablehlo::ConvertOp>(product);
  if (!widened || !step::isCompilerCast(widened))
    return std::nullopt;
  Residual found{.call = call,
                 .description = *description,
                 .sum = onlyUser<stablehlo::AddOp>(widened.getResult()),
                 .chain = {call}};
  if (product != call.getResult(0))
    found.chain.push_back(product.getDefiningOp());
  found.chain.push_back(widened);
  found.description.resultType = ElementType::f32;
  if (!found.sum)
    return std::nullopt;
  Value last = widened.getResult();
  if (auto bias = biasAddition(found.sum.getResult());
      bias && bias->product == last) {
    last = found.sum.getResult();
    found.bias = bias;
    // The library adds a bias of the type of its results.
    found.bias->bias = bias->broadcast.getOperand();
    found.chain.append({bias->broadcast, found.sum});
    found.sum = onlyUser<stablehlo::AddOp>(last);
  }
  if (!found.sum || found.sum.getLhs() == found.sum.getRhs() ||
      found.sum->hasOneUse())
    return std::nullopt;
  found.old =
      found.sum.getLhs() == last ? found.sum.getRhs() : found.sum.getLhs();
  if (!isStoredWide(found.old, call->getBlock()) ||
      found.sum->getBlock() != call->getBlock() || !dependsOn(call, found.old))
    return std::nullopt;
  found.chain.push_back(found.sum);
  return found;
}

struct AddResiduals : public fusion::impl::AddResidualsPassBase<AddResiduals> {
  using AddResidualsPassBase::AddResidualsPassBase;
  AddResiduals(const target::Target &machine) : machine(machine) {}

  void runOnOperation() override {
    for (step::GroupOp call : libraryGroups(getOperation()))
      if (auto residual = residualOf(call))
        replace(*residual);
  }

private:
  void replace(Residual &parts);
  step::GroupOp callOf(Residual &parts);

  remark::RemarkOpts remarks =
      remark::RemarkOpts::name("Residual").category("fusion-add-residuals");
  /// By default one whose times resemble those of other GPUs.
  target::Target machine =
      target::builtInTarget(*target::gpuArchitectureNamed("sm_90"));
};

/// The call that adds, where the sum is.
step::GroupOp AddResiduals::callOf(Residual &parts) {
  step::GroupOp plain = parts.call;
  stablehlo::AddOp sum = parts.sum;
  SmallVector<Value> operands(plain.getInputs());
  operands.push_back(parts.old);
  if (parts.bias)
    operands.push_back(parts.bias->bias);
  OpBuilder builder(sum);
  auto call = step::GroupOp::create(
      builder, FusedLoc::get(&getContext(), {plain.getLoc(), sum.getLoc()}),
      sum->getResultTypes(), operands, step::GroupKind::library);
  call->setAttr(exec::libraryAttrName,
                exec::toAttribute(&getContext(), parts.description));
  Block *body = builder.createBlock(&call.getBody());
  for (Value operand : operands)
    body->addArgument(operand.getType(), operand.getLoc());
  IRMapping mapping;
  for (auto [from, to] :
       llvm::zip(plain.getBody().front().getArguments(), body->getArguments()))
    mapping.map(from, to);
  const auto type = cast<RankedTensorType>(sum.getType());
  Value result = cloneProduct(builder, plain, mapping);
  if (result.getType() != type)
    result =
        stablehlo::ReshapeOp::create(builder, plain.getLoc(), type, result);
  result = stablehlo::AddOp::create(
      builder, sum.getLoc(), result,
      body->getArgument(unsigned(plain.getInputs().size())));
  if (parts.bias) {
    mapping.map(parts.bias->bias, body->getArguments().back());
    Operation *spread = builder.clone(*parts.bias->broadcast, mapping);
    result = stablehlo::AddOp::create(builder, parts.bias->add.getLoc(), result,
                                      spread->getResult(0));
  }
  step::YieldOp::create(builder, sum.getLoc(), result);
  return call;
}

/// Makes the sum part of the call if that is predicted to take less time.
void AddResiduals::replace(Residual &parts) {
  auto decline = [&](const Twine &why) {
    remark::missed(parts.sum.getLoc(), remarks)
        << remark::reason("{0}", why.str());
  };
  parts.description.addend = libraries::Addend::operand;
  if (parts.bias) {
    if (!addsPerColumn(parts.description, *parts.bias))
      return decline("the bias is not one value per column of the product as "
                     "it lies in memory");
    parts.description.epilogue = libraries::Epilogue::bias;
  }
  if (std::string wrong = libraries::whyNotSupported(parts.description, {});
      !wrong.empty())
    return decline(wrong);
  // What reads the new x would read the product and the old x and write it.
  const double product = double(storedBytes(parts.call.getResult(0).getType())),
               old = double(storedBytes(parts.sum.getType())),
               bytes = product + old;
  step::GroupOp call = callOf(parts);
  const double together = cost::costOf(call, machine).seconds,
               apart = cost::costOf(parts.call, machine).seconds +
                       bytes / cost::bandwidthOf(bytes, machine)
                                   .of(machine.cores, machine.cores);
  const std::string prediction =
      llvm::formatv("predicted to take {0:f2} us in the call, {1:f2} us in it "
                    "and the kernels that read the sum",
                    together * 1e6, apart * 1e6)
          .str();
  if (together >= apart) {
    call.erase();
    return decline(prediction);
  }
  remark::passed(call.getLoc(), remarks)
      << remark::add("the library adds the residual: {0}", prediction);
  parts.sum.getResult().replaceAllUsesWith(call.getResult(0));
  for (Operation *op : llvm::reverse(parts.chain))
    if (op->use_empty())
      op->erase();
}

} // namespace

std::unique_ptr<Pass>
fusion::createAddResidualsPass(const target::Target &machine) {
  return std::make_unique<AddResiduals>(machine);
}
