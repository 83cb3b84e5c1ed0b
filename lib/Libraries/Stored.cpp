//===- Stored.cpp - Library descriptions as the file stores them ---------===//
//
// Descriptions to and from the plain vectors of the file's index, and what a
// description must fulfil before a library is asked about it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Stored.h"

#include "tenon/Support/CheckedArithmetic.h"

#include <dnnl.h>

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

constexpr const char *lapackName = "LAPACK";

std::optional<ElementType> knownType(ElementType type) {
  if (type > ElementType::f64)
    return std::nullopt;
  return type;
}

} // namespace

std::string tenon::libraries::libraryVersion() {
  const dnnl_version_t *version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) +
         "." + std::to_string(version->patch);
}

std::string tenon::libraries::whyInvalid(const MatmulDescription &description) {
  const MatmulDescription &d = description;
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

format::LibraryCallEntry tenon::libraries::store(const Description &description,
                                                 Isa isa,
                                                 uint64_t workspaceBytes) {
  format::LibraryCallEntry entry;
  entry.library = "oneDNN";
  entry.libraryVersion = libraryVersion();
  entry.isa = name(isa);
  entry.workspaceBytes = workspaceBytes;
  if (const auto *d = std::get_if<MatmulDescription>(&description)) {
    format::Matmul stored;
    stored.lhsType = d->lhsType;
    stored.rhsType = d->rhsType;
    stored.resultType = d->resultType;
    for (const MatmulDescription::BatchDimension &dimension : d->batch)
      stored.batch.insert(stored.batch.end(),
                          {dimension.size, dimension.lhsStride,
                           dimension.rhsStride, dimension.resultStride});
    stored.sizes = {d->m, d->n, d->k};
    stored.strides = {d->lhsStrideM, d->lhsStrideK,    d->rhsStrideK,
                      d->rhsStrideN, d->resultStrideM, d->resultStrideN};
    stored.epilogue = uint8_t(d->epilogue);
    stored.pieces = d->pieces;
    entry.description = std::move(stored);
    return entry;
  }
  if (const auto *d = std::get_if<LapackDescription>(&description)) {
    entry.library = lapackName;
    entry.libraryVersion = lapackVersion();
    format::Lapack stored;
    stored.routine = libraries::name(d->routine);
    stored.type = d->type;
    stored.sizes = {d->batch, d->rows, d->columns, d->reflectors};
    stored.letters = {d->triangle, d->side, d->transpose, d->diagonal, d->mode};
    entry.description = std::move(stored);
    return entry;
  }
  const auto &d = std::get<ConvolutionDescription>(description);
  format::Convolution stored;
  stored.kind = uint8_t(d.kind);
  stored.type = d.type;
  stored.batch = d.batch;
  stored.groups = d.groups;
  stored.inputChannels = d.inputChannels;
  stored.outputChannels = d.outputChannels;
  for (const ConvolutionDescription::Spatial &s : d.spatial)
    stored.spatial.insert(stored.spatial.end(),
                          {s.input, s.kernel, s.output, s.stride, s.dilation,
                           s.padLow, s.padHigh, s.inputStride, s.kernelStride,
                           s.outputStride});
  stored.strides = {d.inputStrideBatch,  d.inputStrideChannel,
                    d.outputStrideBatch, d.outputStrideChannel,
                    d.kernelStrideGroup, d.kernelStrideInput,
                    d.kernelStrideOutput};
  stored.mirroredKernel = d.mirroredKernel;
  stored.pieces = d.pieces;
  entry.description = std::move(stored);
  return entry;
}

static std::optional<Description> restoreMatmul(const format::Matmul &stored,
                                                std::string &error) {
  if (stored.sizes.size() != 3 || stored.strides.size() != 6 ||
      stored.batch.size() % 4 != 0) {
    error = "a matrix multiplication has the wrong number of sizes or strides";
    return std::nullopt;
  }
  MatmulDescription d;
  d.lhsType = stored.lhsType;
  d.rhsType = stored.rhsType;
  d.resultType = stored.resultType;
  for (size_t i = 0; i < stored.batch.size(); i += 4)
    d.batch.push_back({stored.batch[i], stored.batch[i + 1],
                       stored.batch[i + 2], stored.batch[i + 3]});
  d.m = stored.sizes[0];
  d.n = stored.sizes[1];
  d.k = stored.sizes[2];
  d.lhsStrideM = stored.strides[0];
  d.lhsStrideK = stored.strides[1];
  d.rhsStrideK = stored.strides[2];
  d.rhsStrideN = stored.strides[3];
  d.resultStrideM = stored.strides[4];
  d.resultStrideN = stored.strides[5];
  d.epilogue = Epilogue(stored.epilogue);
  d.pieces = stored.pieces;
  if (!knownType(d.lhsType) || !knownType(d.rhsType) ||
      !knownType(d.resultType)) {
    error = "a matrix multiplication has an unknown element type";
    return std::nullopt;
  }
  error = whyInvalid(d);
  if (!error.empty())
    return std::nullopt;
  return d;
}

static std::optional<Description>
restoreConvolution(const format::Convolution &stored, std::string &error) {
  if (stored.strides.size() != 7 || stored.spatial.size() % 10 != 0) {
    error = "a convolution has the wrong number of extents or strides";
    return std::nullopt;
  }
  ConvolutionDescription d;
  d.kind = ConvolutionKind(stored.kind);
  d.type = stored.type;
  d.batch = stored.batch;
  d.groups = stored.groups;
  d.inputChannels = stored.inputChannels;
  d.outputChannels = stored.outputChannels;
  for (size_t i = 0; i < stored.spatial.size(); i += 10) {
    const int64_t *s = &stored.spatial[i];
    d.spatial.push_back(
        {s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9]});
  }
  d.inputStrideBatch = stored.strides[0];
  d.inputStrideChannel = stored.strides[1];
  d.outputStrideBatch = stored.strides[2];
  d.outputStrideChannel = stored.strides[3];
  d.kernelStrideGroup = stored.strides[4];
  d.kernelStrideInput = stored.strides[5];
  d.kernelStrideOutput = stored.strides[6];
  d.mirroredKernel = stored.mirroredKernel;
  d.pieces = stored.pieces;
  if (!knownType(d.type)) {
    error = "a convolution has an unknown element type";
    return std::nullopt;
  }
  error = whyInvalid(d);
  if (!error.empty())
    return std::nullopt;
  return d;
}

