//===- RecomputeModel.cpp - A scheduled step as a recomputation problem --===//
//
// See RecomputeModel.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/RecomputeModel.h"

#include "InnerBytes.h"
#include "LoopTable.h"
#include "ReplacedState.h"
#include "Views.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Memory/BufferClasses.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

int64_t sumOf(ArrayRef<std::pair<Value, int64_t>> values) {
  int64_t sum = 0;
  for (auto [value, bytes] : values)
    sum += bytes;
  return sum;
}

int64_t integerAttribute(Operation *op, StringRef name, int64_t otherwise) {
  auto attribute = op->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : otherwise;
}

} // namespace

RecomputeModel::RecomputeModel(Block &block, Extent) : block(block) {
  formNodes();
}

RecomputeModel::RecomputeModel(Block &block)
    : RecomputeModel(block, Extent::nodesOnly) {
  Operation *parent = block.getParentOp();
  auto main = dyn_cast<func::FuncOp>(parent);
  buffers.emplace(main ? main : parent->getParentOfType<func::FuncOp>());
  if (!isMain())
    for (BlockArgument argument : block.getArguments())
      outside.insert(buffers->classOf(argument));
  for (; !isa<func::FuncOp>(parent); parent = parent->getParentOp())
    addClasses(*parent->getBlock(), *buffers, outside);
  addValues();
}

bool RecomputeModel::isMain() const {
  return isa<func::FuncOp>(block.getParentOp());
}

int64_t RecomputeModel::bytesInside() const {
  return innerBytes(block.getParentOp(), *buffers, outside);
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
    Operation *last = nodes[entry->second].operations.back();
    if (last->hasAttr(step::partsAttrName))
      continue;
    bool othersAreThere = llvm::all_of(group.getInputs(), [&](Value other) {
      Operation *definition = other.getDefiningOp();
      return !definition || definition == last ||
             definition->isBeforeInBlock(last);
    });
    if (!othersAreThere)
      continue;
    for (unsigned result = 0; result < group.getNumResults(); ++result)
      if (mayOverwrite(group, index, result))
        return entry->second;
  }
  return -1;
}

/// Puts constants first and views of one value right behind what they are names
/// of, so that neither says when something can run.
void RecomputeModel::hoistNames() {
  Operation *lastConstant = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (matchPattern(&op, m_Constant())) {
      if (lastConstant)
        op.moveAfter(lastConstant);
      else
        op.moveBefore(&block, block.begin());
      lastConstant = &op;
    }
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (isView(&op) && op.getNumOperands() == 1) {
      if (Operation *writer = op.getOperand(0).getDefiningOp())
        op.moveAfter(writer);
      else if (lastConstant)
        op.moveAfter(lastConstant);
      else
        op.moveBefore(&block, block.begin());
    }
}

void RecomputeModel::formNodes() {
  hoistNames();
  for (Operation &op : block.without_terminator())
    if (isView(&op))
      for (Value result : op.getResults())
        aliases[result] = viewedBy(result);
  for (Value value : block.getTerminator()->getOperands())
    leaves.insert(storageOf(value));
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (matchPattern(&op, m_Constant()) || isView(&op))
      continue;
    int32_t node = nodeToJoin(&op);
    if (node < 0) {
      node = nodes.size();
      nodes.emplace_back();
    } else {
      op.moveAfter(nodes[node].operations.back());
    }
    nodes[node].operations.push_back(&op);
    nodeOf[&op] = node;
  }
  formParts();
}

