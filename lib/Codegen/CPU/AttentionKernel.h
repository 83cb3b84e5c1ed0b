//===- AttentionKernel.h - What attention and its gradient share ----------===//
//
// Both keep copies of their operands in scratch memory (PackedProduct.h), and
// turn a tile of products of queries and keys into scores in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_ATTENTIONKERNEL_H
#define TENON_LIB_CODEGEN_CPU_ATTENTIONKERNEL_H

#include "PackedTiles.h"
#include "Templates.h"

#include "tenon/Analysis/GradientSums.h"
#include "tenon/Dialect/Step/Attention.h"

namespace tenon::codegen {

/// Scratch memory of a part, handed out piece by piece.
class ScratchLayout {
public:
  /// The place of a packed matrix, in bytes.
  int64_t add(int64_t rows, int64_t columns) {
    int64_t place = bytes;
    bytes += packedRows(rows) * packedStride(columns) * int64_t(sizeof(float));
    return place;
  }
  /// Of bf16; as many rows as there may be terms.
  int64_t addNarrow(int64_t rows, int64_t columns) {
    int64_t place = bytes;
    bytes += wholeSteps(rows) * narrowStride(columns) * 2;
    return place;
  }
  /// Of pairs of that many terms.
  int64_t addPairs(int64_t terms, int64_t columns) {
    return add(wholeSteps(terms) / 2, columns);
  }
  int64_t bytes = 0;
};

/// Neighbouring queries or keys: from `first` to before `end`.
struct Stretch {
  IndexExpression first;
  mlir::Value end, count;
};

/// Rows that are treated alike: a group of those that `causal` tells apart.
inline constexpr int64_t stripeRows = step::attentionKeyGroup;
/// The same where products are computed by tiles.
inline constexpr int64_t tileStripeRows = step::tileKeyGroup;

class AttentionKernel {
public:
  using Values = KernelBuilder::Values;

  /// `bytesPerPart` is all of a part's scratch memory.
  AttentionKernel(KernelBuilder &k, const step::AttentionProblem &problem,
                  int64_t bytesPerPart)
      : k(k), problem(problem), access(k), bytesPerPart(bytesPerPart) {}

  KernelBuilder &k;
  const step::AttentionProblem &problem;
  PackedAccess access;
  /// The index of the query's batch dimensions, by number.
  Indices batch;
  /// That of the unit behind this one; none if this one takes long anyway.
  Indices nextBatch;

  /// The matrix at a place of ScratchLayout.
  PackedMatrix matrix(int64_t place, int64_t rows, int64_t columns);
  /// Its place holds bf16, or such that are seen as 4-byte elements.
  PackedMatrix narrowMatrix(int64_t place, int64_t rows, int64_t columns);
  PackedMatrix pairsOfRows(int64_t place, int64_t rows, int64_t columns);
  PackedMatrix pairMatrix(int64_t place, int64_t terms, int64_t columns) {
    return matrix(place, wholeSteps(terms) / 2, columns);
  }
  /// All of `extent`.
  Stretch all(int64_t extent);

  /// The index of a tensor with these dimensions.
  Indices indices(llvm::ArrayRef<int64_t> dims, const IndexExpression &query,
                  const IndexExpression &key,
                  const IndexExpression &feature) const;

  /// The element as a vector of f32.
  mlir::Value wide(mlir::Value tensor, llvm::ArrayRef<IndexExpression> at);

  /// Runs the body for stretches of `size`, a multiple of 16, that the indices
  /// from `low` to before `high` are cut into; `extent` is the end of all.
  void forStretches(const IndexExpression &low, mlir::Value high,
                    int64_t extent, int64_t size,
                    llvm::function_ref<void(const Stretch &)> body);
  /// Runs the body for every index of a stretch.
  void forEach(const Stretch &stretch, int64_t extent,
               KernelBuilder::Body body);
  /// Runs the body for the keys of a stretch, 16 at a time, carrying values. If
  /// the last vector may be short, what there is not is masked.
  Values forKeys(const Stretch &keys, mlir::ValueRange carried,
                 KernelBuilder::CarryingBody body);
  void forKeys(const Stretch &keys, KernelBuilder::Body body);

