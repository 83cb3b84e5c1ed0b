//===- AttentionKernel.h - What attention and its gradient share ----------===//
//
// Both keep copies of their operands in scratch memory (PackedProduct.h), and
// turn a tile of products of queries and keys into scores in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_ATTENTIONKERNEL_H
#define TENON_LIB_CODEGEN_CPU_ATTENTIONKERNEL_H

#include "PackedProduct.h"

#include "tenon/Dialect/Step/Attention.h"

namespace tenon::codegen {

/// Scratch memory of a part, handed out piece by piece.
class ScratchLayout {
public:
  /// The place of that many f32, in bytes.
  int64_t add(int64_t elements) {
    int64_t place = bytes;
    bytes += llvm::alignTo(elements * int64_t(sizeof(float)), 64);
    return place;
  }
  int64_t bytes = 0;
};

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

  /// The index of a tensor with these dimensions.
  Indices indices(llvm::ArrayRef<int64_t> dims, const IndexExpression &query,
                  const IndexExpression &key,
                  const IndexExpression &feature) const;

  /// The element as a vector of f32.
  mlir::Value wide(mlir::Value tensor, llvm::ArrayRef<IndexExpression> at);

  /// Copies `rows` rows from `first` of a tensor of queries or keys; columns
  /// that there are not are zero.
  void packRows(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                const IndexExpression &first, int64_t rows, int64_t features,
                const PackedMatrix &to);
  /// Copies all keys or values, features as rows; columns that there are not
  /// are zero.
  void packTransposed(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                      int64_t features, const PackedMatrix &to);

  /// Whether rows of a tensor lie in memory as products read them, so that a
  /// copy would gain nothing.
  static bool isReadDirectly(mlir::Value tensor, llvm::ArrayRef<int64_t> dims);
  /// 16 features of a key or value: from the tensor, or from its copy.
  mlir::Value row(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                  const PackedMatrix &copy, const IndexExpression &key,
                  const IndexExpression &feature);

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

  /// The keys that a stripe of queries from `query` takes part with: all, or
  /// what `causal` leaves up to the end of a group.
  SummedRange keysOf(const IndexExpression &query);
  /// The end of the columns that such a stripe needs, null for all.
  mlir::Value columnsOf(const IndexExpression &query);

private:
  int64_t bytesPerPart;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_ATTENTIONKERNEL_H
