//===- ReductionTree.h - In which order a reduction combines its elements -===//
//
// The order is a function of the reduction and the shape of its operand, never
// of the kernel it ends up in, of the target or of the number of parts, so that
// a value has the same bits wherever it is computed. Dimensions of extent 1 do
// not count. Codegen/Loops/ReduceTree.h has the code.
//
// (a) The last dimension is kept, or the region is not a single commutative
//     operation: every result element has one accumulator, which starts at the
//     initial value and takes the elements in row-major order. If there are
//     n >= 16 elements, they are taken in blocks, each of which has an
//     accumulator first: one sum of many terms loses digits, and threads take
//     blocks side by side. With b the least power of two whose square is at
//     least n, a block is as many of the reduced dimensions at the end as have
//     at most b elements together, times a run of the next one, of the largest
//     length that keeps it at b elements. No element changes places with
//     another, so a region that prefers its first operand, as that of argmax
//     does between two NaN, prefers the first element.
// (b) The last dimension is reduced by a single commutative operation. Let n be
//     the number of elements in the run of reduced dimensions at the end. They
//     are cut into chunks of 16 neighbours (the last one may be short), chunk c
//     goes to accumulator c mod A of A = min(4, ceil(n / 16)), which has a
//     place for each element of a chunk. Reduced dimensions further out repeat
//     this in row-major order with the same accumulators. At the end
//     ((a0 a1) (a2 a3)) are combined, then places i and i + 8, i and i + 4,
//     i and i + 2, i and i + 1.
//
// Example for (b): a row of 40 elements has A = 3; x0..x15 make a0, x16..x31
// a1, x32..x39 and eight neutral elements a2. For (a): of 5 x 9 elements b = 8
// and each 9 are a block of 8 and a block of 1.
//
// Accumulators start at the neutral element. If the initial value is neutral it
// is what they start at (for a sum of floats: the zero that was given);
// otherwise the sum starts at -0 and the initial value is combined at the end,
// as the left operand. Elements of type bf16 and f16 are accumulated in f32 and
// rounded once.
//
// What is neutral to any other region is not known. There the accumulator of a
// block starts at the block's first element, so the initial value is combined
// once, at the beginning. Accumulators have the type of the elements.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_REDUCTIONTREE_H
#define TENON_ANALYSIS_REDUCTIONTREE_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tenon {

/// The dimensions of a reduction's operand that are not of extent 1.
struct ReductionSpace {
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<bool> reduced;

  explicit ReductionSpace(stablehlo::ReduceOp reduce);
  bool operator==(const ReductionSpace &) const = default;

  bool reducesNothing() const { return !llvm::is_contained(reduced, true); }
  bool reducesLast() const { return !reduced.empty() && reduced.back(); }
  llvm::SmallVector<int64_t> kept() const;
  /// Reduced dimensions: all, those in front of the last kept one, and the run
  /// of them at the end.
  llvm::SmallVector<int64_t> allReduced() const;
  llvm::SmallVector<int64_t> outerReduced() const;
  llvm::SmallVector<int64_t> trailingReduced() const;
  /// Kept dimensions in front of the last reduced one, and behind it.
  llvm::SmallVector<int64_t> outerKept() const;
  llvm::SmallVector<int64_t> trailingKept() const;
};

/// Whether `op` is a reduction over a dimension of extent other than 1.
bool reducesSomething(mlir::Operation *op);

/// The blocks of order (a).
struct ReductionBlocks {
  llvm::SmallVector<int64_t> before; // reduced dimensions of which each block
                                     // has one index
  int64_t extent = 1, run = 1;       // the dimension that is cut into runs
  llvm::SmallVector<int64_t> within; // reduced dimensions that blocks contain

  /// None for few elements.
  static std::optional<ReductionBlocks> of(llvm::ArrayRef<int64_t> reduced);
  /// Blocks per index of `before`, and all of them.
  int64_t runs() const;
  int64_t count() const;
};

/// Elements of a chunk of order (b).
inline constexpr int64_t reductionChunk = 16;
/// The accumulators of order (b) for that many elements at the end, at least 1.
int64_t reductionAccumulators(int64_t elements);

/// The operation of a region that takes an accumulator and an element and
/// applies nothing but one commutative operation to them; null for any other.
mlir::Operation *commutativeOperation(mlir::Region &region);

} // namespace tenon

#endif // TENON_ANALYSIS_REDUCTIONTREE_H
