//===- LoopNest.h - Loops under construction ------------------------------===//
//
// What the schedules of every target share: loops and conditionals that keep
// LoopLevels, IndexAlgebra and PointEmitter in step, and a count of how often
// each of them runs. How the work is cut up, and how a row is walked by lanes,
// is the target's affair.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_LOOPNEST_H
#define TENON_CODEGEN_LOOPS_LOOPNEST_H

#include "tenon/Codegen/Loops/IndexExpression.h"
#include "tenon/Codegen/Loops/PointEmitter.h"

#include "mlir/IR/Location.h"

namespace tenon::codegen {

class LoopNest {
public:
  /// Stands in front of the terminator of `entry`, with as many lanes as the
  /// target has.
  LoopNest(mlir::Block *entry, mlir::Location loc,
           const Instructions &instructions);
  LoopNest(const LoopNest &) = delete;

  mlir::OpBuilder builder;
  mlir::Location loc;
  LoopLevels levels;
  IndexAlgebra algebra;
  PointEmitter points;
  const Instructions &instructions;
  /// How often each block runs over all parts, for judging a loop shape.
  llvm::SmallVector<std::pair<mlir::Block *, double>> runs;

  using Body = llvm::function_ref<void(const IndexExpression &)>;
  using Values = llvm::SmallVector<mlir::Value>;
  using CarryingBody =
      llvm::function_ref<Values(const IndexExpression &, mlir::ValueRange)>;

  /// 0 to count - 1 in order, carrying values along.
  Values forRange(int64_t count, mlir::ValueRange carried, CarryingBody body);
  void forRange(int64_t count, Body body);
  /// From `low` to before `high` in steps of `step`; the range is that of the
  /// variable, a multiple of `multiple`. With `isLane` the variable is the
  /// first lane of a vector. `trips` is an estimate, by default from the range.
  Values forLoop(mlir::Value low, mlir::Value high, int64_t step,
                 IndexRange range, int64_t multiple, bool isLane,
                 mlir::ValueRange carried, CarryingBody body, double trips = 0);
  void forLoop(mlir::Value low, mlir::Value high, int64_t step,
               IndexRange range, int64_t multiple, bool isLane, Body body,
               double trips = 0);
  /// All indices of a space, row-major, from nested loops.
  void forSpace(llvm::ArrayRef<int64_t> shape,
                llvm::function_ref<void(const Indices &)> body);
  Values
  forSpace(llvm::ArrayRef<int64_t> shape, mlir::ValueRange carried,
           llvm::function_ref<Values(const Indices &, mlir::ValueRange)> body);
  /// Runs the body if `condition` holds; nothing is emitted in front of it
  /// that it needs.
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  /// What the body gives if `condition` holds, and `otherwise` if not.
  Values ifThen(mlir::Value condition, mlir::ValueRange otherwise,
                llvm::function_ref<Values()> body);
  /// Runs the body where `guard` holds: under a condition, a mask, or neither.
  void where(const PointEmitter::Guard &guard, llvm::function_ref<void()> body);

  /// Appends an operation where the loops stand.
  template <typename Op, typename... Arguments>
  Op create(Arguments &&...arguments) {
    return Op::create(builder, loc, std::forward<Arguments>(arguments)...);
  }
  mlir::Value constantIndex(int64_t value) { return algebra.scalar(value); }

  void enter(mlir::Block *block, double trips, bool barrier = false);
  void leave(mlir::Operation *op);

private:
  llvm::SmallVector<double> multiplicity;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_LOOPNEST_H
