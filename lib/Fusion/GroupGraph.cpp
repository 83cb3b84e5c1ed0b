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
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

using namespace mlir;
using namespace tenon::fusion;

GroupGraph::GroupGraph(Block &block) : block(block) {
  for (Operation &op : block.without_terminator()) {
    const unsigned number = vertices.size();
    numbers[&op] = number;
    vertices.emplace_back();
    vertices.back().op = &op;
    vertices.back().group = number;
    nodes.emplace_back();
    nodes.back().members.push_back(&op);
    nodes.back().numbers.push_back(number);
    nodes.back().position = number;
    byPosition.push_back(number);
  }
  marks.resize(nodes.size(), 0);
  for (unsigned number = 0; number < vertices.size(); ++number)
    findReaders(number);
}

void GroupGraph::findReaders(unsigned number) {
  const unsigned mark = ++lastMark;
  for (Operation *user : vertices[number].op->getUsers()) {
    std::optional<unsigned> reader = numberOf(user);
    if (!reader) {
      vertices[number].leavesBlock = true;
      continue;
    }
    if (std::exchange(marks[*reader], mark) == mark)
      continue;
    vertices[number].readers.push_back(*reader);
    vertices[*reader].writers.push_back(number);
  }
}

std::optional<unsigned> GroupGraph::numberOf(Operation *op) const {
  auto entry = numbers.find(block.findAncestorOpInBlock(*op));
  return entry == numbers.end() ? std::nullopt : std::optional(entry->second);
}

void GroupGraph::forEachReader(Id group,
                               llvm::function_ref<void(Id)> visit) const {
  for (unsigned member : nodes[group].numbers)
    for (unsigned reader : vertices[member].readers)
      if (vertices[reader].group != group)
        visit(vertices[reader].group);
}

void GroupGraph::forEachWriter(Id group,
                               llvm::function_ref<void(Id)> visit) const {
  for (unsigned member : nodes[group].numbers)
    for (unsigned writer : vertices[member].writers)
      if (vertices[writer].group != group)
        visit(vertices[writer].group);
}

llvm::SmallSetVector<GroupGraph::Id, 8>
GroupGraph::readersOfGroup(Id group) const {
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
    readers[group] = readersOfGroup(group);
    for (Id reader : readers[group])
      ++unfinished[reader];
  }
  for (Id group : llvm::reverse(inOrder)) {
    unsigned last = nodes[group].numbers.back();
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
  const unsigned mark = ++lastMark;
  marks[from] = mark;
  while (!stack.empty())
    forEachReader(stack.pop_back_val(), [&](Id next) {
      if (nodes[next].position < limit &&
          std::exchange(marks[next], mark) != mark) {
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
  struct End {
    unsigned mark;
    SmallVector<Id> stack;
    size_t seen = 0;
  };
  End behind{++lastMark, {from}}, before{++lastMark, {to}};
  bool isFound = false;
  auto step = [&](End &end, const End &other, Id next) {
    if (!isBefore(from, next) || !isBefore(next, to) || marks[next] == end.mark)
      return;
    isFound |= marks[next] == other.mark;
    marks[next] = end.mark;
    end.stack.push_back(next);
    ++end.seen;
  };
  while (!isFound && !behind.stack.empty() && !before.stack.empty())
    if (behind.seen <= before.seen)
      forEachReader(behind.stack.pop_back_val(),
                    [&](Id next) { step(behind, before, next); });
    else
      forEachWriter(before.stack.pop_back_val(),
                    [&](Id next) { step(before, behind, next); });
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
  SmallVector<Id> after = reachable(first, end);
  const unsigned isAfter = lastMark;
  forEachWriter(second, [&](Id writer) {
    assert((writer == first || marks[writer] != isAfter) &&
           "merging would close a cycle");
  });

  nodes[first].numbers = unionOf(first, second);
  nodes[first].members = operations(nodes[first].numbers);
  for (unsigned number : nodes[second].numbers)
    vertices[number].group = first;
  nodes[second].members.clear();
  nodes[second].numbers.clear();

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
      (marks[id] == isAfter ? later : before).push_back(id);
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

SmallVector<unsigned> GroupGraph::unionOf(Id first, Id second) const {
  ArrayRef<unsigned> a = nodes[first].numbers, b = nodes[second].numbers;
  SmallVector<unsigned> all(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), all.begin());
  return all;
}

SmallVector<Operation *>
GroupGraph::operations(ArrayRef<unsigned> numbers) const {
  return llvm::map_to_vector(
      numbers, [&](unsigned number) { return vertices[number].op; });
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
