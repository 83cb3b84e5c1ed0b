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
#include "tenon/Support/Subnormals.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenon::format {

/// The version this code writes and the only one it reads.
inline constexpr uint32_t formatVersion = 1;

/// What a segment holds.
enum class SegmentKind : uint8_t {
  state = 0,
  batch = 1,
  results = 2,
  temporaries = 3,
  constants = 4,
};

/// What a tensor is to training, in the words of `#step.role`.
enum class Role : uint8_t {
  state = 0,
  parameter = 1,
  optimizerState = 2,
  buffer = 3,
  rng = 4,
  counter = 5,
  metric = 6,
  batch = 7,
  hyperParameter = 8,
  unknown = 9,
};

enum class SectionKind : uint8_t {
  constants = 0,  // initial bytes of the constants segment, same length
  cpuKernels = 1, // an ELF shared object
};

/// The spelling used in text (`optimizer_state`, `temporaries`, `cpu_kernels`).
std::string_view name(SegmentKind kind);
std::string_view name(Role role);
std::string_view name(SectionKind kind);
std::optional<Role> roleFromName(std::string_view spelling);

/// Where bytes live: a range of a segment.
struct Slice {
  uint32_t segment = 0; // index into Index::segments
  uint64_t offset = 0;  // bytes from the segment's start, multiple of 64
  uint64_t bytes = 0;

  bool operator==(const Slice &) const = default;
};

struct Segment {
  SegmentKind kind = SegmentKind::temporaries;
  uint64_t bytes = 0;
  uint32_t alignment = 64; // bytes, a power of two, at most 2 MiB

  bool operator==(const Segment &) const = default;
};

/// A tensor as users and safetensors files see it: row-major, plain layout.
struct Tensor {
  std::string name;                 // canonical
  std::vector<std::string> aliases; // full path, arg<i>, result<i>
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  Role role = Role::unknown;
  int32_t argument = -1; // index among @main's arguments, -1 for none
  int32_t result = -1;   // index among @main's results, -1 for none
  Slice storage;

  bool operator==(const Tensor &) const = default;
};

struct Instruction;

struct Block {
  std::vector<Instruction> instructions;

  bool operator==(const Block &) const;
};

/// Runs a kernel.
struct Launch {
  uint32_t kernel = 0; // index into Index::kernels
  std::vector<Slice> arguments;
  uint32_t parts = 1; // most parts it pays to cut the launch into

  bool operator==(const Launch &) const = default;
};

/// Runs a library call. Arguments: operands, the bias if the epilogue has one,
/// the result, the workspace if the call needs one.
struct LibraryCall {
  uint32_t call = 0; // index into Index::libraryCalls
  std::vector<Slice> arguments;

  bool operator==(const LibraryCall &) const = default;
};

/// Copies one slice to another of the same length that does not overlap it.
struct Copy {
  Slice from, to;

  bool operator==(const Copy &) const = default;
};

/// Runs `condition`, reads the i1 at `predicate`, runs `body`, and again.
struct While {
  Slice predicate; // one byte
  Block condition, body;

  bool operator==(const While &) const = default;
};

/// Runs the branch whose index is the i32 at `selector`; an index out of range
/// takes the last. A selector of one byte is an i1.
struct Case {
  Slice selector;
  std::vector<Block> branches;

  bool operator==(const Case &) const = default;
};

struct Instruction {
  std::variant<Launch, LibraryCall, Copy, While, Case> operation;

  bool operator==(const Instruction &) const = default;
};

inline bool Block::operator==(const Block &other) const {
  return instructions == other.instructions;
}

struct EntryPoint {
  std::string name; // "step"
  Block program;

  bool operator==(const EntryPoint &) const = default;
};

struct Kernel {
  std::string symbol; // void symbol(void *const *arguments, int64 part, parts)
  std::string description; // what it computes, for people
  bool fallback = false;   // has no fast code, only obvious loops
  /// Arguments it does not write, by number; it may write all others.
  std::vector<int64_t> reads;

  bool operator==(const Kernel &) const = default;
};

