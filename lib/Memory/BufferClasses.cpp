//===- BufferClasses.cpp - Which values share a buffer, and when they live ===//
//
// See BufferClasses.h. collect() computes intervals, coalesce() merges classes
// in the order of what a merge saves: state updated in place, carried values of
// loops, then operands that groups may overwrite.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/BufferClasses.h"

#include "Views.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/InPlace.h"
#include "tenon/Analysis/KernelDescription.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Analysis/SummingKernel.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"

#include "mlir/IR/Matchers.h"

#include <algorithm>

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

bool memory::isCopy(step::GroupOp group) {
  Block &body = group.getBody().front();
  return llvm::hasSingleElement(body) && body.getNumArguments() == 1 &&
         !group.isTransfer();
}

Operation *memory::lastBeside(step::GroupOp group) {
  auto beside = group->getAttrOfType<IntegerAttr>(step::besideAttrName);
  Operation *last = group;
  for (int64_t left = beside ? beside.getInt() : 0;
       left > 0 && !last->getNextNode()->hasTrait<OpTrait::IsTerminator>();
       --left)
    last = last->getNextNode();
  return last;
}

/// Whether a library adds the product to the operand, where nothing else reads
/// the bytes of it.
static bool addsInPlace(step::GroupOp group, unsigned operand) {
  auto call = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  auto addend = call ? call.getAs<StringAttr>("addend") : StringAttr();
  const StringRef apart = name(libraries::Addend::operand);
  // Behind the two factors.
  return addend && addend == apart && operand == 2 &&
         llvm::count_if(group.getInputs(), [&](Value input) {
           return storageOf(input) == storageOf(group.getInputs()[operand]);
         }) == 1;
}

bool memory::mayOverwrite(step::GroupOp group, unsigned operand,
                          unsigned result) {
  auto from = cast<RankedTensorType>(group.getInputs()[operand].getType());
  auto to = cast<RankedTensorType>(group.getOutputs()[result].getType());
  if (storedBytes(from) != storedBytes(to))
    return false;
  Block &body = group.getBody().front();
  BlockArgument argument = body.getArgument(operand);
  if (isCopy(group))
    return true;
  const step::GroupKind kind = group.getKind();
  Operation *op = body.getTerminator()->getOperand(result).getDefiningOp();
  const bool inRows = kind == step::GroupKind::row;
  if (kind == step::GroupKind::elementwise)
    if (auto update = dyn_cast_or_null<stablehlo::DynamicUpdateSliceOp>(op))
      return update.getOperand() == argument && isReadOnlyWhereUpdated(update);
  // A column kernel reads what it updates per column only after its reduction.
  if (inRows || kind == step::GroupKind::elementwise ||
      kind == step::GroupKind::column)
    return from.getShape() == to.getShape() &&
           from.getElementTypeBitWidth() == to.getElementTypeBitWidth() &&
           isReadOnlyWhereWritten(argument, inRows) &&
           (!inRows || KernelDescription(body).mayReplace(argument, result));
  if (kind == step::GroupKind::library)
    return addsInPlace(group, operand);
  if (kind != step::GroupKind::generic)
    return false;
  // Elements or rows beside which something is summed.
  if (auto summing = SummingKernel::of(KernelDescription(body)))
    return from.getShape() == to.getShape() &&
           from.getElementTypeBitWidth() == to.getElementTypeBitWidth() &&
           isReadOnlyWhereWritten(argument, /*inRows=*/true) &&
           summing->mayReplace(argument,
                               body.getTerminator()->getOperand(result));
  // Updates of a part of their first operand.
  if (!argument.hasOneUse() || *argument.getUsers().begin() != op)
    return false;
  if (isa<stablehlo::DynamicUpdateSliceOp>(op))
    return op->getOperand(0) == argument;
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
    return scatter.getInputs().size() == 1 &&
           scatter.getInputs().front() == argument;
  return false;
}

