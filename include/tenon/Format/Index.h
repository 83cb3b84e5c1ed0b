//===- Index.h - The index of a .tenon file as plain structs -------------===//
//
// Everything in a `.tenon` file except raw bytes: the signature, the segments,
// the programs, the kernels and library calls they name, certificates. The
// compiler's Package stage fills one, Writer.h stores it, Reader.h checks a
// stored one and gives it back; nobody else sees FlatBuffers. The fields follow
// Index.fbs, where the enumerators' numbers are fixed.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_INDEX_H
#define TENON_FORMAT_INDEX_H

#include "tenon/Support/ElementType.h"
#include "tenon/Support/Fields.h"
#include "tenon/Support/Subnormals.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::format {

/// The version this code writes and the only one it reads.
inline constexpr uint32_t formatVersion = 4;

/// What a segment holds.
enum class SegmentKind : uint8_t {
  state,
  batch,
  results,
  temporaries,
  constants,
};

/// What a tensor is to training, in the words of `#step.role`.
enum class Role : uint8_t {
  state,
  parameter,
  optimizerState,
  buffer,
  rng,
  counter,
  metric,
  batch,
  hyperParameter,
  unknown,
};

enum class SectionKind : uint8_t {
  constants,  // initial bytes of the constants segment, same length
  cpuKernels, // an ELF shared object
  ptx,        // kernels as the text of NVIDIA's assembler, for one architecture
  cubin,      // the same kernels as what that assembler makes of them, an ELF
};

enum class CalleeKind : uint8_t {
  kernel,  // compiled code. On a CPU: void symbol(void *const *arguments, int64
           // part, int64 parts); in PTX an entry of that name whose parameters
           // are the addresses of its arguments
  library, // a described call of a library
  copy,    // copies its first argument to its second, which is as long
  collective, // what all ranks exchange, see Libraries/Collective.h
};

enum class InstructionKind : uint8_t {
  invoke, // starts the callee with the operands as its arguments
  wait,   // until what was started in the queue is done, but the last ones
  loop,   // runs the first block, reads the i1 at the one operand, runs the
          // second block, and again
  branch, // runs the block whose index is the i32 (or i1, of one byte) at the
          // one operand; an index out of range takes the last
};

/// How stored tensors hold a tensor; Holding.h has what each of them means.
enum class HoldingRule : uint8_t {
  asItIs,
  converted,  // in another element type
  laidOut,    // with its dimensions in another order
  padded,     // with more elements behind those of each dimension
  highAndLow, // in two parts
};

using tenon::name;

} // namespace tenon::format

namespace tenon {

template <>
inline constexpr auto namesOf<format::SegmentKind> =
    std::to_array<std::string_view>(
        {"state", "batch", "results", "temporaries", "constants"});
template <>
inline constexpr auto namesOf<format::Role> = std::to_array<std::string_view>(
    {"state", "parameter", "optimizer_state", "buffer", "rng", "counter",
     "metric", "batch", "hyper_parameter", "unknown"});
template <>
inline constexpr auto namesOf<format::SectionKind> =
    std::to_array<std::string_view>(
        {"constants", "cpu_kernels", "ptx", "cubin"});
template <>
inline constexpr auto namesOf<format::CalleeKind> =
    std::to_array<std::string_view>(
        {"kernel", "library", "copy", "collective"});
template <>
inline constexpr auto namesOf<format::InstructionKind> =
    std::to_array<std::string_view>({"invoke", "wait", "loop", "branch"});
template <>
inline constexpr auto namesOf<format::HoldingRule> =
    std::to_array<std::string_view>(
        {"as_it_is", "converted", "laid_out", "padded", "high_and_low"});

} // namespace tenon

namespace tenon::format {

/// Where bytes live: a range of a segment.
struct Slice {
  uint32_t segment = 0; // index into Index::segments
  uint64_t offset = 0;  // bytes from the segment's start, multiple of 64
  uint64_t bytes = 0;

  bool operator==(const Slice &) const = default;
};

/// Whether two slices have a byte in common, and whether one has all of
/// another.
inline bool overlap(const Slice &a, const Slice &b) {
  return a.segment == b.segment && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}
inline bool contains(const Slice &outer, const Slice &inner) {
  return outer.segment == inner.segment && outer.offset <= inner.offset &&
         inner.offset + inner.bytes <= outer.offset + outer.bytes;
}

/// A kind of processor that runs a part of the program.
struct DeviceClass {
  std::string name;         // `cpu` or `cuda`
  std::string architecture; // x86-64-v3, x86-64-v4, ...; sm_80, ...: the least
  /// What the kernels need beyond the baseline, as /proc/cpuinfo spells it
  /// (`avx2`, `fma`, `avx512f`, ...): loading checks each of them.
  std::vector<std::string> features;

