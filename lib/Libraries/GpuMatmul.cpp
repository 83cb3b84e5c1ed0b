//===- GpuMatmul.cpp - Which products cuBLASLt takes ----------------------===//
//
// What the compiler asks about cuBLASLt is answered from its documentation: the
// library needs a GPU to say anything, and files shall not depend on whether
// there is one where they are compiled. How calls run is in GpuCalls.cpp.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Library.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::libraries;

namespace {

/// Beyond this many calls for one product the launches cost more than a
/// generated kernel, which takes any number of batch dimensions in one.
constexpr int64_t mostCalls = 16;

/// Extents are 32-bit numbers in most of the library's kernels.
constexpr int64_t largestGpuExtent = (int64_t(1) << 31) - 1;

/// A matrix that a product reads as rows x columns, with these strides between
/// the elements of a column and of a row; nothing if neither is dense.
std::optional<ColumnMajor> columnMajorOf(int64_t rows, int64_t columns,
                                         int64_t rowStride,
                                         int64_t columnStride) {
  // A dimension of one element may have any stride.
  auto matrix = [](int64_t rows, int64_t columns, int64_t leading,
                   bool isTransposed) -> std::optional<ColumnMajor> {
    if (columns == 1)
      leading = std::max(leading, rows);
    if (leading < rows)
      return std::nullopt;
    return ColumnMajor{rows, columns, leading, isTransposed};
  };
  if (rowStride == 1 || rows == 1)
    if (auto found = matrix(rows, columns, columnStride, false))
      return found;
  if (columnStride == 1 || columns == 1)
    return matrix(columns, rows, rowStride, true);
  return std::nullopt;
}

std::string whyTypesNot(const GpuMatmulDescription &d) {
  const bool isNarrow =
      d.lhsType == ElementType::bf16 || d.lhsType == ElementType::f16;
  if (d.lhsType != d.rhsType || (!isNarrow && d.lhsType != ElementType::f32))
    return "cuBLASLt multiplies two operands of f32, of bf16 or of f16, "
           "found " +
           std::string(name(d.lhsType)) + " and " +
           std::string(name(d.rhsType));
  if (d.resultType != ElementType::f32 && d.resultType != d.lhsType)
    return "cuBLASLt rounds products of " + std::string(name(d.lhsType)) +
           " to f32 or to their type, not to " +
           std::string(name(d.resultType));
  return "";
}

/// The library approximates activations, which only results of 16 bits hide,
/// and reads and writes their inputs eight elements at a time.
std::string whyActivationNot(const GpuMatmulDescription &d) {
  constexpr int64_t elementsAtATime = 8;
  if (d.activation == Activation::none)
    return "";
  if (d.resultType == ElementType::f32)
    return "cuBLASLt's activations are not exact enough for results of f32";
  if (!d.batch.empty() || d.resultStrideM != d.n ||
      d.n % elementsAtATime != 0 || d.addend != Addend::none)
    return "cuBLASLt's activations are used for one matrix, the rows of which "
           "are multiples of " +
           std::to_string(elementsAtATime) +
           " elements and follow each other, and without an addend";
  return "";
}

/// The library adds up the operand as it reads it for the gradient of weights:
/// the terms of a sum are apart in memory, and sums side by side.
std::string whySumsNot(const GpuMatmulDescription &d) {
  if (d.sums == OperandSums::none)
    return "";
  if (d.lhsType == ElementType::f32)
    return "cuBLASLt adds up operands of 16 bits";
  if (!d.batch.empty() || d.addend != Addend::none ||
      d.epilogue != Epilogue::none || d.activation != Activation::none)
    return "cuBLASLt adds up an operand of one matrix product that ends with "
           "nothing else";
  if (d.lhsStrideM != 1 || d.rhsStrideN != 1)
    return "cuBLASLt adds up an operand where rows of the left one, and "
           "columns of the right one, are side by side";
  return "";
}

/// A call that the planner knows the arguments of. It runs on no processor.
class PlannedGpuCall final : public Call {
public:
  explicit PlannedGpuCall(const GpuMatmulDescription &d)
      : workspace(plannedWorkspace(d)) {
    const int64_t result = spanOfResult(d) * byteWidth(d.resultType);
    bytes = {spanOfLhs(d) * byteWidth(d.lhsType),
             spanOfRhs(d) * byteWidth(d.rhsType)};
    if (d.addend == Addend::operand)
      bytes.push_back(result);
    if (d.epilogue == Epilogue::bias)
      bytes.push_back(d.n * byteWidth(d.resultType));
    if (d.activation == Activation::geluGradient)
      bytes.push_back(result);
    operands = int64_t(bytes.size());
    bytes.push_back(result);
    if (d.activation == Activation::geluKeeping)
      bytes.push_back(result);
    if (d.sums != OperandSums::none)
      bytes.push_back(countOfSums(d) * byteWidth(d.resultType));
  }