bool KnownOverwrites::mayOverwrite(step::GroupOp group, unsigned operand,
                                   unsigned result) {
  auto [entry, isNew] =
      known.try_emplace({group.getOperation(), operand, result});
  if (isNew)
    entry->second = memory::mayOverwrite(group, operand, result);
  return entry->second;
}

BufferClasses::BufferClasses(func::FuncOp function) : function(function) {
  KnownOverwrites overwrites;
  find(overwrites);
}

BufferClasses::BufferClasses(func::FuncOp function, KnownOverwrites &overwrites)
    : function(function) {
  find(overwrites);
}

void BufferClasses::find(KnownOverwrites &overwrites) {
  moments.push_back({nullptr, false}); // before the first operation
  now = 1;
  number(function.getBody().front());
  collect();
  coalesce(overwrites);
}

void BufferClasses::number(Block &block) {
  for (Operation &op : block) {
    moments.push_back({&op, false});
    times[&op] = now++;
    for (Region &region : op.getRegions())
      if (!isa<step::GroupOp>(op))
        for (Block &nested : region)
          number(nested);
    if (op.getNumRegions()) {
      moments.push_back({&op, true});
      endTimes[&op] = now++;
    }
  }
}

BufferClasses::Id BufferClasses::find(Id id) const {
  while (parents[id] != id) {
    parents[id] = parents[parents[id]];
    id = parents[id];
  }
  return id;
}

BufferClasses::Id BufferClasses::classOf(Value value) const {
  auto entry = ids.find(value);
  assert(entry != ids.end() && "value without a buffer");
  return find(entry->second);
}

SmallVector<BufferClasses::Id> BufferClasses::representatives() const {
  SmallVector<Id> result;
  for (Id id = 0; id < classes.size(); ++id)
    if (find(id) == id)
      result.push_back(id);
  return result;
}

BufferClasses::Id BufferClasses::create(Value value) {
  Id id = classes.size();
  classes.emplace_back();
  parents.push_back(id);
  if (value) {
    classes[id].bytes = storedBytes(value.getType());
    ids[value] = id;
  }
  return id;
}

BufferClasses::Id BufferClasses::add(Value value, Id id) {
  ids[value] = id;
  return id;
}

BufferClasses::Id BufferClasses::unite(Id first, Id second) {
  first = find(first);
  second = find(second);
  if (first == second)
    return first;
  if (second < first)
    std::swap(first, second);
  BufferClass &into = classes[first], &from = classes[second];
  into.intervals.insert(into.intervals.end(), from.intervals.begin(),
                        from.intervals.end());
  std::sort(into.intervals.begin(), into.intervals.end(),
            [](const Interval &a, const Interval &b) {
              return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
            });
  into.bytes = std::max(into.bytes, from.bytes);
  into.isCounted |= from.isCounted;
  if (from.segment != step::Segment::temporaries) {
    into.segment = from.segment;
    into.slot = from.slot;
  }
  from.intervals.clear();
  parents[second] = first;
  return first;
}

int64_t BufferClasses::endOfUse(Operation *op) const {
  auto group = dyn_cast<step::GroupOp>(op);
  Operation *last = group ? lastBeside(group) : op;
  // A transfer is awaited even if nothing runs beside it.
  const bool isAwaited = last != op || (group && group.isTransfer());
  return isAwaited ? 2 * endTimeOf(last) + 2 : 2 * timeOf(op) + 1;
}

