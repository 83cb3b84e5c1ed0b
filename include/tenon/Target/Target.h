//===- Target.h - What a machine can do -----------------------------------===//
//
// A machine described by numbers: cores, caches, the rates at which it computes
// and moves bytes, what starting work costs. The compiler plans for a Target,
// never for the machine it happens to run on. One comes from a file that
// `tenon calibrate` measured, or is built in per instruction set. docs/Forms.md
// describes the file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_TARGET_H
#define TENON_TARGET_TARGET_H

#include "tenon/Support/ElementType.h"
#include "tenon/Target/GpuArchitectures.h"
#include "tenon/Target/ProcessorFamilies.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::target {

/// The version of the file that this code writes; it reads all up to it. The
/// first one had no links.
inline constexpr int64_t machineVersion = 2;

/// Something per second: by one core alone, and by all of them together.
struct Rate {
  double oneCore = 0;
  double allCores = 0;

  /// The rate of `count` cores, between that of one and that of all `cores`.
  double of(int64_t count, int64_t cores) const;

  bool operator==(const Rate &) const = default;
};

struct Caches {
  int64_t level1 = 0; // bytes of data cache, per core
  int64_t level2 = 0; // bytes, per core
  int64_t level3 = 0; // bytes, shared by the cores

  /// The largest of them: what lies in memory if it is bigger than this.
  int64_t last() const;

  bool operator==(const Caches &) const = default;
};

/// FLOP/s of multiply-add, an addition and a multiplication counting one each,
/// by the instructions for each type. A type without an instruction of its own
/// has the rate of f32, in which it is computed.
struct ComputeRates {
  Rate f32, bf16, f16;

  bool operator==(const ComputeRates &) const = default;
};

/// The shares of the multiply-add rates that kinds of code reach.
struct ProductShares {
  double library = 0.9; // calls of a library
  /// Of that, what is left for products of 16 bits whose matrices have rows
  /// that are no multiple of 16 bytes.
  double unaligned = 1;
  /// Generated dots and convolutions. On processors these are obvious loops,
  /// one element at a time against vectors of sixteen.
  double kernel = 1 / 16.;
  double attention = 0.9, gradient = 0.9; // generated attention, its gradient

  bool operator==(const ProductShares &) const = default;
};

/// Bytes/s. A copy counts each byte twice, as read and as written.
struct MemoryRates {
  Rate copy;       // from memory to memory
  Rate read;       // from memory
  Rate cachedCopy; // within the last-level cache

  bool operator==(const MemoryRates &) const = default;
};

struct Overheads {
  double launch = 0;  // seconds to call a kernel on a thread that is running
  double barrier = 0; // seconds until all threads have met

  bool operator==(const Overheads &) const = default;
};

/// How a launch is cut into parts that run side by side.
struct LaunchLimits {
  /// Elements that a part is worth: whoever reads what several parts wrote
  /// waits for all of them, so a launch that touches less than twice as many
  /// runs whole, and launches that do so follow each other without waiting.
  int64_t elementsPerPart = 4096;
  int64_t mostParts = 64;

  /// The parts of a launch that touches this many elements, at least 1.
  int64_t partsFor(int64_t elements) const;

  bool operator==(const LaunchLimits &) const = default;
};

/// What a rank sends to others through, along an axis of a mesh.
struct Link {
  double latency = 0;   // seconds that a message takes beside its bytes
  double bandwidth = 0; // bytes/s into one rank, if it has the link alone
  int64_t sharedBy = 1; // ranks that share the bandwidth
  /// Of the time that a message takes, what a rank's processors have for
  /// something else, from 0 to 1.
  double hiddenShare = 0;

  double perRank() const { return bandwidth / double(sharedBy); }

  bool operator==(const Link &) const = default;
};

struct Target {
  std::string name;    // for people
  Isa isa = Isa::avx2; // the largest that its processors have
  int64_t cores = 1;
  Caches caches;
  ComputeRates compute;
  MemoryRates memory;
  Overheads overheads;
  LaunchLimits launches; // the same on all processors and on all GPUs
  ProductShares shares;  // as well
  /// Bytes/s between the device's memory and the host's, each way; 0 if the
  /// device has no memory of its own.
  double hostLink = 0;
  /// Whether it is a GPU. What a file describes is none, even with a link.
  bool gpu = false;
  /// Per axis of a mesh, major first; empty for those that are built in.
  std::vector<Link> links;

  bool isGpu() const { return gpu; }

  /// Whether products of two operands of `type` run by the instructions for it
  /// where code is for `code`, which may be less than the machine has. Where
  /// those are slower than f32's, or missing, operands are widened.
  bool multipliesNatively(ElementType type, Isa code) const;

  /// FLOP/s of multiply-add in `type`; f32's for every other type.
  const Rate &computeRate(ElementType type) const;

  bool operator==(const Target &) const = default;
};

/// What is assumed of a machine nobody measured: two cores at ordinary rates,
/// the same on every machine, with the least instruction set if none is given.
Target builtInTarget(Isa isa = Isa{});

/// The same of a machine with processors of `family`, as far as they have
/// `isa`.
Target builtInTarget(const ProcessorFamily &family, Isa isa);

/// The GPU that steps for `gpu` are planned for, by published peaks. It counts
/// as one core, since each launch fills it by blocks of its own.
Target builtInTarget(const GpuArchitecture &gpu);

/// What joins the ranks of a mesh with axes of these sizes, major first, where
/// nobody measured it. Ranks on processors are processes of one host. Of GPUs
/// eight make a node: minor axes lie within it, others between nodes.
std::vector<Link> builtInLinks(const Target &target,
                               std::span<const int64_t> axes);

/// What one rank of a mesh with these axes has: links, and of processors that
/// nobody measured for ranks a share of the cores. The machine itself without
/// axes.
Target ofRank(const Target &machine, std::span<const int64_t> axes);

/// The file's text, ending in a newline; the same for equal targets.
std::string toJson(const Target &target);

/// Nothing with `error` filled in: where, what was found and what was expected.
/// `file` is how messages call the text.
std::optional<Target> fromJson(std::string_view text, std::string_view file,
                               std::string &error);

/// Reads the file at `path`; as fromJson.
std::optional<Target> readTarget(const std::string &path, std::string &error);

} // namespace tenon::target

#endif // TENON_TARGET_TARGET_H
