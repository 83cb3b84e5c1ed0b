//===- PlanReport.cpp - What is said of plans under a budget -------------===//
//
// See PlanReport.h.
//
//===----------------------------------------------------------------------===//

#include "PlanReport.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/SourceText.h"
#include "tenon/Support/Bytes.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

/// What is proved of a plan.
static solver::RecomputeClaim claimOf(const PlanFigures &plan) {
  return {plan.onceNanoseconds, plan.nanoseconds, plan.boundNanoseconds};
}

/// The point farthest below the straight line from the first to the last, both
/// axes scaled to 1.
static size_t kneeOf(ArrayRef<FrontierPoint> points) {
  const FrontierPoint &first = points.front(), &last = points.back();
  double bytes = std::max<double>(1, last.bytes - first.bytes);
  double time = std::max<double>(1, first.nanoseconds - last.nanoseconds);
  size_t knee = 0;
  double farthest = 0;
  for (auto [index, point] : llvm::enumerate(points)) {
    double below = 1 - (point.bytes - first.bytes) / bytes -
                   (point.nanoseconds - last.nanoseconds) / time;
    if (below > farthest) {
      farthest = below;
      knee = index;
    }
  }
  return knee;
}

void driver::printFrontier(ArrayRef<FrontierPoint> points,
                           llvm::raw_ostream &out) {
  auto percentAbove = [](int64_t value, int64_t base) {
    return 100.0 * double(value - base) / double(std::max<int64_t>(base, 1));
  };
  // What another plan could save at most, of the whole and of the extra time.
  out << "      budget      planned  predicted ms     bound ms  more work  "
         "could save     of extra\n";
  size_t knee = kneeOf(points);
  for (auto [index, point] : llvm::enumerate(points))
    out << llvm::formatv("{0,12} {1,12} {2,13:f3} {3,12:f3} {4,8:f2} % "
                         "{5,9:f2} % {6,10:f2} %{7}\n",
                         printBytes(point.budget), printBytes(point.bytes),
                         point.nanoseconds / 1e6, point.boundNanoseconds / 1e6,
                         percentAbove(point.nanoseconds, point.baseNanoseconds),
                         claimOf(point).percentOfWhole(),
                         claimOf(point).percentOfExtra(),
                         index == knee && points.size() > 2 ? "  <- knee" : "");
}

/// Bytes of values that nothing may compute again, and of all values.
static std::pair<int64_t, int64_t> excludedBytes(func::FuncOp planned) {
  auto figures =
      planned->getAttrOfType<DictionaryAttr>(step::recomputationAttrName);
  auto integer = [&](StringRef name) {
    auto value = figures ? figures.getAs<IntegerAttr>(name) : IntegerAttr();
    return value ? value.getInt() : 0;
  };
  return {integer("pinned_bytes"), integer("value_bytes")};
}

static ArrayAttr exclusionsOf(func::FuncOp planned) {
  auto figures =
      planned->getAttrOfType<DictionaryAttr>(step::recomputationAttrName);
  auto list = figures ? figures.getAs<ArrayAttr>("exclusions") : ArrayAttr();
  return list ? list : ArrayAttr::get(planned.getContext(), {});
}

static llvm::json::Array exclusionsJSON(func::FuncOp planned) {
  // Copies: the report is written when the module is gone.
  llvm::json::Array list;
  for (auto entry : exclusionsOf(planned).getAsRange<DictionaryAttr>())
    list.push_back(llvm::json::Object{
        {"bytes", entry.getAs<IntegerAttr>("bytes").getInt()},
        {"reason", entry.getAs<StringAttr>("reason").str()},
        {"source", entry.getAs<StringAttr>("source").str()}});
  return list;
}

void driver::printExclusions(func::FuncOp planned, llvm::raw_ostream &out) {
  auto [excluded, all] = excludedBytes(planned);
  out << llvm::formatv("not recomputable: {0} of {1} of values, {2:f2} %\n",
                       printBytes(excluded), printBytes(all),
                       100.0 * double(excluded) /
                           double(std::max<int64_t>(all, 1)));
  for (auto entry : exclusionsOf(planned).getAsRange<DictionaryAttr>())
    out << llvm::formatv("{0,12} {1}: {2}\n",
                         printBytes(entry.getAs<IntegerAttr>("bytes").getInt()),
                         entry.getAs<StringAttr>("reason").getValue(),
                         entry.getAs<StringAttr>("source").getValue());
}

