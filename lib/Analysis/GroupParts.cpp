//===- GroupParts.cpp - Results of a group that can be computed apart ----===//
//
// See GroupParts.h. Each part is a slice of the group's body, backwards from
// its results to operands and to results of earlier parts.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/GroupParts.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/OperationClass.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;

namespace {

/// A value counts as large from this part of the group's largest result on.
constexpr int64_t largeShare = 4;

/// Operations behind some values, and where they begin.
struct Slice {
  llvm::SetVector<Operation *> operations;
  llvm::SetVector<Value> reads; // operands of the group, and where it stopped

  bool reduces() const {
    return llvm::any_of(operations, [](Operation *op) {
      return classify(op) == OperationClass::reduction;
    });
  }
};

class Division {
public:
  explicit Division(step::GroupOp group)
      : group(group), yielded(group.getBody().front().getTerminator()) {}

  std::vector<GroupPart> run();

private:
  bool isLarge(Value value) const {
    return storedBytes(value.getType()) >= threshold;
  }
  int64_t largeReads(const Slice &slice) const {
    return llvm::count_if(slice.reads, [&](Value v) { return isLarge(v); });
  }
  /// Adds what computes `value`, from results of parts before `part` on.
  void extend(Slice &slice, Value value, size_t part) const;
  Slice sliceOf(ArrayRef<Value> values, size_t part) const;
  bool fitsBeside(Value small, const Slice &slice, Value large,
                  size_t part) const;
  bool finish(size_t part, const Slice &slice);

  step::GroupOp group;
  Operation *yielded;
  int64_t threshold = 0;
  llvm::DenseMap<Value, size_t> partOf; // of results that have theirs
  llvm::DenseMap<Value, unsigned> number;
  std::vector<GroupPart> parts;
};

} // namespace

void Division::extend(Slice &slice, Value value, size_t part) const {
  SmallVector<Value> stack = {value};
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    Operation *op = next.getDefiningOp();
    auto known = partOf.find(next);
    if (!op || (known != partOf.end() && known->second < part)) {
      slice.reads.insert(next);
      continue;
    }
    if (slice.operations.insert(op))
      op->walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          if (operand.getParentBlock() == yielded->getBlock())
            stack.push_back(operand);
      });
  }
}

Slice Division::sliceOf(ArrayRef<Value> values, size_t part) const {
  Slice slice;
  for (Value value : values)
    extend(slice, value, part);
  return slice;
}

/// Whether a small result costs next to nothing where `large` is computed.
bool Division::fitsBeside(Value small, const Slice &slice, Value large,
                          size_t part) const {
  Slice own;
  SmallVector<Value> stack = {small};
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    Operation *op = next.getDefiningOp();
    auto known = partOf.find(next);
    if (next == large || (op && slice.operations.contains(op)))
      continue;
    if (!op || (known != partOf.end() && known->second < part)) {
      if (isLarge(next) && !slice.reads.contains(next))
        return false;
      continue;
    }
    // Another large result has to come first.
    if (number.contains(next) && isLarge(next))
      return false;
    if (own.operations.insert(op))
      llvm::append_range(stack, op->getOperands());
  }
  return !own.reduces() || slice.reduces();
}

bool Division::finish(size_t part, const Slice &slice) {
  GroupPart &entry = parts[part];
  llvm::sort(entry.results);
  for (Value read : slice.reads) {
    if (auto argument = dyn_cast<BlockArgument>(read))
      entry.inputs.push_back(argument.getArgNumber());
    else
      entry.earlier.push_back(number.lookup(read));
  }
  llvm::sort(entry.inputs);
  llvm::sort(entry.earlier);
  for (Operation &op : group.bodyOperations())
    if (slice.operations.contains(&op))
      entry.operations.push_back(&op);
  if (slice.reduces()) {
    entry.kind = step::GroupKind::row;
    return true;
  }
  // An element-wise kernel has one shape.
  auto shapeOf = [&](unsigned result) {
    return cast<RankedTensorType>(group.getOutputs()[result].getType())
        .getShape();
  };
  return llvm::all_of(entry.results, [&](unsigned result) {
    return shapeOf(result) == shapeOf(entry.results.front());
  });
}

