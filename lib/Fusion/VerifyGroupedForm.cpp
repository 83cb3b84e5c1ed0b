//===- VerifyGroupedForm.cpp - The contract after Fusion -----------------===//
//
// Checks that a module is in grouped form (docs/Forms.md).
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Dialect/Step/Succession.h"
#include "tenon/Fusion/GroupLegality.h"
#include "tenon/Fusion/LibraryGroup.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_VERIFYGROUPEDFORMPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

LogicalResult verifyCollective(step::GroupOp group) {
  auto operations = group.bodyOperations();
  if (!llvm::hasSingleElement(operations) ||
      !isCollective(&*operations.begin()))
    return group.emitOpError("is of kind collective, expected one collective "
                             "in it");
  std::string whyNot;
  if (!describeCollective(&*operations.begin(), whyNot))
    return group.emitOpError("no rank carries out this collective: ") << whyNot;
  return success();
}

LogicalResult verifyGroup(step::GroupOp group) {
  if (group.getKind() == step::GroupKind::collective)
    return verifyCollective(group);
  if (group.isTransfer())
    return group.emitOpError("is of kind ")
           << step::stringifyGroupKind(group.getKind())
           << ", which only scheduled form has";
  if (group.getKind() == step::GroupKind::library)
    return verifyLibraryGroup(group);
  if (group.getKind() == step::GroupKind::generic)
    return success();
  std::string whyNot;
  auto kind = kindOf(KernelDescription(group.getBody().front()), &whyNot);
  if (!kind)
    return group.emitOpError("no template emits this group: ") << whyNot;
  if (*kind != group.getKind())
    return group.emitOpError("is of kind ")
           << step::stringifyGroupKind(group.getKind()) << ", expected "
           << step::stringifyGroupKind(*kind);
  return success();
}

struct VerifyGroupedForm
    : public fusion::impl::VerifyGroupedFormPassBase<VerifyGroupedForm> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (main && failed(step::verifySuccession(main)))
      return signalPassFailure();
    WalkResult result = getOperation().walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult {
          if (auto group = dyn_cast<step::GroupOp>(op))
            return failed(verifyGroup(group)) ? WalkResult::interrupt()
                                              : WalkResult::skip();
          if (isa<ModuleOp, func::FuncOp>(op) ||
              op->hasTrait<OpTrait::SymbolTable>() ||
              isa<SymbolOpInterface>(op))
            return WalkResult::advance();
          switch (classify(op)) {
          case OperationClass::ungrouped:
          case OperationClass::view:
            return WalkResult::advance();
          default:
            op->emitOpError("stands outside a group in grouped form");
            return WalkResult::interrupt();
          }
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
