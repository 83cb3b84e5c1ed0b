//===- RegisterPasses.cpp - Every pass of Tenon, for tools ----------------===//
//
// See RegisterPasses.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/RegisterPasses.h"

#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Memory/Passes.h"
#include "tenon/Simplify/Passes.h"
#include "tenon/Simplify/Pipeline.h"

#include "mlir/Pass/PassRegistry.h"

void tenon::registerAllPasses() {
  importer::registerImportPasses();
  importer::registerImportPipeline();
  simplify::registerSimplifyPasses();
  simplify::registerSimplifyPipeline();
  fusion::registerFusionPasses();
  memory::registerMemoryPasses();
  codegen::registerCodegenCPUPasses();
  mlir::PassPipelineRegistration<>("group", "step form to grouped form",
                                   [](mlir::OpPassManager &passes) {
                                     fusion::buildFusionPipeline(passes, {});
                                   });
  mlir::PassPipelineRegistration<>("plan", "grouped form to scheduled form",
                                   [](mlir::OpPassManager &passes) {
                                     memory::buildPlanPipeline(passes, {});
                                   });
  mlir::PassPipelineRegistration<>(
      "lower", "scheduled form to exec form",
      [](mlir::OpPassManager &passes) { memory::buildLowerPipeline(passes); });
}
