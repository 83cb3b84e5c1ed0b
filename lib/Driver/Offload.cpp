//===- Offload.cpp - Values that wait in a host's memory ------------------===//
//
// Plans and prices it; nothing executes such a plan yet.
//
//===----------------------------------------------------------------------===//

#include "AnnotateForBudget.h"
#include "RunStages.h"

#include "tenon/Memory/OffloadPlan.h"
#include "tenon/Memory/Passes.h"
#include "tenon/Support/Bytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

ExitCode driver::planOffload(const CompileOptions &options, int64_t count,
                             llvm::raw_ostream &out) {
  Compilation compilation(options);
  if (ExitCode code = compilation.runTo("group"); code != exitOk)
    return code;
  const ResolvedOptions &resolved = compilation.run.resolved;
  const target::Target &machine = resolved.machine;
  if (machine.hostLink == 0)
    return fail(exitUserError,
                "the machine '" + machine.name +
                    "' has no link to a host's memory; describe one with "
                    "--machine=FILE.json and gigabytes_per_second.host_link");
  ModuleOp module = *compilation.program.module;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return exitInternal;
  annotateForBudget(module, kernelScratchFor(resolved), machine);
  ExitCode code = compilation.run.runPasses(module, [](OpPassManager &passes) {
    memory::buildOrderPipeline(passes, /*hasBudget=*/true);
  });
  if (code != exitOk)
    return code;
  std::string error;
  auto points = memory::planOffload(
      main, {machine.hostLink, machine.overheads.launch}, count, error);
  if (!points)
    return fail(exitInternal, "a plan with offload is wrong: " + error);
  out << " temporaries   waits   moved bytes  runs again  predicted ms     "
         "bound ms  more work  without link\n";
  for (const memory::OffloadPoint &point : *points) {
    std::string without =
        point.timeWithout
            ? llvm::formatv("{0:f3} ms", *point.timeWithout / 1e6).str()
            : "no plan found";
    out << llvm::formatv(
        "{0,12} {1,7} {2,13} {3,11} {4,13:f3} {5,12:f3} {6,8:f2} %  {7}\n",
        printBytes(point.budget), point.copies, printBytes(point.copiedBytes),
        point.repeated, point.time / 1e6, point.timeBound / 1e6,
        100.0 * double(point.time - point.baseTime) /
            double(std::max<int64_t>(point.baseTime, 1)),
        without);
  }
  out << "steps for GPUs are compiled with such plans by `tenon compile "
         "--memory-budget=SIZE --offload`\n";
  return exitOk;
}
