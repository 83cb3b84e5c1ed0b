//===- Description.cpp - A call some library can run ---------------------===//
//
// What a description must fulfil before a library is asked about it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Description.h"

#include "tenon/Support/CheckedArithmetic.h"

using namespace tenon;
using namespace tenon::libraries;

namespace {

// Extents and strides beyond this would overflow products of two of them.
constexpr int64_t largest = int64_t(1) << 40;

/// Sums up the extents a tensor is addressed with; empty reach on overflow.
class Reach {
public:
  void add(int64_t extent, int64_t stride) {
    auto step = mulChecked(extent - 1, stride);
    last = last && step ? addChecked(*last, *step) : std::nullopt;
  }
  bool fits() const { return last && *last < largest; }

private:
  std::optional<int64_t> last = 0;
};

std::string outOfRange(const char *what, int64_t value) {
  return std::string(what) + " " + std::to_string(value) +
         " is out of range, expected 1 to " + std::to_string(largest);
}

bool isExtent(int64_t value) { return value >= 1 && value <= largest; }
bool isStride(int64_t value) { return value >= 0 && value <= largest; }

/// `8x16`.
std::string times(std::initializer_list<int64_t> values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : "x") + std::to_string(value);
  return text;
}

/// `bf16`, `bf16 in f32` or `bf16 to f32`: of operands, and how they are
/// multiplied and what becomes of them if that is another type.
std::string words(ElementType operands, ElementType compute,
                  ElementType result) {
  std::string text(name(operands));
  if (compute != operands)
    text += " in " + std::string(name(compute));
  if (result != operands)
    text += " to " + std::string(name(result));
  return text;
}

std::string words(const libraries::MatmulDescription &matmul) {
  std::string batch;
  for (const auto &dimension : matmul.batch)
    batch += (batch.empty() ? "" : "x") + std::to_string(dimension.size);
  return "matrix multiplication " + (batch.empty() ? "" : batch + " of ") +
         times({matmul.m, matmul.n, matmul.k}) + " " +
         words(matmul.lhsType, matmul.computeType, matmul.resultType);
}

std::string words(const libraries::PackedMatmulDescription &matmul) {
  return words(static_cast<const MatmulDescription &>(matmul)) + " packed";
}

std::string words(libraries::Activation activation) {
  switch (activation) {
  case Activation::none:
    break;
  case Activation::gelu:
    return " then gelu";
  case Activation::geluKeeping:
    return " then gelu, keeping its input";
  case Activation::geluGradient:
    return " then the gradient of gelu";
  }
  return "";
}

std::string words(libraries::OperandSums sums) {
  return sums == OperandSums::none  ? ""
         : sums == OperandSums::lhs ? " and the sums of its left operand"
                                    : " and the sums of its right operand";
}

std::string words(const libraries::GpuMatmulDescription &matmul) {
  libraries::MatmulDescription product = matmul;
  product.computeType = product.lhsType;
  return words(product) + (matmul.factors == Factors::tf32 ? " by tf32" : "") +
         (matmul.addend != Addend::none ? " plus an addend" : "") +
         (matmul.epilogue == Epilogue::bias ? " plus a bias" : "") +
         words(matmul.activation) + words(matmul.sums);
}

std::string words(const libraries::ConvolutionDescription &convolution) {
  static constexpr const char *kinds[] = {"convolution",
                                          "convolution data gradient",
                                          "convolution weight gradient"};
  std::string input = std::to_string(convolution.batch), window;
  for (const auto &dimension : convolution.spatial) {
    input += "x" + std::to_string(dimension.input);
    window += (window.empty() ? "" : "x") + std::to_string(dimension.kernel);
  }
  return std::string(kinds[size_t(convolution.kind)]) + " " + input + "x" +
         std::to_string(convolution.inputChannels) + " to " +
         std::to_string(convolution.outputChannels) + " channels, window " +
         window + " " +
         words(convolution.type, convolution.computeType,
               convolution.resultType);
}

std::string words(const libraries::LapackDescription &lapack) {
  return std::string(name(lapack.routine)) + " of " +
         times({lapack.batch, lapack.rows, lapack.columns, lapack.reflectors}) +
         " " + std::string(name(lapack.type));
}

} // namespace

