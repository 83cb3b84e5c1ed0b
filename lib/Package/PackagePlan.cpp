//===- PackagePlan.cpp - The plan beside a program -----------------------===//
//
// See PackagePlan.h.
//
//===----------------------------------------------------------------------===//

#include "PackagePlan.h"

#include "tenon/Dialect/Step/Step.h"

using namespace mlir;
using namespace tenon;

namespace {

class PlanPackager {
public:
  PlanPackager(exec::ProgramOp program,
               const llvm::StringMap<uint32_t> &segmentIndex)
      : program(program), segmentIndex(segmentIndex) {}

  FailureOr<std::optional<format::Plan>> run();

private:
  ArrayRef<int64_t> numbers(Attribute attribute, size_t least);
  std::vector<int32_t> values(Attribute attribute);
  uint32_t index(int64_t number);
  std::vector<format::Handovers> handovers(Attribute attribute);
  void addTables(DictionaryAttr attribute);
  void addBlock(Block &block);
  void addOperation(DictionaryAttr planned, Attribute regionEnds);

  exec::ProgramOp program;
  const llvm::StringMap<uint32_t> &segmentIndex;
  format::Plan plan;
  bool wellFormed = true;
  bool complete = true; // every instruction says what it is
};

/// The elements of an array of numbers, at least so many.
ArrayRef<int64_t> PlanPackager::numbers(Attribute attribute, size_t least) {
  static constexpr int64_t zeros[8] = {};
  auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attribute);
  if (array && array.size() >= int64_t(least))
    return array.asArrayRef();
  wellFormed &= !attribute && least == 0;
  return ArrayRef<int64_t>(zeros, least);
}

/// Numbers of values and nodes, which have 32 bits.
std::vector<int32_t> PlanPackager::values(Attribute attribute) {
  ArrayRef<int64_t> list = numbers(attribute, 0);
  wellFormed &= llvm::all_of(list, llvm::isInt<32>);
  return {list.begin(), list.end()};
}

/// A number of what the plan lists.
uint32_t PlanPackager::index(int64_t number) {
  wellFormed &= llvm::isUInt<32>(number);
  return uint32_t(number);
}

std::vector<format::Handovers> PlanPackager::handovers(Attribute attribute) {
  std::vector<format::Handovers> regions;
  wellFormed &= !attribute || isa<ArrayAttr>(attribute);
  if (auto list = dyn_cast_or_null<ArrayAttr>(attribute))
    for (Attribute region : list)
      regions.push_back(values(region));
  return regions;
}

void PlanPackager::addTables(DictionaryAttr attribute) {
  auto each = [&](StringRef name, auto add) {
    auto list = attribute.getAs<ArrayAttr>(name);
    wellFormed &= bool(list);
    if (list)
      for (Attribute element : list)
        add(element);
  };
  each("texts", [&](Attribute text) {
    auto string = dyn_cast<StringAttr>(text);
    wellFormed &= bool(string);
    plan.texts.push_back(string ? string.str() : "");
  });
  each("buffers", [&](Attribute buffer) {
    ArrayRef<int64_t> fields = numbers(buffer, 3);
    auto segment = step::symbolizeSegment(this->index(fields[0]));
    auto index = segment ? segmentIndex.find(step::stringifySegment(*segment))
                         : segmentIndex.end();
    wellFormed &= index != segmentIndex.end();
    plan.buffers.push_back({index == segmentIndex.end() ? 0 : index->second,
                            uint64_t(fields[1]), uint64_t(fields[2])});
  });
  each("values", [&](Attribute value) {
    ArrayRef<int64_t> fields = numbers(value, 6);
    format::PlannedValue &added = plan.values.emplace_back();
    wellFormed &= llvm::isInt<32>(fields[5]);
    added = {index(fields[0]),  uint64_t(fields[1]), index(fields[2]),
             index(fields[3]),  fields[4] != 0,      {},
             int32_t(fields[5])};
    for (size_t i = 6; i + 1 < fields.size(); i += 2)
      added.lifetimes.push_back({fields[i], fields[i + 1]});
  });
  plan.initial = values(attribute.get("initial"));
  plan.results = values(attribute.get("results"));
}

void PlanPackager::addOperation(DictionaryAttr planned, Attribute regionEnds) {
  format::PlannedOperation &added = plan.operations.emplace_back();
  ArrayRef<int64_t> at = numbers(planned.get("at"), 3);
  added.begin = at[0];
  added.end = at[1];
  added.source = index(at[2]);
  added.reads = values(planned.get("reads"));
  added.writes = values(planned.get("writes"));
  added.handovers = values(planned.get("handovers"));
  added.regionEnds = handovers(regionEnds);
  if (Attribute figures = planned.get("node")) {
    ArrayRef<int64_t> fields = numbers(figures, 3);
    wellFormed &= llvm::isInt<32>(fields[0]);
    added.node = int32_t(fields[0]);
    added.nanoseconds = fields[1];
    added.recomputed = fields[2] != 0;
    added.joinedNodes = values(planned.get("joined"));
  }
}

void PlanPackager::addBlock(Block &block) {
  for (Operation &op : block) {
    if (isa<exec::SliceOp>(op))
      continue;
    auto planned = op.getAttrOfType<DictionaryAttr>(exec::plannedAttrName);
    complete &= bool(planned);
    if (planned)
      addOperation(planned, op.getAttr(exec::regionEndsAttrName));
    for (Region &region : op.getRegions())
      addBlock(region.front());
  }
}

FailureOr<std::optional<format::Plan>> PlanPackager::run() {
  auto attribute = program->getAttrOfType<DictionaryAttr>(exec::planAttrName);
  if (!attribute)
    return std::optional<format::Plan>();
  addTables(attribute);
  addBlock(program.getBody().front());
  std::vector<format::Handovers> ends =
      handovers(program->getAttr(exec::regionEndsAttrName));
  if (!ends.empty())
    plan.end = std::move(ends.front());
  if (auto bound =
          program->getAttrOfType<IntegerAttr>(step::temporariesBoundAttrName))
    plan.temporariesBound = uint64_t(bound.getInt());
  if (auto figures =
          program->getAttrOfType<DictionaryAttr>(step::recomputationAttrName)) {
    auto text = [&](StringRef name) {
      auto string = figures.getAs<StringAttr>(name);
      return string ? string.str() : std::string();
    };
    plan.recomputationProblem = text("problem");
    plan.recomputationSolution = text("solution");
  }
  if (!wellFormed)
    return program.emitError()
           << "'" << exec::planAttrName << "' or '" << exec::plannedAttrName
           << "' is not well formed; leave both out for a file without a plan";
  if (!complete)
    return std::optional<format::Plan>();
  return std::optional<format::Plan>(std::move(plan));
}

} // namespace

FailureOr<std::optional<format::Plan>>
package::packagePlan(exec::ProgramOp program,
                     const llvm::StringMap<uint32_t> &segmentIndex) {
  return PlanPackager(program, segmentIndex).run();
}
