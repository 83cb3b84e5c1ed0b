//===- XlaClusters.h - What XLA computes in one go, predicted -------------===//
//
// XLA merges operations into fusions and decides which values lie in memory.
// Plans for it are made of the same pieces, so this predicts them: a cluster is
// an operation whose results lie in memory together with what is computed on
// the way, again in every cluster that reads it.
//
// A value of an element-wise or index-mapping operation lies in memory if
// something reads it that cannot take it in (a dot, a loop, the step's
// results), or if several read it and computing it twice is dear: it takes a
// division or a function, or it reads more than one tensor and its readers are
// far apart.
//
//     %d = dot(%x, %w)         a cluster, %d lies in memory
//     %b = broadcast(%bias)    part of the next ones
//     %a = add(%d, %b)         the same
//     %t = tanh(%a)            a cluster: two read it
//     %h = multiply(%a, %t)    a cluster: a dot reads it
//
// A tie (Tie.h) that one element-wise operation reads is part of that one's
// cluster.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_STABLEHLO_XLACLUSTERS_H
#define TENON_CODEGEN_STABLEHLO_XLACLUSTERS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace tenon::codegen {

struct XlaCluster {
  /// In program order; the last one's results lie in memory.
  llvm::SmallVector<mlir::Operation *> operations;
  /// Values in memory that it reads: arguments and writes of other clusters.
  llvm::SmallVector<mlir::Value> reads;

  mlir::Operation *root() const { return operations.back(); }
  /// Whether it may run twice: it has no effects, captures nothing, is no loop,
  /// no collective, no custom call and draws no random bits.
  bool mayRepeat = true;
};

/// What a barrier is. XLA's CPU client takes it out before it fuses and orders
/// operations, so it is a name; a plan makes its results wait.
enum class Barriers { names, wait };

class XlaClusters {
public:
  /// `block` belongs to a function or is the body of a loop; nothing is called.
  XlaClusters(mlir::Block &block, Barriers barriers);

  /// In program order of their roots.
  llvm::ArrayRef<XlaCluster> clusters() const { return all; }
  /// The value in memory that `value` is another name of, through reshapes and
  /// barriers that are names.
  mlir::Value storageOf(mlir::Value value) const;
  /// The cluster that writes a value; nothing for arguments and constants.
  std::optional<int32_t> writerOf(mlir::Value value) const;
  /// A bit per cluster: the given one and all it needs.
  llvm::BitVector ancestors(int32_t cluster) const;

private:
  bool isView(mlir::Operation *op) const;
  /// Whether a reader's fusion may hold the operation.
  bool mayBeTakenIn(mlir::Operation *op) const;
  bool liesInMemory(mlir::Operation *op) const;
  void measureDepths(mlir::Block &block);
  void addCluster(mlir::Operation *root);

  Barriers barriers;
  llvm::DenseSet<mlir::Operation *> stored; // fusible ones that lie in memory
  /// The most operations that are no part of a fusion on any way to here.
  llvm::DenseMap<mlir::Operation *, int32_t> depths;
  llvm::DenseMap<mlir::Operation *, int32_t> clusterOf; // by root
  std::vector<XlaCluster> all;
};

/// Whether XLA takes the operation into the fusion of a reader.
bool isFusible(mlir::Operation *op);

/// Whether an operation is a dot that XLA runs as one. What sums nothing, or
/// gives one element per batch, becomes multiplications and sums.
bool isDotInXla(mlir::Operation *op);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_STABLEHLO_XLACLUSTERS_H
