//===- RankProgram.cpp - The program of a rank that runs several devices --===//
//
// See RankProgram.h.
//
//===----------------------------------------------------------------------===//

#include "RankProgram.h"

#include "Lifetimes.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

void RankProgram::write(Block &block) {
  for (Operation &op : block.without_terminator()) {
    const bool meets = isMeeting(&op);
    if (!meets && !differs(&op)) {
      writeOnce(&op);
      continue;
    }
    for (int64_t device = 0; device < fold.each; ++device)
      if (meets)
        writeMeeting(&op, device);
      else
        writeCopy(&op, device);
  }
}

void RankProgram::writeOnce(Operation *op) {
  if (isControl(op))
    return writeControl(op);
  Operation *made = builder.clone(*op, copies.front());
  if (exchanges(op))
    setGroups(made, op, fold);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), made->getResults()))
    map(from, {to});
}

void RankProgram::writeCopy(Operation *op, int64_t device) {
  builder.setLoc(op->getLoc());
  if (isa<stablehlo::PartitionIdOp>(op)) {
    copies[device].map(op->getResult(0), numberOf(device));
    return;
  }
  Operation *made = builder.clone(*op, copies[device]);
  if (exchanges(op))
    setGroups(made, op, fold);
}

//===----------------------------------------------------------------------===//
// Numbers, collectives and parts
//===----------------------------------------------------------------------===//

Value RankProgram::numberOf(int64_t device) {
  auto type =
      RankedTensorType::get({}, builder.getIntegerType(32, /*isSigned=*/false));
  auto constant = [&](int64_t value) -> Value {
    return stablehlo::ConstantOp::create(
        builder, DenseElementsAttr::get(type, APInt(32, uint64_t(value))));
  };
  if (fold.ranks.devices() == 1)
    return constant(device);
  const int64_t stride = fold.devices.stride(fold.axis);
  const int64_t ranks = fold.rankAxis().size;
  Value rank = stablehlo::PartitionIdOp::create(builder, type);
  Value number = rank;
  auto addTimes = [&](Value value, int64_t factor) {
    if (factor == 0)
      return;
    if (factor != 1)
      value = stablehlo::MultiplyOp::create(builder, value, constant(factor));
    number = stablehlo::AddOp::create(builder, number, value);
  };
  auto divided = [&](Value value, int64_t by) -> Value {
    return by == 1 ? value
                   : stablehlo::DivideOp::create(builder, type, value,
                                                 constant(by));
  };
  const bool hasBefore = stride * ranks < fold.ranks.devices();
  if (hasBefore)
    addTimes(divided(rank, stride * ranks), stride * (fold.axis.size - ranks));
  if (ranks > 1) {
    Value place = divided(rank, stride);
    if (hasBefore)
      place =
          stablehlo::RemainderOp::create(builder, type, place, constant(ranks));
    addTimes(place, stride * (fold.each - 1));
  }
  if (device > 0)
    number =
        stablehlo::AddOp::create(builder, number, constant(device * stride));
  return number;
}

void RankProgram::writeMeeting(Operation *op, int64_t device) {
  builder.setLoc(op->getLoc());
  const bool isLast = device == fold.each - 1;
  if (isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(op))
    addToTree(op, device);
  else if (isLast && isControl(op))
    writeControl(op);
  else if (isLast)
    exchangeAll(op);
}

Value RankProgram::combined(Operation *op, Value first, Value second) {
  Operation &how = op->getRegion(0).front().front();
  OperationState state(op->getLoc(), how.getName());
  state.addOperands({first, second});
  state.addTypes(first.getType());
  state.addAttributes(how.getAttrs());
  return builder.OpBuilder::create(state)->getResult(0);
}

