//===- RegisterPasses.cpp - Every pass of Tenon, for tools ----------------===//
//
// See RegisterPasses.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/RegisterPasses.h"

#include "tenon/Fusion/Passes.h"
#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Memory/Passes.h"

#include "mlir/Pass/PassRegistry.h"

void tenon::registerAllPasses() {
  importer::registerImportPasses();
  importer::registerImportPipeline();
  fusion::registerFusionPasses();
  memory::registerMemoryPasses();
  mlir::PassPipelineRegistration<>(
      "group", "step form to grouped form", [](mlir::OpPassManager &passes) {
        fusion::buildFusionPipeline(passes, {});
      });
  mlir::PassPipelineRegistration<>(
      "plan", "grouped form to scheduled form",
      [](mlir::OpPassManager &passes) {
        memory::buildPlanPipeline(passes, {});
      });
  mlir::PassPipelineRegistration<>(
      "lower", "scheduled form to exec form",
      [](mlir::OpPassManager &passes) { memory::buildLowerPipeline(passes); });
}
