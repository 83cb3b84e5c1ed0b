//===- tenon-opt.cpp - Run passes on a file -------------------------------===//
//
// The compiler engineer's tool: reads a module, runs the passes named on the
// command line, and writes the module. What it knows beyond MLIR's own
// clean-ups is registered below.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#ifdef TENON_HAS_CHLO
#include "tenon/Dialect/CHLO/CHLO.h"
#endif
#ifdef TENON_HAS_SHARDY
#include "tenon/Dialect/Shardy/Shardy.h"
#endif
#ifdef TENON_HAS_STEP
#include "tenon/Dialect/Step/Step.h"
#endif
#ifdef TENON_HAS_EXEC
#include "tenon/Dialect/Exec/Exec.h"
#endif
#ifdef TENON_HAS_DRIVER
#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Driver/RegisterPasses.h"
#else
#ifdef TENON_HAS_IMPORT
#include "tenon/Import/Pipeline.h"
#endif
#ifdef TENON_HAS_SIMPLIFY
#include "tenon/Simplify/Pipeline.h"
#endif
#endif

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

static void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::quant::QuantDialect,
                  tenon::stablehlo::StableHLODialect>();
#ifdef TENON_HAS_CHLO
  registry.insert<tenon::chlo::CHLODialect>();
#endif
#ifdef TENON_HAS_SHARDY
  registry.insert<tenon::sdy::SdyDialect>();
#endif
#ifdef TENON_HAS_STEP
  registry.insert<tenon::step::StepDialect>();
#endif
#ifdef TENON_HAS_EXEC
  registry.insert<tenon::exec::ExecDialect>();
#endif
#ifdef TENON_HAS_DRIVER
  tenon::codegen::registerKernelDialects(registry);
#endif
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::registerTransformsPasses();
  // Every pass and stage pipeline of Tenon.
#ifdef TENON_HAS_DRIVER
  tenon::registerAllPasses();
#else
#ifdef TENON_HAS_IMPORT
  tenon::importer::registerImportPipeline();
#endif
#ifdef TENON_HAS_SIMPLIFY
  tenon::simplify::registerSimplifyPipeline();
#endif
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Tenon's pass driver: modules in, modules out\n", registry));
}