/// Puts the parts of groups behind their nodes.
void RecomputeModel::formParts() {
  std::vector<Node> formed;
  formed.swap(nodes);
  for (Node &node : formed) {
    for (Operation *op : node.operations)
      nodeOf[op] = int32_t(nodes.size());
    nodes.push_back(std::move(node));
    SmallVector<Operation *, 2> chain = nodes.back().operations;
    auto group = dyn_cast<step::GroupOp>(chain.pop_back_val());
    auto figures = group ? group->getAttrOfType<ArrayAttr>(step::partsAttrName)
                         : ArrayAttr();
    if (!figures || llvm::any_of(group.getResults(), [&](Value result) {
          return leaves.contains(result);
        }))
      continue;
    auto readsChain = [&](const GroupPart &part) {
      return llvm::any_of(part.inputs, [&](unsigned input) {
        return llvm::is_contained(chain,
                                  group.getInputs()[input].getDefiningOp());
      });
    };
    std::vector<GroupPart> parts = partsOf(group);
    // One part takes over the chain, and nobody else reads it.
    bool isOwn = llvm::all_of(chain, [&](Operation *op) {
      return llvm::all_of(op->getUsers(), [&](Operation *user) {
        return user == group || llvm::is_contained(chain, user);
      });
    });
    if (parts.size() != figures.size() || !isOwn ||
        llvm::count_if(parts, readsChain) > 1)
      continue;
    for (auto [part, figure] :
         llvm::zip_equal(parts, figures.getAsRange<DictionaryAttr>())) {
      Node &added = nodes.emplace_back();
      added.nanoseconds = figure.getAs<IntegerAttr>("nanoseconds").getInt();
      added.scratchBytes = figure.getAs<IntegerAttr>("scratch_bytes").getInt();
      if (readsChain(part))
        added.operations = chain;
      added.whole = group;
      added.part = std::move(part);
    }
  }
}

/// Whether the node has its parts behind it.
bool RecomputeModel::isDivided(int32_t node) const {
  return size_t(node) + 1 < nodes.size() && nodes[node + 1].whole &&
         !nodes[node].whole;
}

SmallVector<Value> RecomputeModel::readsOf(int32_t node) const {
  llvm::SetVector<Value> reads;
  const Node &entry = nodes[node];
  auto add = [&](Value operand) {
    Value storage = storageOf(operand);
    Operation *writer = storage.getDefiningOp();
    if (writer && nodeOf.contains(writer) &&
        !llvm::is_contained(entry.operations, writer))
      reads.insert(storage);
  };
  for (Operation *op : entry.operations)
    op->walk(
        [&](Operation *nested) { llvm::for_each(nested->getOperands(), add); });
  for (unsigned input : entry.part.inputs)
    add(entry.whole->getOperand(input));
  for (unsigned result : entry.part.earlier)
    add(entry.whole->getResult(result));
  return reads.takeVector();
}

int64_t RecomputeModel::bytesOf(Value value) const {
  BufferClasses::Id id = buffers->classOf(value);
  return (*buffers)[id].segment == step::Segment::temporaries &&
                 !outside.contains(id)
             ? placedBytes(storedBytes(value.getType()))
             : 0;
}

/// What results of the operation are written over, which the problem would
/// count twice while the operation runs: values of other nodes, and the bytes.
SmallVector<std::pair<Value, int64_t>>
RecomputeModel::overwritten(Operation *op) const {
  SmallVector<std::pair<Value, int64_t>> values;
  for (Value result : op->getResults())
    for (Value operand : op->getOperands()) {
      Value storage = storageOf(operand);
      Operation *writer = storage.getDefiningOp();
      auto entry = writer ? nodeOf.find(writer) : nodeOf.end();
      if (entry == nodeOf.end() || entry->second == nodeOf.lookup(op) ||
          buffers->classOf(operand) != buffers->classOf(result))
        continue;
      if (int64_t bytes = bytesOf(result))
        values.push_back({storage, bytes});
      break;
    }
  llvm::append_range(values, overwritable(op, op->getResults(), values));
  return values;
}

/// What the rounds of a loop or the branches of a conditional read.
llvm::DenseSet<Value> RecomputeModel::readWithin(Operation *op) const {
  llvm::DenseSet<Value> values;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        values.insert(storageOf(operand));
    });
  return values;
}

