//===- SpecialFunctions.h - Functions the C library does not have ---------===//
//
// In double precision, good to some units in its last place, which is far more
// than f32 shows. Used by Functions.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_REFERENCE_SPECIALFUNCTIONS_H
#define TENON_LIB_REFERENCE_SPECIALFUNCTIONS_H

namespace tenon::reference {

/// The x with erf(x) = y; infinite at -1 and 1, NaN beyond.
double inverseErf(double y);

/// The logarithmic derivative of the gamma function; NaN at its poles.
double digamma(double x);

/// The sum of (q + k)^-s over all k from 0; NaN for s < 1 and where a term has
/// no real value, infinite at the poles.
double hurwitzZeta(double s, double q);

/// The n-th derivative of digamma for a whole n >= 0; NaN for other n.
double polygamma(double n, double x);

/// e^-|x| I_1(x), I_1 the modified Bessel function of order one.
double scaledBesselI1(double x);

} // namespace tenon::reference

#endif // TENON_LIB_REFERENCE_SPECIALFUNCTIONS_H
