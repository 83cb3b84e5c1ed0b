//===- RecomputationCut.cpp - Which values to keep, which to make again --===//
//
// See RecomputationCut.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/RecomputationCut.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Solver/MinimumCut.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tenon;

namespace {

/// What prices count in.
constexpr int64_t unitsPerByte = 16;

/// Computing one element again, in those units. A division or a transcendental
/// function is worth a quarter of the f32 it makes.
constexpr int64_t cheapElement = 1, expensiveElement = 16, movedElement = 8;

/// Values of less than this part of what is kept, such as scalars and the
/// statistics of rows, are kept in any case: recomputing them takes a kernel.
constexpr int64_t negligibleShare = 1000;

/// Less than this part of what is kept is not worth a change.
constexpr int64_t leastShare = 50;

class RecomputationCut {
public:
  explicit RecomputationCut(const fusion::RecomputationScope &scope)
      : scope(scope) {}

  std::optional<fusion::RecomputationChoice> choose(ArrayRef<Value> wanted);

private:
  struct Nodes {
    solver::CutGraph::Node computed, available;
  };

  Nodes nodesOf(Value root);

  const fusion::RecomputationScope &scope;
  int64_t negligibleBytes = 0;
  solver::CutGraph network;
  llvm::MapVector<Value, Nodes> nodes;
};

/// Adds a value and, if it may be computed again, what that needs.
RecomputationCut::Nodes RecomputationCut::nodesOf(Value root) {
  SmallVector<Value> stack;
  auto add = [&](Value value) -> Nodes {
    auto [entry, isNew] = nodes.insert({value, Nodes{}});
    if (isNew) {
      entry->second = {network.addNode(), network.addNode()};
      int64_t bytes = scope.bytesOf(value);
      bool free = scope.isThereAnyway(value) || bytes <= negligibleBytes;
      network.addEdge(entry->second.computed, entry->second.available,
                      free ? 0 : bytes * unitsPerByte);
      stack.push_back(value);
    }
    return entry->second;
  };
  Nodes result = add(root);
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Nodes current = nodes.find(value)->second;
    Operation *op = value.getDefiningOp();
    std::optional<int64_t> price;
    if (op && scope.isInside(value))
      price = scope.priceOf(op);
    network.addEdge(network.source(), current.computed,
                    price ? *price : solver::CutGraph::unlimited);
    if (price)
      for (Value operand : op->getOperands())
        network.addEdge(add(operand).available, current.computed,
                        solver::CutGraph::unlimited);
  }
  return result;
}

std::optional<fusion::RecomputationChoice>
RecomputationCut::choose(ArrayRef<Value> wanted) {
  // What is kept now: reshapes share their operand's bytes.
  llvm::DenseSet<Value> stored;
  int64_t before = 0;
  for (Value value : wanted)
    if (stored.insert(fusion::storageOf(value)).second)
      before += storedBytes(value.getType());
  negligibleBytes = before / negligibleShare;
  for (Value value : wanted)
    network.addEdge(nodesOf(value).available, network.sink(),
                    solver::CutGraph::unlimited);
  solver::CutGraph::Cut cut = network.minimumCut();

  fusion::RecomputationChoice choice;
  stored.clear();
  int64_t after = 0;
  for (auto &[value, node] : nodes) {
    if (!cut.sinkSide[node.available])
      continue;
    if (cut.sinkSide[node.computed])
      choice.copied.insert(value);
    else if (scope.isInside(value) && !scope.isThereAnyway(value) &&
             stored.insert(fusion::storageOf(value)).second)
      after += storedBytes(value.getType());
  }
  choice.saved = before - after;
  choice.kept = after;
  if (choice.copied.empty() || choice.saved * leastShare < before)
    return std::nullopt;
  return choice;
}

} // namespace

std::optional<fusion::RecomputationChoice>
fusion::chooseRecomputation(ArrayRef<Value> wanted,
                            const RecomputationScope &scope) {
  return RecomputationCut(scope).choose(wanted);
}

Value fusion::storageOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (classify(op) != OperationClass::view)
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::optional<int64_t> fusion::recomputePrice(Operation *op) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  int64_t elements =
      cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
  if (isFreeToClone(op))
    return 0;
  switch (classify(op)) {
  case OperationClass::pointwise:
    return elements * (isExpensive(op) ? expensiveElement : cheapElement);
  case OperationClass::indexMap:
    return elements * movedElement;
  case OperationClass::view:
    return 0;
  case OperationClass::reduction:
  case OperationClass::generic:
  case OperationClass::ungrouped:
    return std::nullopt;
  }
  return std::nullopt;
}