/// Empty if operands of these types may be multiplied in type `compute`.
static std::string computeFault(ElementType compute, ElementType lhs,
                                ElementType rhs) {
  if (compute == ElementType::f32 ||
      (compute == ElementType::bf16 && lhs == compute && rhs == compute))
    return "";
  return "operands of " + std::string(name(lhs)) + " and " +
         std::string(name(rhs)) + " are multiplied in " +
         std::string(name(compute)) +
         ", expected f32, or bf16 for two operands of bf16";
}

/// Empty if a sum may lie in this type between two additions.
static std::string accumulateFault(ElementType accumulate) {
  if (accumulate == ElementType::f32)
    return "";
  return "sums are held in " + std::string(name(accumulate)) +
         ", expected f32, from which a sum is rounded once it is complete";
}

std::string tenon::libraries::whyInvalid(const MatmulDescription &description) {
  const MatmulDescription &d = description;
  if (std::string fault = computeFault(d.computeType, d.lhsType, d.rhsType);
      !fault.empty())
    return fault;
  if (std::string fault = accumulateFault(d.accumulateType); !fault.empty())
    return fault;
  for (auto [what, value] :
       {std::pair("m", d.m), {"n", d.n}, {"k", d.k}, {"pieces", d.pieces}})
    if (!isExtent(value))
      return outOfRange(what, value);
  if (d.pieces > 4096)
    return "pieces " + std::to_string(d.pieces) + " exceeds 4096";
  if (d.batch.size() > 4)
    return "a matrix multiplication has " + std::to_string(d.batch.size()) +
           " batch dimensions, at most 4 are possible";
  for (int64_t stride : {d.lhsStrideM, d.lhsStrideK, d.rhsStrideK, d.rhsStrideN,
                         d.resultStrideM, d.resultStrideN})
    if (!isStride(stride))
      return outOfRange("stride", stride);
  if (d.epilogue > Epilogue::bias)
    return "unknown epilogue " + std::to_string(int(d.epilogue));
  Reach lhs, rhs, result;
  lhs.add(d.m, d.lhsStrideM);
  lhs.add(d.k, d.lhsStrideK);
  rhs.add(d.k, d.rhsStrideK);
  rhs.add(d.n, d.rhsStrideN);
  result.add(d.m, d.resultStrideM);
  result.add(d.n, d.resultStrideN);
  for (const MatmulDescription::BatchDimension &dimension : d.batch) {
    if (!isExtent(dimension.size))
      return outOfRange("batch size", dimension.size);
    for (int64_t stride :
         {dimension.lhsStride, dimension.rhsStride, dimension.resultStride})
      if (!isStride(stride))
        return outOfRange("batch stride", stride);
    lhs.add(dimension.size, dimension.lhsStride);
    rhs.add(dimension.size, dimension.rhsStride);
    result.add(dimension.size, dimension.resultStride);
    if (dimension.size > 1 && dimension.resultStride == 0)
      return "the result of a matrix multiplication overlaps itself";
  }
  if (!lhs.fits() || !rhs.fits() || !result.fits())
    return "an operand of a matrix multiplication spans too many elements";
  if ((d.m > 1 && d.resultStrideM == 0) || (d.n > 1 && d.resultStrideN == 0))
    return "the result of a matrix multiplication overlaps itself";
  return "";
}

