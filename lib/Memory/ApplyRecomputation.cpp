//===- ApplyRecomputation.cpp - A recomputation plan becomes operations ---===//
//
// The half of RecomputeModel that carries a plan back: operations in its order,
// copies where a node repeats, loops in the rows that were chosen.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/RecomputeModel.h"

#include "LoopTable.h"
#include "ReplacedState.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// Writes operations in the order of a plan, each reading what was computed
/// last of what it read in the program.
class PlanWriter {
public:
  PlanWriter(Block &block, const llvm::DenseMap<Value, Value> &aliases)
      : aliases(aliases), end(block.getTerminator()), builder(end) {
    for (Operation &op : block)
      forEachReader(&op, [&](Operation *reader) {
        operands[reader] = SmallVector<Value>(reader->getOperands());
      });
  }

  void move(Operation *op) {
    op->moveBefore(end);
    Block *block = op->getBlock();
    forEachReader(op, [&](Operation *reader) {
      for (OpOperand &operand : reader->getOpOperands())
        if (operand.get().getParentBlock() == block)
          operand.set(latest(operand.get(), op));
    });
  }

  Operation *copy(Operation *op) {
    Operation *copied = builder.clone(*op);
    SmallVector<Operation *> readers, copies;
    forEachReader(op, [&](Operation *reader) { readers.push_back(reader); });
    forEachReader(copied, [&](Operation *copy) { copies.push_back(copy); });
    for (auto [reader, copy] : llvm::zip_equal(readers, copies))
      for (auto [index, value] : llvm::enumerate(operands[reader]))
        if (value.getParentBlock() == op->getBlock())
          copy->setOperand(unsigned(index), latest(value, copied));
    copied->setAttr(step::recomputedAttrName, builder.getUnitAttr());
    for (auto [from, to] :
         llvm::zip_equal(op->getResults(), copied->getResults()))
      computed[from] = to;
    return copied;
  }

  Operation *copyPart(step::GroupOp whole, const GroupPart &part) {
    ArrayRef<Value> inputs = operands[whole];
    step::GroupOp copied = createPart(
        builder, whole, part, [&](unsigned index) { return inputs[index]; },
        [&](unsigned index) -> Value { return whole->getResult(index); });
    for (OpOperand &operand : copied->getOpOperands())
      operand.set(latest(operand.get(), copied));
    copied->setAttr(step::recomputedAttrName, builder.getUnitAttr());
    for (auto [index, result] : llvm::enumerate(part.results))
      computed[whole->getResult(result)] = copied->getResult(index);
    return copied;
  }

private:
  /// The operation and all in its regions; nothing in a group reads from
  /// outside of it.
  static void forEachReader(Operation *op,
                            llvm::function_ref<void(Operation *)> visit) {
    op->walk<WalkOrder::PreOrder>([&](Operation *reader) {
      visit(reader);
      return isa<step::GroupOp>(reader) ? WalkResult::skip()
                                        : WalkResult::advance();
    });
  }

  /// What to read instead of `value`; new names are written before `reader`.
  Value latest(Value value, Operation *reader) {
    auto alias = aliases.find(value);
    if (alias == aliases.end()) {
      auto copied = computed.find(value);
      return copied == computed.end() ? value : copied->second;
    }
    Value source = latest(alias->second, reader);
    if (source.getType() == value.getType())
      return source;
    auto &[namedSource, name] = names[value];
    if (namedSource != source) {
      namedSource = source;
      builder.setInsertionPoint(reader);
      name = stablehlo::ReshapeOp::create(builder, value.getLoc(),
                                          value.getType(), source);
      builder.setInsertionPoint(end);
    }
    return name;
  }

  const llvm::DenseMap<Value, Value> &aliases;
  Operation *end;
  OpBuilder builder;
  llvm::DenseMap<Operation *, SmallVector<Value>> operands; // in the program
  llvm::DenseMap<Value, Value>
      computed; // value of the program to its last copy
  llvm::DenseMap<Value, std::pair<Value, Value>> names; // source and name of it
};

} // namespace

/// Where a copy reads old state when the new one is there already, the new one
/// waits in a buffer of its own. It takes its place behind the last such copy,
/// not when the step returns. That is not for the results in `waiting`, which
/// the problem keeps until then: what it proves is to be true of the program.
static void replaceStateSoon(func::FuncOp main,
                             const llvm::DenseSet<unsigned> &waiting) {
  Operation *ret = main.getBody().front().getTerminator();
  for (const ReplacedState &state : replacedStates(main)) {
    if (waiting.contains(state.result))
      continue;
    Operation *last = nullptr;
    for (Operation *reader : state.readers)
      if (!last || last->isBeforeInBlock(reader))
        last = reader;
    if (last && isa<step::GroupOp>(state.writer) &&
        state.writer->isBeforeInBlock(last))
      ret->setOperand(state.result, copyBefore(last->getNextNode(),
                                               ret->getOperand(state.result)));
  }
}

