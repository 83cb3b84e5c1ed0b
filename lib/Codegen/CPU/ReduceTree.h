//===- ReduceTree.h - In which order a reduction combines its elements ----===//
//
// The order is a function of the reduction and the shape of its operand, never
// of the kernel it ends up in or the number of parts, so that a value has the
// same bits wherever it is computed. Dimensions of extent 1 do not count.
//
// (a) The last dimension is kept, or the region is not a single commutative
//     operation: every result element has one accumulator, which starts at the
//     initial value and takes the elements in row-major order. If the region is
//     a single commutative operation and there are n >= 16 elements, they are
//     taken in blocks, each of which has an accumulator first, because one sum
//     of many terms loses digits. With b the least power of two whose square is
//     at least n, a block is as many of the reduced dimensions at the end as
//     have at most b elements together, times a run of the next one, of the
//     largest length that keeps it at b elements.
// (b) The last dimension is reduced by a single commutative operation. Let n be
//     the number of elements in the run of reduced dimensions at the end. They
//     are cut into chunks of 16 neighbours (the last one may be short), chunk c
//     goes to accumulator c mod A of A = min(4, ceil(n / 16)), one lane per
//     element. Reduced dimensions further out repeat this in row-major order
//     with the same accumulators. At the end ((a0 a1) (a2 a3)) are combined,
//     then lanes i and i + 8, i and i + 4, i and i + 2, i and i + 1.
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
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_REDUCETREE_H
#define TENON_LIB_CODEGEN_CPU_REDUCETREE_H

#include "KernelBuilder.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

namespace tenon::codegen {

/// The dimensions of a reduction's operand that are not of extent 1.
struct ReductionSpace {
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<bool> reduced;

  explicit ReductionSpace(stablehlo::ReduceOp reduce);
  bool operator==(const ReductionSpace &) const = default;

  bool reducesNothing() const { return !llvm::is_contained(reduced, true); }
  bool reducesLast() const { return !reduced.empty() && reduced.back(); }
  llvm::SmallVector<int64_t> kept() const;
  /// Reduced dimensions in front of the last kept one.
  llvm::SmallVector<int64_t> outerReduced() const;
  /// The run of reduced dimensions at the end.
  llvm::SmallVector<int64_t> trailingReduced() const;
  /// Kept dimensions in front of the last reduced one, and behind it.
  llvm::SmallVector<int64_t> outerKept() const;
  llvm::SmallVector<int64_t> trailingKept() const;

  /// The index in the space from indices of its kept and reduced dimensions.
  Indices merge(llvm::ArrayRef<IndexExpression> kept,
                llvm::ArrayRef<IndexExpression> reduced) const;
};

/// The blocks of order (a).
struct RowBlocks {
  llvm::SmallVector<int64_t> before; // reduced dimensions of which each block
                                     // has one index
  int64_t extent = 1, run = 1;       // the dimension that is cut into runs
  llvm::SmallVector<int64_t> within; // reduced dimensions that blocks contain

  /// None for few elements.
  static std::optional<RowBlocks> of(llvm::ArrayRef<int64_t> reduced);

  using Values = KernelBuilder::Values;
  using Row = llvm::function_ref<Values(const Indices &, mlir::ValueRange)>;
  /// Carries values through all rows of one block.
  using ForRows = llvm::function_ref<Values(mlir::ValueRange, Row)>;
  /// Carries values through all blocks.
  Values
  forBlocks(KernelBuilder &k, mlir::ValueRange carried,
            llvm::function_ref<Values(mlir::ValueRange, ForRows)> block) const;
};

/// `indices` for the dimensions of `shape` that are not of extent 1.
Indices withUnitDimensions(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<IndexExpression> indices);
llvm::SmallVector<int64_t> withoutUnitExtents(llvm::ArrayRef<int64_t> shape);

/// What a reduction does to two values.
class Combiner {
public:
  explicit Combiner(stablehlo::ReduceOp reduce)
      : Combiner(reduce.getBody(), reduce.getInputs(), reduce.getInitValues(),
                 reduce.getResults()) {}
  /// `region` takes an accumulator and an element per input.
  Combiner(mlir::Region &region, mlir::ValueRange inputs,
           mlir::ValueRange initialValues, mlir::ValueRange results);

  /// A single commutative operation: order (b) if the last dimension is
  /// reduced.
  bool isSimple() const { return operation != nullptr; }
  mlir::ValueRange inputs, initialValues, results;

  /// The type accumulators of input `i` have: f32 for 16-bit floats in simple
  /// reductions.
  mlir::Type accumulatorType(unsigned i) const;
  /// The starting values, scalars.
  llvm::SmallVector<mlir::Value> start(KernelBuilder &k) const;
  /// Accumulators and elements are all scalars or all vectors; elements are in
  /// the tensor's type.
  llvm::SmallVector<mlir::Value>
  combine(KernelBuilder &k, llvm::ArrayRef<mlir::Value> accumulators,
          llvm::ArrayRef<mlir::Value> elements) const;
  /// Two accumulators of a simple reduction.
  mlir::Value join(KernelBuilder &k, mlir::Value a, mlir::Value b) const;
  /// All lanes of the accumulators of a simple reduction to one value.
  mlir::Value collapse(KernelBuilder &k,
                       llvm::ArrayRef<mlir::Value> accumulators) const;
  /// Accumulators to results: the initial value if it is not yet in, and the
  /// rounding.
  llvm::SmallVector<mlir::Value>
  finish(KernelBuilder &k, llvm::ArrayRef<mlir::Value> accumulators) const;

  /// Whether accumulators start at the initial value, a constant that is as
  /// good as a neutral element, or the operation is not simple.
  bool startsAtInitialValue() const;

private:
  mlir::Region *region;
  mlir::Operation *operation = nullptr;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_REDUCETREE_H
