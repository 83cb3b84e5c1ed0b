//===- LowerToExec.cpp - The device program ------------------------------===//
//
// A mechanical translation: PlanOffsets has decided where everything lies, so
// every group becomes a launch or a call, and a copy appears exactly where a
// value's place differs from the place it has to be at.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "InitialValues.h"
#include "PlanRecord.h"
#include "Views.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/KernelDescription.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/GpuCode.h"
#include "tenon/Dialect/Exec/OutlineKernel.h"
#include "tenon/Dialect/Exec/SameKernel.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/FilledStacks.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Libraries/Library.h"
#include "tenon/Memory/BufferClasses.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

#include <map>

namespace tenon::memory {
#define GEN_PASS_DEF_LOWERTOEXECPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

/// The queue of what runs beside other instructions.
static int64_t queueOf(step::GroupKind kind) {
  switch (kind) {
  case step::GroupKind::collective:
    return 1;
  case step::GroupKind::save:
    return 2;
  case step::GroupKind::load:
    return 3;
  default:
    return 0;
  }
}

namespace {

class ProgramWriter {
public:
  ProgramWriter(ModuleOp module, func::FuncOp function,
                const ProgramDevice &device)
      : module(module), function(function), device(device), symbols(module),
        builder(module.getContext()), record(function) {}

  LogicalResult run();

private:
  LogicalResult writeSegments();
  void writeTensors();
  LogicalResult writeBlock(Block &block);
  LogicalResult writeGroup(step::GroupOp group);
  /// What an invocation is passed, and of each argument the value that it reads
  /// there and the one that it writes.
  struct PassedArguments {
    SmallVector<Value> slices;
    SmallVector<PlanRecord::Id> reads, writes;

    void add(Value slice, PlanRecord::Id read, PlanRecord::Id written) {
      slices.push_back(slice);
      reads.push_back(read);
      writes.push_back(written);
    }
  };
  void addScratch(step::GroupOp group, PassedArguments &passed);
  void invoke(step::GroupOp group, StringRef callee,
              const PassedArguments &passed, int64_t parts = 1,
              int64_t queue = 0);
  void awaitSome(Operation *behind, int64_t queue, int64_t pending);

  LogicalResult writeLibraryCall(step::GroupOp group);
  LogicalResult writeCollective(step::GroupOp group);
  void writeTransfer(step::GroupOp group);
  LogicalResult writeWhile(stablehlo::WhileOp loop);
  LogicalResult writeBranches(Operation *op);
  StringRef kernelFor(step::GroupOp group, ArrayRef<int64_t> inPlace);
  StringRef libraryFor(step::GroupOp group, bool addsInPlace);

  step::PlaceAttr place(Value value);
  Value slice(Value value) { return slice(place(value), value.getType()); }
  Value slice(step::PlaceAttr place, Type type);
  /// Copies `value` to a place, where it is `id` from `time` on, which is when
  /// `origin` begins or ends.
  exec::InvokeOp invoke(Location loc, StringRef callee, ValueRange arguments,
                        int64_t parts = 1, int64_t queue = 0);
  StringRef copyCallee();
  void copyTo(Value value, step::PlaceAttr to, PlanRecord::Id id,
              Operation *origin, int64_t time);
  void copyResults(ValueRange values, ArrayRef<Attribute> places,
                   ArrayRef<PlanRecord::Id> ids, Operation *origin,
                   int64_t time) {
    for (auto [value, to, id] : llvm::zip_equal(values, places, ids))
      copyTo(value, cast<step::PlaceAttr>(to), id, origin, time);
  }
  SmallVector<PlanRecord::Id> idsOf(ValueRange values) const {
    return llvm::map_to_vector(
        values, [&](Value value) { return record.valueOf(value); });
  }