  /// Copies a stretch of the rows of a tensor of queries or keys, the first of
  /// them to row 0; columns that there are not are zero.
  void packRows(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                const Stretch &rows, int64_t extent, int64_t features,
                const PackedMatrix &to);
  /// The way back: stores the rows of a matrix from row 0 on as that stretch of
  /// a result.
  void storeRows(mlir::Value result, llvm::ArrayRef<int64_t> dims,
                 const Stretch &rows, int64_t extent, int64_t features,
                 const PackedMatrix &from);
  /// Asks for a row of a tensor of queries or keys that the unit behind this
  /// one reads, while this one computes. A row is a few lines, too short for a
  /// processor to see where it goes on.
  void prefetchRow(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                   const IndexExpression &row, int64_t extent,
                   int64_t features);
  /// The same for queries, keys and values.
  void prefetchRows(const IndexExpression &row);
  /// Copies all keys or values to `rows`, and those, features as rows, to
  /// `columns`; what there is not is zero.
  void packKeys(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                int64_t features, const PackedMatrix &rows,
                const PackedMatrix &columns);

  /// Zeros in what a matrix of bf16 has behind `columns` columns, up to the end
  /// of the last step of a product.
  void clearColumns(const PackedMatrix &narrow, const IndexExpression &row,
                    int64_t columns);
  /// Zeros in its rows behind the first `rows`, up to the end of the step.
  void clearRows(const PackedMatrix &narrow, mlir::Value rows, int64_t most);
  /// All rows of a tensor of keys or values, packed at a place of bf16, and a
  /// right factor with a column for each, features as terms.
  PackedMatrix packKeyTerms(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                            int64_t features, int64_t place,
                            const PackedMatrix &columns);
  /// A count up to the end of the step.
  mlir::Value wholeStepsOf(mlir::Value count);
  /// packRows() and zeros behind rows and columns.
  void packTerms(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                 const Stretch &rows, int64_t extent, int64_t features,
                 const PackedMatrix &to);

  /// A vector of scores of a query from the products with neighbouring keys:
  /// with scale, bias, mask and what `causal` leaves out, which is -infinity,
  /// as is what lies behind the last key. `key` is the first lane.
  mlir::Value score(mlir::Value product, const IndexExpression &query,
                    const IndexExpression &key);
  /// A vector of mask, bias or factor.
  mlir::Value beside(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                     const IndexExpression &query, const IndexExpression &key);

  /// Turns a row of products with a block of keys into scores, and gives their
  /// maximum in all lanes.
  mlir::Value makeScores(const PackedMatrix &products,
                         const IndexExpression &query,
                         const IndexExpression &row, const Stretch &block);
  /// What scores with that maximum are measured from: where there is nothing
  /// but -infinity, all weights are 0.
  mlir::Value referenceOf(mlir::Value maximum);
  /// Turns scores into weights, with their factors if `multiplies`, and gives
  /// the sum of those without, in all lanes.
  mlir::Value makeWeights(const PackedMatrix &scores,
                          const IndexExpression &query,
                          const IndexExpression &row, const Stretch &block,
                          mlir::Value reference, bool multiplies);
  /// Weights divided by their sum, with their factors.
  void divideWeights(const PackedMatrix &weights, const PackedMatrix &to,
                     const IndexExpression &query, const IndexExpression &row,
                     const Stretch &block, mlir::Value sum);