/// Whether anything behind the operation reads the value.
static bool isReadBehind(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isView(user) && user->getBlock() == op->getBlock())
      for (Value result : user->getResults())
        if (viewedBy(result) == value && isReadBehind(result, op))
          return true;
    Operation *there = op->getBlock()->findAncestorOpInBlock(*user);
    return there && op->isBeforeInBlock(there) && !isView(user);
  });
}

/// What else of its operands a group could write these results over, or a loop
/// carry on in their places, if nothing read them afterwards: a plan may drop
/// them there.
SmallVector<std::pair<Value, int64_t>>
RecomputeModel::overwritable(Operation *op, ValueRange results,
                             ArrayRef<ValueBytes> written) const {
  SmallVector<ValueBytes> values;
  auto group = dyn_cast_or_null<step::GroupOp>(op);
  if (!group && !isa_and_nonnull<stablehlo::WhileOp>(op))
    return values;
  const auto captured = group ? llvm::DenseSet<Value>() : readWithin(op);
  auto mayTake = [&](unsigned operand, unsigned result) {
    return group ? mayOverwrite(group, operand, result)
                 : operand == result &&
                       !captured.contains(storageOf(op->getOperand(operand)));
  };
  auto isTaken = [&](Value storage) {
    auto is = [&](const ValueBytes &entry) { return entry.first == storage; };
    return llvm::any_of(written, is) || llvm::any_of(values, is);
  };
  for (Value result : results) {
    const int64_t bytes = bytesOf(result);
    const BufferClasses::Id place = buffers->classOf(result);
    if (bytes == 0 || llvm::any_of(op->getOperands(), [&](Value operand) {
          return buffers->classOf(operand) == place;
        }))
      continue;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      Value storage = storageOf(operand);
      Operation *writer = storage.getDefiningOp();
      auto entry = writer ? nodeOf.find(writer) : nodeOf.end();
      // One buffer read as two operands cannot be overwritten through one.
      bool isReadOnce = llvm::count_if(op->getOperands(), [&](Value other) {
                          return storageOf(other) == storage;
                        }) == 1;
      if (entry == nodeOf.end() || entry->second == nodeOf.lookup(op) ||
          bytesOf(storage) != bytes || !isReadOnce || isTaken(storage) ||
          !isReadBehind(storage, op) ||
          !mayTake(index, cast<OpResult>(result).getResultNumber()))
        continue;
      values.push_back({storage, bytes});
      break;
    }
  }
  return values;
}

