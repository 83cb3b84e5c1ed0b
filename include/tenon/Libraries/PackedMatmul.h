//===- PackedMatmul.h - A product whose right operand lies in tiles -------===//
//
// Instructions that multiply tiles of 16-bit numbers (AMX) take the right
// operand in pairs of rows, in blocks of 32 rows and 64 columns:
//
//   packed[j / 64][k / 32][k % 32 / 2][j % 64][k % 2] = rhs[k, j]
//
// A library that is given plain rows brings them into that order in every call,
// which takes longer than a product of few rows. A call of this kind is given
// what is packed already; all else is as in a MatmulDescription, whose strides
// of the rhs are those of plain rows.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_PACKEDMATMUL_H
#define TENON_LIBRARIES_PACKEDMATMUL_H

#include "tenon/Libraries/Matmul.h"

namespace tenon::libraries {

struct PackedMatmulDescription : MatmulDescription {
  PackedMatmulDescription() = default;
  explicit PackedMatmulDescription(const MatmulDescription &plain)
      : MatmulDescription(plain) {}

  static constexpr int64_t blockRows = 32, pairRows = 2, blockColumns = 64;

  static constexpr std::string_view call = "packed_matmul";
  bool operator==(const PackedMatmulDescription &) const = default;
};

} // namespace tenon::libraries

namespace tenon {

template <>
inline constexpr auto fieldsOf<libraries::PackedMatmulDescription> =
    fieldsOf<libraries::MatmulDescription>;

} // namespace tenon

#endif // TENON_LIBRARIES_PACKEDMATMUL_H