  ModuleOp module;
  func::FuncOp function;
  const ProgramDevice &device;
  SymbolTable symbols;
  OpBuilder builder;
  PlanRecord record;
  exec::ProgramOp program;
  llvm::DenseMap<std::pair<Block *, std::pair<Attribute, Type>>, Value> slices;
  llvm::DenseSet<Operation *, exec::SameKernel> kernels;
  llvm::StringMap<std::string> libraries;   // printed description to symbol
  llvm::StringMap<std::string> collectives; // the same
  bool hasCopy = false;
};

/// Where a value lies: an argument's or a result's place.
step::PlaceAttr ProgramWriter::place(Value value) {
  auto at = [](Operation *op, StringRef name, unsigned index) {
    return cast<step::PlaceAttr>(op->getAttrOfType<ArrayAttr>(name)[index]);
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    return at(parent,
              parent == function ? step::argumentPlacesAttrName
                                 : step::placesAttrName,
              argument.getArgNumber());
  }
  return at(value.getDefiningOp(), step::placesAttrName,
            cast<OpResult>(value).getResultNumber());
}

Value ProgramWriter::slice(step::PlaceAttr place, Type type) {
  Block *block = builder.getInsertionBlock();
  // A slice in an enclosing block serves as well.
  for (Block *outer = block; outer && outer->getParentOp() != module;
       outer = outer->getParentOp()->getBlock()) {
    auto known = slices.find({outer, {place, type}});
    if (known != slices.end())
      return known->second;
  }
  auto tensor = cast<RankedTensorType>(type);
  auto op = exec::SliceOp::create(
      builder, builder.getUnknownLoc(),
      MemRefType::get(tensor.getShape(), tensor.getElementType()),
      FlatSymbolRefAttr::get(builder.getContext(),
                             step::stringifySegment(place.getSegment())),
      builder.getI64IntegerAttr(place.getOffset()));
  slices[{block, {place, type}}] = op;
  return op;
}

void ProgramWriter::copyTo(Value value, step::PlaceAttr to, PlanRecord::Id id,
                           Operation *origin, int64_t time) {
  PlanRecord::Id fromId = record.valueOf(value);
  if (place(value) == to) {
    if (fromId != id)
      record.handOver(fromId, id);
    return;
  }
  Value from = slice(value);
  exec::InvokeOp copy =
      invoke(value.getLoc(), copyCallee(), {from, slice(to, value.getType())});
  record.describe(copy, origin, time, time, {fromId, PlanRecord::none},
                  {PlanRecord::none, id});
}

exec::InvokeOp ProgramWriter::invoke(Location loc, StringRef callee,
                                     ValueRange arguments, int64_t parts,
                                     int64_t queue) {
  return exec::InvokeOp::create(builder, loc, callee, arguments,
                                uint64_t(parts), uint64_t(queue));
}

/// Waits behind an operation for all in a queue but those started last.
void ProgramWriter::awaitSome(Operation *behind, int64_t queue,
                              int64_t pending) {
  auto wait = exec::WaitOp::create(builder, behind->getLoc(), uint64_t(queue),
                                   uint64_t(pending));
  int64_t time = record.endTimeOf(behind);
  record.describe(wait, behind, time, time, /*reads=*/{}, /*writes=*/{});
}

/// The callee that copies; there is none until something is copied.
StringRef ProgramWriter::copyCallee() {
  constexpr StringLiteral name = "copy";
  if (!hasCopy) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(program);
    exec::CopyOp::create(builder, module.getLoc(), name);
    hasCopy = true;
  }
  return name;
}

LogicalResult ProgramWriter::writeSegments() {
  auto bytes =
      function->getAttrOfType<DictionaryAttr>(step::segmentBytesAttrName);
  if (!bytes)
    return function.emitError()
           << "a scheduled function needs the attribute '"
           << step::segmentBytesAttrName << "'; run the stage plan first";
  exec::DeviceClassOp::create(builder, module.getLoc(), device.deviceClass);
  exec::MemorySpaceOp::create(builder, module.getLoc(), device.space);
  const StringRef host = step::stringifySegment(step::Segment::host);
  if (bytes.contains(host)) {
    if (device.hostSpace.empty())
      return function.emitError()
             << "values wait in memory of the host, which the device class '"
             << device.deviceClass << "' has not";
    exec::MemorySpaceOp::create(builder, module.getLoc(), device.hostSpace);
  }
  for (NamedAttribute entry : bytes) {
    const bool isOnHost = entry.getName() == host;
    auto kind = isOnHost ? exec::SegmentKind::temporaries
                         : exec::symbolizeSegmentKind(entry.getName());
    if (!kind)
      return module.emitError()
             << "unknown segment '" << entry.getName() << "'";
    exec::SegmentOp::create(
        builder, module.getLoc(), entry.getName(), *kind,
        isOnHost ? device.hostSpace : device.space, device.deviceClass,
        uint64_t(cast<IntegerAttr>(entry.getValue()).getInt()), uint64_t(64));
  }
  return success();
}

/// What users see of a tensor with these attributes: its last dimension may be
/// the parts of complex elements, and its bytes may carry narrow ones.
static Type userType(Type stored, DictionaryAttr attributes) {
  auto tensor = cast<RankedTensorType>(stored);
  if (!attributes)
    return stored;
  if (auto element = attributes.getAs<TypeAttr>(step::elementTypeAttrName))
    return tensor.clone(element.getValue());
  if (!attributes.contains(step::complexAttrName))
    return stored;
  return RankedTensorType::get(tensor.getShape().drop_back(),
                               ComplexType::get(tensor.getElementType()));
}

/// Of a step for several ranks: what the tensor is a part of.
static void describeWhole(exec::TensorOp tensor, DictionaryAttr attributes) {
  auto whole =
      attributes ? attributes.getAs<TypeAttr>(step::wholeAttrName) : TypeAttr();
  if (!whole)
    return;
  tensor->setAttr(step::wholeAttrName,
                  TypeAttr::get(userType(whole.getValue(), attributes)));
  if (Attribute cuts = attributes.get(step::cutsAttrName))
    tensor->setAttr(step::cutsAttrName, cuts);
}

void ProgramWriter::writeTensors() {
  auto resultNames = [&](unsigned index) {
    return function.getResultAttrOfType<StringAttr>(index, step::nameAttrName);
  };
  llvm::DenseSet<int64_t> stateResults;
  auto segmentOf = [&](step::PlaceAttr place) {
    return FlatSymbolRefAttr::get(builder.getContext(),
                                  step::stringifySegment(place.getSegment()));
  };
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto name =
        function.getArgAttrOfType<StringAttr>(index, step::nameAttrName);
    auto successor =
        function.getArgAttrOfType<IntegerAttr>(index, step::successorAttrName);
    if (successor)
      stateResults.insert(successor.getInt());
    auto tensor = exec::TensorOp::create(
        builder, argument.getLoc(),
        name ? name : builder.getStringAttr("arg" + llvm::Twine(index)),
        TypeAttr::get(
            userType(argument.getType(), function.getArgAttrDict(index))),
        segmentOf(place(argument)),
        builder.getI64IntegerAttr(place(argument).getOffset()),
        builder.getI64IntegerAttr(index),
        builder.getI64IntegerAttr(successor ? successor.getInt() : -1),
        function.getArgAttr(index, step::roleAttrName),
        function.getArgAttrOfType<ArrayAttr>(index, step::aliasesAttrName));
    if (Attribute holds = function.getArgAttr(index, step::holdsAttrName))
      tensor->setAttr(step::holdsAttrName, holds);
    describeWhole(tensor, function.getArgAttrDict(index));
  }
  auto places = function->getAttrOfType<ArrayAttr>(step::resultPlacesAttrName);
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    if (stateResults.contains(index))
      continue;
    auto place = cast<step::PlaceAttr>(places[index]);
    auto name = resultNames(index);
    auto tensor = exec::TensorOp::create(
        builder, function.getLoc(),
        name ? name : builder.getStringAttr("result" + llvm::Twine(index)),
        TypeAttr::get(userType(function.getResultTypes()[index],
                               function.getResultAttrDict(index))),
        segmentOf(place), builder.getI64IntegerAttr(place.getOffset()),
        builder.getI64IntegerAttr(-1), builder.getI64IntegerAttr(index),
        Attribute(),
        function.getResultAttrOfType<ArrayAttr>(index, step::aliasesAttrName));
    describeWhole(tensor, function.getResultAttrDict(index));
  }
}

