//===- OrderingModel.h - A block's operations as an ordering problem -----===//
//
// What Solver/OperationOrdering is asked: in which order the operations of a
// block need the fewest bytes at once. Private to this folder.
//
// A value counts with the bytes that it takes among the temporaries of the
// block. One that lies in state, in results or in what a loop carries takes
// none, as long as it is written when the bytes under it are no longer read:
// where that is so in the given order, it is so in every order of the problem.
// Which operand a group overwrites is free. What only the inside of a loop or a
// branch needs is the workspace of that operation.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_ORDERINGMODEL_H
#define TENON_LIB_MEMORY_ORDERINGMODEL_H

#include "tenon/Memory/BufferClasses.h"
#include "tenon/Solver/OperationOrdering.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::memory {

class OrderingModel {
public:
  /// `block` is that of @main, the body of a loop or a branch in it; `buffers`
  /// are those of @main as it stands.
  OrderingModel(mlir::Block &block, const BufferClasses &buffers);

  const solver::OrderingProblem &problem() const { return model; }
  /// Puts the operations into an order of the problem.
  void apply(llvm::ArrayRef<int32_t> order);
  /// Takes apply() back.
  void restore();

private:
  void collectReads();
  void addOperations();
  void addReads();
  void addOverwrites(step::GroupOp group);
  void addCarried(mlir::Operation *loop);
  void keepPlaces();
  int64_t bytesOf(mlir::Value value) const;
  mlir::Value storageOf(mlir::Value value) const;
  bool isLocal(mlir::Value value) const {
    return value.getDefiningOp() && value.getParentBlock() == &block;
  }

  mlir::Block &block;
  const BufferClasses &buffers;
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::DenseMap<mlir::Operation *, int32_t> indices;
  llvm::DenseMap<mlir::Value, int32_t> values;     // of the block
  std::vector<llvm::SetVector<mlir::Value>> reads; // per operation, storage
  llvm::DenseSet<BufferClasses::Id> outside;       // of enclosing blocks
  solver::OrderingProblem model;
};

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_ORDERINGMODEL_H
