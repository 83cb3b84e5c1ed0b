//===- ApplyRecomputation.cpp - A recomputation plan becomes operations ---===//
//
// The half of RecomputeModel that carries a plan back: operations in its order,
// copies where a node repeats, saves and loads where values wait in the host's
// memory, loops in the rows that were chosen.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/RecomputeModel.h"

#include "LoopTable.h"
#include "PlanRecord.h"
#include "ReplacedState.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"
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

  /// Has the value, as it was computed last, copied to the host's memory.
  step::GroupOp save(int32_t variant, Value value) {
    step::GroupOp saved =
        transfer(step::GroupKind::save, value, latest(value, end));
    copies[variant] = saved->getResult(0);
    return saved;
  }

  /// Has the copy copied back; the value is read from there from now on. Null
  /// if there is no copy.
  step::GroupOp load(int32_t variant, Value value) {
    Value copy = copies.lookup(variant);
    if (!copy)
      return nullptr;
    step::GroupOp loaded = transfer(step::GroupKind::load, value, copy);
    loaded->setAttr(step::recomputedAttrName, builder.getUnitAttr());
    computed[value] = loaded->getResult(0);
    return loaded;
  }

private:
  step::GroupOp transfer(step::GroupKind kind, Value value, Value from) {
    auto result = cast<OpResult>(value);
    Location location = locationOf(result.getOwner(), result.getResultNumber());
    auto group = step::GroupOp::create(
        builder, location, TypeRange(from.getType()), ValueRange(from), kind);
    OpBuilder::InsertionGuard guard(builder);
    Block *body =
        builder.createBlock(&group.getBody(), {}, from.getType(), {location});
    step::YieldOp::create(builder, location, body->getArguments());
    return group;
  }

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
  llvm::DenseMap<int32_t, Value> copies; // by variant, in the host's memory
};

/// Puts onto a save or load how many operations its transfer runs beside: all
/// up to `last`.
void noteBeside(Operation *transfer, Operation *last) {
  int64_t count = 0;
  for (Operation *op = transfer; op != last; op = op->getNextNode())
    ++count;
  if (count > 0)
    transfer->setAttr(step::besideAttrName,
                      Builder(transfer->getContext()).getI64IntegerAttr(count));
}

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

LogicalResult RecomputeModel::applyPlan(Block &block, ArrayRef<int32_t> order,
                                        ArrayRef<int32_t> rows) {
  return RecomputeModel(block, Extent::nodesOnly).apply(order, rows);
}

LogicalResult RecomputeModel::apply(ArrayRef<int32_t> order,
                                    ArrayRef<int32_t> rows) {
  // What holds values that leave a loop's body comes behind its nodes and has
  // no operations; it is none of `nodes` if only these were formed.
  const auto nodeCount = int32_t(nodes.size());
  const int32_t operationCount =
      model.nodes.empty() ? nodeCount + 1 : model.operationCount();
  for (int32_t operation : order)
    if (operation < 0 || operation >= operationCount)
      return block.getParentOp()->emitError()
             << "the plan of recomputation runs operation " << operation
             << ", but its problem has " << operationCount;
  // The last position beside which each transfer runs.
  const std::vector<size_t> until =
      model.variants.empty() ? std::vector<size_t>()
                             : solver::transferEnds(model, rows, order);
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
    if (!row.order.empty() &&
        failed(applyPlan(loop.getBody().front(), row.order, row.rows)))
      return failure();
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
  std::vector<Operation *> written(order.size(), nullptr); // the last of each
  for (auto [position, node] : llvm::enumerate(order)) {
    if (node >= nodeCount) {
      if (model.variants.empty())
        continue;
      const int32_t variant = (node - nodeCount) / 2;
      const solver::RecomputeProblem::Variant &entry =
          model.variants[size_t(variant)];
      const bool isLoad = node == model.loadOf(size_t(variant));
      const Value value = valueOf(entry.value);
      const int32_t producer = model.producer(entry.value);
      step::GroupOp transfer = isLoad ? writer.load(variant, value)
                               : hasRun[size_t(producer)]
                                   ? writer.save(variant, value)
                                   : nullptr;
      if (!transfer)
        return block.getParentOp()->emitError()
               << "the plan of recomputation "
               << (isLoad ? "loads variant " : "saves variant ") << variant
               << " before " << (isLoad ? "its save" : "its value is computed");
      note(transfer, step::nodeAttrName, node);
      note(transfer, step::nanosecondsAttrName,
           isLoad ? entry.loadCost : entry.saveCost);
      note(transfer, step::transferNanosecondsAttrName, entry.transfer);
      const int64_t number = isLoad ? entry.value : -1;
      transfer->setAttr(step::nodeValuesAttrName,
                        attributes.getDenseI64ArrayAttr(number));
      if (isLoad)
        transfer->setAttr(
            step::nodeBytesAttrName,
            attributes.getDenseI64ArrayAttr(model.bytes(entry.value)));
      written[position] = transfer;
      continue;
    }
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
      written[position] = again ? writer.copy(op) : op;
      noteNode(written[position], SmallVector<Value>(op->getResults()));
    }
    if (entry.whole) {
      Operation *part = written[position] =
          writer.copyPart(entry.whole, entry.part);
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
  for (size_t position = 0; position < until.size(); ++position) {
    size_t last = until[position];
    if (last == position)
      continue;
    while (!written[last])
      --last;
    noteBeside(written[position], written[last]);
  }
  return success();
}