std::string
tenon::libraries::whyInvalid(const ConvolutionDescription &description) {
  const ConvolutionDescription &d = description;
  if (std::string fault = computeFault(d.computeType, d.type, d.type);
      !fault.empty())
    return fault;
  if (std::string fault = accumulateFault(d.accumulateType); !fault.empty())
    return fault;
  if (d.kind > ConvolutionKind::weightGradient)
    return "unknown kind of convolution " + std::to_string(int(d.kind));
  for (auto [what, value] : {std::pair("batch", d.batch),
                             {"groups", d.groups},
                             {"input channels", d.inputChannels},
                             {"output channels", d.outputChannels},
                             {"pieces", d.pieces}})
    if (!isExtent(value))
      return outOfRange(what, value);
  if (d.pieces > 4096)
    return "pieces " + std::to_string(d.pieces) + " exceeds 4096";
  if (d.inputChannels % d.groups || d.outputChannels % d.groups)
    return std::to_string(d.inputChannels) + " input and " +
           std::to_string(d.outputChannels) +
           " output channels do not divide into " + std::to_string(d.groups) +
           " groups";
  if (d.spatial.empty() || d.spatial.size() > 3)
    return "a convolution has " + std::to_string(d.spatial.size()) +
           " spatial dimensions, 1 to 3 are possible";
  for (int64_t stride :
       {d.inputStrideBatch, d.inputStrideChannel, d.outputStrideBatch,
        d.outputStrideChannel, d.kernelStrideGroup, d.kernelStrideInput,
        d.kernelStrideOutput})
    if (!isStride(stride))
      return outOfRange("stride", stride);
  Reach input, kernel, output;
  input.add(d.batch, d.inputStrideBatch);
  input.add(d.inputChannels, d.inputStrideChannel);
  output.add(d.batch, d.outputStrideBatch);
  output.add(d.outputChannels, d.outputStrideChannel);
  kernel.add(d.groups, d.kernelStrideGroup);
  kernel.add(d.inputChannels / d.groups, d.kernelStrideInput);
  kernel.add(d.outputChannels / d.groups, d.kernelStrideOutput);
  for (const ConvolutionDescription::Spatial &s : d.spatial) {
    for (auto [what, value] : {std::pair("input extent", s.input),
                               {"kernel extent", s.kernel},
                               {"output extent", s.output},
                               {"window stride", s.stride},
                               {"kernel dilation", s.dilation}})
      if (value < 1 || value > (1 << 30))
        return outOfRange(what, value);
    for (int64_t stride : {s.inputStride, s.kernelStride, s.outputStride})
      if (!isStride(stride))
        return outOfRange("stride", stride);
    if (std::max(std::abs(s.padLow), std::abs(s.padHigh)) > (1 << 30))
      return "padding is out of range";
    input.add(s.input, s.inputStride);
    kernel.add(s.kernel, s.kernelStride);
    output.add(s.output, s.outputStride);
    int64_t room = s.input + s.padLow + s.padHigh - (s.kernel - 1) * s.dilation;
    int64_t expected = room < 1 ? 0 : (room - 1) / s.stride + 1;
    if (expected != s.output)
      return "a spatial dimension has output extent " +
             std::to_string(s.output) + ", its window gives " +
             std::to_string(expected);
  }
  if (!input.fits() || !kernel.fits() || !output.fits())
    return "an operand of a convolution spans too many elements";
  return "";
}

std::string
tenon::libraries::whyInvalid(const PackedMatmulDescription &description) {
  const PackedMatmulDescription &d = description;
  if (std::string fault = whyInvalid(static_cast<const MatmulDescription &>(d));
      !fault.empty())
    return fault;
  if (d.k % d.blockRows != 0 || d.n % d.blockColumns != 0)
    return "a packed operand has blocks of " +
           times({d.blockRows, d.blockColumns}) + ", " + times({d.k, d.n}) +
           " elements are no multiple of that";
  if (!d.batch.empty() || d.rhsStrideK != d.n || d.rhsStrideN != 1)
    return "a packed operand is one matrix, whose strides are those of rows";
  return "";
}

std::optional<Description>
tenon::libraries::newDescription(std::string_view call, std::string &error) {
  std::optional<Description> found;
  std::string known;
  [&]<size_t... kinds>(std::index_sequence<kinds...>) {
    auto offer = [&](auto description) {
      known +=
          (known.empty() ? "'" : ", '") + std::string(description.call) + "'";
      if (description.call == call)
        found = std::move(description);
    };
    (offer(std::variant_alternative_t<kinds, Description>()), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Description>>());
  if (!found)
    error =
        "'" + std::string(call) + "' is no library call; there are " + known;
  return found;
}

std::string tenon::libraries::describe(const Description &description) {
  return std::visit([](const auto &call) { return words(call); }, description);
}