  /// Extents of the batch dimensions that the keys have, or of the others.
  llvm::SmallVector<int64_t> extents(bool shared) const;
  /// One batch of the queries; its keys are one block or several.
  void beginUnit(const IndexExpression &unit, bool isOneBlock);
  /// One batch of the keys: runs `pack`, then the body for blocks of the
  /// queries of all batches that share it. The first of them is told.
  void forQueryBlocks(
      const IndexExpression &unit, int64_t blockSize,
      llvm::function_ref<void()> pack,
      llvm::function_ref<void(const Stretch &block, mlir::Value isFirst)> body);
  /// Runs the body for stretches of keys with the queries of a block that take
  /// part with them: all, or what `causal` leaves, by groups of keys. Queries
  /// are `count` from `first` on, counted in the block, up to `most`.
  void forQueriesOfKeys(
      const Stretch &block, mlir::Value count, int64_t most, int64_t group,
      llvm::function_ref<void(const IndexExpression &first, mlir::Value count,
                              const Stretch &keys)>
          body);
  /// A maximum or sum, in all lanes.
  mlir::Value statistic(mlir::Value tensor, const IndexExpression &query);

  /// A row of the gradient. `weights` has products of queries and keys, and
  /// `slopes` those of the output's gradient and values; both are overwritten.
  /// What is multiplied goes to `weightsTo` and `slopesTo`, which may be they.
  struct GradientRow {
    mlir::Value maximum, sum;
    PackedMatrix weights, slopes, weightsTo, slopesTo;
  };
  void makeSlopes(const GradientRow &matrices, const IndexExpression &query,
                  const IndexExpression &row, const Stretch &keys);

  /// exp(score - reference).
  mlir::Value weight(mlir::Value score, mlir::Value reference);
  /// Weights times their factors, rounded if the operation says so.
  mlir::Value multiplied(mlir::Value weights, const IndexExpression &query,
                         const IndexExpression &key);
  /// Rounded to the type of an operand, if `isRounded`.
  mlir::Value rounded(mlir::Value numbers, bool isRounded, mlir::Value like);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  /// `number` to the type of a result, stored at its index if the kernel has
  /// it.
  void storeResult(mlir::Value result, llvm::ArrayRef<IndexExpression> at,
                   mlir::Value number);

  /// The end of the keys that a stripe of queries from `query` takes part with:
  /// all, or what `causal` leaves up to the end of a group.
  mlir::Value endOfKeys(const IndexExpression &query,
                        int64_t group = step::attentionKeyGroup);

  mlir::Value larger(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value reciprocal(mlir::Value number);

private:
  void setBatch(const Indices &own, const Indices &shared);
  /// The index behind this one, or the last one.
  Indices behind(const IndexExpression &unit, llvm::ArrayRef<int64_t> extents);
  /// A piece of the part's scratch memory.
  mlir::Value memory(int64_t place, int64_t elements, mlir::Type type);
  /// The numbers of the lanes, and an index, as i32.
  mlir::Value lanes();
  mlir::Value narrow(mlir::Value index);

  int64_t bytesPerPart;
};

enum class Products : uint8_t { ofVectors, ofTiles };

/// The template of an operation: `Scratch` says where a part keeps its copies,
/// and `Kernel` emits the units of work that the parts share.
template <typename Op, typename Scratch, typename Kernel, Products products>
constexpr Template attentionTemplateOf() {
  return {.accepts =
              [](const KernelSource &source) {
                return llvm::isa_and_nonnull<Op>(source.root) &&
                       !llvm::any_of(source.results(), summedGradients) &&
                       (products == Products::ofVectors ||
                        step::multipliesTiles(source.root));
              },
          .demand = [](const KernelSource &source) -> Demand {
            step::AttentionProblem problem(mlir::cast<Op>(source.root));
            return {step::attentionUnits(source.root), Scratch(problem).bytes};
          },
          .emit =
              [](KernelBuilder &k, unsigned) {
                auto op = mlir::cast<Op>(k.source.root);
                step::AttentionProblem problem(op);
                Scratch scratch(problem);
                Kernel kernel(k, op, problem, scratch);
                if (products == Products::ofTiles)
                  beginTiles(k);
                k.forUnits(step::attentionUnits(op),
                           [&](const IndexExpression &unit) {
                             kernel.emitUnit(unit);
                           });
                if (products == Products::ofTiles)
                  endTiles(k);
              }};
}

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_ATTENTIONKERNEL_H
