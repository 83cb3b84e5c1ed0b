//===- ReadSlices.cpp - Slices of stacks read where they are used ---------===//
//
// A round of a backward loop reads one slice of each stack. Element by element
// that is an index and costs nothing, so the kernels that read a slice read the
// stack itself. Runs after groups were formed, so that a slice keeps no kernel
// from joining another one. Only stacks that the loop captures: a round
// may overwrite what it carries before the last reader has run.
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
#include "llvm/ADT/SetVector.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_READSLICESPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using namespace tenon::stablehlo;

namespace {

/// Whether the group only takes a slice of a value from outside of its loop.
bool isSliceOfCaptured(step::GroupOp group) {
  auto loop = dyn_cast<WhileOp>(group->getParentOp());
  auto slice = group.getBody()
                   .front()
                   .getTerminator()
                   ->getOperand(0)
                   .getDefiningOp<DynamicSliceOp>();
  if (!loop || !slice || group.getNumResults() != 1)
    return false;
  for (Operation &op : group.bodyOperations())
    if (&op != slice && !matchPattern(&op, m_Constant()))
      return false;
  auto stack = dyn_cast<BlockArgument>(slice.getOperand());
  return stack && !loop->isAncestor(group.getInputs()[stack.getArgNumber()]
                                        .getParentRegion()
                                        ->getParentOp());
}

/// The slice as readers see it: the group's result, or a reshape of it that
/// only drops dimensions of extent 1.
bool isViewOfSlice(Operation *op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  return reshape &&
         differInUnitsAlone(reshape.getOperand(), reshape.getResult());
}

struct ReadSlices : public fusion::impl::ReadSlicesPassBase<ReadSlices> {
  ReadSlices() = default;
  explicit ReadSlices(const target::Target &machine) : machine(machine) {}

  void runOnOperation() override {
    SmallVector<step::GroupOp> slices;
    getOperation().walk([&](step::GroupOp group) {
      if (isSliceOfCaptured(group))
        slices.push_back(group);
    });
    for (step::GroupOp slice : slices)
      readInPlace(slice);
  }

private:
  void decline(step::GroupOp slice, StringRef reason) {
    remark::missed(slice.getLoc(), remark::RemarkOpts::name("Slice").category(
                                       "fusion-read-slices"))
        << remark::reason("{0}", reason);
  }

  void readInPlace(step::GroupOp slice) {
    SmallVector<Operation *> views = {slice};
    llvm::SetVector<step::GroupOp> readers;
    for (Operation *user : slice->getUsers())
      if (isViewOfSlice(user))
        views.push_back(user);
    for (Operation *view : views)
      for (Operation *user : view->getUsers()) {
        if (llvm::is_contained(views, user))
          continue;
        auto reader = dyn_cast<step::GroupOp>(user);
        if (!reader || reader->getBlock() != slice->getBlock() ||
            reader.getKind() != step::GroupKind::elementwise)
          return decline(slice, "what reads it is no element-wise kernel");
        readers.insert(reader);
      }
    double apart = cost::costOf(slice, machine).seconds, together = 0;
    SmallVector<step::GroupOp> reading;
    bool isLegal = true;
    for (step::GroupOp reader : readers) {
      reading.push_back(withSlice(reader, slice, views));
      isLegal &= kindOf(KernelDescription(reading.back().getBody().front())) ==
                 step::GroupKind::elementwise;
      apart += cost::costOf(reader, machine).seconds;
      together += cost::costOf(reading.back(), machine).seconds;
    }
    if (!isLegal || together > apart) {
      for (step::GroupOp group : reading)
        group.erase();
      return decline(slice, isLegal ? "reading it in place takes longer"
                                    : "its reader could not be one kernel");
    }
    remark::passed(slice.getLoc(), remark::RemarkOpts::name("Slice").category(
                                       "fusion-read-slices"))
        << remark::metric("Readers", int64_t(reading.size()));
    SmallVector<step::GroupOp> before = readers.takeVector();
    for (auto [reader, group] : llvm::zip_equal(before, reading)) {
      reader->replaceAllUsesWith(group);
      reader.erase();
    }
    for (Operation *view : llvm::reverse(views))
      view->erase();
  }

  /// The reader with the slice in it, in front of the reader.
  step::GroupOp withSlice(step::GroupOp reader, step::GroupOp slice,
                          ArrayRef<Operation *> views) {
    llvm::SetVector<Value> operands;
    auto isView = [&](Value value) {
      return llvm::is_contained(views, value.getDefiningOp());
    };
    for (Value input : reader.getInputs())
      if (!isView(input))
        operands.insert(input);
    operands.insert_range(slice.getInputs());
    OpBuilder builder(reader);
    auto group = step::GroupOp::create(
        builder, reader.getLoc(), reader.getResultTypes(),
        operands.getArrayRef(), step::GroupKind::elementwise);
    group->setDiscardableAttrs(reader->getDiscardableAttrDictionary());
    Block *body = builder.createBlock(&group.getBody());
    llvm::DenseMap<Value, Value> inside;
    for (Value operand : operands)
      inside[operand] = body->addArgument(operand.getType(), operand.getLoc());
    IRMapping mapping;
    auto enter = [&](step::GroupOp from) {
      for (auto [input, argument] : llvm::zip_equal(
               from.getInputs(), from.getBody().front().getArguments()))
        if (Value value = inside.lookup(input))
          mapping.map(argument, value);
      for (Operation &op : from.bodyOperations())
        builder.clone(op, mapping);
    };
    enter(slice);
    inside[slice.getResult(0)] =
        mapping.lookup(slice.getBody().front().getTerminator()->getOperand(0));
    for (Operation *view : views.drop_front()) {
      IRMapping outer;
      outer.map(slice.getResult(0), inside[slice.getResult(0)]);
      Operation *copy = builder.clone(*view, outer);
      inside[view->getResult(0)] = copy->getResult(0);
    }
    enter(reader);
    builder.clone(*reader.getBody().front().getTerminator(), mapping);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&op))
        op.erase();
    return group;
  }

  target::Target machine = target::builtInTarget();
};

} // namespace

std::unique_ptr<Pass>
fusion::createReadSlicesPass(const target::Target &machine) {
  return std::make_unique<ReadSlices>(machine);
}
