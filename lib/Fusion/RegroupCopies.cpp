//===- RegroupCopies.cpp - Merge what runs again with its only reader ----===//
//
// Runs after a memory budget decided what is computed again. In the program a
// value had several readers or a place in memory of its own; its copy mostly
// has one reader, right behind it, and may become part of that kernel.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/JoinGroups.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace tenon::fusion {
#define GEN_PASS_DEF_REGROUPCOPIESPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// The one group that reads what `copy` computes, if it is the next to run.
step::GroupOp onlyReader(step::GroupOp copy) {
  Operation *reader = nullptr;
  for (Operation *user : copy->getUsers()) {
    if (reader && user != reader)
      return nullptr;
    reader = user;
  }
  auto group = dyn_cast_or_null<step::GroupOp>(reader);
  if (!group || group->getBlock() != copy->getBlock())
    return nullptr;
  // The plan's order stays what was proved.
  for (Operation *between = copy->getNextNode(); between != group;
       between = between->getNextNode())
    if (!isa<stablehlo::ReshapeOp>(between))
      return nullptr;
  return group;
}

/// Bytes that would have to wait for the reader although they need not wait for
/// the copy's result.
int64_t bytesKeptLonger(step::GroupOp copy, step::GroupOp reader) {
  int64_t bytes = 0;
  for (Value input :
       llvm::SetVector<Value>(copy.getInputs().begin(), copy.getInputs().end()))
    if (Operation *writer = input.getDefiningOp();
        writer && llvm::all_of(input.getUsers(), [&](Operation *user) {
          Operation *above = copy->getBlock()->findAncestorOpInBlock(*user);
          return above && (above == copy || above->isBeforeInBlock(copy));
        }))
      bytes += storedBytes(input.getType());
  for (Value result : copy->getResults())
    bytes -= storedBytes(result.getType());
  return bytes;
}

/// What the plan says of the two, for the group that does both.
void nameNodes(step::GroupOp copy, step::GroupOp reader, step::GroupOp joined) {
  if (reader->hasAttr(step::recomputedAttrName))
    joined->setAttr(step::recomputedAttrName, UnitAttr::get(copy.getContext()));
  auto node = reader->getAttrOfType<IntegerAttr>(step::nodeAttrName);
  if (!node)
    return;
  SmallVector<int64_t> before;
  auto add = [&](Operation *op) {
    if (auto nodes =
            op->getAttrOfType<DenseI64ArrayAttr>(step::joinedNodesAttrName))
      llvm::append_range(before, nodes.asArrayRef());
  };
  add(copy);
  auto copied = copy->getAttrOfType<IntegerAttr>(step::nodeAttrName);
  if (copied != node)
    before.push_back(copied.getInt());
  add(reader);
  joined->setAttr(step::nodeAttrName, node);
  // Its results are the reader's.
  for (StringRef name : {step::nodeValuesAttrName, step::nodeBytesAttrName})
    if (Attribute values = reader->getAttr(name))
      joined->setAttr(name, values);
  joined->setAttr(step::joinedNodesAttrName,
                  DenseI64ArrayAttr::get(copy.getContext(), before));
}

/// What runs beside the operations in front counts one less.
void leaveOut(step::GroupOp copy) {
  Builder builder(copy.getContext());
  int64_t distance = 1;
  for (Operation *op = copy->getPrevNode(); op;
       op = op->getPrevNode(), ++distance) {
    auto beside = op->getAttrOfType<IntegerAttr>(step::besideAttrName);
    if (!beside || beside.getInt() < distance)
      continue;
    if (beside.getInt() > 1)
      op->setAttr(step::besideAttrName,
                  builder.getI64IntegerAttr(beside.getInt() - 1));
    else
      op->removeAttr(step::besideAttrName);
  }
}

struct RegroupCopies
    : public fusion::impl::RegroupCopiesPassBase<RegroupCopies> {
  using RegroupCopiesPassBase::RegroupCopiesPassBase;
  explicit RegroupCopies(const target::Target &machine) : machine(machine) {}

  void runOnOperation() override {
    SmallVector<Block *> blocks = {&getOperation().getBody().front()};
    getOperation().walk([&](stablehlo::WhileOp loop) {
      blocks.push_back(&loop.getBody().front());
    });
    for (Block *block : blocks)
      regroup(*block);
  }

private:
  /// Backwards, so that copies of copies and several for one reader join it one
  /// after the other.
  void regroup(Block &block) {
    Operation *previous = nullptr;
    for (Operation *op = block.getTerminator(); op; op = previous) {
      previous = op->getPrevNode();
      if (auto group = dyn_cast<step::GroupOp>(op);
          group && group->hasAttr(step::recomputedAttrName))
        regroup(group);
    }
  }

  void regroup(step::GroupOp copy) {
    step::GroupOp reader = onlyReader(copy);
    if (!reader || !isLoopKernel(copy) || !isLoopKernel(reader) ||
        copy->hasAttr(step::nodeAttrName) !=
            reader->hasAttr(step::nodeAttrName) ||
        bytesKeptLonger(copy, reader) > 0)
      return;
    step::GroupOp joined = joinGroups(copy, reader, /*keepsFirst=*/false);
    if (!joined)
      return;
    double together = cost::costOf(joined, machine).seconds;
    double apart = cost::costOf(copy, machine).seconds +
                   cost::costOf(reader, machine).seconds;
    if (together >= apart)
      return joined.erase();
    remark::passed(
        joined.getLoc(),
        remark::RemarkOpts::name("Regrouped").category("fusion-regroup-copies"))
        << remark::add("what is computed again joins its reader: predicted to "
                       "take {0} us in one kernel, {1} us in two",
                       llvm::formatv("{0:f2}", together * 1e6).str(),
                       llvm::formatv("{0:f2}", apart * 1e6).str());
    nameNodes(copy, reader, joined);
    Builder builder(&getContext());
    joined->setAttr(step::nanosecondsAttrName,
                    builder.getI64IntegerAttr(std::llround(together * 1e9)));
    reader->replaceAllUsesWith(joined);
    reader.erase();
    leaveOut(copy);
    copy.erase();
  }

  target::Target machine = target::builtInTarget();
};

} // namespace

std::unique_ptr<Pass>
fusion::createRegroupCopiesPass(const target::Target &machine) {
  return std::make_unique<RegroupCopies>(machine);
}