  bool operator==(const DeviceClass &) const = default;
};

/// A kind of memory that segments lie in.
struct MemorySpace {
  std::string name; // `host`; `device` for a GPU's own, `pinned` for its host's

  bool operator==(const MemorySpace &) const = default;
};

/// Memory that is allocated once, in one piece.
struct Segment {
  std::string name; // `temporaries`
  SegmentKind kind = SegmentKind::temporaries;
  uint32_t space = 0;       // index into Index::memorySpaces
  uint32_t deviceClass = 0; // index into Index::deviceClasses
  uint64_t bytes = 0;
  uint32_t alignment = 64; // bytes, a power of two, at most 2 MiB

  bool operator==(const Segment &) const = default;
};

/// A stored tensor: row-major, as the program finds it.
struct Storage {
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  Slice place;

  bool operator==(const Storage &) const = default;
};

/// Which stored tensors make up a tensor, and how.
struct Holding {
  HoldingRule rule = HoldingRule::asItIs;
  std::vector<uint32_t> storages; // indices into Index::storages
  /// Of laidOut: which dimension of the tensor each one of what is stored is.
  std::vector<int64_t> order;

  bool operator==(const Holding &) const = default;
};

/// An axis of the mesh of ranks that run a step. Ranks are numbered with the
/// last axis fastest.
struct MeshAxis {
  std::string name;
  int64_t size = 1;

  bool operator==(const MeshAxis &) const = default;
};

/// By what a dimension of a tensor is cut, major first: rank r has place
/// r / stride % size along each entry. Of a dimension of extent d in p shards
/// each rank has d / p elements, rounded up; what is behind the last element of
/// the tensor is nobody's. Example: on data=2,model=2 a dimension that `model`
/// cuts has the stride 1 and the size 2.
struct Cut {
  std::vector<int64_t> strides, sizes;

  bool operator==(const Cut &) const = default;
};

/// What the names of hidden state begin with.
inline constexpr std::string_view hiddenPrefix = "__tenon__.";
/// Behind that prefix, what the names of hidden state begin with that counts
/// the elements of an f16 tensor that were infinite. The tensor's name follows;
/// the count is an i64.
inline constexpr std::string_view overflowName = "overflow.";

/// A logical tensor, as users and safetensors files see it: row-major, plain
/// layout. Hidden state is none that users see, but is saved with theirs.
struct Tensor {
  std::string name;                 // canonical
  std::vector<std::string> aliases; // full path, arg<i>, result<i>
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  Role role = Role::unknown;
  int32_t argument = -1; // index among @main's arguments, -1 for none
  int32_t result = -1;   // index among @main's results, -1 for none
  /// The entry point whose input or result it is, with which its name begins
  /// (`eval.loss`); empty for the tensors of the step. Of such a tensor
  /// `argument` and `result` are -1, and the segment says which it is.
  std::string entryPoint;
  Holding held;
  /// Made from the tensor whenever users give it a value, and kept up by the
  /// program itself; never saved.
  std::vector<Holding> copies;
  /// In a file for several ranks: how each dimension is cut. Empty if every
  /// rank has the whole tensor. What holds it is of a rank's part, see Parts.h.
  std::vector<Cut> cuts;

  bool isHidden() const { return name.starts_with(hiddenPrefix); }
  bool isOfStep() const { return entryPoint.empty(); }
  /// The tensor whose infinite elements this counts; empty for none.
  std::string_view countsOverflowOf() const {
    std::string_view rest = name;
    if (!isHidden() ||
        !rest.substr(hiddenPrefix.size()).starts_with(overflowName) ||
        type != ElementType::i64 || !shape.empty())
      return {};
    return rest.substr(hiddenPrefix.size() + overflowName.size());
  }
  bool operator==(const Tensor &) const = default;
};

/// A field of a description: a word, or numbers.
struct Attribute {
  std::string name;
  std::string text;
  std::vector<int64_t> numbers;

  bool operator==(const Attribute &) const = default;
};

/// What an instruction may invoke.
struct Callee {
  CalleeKind kind = CalleeKind::kernel;
  std::string name;        // a kernel's symbol, a library's word for the call
  std::string description; // what it computes, for people
  /// Arguments it does not write, by number; it may write all others. Of a
  /// library call the arguments are the operands, the bias if the epilogue has
  /// one, the results, and the workspace if the call needs one and takes it.
  std::vector<int64_t> reads;
  bool fallback = false; // a kernel without fast code, only obvious loops
  // Of a library call, see Libraries/Stored.h; of a collective the last two.
  std::string library;        // oneDNN, LAPACK or cuBLASLt
  std::string libraryVersion; // planned with
  std::string isa;            // libraries::name(Isa): the cap; none on GPUs
  uint64_t workspaceBytes = 0;
  std::vector<Attribute> attributes;
  /// Of a kernel for GPUs: the callee, a kernel behind this one, that is
  /// launched after it with the same operands. -1 for none.
  int32_t followedBy = -1;
  /// A library call of a file for GPUs that runs on the host: what it reads is
  /// copied there, and what it writes back. Its workspace is memory of the host
  /// and no argument.
  bool onHost = false;

