//===- BatchFit.cpp - The largest batch that fits a budget ----------------===//
//
// See BatchFit.h.
//
//===----------------------------------------------------------------------===//

#include "BatchFit.h"

#include "ChooseCandidate.h"
#include "RunStages.h"

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Support/Bytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

std::optional<std::pair<int64_t, int64_t>>
driver::batchSizes(const StepMemory &first, const StepMemory &second,
                   std::string &error) {
  error = "'" + first.input + "' and '" + second.input +
          "' are not one step at two batch sizes: ";
  auto count = first.batchShapes.size();
  if (count != second.batchShapes.size()) {
    error += std::to_string(count) + " and " +
             std::to_string(second.batchShapes.size()) +
             " arguments that are no state";
    return std::nullopt;
  }
  std::optional<std::pair<int64_t, int64_t>> sizes;
  for (size_t i = 0; i < count; ++i) {
    const std::vector<int64_t> &a = first.batchShapes[i];
    const std::vector<int64_t> &b = second.batchShapes[i];
    if (a.size() != b.size()) {
      error += "an argument has ranks " + std::to_string(a.size()) + " and " +
               std::to_string(b.size());
      return std::nullopt;
    }
    for (size_t d = 0; d < a.size(); ++d) {
      if (a[d] == b[d])
        continue;
      // An extent may be a multiple of the batch, such as batch x time.
      if (sizes && a[d] * sizes->second != b[d] * sizes->first) {
        error += "extents " + std::to_string(a[d]) + " and " +
                 std::to_string(b[d]) + " beside " +
                 std::to_string(sizes->first) + " and " +
                 std::to_string(sizes->second);
        return std::nullopt;
      }
      if (!sizes || a[d] < sizes->first)
        sizes = {a[d], b[d]};
    }
  }
  if (!sizes)
    error += "no argument differs; export one with another batch";
  return sizes;
}

namespace {
/// Bytes as a line over the batch size.
struct Line {
  double slope, offset;
  Line(std::pair<int64_t, int64_t> batches, int64_t first, int64_t second)
      : slope(double(second - first) / double(batches.second - batches.first)),
        offset(double(first) - slope * double(batches.first)) {}

  std::string largestWithin(int64_t budget) const {
    double room = double(budget) - offset;
    if (room < slope || (slope <= 0 && room < 0))
      return "none";
    return slope <= 0 ? "any" : std::to_string(int64_t(room / slope));
  }
};
} // namespace

bool driver::printBatchFit(const StepMemory &first, const StepMemory &second,
                           std::optional<int64_t> budget,
                           llvm::raw_ostream &out, std::string &error) {
  auto batches = batchSizes(first, second, error);
  if (!batches)
    return false;
  out << llvm::formatv("{0,12} {1,18} {2,18}\n", "batch", "keep everything",
                       "smallest budget");
  auto row = [&](int64_t batch, const StepMemory &step) {
    out << llvm::formatv("{0,12} {1,18} {2,18}\n", batch,
                         printBytes(step.everything), printBytes(step.least));
  };
  row(batches->first, first);
  row(batches->second, second);
  Line everything(*batches, first.everything, second.everything);
  Line least(*batches, first.least, second.least);
  out << llvm::formatv("{0,12} {1,18} {2,18}\n", "each more",
                       printBytes(int64_t(std::max(0.0, everything.slope))),
                       printBytes(int64_t(std::max(0.0, least.slope))));
  if (budget)
    out << "largest batch within " << printBytes(*budget) << ": "
        << everything.largestWithin(*budget) << " keeping everything, "
        << least.largestWithin(*budget) << " recomputing (by these lines)\n";
  return true;
}

/// What the step needs with everything kept, and at least.
static ExitCode measureMemory(const CompileOptions &options,
                              StepMemory &memory) {
  Compilation compilation(options);
  compilation.run.forBudgets = true;
  if (ExitCode code = compilation.runTo("group"); code != exitOk)
    return code;
  memory.input = options.input;
  auto main = compilation.program.module->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return exitInternal;
  for (BlockArgument argument : main.getArguments()) {
    auto role = main.getArgAttrOfType<step::RoleAttr>(argument.getArgNumber(),
                                                      step::roleAttrName);
    if (!role || !step::isState(role.getValue()))
      memory.batchShapes.push_back(
          cast<RankedTensorType>(argument.getType()).getShape().vec());
  }
  CandidateStream &candidates =
      candidatesOf(compilation.program, compilation.run);
  BudgetSearch &search = searchOf(compilation.program, compilation.run);
  const PlannedStep *everything = search.keepEverything();
  const PlannedStep *least = search.smallest();
  if (!everything || !least)
    return candidates.failure() ? candidates.failure() : exitInternal;
  memory.everything = everything->bytes;
  memory.least = least->bytes;
  return exitOk;
}

ExitCode driver::planBatches(const CompileOptions &options,
                             const std::string &other, llvm::raw_ostream &out) {
  CompileOptions otherOptions = options;
  otherOptions.input = other;
  StepMemory first, second;
  if (ExitCode code = measureMemory(options, first))
    return code;
  if (ExitCode code = measureMemory(otherOptions, second))
    return code;
  std::string error;
  if (printBatchFit(first, second, options.memoryBudget, out, error))
    return exitOk;
  return fail(exitUserError, error);
}
