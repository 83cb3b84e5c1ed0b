//===- Subnormals.h - What becomes of subnormal numbers ------------------===//
//
// A floating-point number is subnormal if it is not zero and smaller than the
// smallest number that has all digits of its format (2^-126 in f32 and bf16,
// 2^-1022 in f64). A step is compiled for one of two ways of computing with
// them; docs/Forms.md has the rules, operation by operation. f16 keeps its
// subnormal numbers either way: f32, in which it is computed, has them as
// normal ones. The numbers are part of the `.tenon` format: append, never
// renumber.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_SUBNORMALS_H
#define TENON_SUPPORT_SUBNORMALS_H

#include "tenon/Support/Fields.h"

#include <cstdint>

namespace tenon {

enum class Subnormals : uint8_t {
  flush = 0, // arithmetic takes and gives zeros of the same sign for them
  keep = 1,  // as IEEE 754 says
};

/// `flush` or `keep`: the spelling of options and texts.
template <>
inline constexpr auto namesOf<Subnormals> =
    std::to_array<std::string_view>({"flush", "keep"});

} // namespace tenon

#endif // TENON_SUPPORT_SUBNORMALS_H
