//===- RecomputeModel.cpp - A scheduled step as a recomputation problem --===//
//
// See RecomputeModel.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/RecomputeModel.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Memory/BufferClasses.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

bool isAlias(Operation *op) {
  return isa<stablehlo::ReshapeOp, stablehlo::OptimizationBarrierOp>(op);
}

int64_t integerAttribute(Operation *op, StringRef name, int64_t otherwise) {
  auto attribute = op->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : otherwise;
}

/// The most bytes that values of a loop's or branch's regions need at once
/// besides the values outside.
int64_t bodyBytes(Operation *op) {
  int64_t most = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      llvm::DenseMap<Operation *, int64_t> positions;
      for (Operation &nested : block)
        positions[&nested] = positions.size();
      std::vector<int64_t> change(positions.size() + 2, 0);
      std::vector<int64_t> workspace(positions.size() + 1, 0);
      for (Operation &nested : block) {
        int64_t begin = positions[&nested];
        if (!isa<step::GroupOp>(nested))
          workspace[begin] = bodyBytes(&nested);
        else
          workspace[begin] =
              integerAttribute(&nested, step::scratchBytesAttrName, 0);
        if (isAlias(&nested) || matchPattern(&nested, m_Constant()))
          continue;
        for (Value result : nested.getResults()) {
          int64_t end = begin;
          for (Operation *user : result.getUsers())
            if (Operation *top = block.findAncestorOpInBlock(*user))
              end = std::max(end, positions.lookup(top));
          change[begin] += storedBytes(result.getType());
          change[end + 1] -= storedBytes(result.getType());
        }
      }
      int64_t live = 0;
      for (size_t position = 0; position < workspace.size(); ++position) {
        live += change[position];
        most = std::max(most, live + workspace[position]);
      }
    }
  return most;
}

} // namespace

RecomputeModel::RecomputeModel(func::FuncOp main)
    : main(main), block(main.getBody().front()) {
  formNodes();
  addValues();
}

Value RecomputeModel::storageOf(Value value) const {
  for (auto entry = aliases.find(value); entry != aliases.end();
       entry = aliases.find(value))
    value = entry->second;
  return value;
}

/// The node whose result the group overwrites, if the two may run as one: the
/// group is the only reader, and all else it reads is there before that node.
int32_t RecomputeModel::nodeToJoin(Operation *op) const {
  auto group = dyn_cast<step::GroupOp>(op);
  // New state waits for the readers of the old one.
  if (!group || llvm::any_of(group.getResults(), [&](Value result) {
        return leaves.contains(result);
      }))
    return -1;
  for (auto [index, input] : llvm::enumerate(group.getInputs())) {
    Operation *writer = input.getDefiningOp();
    auto entry = writer ? nodeOf.find(writer) : nodeOf.end();
    if (entry == nodeOf.end() || !isa<step::GroupOp>(writer) ||
        !input.hasOneUse())
      continue;
    int32_t node = entry->second;
    bool othersAreThere = llvm::all_of(group.getInputs(), [&](Value other) {
      Operation *otherWriter = storageOf(other).getDefiningOp();
      auto found = otherWriter ? nodeOf.find(otherWriter) : nodeOf.end();
      return found == nodeOf.end() || found->second <= node;
    });
    if (!othersAreThere)
      continue;
    for (unsigned result = 0; result < group.getNumResults(); ++result)
      if (mayOverwrite(group, index, result))
        return node;
  }
  return -1;
}

void RecomputeModel::formNodes() {
  for (Operation &op : block.without_terminator())
    if (isAlias(&op))
      for (auto [operand, result] :
           llvm::zip_equal(op.getOperands(), op.getResults()))
        aliases[result] = operand;
  for (Value value : block.getTerminator()->getOperands())
    leaves.insert(storageOf(value));
  for (Operation &op : block.without_terminator()) {
    if (matchPattern(&op, m_Constant()) || isAlias(&op))
      continue;
    int32_t node = nodeToJoin(&op);
    if (node < 0) {
      node = nodes.size();
      nodes.emplace_back();
    }
    nodes[node].push_back(&op);
    nodeOf[&op] = node;
  }
}

SmallVector<Value> RecomputeModel::readsOf(int32_t node) const {
  llvm::SetVector<Value> reads;
  for (Operation *op : nodes[node])
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        Value storage = storageOf(operand);
        Operation *writer = storage.getDefiningOp();
        auto entry = writer ? nodeOf.find(writer) : nodeOf.end();
        if (entry != nodeOf.end() && entry->second != node)
          reads.insert(storage);
      }
    });
  return reads.takeVector();
}

