//===- PlanReport.cpp - What is said of plans under a budget -------------===//
//
// See PlanReport.h.
//
//===----------------------------------------------------------------------===//

#include "PlanReport.h"

#include "tenon/Support/Bytes.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

std::string driver::gapOfExtra(const PlanFigures &plan) {
  int64_t gap = plan.nanoseconds - plan.boundNanoseconds;
  int64_t extra = plan.boundNanoseconds - plan.baseNanoseconds;
  if (gap == 0)
    return "0.00 %";
  if (extra == 0)
    return "all";
  return llvm::formatv("{0:f2} %", 100.0 * double(gap) / double(extra)).str();
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
  // How far above the bound a plan is, of the whole and of the extra time that
  // the bound asks for.
  out << "      budget      planned  predicted ms     bound ms  more work  "
         "above bound     of extra\n";
  size_t knee = kneeOf(points);
  for (auto [index, point] : llvm::enumerate(points))
    out << llvm::formatv(
        "{0,12} {1,12} {2,13:f3} {3,12:f3} {4,8:f2} % {5,10:f2} % {6,12}{7}\n",
        printBytes(point.budget), printBytes(point.bytes),
        point.nanoseconds / 1e6, point.boundNanoseconds / 1e6,
        percentAbove(point.nanoseconds, point.baseNanoseconds),
        percentAbove(point.nanoseconds, point.boundNanoseconds),
        gapOfExtra(point),
        index == knee && points.size() > 2 ? "  <- knee" : "");
}

std::pair<int64_t, int64_t> driver::excludedBytes(ModuleOp planned) {
  auto figures =
      planned->getAttrOfType<DictionaryAttr>(step::recomputationAttrName);
  auto integer = [&](StringRef name) {
    auto value = figures ? figures.getAs<IntegerAttr>(name) : IntegerAttr();
    return value ? value.getInt() : 0;
  };
  return {integer("pinned_bytes"), integer("value_bytes")};
}

static ArrayAttr exclusionsOf(ModuleOp planned) {
  auto figures =
      planned->getAttrOfType<DictionaryAttr>(step::recomputationAttrName);
  auto list = figures ? figures.getAs<ArrayAttr>("exclusions") : ArrayAttr();
  return list ? list : ArrayAttr::get(planned.getContext(), {});
}

llvm::json::Array driver::exclusionsJSON(ModuleOp planned) {
  // Copies: the report is written when the module is gone.
  llvm::json::Array list;
  for (auto entry : exclusionsOf(planned).getAsRange<DictionaryAttr>())
    list.push_back(llvm::json::Object{
        {"bytes", entry.getAs<IntegerAttr>("bytes").getInt()},
        {"reason", entry.getAs<StringAttr>("reason").str()},
        {"source", entry.getAs<StringAttr>("source").str()}});
  return list;
}

void driver::printExclusions(ModuleOp planned, llvm::raw_ostream &out) {
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
