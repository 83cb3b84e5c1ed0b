//===- PackageModule.cpp - Object form to a .tenon file ------------------===//
//
// See PackageModule.h. One small function per kind of operation.
//
//===----------------------------------------------------------------------===//

#include "tenon/Package/PackageModule.h"

#include "NeededBytes.h"
#include "PackagePlan.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Exec/EntryPoints.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/GpuCode.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Format/Mesh.h"
#include "tenon/Format/PinnedMemory.h"
#include "tenon/Format/Reader.h"
#include "tenon/Libraries/Call.h"
#include "tenon/Libraries/Stored.h"
#include "tenon/Package/ObjectForm.h"
#include "tenon/Target/GpuArchitectures.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstring>
#include <map>

using namespace mlir;
using namespace tenon;
using namespace tenon::package;

namespace {

constexpr uint64_t mostConstantBytes = uint64_t(1) << 32;

class Packager {
public:
  Packager(ModuleOp module, const PackageOptions &options)
      : module(module), options(options) {}

  FailureOr<Package> run();

private:
  LogicalResult addTensor(exec::TensorOp op);
  LogicalResult addPart(exec::TensorOp op, const step::HeldPart &part);
  LogicalResult addConstant(exec::ConstantOp op);
  LogicalResult addKernel(func::FuncOp op);
  LogicalResult addLibrary(exec::LibraryOp op);
  LogicalResult addMesh();
  LogicalResult addCuts(exec::TensorOp op, format::Tensor &tensor);
  LogicalResult addCollective(exec::CollectiveOp op);
  LogicalResult checkArguments(exec::InvokeOp op, uint32_t callee,
                               ArrayRef<format::Slice> slices);
  void addCopy(exec::CopyOp op);
  void addCallee(StringRef name, format::Callee callee,
                 std::unique_ptr<libraries::Call> call = nullptr);
  LogicalResult addMemory();
  format::DeviceClass describeClass(exec::DeviceClassOp device) const;
  LogicalResult addSections();
  LogicalResult addPtx(unsigned number, DictionaryAttr code);
  void addPackingCertificates();
  LogicalResult addPlan(exec::ProgramOp program, format::EntryPoint &entry);
  LogicalResult namedStorages(exec::ProgramOp program, StringRef attribute,
                              std::vector<uint32_t> &storages);
  FailureOr<format::Block> blockOf(Region &region);
  FailureOr<format::Instruction> instructionOf(Operation &op);
  format::Slice sliceOf(Value value);
  std::vector<format::Slice> slicesOf(ValueRange values) {
    std::vector<format::Slice> slices;
    for (Value value : values)
      slices.push_back(sliceOf(value));
    return slices;
  }