/// What a loop or conditional reads only to begin with and does not write over:
/// it copies the value, or chooses a branch by it. The value need not be there
/// while the rounds or the branch run.
SmallVector<std::pair<Value, int64_t>>
RecomputeModel::startsOf(Operation *op) const {
  SmallVector<ValueBytes> starts;
  if (!isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
    return starts;
  const llvm::DenseSet<Value> captured = readWithin(op);
  SmallVector<ValueBytes> written = overwritten(op);
  for (Value operand : op->getOperands()) {
    Value storage = storageOf(operand);
    auto is = [&](const ValueBytes &entry) { return entry.first == storage; };
    Operation *writer = storage.getDefiningOp();
    if (writer && nodeOf.contains(writer) && bytesOf(storage) > 0 &&
        !captured.contains(storage) && llvm::none_of(written, is) &&
        llvm::none_of(starts, is))
      starts.push_back({storage, bytesOf(storage)});
  }
  return starts;
}

/// What the branches of a conditional read from other nodes.
SmallVector<std::pair<Value, int64_t>>
RecomputeModel::capturedBy(int32_t node) const {
  SmallVector<ValueBytes> values;
  const llvm::DenseSet<Value> captured =
      readWithin(nodes[node].operations.front());
  for (Value value : readsOf(node))
    if (captured.contains(value) && bytesOf(value) > 0)
      values.push_back({value, bytesOf(value)});
  return values;
}

/// What the operation of a chain reads from other nodes, does not write over,
/// and leaves to nobody behind it in the chain: the next may take its place.
SmallVector<std::pair<Value, int64_t>>
RecomputeModel::lastReadBy(Operation *op, ArrayRef<Operation *> chain) const {
  SmallVector<ValueBytes> values;
  SmallVector<ValueBytes> kept = overwritten(op);
  for (Operation *later : llvm::reverse(chain)) {
    if (later == op)
      break;
    for (Value operand : later->getOperands())
      kept.push_back({storageOf(operand), 0});
  }
  for (Value operand : op->getOperands()) {
    Value storage = storageOf(operand);
    auto is = [&](const ValueBytes &entry) { return entry.first == storage; };
    Operation *writer = storage.getDefiningOp();
    if (writer && nodeOf.contains(writer) &&
        !llvm::is_contained(chain, writer) && bytesOf(storage) > 0 &&
        llvm::none_of(kept, is) && llvm::none_of(values, is))
      values.push_back({storage, bytesOf(storage)});
  }
  return values;
}

/// Time and bytes of computing a part; its values are not among them. The first
/// time its group does that, so that only what is overwritten counts.
solver::RecomputeProblem::Node RecomputeModel::partEntry(int32_t node) const {
  const Node &entry = nodes[node];
  solver::RecomputeProblem::Node result;
  result.cost = entry.nanoseconds;
  int64_t most = entry.scratchBytes ? placedBytes(entry.scratchBytes) : 0;
  for (Operation *op : entry.operations) {
    result.cost += nanosecondsOf(op);
    if (int64_t scratch = integerAttribute(op, step::scratchBytesAttrName, 0))
      most = std::max(most, placedBytes(scratch));
  }
  if (!entry.operations.empty()) {
    // An element-wise part writes over what the chain computed.
    int64_t chained = bytesOf(entry.operations.back()->getResult(0));
    bool overwrites =
        entry.part.kind == step::GroupKind::elementwise &&
        llvm::any_of(entry.part.results, [&](unsigned index) {
          return bytesOf(entry.whole->getResult(index)) == chained;
        });
    most = std::max(most, overwrites ? 0 : chained);
  }
  result.again = most;
  for (auto [value, bytes] : overwrittenByPart(node))
    result.workspace -= bytes;
  for (auto [value, bytes] : overwrittenBefore(node)) {
    result.workspace -= bytes;
    result.again += bytes;
  }
  return result;
}

/// What the part's results are written over.
SmallVector<std::pair<Value, int64_t>>
RecomputeModel::overwrittenByPart(int32_t node) const {
  SmallVector<std::pair<Value, int64_t>> values;
  const Node &entry = nodes[node];
  for (unsigned index : entry.part.results) {
    Value result = entry.whole->getResult(index);
    for (Value read : readsOf(node))
      if (buffers->classOf(read) == buffers->classOf(result) &&
          bytesOf(result)) {
        values.push_back({read, bytesOf(result)});
        break;
      }
  }
  SmallVector<Value> results;
  for (unsigned index : entry.part.results)
    results.push_back(entry.whole->getResult(index));
  for (ValueBytes &added : overwritable(entry.whole, results, values))
    if (llvm::is_contained(readsOf(node), added.first))
      values.push_back(added);
  return values;
}

/// What earlier parts' results are written over and this part is the last to
/// read: the first time, the group is done with all that at once.
SmallVector<std::pair<Value, int64_t>>
RecomputeModel::overwrittenBefore(int32_t node) const {
  SmallVector<std::pair<Value, int64_t>> values;
  auto isSibling = [&](size_t part) {
    return part < nodes.size() && nodes[part].whole == nodes[node].whole;
  };
  int64_t written = 0;
  for (unsigned index : nodes[node].part.results)
    written += bytesOf(nodes[node].whole->getResult(index));
  for (auto [value, bytes] : overwrittenByPart(node))
    written -= bytes;
  for (int32_t part = node - 1; isSibling(part); --part)
    for (auto [value, bytes] : overwrittenByPart(part)) {
      bool isLast = llvm::is_contained(readsOf(node), value);
      for (int32_t later = node + 1; isSibling(later); ++later)
        isLast &= !llvm::is_contained(readsOf(later), value);
      if (!isLast || bytes > written)
        continue;
      written -= bytes;
      values.push_back({value, bytes});
    }
  return values;
}

/// Groups compute and do nothing else. A loop or a conditional may run again as
/// a whole if it has no effect either and writes nothing that leaves the step.
/// What ranks have exchanged is kept.
bool RecomputeModel::mayRunAgain(Operation *op) const {
  if (holdsCollective(op))
    return false;
  if (isa<step::GroupOp>(op))
    return true;
  return isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op) &&
         isMemoryEffectFree(op) &&
         llvm::none_of(op->getResults(),
                       [&](Value result) { return leaves.contains(result); });
}

