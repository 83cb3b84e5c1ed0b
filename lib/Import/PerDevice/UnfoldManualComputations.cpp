//===- UnfoldManualComputations.cpp - Programs without a body per device --===//
//
// See Unfolder.h.
//
//===----------------------------------------------------------------------===//

#include "Unfolder.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"

#include "mlir/IR/Remarks.h"

namespace tenon::importer {
#define GEN_PASS_DEF_UNFOLDMANUALCOMPUTATIONSPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon;

namespace {

class UnfoldManualComputations
    : public importer::impl::UnfoldManualComputationsPassBase<
          UnfoldManualComputations> {
public:
  using UnfoldManualComputationsPassBase::UnfoldManualComputationsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Those inside of others are part of these.
    SmallVector<sdy::ManualComputationOp> computations;
    module.walk([&](sdy::ManualComputationOp op) {
      if (!op->getParentOfType<sdy::ManualComputationOp>())
        computations.push_back(op);
    });
    importer::Unfolder unfolder(module, constrain);
    for (sdy::ManualComputationOp op : computations)
      if (failed(unfolder.unfold(op))) {
        module->setAttr(importer::unsupportedAttrName,
                        UnitAttr::get(&getContext()));
        return signalPassFailure();
      }
    unfolder.dropCalled();
    if (!computations.empty())
      remark::passed(module.getLoc(),
                     remark::RemarkOpts::name("unfolded")
                         .category("import-unfold-manual-computations"))
          << remark::add("{0} computations per device are written for all "
                         "devices at once",
                         computations.size())
          << remark::metric("computations", computations.size());
  }
};

} // namespace
