//===- ErrorBound.h - How far from exact a result may be -----------------===//
//
// Operations that round once have one right result. Others, sums in any order
// and functions that are approximated, have a range of right results around an
// evaluation with more digits, by the committed table ErrorBounds.inc. Random
// programs hold the interpreter and compiled code to it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_REFERENCE_ERRORBOUND_H
#define TENON_REFERENCE_ERRORBOUND_H

#include "tenon/Reference/Tensor.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace tenon::reference {

/// How well an operation's results are known.
enum class Exactness {
  equal,    // every implementation gives the same values
  bounded,  // within the bounds of the table
  unjudged, // no bound is known
};

/// Of `op` with its regions.
Exactness exactnessOf(mlir::Operation *op);

/// The values that a real number may have: both ends NaN if it has to be NaN.
struct Allowed {
  long double least = 0, most = 0;
  bool anything = false;
  std::optional<bool> minusZero; // which zero it is, if it is one
};

/// The values that the elements of a tensor may have.
struct Enclosure {
  mlir::RankedTensorType type;
  std::vector<Allowed> real, imaginary; // the second only of complex types
};

/// What the results of a bounded operation may be for these operands; fails
/// with a diagnostic where the operation cannot be interpreted.
mlir::FailureOr<std::vector<Enclosure>>
enclose(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);

/// Whether element `index` may be `found`.
bool allows(const Enclosure &enclosure, int64_t index, const Element &found);

/// The first element of `found` that is not allowed, with what is.
std::optional<std::string> firstOutside(const Tensor &found,
                                        const Enclosure &allowed);

} // namespace tenon::reference

#endif // TENON_REFERENCE_ERRORBOUND_H