  /// Whether its last argument is its workspace.
  bool takesWorkspace() const { return workspaceBytes > 0 && !onHost; }
  bool operator==(const Callee &) const = default;
};

struct Block;

struct Instruction {
  InstructionKind kind = InstructionKind::invoke;
  uint32_t callee = 0; // of invoke: index into Index::callees
  /// Of invoke and wait. What is in one queue runs in order: in queue 0, or,
  /// beside it, collectives in queue 1, and for GPUs copies to pinned memory in
  /// queue 2 and copies from there in queue 3.
  uint32_t queue = 0;
  std::vector<Slice> operands;
  uint32_t parts = 1;        // of invoke: most parts it pays to cut it into
  std::vector<Block> blocks; // of a loop: condition and body; of a branch: each
  /// Of a loop: how often its body runs, -1 if only its condition says that.
  int64_t trips = -1;
  /// Of an invocation of a kernel: the callee whose one launch does the work of
  /// this one and of the following, `joined` in all, given the operands of all
  /// of them in order. -1 if it is launched alone, or by one before.
  int32_t joint = -1;
  uint32_t joined = 1;
  /// Of wait: how many of those that were invoked last in the queue, in this
  /// block, need not be done.
  uint32_t pending = 0;

  bool operator==(const Instruction &) const;
};

struct Block {
  std::vector<Instruction> instructions;

  bool operator==(const Block &) const = default;
};

inline bool Instruction::operator==(const Instruction &) const = default;

struct Certificate {
  std::string kind, text;

  bool operator==(const Certificate &) const = default;
};

/// From `begin` to before `end`; operation t of the plan reads at 2t and writes
/// at 2t + 1.
struct Lifetime {
  int64_t begin = 0, end = 0;

  bool operator==(const Lifetime &) const = default;
};

/// A value of the step: a piece of storage while it holds what was computed.
struct PlannedValue {
  uint32_t buffer = 0; // index into Plan::buffers
  uint64_t bytes = 0;
  uint32_t type = 0, source = 0; // indices into Plan::texts
  bool recomputed = false;       // computed again to save memory
  std::vector<Lifetime> lifetimes;
  int32_t problemValue = -1; // its number in the recomputation problem, or -1

  bool operator==(const PlannedValue &) const = default;
};

/// Values by number, one after the other pairs; the second takes over the place
/// of the first without an instruction.
using Handovers = std::vector<int32_t>;

/// What an instruction is in the plan.
struct PlannedOperation {
  int64_t begin = 0;                 // when it runs
  int64_t end = 0;                   // when a loop or conditional ends
  uint32_t source = 0;               // index into Plan::texts
  std::vector<int32_t> reads;        // per argument: the value it reads, or -1
  std::vector<int32_t> writes;       // per argument: the value it writes, or -1
  Handovers handovers;               // before it
  std::vector<Handovers> regionEnds; // of a loop (condition, body) or branches
  int32_t node = -1;                 // in the recomputation problem
  int64_t nanoseconds = 0;           // predicted, under a budget
  bool recomputed = false;
  /// Nodes that it computes again before its own, in order.
  std::vector<int32_t> joinedNodes;

  bool operator==(const PlannedOperation &) const = default;
};

/// What a program means, for whoever checks or shows it. A loop or
/// conditional has its predicate or selector as its one argument, a copy its
/// source and its target.
struct Plan {
  std::vector<std::string> texts;
  std::vector<Slice> buffers;
  std::vector<PlannedValue> values;
  /// Every instruction before those of its blocks.
  std::vector<PlannedOperation> operations;
  Handovers end;                 // at the end of the step
  std::vector<int32_t> initial;  // values that are there when it begins:
                                 // arguments, then constants
  std::vector<int32_t> results;  // and when it ends, by number of the result
  uint64_t temporariesBound = 0; // bytes no placing of the buffers goes below
  uint64_t memoryBudget = 0;     // of all segments; 0 for none
  /// As tenon-solve reads them; empty without a budget.
  std::string recomputationProblem, recomputationSolution;

  bool operator==(const Plan &) const = default;
};

/// How a kernel starts on a GPU.
struct Launch {
  uint32_t blocks = 1;  // in one dimension
  uint32_t threads = 1; // of a block, in one dimension

