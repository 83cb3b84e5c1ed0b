//===- tenon-opt.cpp - Run passes on a file -------------------------------===//
//
// The compiler engineer's tool: reads a module, runs the passes named on the
// command line, and writes the module. It knows every dialect, pass and stage
// pipeline of Tenon beside MLIR's own clean-ups.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"
#include "tenon/Driver/RegisterPasses.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tenon::driver::registerDialects(registry);
  mlir::registerTransformsPasses();
  tenon::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Tenon's pass driver: modules in, modules out\n", registry));
}
