//===- Check.h - Programs that test themselves ----------------------------===//
//
// The `check` and `interpreter` dialects, for tests only: expectations about
// values, and functions on simulated devices. Exporters write expectations as
// custom calls as well, so that both spellings are read into one struct.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_CHECK_CHECK_H
#define TENON_DIALECT_CHECK_CHECK_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "tenon/Dialect/Check/CheckDialect.h.inc"
#include "tenon/Dialect/Check/InterpreterDialect.h.inc"

#define GET_OP_CLASSES
#include "tenon/Dialect/Check/CheckOps.h.inc"

#include <optional>

namespace tenon::check {

/// How close two tensors have to be.
enum class Closeness { equal, almostEqual, close };

/// What an expectation says.
struct Expectation {
  mlir::Operation *op;
  Closeness closeness = Closeness::equal;
  mlir::Value found;
  mlir::Value expected;        // null if `constant` is set
  mlir::ElementsAttr constant; // null if `expected` is set
  double tolerance = 1e-4;     // for almostEqual: the largest difference
  uint64_t maxUnits = 1;       // for close: the largest distance
  uint64_t minUnits = 0;       // for close: the smallest distance
};

/// The expectation an operation of the dialect, or a custom call `check.*`,
/// states; nothing for other operations.
std::optional<Expectation> expectationOf(mlir::Operation *op);

/// The functions of a `run_parallel`, replica by replica; fails with a
/// diagnostic if they are not named in rows of equal length.
mlir::FailureOr<llvm::SmallVector<llvm::SmallVector<mlir::StringAttr>>>
programsOf(RunParallelOp op);

} // namespace tenon::check

#endif // TENON_DIALECT_CHECK_CHECK_H