  int64_t argumentCount() const override {
    return int64_t(bytes.size()) + (workspace > 0);
  }
  int64_t operandCount() const override { return operands; }
  int64_t argumentBytes(int64_t index) const override {
    return index < int64_t(bytes.size()) ? bytes[index] : workspace;
  }
  int64_t workspaceBytes() const override { return workspace; }
  int64_t phases() const override { return 0; }
  int64_t tasks(int64_t) const override { return 0; }
  std::unique_ptr<BoundCall> newBinding(std::string &error) const override {
    error = "it runs on a GPU";
    return nullptr;
  }
  std::string statusText(int status) const override {
    return "cuBLASLt: status " + std::to_string(status);
  }
  std::string implementation() const override { return "cublaslt"; }

private:
  std::vector<int64_t> bytes; // operands, then results
  int64_t operands = 0;
  int64_t workspace;
};

class CublasLtLibrary final : public Library {
public:
  std::string_view name() const override { return "cuBLASLt"; }
  /// The one whose ABI is known; which minor one runs is up to the machine.
  std::string version() const override { return "13"; }
  bool isOfGpus() const override { return true; }
  bool takes(const Description &description) const override {
    return std::holds_alternative<GpuMatmulDescription>(description);
  }
  std::unique_ptr<Call> create(const Description &description, Isa,
                               std::string &error) const override {
    const auto &matmul = std::get<GpuMatmulDescription>(description);
    if (!columnMajor(matmul, error))
      return nullptr;
    return std::make_unique<PlannedGpuCall>(matmul);
  }
};

int64_t span(const GpuMatmulDescription &d,
             std::initializer_list<std::pair<int64_t, int64_t>> extents,
             int64_t MatmulDescription::BatchDimension::*stride) {
  int64_t last = 0;
  for (auto [extent, step] : extents)
    last += (extent - 1) * step;
  for (const MatmulDescription::BatchDimension &dimension : d.batch)
    last += (dimension.size - 1) * dimension.*stride;
  return last + 1;
}

} // namespace

using BatchDimension = MatmulDescription::BatchDimension;

int64_t tenon::libraries::spanOfLhs(const GpuMatmulDescription &d) {
  return span(d, {{d.m, d.lhsStrideM}, {d.k, d.lhsStrideK}},
              &BatchDimension::lhsStride);
}
int64_t tenon::libraries::spanOfRhs(const GpuMatmulDescription &d) {
  return span(d, {{d.k, d.rhsStrideK}, {d.n, d.rhsStrideN}},
              &BatchDimension::rhsStride);
}
int64_t tenon::libraries::spanOfResult(const GpuMatmulDescription &d) {
  return span(d, {{d.m, d.resultStrideM}, {d.n, d.resultStrideN}},
              &BatchDimension::resultStride);
}