  bool operator==(const Launch &) const = default;
};

/// What a kernel takes of a GPU, as machine code.
struct KernelResources {
  uint32_t registers = 0;   // of 32 bits, per thread
  uint32_t sharedBytes = 0; // per block
  uint32_t stackBytes = 0;  // of local memory, per thread
  uint32_t spillBytes = 0;  // of registers stored and loaded, in its text

  bool operator==(const KernelResources &) const = default;
};

/// The kernels of a file as PTX for one architecture of NVIDIA's. Every later
/// architecture runs it, too.
struct GpuModule {
  std::string architecture; // sm_90
  uint32_t capability = 0;  // the compute capability, ten times: 90 is 9.0
  /// The least driver that takes the text: its major version, and the version
  /// of CUDA that it answers, as cuDriverGetVersion gives it (12080 is 12.8).
  uint32_t driver = 0, cuda = 0;
  uint32_t section = 0; // index into Index::sections
  /// Of the kernels among the callees, in their order.
  std::vector<Launch> launches;
  /// Of the same kernels: the schedule that emitted each. Empty if not known.
  std::vector<std::string> schedules;
  /// The version of NVIDIA's assembler that made machine code of the PTX, and
  /// the section that has it; without, empty and -1. GPUs of the same major
  /// and of no lesser minor compute capability run it.
  std::string assembler;
  int32_t binary = -1;
  std::vector<KernelResources> resources; // of the same kernels in it

  bool hasBinary() const { return binary >= 0; }
  bool operator==(const GpuModule &) const = default;
};

/// A range of the file; filled by the writer.
struct Section {
  SectionKind kind = SectionKind::constants;
  uint64_t offset = 0; // bytes from the file's start, multiple of 4096
  uint64_t bytes = 0;
  uint64_t hashLow = 0, hashHigh = 0; // XXH3-128 of the bytes

  bool operator==(const Section &) const = default;
};

/// A program that can be run, with all that is known of it. All of them share
/// the segments. `step` is the training step; `init`, which takes nothing,
/// gives hidden state its initial value; all others, such as `eval`, read the
/// state and write none.
struct EntryPoint {
  std::string name;
  Block program;
  /// Stored tensors that have a value when it begins, and those that it gives
  /// one, by their number in Plan::initial and Plan::results.
  std::vector<uint32_t> arguments, results;
  double flops = 0; // of dots and convolutions
  std::optional<Plan> plan;
  std::vector<Certificate> certificates;

  bool operator==(const EntryPoint &) const = default;
};

struct Index {
  uint32_t version = formatVersion;
  std::string producer; // Tenon's version
  std::string name;     // the module's
  /// What the step does with subnormal numbers.
  Subnormals subnormals = Subnormals::flush;
  std::vector<DeviceClass> deviceClasses;
  std::vector<MemorySpace> memorySpaces;
  std::vector<Segment> segments;
  std::vector<Storage> storages;
  /// Arguments in order, results no state is, inputs and results of other entry
  /// points, hidden state.
  std::vector<Tensor> tensors;
  std::vector<Callee> callees;
  std::vector<EntryPoint> entryPoints;
  std::vector<Section> sections; // filled by the writer
  /// The options besides the feature set and subnormal numbers on which the
  /// bits of the step's values depend, as words: `precision` is `bf16`.
  std::vector<Attribute> arithmetic;
  std::vector<GpuModule> gpuModules;
  /// The ranks that run the step, each with segments of its own; empty for one
  /// that runs alone.
  std::vector<MeshAxis> mesh;

  bool operator==(const Index &) const = default;

  /// How many ranks run the step.
  int64_t ranks() const {
    int64_t count = 1;
    for (const MeshAxis &axis : mesh)
      count *= axis.size;
    return count;
  }

  /// Null if there is none of the name.
  const EntryPoint *findEntryPoint(std::string_view name) const;
  /// Whether an entry point is one of the user's beside the step.
  static bool isExtra(std::string_view entryPoint) {
    return entryPoint != "step" && entryPoint != "init";
  }
  /// How many tensors users see, the first ones.
  size_t visibleTensors() const;
  /// The segment that a tensor's first stored one lies in.
  const Segment &segmentOf(const Tensor &tensor) const {
    return segments[storages[tensor.held.storages[0]].place.segment];
  }
};

/// Of a tensor's elements, which whyInvalid() has seen to be no more than
/// memory can hold.
uint64_t bytesOf(ElementType type, const std::vector<int64_t> &shape);
inline uint64_t bytesOf(const Tensor &tensor) {
  return bytesOf(tensor.type, tensor.shape);
}

} // namespace tenon::format

#endif // TENON_FORMAT_INDEX_H
