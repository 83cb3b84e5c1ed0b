//===- RunStages.h - Walks through stages ---------------------------------===//
//
// The one loop that runs stages, for whatever target and whoever wants what
// they leave: files, texts, answers about budgets.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_RUNSTAGES_H
#define TENON_LIB_DRIVER_RUNSTAGES_H

#include "ReportingContext.h"

#include "tenon/Driver/Compiler.h"

#include "llvm/Support/raw_ostream.h"

namespace tenon::driver {

/// Prints an error and returns its code.
inline ExitCode fail(ExitCode code, const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return code;
}

/// Runs passes over a module; with `verify`, MLIR's verifier after each.
mlir::LogicalResult
runPasses(mlir::ModuleOp on, bool verify,
          llvm::function_ref<void(mlir::OpPassManager &)> add);

/// A compilation, as far as its stages have run.
class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : Compilation(options, walkTo(options.target)) {}
  Compilation(const CompileOptions &options, const Walk &walk)
      : context(ReportingContext::create(options.remarks, result.remarks)),
        run{options, walk, context.get(), result} {}

  /// Runs the stages behind CompileOptions::from up to and including `last`,
  /// all if that is empty, each with an entry in the report. With `forText`,
  /// what is left is about to be written.
  ExitCode runTo(llvm::StringRef last, bool forText = false);

  CompileResult result;

private:
  std::unique_ptr<ReportingContext> context;

public:
  StageRun run;
  Program program; // what the last stage left
};

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_RUNSTAGES_H