  ModuleOp module;
  const PackageOptions &options;
  Package package;
  llvm::StringMap<uint32_t> segmentIndex, calleeIndex;
  /// Callees that others follow, and these.
  std::vector<std::pair<size_t, FlatSymbolRefAttr>> followers;
  llvm::StringMap<size_t> heldInParts; // tensors by name
  std::vector<format::Tensor> hidden;  // which stand behind all others
  /// Stored tensors by the number of the argument or result of @main.
  std::map<int64_t, uint32_t> argumentStorages, resultStorages;
  /// Those that entry points beside the step may name.
  llvm::StringMap<uint32_t> storagesByName;
  /// Of these, the ones of hidden state.
  std::map<int64_t, uint32_t> hiddenStorages;
  std::vector<std::unique_ptr<libraries::Call>> calls; // per callee, or null
};

format::Slice Packager::sliceOf(Value value) {
  auto slice = value.getDefiningOp<exec::SliceOp>();
  return {segmentIndex.lookup(slice.getSegment()), slice.getOffset(),
          uint64_t(storedBytes(value.getType()))};
}

LogicalResult Packager::addTensor(exec::TensorOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  auto element = elementTypeOf(type.getElementType());
  if (!element)
    return op.emitOpError("has element type ")
           << type.getElementType() << ", which files do not hold";
  format::Tensor tensor;
  tensor.name = op.getName();
  if (auto aliases = op.getAliases())
    for (Attribute alias : *aliases)
      tensor.aliases.push_back(cast<StringAttr>(alias).str());
  tensor.type = *element;
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  tensor.argument = int64_t(op.getArgument());
  tensor.result = int64_t(op.getResult());
  if (auto entry = op->getAttrOfType<StringAttr>(exec::entryPointAttrName))
    tensor.entryPoint = entry.str();
  tensor.role = format::Role::unknown;
  if (auto role = llvm::dyn_cast_or_null<step::RoleAttr>(
          op.getRole().value_or(Attribute())))
    tensor.role = format::Role(uint8_t(role.getValue()));
  else if (tensor.argument < 0)
    tensor.role = format::Role::metric;
  auto storage = uint32_t(package.index.storages.size());
  package.index.storages.push_back(
      {tensor.type,
       tensor.shape, // of a rank's part
       {segmentIndex.lookup(op.getSegment()), op.getOffset(),
        uint64_t(storedBytes(type))}});
  if (tensor.argument >= 0)
    argumentStorages[tensor.argument] = storage;
  if (tensor.result >= 0)
    resultStorages[tensor.result] = storage;
  if (tensor.argument >= 0 || !tensor.isOfStep())
    storagesByName[op.getName()] = storage;
  if (failed(addCuts(op, tensor)))
    return failure();
  auto part = step::heldPartOf(op->getAttrDictionary());
  if (part && part->part > 0)
    return addPart(op, *part);
  tensor.held.storages = {storage};
  if (part) {
    // The first part stands where users have the tensor.
    tensor.name = part->tensor;
    tensor.type = ElementType::f32;
    tensor.held.rule = *fromName<format::HoldingRule>(part->rule);
    heldInParts[part->tensor] = package.index.tensors.size();
  }
  if (tensor.isHidden()) {
    hiddenStorages[tensor.argument] = storage;
    tensor.argument = tensor.result = -1;
    hidden.push_back(std::move(tensor));
    return success();
  }
  package.index.tensors.push_back(std::move(tensor));
  return success();
}

/// What the tensor is cut from, and how.
LogicalResult Packager::addCuts(exec::TensorOp op, format::Tensor &tensor) {
  auto whole = op->getAttrOfType<TypeAttr>(step::wholeAttrName);
  auto cuts = op->getAttrOfType<ArrayAttr>(step::cutsAttrName);
  if (!whole != package.index.mesh.empty() || !whole != !cuts)
    return op.emitOpError("needs '")
           << step::wholeAttrName << "' and '" << step::cutsAttrName
           << "' in a step for several ranks, and neither in another; run the "
              "stage shard";
  if (!whole)
    return success();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(whole.getValue()).getShape();
  tensor.shape.assign(shape.begin(), shape.end());
  for (Attribute attribute : cuts) {
    ArrayRef<int64_t> parts = cast<DenseI64ArrayAttr>(attribute).asArrayRef();
    // The parts of a complex element are no dimension that users see.
    if (tensor.cuts.size() == shape.size()) {
      if (!parts.empty())
        return op.emitOpError("is cut between the parts of its elements");
      continue;
    }
    format::Cut &cut = tensor.cuts.emplace_back();
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      cut.strides.push_back(parts[i]);
      cut.sizes.push_back(parts[i + 1]);
    }
  }
  return success();
}

/// The axes of `data=2,model=4`.
LogicalResult Packager::addMesh() {
  auto mesh = module->getAttrOfType<StringAttr>(step::meshAttrName);
  if (!mesh)
    return success();
  std::string error;
  auto axes = format::parseMesh(mesh.getValue(), error);
  if (!axes)
    return module.emitError() << "'" << step::meshAttrName << "': " << error;
  package.index.mesh = std::move(*axes);
  return success();
}

