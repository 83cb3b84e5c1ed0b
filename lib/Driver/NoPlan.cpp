//===- NoPlan.cpp - Why a step does not fit, and what would ---------------===//
//
// See NoPlan.h.
//
//===----------------------------------------------------------------------===//

#include "NoPlan.h"

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Support/Bytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

MemoryBound driver::boundOf(const CandidateStream &candidates,
                            const PlannedStep &everything) {
  MemoryBound bound;
  if (auto bytes = everything.main()->getAttrOfType<DictionaryAttr>(
          step::segmentBytesAttrName))
    for (NamedAttribute segment : bytes) {
      int64_t size = cast<IntegerAttr>(segment.getValue()).getInt();
      if (size == 0 || segment.getName() ==
                           step::stringifySegment(step::Segment::temporaries))
        continue;
      bound.segments.push_back({segment.getName().str(), size});
      bound.bytes += size;
    }
  llvm::sort(bound.segments, [](const auto &a, const auto &b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  std::optional<memory::WorkingSet> least;
  for (const Candidate &candidate : candidates.formed()) {
    auto main = candidate.module.get().lookupSymbol<func::FuncOp>("main");
    memory::WorkingSet set =
        main ? memory::largestWorkingSet(main) : memory::WorkingSet();
    if (!least || set.bytes < least->bytes)
      least = std::move(set);
  }
  if (least)
    bound.workingSet = std::move(*least);
  bound.bytes += bound.workingSet.bytes;
  return bound;
}

/// "13926400 bytes (13.28 MiB)"
static std::string exactly(int64_t bytes) {
  return std::to_string(bytes) + " bytes (" + printBytes(bytes) + ")";
}

static std::string partsText(const MemoryBound &bound) {
  std::string text;
  for (auto &[name, bytes] : bound.segments)
    text += (text.empty() ? "" : ", ") + name + " " + printBytes(bytes);
  const memory::WorkingSet &set = bound.workingSet;
  if (set.bytes == 0)
    return text;
  text += (text.empty() ? "" : " and ") + printBytes(set.bytes) + " that '" +
          set.source + "' needs at once (";
  for (const memory::WorkingSet::Part &part : set.parts)
    text += (&part == set.parts.begin() ? "" : ", ") +
            std::string(part.isWritten ? "writes " : "reads ") + part.type +
            (part.isWritten ? "" : " of '" + part.source + "'");
  if (set.scratchBytes)
    text += std::string(set.parts.empty() ? "" : ", ") + "scratch memory " +
            printBytes(set.scratchBytes);
  return text + ")";
}

std::string driver::whyNoPlan(int64_t budget, const MemoryBound &bound,
                              const PlannedStep &least) {
  bool proved = budget < bound.bytes &&
                !solver::checkRecompute(
                    bound.workingSet.problem(),
                    bound.workingSet.proof(
                        budget - (bound.bytes - bound.workingSet.bytes)));
  std::string smallest =
      llvm::formatv("; the smallest budget that was planned is {0}, {1:f1} % "
                    "above the bound",
                    exactly(least.bytes),
                    100.0 * double(least.bytes - bound.bytes) /
                        double(std::max<int64_t>(bound.bytes, 1)));
  if (proved)
    return "no plan within " + printBytes(budget) +
           ": infeasible (proved) with the kernels that were formed, since "
           "these take " +
           exactly(bound.bytes) + ": " + partsText(bound) + smallest;
  return "no plan within " + printBytes(budget) +
         ": not found (not proved infeasible); with the kernels that were "
         "formed every plan needs " +
         exactly(bound.bytes) + ", proved: " + partsText(bound) + smallest;
}
