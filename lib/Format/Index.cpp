//===- Index.cpp - The index of a .tenon file as plain structs -----------===//
//
// What an index must fulfil.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Index.h"

#include "tenon/Format/Holding.h"
#include "tenon/Format/Parts.h"
#include "tenon/Format/PinnedMemory.h"
#include "tenon/Format/Reader.h"
#include "tenon/Support/CheckedArithmetic.h"

#include <algorithm>
#include <bit>
#include <set>

using namespace tenon;
using namespace tenon::format;

namespace {

/// Checks an index from the outside in; the first fault ends the walk.
class Checker {
public:
  explicit Checker(const Index &index) : index(index) {}

  std::string check() {
    if (index.version != formatVersion)
      fail("format version " + std::to_string(index.version) + ", expected " +
           std::to_string(formatVersion));
    if (!isKnown(index.subnormals))
      fail("subnormal numbers are treated in unknown way " +
           std::to_string(int(index.subnormals)));
    checkSegments();
    checkMesh();
    if (!error.empty())
      return error;
    for (size_t i = 0; i < index.storages.size() && error.empty(); ++i)
      checkStorage(index.storages[i], "stored tensor " + std::to_string(i));
    checkTensors();
    checkCallees();
    for (const EntryPoint &entry : index.entryPoints) {
      checkBlock(entry.program, 0);
      checkSignature(entry);
      if (entry.plan)
        checkPlan(*entry.plan);
    }
    for (const GpuModule &module : index.gpuModules)
      check(module);
    if (index.gpuModules.empty() &&
        std::ranges::find(index.deviceClasses, "cuda", &DeviceClass::name) !=
            index.deviceClasses.end())
      fail("it is for GPUs and has no code for them");
    std::set<std::string_view> entryPoints;
    for (const EntryPoint &entry : index.entryPoints)
      if (!entryPoints.insert(entry.name).second)
        fail("two entry points are called '" + entry.name + "'");
    checkInitialValues();
    return error;
  }

private:
  void fail(std::string message) {
    if (error.empty())
      error = std::move(message);
  }

  void checkSegments() {
    uint64_t sum = 0;
    for (size_t i = 0; i < index.segments.size(); ++i) {
      const Segment &segment = index.segments[i];
      std::string which = "segment " + std::to_string(i);
      if (!isKnown(segment.kind))
        fail(which + " is of unknown kind " +
             std::to_string(int(segment.kind)));
      if (segment.space >= index.memorySpaces.size() ||
          segment.deviceClass >= index.deviceClasses.size())
        fail(which + " names a memory space or device class that is not there");
      else if (isPinned(index, segment) &&
               (segment.kind != SegmentKind::temporaries ||
                index.deviceClasses[segment.deviceClass].name != "cuda"))
        fail(which + " lies in memory of a GPU's host and has other than "
                     "temporaries of a GPU");
      if (!std::has_single_bit(segment.alignment) || segment.alignment < 64 ||
          segment.alignment > (2u << 20))
        fail(which + " has alignment " + std::to_string(segment.alignment) +
             ", expected a power of two from 64 to 2097152");
      // 2^47 bytes are all a process can address.
      if (segment.bytes > (uint64_t(1) << 47) ||
          (sum += segment.bytes) > (uint64_t(1) << 47))
        fail(which + " is larger than memory can be");
    }
    if (std::count_if(index.segments.begin(), index.segments.end(),
                      [](const Segment &segment) {
                        return segment.kind == SegmentKind::constants;
                      }) > 1)
      fail("there is more than one segment of constants");
  }

  void checkMesh() {
    constexpr int64_t mostRanks = 4096;
    int64_t ranks = 1;
    for (const MeshAxis &axis : index.mesh)
      if (axis.size < 1 || axis.size > mostRanks ||
          (ranks *= axis.size) > mostRanks)
        return fail("its mesh has more than " + std::to_string(mostRanks) +
                    " ranks");
  }

