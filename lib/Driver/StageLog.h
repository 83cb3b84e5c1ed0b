//===- StageLog.h - What each stage did and took --------------------------===//
//
// Fills in the report's stages, for whatever target.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_STAGELOG_H
#define TENON_LIB_DRIVER_STAGELOG_H

#include "tenon/Driver/Compiler.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace tenon::driver {

/// Prints an error and returns its code.
inline ExitCode fail(ExitCode code, const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return code;
}

/// Base of whatever runs stages.
class StageLog {
protected:
  /// `log` is only used while stages run.
  explicit StageLog(std::vector<StageReport> &log) : log(log) {}

  /// Runs `work` and records what it took.
  ExitCode timed(llvm::StringRef name, llvm::function_ref<ExitCode()> work) {
    auto start = std::chrono::steady_clock::now();
    ExitCode code = work();
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    log.push_back({name.str(), seconds.count(), std::move(details)});
    details = llvm::json::Object();
    return code;
  }

  llvm::json::Object details; // of the stage that is running

private:
  std::vector<StageReport> &log;
};

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_STAGELOG_H
