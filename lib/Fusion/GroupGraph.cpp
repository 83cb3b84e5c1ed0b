//===- GroupGraph.cpp - Groups of operations in a topological order ------===//
//
// See GroupGraph.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/GroupGraph.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Solver/DueOrder.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <iterator>
#include <limits>

using namespace mlir;
using namespace tenon::fusion;

GroupGraph::GroupGraph(Block &block) : block(block) {
  for (Operation &op : block.without_terminator()) {
    Id id = nodes.size();
    nodes.emplace_back();
    nodes.back().members.push_back(&op);
    nodes.back().position = id;
    groups[&op] = id;
    programOrder[&op] = id;
    byPosition.push_back(id);
  }
}

Operation *GroupGraph::ancestor(Operation *op) const {
  return block.findAncestorOpInBlock(*op);
}

void GroupGraph::forEachReader(Id group,
                               llvm::function_ref<void(Id)> visit) const {
  for (Operation *member : nodes[group].members)
    for (Operation *user : member->getUsers())
      if (Operation *top = ancestor(user))
        if (auto entry = groups.find(top);
            entry != groups.end() && entry->second != group)
          visit(entry->second);
}

void GroupGraph::forEachWriter(Id group,
                               llvm::function_ref<void(Id)> visit) const {
  for (Operation *member : nodes[group].members)
    member->walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        Operation *writer = operand.getDefiningOp();
        auto entry = writer ? groups.find(writer) : groups.end();
        if (entry != groups.end() && entry->second != group)
          visit(entry->second);
      }
    });
}

llvm::SmallSetVector<GroupGraph::Id, 8> GroupGraph::readersOf(Id group) const {
  llvm::SmallSetVector<Id, 8> readers;
  forEachReader(group, [&](Id reader) { readers.insert(reader); });
  // Uses are listed in the order rewrites made them, which a text does not say.
  SmallVector<Id, 8> sorted(readers.takeVector());
  llvm::sort(sorted, [&](Id a, Id b) { return isBefore(a, b); });
  return llvm::SmallSetVector<Id, 8>(sorted.begin(), sorted.end());
}

SmallVector<GroupGraph::Id> GroupGraph::executionOrder() const {
  SmallVector<Id> inOrder;
  SmallVector<unsigned> rank(nodes.size());
  for (Id group : byPosition)
    if (group != none) {
      rank[group] = inOrder.size();
      inOrder.push_back(group);
    }
  // When each group is due: with its last member, and before its readers. Those
  // stand later in the topological order, so one sweep from the end finds it.
  SmallVector<unsigned> due(nodes.size()), unfinished(nodes.size(), 0);
  std::vector<llvm::SmallSetVector<Id, 8>> readers(nodes.size());
  for (Id group : inOrder) {
    readers[group] = readersOf(group);
    for (Id reader : readers[group])
      ++unfinished[reader];
  }
  for (Id group : llvm::reverse(inOrder)) {
    unsigned last = programOrder.lookup(nodes[group].members.back());
    unsigned first = std::numeric_limits<unsigned>::max();
    for (Id reader : readers[group])
      first = std::min(first, due[reader]);
    bool readsNothing = unfinished[group] == 0 && !readers[group].empty();
    due[group] = readsNothing ? first : std::min(last, first);
  }

  solver::DueOrderProblem problem;
  llvm::DenseMap<Value, uint32_t> values;
  auto valueOf = [&](Value value) {
    auto [entry, isNew] = values.insert({value, problem.values.size()});
    if (isNew) {
      // What leaves the block lies over the state or carried value it succeeds.
      bool leaves = llvm::is_contained(value.getUsers(), block.getTerminator());
      problem.values.push_back(
          {leaves ? 0 : storedBytes(value.getType()), leaves});
    }
    return entry->second;
  };
  for (Id group : inOrder) {
    solver::DueOrderProblem::Operation operation;
    operation.due = due[group];
    for (Id reader : readers[group])
      operation.before.push_back(rank[reader]);
    for (Value result : resultsOf(nodes[group].members))
      operation.bytesNeeded += problem.values[valueOf(result)].bytes;
    llvm::SmallSetVector<uint32_t, 8> reads;
    for (Operation *member : nodes[group].members)
      member->walk([&](Operation *op) {
        for (Value operand : op->getOperands())
          if (Operation *writer = operand.getDefiningOp();
              writer && writer->getBlock() == &block &&
              groupOf(writer) != group)
            reads.insert(valueOf(operand));
      });
    operation.reads.assign(reads.begin(), reads.end());
    problem.operations.push_back(std::move(operation));
  }
  SmallVector<Id> order;
  for (uint32_t position : solver::dueOrder(problem))
    order.push_back(inOrder[position]);
  return order;
}