  bool checkSlice(const Slice &slice, const char *what) {
    if (slice.segment >= index.segments.size()) {
      fail(std::string(what) + " is in segment " +
           std::to_string(slice.segment) + " of " +
           std::to_string(index.segments.size()));
      return false;
    }
    uint64_t size = index.segments[slice.segment].bytes;
    if (slice.offset > size || slice.bytes > size - slice.offset) {
      fail(std::string(what) + " ends at byte " + std::to_string(slice.offset) +
           " + " + std::to_string(slice.bytes) + " of a segment of " +
           std::to_string(size));
      return false;
    }
    if (slice.offset % 64 != 0) {
      fail(std::string(what) + " starts at byte " +
           std::to_string(slice.offset) + ", expected a multiple of 64");
      return false;
    }
    return true;
  }

  /// The bytes that the shape takes; nothing with a fault if there are none.
  std::optional<uint64_t> checkShape(ElementType type,
                                     const std::vector<int64_t> &shape,
                                     const std::string &which) {
    if (byteWidth(type) == 0)
      fail(which + " has unknown element type " + std::to_string(int(type)));
    if (shape.size() > maxRank)
      fail(which + " has rank " + std::to_string(shape.size()) + ", at most " +
           std::to_string(maxRank) + " is possible");
    std::optional<int64_t> bytes = byteWidth(type);
    for (int64_t extent : shape) {
      if (extent < 0)
        fail(which + " has extent " + std::to_string(extent));
      bytes = bytes ? mulChecked(*bytes, extent) : std::nullopt;
    }
    if (!bytes)
      fail(which + ": its shape takes more than memory can hold");
    return error.empty() ? std::optional(uint64_t(*bytes)) : std::nullopt;
  }

  void checkStorage(const Storage &storage, const std::string &which) {
    auto bytes = checkShape(storage.type, storage.shape, which);
    if (bytes && *bytes != storage.place.bytes)
      fail(which + " has " + std::to_string(storage.place.bytes) +
           " bytes, its shape takes " + std::to_string(*bytes));
    checkSlice(storage.place, which.c_str());
  }

  void checkTensors() {
    std::set<std::string_view> arguments, results, ofEntryPoints, hidden;
    std::set<int32_t> argumentNumbers, resultNumbers;
    std::set<uint32_t> used;
    for (const Tensor &tensor : index.tensors) {
      std::string which = "tensor '" + tensor.name + "'";
      if (!checkShape(tensor.type, tensor.shape, which))
        return;
      if (!isKnown(tensor.role))
        fail(which + " has unknown role " + std::to_string(int(tensor.role)));
      if (std::string fault = whyNotCut(tensor, index.ranks()); !fault.empty())
        return fail(which + " " + fault);
      const Tensor part = partOf(tensor);
      checkHolding(part, tensor.held, which, used);
      for (const Holding &copy : tensor.copies)
        checkHolding(part, copy, "a copy of " + which, used);
      if (!error.empty())
        return;
      if (tensor.isHidden()) {
        if (tensor.argument != -1 || tensor.result != -1 ||
            index.segmentOf(tensor).kind != SegmentKind::state)
          fail(which + " has the name of hidden state, but is none");
        if (!hidden.insert(tensor.name).second)
          fail(which + " is not the only hidden state of its name");
        continue;
      }
      if (!hidden.empty())
        fail(which + " comes behind hidden state");
      if (!tensor.isOfStep()) {
        checkOfEntryPoint(tensor, which);
        if (!ofEntryPoints.insert(tensor.name).second)
          fail(which + " is not the only one of its name");
        continue;
      }
      if (!ofEntryPoints.empty())
        fail(which + " comes behind the tensors of other entry points");
      if (tensor.argument < -1 || tensor.result < -1 ||
          (tensor.argument == -1 && tensor.result == -1))
        fail(which + " is neither an argument nor a result");
      if (tensor.argument >= 0 &&
          (!arguments.insert(tensor.name).second ||
           !argumentNumbers.insert(tensor.argument).second))
        fail(which + " is not the only argument of its name or number");
      if (tensor.result >= 0 && (!results.insert(tensor.name).second ||
                                 !resultNumbers.insert(tensor.result).second))
        fail(which + " is not the only result of its name or number");
    }
  }

