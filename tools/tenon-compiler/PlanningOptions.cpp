//===- PlanningOptions.cpp - What compile and plan are both told ----------===//
//
// See PlanningOptions.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/PlanningOptions.h"

#include "tenon/Support/Bytes.h"

using namespace tenon;

void tool::takePlanningOptions(ArgumentParser &parser,
                               driver::CompileOptions &options,
                               std::string_view budgetHelp) {
  parser.text("cpu", options.cpu, "SET",
              "host (with --machine, its own), x86-64-v3, x86-64-v4, "
              "x86-64-v4+avx512bf16");
  parser.text("machine", options.machineFile, "FILE",
              "machine description from tenon calibrate");
  parser.text("roles", options.rolesFile, "FILE",
              "JSON that says what each argument is");
  parser.text("function", options.function, "NAME",
              "which function of the module is the step (main)");
  parser.custom("memory-budget", "SIZE", budgetHelp,
                [&options](std::string_view text) -> std::string {
                  options.memoryBudget = parseBytes(text);
                  return options.memoryBudget
                             ? ""
                             : "expected a size such as 1.6GiB, 512MiB or 4096";
                });
  parser.choice("recompute", options.replanRecomputation, "keep", "replan",
                "keep what the program's own checkpoints recompute (default), "
                "or decide it anew");
}
