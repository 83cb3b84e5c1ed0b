//===- OrderOperations.cpp - Run updates as soon as they can -------------===//
//
// A list scheduler that keeps the program's order except for operations that
// free at least what they need; those run at once. Writers of new state wait
// for the last reader of the old one, so that the update can overwrite it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Step/Step.h"

#include "llvm/ADT/MapVector.h"

#include <set>

namespace tenon::memory {
#define GEN_PASS_DEF_ORDEROPERATIONSPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// Scalars like a learning rate or a bias correction run at once, since updates
/// wait for them.
constexpr int64_t negligibleBytes = 64;

class Scheduler {
public:
  explicit Scheduler(func::FuncOp function)
      : function(function), block(function.getBody().front()) {}

  void run() {
    collect();
    addStateEdges();
    schedule();
  }

private:
  struct Node {
    Operation *op;
    llvm::SmallVector<unsigned> readers; // nodes that wait for this one
    unsigned waitsFor = 0;
    llvm::SmallVector<Value> reads;
  };

  void collect();
  void addStateEdges();
  void addEdge(unsigned from, unsigned to) {
    nodes[from].readers.push_back(to);
    ++nodes[to].waitsFor;
  }
  bool reaches(unsigned from, unsigned to) const;
  /// Bytes the node frees less the bytes it needs, at this moment.
  int64_t gain(const Node &node) const;
  void schedule();

  func::FuncOp function;
  Block &block;
  SmallVector<Node, 0> nodes;
  llvm::DenseMap<Operation *, unsigned> indices;
  llvm::DenseMap<Value, unsigned> remainingReads;
  llvm::DenseMap<Value, SmallVector<unsigned>> readersOf;
  llvm::DenseSet<Value> inPlace; // new state that overwrites the old
};

void Scheduler::collect() {
  for (Operation &op : block.without_terminator()) {
    indices[&op] = nodes.size();
    nodes.push_back({&op, {}, 0, {}});
  }
  for (unsigned index = 0; index < nodes.size(); ++index) {
    Node &node = nodes[index];
    llvm::SetVector<Value> reads;
    node.op->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (operand.getParentBlock() == &block)
          reads.insert(operand);
    });
    node.reads.assign(reads.begin(), reads.end());
    for (Value value : reads) {
      ++remainingReads[value];
      readersOf[value].push_back(index);
      if (Operation *writer = value.getDefiningOp())
        addEdge(indices.lookup(writer), index);
    }
  }
  for (Value value : block.getTerminator()->getOperands())
    ++remainingReads[value];
}

bool Scheduler::reaches(unsigned from, unsigned to) const {
  SmallVector<unsigned> stack = {from};
  llvm::SmallDenseSet<unsigned> seen = {from};
  while (!stack.empty()) {
    unsigned current = stack.pop_back_val();
    if (current == to)
      return true;
    for (unsigned next : nodes[current].readers)
      if (seen.insert(next).second)
        stack.push_back(next);
  }
  return false;
}

void Scheduler::addStateEdges() {
  Operation *ret = block.getTerminator();
  for (BlockArgument argument : block.getArguments()) {
    auto successor = function.getArgAttrOfType<IntegerAttr>(
        argument.getArgNumber(), step::successorAttrName);
    if (!successor)
      continue;
    Value next = ret->getOperand(successor.getInt());
    Operation *writer = next.getDefiningOp();
    if (!writer)
      continue;
    unsigned writerIndex = indices.lookup(writer);
    SmallVector<unsigned> readers;
    for (unsigned index = 0; index < nodes.size(); ++index)
      if (index != writerIndex &&
          llvm::is_contained(nodes[index].reads, argument))
        readers.push_back(index);
    // A reader that needs the new state keeps both alive; nothing to gain.
    if (llvm::any_of(readers, [&](unsigned reader) {
          return reaches(writerIndex, reader);
        }))
      continue;
    for (unsigned reader : readers)
      addEdge(reader, writerIndex);
    inPlace.insert(next);
  }
}

int64_t Scheduler::gain(const Node &node) const {
  int64_t bytes = 0;
  for (Value result : node.op->getResults())
    if (!inPlace.contains(result))
      bytes -= storedBytes(result.getType());
  for (Value value : node.reads)
    if (value.getDefiningOp() && remainingReads.lookup(value) == 1)
      bytes += storedBytes(value.getType());
  return bytes;
}

void Scheduler::schedule() {
  std::set<unsigned> ready;
  SmallVector<unsigned> candidates; // ready and perhaps profitable by now
  auto makeReady = [&](unsigned index) {
    ready.insert(index);
    candidates.push_back(index);
  };
  auto run = [&](unsigned index) {
    Node &node = nodes[index];
    ready.erase(index);
    node.op->moveBefore(block.getTerminator());
    for (unsigned reader : node.readers)
      if (--nodes[reader].waitsFor == 0)
        makeReady(reader);
    // Whoever reads a value last frees it, so it may be profitable now.
    for (Value value : node.reads)
      if (--remainingReads[value] == 1)
        for (unsigned reader : readersOf.lookup(value))
          if (ready.count(reader))
            candidates.push_back(reader);
  };
  for (unsigned index = 0; index < nodes.size(); ++index)
    if (nodes[index].waitsFor == 0)
      makeReady(index);
  while (!ready.empty()) {
    if (candidates.empty()) {
      run(*ready.begin());
      continue;
    }
    unsigned candidate = candidates.pop_back_val();
    if (ready.count(candidate) && gain(nodes[candidate]) >= -negligibleBytes)
      run(candidate);
  }
}

struct OrderOperations
    : public memory::impl::OrderOperationsPassBase<OrderOperations> {
  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    Scheduler(getOperation()).run();
  }
};

} // namespace