/// Whether nothing ever reads what the group computes: stacks start from it
/// that are written before they are read.
static bool isNeverRead(step::GroupOp group) {
  return group.getInputs().empty() && !group->use_empty() &&
         llvm::all_of(group->getUses(), [](OpOperand &use) {
           return isa<stablehlo::WhileOp>(use.getOwner()) &&
                  llvm::is_contained(step::filledStacks(use.getOwner()),
                                     int64_t(use.getOperandNumber()));
         });
}

/// The kernel function with this body; a new one if none is equal.
StringRef ProgramWriter::kernelFor(step::GroupOp group,
                                   ArrayRef<int64_t> inPlace) {
  func::FuncOp kernel = exec::outlineKernel(group).release();
  kernel->setAttr(exec::inPlaceAttrName, builder.getDenseI64ArrayAttr(inPlace));
  if (auto bytes = group->getAttr(step::scratchBytesAttrName))
    kernel->setAttr(exec::scratchBytesAttrName, bytes);
  if (isNeverRead(group))
    kernel->setAttr(exec::neverReadAttrName, builder.getUnitAttr());

  const std::string name = "kernel_" + std::to_string(kernels.size());
  auto [known, isNew] = kernels.insert(kernel);
  if (isNew) {
    kernel.setSymName(name);
    module.insert(program, kernel);
  } else {
    kernel.erase();
  }
  return cast<func::FuncOp>(*known).getSymName();
}