void RecomputeModel::addValues() {
  llvm::DenseSet<BufferClasses::Id> here = outside;
  addClasses(block, *buffers, here);
  SmallVector<std::pair<Value, int32_t>> further; // and who computes it
  SmallVector<std::tuple<Value, int32_t, int64_t>> writes; // over a value
  for (int32_t node = 0; node < int32_t(nodes.size()); ++node) {
    solver::RecomputeProblem::Node entry;
    if (nodes[node].whole) {
      entry = partEntry(node);
      for (const auto &list :
           {overwrittenByPart(node), overwrittenBefore(node)})
        for (auto [value, bytes] : list)
          writes.push_back({value, node, bytes});
      for (auto [index, number] : llvm::enumerate(nodes[node].part.results)) {
        Value value = nodes[node].whole->getResult(number);
        if (index > 0) {
          further.push_back({value, node});
          continue;
        }
        numbers[value] = node;
        entry.bytes = bytesOf(value);
      }
      model.nodes.push_back(entry);
      continue;
    }
    bool divided = isDivided(node);
    Value mainOutput;
    // Bytes beside the node's operands, as its operations run.
    int64_t live = 0, chained = 0;
    int64_t most = std::numeric_limits<int64_t>::min(), mostIfKept = most;
    SmallVector<ValueBytes> done; // what the others of a chain do not read
    for (Operation *op : nodes[node].operations) {
      bool isGroup = isa<step::GroupOp>(op);
      bool hasRows = op->hasAttr(step::loopRowsAttrName);
      entry.pinned |= !mayRunAgain(op);
      entry.cost += hasRows ? 0 : nanosecondsOf(op);
      int64_t scratch = integerAttribute(op, step::scratchBytesAttrName, 0);
      live -= chained;
      for (auto [value, bytes] : overwritten(op)) {
        live -= bytes;
        // A group with parts leaves it to them.
        if (!divided)
          writes.push_back({value, node, bytes});
      }
      chained = 0;
      for (Value result : op->getResults()) {
        live += bytesOf(result);
        // The next of a chain overwrites it.
        if (!result.use_empty() &&
            llvm::all_of(result.getUsers(), [&](Operation *user) {
              return llvm::is_contained(nodes[node].operations, user);
            })) {
          chained += bytesOf(result);
        } else if (divided) {
          continue;
        } else if (!mainOutput) {
          mainOutput = result;
          numbers[result] = node;
          entry.bytes = bytesOf(result);
        } else {
          further.push_back({result, node});
        }
      }
      const int64_t inside = isGroup ? 0 : innerBytes(op, *buffers, here);
      SmallVector<ValueBytes> begins = startsOf(op);
      const int64_t starts = sumOf(begins);
      int64_t there = live;
      if (isa<stablehlo::WhileOp>(op)) {
        there += hasRows ? 0 : std::max<int64_t>(0, inside - starts);
        for (auto [value, bytes] : begins)
          writes.push_back({value, node, std::min(bytes, inside)});
      } else if (!isGroup) {
        // A branch writes its results behind all else, and may be done by then
        // with what it captures.
        const SmallVector<ValueBytes> captured = capturedBy(node);
        SmallVector<BufferClasses::Id> ids;
        for (auto [value, bytes] : captured)
          ids.push_back(buffers->classOf(value));
        const int64_t freed =
            inside - innerBytes(op, *buffers, here, ids) + sumOf(captured);
        llvm::append_range(begins, captured);
        there = std::max<int64_t>(0, live + inside - starts - freed);
        for (auto [value, bytes] : begins)
          writes.push_back(
              {value, node, std::min(bytes, live + inside - there)});
      } else if (scratch) {
        there += placedBytes(scratch);
      }
      mostIfKept = std::max(mostIfKept, there);
      most = std::max(most, there - sumOf(done));
      llvm::append_range(done, lastReadBy(op, nodes[node].operations));
    }
    // Only for a while, and only unless somebody else reads it later.
    if (mostIfKept > most)
      for (auto [value, bytes] : done)
        writes.push_back({value, node, std::min(bytes, mostIfKept - most)});
    if (divided) {
      entry.pinned = true;
      for (size_t part = node + 1;
           part < nodes.size() &&
           nodes[part].whole == nodes[node].operations.back();
           ++part)
        entry.cost -= partEntry(int32_t(part)).cost;
    }
    // The problem adds what the node leaves behind.
    entry.workspace = most - entry.bytes;
    for (auto &[value, producer] : llvm::reverse(further)) {
      if (producer != node)
        break;
      entry.workspace -= bytesOf(value);
    }
    model.nodes.push_back(entry);
  }
  // What leaves without a place of its own stays until the step returns.
  llvm::SetVector<Value> leaving;
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    Operation *writer = storageOf(value).getDefiningOp();
    if (writer && nodeOf.contains(writer) && bytesOf(value)) {
      leaving.insert(storageOf(value));
      waiting.insert(unsigned(index));
    }
  }
  auto last = int32_t(nodes.size());
  if (!leaving.empty()) {
    nodes.emplace_back();
    model.nodes.emplace_back().pinned = true;
  }
  for (auto &[value, node] : further) {
    numbers[value] = model.valueCount();
    model.extraOutputs.push_back({node, bytesOf(value)});
  }
  addLoops();
  for (int32_t node = 0; node < int32_t(nodes.size()); ++node)
    for (Value read : readsOf(node))
      model.edges.push_back({numbers.lookup(read), node});
  for (Value value : leaving)
    model.edges.push_back({numbers.lookup(value), last});
  for (auto [value, node, bytes] : writes)
    model.overwrites.push_back({numbers.lookup(value), node, bytes});
  limitParts();
  if (isMain())
    addReplacedState();
}

