//===- LapackRoutines.h - The routines by element type --------------------===//
//
// Fortran's names have the element type in them; here they are overloads. Every
// length of a string is passed at the end, as gfortran's convention wants it.
// Matrices are by columns without gaps.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_LAPACKROUTINES_H
#define TENON_LIB_LIBRARIES_LAPACKROUTINES_H

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

} // namespace tenon::libraries

extern "C" void ilaver_(int *major, int *minor, int *patch);

// What all four types have in common.
#define TENON_LAPACK_COMMON(T, potrf_, trsm_, getrf_, geqrf_, orgqr_)          \
  extern "C" {                                                                 \
  void potrf_(const char *, const int *, T *, const int *, int *, size_t);     \
  void trsm_(const char *, const char *, const char *, const char *,           \
             const int *, const int *, const T *, const T *, const int *, T *, \
             const int *, size_t, size_t, size_t, size_t);                     \
  void getrf_(const int *, const int *, T *, const int *, int *, int *);       \
  void geqrf_(const int *, const int *, T *, const int *, T *, T *,            \
              const int *, int *);                                             \
  void orgqr_(const int *, const int *, const int *, T *, const int *,         \
              const T *, T *, const int *, int *);                             \
  }                                                                            \
  namespace tenon::libraries::lapack {                                         \
  inline void potrf(char triangle, int n, T *a, int &info) {                   \
    int stride = std::max(n, 1);                                               \
    potrf_(&triangle, &n, a, &stride, &info, 1);                               \
  }                                                                            \
  inline void trsm(char side, char triangle, char transpose, char diagonal,    \
                   int m, int n, T factor, const T *a, T *b) {                 \
    int order = std::max(side == 'L' ? m : n, 1), stride = std::max(m, 1);     \
    trsm_(&side, &triangle, &transpose, &diagonal, &m, &n, &factor, a, &order, \
          b, &stride, 1, 1, 1, 1);                                             \
  }                                                                            \
  inline void getrf(int m, int n, T *a, int *pivots, int &info) {              \
    int stride = std::max(m, 1);                                               \
    getrf_(&m, &n, a, &stride, pivots, &info);                                 \
  }                                                                            \
  inline void geqrf(int m, int n, T *a, T *scales, T *work, int length,        \
                    int &info) {                                               \
    int stride = std::max(m, 1);                                               \
    geqrf_(&m, &n, a, &stride, scales, work, &length, &info);                  \
  }                                                                            \
  inline void orgqr(int m, int n, int k, T *a, const T *scales, T *work,       \
                    int length, int &info) {                                   \
    int stride = std::max(m, 1);                                               \
    orgqr_(&m, &n, &k, a, &stride, scales, work, &length, &info);              \
  }                                                                            \
  }

TENON_LAPACK_COMMON(float, spotrf_, strsm_, sgetrf_, sgeqrf_, sorgqr_)
TENON_LAPACK_COMMON(double, dpotrf_, dtrsm_, dgetrf_, dgeqrf_, dorgqr_)
TENON_LAPACK_COMMON(std::complex<float>, cpotrf_, ctrsm_, cgetrf_, cgeqrf_,
                    cungqr_)
TENON_LAPACK_COMMON(std::complex<double>, zpotrf_, ztrsm_, zgetrf_, zgeqrf_,
                    zungqr_)
#undef TENON_LAPACK_COMMON

// Complex routines have real work arrays that the others lack.
#define TENON_LAPACK_REAL(T, gesdd_, syevd_)                                   \
  extern "C" {                                                                 \
  void gesdd_(const char *, const int *, const int *, T *, const int *, T *,   \
              T *, const int *, T *, const int *, T *, const int *, int *,     \
              int *, size_t);                                                  \
  void syevd_(const char *, const char *, const int *, T *, const int *, T *,  \
              T *, const int *, int *, const int *, int *, size_t, size_t);    \
  }                                                                            \
  namespace tenon::libraries::lapack {                                         \
  inline void gesdd(char mode, int m, int n, T *a, T *s, T *u, T *v,           \
                    int rowsOfV, T *work, int length, T *, int *integers,      \
                    int &info) {                                               \
    int strideA = std::max(m, 1), strideV = std::max(rowsOfV, 1);              \
    gesdd_(&mode, &m, &n, a, &strideA, s, u, &strideA, v, &strideV, work,      \
           &length, integers, &info, 1);                                       \
  }                                                                            \
  inline void syevd(char mode, char triangle, int n, T *a, T *w, T *work,      \
                    int length, T *, int, int *integers, int count,            \
                    int &info) {                                               \
    int stride = std::max(n, 1);                                               \
    syevd_(&mode, &triangle, &n, a, &stride, w, work, &length, integers,       \
           &count, &info, 1, 1);                                               \
  }                                                                            \
  }

TENON_LAPACK_REAL(float, sgesdd_, ssyevd_)
TENON_LAPACK_REAL(double, dgesdd_, dsyevd_)
#undef TENON_LAPACK_REAL

#define TENON_LAPACK_COMPLEX(R, gesdd_, heevd_)                                \
  extern "C" {                                                                 \
  void gesdd_(const char *, const int *, const int *, std::complex<R> *,       \
              const int *, R *, std::complex<R> *, const int *,                \
              std::complex<R> *, const int *, std::complex<R> *, const int *,  \
              R *, int *, int *, size_t);                                      \
  void heevd_(const char *, const char *, const int *, std::complex<R> *,      \
              const int *, R *, std::complex<R> *, const int *, R *,           \
              const int *, int *, const int *, int *, size_t, size_t);         \
  }                                                                            \
  namespace tenon::libraries::lapack {                                         \
  inline void gesdd(char mode, int m, int n, std::complex<R> *a, R *s,         \
                    std::complex<R> *u, std::complex<R> *v, int rowsOfV,       \
                    std::complex<R> *work, int length, R *reals,               \
                    int *integers, int &info) {                                \
    int strideA = std::max(m, 1), strideV = std::max(rowsOfV, 1);              \
    gesdd_(&mode, &m, &n, a, &strideA, s, u, &strideA, v, &strideV, work,      \
           &length, reals, integers, &info, 1);                                \
  }                                                                            \
  inline void syevd(char mode, char triangle, int n, std::complex<R> *a, R *w, \
                    std::complex<R> *work, int length, R *reals, int realSize, \
                    int *integers, int count, int &info) {                     \
    int stride = std::max(n, 1);                                               \
    heevd_(&mode, &triangle, &n, a, &stride, w, work, &length, reals,          \
           &realSize, integers, &count, &info, 1, 1);                          \
  }                                                                            \
  }

TENON_LAPACK_COMPLEX(float, cgesdd_, cheevd_)
TENON_LAPACK_COMPLEX(double, zgesdd_, zheevd_)
#undef TENON_LAPACK_COMPLEX

#endif // TENON_LIB_LIBRARIES_LAPACKROUTINES_H