/// Bytes that a call takes on the host of a GPU beside its arguments.
static int64_t hostWorkspaceOf(DictionaryAttr description) {
  std::string ignored;
  auto call = exec::fromAttribute(description, ignored);
  return call ? libraries::workspaceBytes(*call, /*isa=*/{}) : 0;
}

StringRef ProgramWriter::libraryFor(step::GroupOp group, bool addsInPlace) {
  auto description =
      group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  if (addsInPlace) {
    NamedAttrList entries(description);
    entries.set("addend", builder.getStringAttr(
                              StringRef(name(libraries::Addend::inPlace))));
    description = entries.getDictionary(builder.getContext());
  }
  std::string key;
  llvm::raw_string_ostream(key) << description;
  auto known = libraries.find(key);
  if (known != libraries.end())
    return known->second;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(program);
  std::string name = "library_" + std::to_string(libraries.size());
  auto bytes = group->getAttrOfType<IntegerAttr>(step::scratchBytesAttrName);
  auto library =
      exec::LibraryOp::create(builder, group.getLoc(), name, description,
                              uint64_t(bytes ? bytes.getInt() : 0));
  if (device.deviceClass == "cuda" && exec::isHostCall(description)) {
    library.setWorkspaceBytes(uint64_t(hostWorkspaceOf(description)));
    library->setAttr(exec::onHostAttrName, builder.getUnitAttr());
  }
  return libraries[key] = name;
}

/// The group's scratch memory, if it has any, as the last argument.
void ProgramWriter::addScratch(step::GroupOp group, PassedArguments &passed) {
  auto bytes = group->getAttrOfType<IntegerAttr>(step::scratchBytesAttrName);
  if (bytes && bytes.getInt() > 0)
    passed.add(
        slice(group->getAttrOfType<step::PlaceAttr>(step::scratchPlaceAttrName),
              RankedTensorType::get({bytes.getInt()}, builder.getI8Type())),
        PlanRecord::none, record.scratchOf(group));
}

