//===- Rules.h - Which dimensions of an operation are cut together --------===//
//
// An operation is seen as loops over factors. Every dimension of an operand or
// result runs over a list of factors, major first; dimensions of several
// tensors that run over one factor are cut along the same axes, and the
// operation is then computed shard by shard. A factor that is in operands and
// not in a result leaves that result pending, to be combined over the devices,
// if the factor has a reduction; without one every shard computes the same.
// What runs over no factor is whole on every device. Where windows run over a
// dimension of the first operand, it is cut like the others, and an operation
// on a shard reads some of what its neighbours have as well (Halo.h,
// ScatterHalo.h).
//
// Example: dot_general of tensor<8x16xf32> and tensor<16x4xf32> has the factors
// i = 8, k = 16 (sum), j = 4; operands [i, k] and [k, j], result [i, j]. A
// reshape of tensor<8x6xf32> to tensor<2x24xf32> has the factors a = 2, b = 4,
// c = 6: operand [ab, c], result [a, bc].
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_RULES_H
#define TENON_SHARDING_RULES_H

#include "tenon/Libraries/Collective.h"
#include "tenon/Sharding/Layout.h"
#include "tenon/Sharding/ScatterHalo.h"

#include "mlir/IR/Operation.h"

namespace tenon::sharding {

#define GET_StructureKind_DECL
#include "tenon/Sharding/ShardingRules.h.inc"

struct ShardingRule {
  const char *Operation;
  StructureKind Kind;
};

/// The operation's line; `absent` for what has none.
StructureKind structureOf(mlir::Operation *op);

struct Factor {
  int64_t size = 1;
  /// How results without the factor are combined.
  std::optional<Reduction> reduction = std::nullopt;
  bool isWhole = false; // may not be cut
  bool isEven = false;  // may be cut into shards of one size alone
  /// Of a dimension of the first operand over which windows run: a device reads
  /// more of it than its own shard. `size` is that of what is cut.
  std::optional<WindowedDim> windowed = std::nullopt;
  /// Why such a dimension is whole.
  const char *whyWhole = nullptr;
};

/// Whether a factor may be cut into so many shards.
bool mayBeCut(const Factor &factor, int64_t count);

/// Why windows keep a dimension from being cut into so many shards; null if
/// they do not.
const char *whyWhole(const Factor &factor, int64_t count);

/// The factors of each dimension of a tensor.
using TensorFactors = llvm::SmallVector<llvm::SmallVector<unsigned, 1>, 4>;

struct Factors {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<TensorFactors> operands, results;
};

/// The factors of an operation of step form without regions on tensors; those
/// of loops and branches are values', not an operation's.
Factors factorsOf(mlir::Operation *op);

/// The reduction that a region of two arguments stands for, if it combines them
/// by one operation that is one.
std::optional<Reduction> reductionOf(mlir::Region &region);

libraries::Combination combinationOf(Reduction reduction);

/// Axes for each factor.
using FactorAxes = llvm::SmallVector<AxisParts>;

/// Calls `visit` with each dimension of the first operand over which windows
/// run and which is cut, its factor, and what its shards need.
void forEachHalo(
    const Factors &rule, const FactorAxes &axes,
    llvm::function_ref<void(int64_t dim, unsigned factor, const Halo &halo)>
        visit);

/// The same where windows add to such a dimension, which the source has too.
/// What stays in its own shard is not visited.
void forEachScatterHalo(const Factors &rule, const FactorAxes &axes,
                        llvm::function_ref<void(int64_t dim, unsigned factor,
                                                const ScatterHalo &halo)>
                            visit);

/// Gives factors the axes by which `layout` cuts a tensor, as far as they have
/// none that differ, and as no other factor has the same axis.
void adopt(const Factors &rule, const TensorFactors &tensor,
           const Layout &layout, llvm::ArrayRef<int64_t> shape,
           FactorAxes &axes);

/// Takes away axes that cannot be: of a factor behind one that is not cut into
/// single elements.
void restrict(const Factors &rule, FactorAxes &axes);

/// The layout of a tensor whose factors are cut by `axes`. `isResult` adds what
/// is pending.
Layout layoutOf(const Factors &rule, const TensorFactors &tensor,
                const FactorAxes &axes, bool isResult);

} // namespace tenon::sharding

#endif // TENON_SHARDING_RULES_H
