//===- WriteSlices.cpp - Slices of stacks written where they are made -----===//
//
// A round of a forward loop stacks what its element-wise kernels compute, one
// update of a stack per value. Each of these would read again what a kernel has
// just written, and wake all threads for a few microseconds of work. So the
// kernel stores the value in the stack itself, and no place of its own is
// needed for what nothing else reads. What a round begins with is stacked by
// the kernel that computes what the next one begins with, in whose place it
// lies. A stack that a round updates, such as the parameters of all layers, may
// be read as well: by the kernel itself where it writes, and by others in front
// of it. Runs after groups were formed, and after ReadSlices: a slice of
// another stack may be what is stored.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/GroupLegality.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_WRITESLICESPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using namespace tenon::stablehlo;

namespace {

/// A group that stores a value in a slice of what its loop carries, and nothing
/// else.
struct SliceWrite {
  mutable step::GroupOp group;
  BlockArgument stack; // of the loop
  /// What is stored, and what that shows with other dimensions of extent 1.
  Value update, stored;
  /// From `stored` to `update`.
  SmallVector<ReshapeOp> views;

  static std::optional<SliceWrite> of(step::GroupOp group);
  /// The element-wise kernel that may store it; null if there is none.
  step::GroupOp maker() const;
  /// Whether all others that read the stack may run before a kernel does, so
  /// that it is updated in place.
  bool isLastReader(step::GroupOp maker) const;
  /// The kernel that does both, in front of `maker`.
  step::GroupOp joinedWith(step::GroupOp maker) const;
};

std::optional<SliceWrite> SliceWrite::of(step::GroupOp group) {
  auto loop = dyn_cast<WhileOp>(group->getParentOp());
  if (!loop || group.getKind() != step::GroupKind::generic ||
      group.getNumResults() != 1 || !group->hasOneUse())
    return std::nullopt;
  auto write = group.getBody()
                   .front()
                   .getTerminator()
                   ->getOperand(0)
                   .getDefiningOp<DynamicUpdateSliceOp>();
  if (!write)
    return std::nullopt;
  for (Operation &op : group.bodyOperations())
    if (&op != write && !matchPattern(&op, m_Constant()))
      return std::nullopt;
  auto outside = [&](Value value) -> Value {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? group.getInputs()[argument.getArgNumber()] : Value();
  };
  SliceWrite found;
  found.group = group;
  found.stack = dyn_cast_or_null<BlockArgument>(outside(write.getOperand()));
  found.update = outside(write.getUpdate());
  Block &round = loop.getBody().front();
  OpOperand &use = *group->use_begin();
  if (!found.stack || !found.update || found.stack.getOwner() != &round ||
      use.getOwner() != round.getTerminator() ||
      use.getOperandNumber() != found.stack.getArgNumber())
    return std::nullopt;
  found.stored = found.update;
  while (auto view = found.stored.getDefiningOp<ReshapeOp>()) {
    if (!differInUnitsAlone(view.getOperand(), view.getResult()))
      break;
    found.views.push_back(view);
    found.stored = view.getOperand();
  }
  std::reverse(found.views.begin(), found.views.end());
  return found;
}

step::GroupOp SliceWrite::maker() const {
  Value made = stored;
  Block *round = stack.getOwner();
  if (auto carried = dyn_cast<BlockArgument>(made);
      carried && carried.getOwner() == round) {
    made = round->getTerminator()->getOperand(carried.getArgNumber());
    while (auto view = made.getDefiningOp<ReshapeOp>())
      made = view.getOperand();
  }
  auto maker = made.getDefiningOp<step::GroupOp>();
  return maker && maker->getBlock() == round &&
                 maker.getKind() == step::GroupKind::elementwise
             ? maker
             : step::GroupOp();
}

bool SliceWrite::isLastReader(step::GroupOp maker) const {
  return llvm::all_of(stack.getUsers(), [&](Operation *reader) {
    return reader == maker || reader == group ||
           (isa<step::GroupOp>(reader) &&
            reader->getBlock() == maker->getBlock() &&
            reader->isBeforeInBlock(maker));
  });
}

step::GroupOp SliceWrite::joinedWith(step::GroupOp maker) const {
  llvm::SetVector<Value> operands(maker.getInputs().begin(),
                                  maker.getInputs().end());
  for (Value input : group.getInputs())
    if (Value read = input == update ? stored : input;
        read.getDefiningOp() != maker)
      operands.insert(read);
  // What was only stored is no result any more.
  auto isOnlyStored = [&](Value result) {
    SmallVector<Value> seen = {result};
    while (!seen.empty())
      for (Operation *user : seen.pop_back_val().getUsers()) {
        if (user == group)
          continue;
        auto view = dyn_cast<ReshapeOp>(user);
        if (!view || !llvm::is_contained(views, view))
          return false;
        seen.push_back(view);
      }
    return true;
  };
  SmallVector<unsigned> kept;
  SmallVector<Type> types;
  for (auto [index, result] : llvm::enumerate(maker->getResults()))
    if (result != stored || !isOnlyStored(result)) {
      kept.push_back(index);
      types.push_back(result.getType());
    }
  types.push_back(group->getResult(0).getType());

  OpBuilder builder(maker);
  auto joined = step::GroupOp::create(
      builder,
      FusedLoc::get(maker.getContext(), {maker.getLoc(), group.getLoc()}),
      types, operands.getArrayRef(), step::GroupKind::elementwise);
  joined->setDiscardableAttrs(maker->getDiscardableAttrDictionary());
  Block *body = builder.createBlock(&joined.getBody());
  IRMapping inside; // what is read outside
  for (Value operand : operands)
    inside.map(operand, body->addArgument(operand.getType(), operand.getLoc()));
  SmallVector<Value> yielded;
  auto enter = [&](step::GroupOp from) {
    IRMapping mapping;
    for (auto [input, argument] : llvm::zip_equal(
             from.getInputs(), from.getBody().front().getArguments()))
      mapping.map(argument, inside.lookup(input));
    for (Operation &op : from.bodyOperations())
      builder.clone(op, mapping);
    Operation *yield = from.getBody().front().getTerminator();
    for (auto [result, value] :
         llvm::zip_equal(from->getResults(), yield->getOperands()))
      inside.map(result, mapping.lookupOrDefault(value));
  };
  enter(maker);
  for (unsigned index : kept)
    yielded.push_back(inside.lookup(maker->getResult(index)));
  for (ReshapeOp view : views)
    builder.clone(*view, inside);
  enter(group);
  yielded.push_back(inside.lookup(group->getResult(0)));
  step::YieldOp::create(builder, joined.getLoc(), yielded);
  return joined;
}

struct WriteSlices : public fusion::impl::WriteSlicesPassBase<WriteSlices> {
  WriteSlices() = default;
  explicit WriteSlices(const target::Target &machine) : machine(machine) {}

