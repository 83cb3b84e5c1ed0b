//===- CompileToFile.cpp - A compilation's output and report on disk ------===//
//
// Writes what compile() made. A file is the old or the whole new one.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"
#include "tenon/Format/AtomicFile.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;
using namespace tenon::driver;

static bool writeReport(const CompileOptions &options,
                        const CompileResult &result) {
  llvm::json::Array stages;
  double total = 0;
  for (const StageReport &stage : result.stages) {
    llvm::json::Object entry = stage.details;
    entry["stage"] = stage.name;
    entry["seconds"] = stage.seconds;
    total += stage.seconds;
    stages.push_back(std::move(entry));
  }
  llvm::json::Object report{
      {"report_version", 1},
      {"input", options.input},
      {options.target == OutputTarget::cuda ? "gpu" : "cpu", result.featureSet},
      {"exit_code", int64_t(result.code)},
      {"seconds", total},
      {"stages", std::move(stages)},
      {"remarks", llvm::json::Array(result.remarks)}};
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report)));
  std::string error;
  if (format::writeFile(options.reportFile, std::as_bytes(std::span(text)),
                        error))
    return true;
  llvm::errs() << "error: " << error << "\n";
  return false;
}

ExitCode driver::compileToFile(const CompileOptions &options,
                               llvm::raw_ostream &progress) {
  CompileResult result = compile(options);
  if (!options.reportFile.empty() && !writeReport(options, result))
    return exitUserError;
  if (result.code != exitOk)
    return result.code;
  std::span<const std::byte> bytes =
      result.file.empty() ? std::as_bytes(std::span(result.text))
                          : std::span<const std::byte>(result.file);
  if (options.output == "-") {
    llvm::outs() << llvm::StringRef(
        reinterpret_cast<const char *>(bytes.data()), bytes.size());
    return exitOk;
  }
  std::string error;
  if (!format::writeFile(options.output, bytes, error)) {
    llvm::errs() << "error: " << error << "\n";
    return exitUserError;
  }
  if (!result.shardSummary.empty())
    progress << result.shardSummary << "\n";
  if (!result.planSummary.empty())
    progress << result.planSummary << "\n";
  progress << result.entrySummary;
  double total = 0;
  for (const StageReport &stage : result.stages)
    total += stage.seconds;
  progress << llvm::formatv("compiled   {0:f2} s -> {1}, {2:f1} KB\n", total,
                            options.output, bytes.size() / 1024.0);
  return exitOk;
}
