//===- LapackRoutines.h - The routines by element type --------------------===//
//
// Fortran's names have the element type in them; here the types are parameters.
// Every length of a string is passed at the end, as gfortran's convention wants
// it. Matrices are by columns without gaps.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_LAPACKROUTINES_H
#define TENON_LIB_LIBRARIES_LAPACKROUTINES_H

#include "SharedLibrary.h"

#include <algorithm>
#include <complex>
#include <cstddef>

namespace tenon::libraries {

template <typename T>
struct Scalar {
  using Real = T;
  static constexpr bool isComplex = false;
};
template <typename T>
struct Scalar<std::complex<T>> {
  using Real = T;
  static constexpr bool isComplex = true;
};

namespace lapack {

using Text = const char *;
using Number = const int *;

/// The routines of an element type. Complex ones of the last two have a real
/// work array that the others lack.
template <typename T, typename Real = typename Scalar<T>::Real>
struct Routines {
  template <typename Complex, typename Others>
  using Either = std::conditional_t<Scalar<T>::isComplex, Complex, Others>;

  void (*potrf)(Text, Number, T *, Number, int *, size_t);
  void (*trsm)(Text, Text, Text, Text, Number, Number, const T *, const T *,
               Number, T *, Number, size_t, size_t, size_t, size_t);
  void (*getrf)(Number, Number, T *, Number, int *, int *);
  void (*geqrf)(Number, Number, T *, Number, T *, T *, Number, int *);
  void (*orgqr)(Number, Number, Number, T *, Number, const T *, T *, Number,
                int *);
  Either<void (*)(Text, Number, Number, T *, Number, Real *, T *, Number, T *,
                  Number, T *, Number, Real *, int *, int *, size_t),
         void (*)(Text, Number, Number, T *, Number, Real *, T *, Number, T *,
                  Number, T *, Number, int *, int *, size_t)>
      gesdd;
  Either<void (*)(Text, Text, Number, T *, Number, Real *, T *, Number, Real *,
                  Number, int *, Number, int *, size_t, size_t),
         void (*)(Text, Text, Number, T *, Number, Real *, T *, Number, int *,
                  Number, int *, size_t, size_t)>
      syevd;

  /// `letter` is what the type's names begin with.
  void findIn(SharedLibrary &library, const std::string &letter) {
    const char *group = Scalar<T>::isComplex ? "un" : "or";
    library.find(letter + "potrf_", potrf);
    library.find(letter + "trsm_", trsm);
    library.find(letter + "getrf_", getrf);
    library.find(letter + "geqrf_", geqrf);
    library.find(letter + group + "gqr_", orgqr);
    library.find(letter + "gesdd_", gesdd);
    library.find(letter + (Scalar<T>::isComplex ? "heevd_" : "syevd_"), syevd);
  }
};

/// Null until the library has been opened.
template <typename T>
inline Routines<T> routines{};

template <typename T>
void potrf(char triangle, int n, T *a, int &info) {
  int stride = std::max(n, 1);
  routines<T>.potrf(&triangle, &n, a, &stride, &info, 1);
}

template <typename T>
void trsm(char side, char triangle, char transpose, char diagonal, int m, int n,
          T factor, const T *a, T *b) {
  int order = std::max(side == 'L' ? m : n, 1), stride = std::max(m, 1);
  routines<T>.trsm(&side, &triangle, &transpose, &diagonal, &m, &n, &factor, a,
                   &order, b, &stride, 1, 1, 1, 1);
}

template <typename T>
void getrf(int m, int n, T *a, int *pivots, int &info) {
  int stride = std::max(m, 1);
  routines<T>.getrf(&m, &n, a, &stride, pivots, &info);
}

template <typename T>
void geqrf(int m, int n, T *a, T *scales, T *work, int length, int &info) {
  int stride = std::max(m, 1);
  routines<T>.geqrf(&m, &n, a, &stride, scales, work, &length, &info);
}

template <typename T>
void orgqr(int m, int n, int k, T *a, const T *scales, T *work, int length,
           int &info) {
  int stride = std::max(m, 1);
  routines<T>.orgqr(&m, &n, &k, a, &stride, scales, work, &length, &info);
}

template <typename T, typename Real>
void gesdd(char mode, int m, int n, T *a, Real *s, T *u, T *v, int rowsOfV,
           T *work, int length, Real *reals, int *integers, int &info) {
  int strideA = std::max(m, 1), strideV = std::max(rowsOfV, 1);
  auto call = [&](auto... more) {
    routines<T>.gesdd(&mode, &m, &n, a, &strideA, s, u, &strideA, v, &strideV,
                      work, &length, more..., integers, &info, 1);
  };
  if constexpr (Scalar<T>::isComplex)
    call(reals);
  else
    call();
}

template <typename T, typename Real>
void syevd(char mode, char triangle, int n, T *a, Real *w, T *work, int length,
           Real *reals, int realSize, int *integers, int count, int &info) {
  int stride = std::max(n, 1);
  Number realCount = &realSize;
  auto call = [&](auto... more) {
    routines<T>.syevd(&mode, &triangle, &n, a, &stride, w, work, &length,
                      more..., integers, &count, &info, 1, 1);
  };
  if constexpr (Scalar<T>::isComplex)
    call(reals, realCount);
  else
    call();
}

} // namespace lapack
} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_LAPACKROUTINES_H
