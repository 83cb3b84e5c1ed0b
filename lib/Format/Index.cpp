//===- Index.cpp - The index of a .tenon file as plain structs -----------===//
//
// Names of enumerators, and what an index must fulfil.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Index.h"

#include "tenon/Format/Reader.h"
#include "tenon/Support/CheckedArithmetic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>

using namespace tenon;
using namespace tenon::format;

namespace {

constexpr std::array<std::string_view, 5> segmentKinds{
    "state", "batch", "results", "temporaries", "constants"};
constexpr std::array<std::string_view, 10> roles{
    "state",   "parameter", "optimizer_state", "buffer",          "rng",
    "counter", "metric",    "batch",           "hyper_parameter", "unknown"};
constexpr std::array<std::string_view, 2> sectionKinds{"constants",
                                                       "cpu_kernels"};

template <size_t count>
std::string_view nameIn(const std::array<std::string_view, count> &names,
                        size_t index) {
  return index < count ? names[index] : "invalid";
}

/// Checks an index from the outside in; the first fault ends the walk.
class Checker {
public:
  explicit Checker(const Index &index) : index(index) {}

  std::string check() {
    if (index.version != formatVersion)
      fail("format version " + std::to_string(index.version) + ", expected " +
           std::to_string(formatVersion));
    if (index.subnormals > Subnormals::keep)
      fail("subnormal numbers are treated in unknown way " +
           std::to_string(int(index.subnormals)));
    checkSegments();
    checkTensors();
    checkNamesOfKernels();
    for (const EntryPoint &entry : index.entryPoints)
      checkBlock(entry.program, 0);
    checkPlan();
    std::set<std::string_view> entryPoints;
    for (const EntryPoint &entry : index.entryPoints)
      if (!entryPoints.insert(entry.name).second)
        fail("two entry points are called '" + entry.name + "'");
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
      if (size_t(segment.kind) >= segmentKinds.size())
        fail(which + " is of unknown kind " +
             std::to_string(int(segment.kind)));
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

  void checkTensors() {
    std::set<std::string_view> arguments, results;
    std::set<int32_t> argumentNumbers, resultNumbers;
    for (const Tensor &tensor : index.tensors) {
      std::string which = "tensor '" + tensor.name + "'";
      if (byteWidth(tensor.type) == 0) {
        fail(which + " has unknown element type " +
             std::to_string(int(tensor.type)));
        return;
      }
      if (size_t(tensor.role) >= roles.size())
        fail(which + " has unknown role " + std::to_string(int(tensor.role)));
      if (tensor.shape.size() > maxRank)
        fail(which + " has rank " + std::to_string(tensor.shape.size()) +
             ", at most " + std::to_string(maxRank) + " is possible");
      std::optional<int64_t> bytes = byteWidth(tensor.type);
      for (int64_t extent : tensor.shape) {
        if (extent < 0)
          fail(which + " has extent " + std::to_string(extent));
        bytes = bytes ? mulChecked(*bytes, extent) : std::nullopt;
      }
      if (!bytes || uint64_t(*bytes) != tensor.storage.bytes)
        fail(which + " is stored in " + std::to_string(tensor.storage.bytes) +
             " bytes, its shape takes " +
             (bytes ? std::to_string(*bytes) : "more than memory can hold"));
      checkSlice(tensor.storage, which.c_str());
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

  void checkNamesOfKernels() {
    for (const Kernel &kernel : index.kernels)
      if (kernel.symbol.empty() ||
          kernel.symbol.find('\0') != std::string::npos)
        fail("a kernel has no usable symbol");
  }

  void checkBlock(const Block &block, int nesting) {
    if (nesting > maxProgramNesting) {
      fail("loops and conditionals are nested deeper than " +
           std::to_string(maxProgramNesting));
      return;
    }
    for (const Instruction &instruction : block.instructions) {
      if (!error.empty())
        return;
      std::visit([&](const auto &operation) { check(operation, nesting); },
                 instruction.operation);
    }
  }

  void check(const Launch &launch, int) {
    if (launch.kernel >= index.kernels.size())
      fail("a launch names kernel " + std::to_string(launch.kernel) + " of " +
           std::to_string(index.kernels.size()));
    if (launch.parts < 1)
      fail("a launch has no parts");
    for (const Slice &slice : launch.arguments)
      checkSlice(slice, "an argument of a launch");
  }

  void check(const LibraryCall &call, int) {
    if (call.call >= index.libraryCalls.size())
      fail("a library call names description " + std::to_string(call.call) +
           " of " + std::to_string(index.libraryCalls.size()));
    for (const Slice &slice : call.arguments)
      checkSlice(slice, "an argument of a library call");
  }

  void check(const Copy &copy, int) {
    if (!checkSlice(copy.from, "the source of a copy") ||
        !checkSlice(copy.to, "the target of a copy"))
      return;
    if (copy.from.bytes != copy.to.bytes)
      fail("a copy goes from " + std::to_string(copy.from.bytes) +
           " bytes to " + std::to_string(copy.to.bytes));
    if (copy.from.segment == copy.to.segment &&
        copy.from.offset < copy.to.offset + copy.to.bytes &&
        copy.to.offset < copy.from.offset + copy.from.bytes)
      fail("the source and the target of a copy overlap");
  }

  void check(const While &loop, int nesting) {
    if (checkSlice(loop.predicate, "the predicate of a loop") &&
        loop.predicate.bytes != 1)
      fail("the predicate of a loop has " +
           std::to_string(loop.predicate.bytes) + " bytes, expected 1");
    checkBlock(loop.condition, nesting + 1);
    checkBlock(loop.body, nesting + 1);
  }

  void check(const Case &conditional, int nesting) {
    if (checkSlice(conditional.selector, "the selector of a conditional") &&
        conditional.selector.bytes != 1 && conditional.selector.bytes != 4)
      fail("the selector of a conditional has " +
           std::to_string(conditional.selector.bytes) +
           " bytes, expected 1 or 4");
    if (conditional.branches.empty())
      fail("a conditional has no branch");
    for (const Block &branch : conditional.branches)
      checkBlock(branch, nesting + 1);
  }

  /// Every number in a plan names something; what it says may be false.
  void checkPlan() {
    if (!index.plan)
      return;
    const Plan &plan = *index.plan;
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

std::string_view tenon::format::name(SegmentKind kind) {
  return nameIn(segmentKinds, size_t(kind));
}

std::string_view tenon::format::name(Role role) {
  return nameIn(roles, size_t(role));
}

std::string_view tenon::format::name(SectionKind kind) {
  return nameIn(sectionKinds, size_t(kind));
}

std::optional<Role> tenon::format::roleFromName(std::string_view spelling) {
  for (size_t i = 0; i < roles.size(); ++i)
    if (roles[i] == spelling)
      return Role(i);
  return std::nullopt;
}

std::string tenon::format::whyInvalid(const Index &index) {
  return Checker(index).check();
}