/// Adds the intervals of one value to its class.
void BufferClasses::live(Value value) {
  std::vector<Interval> &intervals = classes[classOf(value)].intervals;
  Interval interval;
  interval.value = value;
  Block *block = value.getParentBlock();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = block->getParentOp();
    // Carried values are written as the loop begins.
    interval.begin = isa<func::FuncOp>(parent) ? 0 : 2 * timeOf(parent) + 1;
  } else {
    Operation *op = value.getDefiningOp();
    auto end = endTimes.find(op);
    int64_t time = end != endTimes.end() && !isa<step::GroupOp>(op)
                       ? end->second
                       : timeOf(op);
    interval.begin = 2 * time + 1;
    // Each branch copies its results as it ends.
    if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op))
      for (Region &region : op->getRegions()) {
        int64_t copied = 2 * timeOf(region.front().getTerminator()) + 1;
        intervals.push_back({copied, copied + 1, value});
      }
  }
  interval.end = interval.begin + 1;
  if (auto group = value.getDefiningOp<step::GroupOp>())
    interval.end = std::max(interval.end, endOfUse(group));
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    int64_t time = timeOf(user);
    // What leaves a loop's body is read when the loop ends.
    if (user->hasTrait<OpTrait::IsTerminator>() && !isa<func::ReturnOp>(user) &&
        isa<stablehlo::WhileOp>(user->getParentOp()))
      time = std::max(time, endTimes.lookup(user->getParentOp()));
    for (Operation *inner = user, *parent = user->getParentOp();
         parent && parent->getBlock() && parent != block->getParentOp();
         inner = parent, parent = parent->getParentOp()) {
      // A loop reads what it captures until it ends, a branch only while it
      // runs: the other branches, which have other times, do not run then.
      if (isa<stablehlo::WhileOp>(parent)) {
        time = std::max(time, endTimes.lookup(parent));
      } else if (isa<stablehlo::CaseOp, stablehlo::IfOp>(parent)) {
        int64_t begin = 2 * timeOf(&inner->getBlock()->front());
        intervals.push_back({begin, 2 * time + 1, value});
        time = timeOf(parent);
      }
    }
    interval.end = std::max(interval.end, 2 * time + 1);
    if (user->getBlock() == block)
      interval.end = std::max(interval.end, endOfUse(user));
  }
  intervals.push_back(interval);
}

void BufferClasses::collect() {
  Block &body = function.getBody().front();
  int64_t end = endOfStep();

  // Arguments.
  for (BlockArgument argument : body.getArguments()) {
    Id id = create(argument);
    auto role = function.getArgAttrOfType<step::RoleAttr>(
        argument.getArgNumber(), step::roleAttrName);
    bool state = role && step::isState(role.getValue());
    classes[id].segment = state ? step::Segment::state : step::Segment::batch;
    classes[id].slot = argument.getArgNumber();
  }
  // Everything else; views and carried values join what they share.
  llvm::DenseMap<Attribute, Id> constants;
  auto createResult = [&](OpResult result) {
    Id id = create(result);
    auto bytes = result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(
        step::nodeBytesAttrName);
    unsigned index = result.getResultNumber();
    classes[id].isCounted =
        bytes && index < bytes.size() && bytes[int64_t(index)] > 0;
    return id;
  };
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto group = dyn_cast<step::GroupOp>(op)) {
      for (OpResult result : op->getResults()) {
        Id id = createResult(result);
        if (group.getKind() == step::GroupKind::save)
          classes[id].segment = step::Segment::host;
      }
      return WalkResult::skip();
    }
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      for (auto [index, result] : llvm::enumerate(loop->getResults())) {
        Id id = createResult(result);
        add(loop.getCond().getArgument(index), id);
        add(loop.getBody().getArgument(index), id);
      }
      return WalkResult::advance();
    }
    if (isView(op)) {
      for (Value result : op->getResults())
        add(result, classOf(viewedBy(result)));
      return WalkResult::advance();
    }
    Attribute constant;
    if (matchPattern(op, m_Constant(&constant))) {
      // Equal ones share a place, so that another copy of a loop needs none.
      auto [known, isNew] = constants.insert({constant, 0});
      if (!isNew) {
        add(op->getResult(0), known->second);
        return WalkResult::advance();
      }
      Id id = known->second = create(op->getResult(0));
      classes[id].segment = step::Segment::constants;
      classes[id].slot = id;
      return WalkResult::advance();
    }
    for (OpResult result : op->getResults())
      createResult(result);
    return WalkResult::advance();
  });
  for (auto &[value, id] : ids)
    live(value);

  // State and batch arguments keep their bytes until something overwrites them;
  // a state argument without a successor of its own is read by the next step.
  for (BlockArgument argument : body.getArguments()) {
    BufferClass &buffer = classes[ids[argument]];
    if (buffer.segment == step::Segment::batch)
      buffer.intervals.push_back({0, end});
  }
  // Results.
  auto ret = cast<func::ReturnOp>(body.getTerminator());
  resultClasses.assign(ret.getNumOperands(), 0);
  SmallVector<int64_t> stateOf(ret.getNumOperands(), -1);
  for (BlockArgument argument : body.getArguments())
    if (auto successor = function.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), step::successorAttrName))
      stateOf[successor.getInt()] = argument.getArgNumber();
  int64_t returned = timeOf(ret);
  for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
    returnedIds.push_back(ids[value]);
    if (stateOf[index] >= 0) {
      // The new state is written at the latest when the step returns.
      Id id = ids[body.getArgument(stateOf[index])];
      classes[id].intervals.push_back({2 * returned + 1, end});
      resultClasses[index] = id;
    } else {
      Id id = create(Value());
      classes[id].bytes = storedBytes(value.getType());
      classes[id].segment = step::Segment::results;
      classes[id].slot = index;
      classes[id].intervals.push_back({2 * returned + 1, end});
      resultClasses[index] = id;
    }
  }
  for (BufferClass &buffer : classes) {
    if (buffer.segment == step::Segment::constants)
      buffer.intervals.push_back({0, end});
    std::sort(buffer.intervals.begin(), buffer.intervals.end(),
              [](const Interval &a, const Interval &b) {
                return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
              });
  }
  function.getBody().walk([&](step::GroupOp group) {
    if (auto bytes =
            group->getAttrOfType<IntegerAttr>(step::scratchBytesAttrName))
      if (bytes.getInt() > 0)
        scratchBuffers.push_back(
            {group,
             bytes.getInt(),
             {2 * timeOf(group),
              std::max(2 * timeOf(group) + 2, endOfUse(group))}});
  });
}