std::optional<ColumnMajorProduct>
tenon::libraries::columnMajor(const GpuMatmulDescription &d,
                              std::string &whyNot) {
  auto refuse = [&](std::string why) {
    whyNot = std::move(why);
    return std::nullopt;
  };
  if (std::string why = whyTypesNot(d); !why.empty())
    return refuse(why);
  if (std::string why = whyActivationNot(d); !why.empty())
    return refuse(why);
  if (std::string why = whySumsNot(d); !why.empty())
    return refuse(why);
  if (std::max({d.m, d.n, d.k}) > largestGpuExtent)
    return refuse("an extent exceeds " + std::to_string(largestGpuExtent));
  auto first = columnMajorOf(d.n, d.k, d.rhsStrideN, d.rhsStrideK);
  auto second = columnMajorOf(d.k, d.m, d.lhsStrideK, d.lhsStrideM);
  auto result = columnMajorOf(d.n, d.m, d.resultStrideN, d.resultStrideM);
  if (!first || !second || !result || result->isTransposed)
    return refuse("cuBLASLt needs elements side by side along one dimension of "
                  "each matrix, and the rows of the result");
  ColumnMajorProduct product{*first, *second, *result, {}, {{}}};
  int64_t calls = 1;
  for (size_t i = 0; i < d.batch.size(); ++i)
    if (!product.batched || d.batch[i].size > d.batch[*product.batched].size)
      product.batched = i;
  for (size_t i = 0; i < d.batch.size(); ++i) {
    if (i == *product.batched)
      continue;
    const BatchDimension &dimension = d.batch[i];
    if (dimension.size > mostCalls || (calls *= dimension.size) > mostCalls)
      return refuse("more than " + std::to_string(mostCalls) +
                    " calls, one for each index of all batch dimensions but "
                    "one");
    std::vector<ColumnMajorProduct::Offsets> inside;
    for (const ColumnMajorProduct::Offsets &outer : product.calls)
      for (int64_t at = 0; at < dimension.size; ++at)
        inside.push_back({outer.lhs + at * dimension.lhsStride,
                          outer.rhs + at * dimension.rhsStride,
                          outer.result + at * dimension.resultStride});
    product.calls = std::move(inside);
  }
  if (product.batched && d.batch[*product.batched].size > largestGpuExtent)
    return refuse("a batch exceeds " + std::to_string(largestGpuExtent));
  return product;
}

int64_t tenon::libraries::bytesOfOnes(const GpuMatmulDescription &d) {
  constexpr int64_t word = 4; // what memory is filled with
  const int64_t bytes = d.sums == OperandSums::none
                            ? d.m * byteWidth(d.resultType)
                            : d.k * byteWidth(d.lhsType);
  return (bytes + word - 1) / word * word;
}

int64_t tenon::libraries::plannedWorkspace(const GpuMatmulDescription &d) {
  // Partial sums of products whose tiles do not fill a GPU: as many of each
  // element as make 256 tiles of 128 x 128, which all GPUs have enough of.
  constexpr int64_t tile = 128, fullGpu = 256, mostSplits = 16,
                    mostBytes = int64_t(32) << 20;
  auto tiles = [](int64_t extent) { return (extent + tile - 1) / tile; };
  int64_t grid = std::min(fullGpu, tiles(d.m)) * std::min(fullGpu, tiles(d.n));
  int64_t elements = d.m * d.n;
  for (size_t i = 0; i < d.batch.size(); ++i) {
    grid = std::min(grid, fullGpu) * std::min(fullGpu, d.batch[i].size);
    elements *= d.batch[i].size;
  }
  const int64_t splits =
      std::min({mostSplits, fullGpu / std::min(grid, fullGpu), tiles(d.k)});
  int64_t bytes = splits < 2 ? 0 : std::min(mostBytes, splits * elements * 4);
  // Where the library does not add a bias in the product, it adds a product of
  // ones and the bias: a one for each row. Sums are a product of ones, too.
  if (d.epilogue == Epilogue::bias || d.sums != OperandSums::none)
    bytes = std::max(bytes, bytesOfOnes(d));
  return bytes == 0 ? 0 : (bytes + 63) / 64 * 64 + int64_t(workspaceSlack);
}

std::string
tenon::libraries::whyInvalid(const GpuMatmulDescription &description) {
  if (description.addend > Addend::inPlace)
    return "unknown addend " + std::to_string(int(description.addend));
  if (description.activation > Activation::geluGradient)
    return "unknown activation " + std::to_string(int(description.activation));
  if (description.sums > OperandSums::rhs)
    return "unknown sums " + std::to_string(int(description.sums));
  if (description.factors > Factors::tf32)
    return "unknown factors " + std::to_string(int(description.factors));
  if (description.factors == Factors::tf32 &&
      (description.lhsType != ElementType::f32 ||
       description.rhsType != ElementType::f32))
    return "only operands of f32 are rounded to tf32";
  return whyInvalid(static_cast<const MatmulDescription &>(description));
}

const Library &tenon::libraries::cublasLtLibrary() {
  static const CublasLtLibrary library;
  return library;
}
