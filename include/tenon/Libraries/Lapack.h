//===- Lapack.h - Matrix decompositions a library runs --------------------===//
//
// Describes one call of a LAPACK routine for a batch of matrices. Operands and
// results are row-major, as everything in a step; the routine works on copies
// by columns in the workspace. JAX writes these calls as custom calls
// `lapack_*_ffi` when it exports for the CPU.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_LAPACK_H
#define TENON_LIBRARIES_LAPACK_H

#include "tenon/Support/ElementType.h"
#include "tenon/Support/Fields.h"

#include <cstdint>
#include <string_view>

namespace tenon::libraries {

using tenon::name;

/// Arguments in the order of operands and results; m rows, n columns, k = min.
enum class LapackRoutine : uint8_t {
  potrf = 0, // a[n, n] -> factor[n, n], info
  trsm = 1,  // a[m, m] or a[n, n], b[m, n] -> x[m, n]
  getrf = 2, // a[m, n] -> factors[m, n], pivots[k], info
  geqrf = 3, // a[m, n] -> reflectors[m, n], scales[k]
  orgqr = 4, // a[m, n], scales[k] -> q[m, n]
  gesdd = 5, // a[m, n] -> a[m, n], s[k], u[m, .], vt[., n], info
  syevd = 6, // a[n, n] -> vectors[n, n], values[n], info
};

struct LapackDescription {
  LapackRoutine routine = LapackRoutine::potrf;
  ElementType type = ElementType::f32; // f32, f64, c64, c128
  int64_t batch = 1, rows = 1, columns = 1;
  /// Of orgqr, how many reflectors there are; otherwise 0.
  int64_t reflectors = 0;
  /// Letters as LAPACK takes them: which triangle (`L`, `U`), on which side
  /// (`L`, `R`), transposed how (`N`, `T`, `C`), with ones on the diagonal
  /// (`U`, `N`), what to compute (`N`, `V`, `S`, `A`; `n` is N for gesdd with
  /// factors of the extents of S, filled with zeros). A space where a routine
  /// has no such letter.
  char triangle = ' ', side = ' ', transpose = ' ', diagonal = ' ', mode = ' ';
  /// Calls are not cut.
  int64_t pieces = 1;

  static constexpr std::string_view call = "lapack";
  bool operator==(const LapackDescription &) const = default;
};

} // namespace tenon::libraries

namespace tenon {

template <>
inline constexpr auto namesOf<libraries::LapackRoutine> =
    std::to_array<std::string_view>(
        {"potrf", "trsm", "getrf", "geqrf", "orgqr", "gesdd", "syevd"});

template <>
inline constexpr auto fieldsOf<libraries::LapackDescription> =
    TENON_FIELDS(libraries::LapackDescription, routine, type, batch, rows,
                 columns, reflectors, triangle, side, transpose, diagonal, mode,
                 pieces);

} // namespace tenon

#endif // TENON_LIBRARIES_LAPACK_H