void ProgramWriter::invoke(step::GroupOp group, StringRef callee,
                           const PassedArguments &passed, int64_t parts,
                           int64_t queue) {
  int64_t time = record.timeOf(group);
  record.describe(invoke(group.getLoc(), callee, passed.slices, parts, queue),
                  group, time, time, passed.reads, passed.writes);
}

LogicalResult ProgramWriter::writeLibraryCall(step::GroupOp group) {
  PassedArguments passed;
  PlanRecord::Id overwritten = PlanRecord::none;
  for (auto [number, operand] : llvm::enumerate(group.getInputs()))
    if (mayOverwrite(group, number, 0) &&
        place(operand) == place(group.getResult(0)))
      overwritten = record.valueOf(operand);
    else
      passed.add(slice(operand), record.valueOf(operand), PlanRecord::none);
  for (Value result : group.getOutputs())
    passed.add(slice(result), overwritten, record.valueOf(result));
  addScratch(group, passed);
  invoke(group, libraryFor(group, overwritten != PlanRecord::none), passed);
  return success();
}

LogicalResult ProgramWriter::writeCollective(step::GroupOp group) {
  std::string whyNot;
  Operation *op = &group.getBody().front().front();
  auto described = describeCollective(op, whyNot);
  if (!described)
    return group.emitOpError("no rank carries out this collective: ") << whyNot;
  DictionaryAttr description =
      exec::toAttribute(builder.getContext(), *described);
  Attribute reducer = op->getAttr(step::reducerAttrName);
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << description;
  if (reducer)
    stream << reducer;
  auto [callee, isNew] = collectives.try_emplace(
      key, "collective_" + std::to_string(collectives.size()));
  if (isNew) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(program);
    auto made = exec::CollectiveOp::create(builder, group.getLoc(),
                                           callee->second, description);
    if (reducer)
      made->setAttr(step::reducerAttrName, reducer);
  }
  PassedArguments passed;
  for (Value operand : group.getInputs())
    passed.add(slice(operand), record.valueOf(operand), PlanRecord::none);
  for (Value result : group.getOutputs())
    passed.add(slice(result), PlanRecord::none, record.valueOf(result));
  addScratch(group, passed);
  invoke(group, callee->second, passed, /*parts=*/1,
         lastBeside(group) == group ? 0 : queueOf(group.getKind()));
  return success();
}

/// A copy between the device and its host, which is always beside: that is what
/// its queue is for.
void ProgramWriter::writeTransfer(step::GroupOp group) {
  PassedArguments passed;
  Value operand = group.getInputs().front(), result = group.getResult(0);
  passed.add(slice(operand), record.valueOf(operand), PlanRecord::none);
  passed.add(slice(result), PlanRecord::none, record.valueOf(result));
  invoke(group, copyCallee(), passed, /*parts=*/1, queueOf(group.getKind()));
}

