//===- Prices.h - Seconds of a step on a mesh -----------------------------===//
//
// What the ranks of a mesh take for an operation that each runs on its parts,
// and for moving a tensor from one layout to another. The choice of layouts
// adds these up before there is a partitioned step, the partitioner while it
// writes one; with the same numbers, so that a plan of the one is a program of
// the other.
//
// An operation takes as long as its arithmetic or its memory traffic, whichever
// is longer, on local shapes. Values that only element-wise operations make and
// read are taken to be merged with them: they are neither written nor read. The
// ranks of processors share the cores of one host unless a machine description
// has links.
//
// A step of a resharding along parts of axes takes what Cost/ExchangeCost.h
// says, by the slowest link that is on the way.
//
// Halos (Halo.h) are a collective_permute for each neighbour; a device also
// writes and reads what it puts together.
//
// A slice takes a small share of what copying the part takes, since its reader
// mostly reads it where it lies; so of two ways that exchange nothing the one
// that holds less is better.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_PRICES_H
#define TENON_SHARDING_PRICES_H

#include "tenon/Sharding/PlanReshard.h"
#include "tenon/Sharding/Rules.h"
#include "tenon/Target/Target.h"

#include <map>

namespace tenon::sharding {

/// What devices receive at once from one neighbour each, so that windows can
/// read it.
struct HaloPiece {
  AxisParts along;
  int64_t received = 0; // bytes per device
};

/// The halos of an operation whose factors are cut by `axes`, in the order in
/// which they are exchanged.
llvm::SmallVector<HaloPiece> halosOf(mlir::Operation *op, const Factors &rule,
                                     const FactorAxes &axes);

class Prices {
public:
  /// `target` has links for all axes of the mesh, or none.
  Prices(const Mesh &mesh, const target::Target &target);

  double secondsOf(const ReshardStep &step, llvm::ArrayRef<int64_t> shape,
                   int64_t elementBytes) const;
  double secondsOf(const ReshardPlan &plan, llvm::ArrayRef<int64_t> shape,
                   int64_t elementBytes) const;
  /// One run of an operation of step form, none of the loops and branches,
  /// whose factors are cut by `axes`.
  double secondsOf(mlir::Operation *op, const Factors &rule,
                   const FactorAxes &axes) const;

  /// Getting the halos of the operation's first operand.
  double secondsOfHalos(mlir::Operation *op, const Factors &rule,
                        const FactorAxes &axes) const;
  double secondsOf(const HaloPiece &piece) const;

private:
  target::Target target;
  int64_t cores; // of a rank
};

/// What one run of a step takes on each rank.
struct StepPrice {
  double compute = 0;       // seconds
  double communication = 0; // seconds, nothing of it hidden
  double received = 0;      // bytes
  struct Collective {
    ReshardKind kind;
    std::string axes; // as in the text of a layout
    int64_t received; // bytes, in one run
    auto operator<=>(const Collective &) const = default;
  };
  /// How often each stands in the step.
  std::map<Collective, int64_t> collectives;

  double seconds() const { return compute + communication; }
};

/// What a rank computes in one run of a partitioned step as it is written,
/// without its collectives: seconds.
double computeSecondsOf(mlir::Block &local, const Prices &prices);

/// Whether a value lies in memory, and not only between operations that become
/// one kernel.
bool isStored(mlir::Value value);

/// Bytes of an element of a tensor.
int64_t elementBytesOf(mlir::Value tensor);

/// The parts of axes along which a step exchanges.
AxisParts exchangedAlong(const ReshardStep &step);

/// How StableHLO spells the operation; a slice is none.
llvm::StringRef nameOf(ReshardKind kind);

} // namespace tenon::sharding

#endif // TENON_SHARDING_PRICES_H
