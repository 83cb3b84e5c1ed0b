//===- JointRuns.cpp - Groups that may be one launch ----------------------===//
//
// See JointRuns.h.
//
//===----------------------------------------------------------------------===//

#include "JointRuns.h"

#include "Views.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Target/GraphNodes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

bool memory::mayShareLaunch(Operation *op) {
  auto group = dyn_cast<step::GroupOp>(op);
  if (!group || group->hasAttr(step::scratchBytesAttrName))
    return false;
  switch (group.getKind()) {
  case step::GroupKind::elementwise:
  case step::GroupKind::row:
  case step::GroupKind::column:
    return true;
  default:
    return false;
  }
}

unsigned memory::addressesOf(Operation *op) {
  return op->getNumOperands() + op->getNumResults();
}

namespace {

/// A run that grows group by group.
class GrowingRun {
public:
  explicit GrowingRun(SmallVectorImpl<JointRun> &runs) : runs(runs) {}

  void add(Operation *op) {
    const bool readsOne = llvm::any_of(op->getOperands(), [&](Value operand) {
      return written.contains(storageOf(operand));
    });
    if (readsOne || addresses + addressesOf(op) > target::mostJointAddresses)
      finish();
    if (!run.first)
      run.first = op;
    run.last = op;
    addresses += addressesOf(op);
    written.insert_range(op->getResults());
  }

  void finish() {
    if (run.first != run.last)
      runs.push_back(run);
    run = {};
    addresses = 0;
    written.clear();
  }

private:
  SmallVectorImpl<JointRun> &runs;
  JointRun run = {};
  unsigned addresses = 0;
  llvm::DenseSet<Value> written;
};

} // namespace

static void findRuns(Block &block, SmallVectorImpl<JointRun> &runs) {
  GrowingRun run(runs);
  for (Operation &op : block) {
    if (mayShareLaunch(&op)) {
      run.add(&op);
      continue;
    }
    // What nobody launches.
    if (isView(&op) || matchPattern(&op, m_Constant()))
      continue;
    run.finish();
    if (!isa<step::GroupOp>(op))
      for (Region &region : op.getRegions())
        for (Block &nested : region)
          findRuns(nested, runs);
  }
  run.finish();
}

SmallVector<JointRun> memory::findJointRuns(func::FuncOp function) {
  SmallVector<JointRun> runs;
  findRuns(function.getBody().front(), runs);
  return runs;
}