/// The stored form of libraries::MatmulDescription, see Libraries/Stored.h.
struct Matmul {
  ElementType lhsType = ElementType::f32;
  ElementType rhsType = ElementType::f32;
  ElementType resultType = ElementType::f32;
  std::vector<int64_t> batch;   // groups of four: size, lhs, rhs, result stride
  std::vector<int64_t> sizes;   // m, n, k
  std::vector<int64_t> strides; // lhs m k, rhs k n, result m n
  uint8_t epilogue = 0;
  int64_t pieces = 1;

  bool operator==(const Matmul &) const = default;
};

/// The stored form of libraries::ConvolutionDescription.
struct Convolution {
  uint8_t kind = 0;
  ElementType type = ElementType::f32;
  int64_t batch = 1, groups = 1, inputChannels = 1, outputChannels = 1;
  std::vector<int64_t> spatial; // groups of ten, in the order of the struct
  std::vector<int64_t> strides; // input b c, output b c, kernel g i o
  bool mirroredKernel = false;
  int64_t pieces = 1;

  bool operator==(const Convolution &) const = default;
};

/// The stored form of libraries::LapackDescription.
struct Lapack {
  std::string routine; // libraries::name(LapackRoutine)
  ElementType type = ElementType::f32;
  std::vector<int64_t> sizes; // batch, rows, columns, reflectors
  std::string letters;        // triangle, side, transpose, diagonal, mode

  bool operator==(const Lapack &) const = default;
};

struct LibraryCallEntry {
  std::variant<Matmul, Convolution, Lapack> description;
  std::string library = "oneDNN"; // or "LAPACK"
  std::string libraryVersion;     // planned with
  std::string isa; // libraries::name(Isa): what the plan is capped to
  uint64_t workspaceBytes = 0;

  bool operator==(const LibraryCallEntry &) const = default;
};

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

/// What the program `step` means, for whoever checks or shows it. A loop or
/// conditional has its predicate or selector as its one argument, a copy its
/// source and its target.
struct Plan {
  std::vector<std::string> texts;
  std::vector<Slice> buffers;
  std::vector<PlannedValue> values;
  /// Every instruction before those of its blocks.
  std::vector<PlannedOperation> operations;
  Handovers end;                 // at the end of the step
  std::vector<int32_t> initial;  // values that are there when a step begins
  std::vector<int32_t> results;  // and when it ends, by number of the result
  uint64_t temporariesBound = 0; // bytes no placing of the buffers goes below
  uint64_t memoryBudget = 0;     // of all segments; 0 for none
  /// As tenon-solve reads them; empty without a budget.
  std::string recomputationProblem, recomputationSolution;

  bool operator==(const Plan &) const = default;
};

/// A range of the file; filled by the writer.
struct Section {
  SectionKind kind = SectionKind::constants;
  uint64_t offset = 0; // bytes from the file's start, multiple of 4096
  uint64_t bytes = 0;
  uint64_t hashLow = 0, hashHigh = 0; // XXH3-128 of the bytes

  bool operator==(const Section &) const = default;
};

struct Index {
  uint32_t version = formatVersion;
  std::string producer; // Tenon's version
  std::string name;     // the module's
  std::string cpu;      // x86-64-v3, x86-64-v4, ...
  /// What the kernels need beyond the baseline, as /proc/cpuinfo spells it
  /// (`avx2`, `fma`, `avx512f`, ...): loading checks each of them.
  std::vector<std::string> cpuFeatures;
  std::vector<Segment> segments;
  std::vector<Tensor> tensors; // arguments in order, then results no state is
  std::vector<Kernel> kernels;
  std::vector<LibraryCallEntry> libraryCalls;
  std::vector<EntryPoint> entryPoints;
  std::vector<Certificate> certificates;
  std::vector<Section> sections; // filled by the writer
  double flops = 0;              // of one step, dots and convolutions
  std::optional<Plan> plan;
  /// What the step does with subnormal numbers.
  Subnormals subnormals = Subnormals::flush;

  bool operator==(const Index &) const = default;
};

} // namespace tenon::format

#endif // TENON_FORMAT_INDEX_H
