//===- FormGroups.cpp - Put every operation into a group -----------------===//
//
// Works on one block at a time, loop bodies and branches included:
//
// 1. what nobody reads is erased, and reads that cost nothing are cloned into
//    each of their readers, so that a broadcast or a constant never forces two
//    readers together or apart;
// 2. operations are merged into groups (BlockGrouper);
// 3. what need not stay in memory over the peak of these groups is recomputed
//    behind it (RecomputeAcrossPeak), and grouping begins anew;
// 4. the groups are written out in execution order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Fusion/BlockGrouper.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_FORMGROUPSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// Whether the operation stands in @main, a loop or a branch, not in the region
/// of a reduction or of another generic operation.
bool isInGroupedBlock(Operation *op) {
  return isa<func::FuncOp, stablehlo::WhileOp, stablehlo::CaseOp,
             stablehlo::IfOp>(op->getParentOp());
}

/// Erases what nobody reads, which no kernel could have as its result, readers
/// before what they alone read.
void eraseUnread(func::FuncOp function) {
  function->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

/// How many peaks are brought down, one after the other.
constexpr int mostRecomputeRounds = 6;

/// Gives every reader its own copy of the reads that cost nothing.
void cloneFreeReads(Block &block, bool onGpu) {
  SmallVector<Operation *> reads;
  for (Operation &op : block.without_terminator())
    if (isFreeToClone(&op))
      reads.push_back(&op);
  for (Operation *read : llvm::reverse(reads)) {
    // Readers in nested regions of this block's operations count as well.
    SmallVector<Operation *> users;
    llvm::SmallDenseSet<Operation *> seen;
    for (Operation *user : read->getUsers())
      if (absorbs(user, read, onGpu) && isInGroupedBlock(user) &&
          seen.insert(user).second)
        users.push_back(user);
    for (Operation *user : users) {
      OpBuilder builder(user);
      Operation *copy = builder.clone(*read);
      user->replaceUsesOfWith(read->getResult(0), copy->getResult(0));
    }
    if (read->use_empty())
      read->erase();
  }
}

struct FormGroups : public fusion::impl::FormGroupsPassBase<FormGroups> {
  using FormGroupsPassBase::FormGroupsPassBase;
  FormGroups(FormGroupsPassOptions options, const target::Target &machine)
      : FormGroupsPassBase(std::move(options)), machine(machine) {}

  void runOnOperation() override {
    eraseUnread(getOperation());
    runOnRegion(getOperation().getBody());
  }

  void runOnRegion(Region &region) {
    for (Block &block : region) {
      cloneFreeReads(block, machine.isGpu());
      for (Operation &op : block)
        if (isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
          for (Region &nested : op.getRegions())
            runOnRegion(nested);
      formGroups(block);
    }
  }

  void formGroups(Block &block) {
    RecomputedOperations recomputed;
    for (int round = 0;; ++round) {
      BlockGrouper grouper(block, recomputed, machine);
      grouper.absorbFreeReads();
      if (merge)
        grouper.mergeGroups();
      if (merge && recompute && round < mostRecomputeRounds &&
          recomputeAcrossPeak(block, grouper.groups(), grouper.knownKernels(),
                              recomputed, machine)) {
        cloneFreeReads(block, machine.isGpu());
        continue;
      }
      if (merge)
        grouper.explain();
      grouper.writeGroups();
      return;
    }
  }

  target::Target machine = target::builtInTarget();
};

} // namespace

std::unique_ptr<Pass>
fusion::createFormGroupsPass(FormGroupsPassOptions options,
                             const target::Target &machine) {
  return std::make_unique<FormGroups>(std::move(options), machine);
}
