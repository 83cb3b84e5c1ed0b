//===- ExpandBranches.cpp - What reducers and comparators may hold --------===//
//
// Code for a region that works on elements is generated in the middle of a
// kernel: a straight line of element-wise operations. Branches become
// selections between what all of them compute, which is allowed because nothing
// in such a region has an effect. What no straight line can say, loops and
// operations on many elements, has become a loop before
// (ExpandElementLoops.cpp); where it has not, it is reported, all of it, as
// unsupported.
//
//===----------------------------------------------------------------------===//

#include "ElementCode.h"

#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"

#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tenon::importer {
#define GEN_PASS_DEF_EXPANDBRANCHESPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::stablehlo;

namespace {

/// Moves a branch's operations in front of `op`; returns what it yields.
SmallVector<Value> inlined(Region &branch, Operation *op) {
  Block &block = branch.front();
  Operation *end = block.getTerminator();
  SmallVector<Value> results(end->getOperands());
  end->erase();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         block.getOperations());
  return results;
}

void selectInstead(IfOp op) {
  SmallVector<Value> yes = inlined(op.getTrueBranch(), op);
  SmallVector<Value> no = inlined(op.getFalseBranch(), op);
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  for (auto [result, a, b] : llvm::zip_equal(op.getResults(), yes, no))
    result.replaceAllUsesWith(SelectOp::create(builder, op.getPred(), a, b));
  op.erase();
}

/// An index beyond the branches means the last one.
void selectInstead(CaseOp op) {
  SmallVector<SmallVector<Value>> branches;
  for (Region &branch : op.getBranches())
    branches.push_back(inlined(branch, op));
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  SmallVector<Value> chosen = branches.pop_back_val();
  for (int64_t i = int64_t(branches.size()) - 1; i >= 0; --i) {
    Value isIt =
        CompareOp::create(builder, op.getIndex(), scalarConstant(builder, i),
                          ComparisonDirection::EQ, ComparisonType::SIGNED);
    for (auto [value, other] : llvm::zip_equal(chosen, branches[i]))
      value = SelectOp::create(builder, isIt, other, value);
  }
  op.replaceAllUsesWith(chosen);
  op.erase();
}

struct ExpandBranches
    : public tenon::importer::impl::ExpandBranchesPassBase<ExpandBranches> {
  void runOnOperation() override {
    // Innermost first, so that what moves holds no branches any more.
    SmallVector<Operation *> branching;
    getOperation().walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isa<IfOp, CaseOp>(op) && elementOwner(op))
        branching.push_back(op);
    });
    for (Operation *op : branching) {
      if (auto conditional = dyn_cast<IfOp>(op))
        selectInstead(conditional);
      else
        selectInstead(cast<CaseOp>(op));
    }
    bool ok = true;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      Operation *owner = elementOwner(op);
      if (!owner || isOnElements(op))
        return WalkResult::advance();
      op->emitError() << "'" << op->getName() << "' in a region of '"
                      << owner->getName()
                      << "' has no code; there, operations work on single "
                         "elements";
      ok = false;
      return WalkResult::skip();
    });
    if (ok)
      return;
    getOperation()->setAttr(unsupportedAttrName, UnitAttr::get(&getContext()));
    signalPassFailure();
  }

private:
  /// The operation whose element region `op` is in, if any.
  static Operation *elementOwner(Operation *op) {
    for (Operation *parent = op->getParentOp(); parent;
         parent = parent->getParentOp())
      if (hasElementRegions(parent))
        return parent;
    return nullptr;
  }
};

} // namespace