void RecomputeModel::addValues() {
  llvm::DenseMap<Value, int32_t> numbers;
  SmallVector<std::pair<Value, int32_t>> further; // and who computes it
  for (int32_t node = 0; node < int32_t(nodes.size()); ++node) {
    solver::RecomputeProblem::Node entry;
    Value mainOutput;
    for (Operation *op : nodes[node]) {
      bool isGroup = isa<step::GroupOp>(op);
      entry.pinned |= !isGroup;
      entry.cost += std::max<int64_t>(
          1, integerAttribute(op, step::nanosecondsAttrName, 1));
      entry.workspace =
          std::max(entry.workspace,
                   isGroup ? integerAttribute(op, step::scratchBytesAttrName, 0)
                           : bodyBytes(op));
      for (Value result : op->getResults()) {
        // The next of a chain overwrites it.
        if (!result.use_empty() &&
            llvm::all_of(result.getUsers(), [&](Operation *user) {
              return llvm::is_contained(nodes[node], user);
            }))
          continue;
        if (!mainOutput) {
          mainOutput = result;
          numbers[result] = node;
          entry.bytes =
              leaves.contains(result) ? 0 : storedBytes(result.getType());
        } else {
          further.push_back({result, node});
        }
      }
    }
    model.nodes.push_back(entry);
  }
  for (auto &[value, node] : further) {
    numbers[value] = model.valueCount();
    model.extraOutputs.push_back(
        {node, leaves.contains(value) ? 0 : storedBytes(value.getType())});
  }
  for (int32_t node = 0; node < int32_t(nodes.size()); ++node)
    for (Value read : readsOf(node))
      model.edges.push_back({numbers.lookup(read), node});
}

int64_t RecomputeModel::pinnedBytes() const {
  int64_t bytes = 0;
  for (int32_t value = 0; value < model.valueCount(); ++value)
    if (model.nodes[model.producer(value)].pinned)
      bytes += model.bytes(value);
  return bytes;
}

namespace {

/// Writes operations in the order of a plan, each reading what was computed
/// last of what it read in the program.
class PlanWriter {
public:
  PlanWriter(Block &block, const llvm::DenseMap<Value, Value> &aliases)
      : aliases(aliases), end(block.getTerminator()), builder(end) {
    for (Operation &op : block)
      operands[&op] = SmallVector<Value>(op.getOperands());
  }

  void move(Operation *op) {
    op->moveBefore(end);
    Block *block = op->getBlock();
    op->walk([&](Operation *nested) {
      for (OpOperand &operand : nested->getOpOperands())
        if (operand.get().getParentBlock() == block)
          operand.set(latest(operand.get(), op));
    });
  }

  void copy(Operation *op) {
    Operation *copied = builder.clone(*op);
    copied->setOperands(llvm::map_to_vector(
        operands[op], [&](Value value) { return latest(value, copied); }));
    copied->setAttr(step::recomputedAttrName, builder.getUnitAttr());
    for (auto [from, to] :
         llvm::zip_equal(op->getResults(), copied->getResults()))
      computed[from] = to;
  }

private:
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

void RecomputeModel::apply(ArrayRef<int32_t> order) {
  SmallVector<Operation *> constants, names;
  for (Operation &op : block.without_terminator()) {
    if (matchPattern(&op, m_Constant()))
      constants.push_back(&op);
    else if (isAlias(&op))
      names.push_back(&op);
  }
  for (Operation *op : llvm::reverse(constants))
    op->moveBefore(&block, block.begin());

  PlanWriter writer(block, aliases);
  std::vector<bool> hasRun(nodes.size(), false);
  Builder attributes(main.getContext());
  for (int32_t node : order) {
    for (Operation *op : nodes[node]) {
      op->setAttr(step::nodeAttrName, attributes.getI64IntegerAttr(node));
      if (hasRun[node])
        writer.copy(op);
      else
        writer.move(op);
    }
    hasRun[node] = true;
  }
  // The program's own names, where the step's results still go by them.
  for (Operation *op : names)
    op->moveBefore(block.getTerminator());
  for (Operation *op : llvm::reverse(names))
    if (op->use_empty())
      op->erase();
}