LogicalResult Packager::addCollective(exec::CollectiveOp op) {
  std::string error;
  auto description = exec::collectiveOf(op.getDescription(), error);
  if (description)
    error = libraries::whyInvalid(*description, package.index.ranks());
  const libraries::Reducer reducer = reducerOf(op);
  if (error.empty())
    error = libraries::whyInvalid(*description, reducer);
  if (!error.empty())
    return op.emitOpError("has a damaged description: ") << error;
  format::Callee callee = libraries::store(*description);
  if (reducer != libraries::Reducer::ranks) {
    callee.library = name(reducer);
    callee.description += ", combined by " + callee.library;
    callee.workspaceBytes =
        uint64_t(libraries::workspaceBytes(*description, reducer));
  }
  addCallee(op.getSymName(), std::move(callee));
  return success();
}

/// Adds the stored tensor that came last to the one it is a part of.
LogicalResult Packager::addPart(exec::TensorOp op, const step::HeldPart &part) {
  auto known = heldInParts.find(part.tensor);
  if (known == heldInParts.end())
    return op.emitOpError("is part ") << part.part << " of '" << part.tensor
                                      << "', whose part 0 is missing";
  package.index.tensors[known->second].held.storages.push_back(
      uint32_t(package.index.storages.size()) - 1);
  return success();
}

std::vector<uint32_t> inOrder(const std::map<int64_t, uint32_t> &storages) {
  auto numbers = llvm::make_second_range(storages);
  return {numbers.begin(), numbers.end()};
}

LogicalResult Packager::addConstant(exec::ConstantOp op) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value)
    return op.emitOpError("holds a constant whose bytes are elided");
  auto type = cast<RankedTensorType>(value.getType());
  uint64_t bytes = storedBytes(type), offset = op.getOffset();
  // A constant that repeats one element may be larger than any text.
  if (offset + bytes > mostConstantBytes)
    return op.emitOpError("needs constants of ")
           << offset + bytes << " bytes, at most " << mostConstantBytes
           << " are written; compute it in the step";
  if (package.constants.size() < offset + bytes)
    package.constants.resize(offset + bytes);
  std::byte *to = package.constants.data() + offset;
  if (type.getElementType().isInteger(1)) {
    // Packed in the attribute, a byte each in memory.
    for (bool bit : value.getValues<bool>())
      *to++ = std::byte(bit);
    return success();
  }
  ArrayRef<char> raw = value.getRawData();
  if (value.isSplat() && raw.size() < bytes) {
    for (uint64_t at = 0; at < bytes; at += raw.size())
      std::memcpy(to + at, raw.data(), raw.size());
    return success();
  }
  if (raw.size() != bytes)
    return op.emitOpError("holds ")
           << raw.size() << " bytes, expected " << bytes;
  std::memcpy(to, raw.data(), bytes);
  return success();
}

void Packager::addCallee(StringRef name, format::Callee callee,
                         std::unique_ptr<libraries::Call> call) {
  calleeIndex[name] = package.index.callees.size();
  package.index.callees.push_back(std::move(callee));
  calls.push_back(std::move(call));
}

LogicalResult Packager::addKernel(func::FuncOp op) {
  auto symbol = op->getAttrOfType<StringAttr>(exec::symbolAttrName);
  if (!symbol)
    return op.emitOpError("has no compiled code; run the stage codegen first");
  format::Callee kernel;
  kernel.kind = format::CalleeKind::kernel;
  kernel.name = symbol.str();
  kernel.fallback = op->hasAttr(exec::fallbackAttrName);
  auto inPlace = op->getAttrOfType<DenseI64ArrayAttr>(exec::inPlaceAttrName);
  for (int64_t operand = 0; operand < int64_t(op.getNumArguments()); ++operand)
    if (!inPlace || !llvm::is_contained(inPlace.asArrayRef(), operand))
      kernel.reads.push_back(operand);
  if (auto description =
          op->getAttrOfType<StringAttr>(exec::descriptionAttrName))
    kernel.description = description.str();
  if (auto next =
          op->getAttrOfType<FlatSymbolRefAttr>(exec::followedByAttrName))
    followers.emplace_back(package.index.callees.size(), next);
  addCallee(op.getSymName(), std::move(kernel));
  return success();
}

