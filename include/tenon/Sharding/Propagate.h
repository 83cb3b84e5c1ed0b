//===- Propagate.h - Layouts for all values of a step ---------------------===//
//
// A user gives layouts to some arguments and results. From them every other
// value gets one, forwards and backwards along the factors of operations: where
// a factor is cut in one tensor of an operation, it is cut alike in the others,
// as long as nobody has asked for something else. No costs are looked at; where
// a layout does not suit an operation, the partitioner moves the tensor.
//
// Batches come first: their layouts reach everything that depends on them
// before those of parameters do, so that activations stay cut along the batch
// and parameters that are cut along the same axis are gathered. Within each of
// the two, element-wise operations and movements go before all others.
//
// Values with a constraint have the layout that is asked for, as arguments do,
// and go with the batches: both are about activations. Where priorities are
// given, each has rounds of its own, in which dimensions of later ones are not
// there yet.
//
// Values that cost nothing to make, such as constants, are left out: they are
// made in whatever layout is asked for, and would tie values together that have
// nothing to do with each other.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_PROPAGATE_H
#define TENON_SHARDING_PROPAGATE_H

#include "tenon/Sharding/Layout.h"
#include "tenon/Sharding/Rules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace tenon::sharding {

/// How a user wants a tensor to lie.
struct AskedLayout {
  AskedLayout() = default;
  AskedLayout(Layout layout) : layout(std::move(layout)) {}

  Layout layout;
  /// Per dimension, whether it may be cut further; empty if none may.
  llvm::SmallVector<bool> open;
  /// Along these it may not.
  AxisParts replicated;
  /// Per dimension, when propagation reads it, the lowest number first; empty
  /// if all are first.
  llvm::SmallVector<int64_t> priorities;

  bool isOpen(size_t dim) const { return !open.empty() && open[dim]; }
  /// Whether a tensor may lie so.
  bool allows(const Layout &other) const;
};

/// What a user asks for, by number of argument and result of @main, and by
/// value.
struct AskedLayouts {
  std::vector<std::optional<AskedLayout>> arguments, results;
  /// Of the results of constraints (step.sharding_constraint).
  llvm::DenseMap<mlir::Value, AskedLayout> constraints;
  /// Results of constraints that lie alike, group by group.
  std::vector<std::vector<mlir::Value>> groups;
};

using ValueLayouts = llvm::DenseMap<mlir::Value, Layout>;

struct PropagatedLayouts {
  /// Of every tensor in the function, its arguments and those of its regions.
  ValueLayouts values;
  /// Of what the function returns.
  std::vector<Layout> results;
};

/// What the partitioner writes: layouts for all values and, for the operations
/// in `axes`, how their factors are cut. Of others it finds the way itself.
struct LayoutPlan {
  PropagatedLayouts layouts;
  llvm::DenseMap<mlir::Operation *, FactorAxes> axes;
  /// Second layouts of values, from which readers have them where that takes
  /// less time.
  ValueLayouts copies = ValueLayouts();
  /// Whether these alone stay for further readers, and not whatever one of them
  /// has had a value moved to.
  bool keepsOnlyCopies = false;
};

/// A state argument and the result that replaces it get the same layout; both
/// may be asked for only if they are the same.
PropagatedLayouts propagate(mlir::func::FuncOp main, const AskedLayouts &asked);

/// Whether `value` is made anew for each layout: constants, iota, and scalars
/// that are repeated.
bool isMadeAnywhere(mlir::Value value);

} // namespace tenon::sharding

#endif // TENON_SHARDING_PROPAGATE_H