  void checkOfEntryPoint(const Tensor &tensor, const std::string &which) {
    const EntryPoint *entry = index.findEntryPoint(tensor.entryPoint);
    if (!entry || !Index::isExtra(entry->name) ||
        !tensor.name.starts_with(tensor.entryPoint + "."))
      return fail(which + " names the entry point '" + tensor.entryPoint +
                  "', which has no such tensor");
    SegmentKind kind = index.segmentOf(tensor).kind;
    bool isInput = kind == SegmentKind::batch;
    const auto &uses = isInput ? entry->arguments : entry->results;
    if (tensor.argument != -1 || tensor.result != -1 ||
        (!isInput && kind != SegmentKind::results) ||
        tensor.held.rule != HoldingRule::asItIs || !tensor.copies.empty() ||
        std::ranges::find(uses, tensor.held.storages[0]) == uses.end())
      fail(which + " is neither an input nor a result of '" + entry->name +
           "'");
  }

  /// `used` are the stored tensors of those before.
  void checkHolding(const Tensor &tensor, const Holding &holding,
                    const std::string &which, std::set<uint32_t> &used) {
    for (uint32_t number : holding.storages) {
      if (number >= index.storages.size() || !used.insert(number).second)
        return fail(which + " has stored tensor " + std::to_string(number) +
                    " of " + std::to_string(index.storages.size()) +
                    ", which is not there or another's");
      if (index.segments[index.storages[number].place.segment].kind !=
          index.segments[index.storages[holding.storages[0]].place.segment]
              .kind)
        return fail(which + " is held in segments of different kinds");
    }
    if (std::string fault = whyNotHeld(index, tensor, holding); !fault.empty())
      fail(which + " " + fault);
  }

  void checkSignature(const EntryPoint &entry) {
    for (const auto *list : {&entry.arguments, &entry.results}) {
      std::set<uint32_t> seen;
      for (uint32_t number : *list)
        if (number >= index.storages.size() || !seen.insert(number).second)
          fail("entry point '" + entry.name + "' has stored tensor " +
               std::to_string(number) + " of " +
               std::to_string(index.storages.size()) +
               ", which is not there or there twice");
    }
  }

  /// Hidden state is nobody's to write, so `init` gives all of it a value.
  void checkInitialValues() {
    const EntryPoint *init = index.findEntryPoint("init");
    if (init && !init->arguments.empty())
      fail("entry point 'init' takes stored tensors, expected none");
    for (const Tensor &tensor : index.tensors)
      for (uint32_t number : tensor.held.storages)
        if (tensor.isHidden() &&
            (!init ||
             std::ranges::find(init->results, number) == init->results.end()))
          return fail("there is no initial value of '" + tensor.name + "'");
  }

  void checkCallees() {
    for (size_t number = 0; number < index.callees.size(); ++number) {
      const Callee &callee = index.callees[number];
      checkFollower(number);
      if (!isKnown(callee.kind))
        fail("a callee is of unknown kind " + std::to_string(int(callee.kind)));
      if (callee.kind == CalleeKind::kernel &&
          (callee.name.empty() || callee.name.find('\0') != std::string::npos))
        fail("a kernel has no usable symbol");
    }
  }

  /// Kernels that follow each other come to an end.
  void checkFollower(size_t number) {
    const Callee &callee = index.callees[number];
    if (callee.followedBy == -1)
      return;
    const auto next = size_t(callee.followedBy);
    if (callee.kind != CalleeKind::kernel || next <= number ||
        next >= index.callees.size() ||
        index.callees[next].kind != CalleeKind::kernel)
      fail("callee " + std::to_string(number) + " is followed by callee " +
           std::to_string(callee.followedBy) +
           ", expected a kernel behind it, and only of a kernel");
  }