LogicalResult Packager::addLibrary(exec::LibraryOp op) {
  std::string error;
  auto description = exec::fromAttribute(op.getDescription(), error);
  if (!description)
    return op.emitOpError("has a damaged description: ") << error;
  auto call = libraries::Call::create(*description, options.isa, error);
  if (!call)
    return op.emitOpError("describes a call that the library does not run on ")
           << target::describe(options.isa).featureSet << ": " << error;
  if (uint64_t(call->workspaceBytes()) > op.getWorkspaceBytes())
    return op.emitOpError("gives its call ")
           << op.getWorkspaceBytes()
           << " bytes of workspace, the library needs "
           << call->workspaceBytes();
  format::Callee callee =
      libraries::store(*description, options.isa, op.getWorkspaceBytes());
  callee.onHost = op->hasAttr(exec::onHostAttrName);
  addCallee(op.getSymName(), std::move(callee), std::move(call));
  return success();
}

void Packager::addCopy(exec::CopyOp op) {
  format::Callee copy;
  copy.kind = format::CalleeKind::copy;
  copy.name = "copy";
  copy.reads = {0};
  addCallee(op.getSymName(), std::move(copy));
}

format::DeviceClass Packager::describeClass(exec::DeviceClassOp device) const {
  std::string name = device.getSymName().str();
  // Of GPUs the least architecture that there is code for.
  if (auto codes = module->getAttrOfType<ArrayAttr>(exec::ptxAttrName);
      codes && !codes.empty())
    return {
        name,
        cast<DictionaryAttr>(codes[0]).getAs<StringAttr>("architecture").str(),
        {}};
  return {name, std::string(target::describe(options.isa).featureSet),
          target::featuresOf(options.isa)};
}

/// The device classes, memory spaces and segments.
LogicalResult Packager::addMemory() {
  format::Index &index = package.index;
  llvm::StringMap<uint32_t> classIndex, spaceIndex;
  for (auto device : module.getOps<exec::DeviceClassOp>()) {
    classIndex[device.getSymName()] = index.deviceClasses.size();
    index.deviceClasses.push_back(describeClass(device));
  }
  for (auto space : module.getOps<exec::MemorySpaceOp>()) {
    spaceIndex[space.getSymName()] = index.memorySpaces.size();
    index.memorySpaces.push_back({space.getSymName().str()});
  }
  for (auto segment : module.getOps<exec::SegmentOp>()) {
    if (!spaceIndex.contains(segment.getSpace()) ||
        !classIndex.contains(segment.getDeviceClass()))
      return segment.emitOpError("names the memory space '")
             << segment.getSpace() << "' and the device class '"
             << segment.getDeviceClass() << "', expected those of the module";
    if (segment.getKind() == exec::SegmentKind::constants &&
        segment.getBytes() > mostConstantBytes)
      return segment.emitOpError("has ")
             << segment.getBytes() << " bytes of constants, at most "
             << mostConstantBytes << " are written";
    segmentIndex[segment.getSymName()] = index.segments.size();
    index.segments.push_back({segment.getSymName().str(),
                              format::SegmentKind(uint8_t(segment.getKind())),
                              spaceIndex.lookup(segment.getSpace()),
                              classIndex.lookup(segment.getDeviceClass()),
                              segment.getBytes(),
                              uint32_t(segment.getAlignment())});
  }
  return success();
}

