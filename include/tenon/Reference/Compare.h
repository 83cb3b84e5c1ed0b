//===- Compare.h - Whether two tensors are what they should be ------------===//
//
// What the expectations of self-checking programs mean. Used by the interpreter
// and by `tenon run` on the results of compiled code.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_REFERENCE_COMPARE_H
#define TENON_REFERENCE_COMPARE_H

#include "tenon/Dialect/Check/Check.h"
#include "tenon/Reference/Tensor.h"

#include <optional>
#include <string>

namespace tenon::reference {

/// How far apart two floating-point elements may be. Integers have to be equal
/// whatever it says, parts of complex elements are compared one by one, and NaN
/// agrees with NaN.
struct Tolerance {
  enum Kind {
    equal,    // the same value; zeros of different signs differ
    absolute, // at most `largestDifference` apart
    units,    // `minUnits` to `maxUnits` values of the type apart
  };
  Kind kind = equal;
  double largestDifference = 0;
  uint64_t maxUnits = 0, minUnits = 0;
};

Tolerance toleranceOf(const check::Expectation &expectation);

/// The first element, in row-major order, of two tensors of one type that is
/// not as close as `tolerance` says: its index, both values, and how far apart
/// they are. Nothing if all are.
std::optional<std::string> firstDifference(const Tensor &found,
                                           const Tensor &expected,
                                           Tolerance tolerance);

} // namespace tenon::reference

#endif // TENON_REFERENCE_COMPARE_H
