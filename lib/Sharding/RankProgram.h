//===- RankProgram.h - The program of a rank that runs several devices ----===//
//
// Writes, for a partitioned step of devices, what a rank runs that has several
// of them. A block keeps its order: each operation is written once if all
// devices share it, and otherwise for one device after the other, before the
// next operation comes. So what one device has read, the others find in the
// cache, and the rank has as many values at a time as without shards. Where the
// devices of a rank meet (in a collective along the axis, a loop or a branch in
// which something differs), the operation is written for all of them at once.
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