LogicalResult Packager::addPtx(unsigned number, DictionaryAttr code) {
  auto name = code.getAs<StringAttr>("architecture");
  const auto *architecture = target::gpuArchitectureNamed(name.getValue());
  if (!architecture)
    return module.emitError()
           << "'" << exec::ptxAttrName << "' has code for " << name
           << ", expected " << target::gpuArchitectureNames();
  format::GpuModule &described = package.index.gpuModules.emplace_back();
  described.architecture = name.str();
  described.capability = architecture->capability();
  described.driver = architecture->driver;
  described.cuda = architecture->cuda;
  described.section = uint32_t(package.sections.size());
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto launches =
        kernel->getAttrOfType<DenseI64ArrayAttr>(exec::launchesAttrName);
    if (!launches || launches.size() <= 2 * int64_t(number) + 1)
      return kernel.emitOpError("does not say in '")
             << exec::launchesAttrName << "' how it starts on " << name;
    // What is out of range is refused with the file.
    auto count = [](DenseI64ArrayAttr numbers, int64_t at) {
      return uint32_t(std::clamp<int64_t>(numbers[at], 0, UINT32_MAX));
    };
    described.launches.push_back(
        {count(launches, 2 * number), count(launches, 2 * number + 1)});
    // What only people read may be missing.
    auto schedules = kernel->getAttrOfType<ArrayAttr>(exec::schedulesAttrName);
    described.schedules.push_back(
        schedules && schedules.size() > number
            ? cast<StringAttr>(schedules[number]).str()
            : "");
    auto resources =
        kernel->getAttrOfType<DenseI64ArrayAttr>(exec::resourcesAttrName);
    const int64_t first = 4 * int64_t(number);
    if (code.get("binary"))
      described.resources.push_back(
          resources && resources.size() > first + 3
              ? format::KernelResources{count(resources, first),
                                        count(resources, first + 1),
                                        count(resources, first + 2),
                                        count(resources, first + 3)}
              : format::KernelResources());
  }
  StringRef text = code.getAs<StringAttr>("text").getValue();
  package.sections.push_back(
      {format::SectionKind::ptx,
       std::as_bytes(std::span(text.data(), text.size()))});
  if (auto binary = code.getAs<DenseElementsAttr>("binary")) {
    described.assembler = code.getAs<StringAttr>("assembler").str();
    described.binary = int32_t(package.sections.size());
    ArrayRef<char> bytes = binary.getRawData();
    package.sections.push_back(
        {format::SectionKind::cubin,
         std::as_bytes(std::span(bytes.data(), bytes.size()))});
  }
  return success();
}

/// Constants and code.
LogicalResult Packager::addSections() {
  if (!package.constants.empty())
    package.sections.push_back(
        {format::SectionKind::constants, package.constants});
  if (auto codes = module->getAttrOfType<ArrayAttr>(exec::ptxAttrName)) {
    for (auto [number, code] : llvm::enumerate(codes))
      if (failed(addPtx(number, cast<DictionaryAttr>(code))))
        return failure();
    return success();
  }
  auto sharedObject = sharedObjectOf(module);
  if (failed(sharedObject))
    return failure();
  if (!sharedObject->empty())
    package.sections.push_back(
        {format::SectionKind::cpuKernels,
         std::as_bytes(std::span(sharedObject->data(), sharedObject->size()))});
  return success();
}

/// What was planned for the program, and proved of that.
LogicalResult Packager::addPlan(exec::ProgramOp program,
                                format::EntryPoint &entry) {
  if (auto plan =
          program->getAttrOfType<DictionaryAttr>(step::recomputationAttrName)) {
    auto nanoseconds = [&](llvm::StringRef name) {
      auto value = plan.getAs<IntegerAttr>(name);
      return std::to_string(value ? value.getInt() : 0);
    };
    entry.certificates.push_back(
        {"recomputation", "predicted " + nanoseconds("nanoseconds") +
                              " ns, bound " + nanoseconds("bound_nanoseconds") +
                              " ns, recomputing nothing " +
                              nanoseconds("base_nanoseconds") + " ns"});
  }
  if (auto proof = module->getAttrOfType<StringAttr>(step::layoutProofAttrName);
      proof && entry.name == "step")
    entry.certificates.push_back({"layouts", proof.str()});
  auto packaged = packagePlan(program, segmentIndex);
  if (failed(packaged))
    return failure();
  entry.plan = std::move(*packaged);
  // What gives hidden state its initial values runs outside of the step.
  if (entry.plan && entry.name == "step")
    entry.plan->memoryBudget = options.memoryBudget;
  return success();
}

