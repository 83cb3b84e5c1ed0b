//===- PlanLayouts.cpp - How the tensors of a step lie on a mesh ----------===//
//
// Chooses layouts, or follows those that are given, and prints why and at what
// price. For processors the parts of a rank are planned, too, so its memory is
// what a file would have; for GPUs, of which a file has one, the choice alone
// is predicted.
//
//===----------------------------------------------------------------------===//

#include "RunStages.h"
#include "StageEntries.h"

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Support/Bytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

/// What a stage reported; null if it did not run.
static const llvm::json::Object *detailsOf(const CompileResult &result,
                                           StringRef stage) {
  for (const StageReport &each : result.stages)
    if (each.name == stage)
      return &each.details;
  return nullptr;
}

/// The stages of the target, with the one that cuts the step behind the others
/// that look at step form.
static Walk walkToLayouts(OutputTarget target) {
  if (target == OutputTarget::cpu)
    return walkTo(target);
  Walk walk;
  for (const Stage &stage : walkTo(target)) {
    walk.push_back(stage);
    if (stage.name == "precision")
      break;
  }
  walk.push_back(shardStage());
  return walk;
}

static double number(const llvm::json::Object &from, llvm::StringRef key) {
  return from.getNumber(key).value_or(0);
}

static std::string milliseconds(double seconds) {
  return llvm::formatv("{0:f3} ms", seconds * 1e3);
}

static void printTensors(const llvm::json::Array &tensors,
                         llvm::raw_ostream &out) {
  size_t width = 8;
  for (const llvm::json::Value &value : tensors)
    width = std::max(width, value.getAsObject()->getString("name")->size());
  auto print = [&](StringRef name, StringRef layout, StringRef bytes,
                   StringRef moved, StringRef reason) {
    out << llvm::left_justify(name, width) << " "
        << llvm::left_justify(layout, 20) << " "
        << llvm::right_justify(bytes, 12) << " "
        << llvm::right_justify(moved, 12) << "  " << reason << "\n";
  };
  print("tensor", "layout", "bytes", "moved", "reason and next best");
  for (const llvm::json::Value &value : tensors) {
    const llvm::json::Object &line = *value.getAsObject();
    double moving = number(line, "moving_seconds");
    std::string reason = *line.getBoolean("asked") ? "asked for"
                         : moving > 0              ? "moved, least in all"
                                                   : "read where it lies";
    if (auto next = line.getString("next_best"))
      reason += "; " + next->str() + " takes " +
                milliseconds(number(line, "next_best_seconds_more")) + " more";
    print(*line.getString("name"), *line.getString("layout"),
          std::to_string(*line.getInteger("bytes")), milliseconds(moving),
          reason);
  }
}

static void printMemory(ModuleOp planned, llvm::raw_ostream &out) {
  auto main = planned.lookupSymbol<func::FuncOp>("main");
  auto segments =
      main->getAttrOfType<DictionaryAttr>(step::segmentBytesAttrName);
  if (!segments)
    return;
  int64_t total = 0;
  std::string parts;
  for (NamedAttribute segment : segments) {
    int64_t bytes = cast<IntegerAttr>(segment.getValue()).getInt();
    total += bytes;
    if (bytes)
      parts += (parts.empty() ? "" : ", ") + segment.getName().str() + " " +
               printBytes(bytes);
  }
  out << "memory         " << printBytes(total) << " on each rank (" << parts
      << ")\n";
}

ExitCode driver::planLayouts(const CompileOptions &options,
                             llvm::raw_ostream &out) {
  const bool isPlanned = options.target == OutputTarget::cpu;
  const Walk walk = walkToLayouts(options.target);
  Compilation compilation(options, walk);
  if (ExitCode code = compilation.runTo(isPlanned ? "plan" : "shard");
      code != exitOk)
    return code;
  const llvm::json::Object *shard = detailsOf(compilation.result, "shard");
  if (!shard)
    return exitInternal;
  if (auto *tensors = shard->getArray("tensors"))
    printTensors(*tensors, out);
  double compute = number(*shard, "compute_seconds");
  double communication = number(*shard, "communication_seconds");
  out << "\nmesh           " << *shard->getString("mesh") << ", "
      << *shard->getInteger("ranks") << " ranks of '"
      << compilation.run.resolved.machine.name << "'\n"
      << "step           " << milliseconds(compute + communication)
      << " predicted, not measured: compute " << milliseconds(compute)
      << ", communication " << milliseconds(communication) << "\n";
  if (auto *plan = detailsOf(compilation.result, "plan")) {
    double computes = number(*plan, "compute_seconds");
    double exposed = number(*plan, "exposed_communication_seconds");
    out << "planned        " << milliseconds(computes + exposed)
        << " by kernels and their order: compute " << milliseconds(computes)
        << ", exposed communication " << milliseconds(exposed)
        << ", hidden communication "
        << milliseconds(number(*plan, "hidden_communication_seconds")) << "\n";
  }
  out << "exchange       each rank receives "
      << printBytes(int64_t(number(*shard, "received_bytes"))) << " a step\n";
  for (const llvm::json::Value &value : *shard->getArray("exchanges")) {
    const llvm::json::Object &line = *value.getAsObject();
    out << "               " << *line.getInteger("count") << " x "
        << *line.getString("kind") << " along " << *line.getString("axes")
        << ", " << printBytes(*line.getInteger("received_bytes")) << "\n";
  }
  if (!compilation.result.shardSummary.empty())
    out << compilation.result.shardSummary << "\n";
  if (shard->getBoolean("fast_collectives").value_or(false))
    out << "sums           by " << (isPlanned ? "MPI" : "NCCL")
        << ", in an order of its own, so bits depend on it and on the ranks\n";
  if (auto *choice = shard->getObject("choice")) {
    out << "choice         " << milliseconds(number(*choice, "seconds"))
        << ", no choice of layouts takes less than "
        << milliseconds(number(*choice, "bound_seconds")) << " (proved), gap "
        << llvm::formatv("{0:f2} %\n", number(*choice, "gap") * 100);
    out << "estimate       " << printBytes(*choice->getInteger("peak_bytes"))
        << " on each rank before it is planned"
        << (*choice->getBoolean("within_limit") ? "" : ", above the budget")
        << "\n";
  }
  if (isPlanned)
    printMemory(*compilation.program.module, out);
  out << "check          the parts compute the whole step\n";
  return exitOk;
}