/// Whether what happens at `time` may write a value of class `written` over the
/// one of class `read` that it reads for the last time.
bool BufferClasses::mayTouch(int64_t time, Id read, Id written,
                             KnownOverwrites &overwrites) const {
  const Moment &moment = moments[time];
  // Values handed into a loop, out of a loop or branch, or out of @main are
  // copied one by one; only a value and its own destination may share.
  auto handsOver = [&](ValueRange from, auto destination) {
    for (auto [index, value] : llvm::enumerate(from))
      if (classOf(value) == read && find(destination(index)) != written)
        return false;
    return true;
  };
  auto group = dyn_cast_or_null<step::GroupOp>(moment.op);
  if (!group) {
    if (isa_and_nonnull<func::ReturnOp>(moment.op))
      return llvm::all_of(
          llvm::zip_equal(returnedIds, resultClasses), [&](auto from) {
            auto [value, destination] = from;
            return find(value) != read || find(destination) == written;
          });
    auto result = [&](unsigned index) {
      return classOf(moment.op->getResult(index));
    };
    if (auto loop = dyn_cast_or_null<stablehlo::WhileOp>(moment.op))
      return handsOver(
          moment.ends ? loop.getBody().front().getTerminator()->getOperands()
                      : loop->getOperands(),
          result);
    if (moment.op &&
        isa_and_nonnull<stablehlo::CaseOp, stablehlo::IfOp>(
            moment.op->getParentOp()) &&
        moment.op->hasTrait<OpTrait::IsTerminator>())
      return handsOver(moment.op->getOperands(), [&](unsigned index) {
        return classOf(moment.op->getParentOp()->getResult(index));
      });
    return false;
  }
  std::optional<unsigned> operand, result;
  for (auto [index, input] : llvm::enumerate(group.getInputs()))
    if (classOf(input) == read) {
      // One buffer read as two operands cannot be overwritten through one.
      if (operand)
        return false;
      operand = index;
    }
  for (auto [index, output] : llvm::enumerate(group.getOutputs()))
    if (classOf(output) == written)
      result = index;
  return operand && result && overwrites.mayOverwrite(group, *operand, *result);
}

