//===- RegroupCopies.cpp - After a plan was chosen: copies join readers --===//
//
// See RegroupCopies.h.
//
//===----------------------------------------------------------------------===//

#include "RegroupCopies.h"

#include "tenon/Codegen/CPU/AnnotateScratch.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Memory/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

/// Groups of the module and the time they are planned to take, each once.
static Regrouping sumOf(ModuleOp module) {
  Regrouping sum;
  module.walk([&](step::GroupOp group) {
    ++sum.copies;
    if (auto time =
            group->getAttrOfType<IntegerAttr>(step::nanosecondsAttrName))
      sum.nanosecondsSaved += time.getInt();
  });
  return sum;
}

Regrouping driver::regroupCopies(PlannedStep &plan,
                                 const codegen::FeatureSet &features,
                                 const target::Target &machine) {
  PlannedStep joined = copyOf(plan);
  MLIRContext *context = plan.module->getContext();
  auto run = [&](std::unique_ptr<Pass> pass) {
    PassManager passes(context);
    passes.enableVerifier(false);
    passes.addNestedPass<func::FuncOp>(std::move(pass));
    return succeeded(passes.run(*joined.module));
  };
  Regrouping before = sumOf(*plan.module);
  if (!run(fusion::createRegroupCopiesPass(machine)))
    return {};
  Regrouping after = sumOf(*joined.module);
  if (after.copies == before.copies)
    return {};
  codegen::annotateScratch(*joined.module, features);
  if (!run(
          memory::createPlanOffsetsPass({/*problemFile=*/"", /*quick=*/false})))
    return {};
  readBytes(joined);
  if (joined.bytes > plan.bytes)
    return {};
  plan = std::move(joined);
  return {before.copies - after.copies,
          before.nanosecondsSaved - after.nanosecondsSaved};
}
