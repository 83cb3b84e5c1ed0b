//===- ReportHostCalls.cpp - What the host of a GPU computes --------------===//
//
// See ReportHostCalls.h.
//
//===----------------------------------------------------------------------===//

#include "ReportHostCalls.h"

#include "RemarkLog.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/GpuCode.h"
#include "tenon/Libraries/HostCalls.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

void driver::reportHostCalls(ModuleOp module, llvm::json::Object &details) {
  llvm::json::Array found;
  uint64_t most = 0;
  const SymbolTable symbols(module);
  module.walk([&](exec::InvokeOp invoke) {
    auto library = symbols.lookup<exec::LibraryOp>(invoke.getCallee());
    if (!library || !library->hasAttr(exec::onHostAttrName))
      return;
    std::string ignored;
    auto description = exec::fromAttribute(library.getDescription(), ignored);
    std::vector<uint64_t> arguments;
    for (Value slice : invoke.getSlices())
      arguments.push_back(uint64_t(storedBytes(slice.getType())));
    most = std::max(
        most, libraries::pinnedBytes(arguments, library.getWorkspaceBytes()));
    found.push_back(llvm::json::Object{
        {"place", placeOf(invoke.getLoc())},
        {"call", libraries::describe(*description)},
        {"bytes",
         std::accumulate(arguments.begin(), arguments.end(), uint64_t(0))}});
  });
  details["on_host"] = std::move(found);
  details["host_bytes"] = most;
}