/// The first time, parts run at once in their group: while one of them is at
/// work the problem has there what is there for the group, which later ones
/// read and earlier ones made, and no more than the group needs. That may write
/// results of one part over what only another reads.
void RecomputeModel::limitParts() {
  const size_t count = model.nodes.size();
  std::vector<SmallVector<int32_t>> reads(count), made(count);
  std::vector<int32_t> lastReader(model.valueCount(), -1);
  for (auto [value, node] : model.edges) {
    reads[node].push_back(value);
    lastReader[value] = std::max(lastReader[value], node);
  }
  for (int32_t value = 0; value < model.valueCount(); ++value)
    made[model.producer(value)].push_back(value);
  auto sum = [&](const auto &values) {
    int64_t bytes = 0;
    for (int32_t value : values)
      bytes += model.bytes(value);
    return bytes;
  };
  for (size_t whole = 0, end; whole < count; whole = end) {
    end = whole + 1;
    while (end < nodes.size() && nodes[end].whole)
      ++end;
    const int64_t needs =
        sum(reads[whole]) + sum(made[whole]) + model.nodes[whole].workspace;
    for (size_t part = whole + 1; part < end; ++part) {
      std::set<int32_t> there(made[part].begin(), made[part].end());
      for (size_t earlier = whole + 1; earlier < part; ++earlier)
        for (int32_t value : made[earlier])
          if (lastReader[value] >= int32_t(part))
            there.insert(value);
      for (size_t later = part; later < end; ++later)
        for (int32_t value : reads[later])
          if (model.producer(value) < int32_t(part))
            there.insert(value);
      solver::RecomputeProblem::Node &entry = model.nodes[part];
      const int64_t excess = sum(there) + entry.workspace - needs;
      if (excess <= 0)
        continue;
      entry.workspace -= excess;
      entry.again += excess;
    }
  }
}

