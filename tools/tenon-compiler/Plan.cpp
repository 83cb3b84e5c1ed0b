//===- Plan.cpp - tenon plan ----------------------------------------------===//
//
// Plans a step without compiling it: under a row of budgets, to see what memory
// costs, on a mesh of ranks, to see how tensors lie there, or to write down the
// problems the solvers were given, so that tenon-solve can replay them. What
// lower precision costs in digits is measured by running the step.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/Commands.h"
#include "tools/tenon-compiler/PlanErrors.h"
#include "tools/tenon-compiler/PlanningOptions.h"
#include "tools/tenon/ArgumentParser.h"

#include "tenon/Driver/Compiler.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;
using namespace tenon::tool;

int tool::runPlan(Arguments arguments, Modules *) {
  driver::CompileOptions options;
  ArgumentParser parser("plan",
                        "Plans the memory of a training step without "
                        "generating code, or measures\nwhat its precision "
                        "costs. At least one of --mesh, --frontier, --offload, "
                        "--also, --dump-problems\nand --error says what to do.",
                        "FILE.mlir");
  parser.custom("target", "TARGET",
                "cpu (default) or GPUs (sm_90), of which none has to be there",
                [&options](std::string_view name) -> std::string {
                  std::string error = readDevices(name, options);
                  return error.empty() ? "" : "expected cpu, or GPUs: " + error;
                },
                {"cpu", "sm_80", "sm_90"});
  int64_t frontier = 0;
  parser.number("frontier", frontier, "K",
                "predict the step time under K budgets, from the smallest "
                "possible one up");
  int64_t offload = 0;
  parser.number("offload", offload, "K",
                "the same if values may also move to a host; needs a link (of "
                "--machine or a GPU)");
  std::string also;
  parser.text(
      "also", also, "FILE.mlir",
      "the step at another batch size, to estimate what fits --memory-budget");
  parser.text("dump-problems", options.dumpProblems, "DIR",
              "write the planning problems into this folder, for tenon-solve");
  bool error = false;
  ErrorRun errors;
  parser.flag("error", error,
              "run the step beside itself in f64; list what each gradient and "
              "result loses");
  parser.custom("steps", "N", "with --error: how many steps (1)",
                [&](std::string_view given) -> std::string {
                  errors.steps = parseNumber(given).value_or(0);
                  return errors.steps < 1 ? "expected a number from 1 on" : "";
                });
  parser.text("state", errors.state, "F.safetensors",
              "with --error: start values of all state");
  parser.text("inputs", errors.inputs, "F.safetensors",
              "with --error: values of any arguments, state or batch");
  parser.text("batches", errors.batches, "PATH",
              "with --error: a folder with one file per step, or one file with "
              "all steps");
  parser.number("seed", errors.seed, "N",
                "with --error: of the values that no file gives (0)");
  parser.number("search-runs", errors.searchRuns, "N",
                "with --error: most steps in f64 to find the dearest decisions "
                "(128)");
  takePlanningOptions(
      parser, options,
      "with --also or --mesh: the most memory that a rank may use");
  parser.examples("tenon plan step.mlir --frontier=10\n"
                  "tenon plan step.mlir --mesh=data=2,model=4\n"
                  "tenon plan step.mlir --error --precision=bf16\n"
                  "tenon plan step.mlir --also=double.mlir "
                  "--memory-budget=2GiB\n");
  std::vector<std::string> inputs;
  if (auto code = parser.parse(arguments, inputs))
    return *code;
  options.input = inputs.front();
  options.to = "plan";
  for (auto [name, count] :
       {std::pair("--frontier=", frontier), std::pair("--offload=", offload)})
    if (count > 1000) {
      llvm::errs() << "error: " << name << count
                   << " is out of range, expected 1 to 1000\n";
      return exitBadUsage;
    }
  const bool explainsLayouts =
      !options.mesh.empty() && !frontier && !offload && also.empty() && !error;
  if (options.memoryBudget && also.empty() && !explainsLayouts) {
    llvm::errs()
        << "error: `tenon plan --memory-budget` needs --also=FILE.mlir; use "
           "`tenon compile --memory-budget` to plan for one budget\n";
    return exitBadUsage;
  }
  if (options.memoryBudget == driver::smallestBudget) {
    llvm::errs() << "error: --memory-budget=smallest is for `tenon compile`; "
                    "give a size\n";
    return exitBadUsage;
  }
  if (!error && errors != ErrorRun()) {
    llvm::errs() << "error: --steps, --state, --inputs, --batches, --seed and "
                    "--search-runs need --error\n";
    return exitBadUsage;
  }
  if (error && options.target != driver::OutputTarget::cpu) {
    llvm::errs() << "error: --error runs the step on this processor; leave "
                    "out --target\n";
    return exitBadUsage;
  }
  if (error) {
    if (frontier || offload || !also.empty() || !options.dumpProblems.empty()) {
      llvm::errs()
          << "error: --error runs the step without a budget and stands "
             "alone; leave out --frontier, --offload, --also and "
             "--dump-problems\n";
      return exitBadUsage;
    }
    options.to.clear();
    return planErrors(options, errors);
  }
  if (std::error_code code =
          options.dumpProblems.empty()
              ? std::error_code()
              : llvm::sys::fs::create_directories(options.dumpProblems)) {
    llvm::errs() << "error: cannot create the folder '" << options.dumpProblems
                 << "': " << code.message() << "\n";
    return exitUserError;
  }
  if (explainsLayouts) {
    options.to.clear();
    return driver::planLayouts(options, llvm::outs());
  }
  if (!also.empty())
    if (auto code = driver::planBatches(options, also, llvm::outs()))
      return code;
  if (frontier)
    if (auto code = driver::planFrontier(options, frontier, llvm::outs()))
      return code;
  if (offload)
    if (auto code = driver::planOffload(options, offload, llvm::outs()))
      return code;
  if (options.dumpProblems.empty()) {
    if (frontier || offload || !also.empty())
      return exitOk;
    llvm::errs()
        << "error: nothing was asked for; pass --mesh=AXES, --frontier=K, "
           "--offload=K, --also=FILE.mlir, --dump-problems=DIR or --error\n";
    return exitBadUsage;
  }
  return driver::compile(options).code;
}