SmallVector<GroupGraph::Id> GroupGraph::reachable(Id from,
                                                  unsigned limit) const {
  SmallVector<Id> found, stack = {from};
  llvm::SmallDenseSet<Id, 16> seen = {from};
  while (!stack.empty())
    forEachReader(stack.pop_back_val(), [&](Id next) {
      if (nodes[next].position < limit && seen.insert(next).second) {
        found.push_back(next);
        stack.push_back(next);
      }
    });
  return found;
}

bool GroupGraph::hasDetour(Id from, Id to) const {
  // A path is looked for from both ends, always from the one where less was
  // seen: what many groups read reaches nearly all of them, and what many are
  // read by is reached from as many, but mostly one end has few.
  llvm::SmallDenseSet<Id, 16> behind, before;
  SmallVector<Id> forward = {from}, backward = {to};
  bool isFound = false;
  auto step = [&](SmallVector<Id> &stack, llvm::SmallDenseSet<Id, 16> &seen,
                  const llvm::SmallDenseSet<Id, 16> &other, Id next) {
    if (!isBefore(from, next) || !isBefore(next, to) ||
        !seen.insert(next).second)
      return;
    stack.push_back(next);
    isFound |= other.contains(next);
  };
  while (!isFound && !forward.empty() && !backward.empty())
    if (behind.size() <= before.size())
      forEachReader(forward.pop_back_val(),
                    [&](Id next) { step(forward, behind, before, next); });
    else
      forEachWriter(backward.pop_back_val(),
                    [&](Id next) { step(backward, before, behind, next); });
  return isFound;
}

bool GroupGraph::hasPath(Id from, Id to) const {
  if (!isBefore(from, to))
    return false;
  bool isDirect = false;
  forEachWriter(to, [&](Id writer) { isDirect |= writer == from; });
  return isDirect || hasDetour(from, to);
}

GroupGraph::Id GroupGraph::merge(Id first, Id second) {
  if (!isBefore(first, second))
    std::swap(first, second);
  unsigned begin = nodes[first].position, end = nodes[second].position;
  llvm::SmallDenseSet<Id, 16> after;
  for (Id id : reachable(first, end))
    after.insert(id);
  forEachWriter(second, [&](Id writer) {
    assert(!after.contains(writer) && "merging would close a cycle");
  });

  SmallVector<Operation *> members = unionOf(first, second);
  nodes[first].members.assign(members.begin(), members.end());
  for (Operation *op : nodes[second].members)
    groups[op] = first;
  nodes[second].members.clear();

  // Mostly nothing between the two depends on `first`, which then takes the
  // place of `second`.
  if (after.empty()) {
    byPosition[begin] = none;
    byPosition[end] = first;
    nodes[first].position = end;
    return first;
  }

  // Between the two: first what does not depend on `first`, then the merged
  // group, then what does.
  SmallVector<Id> before, later;
  for (unsigned position = begin + 1; position < end; ++position) {
    Id id = byPosition[position];
    if (id != none)
      (after.contains(id) ? later : before).push_back(id);
  }

  SmallVector<Id> region(before);
  region.push_back(first);
  region.append(later);
  // Positions that are left over stay empty, so that nothing behind moves.
  region.resize(end + 1 - begin, none);
  std::copy(region.begin(), region.end(), byPosition.begin() + begin);
  for (unsigned position = begin; position < end; ++position)
    if (byPosition[position] != none)
      nodes[byPosition[position]].position = position;
  return first;
}

SmallVector<Operation *> GroupGraph::unionOf(Id first, Id second) const {
  // Both are in program order already.
  ArrayRef<Operation *> a = nodes[first].members, b = nodes[second].members;
  SmallVector<Operation *> members;
  members.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(),
             std::back_inserter(members), [&](Operation *x, Operation *y) {
               return programOrder.lookup(x) < programOrder.lookup(y);
             });
  return members;
}

SmallVector<Value> GroupGraph::resultsOf(ArrayRef<Operation *> operations) {
  llvm::SmallDenseSet<Operation *, 32> inside(operations.begin(),
                                              operations.end());
  auto isOutside = [&](Operation *user) {
    // Regions may read, too.
    Block *block = operations.front()->getBlock();
    return !inside.contains(block->findAncestorOpInBlock(*user));
  };
  SmallVector<Value> results;
  for (Operation *op : operations)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), isOutside))
        results.push_back(result);
  return results;
}