/// Whether values of two different classes are needed at the same time.
bool BufferClasses::areNeededAtOnce(Id first, Id second) const {
  const BufferClass &a = classes[find(first)], &b = classes[find(second)];
  return &a != &b && llvm::any_of(a.intervals, [&](const Interval &x) {
    return llvm::any_of(b.intervals, [&](const Interval &y) {
      return x.begin < y.end && y.begin < x.end;
    });
  });
}

/// Merges two classes if none of their values are needed at the same time,
/// except where one operation may write the one over the other.
bool BufferClasses::tryMerge(Id first, Id second, KnownOverwrites &overwrites) {
  first = find(first);
  second = find(second);
  if (first == second)
    return true;
  const BufferClass &a = classes[first], &b = classes[second];
  auto isTemporary = [](const BufferClass &c) {
    return c.segment == step::Segment::temporaries;
  };
  if (!isTemporary(a) && !isTemporary(b))
    return false;
  for (const BufferClass *c : {&a, &b})
    if (c->segment == step::Segment::batch ||
        c->segment == step::Segment::constants ||
        c->segment == step::Segment::host)
      return false;
  if (!isTemporary(a) || !isTemporary(b)) {
    // A bound buffer cannot grow.
    const BufferClass &bound = isTemporary(a) ? b : a;
    if (a.bytes > bound.bytes || b.bytes > bound.bytes || a.isCounted ||
        b.isCounted)
      return false;
  }
  if (areNeededAtOnce(first, second))
    return false;
  // Reads of operation t end at 2t + 1, exactly where its writes begin, so
  // equal bounds mean that one operation reads the one and writes the other.
  for (const Interval &x : a.intervals)
    for (const Interval &y : b.intervals) {
      if (x.end == y.begin &&
          !mayTouch((x.end - 1) / 2, first, second, overwrites))
        return false;
      if (y.end == x.begin &&
          !mayTouch((y.end - 1) / 2, second, first, overwrites))
        return false;
    }
  unite(first, second);
  return true;
}

void BufferClasses::coalesce(KnownOverwrites &overwrites) {
  Block &body = function.getBody().front();
  auto ret = cast<func::ReturnOp>(body.getTerminator());
  for (auto [index, value] : llvm::enumerate(ret.getOperands()))
    tryMerge(classOf(value), resultClasses[index], overwrites);
  function.getBody().walk([&](stablehlo::WhileOp loop) {
    Operation *yield = loop.getBody().front().getTerminator();
    for (unsigned i = 0; i < loop->getNumResults(); ++i) {
      Id carried = classOf(loop->getResult(i));
      tryMerge(classOf(yield->getOperand(i)), carried, overwrites);
      tryMerge(classOf(loop->getOperand(i)), carried, overwrites);
    }
  });
  function.getBody().walk([&](Operation *op) {
    if (!isa<stablehlo::CaseOp, stablehlo::IfOp>(op))
      return;
    for (Region &region : op->getRegions()) {
      Operation *yield = region.front().getTerminator();
      for (auto [from, to] :
           llvm::zip_equal(yield->getOperands(), op->getResults()))
        tryMerge(classOf(from), classOf(to), overwrites);
    }
  });
  SmallVector<step::GroupOp> groups;
  function.getBody().walk(
      [&](step::GroupOp group) { groups.push_back(group); });
  for (step::GroupOp group : groups)
    for (auto [result, output] : llvm::enumerate(group.getOutputs()))
      for (auto [operand, input] : llvm::enumerate(group.getInputs()))
        // What is needed later is most of it, and quickly seen.
        if (!areNeededAtOnce(classOf(input), classOf(output)) &&
            overwrites.mayOverwrite(group, operand, result) &&
            tryMerge(classOf(input), classOf(output), overwrites))
          break;
}
