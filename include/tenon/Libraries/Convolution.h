//===- Convolution.h - A convolution a library can run -------------------===//
//
// Describes a convolution or one of its two gradients independently of the
// library that runs it. All three kinds speak of the same forward convolution
// `output = conv(input, kernel)`: the data gradient computes `input` from
// `output` and `kernel`, the weight gradient computes `kernel` from `input` and
// `output`. Tensors are read and written through strides.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_CONVOLUTION_H
#define TENON_LIBRARIES_CONVOLUTION_H

#include "tenon/Support/ElementType.h"
#include "tenon/Support/Fields.h"

#include <cstdint>
#include <vector>

namespace tenon::libraries {

using tenon::name;

enum class ConvolutionKind : uint8_t {
  forward = 0,        // operands input, kernel; result output
  dataGradient = 1,   // operands output, kernel; result input
  weightGradient = 2, // operands input, output; result kernel
};

struct ConvolutionDescription {
  /// One spatial dimension of the forward convolution.
  struct Spatial {
    int64_t input = 1, kernel = 1, output = 1; // extents
    int64_t stride = 1;                        // window stride
    int64_t dilation = 1;                      // kernel dilation, 1 = dense
    int64_t padLow = 0, padHigh = 0;           // may be negative
    int64_t inputStride = 0, kernelStride = 0, outputStride = 0; // elements

    bool operator==(const Spatial &) const = default;
  };

  ConvolutionKind kind = ConvolutionKind::forward;
  ElementType type = ElementType::f32; // of both operands
  ElementType resultType = ElementType::f32;
  ElementType computeType = ElementType::f32;    // see MatmulDescription
  ElementType accumulateType = ElementType::f32; // see MatmulDescription
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t inputChannels = 1, outputChannels = 1; // over all groups
  std::vector<Spatial> spatial;                  // 1 to 3
  /// Element strides of the other dimensions. The kernel's channel dimensions
  /// are those of one group; kernelStrideGroup steps between groups.
  int64_t inputStrideBatch = 0, inputStrideChannel = 0;
  int64_t outputStrideBatch = 0, outputStrideChannel = 0;
  int64_t kernelStrideGroup = 0, kernelStrideInput = 0, kernelStrideOutput = 0;
  /// Whether the kernel is applied mirrored along every spatial dimension (true
  /// for a StableHLO convolution whose window is reversed).
  bool mirroredKernel = false;
  /// Whether sums may be made of other products than those of the definition,
  /// as Winograd's algorithm does. Their errors are then relative to what lies
  /// in a neighbourhood of 4 x 4 positions, not in each window alone.
  bool mayTransform = false;
  /// See MatmulDescription::pieces.
  int64_t pieces = 1;

  static constexpr std::string_view call = "convolution";
  bool operator==(const ConvolutionDescription &) const = default;
};

} // namespace tenon::libraries

namespace tenon {

template <>
inline constexpr auto namesOf<libraries::ConvolutionKind> =
    std::to_array<std::string_view>(
        {"forward", "data_gradient", "weight_gradient"});

template <>
inline constexpr auto fieldsOf<libraries::ConvolutionDescription::Spatial> =
    TENON_FIELDS(libraries::ConvolutionDescription::Spatial, input, kernel,
                 output, stride, dilation, padLow, padHigh, inputStride,
                 kernelStride, outputStride);

template <>
inline constexpr auto fieldsOf<libraries::ConvolutionDescription> =
    std::tuple_cat(
        TENON_FIELDS(libraries::ConvolutionDescription, kind, type),
        std::tuple{
            Field{"result", &libraries::ConvolutionDescription::resultType},
            Field{"compute", &libraries::ConvolutionDescription::computeType},
            Field{"accumulate",
                  &libraries::ConvolutionDescription::accumulateType}},
        TENON_FIELDS(libraries::ConvolutionDescription, batch, groups,
                     inputChannels, outputChannels, spatial, inputStrideBatch,
                     inputStrideChannel, outputStrideBatch, outputStrideChannel,
                     kernelStrideGroup, kernelStrideInput, kernelStrideOutput,
                     mirroredKernel, mayTransform, pieces));

} // namespace tenon

#endif // TENON_LIBRARIES_CONVOLUTION_H