std::vector<GroupPart> Division::run() {
  if (group.getNumResults() < 2 ||
      (group.getKind() != step::GroupKind::elementwise &&
       group.getKind() != step::GroupKind::row))
    return {};
  for (auto [index, value] : llvm::enumerate(yielded->getOperands())) {
    if (!value.getDefiningOp() || !number.insert({value, index}).second)
      return {};
    // What is stored in place is there once.
    if (value.getDefiningOp<stablehlo::DynamicUpdateSliceOp>())
      return {};
    threshold = std::max(threshold, storedBytes(value.getType()) / largeShare);
  }
  SmallVector<Value> large, small;
  for (Operation &op : group.bodyOperations())
    for (Value value : op.getResults())
      if (number.contains(value))
        (isLarge(value) ? large : small).push_back(value);
  if (large.size() < 2)
    return {};
  for (auto [part, value] : llvm::enumerate(large)) {
    GroupPart &entry = parts.emplace_back();
    SmallVector<Value> values = {value};
    Slice slice = sliceOf(values, part);
    // What saves no operand is better computed again than waited for.
    for (Value read : llvm::to_vector(slice.reads)) {
      auto known = partOf.find(read);
      if (known == partOf.end() || !isLarge(read))
        continue;
      size_t was = known->second;
      partOf.erase(read);
      Slice without = sliceOf(values, part);
      if (largeReads(without) < largeReads(slice) &&
          without.reduces() == slice.reduces())
        slice = std::move(without);
      else
        partOf[read] = was;
      partOf.try_emplace(read, was);
    }
    bool isLast = part + 1 == large.size();
    llvm::erase_if(small, [&](Value result) {
      if (!isLast && !fitsBeside(result, slice, value, part))
        return false;
      values.push_back(result);
      extend(slice, result, part);
      return true;
    });
    for (Value result : values) {
      partOf[result] = part;
      entry.results.push_back(number[result]);
    }
    if (!finish(part, slice))
      return {};
  }
  return parts;
}

std::vector<GroupPart> tenon::partsOf(step::GroupOp group) {
  return Division(group).run();
}

void tenon::dropParts(Operation *op) {
  op->walk([](step::GroupOp group) { group->removeAttr(step::partsAttrName); });
}

step::GroupOp tenon::createPart(OpBuilder &builder, step::GroupOp group,
                                const GroupPart &part,
                                llvm::function_ref<Value(unsigned)> input,
                                llvm::function_ref<Value(unsigned)> result) {
  Block &whole = group.getBody().front();
  Operation *yielded = whole.getTerminator();
  SmallVector<Value> operands, replaced;
  for (unsigned index : part.inputs) {
    operands.push_back(input(index));
    replaced.push_back(whole.getArgument(index));
  }
  for (unsigned index : part.earlier) {
    operands.push_back(result(index));
    replaced.push_back(yielded->getOperand(index));
  }
  SmallVector<Type> types;
  for (unsigned index : part.results)
    types.push_back(group.getOutputs()[index].getType());
  auto created = step::GroupOp::create(builder, group.getLoc(), types, operands,
                                       part.kind);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&created.getBody());
  IRMapping mapping;
  for (Value value : replaced)
    mapping.map(value, body->addArgument(value.getType(), value.getLoc()));
  for (Operation *op : part.operations)
    builder.clone(*op, mapping);
  SmallVector<Value> values;
  for (unsigned index : part.results)
    values.push_back(mapping.lookup(yielded->getOperand(index)));
  step::YieldOp::create(builder, group.getLoc(), values);
  return created;
}
