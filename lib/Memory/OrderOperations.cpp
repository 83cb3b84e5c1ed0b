//===- OrderOperations.cpp - Run updates as soon as they can -------------===//
//
// Keeps the program's order except for operations that free at least what they
// need; those run at once (Solver/DueOrder.h). Writers of new state wait for
// the last reader of the old one, so that the update can overwrite it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "ReplacedState.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Solver/DueOrder.h"

#include "llvm/ADT/SetVector.h"

namespace tenon::memory {
#define GEN_PASS_DEF_ORDEROPERATIONSPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// The operations of @main as an ordering problem: each is due where it stands.
class ProgramOrder {
public:
  explicit ProgramOrder(func::FuncOp function)
      : function(function), block(function.getBody().front()) {}

  void run() {
    collect();
    overwriteState();
    for (uint32_t index : solver::dueOrder(problem))
      operations[index]->moveBefore(block.getTerminator());
  }

private:
  void collect();
  /// Lets what computes new state wait for the last reader of the old one, so
  /// that it needs no memory of its own.
  void overwriteState();
  bool reaches(uint32_t from, uint32_t to) const;
  uint32_t numberOf(Value value);

  func::FuncOp function;
  Block &block;
  solver::DueOrderProblem problem;
  SmallVector<Operation *> operations;
  llvm::DenseMap<Operation *, uint32_t> indices;
  llvm::DenseMap<Value, uint32_t> values; // of the block
};

uint32_t ProgramOrder::numberOf(Value value) {
  auto [entry, isNew] = values.insert({value, problem.values.size()});
  if (isNew) {
    bool stays = isa<BlockArgument>(value) ||
                 llvm::is_contained(value.getUsers(), block.getTerminator());
    problem.values.push_back({storedBytes(value.getType()), stays});
  }
  return entry->second;
}

void ProgramOrder::collect() {
  for (Operation &op : block.without_terminator()) {
    uint32_t index = operations.size();
    indices[&op] = index;
    operations.push_back(&op);
    solver::DueOrderProblem::Operation operation;
    operation.due = index;
    for (Value result : op.getResults())
      operation.bytesNeeded += problem.values[numberOf(result)].bytes;
    llvm::SetVector<uint32_t> reads;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (operand.getParentBlock() == &block &&
            reads.insert(numberOf(operand)))
          if (Operation *writer = operand.getDefiningOp())
            problem.operations[indices.lookup(writer)].before.push_back(index);
    });
    operation.reads.assign(reads.begin(), reads.end());
    problem.operations.push_back(std::move(operation));
  }
}

bool ProgramOrder::reaches(uint32_t from, uint32_t to) const {
  SmallVector<uint32_t> stack = {from};
  llvm::SmallDenseSet<uint32_t> seen = {from};
  while (!stack.empty()) {
    uint32_t current = stack.pop_back_val();
    if (current == to)
      return true;
    for (uint32_t next : problem.operations[current].before)
      if (seen.insert(next).second)
        stack.push_back(next);
  }
  return false;
}

void ProgramOrder::overwriteState() {
  for (const ReplacedState &state : replacedStates(function)) {
    uint32_t writer = indices.lookup(state.writer);
    // A reader that needs the new state keeps both alive; nothing to gain.
    if (llvm::any_of(state.readers, [&](Operation *reader) {
          return reaches(writer, indices.lookup(reader));
        }))
      continue;
    for (Operation *reader : state.readers)
      problem.operations[indices.lookup(reader)].before.push_back(writer);
    problem.operations[writer].bytesNeeded -= storedBytes(state.old.getType());
  }
}

struct OrderOperations
    : public memory::impl::OrderOperationsPassBase<OrderOperations> {
  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    ProgramOrder(getOperation()).run();
  }
};

} // namespace