Value RankProgram::exchanged(Operation *op, Value operand,
                             ArrayRef<int64_t> shape) {
  if (fold.rankAxis().size == 1)
    return operand;
  IRMapping mapping;
  mapping.map(op->getOperand(0), operand);
  Operation *made = builder.clone(*op, mapping);
  Type element = elementOf(operand);
  made->getResult(0).setType(RankedTensorType::get(shape, element));
  setGroups(made, op, fold);
  for (Region &region : made->getRegions()) {
    auto scalar = RankedTensorType::get({}, element);
    for (BlockArgument argument : region.front().getArguments())
      argument.setType(scalar);
    region.front().front().getResult(0).setType(scalar);
    if (isa<FloatType>(element) &&
        tenon::combinationOf(region) == libraries::Combination::sum)
      made->setAttr(step::sumsByTreeAttrName, builder.getUnitAttr());
  }
  return made->getResult(0);
}

void RankProgram::addToTree(Operation *op, int64_t device) {
  Value sum = on(op->getOperand(0), device);
  const Type element = elementOf(sum);
  auto floating = dyn_cast<FloatType>(element);
  if (floating && floating.getWidth() < 32 &&
      tenon::combinationOf(op->getRegion(0)) == libraries::Combination::sum)
    sum = converted(sum, builder.getF32Type());
  SmallVector<Value> &first = waiting[op];
  for (int64_t number = device; number & 1; number >>= 1)
    sum = combined(op, first.pop_back_val(), sum);
  first.push_back(sum);
  if (device < fold.each - 1)
    return;
  SmallVector<int64_t> shape(shapeOf(sum));
  auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op);
  if (!scatter) {
    map(op->getResult(0), {converted(exchanged(op, sum, shape), element)});
    return;
  }
  const int64_t dim = int64_t(scatter.getScatterDimension());
  shape[dim] /= fold.rankAxis().size;
  SmallVector<Value> parts = cut(op->getLoc(), exchanged(op, sum, shape), dim);
  for (Value &each : parts)
    each = converted(each, element);
  map(op->getResult(0), parts);
}

void RankProgram::exchangeAll(Operation *op) {
  const int64_t ranks = fold.rankAxis().size;
  if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
    const int64_t dim = int64_t(gather.getAllGatherDim());
    Value all = joined(op->getLoc(), op->getOperand(0), dim);
    SmallVector<int64_t> shape(shapeOf(all));
    shape[dim] *= ranks;
    map(op->getResult(0), {exchanged(op, all, shape)});
    return;
  }
  // From each device a row for each device: [ranks, devices of the rank that
  // receives, devices of the one that sends, row].
  SmallVector<int64_t> result(shapeOf(op->getResult(0)));
  const int64_t devices = ranks * fold.each;
  const int64_t row = elementCount(result) / devices;
  SmallVector<Value> sent;
  for (int64_t i = 0; i < fold.each; ++i)
    sent.push_back(reshaped(on(op->getOperand(0), i), {devices, 1, row}));
  const SmallVector<int64_t> shape = {ranks, fold.each * fold.each * row};
  Value all = reshaped(joined(sent, 1), shape);
  IRMapping mapping;
  if (ranks > 1) {
    mapping.map(op->getOperand(0), all);
    auto made = cast<stablehlo::AllToAllOp>(builder.clone(*op, mapping));
    made->getResult(0).setType(all.getType());
    made.setSplitCount(uint64_t(ranks));
    setGroups(made, op, fold);
    all = made->getResult(0);
  }
  all = reshaped(all, {ranks, fold.each, fold.each * row});
  SmallVector<Value> received;
  for (Value each : cut(op->getLoc(), all, 1))
    received.push_back(reshaped(each, result));
  map(op->getResult(0), received);
}

SmallVector<Value> RankProgram::expanded(ValueRange values,
                                         ValueRange like) const {
  SmallVector<Value> all;
  for (auto [value, each] : llvm::zip_equal(values, like))
    for (int64_t i = 0; i < (differences.contains(each) ? fold.each : 1); ++i)
      all.push_back(on(value, i));
  return all;
}

