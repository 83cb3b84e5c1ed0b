//===- AttentionKernel.h - What attention and its gradient share ----------===//
//
// Both keep copies of their operands in scratch memory (PackedProduct.h), and
// turn a tile of products of queries and keys into scores in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_ATTENTIONKERNEL_H
#define TENON_LIB_CODEGEN_CPU_ATTENTIONKERNEL_H

#include "PackedProduct.h"
#include "Templates.h"

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
  int64_t bytes = 0;
};

/// Neighbouring queries or keys: from `first` to before `end`.
struct Stretch {
  IndexExpression first;
  mlir::Value end, count;
};

/// Rows that are treated alike: a group of those that `causal` tells apart.
inline constexpr int64_t stripeRows = step::attentionKeyGroup;

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

  /// The matrix at a place of ScratchLayout.
  PackedMatrix matrix(int64_t place, int64_t rows, int64_t columns);
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
  /// Copies all keys or values to `rows`, and those, features as rows, to
  /// `columns`; what there is not is zero.
  void packKeys(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                int64_t features, const PackedMatrix &rows,
                const PackedMatrix &columns);

  /// A vector of scores of a query from the products with neighbouring keys:
  /// with scale, bias, mask and what `causal` leaves out, which is -infinity,
  /// as is what lies behind the last key. `key` is the first lane.
  mlir::Value score(mlir::Value product, const IndexExpression &query,
                    const IndexExpression &key);
  /// A vector of mask, bias or factor.
  mlir::Value beside(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                     const IndexExpression &query, const IndexExpression &key);

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
  mlir::Value endOfKeys(const IndexExpression &query);

private:
  /// The numbers of the lanes, and an index, as i32.
  mlir::Value lanes();
  mlir::Value narrow(mlir::Value index);

  int64_t bytesPerPart;
};

/// The template of an operation: `Scratch` says where a part keeps its copies,
/// and `Kernel` emits the units of work that the parts share.
template <typename Op, typename Scratch, typename Kernel>
constexpr Template attentionTemplateOf() {
  return {.accepts = acceptsOp<Op>,
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
                k.forUnits(step::attentionUnits(op),
                           [&](const IndexExpression &unit) {
                             kernel.emitUnit(unit);
                           });
              }};
}

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_ATTENTIONKERNEL_H