void RecomputeModel::applyPlan(Block &block, ArrayRef<int32_t> order,
                               ArrayRef<int32_t> rows) {
  RecomputeModel(block, Extent::nodesOnly).apply(order, rows);
}

void RecomputeModel::apply(ArrayRef<int32_t> order, ArrayRef<int32_t> rows) {
  Builder attributes(block.getParentOp()->getContext());
  auto note = [&](Operation *op, StringRef name, int64_t value) {
    op->setAttr(name, attributes.getI64IntegerAttr(value));
  };
  for (const Node &node : nodes) {
    ArrayRef<Operation *> operations = node.operations;
    if (operations.empty())
      continue;
    // Groups carry their time; a loop's or conditional's is known here.
    if (isMain() && !isa<step::GroupOp>(operations.front()))
      note(operations.front(), step::nanosecondsAttrName,
           nanosecondsOf(operations.front()));
    if (!operations.front()->hasAttr(step::loopRowsAttrName))
      continue;
    auto loop = cast<stablehlo::WhileOp>(operations.front());
    LoopRow row = readLoopRows(loop)[rows.front()];
    if (isMain())
      note(loop, step::nanosecondsAttrName, row.nanoseconds);
    rows = rows.drop_front();
    loop->removeAttr(step::loopRowsAttrName);
    loop->removeAttr(step::loopFloorsAttrName);
    if (!row.order.empty())
      applyPlan(loop.getBody().front(), row.order, row.rows);
  }
  SmallVector<Operation *> constants, names;
  for (Operation &op : block.without_terminator()) {
    if (matchPattern(&op, m_Constant()))
      constants.push_back(&op);
    else if (op.getNumResults() > 0 && aliases.contains(op.getResult(0)))
      names.push_back(&op);
  }
  for (Operation *op : llvm::reverse(constants))
    op->moveBefore(&block, block.begin());

  PlanWriter writer(block, aliases);
  std::vector<bool> hasRun(nodes.size(), false);
  for (int32_t node : order) {
    // What holds values that leave has no operations, nor a place in `nodes` if
    // only these were formed.
    if (size_t(node) >= nodes.size())
      continue;
    const Node &entry = nodes[node];
    bool again = hasRun[node];
    hasRun[node] = true;
    // The first time, parts run in their group.
    if (entry.whole && !again)
      continue;
    // What an operation is in the problem, and what its results are there.
    auto noteNode = [&](Operation *op, ArrayRef<Value> results) {
      if (!isMain())
        return;
      note(op, step::nodeAttrName, node);
      SmallVector<int64_t> values, bytes;
      for (Value result : results) {
        auto number = numbers.find(result);
        bool isValue = number != numbers.end();
        values.push_back(isValue ? number->second : -1);
        bytes.push_back(isValue ? model.bytes(number->second) : 0);
      }
      op->setAttr(step::nodeValuesAttrName,
                  attributes.getDenseI64ArrayAttr(values));
      if (llvm::any_of(bytes, [](int64_t count) { return count > 0; }))
        op->setAttr(step::nodeBytesAttrName,
                    attributes.getDenseI64ArrayAttr(bytes));
    };
    for (Operation *op : entry.operations) {
      if (!again)
        writer.move(op);
      noteNode(again ? writer.copy(op) : op,
               SmallVector<Value>(op->getResults()));
    }
    if (entry.whole) {
      Operation *part = writer.copyPart(entry.whole, entry.part);
      note(part, step::nanosecondsAttrName, entry.nanoseconds);
      if (entry.scratchBytes)
        note(part, step::scratchBytesAttrName, entry.scratchBytes);
      noteNode(part, llvm::map_to_vector(
                         entry.part.results, [&](unsigned result) -> Value {
                           return entry.whole->getResult(result);
                         }));
    }
  }
  if (isMain())
    dropParts(block.getParentOp());
  // The program's own names, where the step's results still go by them.
  for (Operation *op : names)
    op->moveBefore(block.getTerminator());
  for (Operation *op : llvm::reverse(names))
    if (op->use_empty())
      op->erase();
  if (isMain())
    replaceStateSoon(cast<func::FuncOp>(block.getParentOp()), waiting);
}