  void check(const GpuModule &module) {
    // What CUDA can launch on any GPU.
    constexpr uint32_t mostBlocks = 0x7fffffff, mostThreads = 1024;
    auto kernels =
        std::ranges::count(index.callees, CalleeKind::kernel, &Callee::kind);
    std::string which = "the code for " + module.architecture;
    if (std::ssize(module.launches) != kernels)
      fail(which + " says how " + std::to_string(module.launches.size()) +
           " kernels start, expected " + std::to_string(kernels));
    for (const Launch &launch : module.launches)
      if (launch.blocks < 1 || launch.blocks > mostBlocks ||
          launch.threads < 1 || launch.threads > mostThreads)
        fail(which + " starts a kernel in " + std::to_string(launch.blocks) +
             " blocks of " + std::to_string(launch.threads) +
             " threads, expected at most " + std::to_string(mostBlocks) +
             " of at most " + std::to_string(mostThreads));
    if (!module.schedules.empty() && std::ssize(module.schedules) != kernels)
      fail(which + " names the schedules of " +
           std::to_string(module.schedules.size()) + " kernels, expected " +
           std::to_string(kernels));
    if (std::ssize(module.resources) != (module.hasBinary() ? kernels : 0))
      fail(which + " says what " + std::to_string(module.resources.size()) +
           " kernels take as machine code, expected " +
           std::to_string(module.hasBinary() ? kernels : 0));
  }

  void checkBlock(const Block &block, int nesting) {
    if (nesting > maxProgramNesting) {
      fail("loops and conditionals are nested deeper than " +
           std::to_string(maxProgramNesting));
      return;
    }
    for (size_t i = 0; i < block.instructions.size(); ++i) {
      if (!error.empty())
        return;
      check(block.instructions[i], nesting);
      checkJoint({block.instructions.begin() + std::ptrdiff_t(i),
                  block.instructions.end()});
    }
  }

  bool invokesKernel(const Instruction &instruction) const {
    return instruction.kind == InstructionKind::invoke &&
           instruction.callee < index.callees.size() &&
           index.callees[instruction.callee].kind == CalleeKind::kernel;
  }

  /// The first of these may be launched together with those behind it.
  void checkJoint(std::span<const Instruction> rest) {
    const Instruction &first = rest.front();
    if (first.joint == -1 && first.joined == 1)
      return;
    if (first.joint < 0 || size_t(first.joint) >= index.callees.size() ||
        index.callees[size_t(first.joint)].kind != CalleeKind::kernel)
      return fail("an instruction is launched by callee " +
                  std::to_string(first.joint) + ", expected a kernel");
    if (first.joined < 2 || first.joined > rest.size())
      return fail("a launch does " + std::to_string(first.joined) + " of " +
                  std::to_string(rest.size()) + " instructions");
    for (size_t i = 0; i < first.joined; ++i)
      if (!invokesKernel(rest[i]) || (i > 0 && rest[i].joint != -1))
        return fail("a launch does an instruction that is no kernel, or that "
                    "another launch does");
  }

  void check(const Instruction &instruction, int nesting) {
    const char *what = operandsOf(instruction);
    for (const Slice &operand : instruction.operands)
      if (!checkSlice(operand, what))
        return;
    switch (instruction.kind) {
    case InstructionKind::invoke:
      return checkInvoke(instruction);
    case InstructionKind::wait:
      return;
    case InstructionKind::loop:
      checkSelector(instruction, what, {1});
      if (instruction.blocks.size() != 2)
        fail("a loop has " + std::to_string(instruction.blocks.size()) +
             " blocks, expected its condition and its body");
      if (instruction.trips < -1)
        fail("a loop runs its body " + std::to_string(instruction.trips) +
             " times");
      break;
    case InstructionKind::branch:
      checkSelector(instruction, what, {1, 4});
      if (instruction.blocks.empty())
        fail("a conditional has no branch");
      break;
    default:
      fail("an instruction is of unknown kind " +
           std::to_string(int(instruction.kind)));
    }
    for (const Block &block : instruction.blocks)
      checkBlock(block, nesting + 1);
  }

  static const char *operandsOf(const Instruction &instruction) {
    switch (instruction.kind) {
    case InstructionKind::loop:
      return "the predicate of a loop";
    case InstructionKind::branch:
      return "the selector of a conditional";
    default:
      return "an argument of an instruction";
    }
  }