/// The nodes whose own operations or parts read the values or names of them, in
/// order.
llvm::DenseMap<Value, SmallVector<int32_t>>
RecomputeModel::nodesThatRead(ArrayRef<Value> values) const {
  llvm::DenseMap<Value, SmallVector<int32_t>> readers;
  for (Value value : values)
    readers.try_emplace(value);
  for (int32_t node = 0; node < int32_t(nodes.size()); ++node) {
    const Node &entry = nodes[node];
    auto add = [&](Value operand) {
      auto found = readers.find(storageOf(operand));
      if (found != readers.end() &&
          (found->second.empty() || found->second.back() != node))
        found->second.push_back(node);
    };
    for (Operation *op : entry.operations)
      llvm::for_each(op->getOperands(), add);
    for (unsigned input : entry.part.inputs)
      add(entry.whole->getOperand(input));
  }
  return readers;
}

/// Whoever computes new state writes it over the old one. A node that runs
/// again after that and reads the old one makes the new one wait elsewhere.
void RecomputeModel::addReplacedState() {
  const std::vector<ReplacedState> states =
      replacedStates(cast<func::FuncOp>(block.getParentOp()));
  const auto reading = nodesThatRead(llvm::map_to_vector(
      states, [](const ReplacedState &state) { return Value(state.old); }));
  for (const ReplacedState &state : states) {
    auto writer = nodeOf.find(state.writer);
    if (writer == nodeOf.end() || !isa<step::GroupOp>(state.writer) ||
        bytesOf(block.getTerminator()->getOperand(state.result)) != 0)
      continue;
    ArrayRef<int32_t> nodesOfOld = reading.find(state.old)->second;
    llvm::SetVector<int32_t> readers;
    for (Operation *reader : state.readers) {
      auto entry = nodeOf.find(reader);
      if (entry == nodeOf.end())
        continue;
      int32_t node = entry->second;
      if (!isDivided(node)) {
        readers.insert(node);
        continue;
      }
      // Its parts are what runs again.
      Operation *whole = nodes[node].operations.back();
      for (int32_t part : nodesOfOld)
        if (part > node && nodes[part].whole == whole)
          readers.insert(part);
    }
    int32_t node = writer->second;
    if (llvm::is_contained(nodesOfOld, node))
      readers.insert(node);
    readers.remove_if([&](int32_t reader) { return reader > node; });
    if (readers.empty())
      continue;
    int64_t bytes = placedBytes(storedBytes(state.old.getType()));
    int32_t value = model.valueCount();
    model.extraOutputs.push_back({node, bytes});
    model.nodes[node].workspace -= bytes;
    // Another run of the writer has a buffer for it, too.
    model.nodes[node].again += bytes;
    model.overwrites.push_back({value, node, bytes});
    for (int32_t reader : readers)
      model.lateReads.push_back({value, reader});
  }
}

void RecomputeModel::addLoops() {
  for (auto [node, entry] : llvm::enumerate(nodes)) {
    ArrayRef<Operation *> operations = entry.operations;
    if (operations.empty() ||
        !operations.front()->hasAttr(step::loopRowsAttrName))
      continue;
    auto &loop = model.loops.emplace_back();
    loop.node = int32_t(node);
    const int64_t starts = sumOf(startsOf(operations.front()));
    auto peak = [&](int64_t inside) {
      return std::max<int64_t>(0, inside - starts);
    };
    for (const LoopRow &row : readLoopRows(operations.front()))
      loop.rows.push_back({peak(row.bytes), row.nanoseconds});
    for (const LoopFloor &floor : readLoopFloors(operations.front()))
      loop.floors.push_back({peak(floor.bytes), floor.nanoseconds});
  }
}

