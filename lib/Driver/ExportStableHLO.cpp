//===- ExportStableHLO.cpp - A step as StableHLO for XLA ------------------===//
//
// See ExportStableHLO.h. Nothing is simplified on this walk: XLA does the same
// itself (docs/Rationale/XlaOutput.md has the measurements), so what is not
// planned leaves as it came.
//
//===----------------------------------------------------------------------===//

#include "ExportStableHLO.h"

#include "ReportingContext.h"

#include "tenon/Codegen/StableHLO/WriteStableHLO.h"
#include "tenon/Import/ReadStableHLO.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {

/// What an option that belongs to native targets is called; empty for none.
StringRef nativeOption(const CompileOptions &options) {
  if (!options.cpu.empty())
    return "--cpu";
  if (!options.machineFile.empty())
    return "--machine";
  if (!options.rolesFile.empty())
    return "--roles";
  if (options.from)
    return "--compile-from";
  if (options.to)
    return "--compile-to";
  if (options.fuse)
    return "--fuse";
  return "";
}

class Export {
public:
  explicit Export(const CompileOptions &options) : options(options) {}

  CompileResult run() {
    result.code = timed("read", [&] { return read(); });
    if (result.code == exitOk)
      result.code = timed("write", [&] { return write(); });
    return std::move(result);
  }

private:
  ExitCode fail(ExitCode code, const Twine &message) {
    llvm::errs() << "error: " << message << "\n";
    return code;
  }

  ExitCode timed(StringRef name, llvm::function_ref<ExitCode()> work) {
    auto start = std::chrono::steady_clock::now();
    ExitCode code = work();
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    result.stages.push_back({name.str(), seconds.count(), std::move(details)});
    details = llvm::json::Object();
    return code;
  }

  ExitCode read() {
    if (StringRef option = nativeOption(options); !option.empty())
      return fail(exitBadUsage, option + " is for the target cpu; XLA decides "
                                         "that for the target stablehlo");
    context = ReportingContext::create(options.remarks, result.remarks);
    if (!context)
      return exitBadUsage;
    context->allowUnregisteredDialects();
    importer::ReadOptions reading;
    reading.keepUnknown = true;
    module = importer::readStableHLOFile(options.input, *context, reading);
    if (!module)
      return exitUserError;
    int64_t operations = 0;
    module->walk([&](Operation *) { ++operations; });
    details["operations"] = operations;
    return exitOk;
  }

  ExitCode write() {
    codegen::WriteOptions writing;
    writing.generic = options.generic;
    result.text = codegen::writeStableHLO(*module, writing);
    details["bytes"] = int64_t(result.text.size());
    return exitOk;
  }

  const CompileOptions &options;
  CompileResult result;
  llvm::json::Object details; // of what is running
  std::unique_ptr<ReportingContext> context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

CompileResult driver::exportStableHLO(const CompileOptions &options) {
  return Export(options).run();
}
