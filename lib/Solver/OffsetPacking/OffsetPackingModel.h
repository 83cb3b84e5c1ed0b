//===- OffsetPackingModel.h - a packing problem in its smallest form ------===//
//
// What every algorithm of offset packing works on. Buffers become rigid bodies
// (one per buffer or group); times become sections, the few moments that
// matter; what cannot conflict is gone. Internal to lib/Solver.
//
// Sections. Between two events the set of live buffers is constant. A moment
// whose live set is contained in a neighbour's adds nothing, so only the
// moments after a begin and before an end are kept: they are numbered 0, 1, 2,
// ... and a window becomes a range of these numbers.
//
// Bodies. A body occupies, in each of its slots (a range of sections), the
// bytes [base + low, base + high). A plain buffer is one slot with low = 0. A
// body whose slots all have low = 0 is flat-bottomed; if all are and none is
// fixed, a plan with the smallest arena can be found by dropping the bodies one
// by one on the skyline, which the search relies on (Model::canBeDropped).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGMODEL_H
#define TENON_LIB_SOLVER_OFFSETPACKINGMODEL_H

#include "tenon/Solver/OffsetPacking.h"

#include <span>

namespace tenon::solver::packing {

struct Slot {
  int32_t begin; ///< first section
  int32_t end;   ///< one past the last section
  int64_t low;   ///< first byte, relative to the body's base
  int64_t high;  ///< one past the last byte
};

struct Body {
  int32_t firstSlot = 0;
  int32_t endSlot = 0;
  /// base = residue (mod alignment), 0 <= residue < alignment.
  int64_t alignment = 1;
  int64_t residue = 0;
  /// base + height <= arena.
  int64_t height = 0;
  /// How long it is live, in the problem's time: for sorting only.
  int64_t duration = 0;
  /// The base is given.
  bool fixed = false;
  int64_t fixedBase = 0;

  /// The smallest permitted base that is at least `base` (not negative).
  int64_t alignUp(int64_t base) const {
    if (alignment == 1)
      return base;
    int64_t over = (base - residue) % alignment;
    if (over == 0)
      return base;
    return base + (over > 0 ? alignment - over : -over);
  }
};

struct Model {
  std::vector<Body> bodies;
  std::vector<Slot> slots;
  int32_t numSections = 0;
  /// Of each buffer: its body, and its offset minus the body's base.
  std::vector<int32_t> bodyOfBuffer;
  std::vector<int64_t> shiftOfBuffer;
  /// All bodies are flat-bottomed and free.
  bool canBeDropped = true;
  /// Every body is one slot with low = 0 (implies canBeDropped unless fixed).
  bool onlyBoxes = true;
  /// Every occupied range begins at a multiple of it, wherever its body lies.
  int64_t granule = 1;

  /// No arena is smaller; the bytes live at `peakTime`, in the problem's time.
  int64_t maxLive = 0;
  int64_t peakTime = 0;
  /// No arena is smaller because some body alone reaches that far.
  int64_t tallest = 0;

  int64_t bound() const { return maxLive > tallest ? maxLive : tallest; }
  std::span<const Slot> slotsOf(const Body &body) const {
    return std::span(slots).subspan(body.firstSlot,
                                    body.endSlot - body.firstSlot);
  }
};

/// Sets canBeDropped, onlyBoxes, maxLive (not peakTime) and tallest from the
/// bodies and slots.
void classify(Model &model);

/// A base per body.
using Bases = std::vector<int64_t>;

/// The largest base + height.
int64_t arenaOf(const Model &model, const Bases &bases);

/// Why a problem has no model.
struct ModelError {
  OffsetPackingStatus status; ///< Invalid or Infeasible
  std::string message;
};

/// Builds the model; checks every number of the problem on the way.
std::optional<ModelError> buildModel(const OffsetPackingProblem &problem,
                                     Model &model);

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGMODEL_H
