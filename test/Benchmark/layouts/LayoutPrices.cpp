//===- LayoutPrices.cpp - What a step takes as it is cut for a mesh -------===//
//
//   LayoutPrices STEP.mlir MESH SHARDING MACHINE.json LIMIT|- [FOLDER]
//
// Cuts a step, or the text that a stage before left of it, and prints what the
// report has of that, one line of JSON. LIMIT is of the bytes of a rank as the
// choice of layouts counts them: no planner has a word, as in `tenon compile`.
// The problem of the choice is written into FOLDER. test/Benchmark/layouts.py
// says what is priced.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"
#include "tenon/Support/ExitCode.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;

/// Where nothing is grouped no layouts are planned: a limit is one of the
/// choice.
static driver::Walk walkWithoutGroups() {
  driver::Walk walk;
  for (const driver::Stage &stage : driver::walkTo(driver::OutputTarget::cpu))
    if (stage.name != "group")
      walk.push_back(stage);
  return walk;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  if (argc < 6 || argc > 7) {
    llvm::errs() << "error: expected STEP.mlir MESH SHARDING MACHINE.json "
                    "LIMIT|- [FOLDER]\n";
    return exitBadUsage;
  }
  driver::CompileOptions options;
  options.input = argv[1];
  options.mesh = argv[2];
  options.sharding = argv[3];
  options.machineFile = argv[4];
  options.to = "shard";
  int64_t limit = 0;
  if (llvm::StringRef given = argv[5]; given != "-") {
    if (given.getAsInteger(10, limit) || limit <= 0) {
      llvm::errs() << "error: expected bytes or -, found '" << given << "'\n";
      return exitBadUsage;
    }
    options.memoryBudget = limit;
  }
  if (argc == 7)
    options.dumpProblems = argv[6];
  driver::CompileResult result = driver::compile(options, walkWithoutGroups());
  if (result.code != exitOk)
    return result.code;
  llvm::outs() << llvm::json::Value(std::move(result.stages.back().details))
               << "\n";
  return exitOk;
}