/// What an entry point uses of the temporaries, which all of them share, is
/// known once all are there.
void Packager::addPackingCertificates() {
  format::Index &index = package.index;
  auto bounds = llvm::map_to_vector(
      module.getOps<exec::ProgramOp>(), [](exec::ProgramOp program) {
        return program->getAttrOfType<IntegerAttr>(
            step::temporariesBoundAttrName);
      });
  for (uint32_t i = 0; i < index.segments.size(); ++i)
    if (format::hasTemporaries(index, index.segments[i]))
      for (auto [entry, bound] : llvm::zip_equal(index.entryPoints, bounds))
        if (bound)
          entry.certificates.insert(
              entry.certificates.begin(),
              {"offset-packing",
               "arena " + std::to_string(arenaOf(index, i, entry)) +
                   " bytes, bound " + std::to_string(bound.getInt()) +
                   " bytes"});
}

/// Whether the slices hold what the library reads and writes, as the runtime
/// will ask when it loads the file.
LogicalResult Packager::checkArguments(exec::InvokeOp op, uint32_t callee,
                                       ArrayRef<format::Slice> slices) {
  if (!calls[callee])
    return success();
  const libraries::Call &call = *calls[callee];
  const format::Callee &called = package.index.callees[callee];
  const int64_t tensors = call.argumentCount() - (call.workspaceBytes() > 0);
  int64_t expected = tensors + called.takesWorkspace();
  if (int64_t(slices.size()) != expected)
    return op.emitOpError("passes ")
           << slices.size() << " slices, '" << op.getCallee() << "' takes "
           << expected;
  const int64_t checked = called.onHost ? tensors : call.argumentCount();
  for (int64_t i = 0; i < checked; ++i)
    if (slices[i].bytes < uint64_t(call.argumentBytes(i)))
      return op.emitOpError("passes ")
             << op.getSlices()[i].getType() << " as argument #" << i << ", "
             << slices[i].bytes << " bytes, of which '" << op.getCallee()
             << "' uses " << call.argumentBytes(i)
             << "; correct the description or the slice";
  return success();
}

/// The stored tensors that a program's attribute names.
LogicalResult Packager::namedStorages(exec::ProgramOp program,
                                      StringRef attribute,
                                      std::vector<uint32_t> &storages) {
  auto names = program->getAttrOfType<ArrayAttr>(attribute);
  if (!names)
    return program.emitOpError("is no 'step' and lacks '")
           << attribute << "', the names of its tensors";
  for (Attribute name : names) {
    auto found = storagesByName.find(cast<StringAttr>(name).getValue());
    if (found == storagesByName.end())
      return program.emitOpError("names the unknown tensor ") << name;
    storages.push_back(found->second);
  }
  return success();
}

FailureOr<format::Instruction> Packager::instructionOf(Operation &op) {
  format::Instruction instruction;
  instruction.operands = slicesOf(op.getOperands());
  if (auto invoke = dyn_cast<exec::InvokeOp>(op)) {
    auto callee = calleeIndex.find(invoke.getCallee());
    if (callee == calleeIndex.end())
      return invoke.emitOpError("invokes the unknown callee '")
             << invoke.getCallee() << "'";
    instruction.kind = format::InstructionKind::invoke;
    instruction.callee = callee->second;
    instruction.parts = uint32_t(invoke.getParts());
    instruction.queue = uint32_t(invoke.getQueue());
    if (failed(checkArguments(invoke, callee->second, instruction.operands)))
      return failure();
    if (auto joint = op.getAttrOfType<DictionaryAttr>(exec::jointAttrName)) {
      auto name = joint.getAs<FlatSymbolRefAttr>("launch");
      auto launch = calleeIndex.find(name.getValue());
      if (launch == calleeIndex.end())
        return invoke.emitOpError("is launched by the unknown kernel ") << name;
      instruction.joint = int32_t(launch->second);
      instruction.joined =
          uint32_t(joint.getAs<IntegerAttr>("invocations").getInt());
    }
  } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
    instruction.kind = format::InstructionKind::wait;
    instruction.queue = uint32_t(wait.getQueue());
    instruction.pending = uint32_t(wait.getPending());
  } else if (auto loop = dyn_cast<exec::WhileOp>(op)) {
    instruction.kind = format::InstructionKind::loop;
    if (auto trips = loop.getTrips())
      instruction.trips = int64_t(*trips);
  } else if (isa<exec::CaseOp>(op)) {
    instruction.kind = format::InstructionKind::branch;
  } else {
    return op.emitOpError("is no instruction of the exec program");
  }
  for (Region &region : op.getRegions()) {
    auto block = blockOf(region);
    if (failed(block))
      return failure();
    instruction.blocks.push_back(std::move(*block));
  }
  return instruction;
}

