//===- CompiledModules.h - Modules, compiled or interpreted ---------------===//
//
// What the verbs of `tenon` ask of the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMPILER_COMPILEDMODULES_H
#define TENON_TOOLS_TENON_COMPILER_COMPILEDMODULES_H

#include "tools/tenon/Modules.h"

#include "tenon/Import/Expectations.h"

#include <vector>

namespace tenon::tool {

class CompiledModules : public Modules {
public:
  std::unique_ptr<runtime::Executor>
  load(const std::string &path, const ModuleOptions &module,
       const runtime::ExecutorOptions &options, bool selfChecking,
       int &code) override;
  bool checkExpectations(const runtime::Executor &executor) override;
  int runReference(const ReferenceRun &run) override;
  int inspect(const std::string &path, const ModuleOptions &module,
              bool json) override;
  int inspectPrecision(const std::string &path, const ModuleOptions &module,
                       const PrecisionView &view) override;
  int inspectMemory(const std::string &path, const MemoryView &view) override;

private:
  std::vector<importer::SeparatedExpectation> expectations;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_COMPILER_COMPILEDMODULES_H
