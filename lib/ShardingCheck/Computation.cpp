//===- Computation.cpp - Operations that compute --------------------------===//
//
// A local operation that computes needs one of the whole step that computes the
// same of what its operands hold. What its results hold follows from where the
// dimensions lie that run together (Labels.h).
//
//===----------------------------------------------------------------------===//

#include "Identities.h"
#include "PartitionChecker.h"

#include "mlir/IR/OperationSupport.h"

#include <set>

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

SmallVector<NamedAttribute>
shardingcheck::attributesOf(Operation *op, ArrayRef<StringRef> without) {
  SmallVector<NamedAttribute> kept;
  for (NamedAttribute attribute : op->getAttrDictionary())
    if (!attribute.getName().getValue().contains('.') &&
        !llvm::is_contained(without, attribute.getName().getValue()))
      kept.push_back(attribute);
  return kept;
}

void PartitionChecker::visitComputation(Operation *op) {
  for (Value result : op->getResults())
    if (!isa<RankedTensorType>(result.getType()))
      return;
  for (Operation *candidate : candidatesFor(op)) {
    if (candidate->getNumOperands() != op->getNumOperands() ||
        candidate->getNumResults() != op->getNumResults())
      continue;
    std::vector<Holding> results;
    if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op)) {
      auto whole = cast<stablehlo::ScatterOp>(candidate);
      if (!relateScatter(scatter, whole, false, results) &&
          !relateScatter(scatter, whole, true, results))
        continue;
    } else {
      auto labels = labelsOf(candidate);
      if (!labels)
        continue;
      SmallVector<StringRef> without;
      if (isa<stablehlo::GatherOp, stablehlo::DynamicSliceOp>(op))
        without.push_back("slice_sizes");
      // placeWindows() compares it.
      if (isa<stablehlo::ConvolutionOp, stablehlo::ReduceWindowOp>(op))
        without.push_back("padding");
      if (isa<stablehlo::PadOp>(op))
        without.append({"edge_padding_low", "edge_padding_high"});
      if (attributesOf(op, without) != attributesOf(candidate, without) ||
          !sameSliceSizes(op, candidate, *labels) ||
          !sameRegions(op, candidate))
        continue;
      if (auto scatter = dyn_cast<stablehlo::SelectAndScatterOp>(op)) {
        scatterWindows(scatter, cast<stablehlo::SelectAndScatterOp>(candidate),
                       *labels);
        continue;
      }
      if (!relate(op, candidate, *labels, results))
        continue;
    }
    for (auto [value, held] : llvm::zip_equal(op->getResults(), results))
      add(value, std::move(held));
  }
}

bool PartitionChecker::sameRegions(Operation *part, Operation *op) {
  if (part->getNumRegions() != op->getNumRegions())
    return false;
  llvm::DenseMap<Value, Value> same;
  auto areSame = [&](Value a, Value b) {
    if (auto found = same.find(a); found != same.end())
      return success(found->second == b);
    return success(shapeOf(a).empty() && shapeOf(b).empty() &&
                   llvm::any_of(holdingsOn(a, b), [](const Holding &held) {
                     return !held.isPending();
                   }));
  };
  for (auto [a, b] : llvm::zip_equal(part->getRegions(), op->getRegions()))
    if (!OperationEquivalence::isRegionEquivalentTo(
            &a, &b, areSame, [&](Value x, Value y) { same[x] = y; },
            OperationEquivalence::IgnoreLocations))
      return false;
  return true;
}

bool PartitionChecker::sameSliceSizes(Operation *part, Operation *op,
                                      const Labels &labels) {
  auto sizes = part->getAttrOfType<DenseI64ArrayAttr>("slice_sizes");
  auto wholeSizes = op->getAttrOfType<DenseI64ArrayAttr>("slice_sizes");
  if (!sizes || !wholeSizes)
    return sizes == wholeSizes;
  if (sizes.size() != wholeSizes.size())
    return false;
  ArrayRef<int64_t> extents = shapeOf(part->getOperand(0)),
                    shape = shapeOf(op->getOperand(0));
  for (int64_t dim = 0; dim < sizes.size(); ++dim) {
    bool isAll = labels.operands[0][dim] != shardingcheck::whole &&
                 wholeSizes[dim] == shape[dim] && shape[dim] > 1;
    if (isAll ? sizes[dim] != extents[dim] : sizes[dim] != wholeSizes[dim])
      return false;
  }
  return true;
}