Value RecomputeModel::valueOf(int32_t number) const {
  for (auto [value, its] : numbers)
    if (its == number)
      return value;
  return nullptr;
}

void RecomputeModel::keepWhole(Block &block) {
  for (step::GroupOp group : block.getOps<step::GroupOp>())
    group->removeAttr(step::partsAttrName);
}

void RecomputeModel::addVariants(const HostLink &link) {
  // Smaller values are not worth a transfer; part of the bytes of all.
  constexpr int64_t negligibleShare = 1000;
  const int64_t least = std::max<int64_t>(1, valueBytes() / negligibleShare);
  // What leaves the step does so from where it was made.
  llvm::DenseSet<int32_t> leaving;
  std::vector<bool> isRead(model.valueCount(), false);
  for (const solver::RecomputeProblem::Edge &edge : model.edges) {
    isRead[edge.value] = true;
    if (nodes[edge.consumer].operations.empty())
      leaving.insert(edge.value);
  }
  std::vector<bool> isValue(model.valueCount(), false); // of the program
  for (auto [value, number] : numbers)
    isValue[number] = true;
  const int64_t start = std::llround(link.seconds * 1e9);
  for (int32_t value = 0; value < model.valueCount(); ++value) {
    const int64_t bytes = model.bytes(value);
    if (!isRead[value] || !isValue[value] || leaving.contains(value) ||
        bytes < least)
      continue;
    solver::RecomputeProblem::Variant variant;
    variant.value = value;
    variant.saveCost = variant.loadCost = start;
    variant.transfer = std::max<int64_t>(
        1, std::llround(double(bytes) / link.bytesPerSecond * 1e9));
    model.variants.push_back(variant);
  }
}

std::vector<int64_t> RecomputeModel::bytesOfNodes() const {
  std::vector<int64_t> bytes(model.nodes.size(), 0);
  for (int32_t value = 0; value < model.valueCount(); ++value)
    bytes[model.producer(value)] += model.bytes(value);
  // New state is none of the values.
  llvm::DenseSet<int32_t> waiting;
  for (auto [value, node] : model.lateReads)
    if (waiting.insert(value).second)
      bytes[model.producer(value)] -= model.bytes(value);
  return bytes;
}

int64_t RecomputeModel::valueBytes() const {
  std::vector<int64_t> each = bytesOfNodes();
  int64_t bytes = std::accumulate(each.begin(), each.end(), int64_t(0));
  for (const solver::RecomputeProblem::Loop &loop : model.loops)
    bytes += loop.rows.front().bytes;
  return bytes;
}

std::vector<RecomputeModel::Exclusion> RecomputeModel::exclusions() const {
  const std::vector<int64_t> bytes = bytesOfNodes();
  std::vector<Exclusion> excluded;
  for (auto [node, entry] : llvm::enumerate(nodes)) {
    if (!model.nodes[node].pinned || bytes[node] == 0 ||
        entry.operations.empty())
      continue;
    Operation *op = entry.operations.front();
    StringRef reason = isa<stablehlo::WhileOp>(op)
                           ? "a loop that updates state runs once"
                       : isa<stablehlo::CaseOp, stablehlo::IfOp>(op)
                           ? "a conditional that updates state runs once"
                           : "it is no group";
    excluded.push_back({op, bytes[node], reason});
  }
  return excluded;
}

int64_t RecomputeModel::pinnedBytes() const {
  int64_t bytes = 0;
  for (auto [node, size] : llvm::enumerate(bytesOfNodes()))
    bytes += model.nodes[node].pinned ? size : 0;
  return bytes;
}
