//===- PlanRecord.cpp - What the exec program means, for its checkers ----===//
//
// See PlanRecord.h.
//
//===----------------------------------------------------------------------===//

#include "PlanRecord.h"

#include "Views.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

std::string memory::typeText(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (int64_t extent : tensor.getShape())
    stream << extent << "x";
  stream << tensor.getElementType();
  return text;
}

namespace {

/// The value that stands for all names of one piece of storage: what a loop
/// carries is its result.
Value recordedValueOf(Value value) {
  while (true) {
    value = storageOf(value);
    auto argument = dyn_cast<BlockArgument>(value);
    auto loop =
        argument
            ? dyn_cast<stablehlo::WhileOp>(argument.getOwner()->getParentOp())
            : stablehlo::WhileOp();
    if (!loop)
      return value;
    value = loop->getResult(argument.getArgNumber());
  }
}

} // namespace

Location memory::locationOf(Operation *op, unsigned result) {
  if (auto group = dyn_cast<step::GroupOp>(op)) {
    Value yielded = group.getBody().front().getTerminator()->getOperand(result);
    if (Operation *writer = yielded.getDefiningOp())
      return writer->getLoc();
  }
  return op->getLoc();
}

std::string memory::sourceOf(Value value) {
  Operation *op = value.getDefiningOp();
  return sourceOf(op ? locationOf(op, cast<OpResult>(value).getResultNumber())
                     : value.getLoc());
}

PlanRecord::PlanRecord(func::FuncOp main)
    : main(main), buffers(main), builder(main.getContext()) {
  addValues();
  addLifetimes();
}

int64_t PlanRecord::textOf(StringRef text) {
  // The strings stay with the context.
  StringRef kept = builder.getStringAttr(text).getValue();
  return texts.insert({kept, int64_t(texts.size())}).first->second;
}

PlanRecord::Id PlanRecord::add(BufferClasses::Id buffer, int64_t bytes,
                               StringRef type, StringRef source) {
  entries.push_back(
      {buffers.representative(buffer), bytes, textOf(type), textOf(source)});
  return Id(entries.size()) - 1;
}

PlanRecord::Id PlanRecord::valueOf(Value value) const {
  return ids.lookup(recordedValueOf(value));
}

void PlanRecord::addValues() {
  auto addValue = [&](Value value, const Twine &source) {
    Id id = add(buffers.classOf(value), storedBytes(value.getType()),
                typeText(value.getType()), source.str());
    ids[value] = id;
    return id;
  };
  auto nameOf = [&](StringAttr name, StringRef otherwise, unsigned index) {
    return name ? name.str() : otherwise.str() + std::to_string(index);
  };
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto role =
        main.getArgAttrOfType<step::RoleAttr>(index, step::roleAttrName);
    initial.push_back(addValue(
        argument,
        Twine(role ? step::stringifyRole(role.getValue()) : "argument") + " " +
            nameOf(main.getArgAttrOfType<StringAttr>(index, step::nameAttrName),
                   "arg", index)));
  }
  llvm::DenseMap<BufferClasses::Id, Id> constants;
  main.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool constant = matchPattern(op, m_Constant());
    auto problemValues =
        op->getAttrOfType<DenseI64ArrayAttr>(step::nodeValuesAttrName);
    for (OpResult result : op->getResults()) {
      if (isView(op))
        continue;
      if (constant) {
        // Equal ones share a place and are one value.
        auto [known, isNew] =
            constants.insert({buffers.classOf(result), Id(entries.size())});
        if (!isNew) {
          ids[result] = known->second;
          continue;
        }
      }
      Id id = addValue(result, sourceOf(result));
      entries[id].recomputed = op->hasAttr(step::recomputedAttrName);
      if (problemValues && result.getResultNumber() < problemValues.size())
        entries[id].problemValue = problemValues[result.getResultNumber()];
      if (constant)
        initial.push_back(id);
    }
    return isa<step::GroupOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  Operation *ret = main.getBody().front().getTerminator();
  for (auto [index, type] : llvm::enumerate(ret->getOperandTypes())) {
    auto name = main.getResultAttrOfType<StringAttr>(index, step::nameAttrName);
    results.push_back(add(buffers.resultClass(index), storedBytes(type),
                          typeText(type),
                          "result " + nameOf(name, "result", index)));
    entries.back().lifetimes.push_back(
        {2 * buffers.timeOf(ret) + 1, buffers.endOfStep()});
  }
  for (const ScratchBuffer &buffer : buffers.scratch()) {
    // Scratch memory is in no class; its place stands on the group.
    entries.push_back({BufferClasses::Id(-1), buffer.bytes, textOf("scratch"),
                       textOf(sourceOf(locationOf(buffer.group, 0)))});
    entries.back().lifetimes.push_back(buffer.interval);
    scratch[buffer.group] = Id(entries.size()) - 1;
  }
}

void PlanRecord::addLifetimes() {
  for (BufferClasses::Id buffer : buffers.representatives())
    for (const Interval &interval : buffers[buffer].intervals) {
      if (!interval.value)
        continue;
      SmallVector<Interval, 1> &lifetimes =
          entries[valueOf(interval.value)].lifetimes;
      // Intervals of a class are sorted; those of a base and its views touch.
      if (!lifetimes.empty() && interval.begin <= lifetimes.back().end)
        lifetimes.back().end = std::max(lifetimes.back().end, interval.end);
      else
        lifetimes.push_back(interval);
    }
}