FailureOr<format::Block> Packager::blockOf(Region &region) {
  format::Block block;
  for (Operation &op : region.front()) {
    if (isa<exec::SliceOp>(op))
      continue;
    auto instruction = instructionOf(op);
    if (failed(instruction))
      return failure();
    block.instructions.push_back(std::move(*instruction));
  }
  return block;
}

FailureOr<Package> Packager::run() {
  format::Index &index = package.index;
  index.producer = "Tenon " TENON_VERSION;
  index.name = module.getSymName().value_or("step").str();
  index.subnormals = options.subnormals;
  index.arithmetic = options.arithmetic;
  if (failed(addMesh()) || failed(addMemory()))
    return failure();
  for (Operation &op : *module.getBody()) {
    LogicalResult added = success();
    if (auto tensor = dyn_cast<exec::TensorOp>(op))
      added = addTensor(tensor);
    else if (auto constant = dyn_cast<exec::ConstantOp>(op))
      added = addConstant(constant);
    else if (auto kernel = dyn_cast<func::FuncOp>(op))
      added = addKernel(kernel);
    else if (auto library = dyn_cast<exec::LibraryOp>(op))
      added = addLibrary(library);
    else if (auto collective = dyn_cast<exec::CollectiveOp>(op))
      added = addCollective(collective);
    else if (auto copy = dyn_cast<exec::CopyOp>(op))
      addCopy(copy);
    if (failed(added))
      return failure();
  }
  for (auto [number, next] : followers) {
    auto found = calleeIndex.find(next.getValue());
    if (found == calleeIndex.end())
      return module.emitError()
             << "the kernel '" << index.callees[number].name
             << "' is followed by the unknown kernel " << next;
    index.callees[number].followedBy = int32_t(found->second);
  }
  index.tensors.insert(index.tensors.end(), hidden.begin(), hidden.end());
  for (const format::Segment &segment : index.segments)
    if (segment.kind == format::SegmentKind::constants)
      package.constants.resize(segment.bytes);
  if (failed(addSections()))
    return failure();
  for (auto program : module.getOps<exec::ProgramOp>()) {
    auto block = blockOf(program.getBody());
    if (failed(block))
      return failure();
    format::EntryPoint &entry = index.entryPoints.emplace_back();
    entry.name = program.getSymName().str();
    entry.program = std::move(*block);
    if (format::Index::isExtra(entry.name)) {
      if (failed(
              namedStorages(program, exec::takesAttrName, entry.arguments)) ||
          failed(namedStorages(program, exec::givesAttrName, entry.results)))
        return failure();
    } else if (entry.name == "init") {
      entry.results = inOrder(hiddenStorages);
    } else {
      entry.arguments = inOrder(argumentStorages);
      entry.results = inOrder(resultStorages);
    }
    if (failed(addPlan(program, entry)))
      return failure();
    auto flops = program->getAttrOfType<FloatAttr>(step::flopsAttrName);
    if (!flops && entry.name == "step")
      flops = module->getAttrOfType<FloatAttr>(step::flopsAttrName);
    if (flops)
      entry.flops = flops.getValueAsDouble();
  }
  addPackingCertificates();
  if (index.entryPoints.empty())
    return module.emitError()
           << "expected a program in exec form; run the stage lower first";
  // What was edited may be in form and make no file that can be loaded.
  if (std::string fault = format::whyInvalid(index); !fault.empty())
    return module.emitError() << "the file would be refused: " << fault;
  return std::move(package);
}

} // namespace

FailureOr<Package> package::packageModule(ModuleOp module,
                                          const PackageOptions &options) {
  return Packager(module, options).run();
}
