//===- KernelBuilder.h - A kernel function under construction -------------===//
//
// What all templates share: the function with its buffers, loops that keep
// LoopLevels, IndexAlgebra and PointEmitter in step, and the split of the work
// into parts.
//
// A kernel is a list of units of work, numbered from 0; part p of P does units
// n p / P up to n (p + 1) / P. What a unit computes never depends on P.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_KERNELBUILDER_H
#define TENON_LIB_CODEGEN_CPU_KERNELBUILDER_H

#include "tenon/Codegen/CPU/CpuInstructions.h"
#include "tenon/Codegen/Loops/IndexExpression.h"
#include "tenon/Codegen/Loops/PointEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tenon::codegen {

/// The number of points a vector stands for, on every feature set.
inline constexpr int64_t vectorLanes = 16;

/// What a kernel function computes, as the templates see it.
struct KernelSource {
  mutable mlir::func::FuncOp function;
  /// Per result, the operand it overwrites or -1.
  llvm::SmallVector<int64_t> inPlace;

  explicit KernelSource(mlir::func::FuncOp function);
  mlir::Operation *terminator() const;
  llvm::SmallVector<mlir::Value> results() const;
  /// The operation whose results (all or some of them) are the kernel's, if
  /// everything else is what PointEmitter follows; none otherwise.
  mlir::Operation *rootOperation() const;
  /// Which of the kernel's results `value` is, -1 if none.
  int indexOfResult(mlir::Value value) const;
};

llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor);
mlir::Type elementOf(mlir::Value tensor);
int64_t elementCount(llvm::ArrayRef<int64_t> shape);
/// Bytes an element takes in memory.
int64_t bytesOf(mlir::Type elementType);

class KernelBuilder {
public:
  /// Stands at the end of `function`, which has the memory of the operands, of
  /// the results that overwrite none, and of the scratch space as rank-1
  /// memrefs, then part and parts. `scratchParts` is the number of parts there
  /// is scratch memory for, 0 for a kernel without; more parts have nothing to
  /// do.
  KernelBuilder(const KernelSource &source, mlir::func::FuncOp function,
                int64_t scratchParts, const CpuInstructions &instructions);
  KernelBuilder(const KernelBuilder &) = delete;

  const KernelSource &source;
  mlir::func::FuncOp function;
  int64_t scratchParts;
  mlir::OpBuilder builder;
  mlir::Location loc;
  LoopLevels levels;
  IndexAlgebra algebra;
  PointEmitter points;
  const CpuInstructions &instructions;
  mlir::Value part, parts;
  /// One buffer per result.
  llvm::SmallVector<Buffer> results;
  /// Bytes, or none.
  mlir::Value scratch;
  /// How often each block runs over all parts, for judging a loop shape.
  llvm::SmallVector<std::pair<mlir::Block *, double>> runs;
  /// An estimate of the kernel's work, in simple instructions.
  double cost() const;

  using Body = llvm::function_ref<void(const IndexExpression &)>;
  using Values = llvm::SmallVector<mlir::Value>;
  using CarryingBody =
      llvm::function_ref<Values(const IndexExpression &, mlir::ValueRange)>;

  /// This part's share of `count` units.
  void forUnits(int64_t count, Body body);
  /// 0 to count - 1 in order, carrying values along.
  Values forRange(int64_t count, mlir::ValueRange carried, CarryingBody body);
  void forRange(int64_t count, Body body);
  /// From `low` to before `high` in steps of `step`; the range is that of the
  /// variable, a multiple of `multiple`. With `isLane` the variable is the
  /// first lane of a vector. `trips` is an estimate, by default from the range.
  Values forLoop(mlir::Value low, mlir::Value high, int64_t step,
                 IndexRange range, int64_t multiple, bool isLane,
                 mlir::ValueRange carried, CarryingBody body, double trips = 0);
  /// All indices of a space, row-major, from nested loops.
  void forSpace(llvm::ArrayRef<int64_t> shape,
                llvm::function_ref<void(const Indices &)> body);
  Values
  forSpace(llvm::ArrayRef<int64_t> shape, mlir::ValueRange carried,
           llvm::function_ref<Values(const Indices &, mlir::ValueRange)> body);
  /// A row of `extent` points, 16 at a time, the last ones masked.
  void forLanes(int64_t extent, Body body);
  /// Points block * length to (block + 1) * length of it, where the length is a
  /// multiple of 16.
  void forLanes(int64_t extent, const IndexExpression &block, int64_t length,
                Body body);
  /// The rest of a row after its last whole vector, masked; `first` is where it
  /// starts, less than 16 from `extent`.
  void tail(int64_t first, int64_t extent, Body body);
  /// The same with values carried through.
  Values carryingTail(int64_t first, int64_t extent,
                      llvm::function_ref<Values(const IndexExpression &)> body);
  /// Runs the body if `condition` holds; nothing is emitted in front of it
  /// that it needs.
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  Values ifThenElse(mlir::Value condition, mlir::ValueRange otherwise,
                    llvm::function_ref<Values()> body);

  mlir::Value constantIndex(int64_t value);
  /// A row-major buffer in the scratch space, `offset` bytes from its start.
  Buffer scratchBuffer(mlir::Value offset, llvm::ArrayRef<int64_t> shape,
                       mlir::Type elementType);
  /// Stores result `i` at an index.
  void storeResult(unsigned i, llvm::ArrayRef<IndexExpression> indices,
                   Element element);
  /// The function's terminator operands, in the order of the results.
  mlir::Value resultValue(unsigned i) const;

  void enter(mlir::Block *block, double trips, bool barrier = false);
  void leave(mlir::Operation *op);

private:
  llvm::SmallVector<double> multiplicity;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_KERNELBUILDER_H
