//===- PlanningOptions.cpp - What compile and plan are both told ----------===//
//
// See PlanningOptions.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/PlanningOptions.h"

#include "tools/tenon/ResultNamesOption.h"
#include "tools/tenon/SubnormalsOption.h"

#include "tenon/Support/Bytes.h"
#include "tenon/Support/ParseNumber.h"

using namespace tenon;

std::string tool::readDevices(std::string_view name,
                              driver::CompileOptions &options) {
  std::string error;
  const bool isCpu = name == "cpu";
  options.target =
      isCpu ? driver::OutputTarget::cpu : driver::OutputTarget::cuda;
  options.architectures = isCpu ? "" : name;
  if (!isCpu)
    target::gpuArchitecturesOf(name, error);
  return error;
}

void tool::takePlanningOptions(ArgumentParser &parser,
                               driver::CompileOptions &options,
                               std::string_view budgetHelp) {
  parser.text("cpu", options.cpu, "SET",
              "host: this one; a feature set (x86-64-v4) or a family (zen4) "
              "of docs/Forms.md");
  parser.flag("no-libraries", options.noLibraries,
              "call no libraries: products and convolutions are kernels, which "
              "are slower");
  parser.text("machine", options.machineFile, "FILE",
              "rates of the machine, as tenon calibrate writes them, for "
              "predicting times");
  parser.text("roles", options.rolesFile, "FILE",
              "a roles file: JSON that says what each argument is (see "
              "docs/GettingStarted.md)");
  takeResultNames(parser, options.resultNames, "");
  parser.text("function", options.function, "NAME",
              "the function of the module that is the step (default: main)");
  parser.custom("memory-budget", "SIZE", budgetHelp,
                [&options](std::string_view text) -> std::string {
                  const bool isSmallest = text == "smallest";
                  options.memoryBudget =
                      isSmallest ? driver::smallestBudget : parseBytes(text);
                  // No bytes are nothing that anybody means.
                  return isSmallest || options.memoryBudget.value_or(0) > 0
                             ? ""
                             : "expected a size such as 1.6GiB, 512MiB or "
                               "4096, or smallest";
                });
  parser.choice("recompute", options.replanRecomputation, "keep", "replan",
                "keep what jax.checkpoint in the program computes again "
                "(default), or replan");
  parser.custom("precision", "POLICY",
                "f32 (default), tf32 (products on GPUs), bf16, bf16-state or "
                "f16 (scales the loss)",
                [&options](std::string_view text) -> std::string {
                  using driver::Precision;
                  if (text == "f32")
                    options.precision = Precision::f32;
                  else if (text == "tf32")
                    options.precision = Precision::tf32;
                  else if (text == "bf16")
                    options.precision = Precision::bf16;
                  else if (text == "bf16-state")
                    options.precision = Precision::bf16State;
                  else if (text == "f16")
                    options.precision = Precision::f16;
                  else
                    return "expected f32, tf32, bf16, bf16-state or f16";
                  return "";
                },
                {"f32", "tf32", "bf16", "bf16-state", "f16"});
  parser.custom("rounding-seed", "N",
                "with bf16-state: the seed of stochastic rounding "
                "(default: 0)",
                [&options](std::string_view text) -> std::string {
                  auto seed = parseNumber<uint64_t>(text);
                  if (!seed)
                    return "expected a number from 0 to 2^64 - 1";
                  options.roundingSeed = *seed;
                  return "";
                });
  parser.text("precision-policy", options.precisionPolicyFile, "FILE",
              "JSON that says what stays f32 or may be narrow (see "
              "docs/GettingStarted.md)");
  parser.text("mesh", options.mesh, "AXES",
              "ranks that run the step together, as axes with sizes: "
              "data=2,model=2");
  parser.text("sharding", options.sharding, "FILE",
              "with --mesh: solve (default); solve:FILE, whose lines bind; "
              "FILE; or propagate");
  parser.flag("fast-collectives", options.fastCollectives,
              "with --mesh: MPI or NCCL adds up, in an order of its own");
  parser.custom("logical-shards", "K",
                "cut the batch into K shards: equal bits on every number of "
                "ranks that divides K",
                [&options](std::string_view text) -> std::string {
                  auto count = parseNumber(text);
                  if (!count || *count < 1)
                    return "expected a number from 1 on";
                  options.logicalShards = *count;
                  if (options.mesh.empty())
                    options.mesh = "data=1";
                  return "";
                });
  takeSubnormals(parser, options.subnormals, "");
}