void PlanRecord::describe(Operation *instruction, Operation *origin,
                          int64_t begin, int64_t end, ArrayRef<Id> reads,
                          ArrayRef<Id> writes) {
  auto integer = [&](StringRef name, int64_t otherwise) {
    auto value = origin->getAttrOfType<IntegerAttr>(name);
    return value ? value.getInt() : otherwise;
  };
  SmallVector<NamedAttribute> entry;
  auto numbers = [&](StringRef name, ArrayRef<int64_t> values) {
    if (!values.empty())
      entry.push_back(
          builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values)));
  };
  int64_t source = textOf(sourceOf(locationOf(origin, 0)));
  numbers("at", {begin, end, source});
  numbers("reads", reads);
  numbers("writes", writes);
  // A wait does nothing to values, and belongs to no node.
  const bool isWait = isa<exec::WaitOp>(instruction);
  if (!isWait)
    numbers("handovers", std::exchange(handovers, {}));
  // The figures of a plan under a budget. What copies a loop's values is part
  // of the loop's time.
  bool ofLoop = isa<exec::InvokeOp>(instruction) && !isa<step::GroupOp>(origin);
  if (origin->hasAttr(step::nodeAttrName) && !isWait)
    numbers("node", {integer(step::nodeAttrName, -1),
                     ofLoop ? 0 : integer(step::nanosecondsAttrName, 0),
                     origin->hasAttr(step::recomputedAttrName)});
  if (auto joined =
          origin->getAttrOfType<DenseI64ArrayAttr>(step::joinedNodesAttrName);
      joined && !isWait)
    numbers("joined", joined.asArrayRef());
  instruction->setAttr(exec::plannedAttrName, builder.getDictionaryAttr(entry));
}

void PlanRecord::endRegion(Operation *parent) {
  SmallVector<Attribute> regions;
  if (auto known = parent->getAttrOfType<ArrayAttr>(exec::regionEndsAttrName))
    regions.assign(known.begin(), known.end());
  regions.push_back(builder.getDenseI64ArrayAttr(handovers));
  handovers.clear();
  parent->setAttr(exec::regionEndsAttrName, builder.getArrayAttr(regions));
}

void PlanRecord::write(Operation *program) {
  // Buffers: the segment's number and the place of each, which stands on what
  // lies there.
  llvm::DenseMap<BufferClasses::Id, int64_t> numbers;
  SmallVector<Attribute> bufferList, valueList, textList;
  auto addBuffer = [&](step::PlaceAttr place, int64_t bytes) {
    bufferList.push_back(builder.getDenseI64ArrayAttr(
        {int64_t(place.getSegment()), place.getOffset(), bytes}));
    return int64_t(bufferList.size()) - 1;
  };
  auto note = [&](BufferClasses::Id id, Attribute place) {
    id = buffers.representative(id);
    if (!numbers.contains(id))
      numbers[id] = addBuffer(cast<step::PlaceAttr>(place), buffers[id].bytes);
  };
  auto noteAll = [&](Attribute places, auto classOf) {
    for (auto [index, place] : llvm::enumerate(cast<ArrayAttr>(places)))
      note(classOf(index), place);
  };
  noteAll(main->getAttr(step::argumentPlacesAttrName), [&](unsigned index) {
    return buffers.classOf(main.getArgument(index));
  });
  noteAll(main->getAttr(step::resultPlacesAttrName),
          [&](unsigned index) { return buffers.resultClass(index); });
  main.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults())
      noteAll(op->getAttr(step::placesAttrName), [&](unsigned index) {
        return buffers.classOf(op->getResult(index));
      });
    return isa<step::GroupOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  llvm::DenseMap<Id, int64_t> scratchBuffers;
  for (const ScratchBuffer &buffer : buffers.scratch())
    scratchBuffers[scratchOf(buffer.group)] =
        addBuffer(buffer.group->getAttrOfType<step::PlaceAttr>(
                      step::scratchPlaceAttrName),
                  buffer.bytes);

  for (auto [id, entry] : llvm::enumerate(entries)) {
    auto inScratch = scratchBuffers.find(Id(id));
    SmallVector<int64_t> fields = {inScratch == scratchBuffers.end()
                                       ? numbers.lookup(entry.buffer)
                                       : inScratch->second,
                                   entry.bytes,
                                   entry.type,
                                   entry.source,
                                   entry.recomputed,
                                   entry.problemValue};
    for (const Interval &lifetime : entry.lifetimes)
      fields.append({lifetime.begin, lifetime.end});
    valueList.push_back(builder.getDenseI64ArrayAttr(fields));
  }
  for (auto &[text, number] : texts)
    textList.push_back(builder.getStringAttr(text));
  program->setAttr(
      exec::planAttrName,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("buffers", builder.getArrayAttr(bufferList)),
           builder.getNamedAttr("values", builder.getArrayAttr(valueList)),
           builder.getNamedAttr("texts", builder.getArrayAttr(textList)),
           builder.getNamedAttr("initial",
                                builder.getDenseI64ArrayAttr(initial)),
           builder.getNamedAttr("results",
                                builder.getDenseI64ArrayAttr(results))}));
}