void RankProgram::writeControl(Operation *op) {
  const bool isLoop = isa<stablehlo::WhileOp>(op);
  ResultRange results = op->getResults();
  OperationState state(op->getLoc(), op->getName());
  if (isLoop)
    state.addOperands(expanded(op->getOperands(), results));
  else
    state.addOperands(on(op->getOperand(0), 0));
  auto copiesOf = [&](Value value) {
    return differences.contains(value) ? fold.each : 1;
  };
  for (Value result : results)
    state.types.append(size_t(copiesOf(result)), result.getType());
  state.addAttributes(op->getAttrs());
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  Operation *made = builder.OpBuilder::create(state);
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), made->getRegions())) {
    OpBuilder::InsertionGuard guard(builder);
    Block &block = to.emplaceBlock();
    for (BlockArgument argument : from.getArguments()) {
      SmallVector<Value> arguments;
      for (int64_t i = 0; i < copiesOf(argument); ++i)
        arguments.push_back(
            block.addArgument(argument.getType(), argument.getLoc()));
      map(argument, arguments);
    }
    builder.setInsertionPointToEnd(&block);
    write(from.front());
    Operation *end = from.front().getTerminator();
    if (isLoop && &from == &op->getRegion(0)) {
      builder.clone(*end, copies.front());
      continue;
    }
    OperationState left(end->getLoc(), end->getName());
    left.addOperands(expanded(end->getOperands(), results));
    builder.OpBuilder::create(left);
  }
  size_t at = 0;
  for (Value result : results) {
    const auto count = size_t(copiesOf(result));
    map(result, llvm::to_vector_of<Value>(made->getResults().slice(at, count)));
    at += count;
  }
}

SmallVector<Value> RankProgram::cut(Location at, Value all, int64_t dim) {
  builder.setLoc(at);
  SmallVector<Value> parts;
  const int64_t extent = shapeOf(all)[dim] / fold.each;
  for (int64_t i = 0; i < fold.each; ++i)
    parts.push_back(part(all, dim, i * extent, extent));
  return parts;
}

Value RankProgram::joined(Location at, Value value, int64_t dim) {
  builder.setLoc(at);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < fold.each; ++i)
    parts.push_back(on(value, i));
  return joined(parts, dim);
}

Value RankProgram::part(Value all, int64_t dim, int64_t begin, int64_t extent) {
  ArrayRef<int64_t> shape = shapeOf(all);
  if (extent == shape[dim])
    return all;
  SmallVector<int64_t> first(shape.size(), 0), last(shape),
      strides(shape.size(), 1);
  first[dim] = begin;
  last[dim] = begin + extent;
  return stablehlo::SliceOp::create(builder, all, first, last, strides);
}

Value RankProgram::joined(ArrayRef<Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return parts.front();
  return stablehlo::ConcatenateOp::create(builder, ValueRange(parts), dim);
}

Value RankProgram::reshaped(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  return type == value.getType()
             ? value
             : stablehlo::ReshapeOp::create(builder, type, value);
}

Value RankProgram::converted(Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType()).clone(element);
  return type == value.getType()
             ? value
             : stablehlo::ConvertOp::create(builder, type, value);
}

bool RankProgram::isMeeting(Operation *op) const {
  if (exchanges(op))
    return alongOf(op, fold) == Along::axis;
  return isControl(op) &&
         op->walk([&](Operation *inner) {
             const bool meets =
                 llvm::any_of(inner->getOperands(),
                              [&](Value value) {
                                return differences.contains(value);
                              }) ||
                 isa<stablehlo::PartitionIdOp>(inner) ||
                 (exchanges(inner) && alongOf(inner, fold) == Along::axis);
             return meets ? WalkResult::interrupt() : WalkResult::advance();
           }).wasInterrupted();
}

bool RankProgram::differs(Operation *op) const {
  return llvm::any_of(op->getResults(), [&](Value result) {
    return differences.contains(result);
  });
}
