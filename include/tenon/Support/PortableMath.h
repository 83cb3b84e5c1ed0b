//===- PortableMath.h - Functions with the same bits on every machine -----===//
//
// Exponential, logarithm, sine and cosine of doubles, for numbers that decide
// about a plan or go into a file. The C library has several variants of these
// functions and picks one by the processor it runs on; those that use fused
// multiply-add round differently from those that do not, so the same input
// could lead to another file. These here use additions, multiplications and
// divisions alone, which IEEE 754 rounds in one way, and the project is
// compiled without contraction. The square root is exact in the C library, too.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_PORTABLEMATH_H
#define TENON_SUPPORT_PORTABLEMATH_H

#include <cstdint>

namespace tenon {

/// e to the power `x`, within 1 unit in the last place; infinity where that
/// exceeds the largest double, 0 where it is below half the smallest one.
double portableExponential(double x);

/// The natural logarithm of `x`, which is positive and finite, within 2 units
/// in the last place.
double portableLogarithm(double x);

/// The cosine and the sine of a share of a full turn, 2 pi numerator /
/// denominator, within 3 units in the last place. The numerator is not
/// negative, the denominator positive and below 2^58. Exact where the result is
/// 0, 1 or -1, and equal in magnitude where symmetry says so.
double cosineOfTurn(int64_t numerator, int64_t denominator);
double sineOfTurn(int64_t numerator, int64_t denominator);

} // namespace tenon

#endif // TENON_SUPPORT_PORTABLEMATH_H
