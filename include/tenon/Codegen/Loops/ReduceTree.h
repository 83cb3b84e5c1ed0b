//===- ReduceTree.h - Code that combines the elements of a reduction ------===//
//
// The steps of the orders that Analysis/ReductionTree.h defines, for any number
// of lanes. Which loops walk the elements is the schedule's affair.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_REDUCETREE_H
#define TENON_CODEGEN_LOOPS_REDUCETREE_H

#include "tenon/Analysis/ReductionTree.h"
#include "tenon/Codegen/Loops/LoopNest.h"

namespace tenon::codegen {

/// The index in a space from indices of its kept and reduced dimensions.
Indices mergeIndices(const ReductionSpace &space,
                     llvm::ArrayRef<IndexExpression> kept,
                     llvm::ArrayRef<IndexExpression> reduced);

/// `indices` for the dimensions of `shape` that are not of extent 1.
Indices withUnitDimensions(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<IndexExpression> indices);

/// The rows of a block of order (a).
class BlockRows {
public:
  using Values = LoopNest::Values;
  using RowBody = llvm::function_ref<Values(const Indices &, mlir::ValueRange)>;

  /// Of the run of that number at indices of `blocks.before`.
  BlockRows(LoopNest &k, const ReductionBlocks &blocks, Indices before,
            const IndexExpression &run);
  /// Of the block of that number.
  BlockRows(LoopNest &k, const ReductionBlocks &blocks,
            const IndexExpression &number);

  /// Carries values through all rows.
  Values forEach(mlir::ValueRange carried, RowBody row) const;
  /// The same with what `first` gives of the first row. With `lanes`, where
  /// `blocks.within` is empty, a row is that many elements, of which runs are a
  /// multiple.
  Values fromFirst(llvm::function_ref<Values(const Indices &)> first,
                   RowBody row, int64_t lanes = 1) const;

private:
  Values forPositions(mlir::Value low, int64_t lanes, mlir::ValueRange carried,
                      RowBody row) const;

  LoopNest &k;
  const ReductionBlocks &blocks;
  Indices before;
  IndexExpression begin;
  mlir::Value low, high;
};

/// Carries values through all blocks of order (a).
LoopNest::Values forBlocks(
    LoopNest &k, const ReductionBlocks &blocks, mlir::ValueRange carried,
    llvm::function_ref<LoopNest::Values(mlir::ValueRange, const BlockRows &)>
        block);

/// The accumulators of order (b) to one value: first those of a chunk's place
/// with each other, then the places. Each accumulator is one value of as many
/// lanes as a chunk has elements, or several of fewer lanes (down to scalars),
/// which follow each other.
mlir::Value
collapse(LoopNest &k, llvm::ArrayRef<mlir::Value> accumulators,
         llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join);

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
  /// Whether any order of a simple reduction gives the same bits.
  bool isOrderFree() const;
  mlir::ValueRange inputs, initialValues, results;

  /// The type accumulators of input `i` have: f32 for 16-bit floats in simple
  /// reductions.
  mlir::Type accumulatorType(unsigned i) const;
  /// The bytes that all accumulators take in memory.
  int64_t accumulatorBytes() const;
  /// The starting values, scalars.
  llvm::SmallVector<mlir::Value> start(LoopNest &k) const;
  /// Accumulators and elements are all scalars or all vectors; elements are in
  /// the tensor's type.
  llvm::SmallVector<mlir::Value>
  combine(LoopNest &k, llvm::ArrayRef<mlir::Value> accumulators,
          llvm::ArrayRef<mlir::Value> elements) const;
  /// The accumulators behind a block's first element.
  llvm::SmallVector<mlir::Value>
  first(LoopNest &k, llvm::ArrayRef<mlir::Value> elements) const;
  /// The accumulators of what stands in front and of what stands behind it.
  llvm::SmallVector<mlir::Value>
  joinAll(LoopNest &k, llvm::ArrayRef<mlir::Value> before,
          llvm::ArrayRef<mlir::Value> behind) const;
  /// Two accumulators of a simple reduction.
  mlir::Value join(LoopNest &k, mlir::Value a, mlir::Value b) const;
  /// All lanes of the accumulators of a simple reduction to one value, as
  /// collapse() below.
  mlir::Value collapse(LoopNest &k,
                       llvm::ArrayRef<mlir::Value> accumulators) const;
  /// Accumulators to results: the initial value if it is not yet in, and the
  /// rounding.
  llvm::SmallVector<mlir::Value>
  finish(LoopNest &k, llvm::ArrayRef<mlir::Value> accumulators) const;
  /// Finishes the accumulators, and has these results from here on.
  void provide(LoopNest &k, llvm::ArrayRef<mlir::Value> accumulators) const;

  /// Whether accumulators start at the initial value, a constant that is as
  /// good as a neutral element, or the operation is not simple.
  bool startsAtInitialValue() const;

private:
  mlir::Region *region;
  mlir::Operation *operation = nullptr;
};

/// Whether each of the reductions is simple (Combiner::isSimple).
bool areSimple(llvm::ArrayRef<stablehlo::ReduceOp> reductions);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_REDUCETREE_H
