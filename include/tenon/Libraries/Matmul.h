//===- Matmul.h - A matrix multiplication a library can run --------------===//
//
// Describes one batched, strided matrix multiplication independently of the
// library that runs it: Fusion builds descriptions, the file stores them, the
// runtime turns them into primitives when it loads.
//
//   result[b, i, j] = epilogue(sum over k of lhs[b, i, k] * rhs[b, k, j])
//
// Sums are held in the type that the description says, in which the epilogue
// works, too, and rounded once to the result's type. Any operand may be read
// through strides, so a transposed operand, a head inside [batch, time, head,
// feature] or a transposed result costs no copy.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_MATMUL_H
#define TENON_LIBRARIES_MATMUL_H

#include "tenon/Support/ElementType.h"
#include "tenon/Support/Fields.h"

#include <cstdint>
#include <vector>

namespace tenon::libraries {

using tenon::name;

/// Work done on the f32 sum of a result element before it is rounded and
/// written, with the bits of the separate f32 operations.
enum class Epilogue : uint8_t {
  none = 0,
  bias = 1, // + bias[j], an f32
};

struct MatmulDescription {
  /// One batch dimension; strides are in elements, 0 for an operand that does
  /// not vary along it.
  struct BatchDimension {
    int64_t size = 1;
    int64_t lhsStride = 0, rhsStride = 0, resultStride = 0;

    bool operator==(const BatchDimension &) const = default;
  };

  ElementType lhsType = ElementType::f32;
  ElementType rhsType = ElementType::f32;
  ElementType resultType = ElementType::f32;
  /// In which type it multiplies: bf16 by the instructions for it, or f32, to
  /// which narrower operands are widened block by block. Part of the plan,
  /// because it depends on the processor which of them is faster.
  ElementType computeType = ElementType::f32;
  /// In which type a sum lies between two additions, those of partial sums
  /// included: f32, whatever is multiplied.
  ElementType accumulateType = ElementType::f32;
  std::vector<BatchDimension> batch; // outermost first, at most 4
  int64_t m = 1, n = 1, k = 1;
  int64_t lhsStrideM = 0, lhsStrideK = 0;       // elements
  int64_t rhsStrideK = 0, rhsStrideN = 0;       // elements
  int64_t resultStrideM = 0, resultStrideN = 0; // elements
  Epilogue epilogue = Epilogue::none;
  /// Into how many single-threaded pieces the call is cut; part of the plan, so
  /// that results do not depend on the number of threads.
  int64_t pieces = 1;

  static constexpr std::string_view call = "matmul";
  bool operator==(const MatmulDescription &) const = default;
};

} // namespace tenon::libraries

namespace tenon {

template <>
inline constexpr auto namesOf<libraries::Epilogue> =
    std::to_array<std::string_view>({"none", "bias"});

template <>
inline constexpr auto fieldsOf<libraries::MatmulDescription::BatchDimension> =
    TENON_FIELDS(libraries::MatmulDescription::BatchDimension, size, lhsStride,
                 rhsStride, resultStride);

template <>
inline constexpr auto fieldsOf<libraries::MatmulDescription> = std::tuple_cat(
    std::tuple{
        Field{"lhs", &libraries::MatmulDescription::lhsType},
        Field{"rhs", &libraries::MatmulDescription::rhsType},
        Field{"result", &libraries::MatmulDescription::resultType},
        Field{"compute", &libraries::MatmulDescription::computeType},
        Field{"accumulate", &libraries::MatmulDescription::accumulateType}},
    TENON_FIELDS(libraries::MatmulDescription, batch, m, n, k, lhsStrideM,
                 lhsStrideK, rhsStrideK, rhsStrideN, resultStrideM,
                 resultStrideN, epilogue, pieces));

} // namespace tenon

#endif // TENON_LIBRARIES_MATMUL_H
