//===- GpuMatmul.h - A matrix multiplication for a GPU's library ---------===//
//
// A product like those of Matmul.h that a library runs on a GPU, as one call
// that fills the GPU by itself: it is not cut into pieces. Operands are
// multiplied exactly in all types that there are, unless those of f32 may be
// rounded to tf32 (10 bits of fraction) before; sums are held in f32 and
// rounded once to the result's type.
//
//   result[b, i, j] = activation(sum over k of lhs[b, i, k] * rhs[b, k, j]
//                                + addend[b, i, j] + bias[j])
//
// Beside a product of two matrices it can add up the terms of one of them, say
// for the gradient of a bias next to that of the weights:
//
//   sums[i] = sum over k of lhs[i, k]   or   sums[j] = sum over k of rhs[k, j]
//
// The arguments of a call are lhs, rhs, the addend if it is an operand, the
// bias if there is one, of the result's type, the input of an activation whose
// gradient it is, the result, the input of an activation that is kept, the sums
// of an operand, side by side in the result's type, and the workspace if it has
// bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_GPUMATMUL_H
#define TENON_LIBRARIES_GPUMATMUL_H

#include "tenon/Libraries/Matmul.h"

#include <optional>
#include <string>

namespace tenon::libraries {

using tenon::name;

/// What is added to the finished sums, in the type and layout of the result.
enum class Addend : uint8_t {
  none = 0,
  operand = 1,
  inPlace = 2, // what the result holds before
};

/// What is done with the finished sums x, behind the bias. The input that is
/// kept or read lies as the result does, in its type.
enum class Activation : uint8_t {
  none = 0,
  gelu = 1,         // x * s(x) with s(x) = 1 / (1 + exp(-2 u(x))) and
                    // u(x) = sqrt(2 / pi) * (x + 0.044715 * x^3)
  geluKeeping = 2,  // the same, and x is a second result
  geluGradient = 3, // x * gelu'(input), where the input is an operand
};

/// What is multiplied of operands of f32.
enum class Factors : uint8_t {
  exact = 0,
  tf32 = 1, // if the library likes
};

/// The terms of which operand are added up beside the product.
enum class OperandSums : uint8_t {
  none = 0,
  lhs = 1, // one sum for each row of the result
  rhs = 2, // one for each column
};

struct GpuMatmulDescription : MatmulDescription {
  GpuMatmulDescription() = default;
  /// Neither how that one is cut nor in which type it multiplies matters.
  explicit GpuMatmulDescription(const MatmulDescription &matmul)
      : MatmulDescription(matmul) {
    computeType = ElementType::f32;
    pieces = 1;
  }

  Addend addend = Addend::none;
  Activation activation = Activation::none;
  Factors factors = Factors::exact;
  OperandSums sums = OperandSums::none;

  static constexpr std::string_view call = "gpu_matmul";
  bool operator==(const GpuMatmulDescription &) const = default;
};

/// A matrix as cuBLASLt takes it: by columns, which lie `leading` elements
/// apart.
struct ColumnMajor {
  int64_t rows = 1, columns = 1, leading = 1;
  bool isTransposed = false; // of what the product reads
};

/// The call as cuBLASLt takes it. A row of ours is a column there, so the right
/// operand comes first: its `first` is our rhs, its `second` our lhs.
struct ColumnMajorProduct {
  ColumnMajor first, second, result;
  /// Which dimension of the description's batch one call runs through; nothing
  /// if there is none. All others are calls of their own.
  std::optional<size_t> batched;
  /// For each of these calls, where it finds the operands: elements.
  struct Offsets {
    int64_t lhs = 0, rhs = 0, result = 0;
  };
  std::vector<Offsets> calls;
};

/// Nothing, with the reason, if cuBLASLt does not take the valid description.
std::optional<ColumnMajorProduct>
columnMajor(const GpuMatmulDescription &description, std::string &whyNot);

/// Elements from the first to past the last one that the call touches.
int64_t spanOfLhs(const GpuMatmulDescription &description);
int64_t spanOfRhs(const GpuMatmulDescription &description);
int64_t spanOfResult(const GpuMatmulDescription &description);

/// Whether it does more than multiply and add an addend, which not all of the
/// library's kernels can.
inline bool hasEpilogue(const GpuMatmulDescription &description) {
  return description.epilogue != Epilogue::none ||
         description.activation != Activation::none ||
         description.sums != OperandSums::none;
}

/// How many sums of an operand there are.
inline int64_t countOfSums(const GpuMatmulDescription &description) {
  return description.sums == OperandSums::none  ? 0
         : description.sums == OperandSums::lhs ? description.m
                                                : description.n;
}

/// What the planner puts aside for the call: a function of the description
/// alone, so that a plan is the same on every machine. The library may use
/// less.
int64_t plannedWorkspace(const GpuMatmulDescription &description);

/// A one for each row, in the result's type: what a bias is multiplied with
/// where the library does not add it. Or one for each term, in the operands'
/// type: what is multiplied with an operand where the library does not sum it.
int64_t bytesOfOnes(const GpuMatmulDescription &description);

/// The library refuses a workspace that is not at a multiple of 256 bytes.
/// Places are planned at multiples of 64, so as many bytes as may have to be
/// skipped are planned, too.
inline constexpr uint64_t workspaceAlignment = 256;
inline constexpr uint64_t workspaceSlack = workspaceAlignment - 64;

/// Bytes of a planned workspace that the library is given.
inline uint64_t usableWorkspace(uint64_t planned) {
  return planned > workspaceSlack ? planned - workspaceSlack : 0;
}

} // namespace tenon::libraries

namespace tenon {

template <>
inline constexpr auto namesOf<libraries::Addend> =
    std::to_array<std::string_view>({"none", "operand", "in_place"});

template <>
inline constexpr auto namesOf<libraries::Activation> =
    std::to_array<std::string_view>({"none", "gelu", "gelu_keeping",
                                     "gelu_gradient"});

template <>
inline constexpr auto namesOf<libraries::Factors> =
    std::to_array<std::string_view>({"exact", "tf32"});

template <>
inline constexpr auto namesOf<libraries::OperandSums> =
    std::to_array<std::string_view>({"none", "lhs", "rhs"});

template <>
inline constexpr auto
    fieldsOf<libraries::GpuMatmulDescription> = std::tuple_cat(
        std::tuple{
            Field{"lhs", &libraries::GpuMatmulDescription::lhsType},
            Field{"rhs", &libraries::GpuMatmulDescription::rhsType},
            Field{"result", &libraries::GpuMatmulDescription::resultType},
            Field{"accumulate",
                  &libraries::GpuMatmulDescription::accumulateType}},
        TENON_FIELDS(libraries::GpuMatmulDescription, batch, m, n, k,
                     lhsStrideM, lhsStrideK, rhsStrideK, rhsStrideN,
                     resultStrideM, resultStrideN, addend, epilogue, activation,
                     factors, sums));

} // namespace tenon

#endif // TENON_LIBRARIES_GPUMATMUL_H
