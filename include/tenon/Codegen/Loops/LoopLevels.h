//===- LoopLevels.h - Where in a loop nest a value is computed ------------===//
//
// A kernel under construction is a nest of regions: the function body is level
// 0, each loop or conditional opens the next level. Every value the emitters
// make has a level, the deepest one among the things it depends on, and is
// emitted there: what does not change in an inner loop is computed in front of
// it, without relying on a later pass to find out.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_LOOPLEVELS_H
#define TENON_CODEGEN_LOOPS_LOOPLEVELS_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon::codegen {

class LoopLevels {
public:
  /// `entry` is level 0; the builder stands in it.
  LoopLevels(mlir::OpBuilder &builder, mlir::Block *entry) : builder(builder) {
    levels.push_back({entry, 0});
  }

  unsigned current() const { return levels.size() - 1; }

  /// Opens a level. Nothing emitted inside a barrier leaves it: the region runs
  /// only if its loads are in bounds.
  void push(mlir::Block *block, bool barrier = false) {
    levels.push_back({block, barrier ? current() + 1 : levels.back().barrier});
  }
  void pop() { levels.pop_back(); }

  /// The level at which something that depends on `level` is emitted.
  unsigned placed(unsigned level) const {
    return std::max(level, levels.back().barrier);
  }

  /// Runs `emit` with the builder in level `level`, in front of whatever
  /// contains the current position.
  mlir::Value emitAt(unsigned level,
                     llvm::function_ref<mlir::Value(mlir::OpBuilder &)> emit) {
    if (level >= current())
      return emit(builder);
    mlir::OpBuilder::InsertionGuard guard(builder);
    mlir::Operation *inner = levels[level].block->findAncestorOpInBlock(
        *levels.back().block->getParentOp());
    builder.setInsertionPoint(inner);
    return emit(builder);
  }

  /// One operation in level `level`, for its value.
  template <typename Op, typename... Arguments>
  mlir::Value createAt(unsigned level, mlir::Location loc,
                       const Arguments &...arguments) {
    return emitAt(level, [&](mlir::OpBuilder &b) -> mlir::Value {
      return Op::create(b, loc, arguments...);
    });
  }

private:
  struct Level {
    mlir::Block *block;
    unsigned barrier; // the outermost level values may be emitted in
  };
  mlir::OpBuilder &builder;
  llvm::SmallVector<Level> levels;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_LOOPLEVELS_H
