//===- GroupGraph.cpp - Groups of operations in a topological order ------===//
//
// See GroupGraph.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/GroupGraph.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

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

SmallVector<GroupGraph::Id> GroupGraph::reachable(Id from, unsigned limit,
                                                  bool &reachesLimit) const {
  reachesLimit = false;
  Id target = byPosition[limit];
  SmallVector<Id> found, stack = {from};
  llvm::SmallDenseSet<Id, 16> seen = {from};
  while (!stack.empty()) {
    Id current = stack.pop_back_val();
    for (Operation *member : nodes[current].members) {
      for (Operation *user : member->getUsers()) {
        Operation *top = ancestor(user);
        auto entry = top ? groups.find(top) : groups.end();
        if (entry == groups.end())
          continue; // the terminator
        Id next = entry->second;
        if (next == target && current != from)
          reachesLimit = true;
        if (nodes[next].position < limit && seen.insert(next).second) {
          found.push_back(next);
          stack.push_back(next);
        }
      }
    }
  }
  return found;
}

bool GroupGraph::hasDetour(Id from, Id to) const {
  bool reachesLimit = false;
  reachable(from, nodes[to].position, reachesLimit);
  return reachesLimit;
}

GroupGraph::Id GroupGraph::merge(Id first, Id second) {
  if (!isBefore(first, second))
    std::swap(first, second);
  unsigned begin = nodes[first].position, end = nodes[second].position;
  bool reachesLimit = false;
  llvm::SmallDenseSet<Id, 16> after;
  for (Id id : reachable(first, end, reachesLimit))
    after.insert(id);
  assert(!reachesLimit && "merging would close a cycle");

  // Between the two: first what does not depend on `first`, then the merged
  // group, then what does.
  SmallVector<Id> before, later;
  for (unsigned position = begin + 1; position < end; ++position) {
    Id id = byPosition[position];
    (after.contains(id) ? later : before).push_back(id);
  }
  SmallVector<Operation *> members = unionOf(first, second);
  nodes[first].members.assign(members.begin(), members.end());
  for (Operation *op : nodes[second].members)
    groups[op] = first;
  nodes[second].members.clear();

  SmallVector<Id> region(before);
  region.push_back(first);
  region.append(later);
  std::copy(region.begin(), region.end(), byPosition.begin() + begin);
  byPosition.erase(byPosition.begin() + end);
  for (unsigned position = begin; position < byPosition.size(); ++position)
    nodes[byPosition[position]].position = position;
  return first;
}

SmallVector<Operation *> GroupGraph::unionOf(Id first, Id second) const {
  SmallVector<Operation *> members(nodes[first].members.begin(),
                                   nodes[first].members.end());
  members.append(nodes[second].members.begin(), nodes[second].members.end());
  llvm::sort(members, [&](Operation *a, Operation *b) {
    return programOrder.lookup(a) < programOrder.lookup(b);
  });
  return members;
}

SmallVector<Value> GroupGraph::resultsOf(ArrayRef<Operation *> operations) {
  llvm::SmallDenseSet<Operation *, 16> inside(operations.begin(),
                                              operations.end());
  SmallVector<Value> results;
  for (Operation *op : operations)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            for (Operation *o = user; o; o = o->getParentOp())
              if (inside.contains(o))
                return false;
            return true;
          }))
        results.push_back(result);
  return results;
}
