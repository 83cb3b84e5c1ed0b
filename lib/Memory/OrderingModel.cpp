//===- OrderingModel.cpp - A block's operations as an ordering problem ---===//
//
// See OrderingModel.h.
//
//===----------------------------------------------------------------------===//

#include "OrderingModel.h"

#include "InnerBytes.h"
#include "Views.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

OrderingModel::OrderingModel(Block &block, const BufferClasses &buffers)
    : block(block), buffers(buffers) {
  for (Operation &op : block.without_terminator()) {
    indices[&op] = int32_t(operations.size());
    operations.push_back(&op);
  }
  Operation *parent = block.getParentOp();
  if (!isa<func::FuncOp>(parent))
    for (BlockArgument argument : block.getArguments())
      outside.insert(buffers.classOf(argument));
  for (; !isa<func::FuncOp>(parent); parent = parent->getParentOp())
    addClasses(*parent->getBlock(), buffers, outside);
  collectReads();
  addOperations();
  addReads();
  for (Operation *op : operations) {
    if (auto group = dyn_cast<step::GroupOp>(op))
      addOverwrites(group);
    else if (isa<stablehlo::WhileOp>(op))
      addCarried(op);
  }
  keepPlaces();
}

/// The value of which this one is another name in the block.
Value OrderingModel::storageOf(Value value) const {
  while (isLocal(value) && viewedBy(value))
    value = viewedBy(value);
  return value;
}

void OrderingModel::collectReads() {
  for (Operation *op : operations) {
    llvm::SetVector<Value> &read = reads.emplace_back();
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
          read.insert(storageOf(operand));
    });
  }
}

/// What the value takes among the temporaries of the block.
int64_t OrderingModel::bytesOf(Value value) const {
  BufferClasses::Id id = buffers.classOf(value);
  const BufferClass &buffer = buffers[id];
  if (viewedBy(value) || outside.contains(id) ||
      buffer.segment != step::Segment::temporaries)
    return 0;
  return placedBytes(buffer.bytes);
}

void OrderingModel::addOperations() {
  llvm::DenseSet<BufferClasses::Id> here = outside;
  addClasses(block, buffers, here);
  for (Operation *op : operations) {
    solver::OrderingProblem::Operation operation;
    if (op->getNumResults()) {
      operation.bytes = bytesOf(op->getResult(0));
      values[op->getResult(0)] = int32_t(model.operations.size());
    }
    if (auto bytes = op->getAttrOfType<IntegerAttr>(step::scratchBytesAttrName))
      operation.workspace =
          bytes.getInt() > 0 ? placedBytes(bytes.getInt()) : 0;
    else if (op->getNumRegions() && !isa<step::GroupOp>(op))
      operation.workspace = innerBytes(op, buffers, here);
    model.operations.push_back(operation);
  }
  for (auto [index, op] : llvm::enumerate(operations))
    for (Value result : llvm::drop_begin(
             op->getResults(), std::min<size_t>(1, op->getNumResults()))) {
      values[result] = model.valueCount();
      model.extraResults.push_back({int32_t(index), bytesOf(result)});
    }
}

void OrderingModel::addReads() {
  for (auto [index, op] : llvm::enumerate(operations)) {
    for (Value value : reads[index])
      if (isLocal(value))
        model.uses.push_back({values.lookup(value), int32_t(index)});
    // A name has to be there before those that use it.
    if (isView(op))
      for (Operation *user : op->getUsers())
        if (Operation *reader = block.findAncestorOpInBlock(*user);
            reader && reader != block.getTerminator())
          model.controls.push_back({int32_t(index), indices.lookup(reader)});
  }
  llvm::SmallDenseSet<Value> kept;
  for (Value operand : block.getTerminator()->getOperands())
    if (Value value = storageOf(operand);
        isLocal(value) && bytesOf(value) > 0 && kept.insert(value).second)
      model.kept.push_back(values.lookup(value));
}

void OrderingModel::addOverwrites(step::GroupOp group) {
  auto mayTake = [&](unsigned index) {
    Value value = storageOf(group.getInputs()[index]);
    // One buffer read as two operands cannot be overwritten through one.
    return isLocal(value) && bytesOf(value) > 0 &&
           llvm::count_if(group.getInputs(), [&](Value other) {
             return storageOf(other) == value;
           }) == 1;
  };
  llvm::SmallDenseSet<unsigned> taken;
  for (auto [result, output] : llvm::enumerate(group.getOutputs())) {
    if (bytesOf(output) == 0)
      continue;
    std::optional<unsigned> best;
    for (unsigned operand = 0; operand < group.getInputs().size(); ++operand) {
      if (taken.contains(operand) || !mayTake(operand) ||
          !mayOverwrite(group, operand, result))
        continue;
      // What is overwritten in the given order comes first.
      bool isShared = buffers.classOf(group.getInputs()[operand]) ==
                      buffers.classOf(output);
      if (!best || isShared)
        best = operand;
      if (isShared)
        break;
    }
    if (!best)
      continue;
    taken.insert(*best);
    model.inPlace.push_back({indices.lookup(group),
                             values.lookup(storageOf(group.getInputs()[*best])),
                             values.lookup(output)});
  }
}

/// What a loop starts with may lie where it carries it.
void OrderingModel::addCarried(Operation *loop) {
  llvm::SmallDenseSet<Value> taken;
  for (auto [start, result] :
       llvm::zip_equal(loop->getOperands(), loop->getResults())) {
    Value value = storageOf(start);
    if (isLocal(value) && bytesOf(value) > 0 && bytesOf(result) > 0 &&
        buffers.classOf(value) == buffers.classOf(result) &&
        taken.insert(value).second)
      model.inPlace.push_back(
          {indices.lookup(loop), values.lookup(value), values.lookup(result)});
  }
}

/// Values that share a place outside of the block's temporaries keep following
/// one another there: all readers of one run before the next is written.
void OrderingModel::keepPlaces() {
  struct Member {
    int32_t writer; // -1 where it is there before the block runs
    Value value;
  };
  llvm::MapVector<BufferClasses::Id, SmallVector<Member>> places;
  llvm::DenseMap<Value, SmallVector<int32_t>> readers;
  for (auto [index, read] : llvm::enumerate(reads))
    for (Value value : read) {
      SmallVector<int32_t> &list = readers[value];
      if (list.empty() && !isLocal(value))
        places[buffers.classOf(value)].push_back({-1, value});
      list.push_back(int32_t(index));
    }
  for (auto [index, op] : llvm::enumerate(operations))
    for (Value result : op->getResults())
      if (!isView(op) && bytesOf(result) == 0)
        places[buffers.classOf(result)].push_back({int32_t(index), result});
  auto before = [&](int32_t first, int32_t second) {
    if (first >= 0 && first < second)
      model.controls.push_back({first, second});
  };
  // Those that are there before come first; the others in the given order.
  for (auto &[id, members] : places)
    for (size_t i = 1; i < members.size(); ++i) {
      const int32_t writer = members[i].writer;
      if (writer < 0)
        continue;
      for (size_t j = i; j-- > 0;) {
        before(members[j].writer, writer);
        for (int32_t reader : readers.lookup(members[j].value))
          before(reader, writer);
        if (members[j].writer >= 0)
          break; // what lies under that one was settled for it
      }
    }
}

void OrderingModel::apply(ArrayRef<int32_t> order) {
  for (int32_t index : order)
    operations[index]->moveBefore(block.getTerminator());
}

void OrderingModel::restore() {
  for (Operation *op : operations)
    op->moveBefore(block.getTerminator());
}