static std::optional<Description> restoreLapack(const format::Lapack &stored,
                                                std::string &error) {
  auto routine = lapackRoutineFromName(stored.routine);
  if (!routine || stored.sizes.size() != 4 || stored.letters.size() != 5) {
    error = "a LAPACK call has an unknown routine or the wrong number of sizes";
    return std::nullopt;
  }
  LapackDescription d;
  d.routine = *routine;
  d.type = stored.type;
  d.batch = stored.sizes[0];
  d.rows = stored.sizes[1];
  d.columns = stored.sizes[2];
  d.reflectors = stored.sizes[3];
  d.triangle = stored.letters[0];
  d.side = stored.letters[1];
  d.transpose = stored.letters[2];
  d.diagonal = stored.letters[3];
  d.mode = stored.letters[4];
  error = whyInvalid(d);
  if (!error.empty())
    return std::nullopt;
  return d;
}

std::string
tenon::libraries::libraryVersion(const format::LibraryCallEntry &entry) {
  return entry.library == lapackName ? lapackVersion() : libraryVersion();
}

std::optional<Description>
tenon::libraries::restore(const format::LibraryCallEntry &entry,
                          std::string &error) {
  error.clear();
  const auto *lapack = std::get_if<format::Lapack>(&entry.description);
  if (entry.library != (lapack ? lapackName : "oneDNN")) {
    error = "the file wants library '" + entry.library +
            "', this runtime has oneDNN and LAPACK";
    return std::nullopt;
  }
  if (lapack)
    return restoreLapack(*lapack, error);
  if (const auto *matmul = std::get_if<format::Matmul>(&entry.description))
    return restoreMatmul(*matmul, error);
  return restoreConvolution(std::get<format::Convolution>(entry.description),
                            error);
}
