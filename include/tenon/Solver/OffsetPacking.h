//===- OffsetPacking.h - where every buffer goes in one arena -------------===//
//
// Given the order of a program, every buffer is live in known windows of time.
// Offset packing chooses an address for each so that no two buffers that are
// live at the same moment share a byte, and the arena is as small as possible.
//
// A worked example. Four buffers, time to the right:
//
//     buffer  size  live       The bytes live at each moment:
//     a        4    [0, 2)       time   0   1   2
//     b        2    [0, 3)       bytes  6   8   7
//     c        2    [1, 2)
//     d        5    [2, 3)     max-live = 8 at time 1: no plan needs less.
//
// Think of time as a street and of buffers as boxes dropped on it. The skyline
// dive keeps, per moment, the highest occupied byte, and always takes next the
// box that can lie lowest. With b first:  b at 0, a on b at 2 (top 6), c on a
// at 6 (top 8), d on b at 2 (top 7). The arena is 8 = max-live, so the plan is
// proved smallest. With a first, a and d lie at 0, b must lie on both at 5, and
// c on b at 7: the arena is 9. The order decides; the solver tries several,
// then searches.
//
// What a plan may need beyond boxes: an alignment; several windows with gaps
// between them; in a window, only a slice of the buffer; an offset fixed from
// outside; groups, whose members keep fixed distances (views of one value,
// parts written into a concatenation). Members of one group may overlap each
// other. The compiler (Memory/PlanOffsets) uses alignments and several windows,
// and a capacity where a memory budget leaves less than the smallest arena that
// was found; slices, fixed offsets and groups are in files for tenon-solve only.
//
// Every plan comes with a bound that no plan can beat. `bound == arena` says
// the plan is proved smallest. The bound is the largest number of bytes live at
// one moment (`Proof::MaxLive`, recomputed by checkOffsetPacking) or the result
// of an exhausted search (`Proof::Search`, which a checker can only report).
//
// Deterministic: effort is counted in search nodes, never in seconds.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_OFFSETPACKING_H
#define TENON_SOLVER_OFFSETPACKING_H

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tenon::solver {

/// A half-open interval of time in which a buffer is live. `sliceBegin` and
/// `sliceEnd` name the bytes of the buffer that are occupied meanwhile; the
/// default is all of them.
struct Window {
  static constexpr int64_t wholeBuffer = -1;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t sliceBegin = 0;
  int64_t sliceEnd = wholeBuffer;

  bool operator==(const Window &) const = default;
};

struct OffsetPackingProblem {
  struct Buffer {
    /// In bytes (any unit, if all use the same); zero is allowed.
    int64_t size = 0;
    /// The offset must be a multiple of it; positive, any number.
    int64_t alignment = 1;
    /// In any order, none overlapping another of the same buffer in time; a
    /// buffer without windows is placed but takes no part in any conflict.
    std::vector<Window> windows;
    /// The offset, if it is not the solver's to choose.
    std::optional<int64_t> fixedOffset;
    /// Buffers with the same group (not negative) keep their distances: there
    /// is one base with `offset == base + groupOffset` for every member. The
    /// base itself may be negative; no offset is. Members may overlap each
    /// other.
    int32_t group = -1;
    int64_t groupOffset = 0;
  };
  std::vector<Buffer> buffers;
  /// With a capacity the solver stops at the first plan that fits, and searches
  /// by clauses as well; without one it looks for the smallest arena.
  std::optional<int64_t> capacity;
};

struct OffsetPackingOptions {
  static constexpr int64_t automatic = -1;
  /// Search nodes spent in all. One node places one buffer in one partial plan
  /// and looks at every buffer that still waits. Automatic: about a second's
  /// worth, the fewer the more buffers there are.
  int64_t nodes = automatic;
};

enum class OffsetPackingStatus {
  /// A valid plan; within the capacity if there is one.
  Solved,
  /// No plan fits the capacity, or the fixed offsets and groups contradict each
  /// other: proved. No offsets.
  Infeasible,
  /// No plan within the capacity was found, none was proved impossible. The
  /// offsets hold the smallest valid plan that was found, if there is one.
  Undecided,
  /// The problem itself is not well formed; `message` says why.
  Invalid,
};

struct OffsetPackingCertificate {
  enum class Proof { MaxLive, Search };
  /// No plan has a smaller arena. For an infeasible problem it exceeds the
  /// capacity.
  int64_t bound = 0;
  Proof proof = Proof::MaxLive;
  /// Proof::MaxLive: the moment at which `bound` bytes are needed.
  int64_t time = 0;
  /// Proof::Search: the nodes after which the search was exhausted.
  int64_t nodes = 0;
};

struct OffsetPackingSolution {
  OffsetPackingStatus status = OffsetPackingStatus::Invalid;
  /// One per buffer, in the problem's order; empty if there is no plan.
  std::vector<int64_t> offsets;
  /// The largest offset + size.
  int64_t arena = 0;
  OffsetPackingCertificate certificate;
  /// Search nodes that were spent.
  int64_t nodesUsed = 0;
  /// Why the problem is invalid or infeasible; lower case, no period.
  std::string message;

  bool provedSmallest() const {
    return status == OffsetPackingStatus::Solved && arena == certificate.bound;
  }
};

/// Finds offsets. Never fails on a well-formed problem: if the budget of nodes
/// is spent, the best valid plan is returned.
OffsetPackingSolution
solveOffsetPacking(const OffsetPackingProblem &problem,
                   const OffsetPackingOptions &options = {});

/// Bytes that no plan of a well-formed problem can do without, as far as that is
/// known before a search; 0 of another problem.
int64_t leastArena(const OffsetPackingProblem &problem);

/// Recomputes what the solution claims and returns the first claim that is
/// false, or nothing. A bound with Proof::Search above max-live cannot be
/// recomputed in reasonable time and is not judged, except that no plan may lie
/// below it. Shares no code with the solver.
std::optional<std::string>
checkOffsetPacking(const OffsetPackingProblem &problem,
                   const OffsetPackingSolution &solution);

} // namespace tenon::solver

#endif // TENON_SOLVER_OFFSETPACKING_H