bool PartitionChecker::relate(Operation *local, Operation *op,
                              const Labels &labels,
                              std::vector<Holding> &results) {
  std::vector<Place> places(labels.labels.size());
  for (auto [at, part] : llvm::enumerate(local->getOperands()))
    if (!placeOperand(places, labels.operands[at], part, op->getOperand(at)))
      return false;
  if (!placeWindows(local, op, labels, places))
    return false;
  for (auto [label, place] : llvm::zip_equal(labels.labels, places))
    if (label.isEven && place.start && place.extent)
      for (int64_t start : *place.start)
        if (start + *place.extent > place.wholeExtent)
          return false;
  for (auto [at, part] : llvm::enumerate(local->getResults())) {
    Holding held;
    if (!placeResult(places, labels, at, part, op->getResult(at), held))
      return false;
    if (held.isPending())
      if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
          reduce && !isNeutral(reduce.getInitValues()[0], held.combine))
        return false;
    results.push_back(std::move(held));
  }
  return true;
}

bool PartitionChecker::place(std::vector<Place> &places,
                             const TensorLabels &labels, Value part,
                             Value value, ArrayRef<Range> ranges) {
  ArrayRef<int64_t> extents = shapeOf(part), shape = shapeOf(value);
  for (auto [dim, label] : llvm::enumerate(labels)) {
    const Range &range = ranges[dim];
    if (label == shardingcheck::whole) {
      if (extents[dim] != shape[dim] ||
          (range.start &&
           llvm::any_of(*range.start, [](int64_t at) { return at != 0; })))
        return false;
      continue;
    }
    Place &known = places[label];
    if (known.extent.value_or(extents[dim]) != extents[dim] ||
        (known.start && range.start && *known.start != *range.start))
      return false;
    known.extent = extents[dim];
    known.wholeExtent = shape[dim];
    if (range.start)
      known.start = range.start;
    known.tails.push_back(range.tail);
  }
  return true;
}

bool PartitionChecker::placeOperand(std::vector<Place> &places,
                                    const TensorLabels &labels, Value part,
                                    Value value) {
  for (const Holding &held : holdingsOn(part, value)) {
    auto ranges = blockOf(held);
    if (held.isPending() || !ranges || ranges->size() != labels.size())
      continue;
    std::vector<Place> tried = places;
    if (!place(tried, labels, part, value, *ranges))
      continue;
    places = std::move(tried);
    return true;
  }
  return false;
}

bool PartitionChecker::placeResult(const std::vector<Place> &places,
                                   const Labels &labels, unsigned at,
                                   Value part, Value value, Holding &held) {
  std::vector<Range> ranges;
  ArrayRef<int64_t> extents = shapeOf(part), shape = shapeOf(value);
  // Two reshapes of one tensor differ in nothing but this.
  if (extents.size() != shape.size())
    return false;
  for (auto [dim, label] : llvm::enumerate(labels.results[at])) {
    if (label == shardingcheck::whole || !places[label].extent) {
      // A dimension that no operand has is made as a whole.
      if (extents[dim] != shape[dim])
        return false;
      ranges.push_back({PerDevice(devices, 0), 0});
      if (shape[dim] == 1)
        ranges.back().start.reset();
      continue;
    }
    if (extents[dim] != *places[label].extent)
      return false;
    ranges.push_back({places[label].start, 0});
  }
  held = holdingOf(value, extents, ranges);
  Shares shares;
  for (auto [number, label] : llvm::enumerate(labels.labels))
    if (!llvm::is_contained(labels.results[at], int(number)) &&
        !addShares(label, places[number], shares))
      return false;
  if (shares.count > 1) {
    held.share = shares.share;
    held.shares = shares.count;
    held.combine = *shares.combine;
  }
  return true;
}

bool PartitionChecker::addShares(const Label &label, const Place &place,
                                 Shares &shares) {
  if (!place.extent)
    return true;
  if (!label.combine) // what the result does not depend on
    return true;
  int64_t extent = *place.extent, total = place.wholeExtent;
  if (!place.start)
    return extent == total;
  std::set<int64_t> starts(place.start->begin(), place.start->end());
  int64_t next = 0;
  for (int64_t start : starts) {
    if (start != next)
      return false;
    next += extent;
  }
  if (next < total)
    return false;
  if (next > total && label.readsTail &&
      llvm::any_of(place.tails, [&](unsigned tail) {
        return !(tail & bitOf(*label.combine));
      }))
    return false;
  if (starts.size() == 1)
    return true;
  if (shares.combine && *shares.combine != *label.combine)
    return false;
  shares.combine = label.combine;
  shares.share.resize(devices, 0);
  for (int64_t device = 0; device < devices; ++device)
    shares.share[device] = shares.share[device] * int64_t(starts.size()) +
                           (*place.start)[device] / extent;
  shares.count *= int64_t(starts.size());
  return true;
}

bool PartitionChecker::isNeutral(Value init, Combine combine) {
  return combine != Combine::sum ||
         identitiesOf(splatOf(init)) & bitOf(Combine::sum);
}
