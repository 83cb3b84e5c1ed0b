//===- tenon-lsp-server.cpp - Tenon's languages in an editor --------------===//
//
// MLIR's language server with every dialect of Tenon and those it lowers to:
// diagnostics while typing, definitions, uses and types of values, for exported
// modules and for the text between stages.
//
// It reads the text as it is. Boolean constants written as hex strings, which
// `tenon` recodes before it parses, are reported as errors here.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"

#include "mlir/Support/LLVM.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tenon::driver::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