LogicalResult ProgramWriter::writeGroup(step::GroupOp group) {
  if (isCopy(group)) {
    copyTo(group.getInputs().front(), place(group.getResult(0)),
           record.valueOf(group.getResult(0)), group, record.timeOf(group));
    return success();
  }
  if (group.getKind() == step::GroupKind::library)
    return writeLibraryCall(group);
  if (group.getKind() == step::GroupKind::collective)
    return writeCollective(group);
  if (group.isTransfer()) {
    writeTransfer(group);
    return success();
  }
  SmallVector<int64_t> inPlace;
  for (auto [index, output] : llvm::enumerate(group.getOutputs())) {
    int64_t overwritten = -1;
    for (auto [operand, input] : llvm::enumerate(group.getInputs()))
      if (overwritten < 0 && place(input) == place(output) &&
          !llvm::is_contained(inPlace, int64_t(operand)) &&
          mayOverwrite(group, operand, index))
        overwritten = operand;
    inPlace.push_back(overwritten);
  }
  PassedArguments passed;
  for (Value operand : group.getInputs())
    passed.add(slice(operand), record.valueOf(operand), PlanRecord::none);
  KernelDescription kernel(group.getBody().front());
  // An update beside other results is always in place: it may be that of a
  // copy.
  for (auto [index, output] : llvm::enumerate(group.getOutputs()))
    if (auto update = kernel.joinedUpdate(index);
        update && inPlace[index] < 0) {
      auto stack = cast<BlockArgument>(update.getOperand());
      const unsigned operand = stack.getArgNumber();
      inPlace[index] = operand;
      copyTo(group.getInputs()[operand], place(output), record.valueOf(output),
             group, record.timeOf(group));
      passed.slices[operand] = slice(output);
      passed.reads[operand] = record.valueOf(output);
    }
  for (auto [output, overwritten] :
       llvm::zip_equal(group.getOutputs(), inPlace)) {
    if (overwritten >= 0)
      passed.writes[overwritten] = record.valueOf(output);
    else
      passed.add(slice(output), PlanRecord::none, record.valueOf(output));
  }
  addScratch(group, passed);
  invoke(group, kernelFor(group, inPlace), passed,
         device.launches.partsFor(kernel.touchedElements(inPlace)));
  return success();
}

LogicalResult ProgramWriter::writeWhile(stablehlo::WhileOp loop) {
  ArrayRef<Attribute> carried =
      loop->getAttrOfType<ArrayAttr>(step::placesAttrName).getValue();
  SmallVector<PlanRecord::Id> ids = idsOf(loop->getResults());
  int64_t begin = record.timeOf(loop), end = record.endTimeOf(loop);
  copyResults(loop->getOperands(), carried, ids, loop, begin);
  Operation *condition = loop.getCond().front().getTerminator();
  Value predicate = slice(condition->getOperand(0));
  auto lowered =
      exec::WhileOp::create(builder, loop.getLoc(), predicate, /*trips=*/{});
  if (auto trips = tripCount(loop))
    lowered.setTrips(*trips);
  record.describe(lowered, loop, begin, end,
                  record.valueOf(condition->getOperand(0)), PlanRecord::none);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&lowered.getCondition());
  if (failed(writeBlock(loop.getCond().front())))
    return failure();
  record.endRegion(lowered);
  builder.createBlock(&lowered.getBody());
  if (failed(writeBlock(loop.getBody().front())))
    return failure();
  copyResults(loop.getBody().front().getTerminator()->getOperands(), carried,
              ids, loop, end);
  record.endRegion(lowered);
  return success();
}

LogicalResult ProgramWriter::writeBranches(Operation *op) {
  Value selector = slice(op->getOperand(0));
  auto lowered = exec::CaseOp::create(builder, op->getLoc(), selector,
                                      op->getNumRegions());
  record.describe(lowered, op, record.timeOf(op), record.endTimeOf(op),
                  record.valueOf(op->getOperand(0)), PlanRecord::none);
  ArrayRef<Attribute> results =
      op->getAttrOfType<ArrayAttr>(step::placesAttrName).getValue();
  OpBuilder::InsertionGuard guard(builder);
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), lowered->getRegions())) {
    builder.createBlock(&to);
    if (failed(writeBlock(from.front())))
      return failure();
    Operation *yield = from.front().getTerminator();
    copyResults(yield->getOperands(), results, idsOf(op->getResults()), yield,
                record.timeOf(yield));
    record.endRegion(lowered);
  }
  return success();
}

