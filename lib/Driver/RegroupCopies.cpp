//===- RegroupCopies.cpp - After a plan was chosen: copies join readers --===//
//
// See RegroupCopies.h.
//
//===----------------------------------------------------------------------===//

#include "RegroupCopies.h"

#include "RunStages.h"

#include "tenon/Codegen/CPU/AnnotateScratch.h"
#include "tenon/Fusion/Passes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {
struct GroupSum {
  int64_t count = 0, nanoseconds = 0;
};
} // namespace

/// Groups of the module and the time they are planned to take, each once.
static GroupSum sumOf(ModuleOp module) {
  GroupSum sum;
  module.walk([&](step::GroupOp group) {
    ++sum.count;
    if (auto time =
            group->getAttrOfType<IntegerAttr>(step::nanosecondsAttrName))
      sum.nanoseconds += time.getInt();
  });
  return sum;
}

Regrouping driver::regroupCopies(PlannedStep &plan,
                                 const KernelScratch &scratch,
                                 const target::Target &machine,
                                 SearchOptions options) {
  PlannedStep joined = copyOf(plan);
  auto add = [&](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(
        fusion::createRegroupCopiesPass(machine));
  };
  if (failed(runPasses(*joined.module, options.verify, add)))
    return {};
  GroupSum before = sumOf(*plan.module), after = sumOf(*joined.module);
  if (after.count == before.count)
    return {};
  codegen::annotateScratch(*joined.module, scratch);
  if (!placeBuffers(joined, options, Placing::full, plan.bytes) ||
      joined.bytes > plan.bytes)
    return {};
  plan = std::move(joined);
  return {before.count - after.count, before.nanoseconds - after.nanoseconds};
}