  void checkInvoke(const Instruction &invoke) {
    if (invoke.callee >= index.callees.size())
      return fail("an instruction invokes callee " +
                  std::to_string(invoke.callee) + " of " +
                  std::to_string(index.callees.size()));
    if (invoke.parts < 1)
      fail("an instruction has no parts");
    if (index.callees[invoke.callee].kind != CalleeKind::copy)
      return;
    if (invoke.operands.size() != 2)
      return fail("a copy has " + std::to_string(invoke.operands.size()) +
                  " arguments, expected 2");
    const Slice &from = invoke.operands[0], &to = invoke.operands[1];
    if (from.bytes != to.bytes)
      fail("a copy goes from " + std::to_string(from.bytes) + " bytes to " +
           std::to_string(to.bytes));
    if (overlap(from, to))
      fail("the source and the target of a copy overlap");
  }

  void checkSelector(const Instruction &instruction, const char *what,
                     std::initializer_list<uint64_t> sizes) {
    if (instruction.operands.size() != 1)
      return fail(std::string(what) + " is one of " +
                  std::to_string(instruction.operands.size()) +
                  " operands, expected one");
    uint64_t bytes = instruction.operands[0].bytes;
    if (std::ranges::find(sizes, bytes) == sizes.end())
      fail(std::string(what) + " has " + std::to_string(bytes) +
           " bytes, expected 1" + (sizes.size() > 1 ? " or 4" : ""));
  }

  /// Every number in a plan names something; what it says may be false.
  void checkPlan(const Plan &plan) {
    auto inTexts = [&](uint32_t text) { return text < plan.texts.size(); };
    auto areValues = [&](const std::vector<int32_t> &values, int32_t least) {
      return std::ranges::all_of(values, [&](int32_t value) {
        return value >= least && value < int64_t(plan.values.size());
      });
    };
    // Far more than any program has, and far from overflowing.
    constexpr int64_t latest = int64_t(1) << 48;
    auto isSpan = [](int64_t begin, int64_t end) {
      return 0 <= begin && begin <= end && end <= latest;
    };
    auto arePairs = [&](const Handovers &handovers) {
      return handovers.size() % 2 == 0 && areValues(handovers, 0);
    };
    for (const Slice &buffer : plan.buffers)
      if (!checkSlice(buffer, "a buffer of the plan"))
        return;
    for (const PlannedValue &value : plan.values)
      if (value.buffer >= plan.buffers.size() || !inTexts(value.type) ||
          !inTexts(value.source))
        return fail("a value of the plan names what is not there");
    for (const PlannedValue &value : plan.values)
      for (const Lifetime &lifetime : value.lifetimes)
        if (!isSpan(lifetime.begin, lifetime.end))
          return fail("a value of the plan lives from " +
                      std::to_string(lifetime.begin) + " to " +
                      std::to_string(lifetime.end));
    for (const PlannedOperation &operation : plan.operations)
      if (!inTexts(operation.source) || !areValues(operation.reads, -1) ||
          !areValues(operation.writes, -1) || !arePairs(operation.handovers) ||
          !std::ranges::all_of(operation.regionEnds, arePairs))
        return fail("an operation of the plan names what is not there");
    for (const PlannedOperation &operation : plan.operations)
      if (!isSpan(operation.begin, operation.end))
        return fail("an operation of the plan runs from " +
                    std::to_string(operation.begin) + " to " +
                    std::to_string(operation.end));
    if (!arePairs(plan.end) || !areValues(plan.initial, 0) ||
        !areValues(plan.results, 0))
      fail("the plan names what is not there");
  }

  const Index &index;
  std::string error;
};

} // namespace

const EntryPoint *Index::findEntryPoint(std::string_view wanted) const {
  auto found = std::ranges::find(entryPoints, wanted, &EntryPoint::name);
  return found == entryPoints.end() ? nullptr : &*found;
}

size_t Index::visibleTensors() const {
  return size_t(std::ranges::find_if(tensors, &Tensor::isHidden) -
                tensors.begin());
}

uint64_t tenon::format::bytesOf(ElementType type,
                                const std::vector<int64_t> &shape) {
  auto bytes = uint64_t(byteWidth(type));
  for (int64_t extent : shape)
    bytes *= uint64_t(extent);
  return bytes;
}

std::string tenon::format::whyInvalid(const Index &index) {
  return Checker(index).check();
}
