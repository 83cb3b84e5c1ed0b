//===- ShardIndices.cpp - Gathers and scatters of shards ------------------===//
//
// Gathers from shards and scatters into them, whose indices count from where
// the shard starts.
//
//===----------------------------------------------------------------------===//

#include "Identities.h"
#include "PartitionChecker.h"

#include <set>

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

bool PartitionChecker::relateScatter(stablehlo::ScatterOp part,
                                     stablehlo::ScatterOp op, bool isShifted,
                                     std::vector<Holding> &results) {
  auto labels = labelsOf(op);
  if (!labels || part.getInputs().size() != 1 ||
      attributesOf(part, {}) != attributesOf(op, {}) || !sameRegions(part, op))
    return false;
  auto numbers = op.getScatterDimensionNumbers();
  ArrayRef<int64_t> dims = numbers.getScatterDimsToOperandDims();
  Value from = part.getScatterIndices();
  SmallVector<PerDevice> starts(dims.size(), PerDevice(devices, 0));
  if (isShifted) {
    auto indices = localIndices(from, numbers.getIndexVectorDim(), dims.size());
    if (!indices)
      return false;
    from = narrowed(indices->from);
    starts = indices->starts;
  }
  Value input = part.getInputs()[0];
  PerDevice isFirst;
  if (auto found = firsts.find(input); found != firsts.end()) {
    input = found->second.first;
    isFirst = found->second.second;
  }
  std::vector<Place> places(labels->labels.size());
  if (!placeOperand(places, labels->operands[0], input, op.getInputs()[0]))
    return false;
  // What is outside does not matter where zeros are added.
  if (!placeOperand(places, labels->operands[1], from, op.getScatterIndices()))
    return false;
  for (Place &place : places)
    place.tails.clear();
  if (!placeOperand(places, labels->operands[2], part.getUpdates()[0],
                    op.getUpdates()[0]))
    return false;
  for (auto [at, dim] : llvm::enumerate(dims)) {
    int label = labels->operands[0][dim];
    PerDevice start(devices, 0);
    if (label != shardingcheck::whole) {
      // Where all elements are alike, indices say which rows these are.
      if (!places[label].start)
        places[label].start = starts[at];
      start = *places[label].start;
    }
    if (starts[at] != start ||
        llvm::any_of(start, [](int64_t row) { return row < 0; }))
      return false;
  }
  Holding held;
  if (!placeResult(places, *labels, 0, part.getResult(0), op.getResult(0),
                   held))
    return false;
  if (held.isPending()) {
    // The devices that have the operand are those of one share.
    std::set<int64_t> with, without;
    for (int64_t device = 0; device < devices && !isFirst.empty(); ++device)
      (isFirst[device] ? with : without).insert(held.share[device]);
    if (with.size() != 1 || without.contains(*with.begin()))
      return false;
  } else if (!isFirst.empty()) {
    return false;
  }
  results.push_back(std::move(held));
  return true;
}

void PartitionChecker::visitMaskedGather(stablehlo::SelectOp select) {
  auto part = select.getOnTrue().getDefiningOp<stablehlo::GatherOp>();
  auto spread = select.getPred().getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!part || !spread ||
      !(identitiesOf(splatOf(select.getOnFalse())) & bitOf(Combine::sum)))
    return;
  auto numbers = part.getDimensionNumbers();
  SmallVector<int64_t> batch;
  for (int64_t dim = 0; dim < int64_t(shapeOf(part.getResult()).size()); ++dim)
    if (!llvm::is_contained(numbers.getOffsetDims(), dim))
      batch.push_back(dim);
  if (spread.getBroadcastDimensions() != ArrayRef(batch))
    return;
  int64_t vectorDim = numbers.getIndexVectorDim();
  ArrayRef<int64_t> dims = numbers.getStartIndexMap();
  Value indices = part.getStartIndices();
  auto shifted = localIndices(indices, vectorDim, dims.size());
  if (!shifted)
    return;
  auto clamp = narrowed(shifted->from).getDefiningOp<stablehlo::ClampOp>();
  if (!clamp)
    return;
  auto least = components(clamp.getMin(), vectorDim, dims.size());
  auto most = components(clamp.getMax(), vectorDim, dims.size());
  // Whether the index is here, for each component.
  Value isHere = spread.getOperand();
  if (vectorDim < int64_t(shapeOf(indices).size())) {
    auto all = isHere.getDefiningOp<stablehlo::ReduceOp>();
    if (!all || all.getInputs().size() != 1 ||
        all.getDimensions() != ArrayRef(vectorDim) ||
        combineOf(all.getBody()) != Combine::min ||
        !(identitiesOf(splatOf(all.getInitValues()[0])) & bitOf(Combine::min)))
      return;
    isHere = all.getInputs()[0];
  }
  auto both = isHere.getDefiningOp<stablehlo::AndOp>();
  if (!least || !most || !both)
    return;
  auto low = both.getLhs().getDefiningOp<stablehlo::CompareOp>();
  auto high = both.getRhs().getDefiningOp<stablehlo::CompareOp>();
  using stablehlo::ComparisonDirection;
  if (!low || !high || low.getLhs() != indices || high.getLhs() != indices ||
      low.getComparisonDirection() != ComparisonDirection::GE ||
      high.getComparisonDirection() != ComparisonDirection::LT)
    return;
  auto from = components(low.getRhs(), vectorDim, dims.size());
  auto to = components(high.getRhs(), vectorDim, dims.size());
  if (!from || !to)
    return;
  Value plain = narrowed(clamp.getOperand());
  SmallVector<Operation *> candidates = byName.lookup(part->getName());
  for (Operation *candidate : candidates) {
    auto op = cast<stablehlo::GatherOp>(candidate);
    Labels labels = labelsOfGather(op, true);
    if (attributesOf(part, {"slice_sizes"}) !=
            attributesOf(op, {"slice_sizes"}) ||
        !sameSliceSizes(part, op, labels))
      continue;
    std::vector<Place> places(labels.labels.size());
    if (!placeOperand(places, labels.operands[0], part.getOperand(),
                      op.getOperand()) ||
        !placeOperand(places, labels.operands[1], plain, op.getStartIndices()))
      continue;
    bool isRight = true;
    ArrayRef<int64_t> shape = shapeOf(op.getOperand());
    for (auto [at, dim] : llvm::enumerate(dims)) {
      int label = labels.operands[0][dim];
      PerDevice start(devices, 0);
      if (label != shardingcheck::whole && places[label].start)
        start = *places[label].start;
      int64_t extent = shapeOf(part.getOperand())[dim];
      int64_t largest = shape[dim] - op.getSliceSizes()[dim];
      for (int64_t device = 0; device < devices; ++device)
        isRight &= (*least)[at][device] == 0 && (*from)[at][device] == 0 &&
                   (*most)[at][device] == largest &&
                   shifted->starts[at][device] == start[device] &&
                   ((*to)[at][device] == extent ||
                    (extent == shape[dim] && (*to)[at][device] > extent));
    }
    Holding held;
    if (isRight && placeResult(places, labels, 0, select.getResult(),
                               op.getResult(), held))
      add(select.getResult(), std::move(held));
  }
}