LogicalResult ProgramWriter::writeBlock(Block &block) {
  // Per queue the last operation beside each one that is not awaited yet, in
  // the order in which they are started.
  std::map<int64_t, SmallVector<Operation *>> underWay;
  for (Operation &op : block.without_terminator()) {
    LogicalResult written = success();
    if (auto group = dyn_cast<step::GroupOp>(op))
      written = writeGroup(group);
    else if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
      written = writeWhile(loop);
    else if (isa<stablehlo::CaseOp>(op))
      written = writeBranches(&op);
    else if (!isView(&op) && !matchPattern(&op, m_Constant()))
      return op.emitOpError("cannot be lowered to the exec program");
    if (failed(written))
      return failure();
    if (auto group = dyn_cast<step::GroupOp>(op);
        group && (group.isTransfer() || lastBeside(group) != group))
      underWay[queueOf(group.getKind())].push_back(lastBeside(group));
    for (auto &[queue, beside] : underWay) {
      // What is awaited comes with all that was started before in its queue.
      auto due = llvm::find(llvm::reverse(beside), &op);
      const int64_t pending = due - beside.rbegin();
      if (pending == int64_t(beside.size()))
        continue;
      awaitSome(&op, queue, pending);
      beside.erase(beside.begin(), beside.end() - pending);
    }
  }
  return success();
}

LogicalResult ProgramWriter::run() {
  builder.setInsertionPointToEnd(module.getBody());
  if (failed(writeSegments()))
    return failure();
  writeTensors();
  // Equal constants share a place; one without bytes may be where another is.
  llvm::DenseSet<std::pair<Attribute, Attribute>> written;
  function.getBody().walk([&](Operation *op) {
    if (isa<step::GroupOp>(op->getParentOp()))
      return;
    ElementsAttr value;
    if (!op->hasAttr(step::placesAttrName) ||
        !matchPattern(op, m_Constant(&value)))
      return;
    step::PlaceAttr at = place(op->getResult(0));
    if (!written.insert({at, value}).second)
      return;
    exec::ConstantOp::create(
        builder, op->getLoc(),
        FlatSymbolRefAttr::get(builder.getContext(),
                               step::stringifySegment(at.getSegment())),
        builder.getI64IntegerAttr(at.getOffset()), value);
  });
  program = exec::ProgramOp::create(builder, function.getLoc(), "step");
  builder.createBlock(&program.getBody());
  Block &body = function.getBody().front();
  if (failed(writeBlock(body)))
    return failure();
  Operation *ret = body.getTerminator();
  SmallVector<PlanRecord::Id> ids;
  for (unsigned index = 0; index < ret->getNumOperands(); ++index)
    ids.push_back(record.resultOf(index));
  copyResults(
      ret->getOperands(),
      function->getAttrOfType<ArrayAttr>(step::resultPlacesAttrName).getValue(),
      ids, ret, record.timeOf(ret));
  record.endRegion(program);
  record.write(program);
  for (StringRef proved :
       {step::temporariesBoundAttrName, step::recomputationAttrName})
    if (Attribute attribute = function->getAttr(proved))
      program->setAttr(proved, attribute);
  builder.setInsertionPointToEnd(module.getBody());
  writeInit(builder, function, [&](step::GroupOp group) {
    return kernelFor(group, /*inPlace=*/{PlanRecord::none});
  });
  function.erase();
  return success();
}

struct LowerToExec : public memory::impl::LowerToExecPassBase<LowerToExec> {
  LowerToExec() = default;
  explicit LowerToExec(const ProgramDevice &device) : device(device) {}

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function || !function->hasAttr(step::argumentPlacesAttrName)) {
      getOperation().emitError()
          << "expected a function @main in scheduled form; run the stage plan "
             "first";
      return signalPassFailure();
    }
    if (failed(ProgramWriter(getOperation(), function, device).run()))
      signalPassFailure();
  }

  ProgramDevice device;
};

} // namespace

std::unique_ptr<Pass>
memory::createLowerToExecPass(const ProgramDevice &device) {
  return std::make_unique<LowerToExec>(device);
}
