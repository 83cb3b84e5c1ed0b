//===- Modules.h - What verbs ask of the compiler -------------------------===//
//
// How the verbs work on a module instead of a .tenon file. Only
// `tenon-compiler` has one of these.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_MODULES_H
#define TENON_TOOLS_TENON_MODULES_H

#include "tenon/Runtime/Executor.h"
#include "tenon/Support/Subnormals.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenon::tool {

/// What has to be said about a module before it is a step.
struct ModuleOptions {
  std::string rolesFile;                // empty for none
  std::vector<std::string> resultNames; // see ResultNamesOption.h
  std::string function = "main";        // which of its functions
  std::optional<Subnormals> subnormals;
};

/// Steps through the reference interpreter: the same arguments, metrics and
/// results as a compiled run, computed one element at a time.
struct ReferenceRun {
  std::string file, inputs, metrics, outputs;
  ModuleOptions module;
  int64_t steps = 1;
};

/// How to show what a .tenon file's plan says of memory.
struct MemoryView {
  bool table = false;  // the peak, value by value
  int64_t rows = 30;   // of the table, largest first
  std::string picture; // an SVG file to write; empty for none

  bool any() const { return table || !picture.empty(); }
};

/// How to show what formats a module's values get.
struct PrecisionView {
  bool table = false;
  std::string policy = "bf16";
  std::string cpu, policyFile; // empty for the host, and for none
};

/// Every function prints what is wrong.
class Modules {
public:
  virtual ~Modules() = default;

  /// Compiles a module in memory and loads it; null with the exit code in
  /// `code`. A module that is `selfChecking` may expect something of values.
  virtual std::unique_ptr<runtime::Executor>
  load(const std::string &path, const ModuleOptions &module,
       const runtime::ExecutorOptions &options, bool selfChecking,
       int &code) = 0;
  /// Whether everything holds that the module loaded last expects.
  virtual bool checkExpectations(const runtime::Executor &executor) = 0;
  /// These return the exit code.
  virtual int runReference(const ReferenceRun &run) = 0;
  virtual int inspect(const std::string &path, const ModuleOptions &module,
                      bool json) = 0;
  virtual int inspectPrecision(const std::string &path,
                               const ModuleOptions &module,
                               const PrecisionView &view) = 0;
  virtual int inspectMemory(const std::string &path,
                            const MemoryView &view) = 0;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_MODULES_H