std::optional<LocalIndices> PartitionChecker::localIndices(Value indices,
                                                           int64_t vectorDim,
                                                           int64_t count) {
  auto subtract = indices.getDefiningOp<stablehlo::SubtractOp>();
  if (subtract && elementOf(indices).isSignlessInteger(64))
    if (auto starts = components(subtract.getRhs(), vectorDim, count))
      return LocalIndices{subtract.getLhs(), *starts};
  return std::nullopt;
}

std::optional<SmallVector<PerDevice>>
PartitionChecker::components(Value value, int64_t vectorDim, int64_t count) {
  auto repeat = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!repeat) {
    Attribute element = splatOf(value);
    auto integer = dyn_cast_if_present<IntegerAttr>(element);
    if (!integer)
      return std::nullopt;
    return SmallVector<PerDevice>(
        count, PerDevice(devices, integer.getValue().getSExtValue()));
  }
  if (shapeOf(repeat.getOperand()).empty()) {
    if (count != 1)
      return std::nullopt;
  } else if (repeat.getBroadcastDimensions() != ArrayRef(vectorDim)) {
    return std::nullopt;
  }
  auto list = elementsOf(repeat.getOperand());
  if (!list || int64_t(list->size()) != count)
    return std::nullopt;
  return list;
}

std::optional<SmallVector<PerDevice>>
PartitionChecker::elementsOf(Value value) {
  if (shapeOf(value).empty())
    if (auto number = scalarOf(value))
      return SmallVector<PerDevice>{*number};
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
    if (!dense || dense.getNumElements() > 64)
      return std::nullopt;
    SmallVector<PerDevice> list;
    for (const APInt &element : dense.getValues<APInt>())
      list.push_back(PerDevice(devices, element.getSExtValue()));
    return list;
  }
  if (isa<stablehlo::ReshapeOp, stablehlo::ConvertOp>(op) &&
      isa<IntegerType>(elementOf(value)) &&
      isa<IntegerType>(elementOf(op->getOperand(0)))) {
    auto list = elementsOf(op->getOperand(0));
    if (list)
      for (PerDevice &element : *list)
        if (!fits(element, elementOf(value)))
          return std::nullopt;
    return list;
  }
  if (isa<stablehlo::ConcatenateOp>(op)) {
    SmallVector<PerDevice> list;
    for (Value operand : op->getOperands()) {
      auto part = elementsOf(operand);
      if (!part)
        return std::nullopt;
      llvm::append_range(list, *part);
    }
    return list;
  }
  return std::nullopt;
}

Value PartitionChecker::narrowed(Value value) {
  while (auto convert = value.getDefiningOp<stablehlo::ConvertOp>()) {
    auto from = dyn_cast<IntegerType>(elementOf(convert.getOperand()));
    auto to = dyn_cast<IntegerType>(elementOf(value));
    if (!from || !to || from.getWidth() + from.isUnsigned() > to.getWidth() ||
        from.isInteger(1))
      return value;
    value = convert.getOperand();
  }
  return value;
}