/// What waits in the host's memory, a line for people.
static std::string reportOffload(const PlannedStep &plan,
                                 llvm::json::Object &details) {
  int64_t saved = 0, loaded = 0;
  llvm::json::Array values;
  plan.main().walk([&](step::GroupOp group) {
    if (!group.isTransfer())
      return;
    const int64_t bytes = storedBytes(group.getOutputs().front().getType());
    if (group.getKind() == step::GroupKind::load) {
      loaded += bytes;
      return;
    }
    saved += bytes;
    values.push_back(llvm::json::Object{
        {"source", sourceOf(group.getLoc())},
        {"type",
         llvm::formatv("{0}", group.getInputs().front().getType()).str()},
        {"bytes", bytes},
        {"loads", int64_t(llvm::range_size(group->getUsers()))}});
  });
  const std::string text =
      values.empty()
          ? "offload    nothing waits in the host's memory"
          : llvm::formatv("offload    {0} values wait in {1} of the host's "
                          "memory; {2} move there and {3} back in each step",
                          values.size(), printBytes(plan.hostBytes),
                          printBytes(saved), printBytes(loaded))
                .str();
  details["offload"] = llvm::json::Object{{"values", std::move(values)},
                                          {"host_bytes", plan.hostBytes},
                                          {"bytes_saved", saved},
                                          {"bytes_loaded", loaded}};
  return text + "\n";
}

/// Whether what is proved of a plan holds beside plans in which values wait in
/// the host's memory.
static bool isProvedOfTransfers(func::FuncOp planned) {
  auto figures =
      planned->getAttrOfType<DictionaryAttr>(step::recomputationAttrName);
  auto problem = figures ? figures.getAs<StringAttr>("problem") : StringAttr();
  return problem && problem.getValue().contains("\nvariant ");
}

std::string driver::reportPlan(const PlannedStep &plan, int64_t budget,
                               const PlanBase &base,
                               const Regrouping &regrouped, bool mayOffload,
                               llvm::json::Object &details) {
  auto [excluded, all] = excludedBytes(plan.main());
  details["budget"] = budget;
  details["bytes"] = plan.bytes;
  details["bytes_keeping_everything"] = base.bytes;
  details["temporaries"] = plan.temporaries;
  details["temporaries_bound"] = plan.temporariesBound;
  details["live_peak"] = plan.livePeak;
  details["excluded_bytes"] = excluded;
  details["value_bytes"] = all;
  details["exclusions"] = exclusionsJSON(plan.main());
  details["predicted_nanoseconds"] = plan.nanoseconds;
  details["predicted_nanoseconds_keeping_everything"] = base.nanoseconds;
  details["bound_nanoseconds"] = plan.boundNanoseconds;
  details["regrouped_copies"] = regrouped.copies;
  details["regrouped_nanoseconds_saved"] = regrouped.nanosecondsSaved;
  double more = base.nanoseconds
                    ? 100.0 * double(plan.nanoseconds - base.nanoseconds) /
                          double(base.nanoseconds)
                    : 0.0;
  return llvm::formatv(
             "planned    {0} of {1} (keeping everything: {2}); {3} "
             "{4:f1} % more work than the quickest plan known without a "
             "budget\n{5}proved     {6}{7}{8}",
             printBytes(plan.bytes), printBytes(budget), printBytes(base.bytes),
             mayOffload ? "recomputes and moves" : "recomputes", more,
             mayOffload ? reportOffload(plan, details) : std::string(),
             solver::describe(claimOf(plan)),
             mayOffload && !isProvedOfTransfers(plan.main())
                 ? " (beside plans in which nothing waits)"
                 : "",
             regrouped.copies ? " (before copies joined their readers)" : "")
      .str();
}
