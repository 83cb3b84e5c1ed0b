//===- RankProgram.h - The program of a rank that runs several devices ----===//
//
// Writes, for a partitioned step of devices, what a rank runs that has several
// of them. A block is written in phases. First come scalars that the number of
// the device alone decides. In each phase come the operations that all devices
// share, and then, device by device, those that differ; an operation for which
// the devices of a rank meet (a collective along the axis, a loop or branch in
// which something differs) ends a phase for all that reads it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDING_RANKPROGRAM_H
#define TENON_LIB_SHARDING_RANKPROGRAM_H

#include "Differences.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tenon::sharding {

class RankProgram {
public:
  RankProgram(const Fold &fold, const Differences &differences,
              mlir::MLIRContext *context)
      : fold(fold), differences(differences),
        builder(mlir::UnknownLoc::get(context), context), copies(fold.each) {}

  void setInsertionPointToEnd(mlir::Block &block) {
    builder.setInsertionPointToEnd(&block);
  }

  /// What stands for a value on all devices of the rank, or on each.
  void map(mlir::Value from, llvm::ArrayRef<mlir::Value> to) {
    for (auto [at, mapping] : llvm::enumerate(copies))
      mapping.map(from, to.size() == 1 ? to.front() : to[at]);
  }
  mlir::Value on(mlir::Value value, int64_t device) const {
    return copies[device].lookup(value);
  }

  void write(mlir::Block &block);

  /// The parts of a tensor along `dim`, one per device.
  llvm::SmallVector<mlir::Value> cut(mlir::Location at, mlir::Value all,
                                     int64_t dim);
  /// What devices have of a value, one behind the other along `dim`.
  mlir::Value joined(mlir::Location at, mlir::Value value, int64_t dim);

private:
  /// Whether the devices of a rank meet in the operation.
  bool isMeeting(mlir::Operation *op) const;
  bool differs(mlir::Operation *op) const;

  void writeNumbers(mlir::Block &block);
  void writeCopy(mlir::Operation *op, int64_t device);
  void writeOnce(mlir::Operation *op);
  void writeMeeting(mlir::Operation *op, int64_t device);
  void writeControl(mlir::Operation *op);
  llvm::SmallVector<mlir::Value> expanded(mlir::ValueRange values,
                                          mlir::ValueRange like) const;

  mlir::Value numberOf(int64_t device);
  void addToTree(mlir::Operation *op, int64_t device);
  mlir::Value combined(mlir::Operation *op, mlir::Value first,
                       mlir::Value second);
  /// The collective among ranks, on what a rank has of all of its devices.
  mlir::Value exchanged(mlir::Operation *op, mlir::Value operand,
                        llvm::ArrayRef<int64_t> shape);
  void exchangeAll(mlir::Operation *op);

  mlir::Value part(mlir::Value all, int64_t dim, int64_t begin, int64_t extent);
  mlir::Value joined(llvm::ArrayRef<mlir::Value> parts, int64_t dim);
  mlir::Value reshaped(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value converted(mlir::Value value, mlir::Type element);

  const Fold &fold;
  const Differences &differences;
  mlir::ImplicitLocOpBuilder builder;
  std::vector<mlir::IRMapping> copies; // per device of the rank
  /// Sums of subtrees that wait for their other half.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> waiting;
};

} // namespace tenon::sharding

#endif // TENON_LIB_SHARDING_RANKPROGRAM_H
