//===- FuzzStableHLO.cpp - Any bytes as program text ---------------------===//
//
// Bounded, parsed and verified as by every tool. A context keeps the types and
// attributes it has seen, so there is a new one now and then.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/ReadStableHLO.h"

#include "mlir/IR/Diagnostics.h"

#include <cstdlib>

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<mlir::MLIRContext> context;
  static int64_t inputs = 0;
  if (inputs++ % 256 == 0) {
    mlir::DialectRegistry registry;
    importer::registerInputDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
  }
  bool said = false;
  mlir::ScopedDiagnosticHandler handler(
      context.get(),
      [&](mlir::Diagnostic &diagnostic) { said |= !diagnostic.str().empty(); });
  auto module = importer::readStableHLO(
      llvm::StringRef(reinterpret_cast<const char *>(data), size), "input",
      *context);
  if (!module && !said)
    abort(); // refused without a word
  return 0;
}