  void runOnOperation() override {
    SmallVector<step::GroupOp> updates;
    getOperation().walk([&](step::GroupOp group) {
      if (SliceWrite::of(group))
        updates.push_back(group);
    });
    // Makers become others meanwhile.
    for (step::GroupOp group : updates)
      writeInPlace(*SliceWrite::of(group));
  }

private:
  void decline(const SliceWrite &write, StringRef reason) {
    remark::missed(
        write.group.getLoc(),
        remark::RemarkOpts::name("Slice").category("fusion-write-slices"))
        << remark::reason("{0}", reason);
  }

  void writeInPlace(const SliceWrite &write) {
    step::GroupOp maker = write.maker();
    if (!maker)
      return decline(write, "no element-wise kernel computes it");
    if (!write.isLastReader(maker))
      return decline(write, "the stack is read behind what computes it");
    for (Value input : write.group.getInputs())
      if (Operation *definition = input.getDefiningOp();
          definition && definition->getBlock() == maker->getBlock() &&
          input != write.update && !definition->isBeforeInBlock(maker)) {
        if (!matchPattern(definition, m_Constant()))
          return decline(write, "its place is known behind what computes it");
        definition->moveBefore(maker);
      }
    step::GroupOp joined = write.joinedWith(maker);
    const bool isLegal = kindOf(KernelDescription(joined.getBody().front())) ==
                         step::GroupKind::elementwise;
    if (!isLegal || cost::costOf(joined, machine).seconds >
                        cost::costOf(maker, machine).seconds +
                            cost::costOf(write.group, machine).seconds) {
      joined.erase();
      return decline(write, isLegal ? "storing it there takes longer"
                                    : "the two could not be one kernel");
    }
    remark::passed(
        write.group.getLoc(),
        remark::RemarkOpts::name("Slice").category("fusion-write-slices"))
        << remark::metric("Results", int64_t(joined.getNumResults()));
    write.group->getResult(0).replaceAllUsesWith(joined->getResults().back());
    write.group->erase();
    for (ReshapeOp view : llvm::reverse(write.views))
      if (view->use_empty())
        view->erase();
    auto next = joined->getResults().begin();
    for (Value result : maker->getResults())
      if (!(result == write.stored && result.use_empty()))
        result.replaceAllUsesWith(*next++);
    maker.erase();
  }

  target::Target machine = target::builtInTarget();
};

} // namespace

std::unique_ptr<Pass>
fusion::createWriteSlicesPass(const target::Target &machine) {
  return std::make_unique<WriteSlices>(machine);
}
