//===- Matmul.cpp - Matrix multiplications through oneDNN ----------------===//
//
// Turns a MatmulDescription into single-threaded oneDNN primitives. First it is
// rewritten into an equal one that the library likes better (dense batch
// dimensions merged or folded into the rows, a column-major result computed as
// its transpose), then one dimension is cut into equal pieces. oneDNN's fast
// code wants at least one unit stride per operand and a row-major result; what
// it would run with its reference code counts as not supported.
//
//===----------------------------------------------------------------------===//

#include "PrimitiveCall.h"

#include "tenon/Support/Refuse.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::libraries;

namespace {

using BatchDimension = MatmulDescription::BatchDimension;

/// An equal multiplication in the form that is handed to the library.
struct Canonical {
  MatmulDescription d;
  bool swapped = false; // computes the transposed result from rhs and lhs
};

/// Computes result^T = rhs^T lhs^T instead.
void swapSides(Canonical &c) {
  MatmulDescription d = c.d;
  std::swap(d.lhsType, d.rhsType);
  for (BatchDimension &dimension : d.batch)
    std::swap(dimension.lhsStride, dimension.rhsStride);
  d.m = c.d.n;
  d.n = c.d.m;
  d.lhsStrideM = c.d.rhsStrideN;
  d.lhsStrideK = c.d.rhsStrideK;
  d.rhsStrideK = c.d.lhsStrideK;
  d.rhsStrideN = c.d.lhsStrideM;
  d.resultStrideM = c.d.resultStrideN;
  d.resultStrideN = c.d.resultStrideM;
  c.d = std::move(d);
  c.swapped = !c.swapped;
}

/// Whether `outer` steps over exactly one run of `inner`.
bool continues(const BatchDimension &outer, const BatchDimension &inner) {
  return outer.lhsStride == inner.size * inner.lhsStride &&
         outer.rhsStride == inner.size * inner.rhsStride &&
         outer.resultStride == inner.size * inner.resultStride;
}

/// A batch over which the rhs does not vary and whose lhs and result rows
/// follow each other is more rows.
bool foldsIntoRows(const BatchDimension &dimension,
                   const MatmulDescription &d) {
  return dimension.rhsStride == 0 &&
         (d.m == 1 || (dimension.lhsStride == d.m * d.lhsStrideM &&
                       dimension.resultStride == d.m * d.resultStrideM));
}

void foldBatch(MatmulDescription &d) {
  std::erase_if(d.batch, [](const BatchDimension &b) { return b.size == 1; });
  for (size_t i = d.batch.size(); i-- > 1;)
    if (continues(d.batch[i - 1], d.batch[i])) {
      BatchDimension inner = d.batch[i];
      inner.size *= d.batch[i - 1].size;
      d.batch[i - 1] = inner;
      d.batch.erase(d.batch.begin() + i);
    }
  while (!d.batch.empty() && foldsIntoRows(d.batch.back(), d)) {
    if (d.m == 1) {
      d.lhsStrideM = d.batch.back().lhsStride;
      d.resultStrideM = d.batch.back().resultStride;
    }
    d.m *= d.batch.back().size;
    d.batch.pop_back();
  }
}

Canonical canonicalize(const MatmulDescription &description) {
  Canonical c{description};
  bool columnMajor = description.resultStrideN != 1 && description.n > 1 &&
                     (description.resultStrideM == 1 || description.m == 1);
  if (columnMajor && description.epilogue == Epilogue::none)
    swapSides(c);
  foldBatch(c.d);
  return c;
}

/// Which dimension is cut, and into runs of what length.
struct Cut {
  enum Dimension { batch, rows, columns } dimension = rows;
  size_t batchIndex = 0;
  int64_t extent = 1, run = 1;

  int64_t pieces() const { return (extent + run - 1) / run; }
};

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

Cut makeCut(Cut::Dimension dimension, int64_t extent, int64_t granularity,
            int64_t pieces) {
  int64_t run = roundUp((extent + pieces - 1) / pieces, granularity);
  return {dimension, 0, extent, std::min(run, extent)};
}

// Rows come in the register blocks of oneDNN's kernels, columns in full cache
// lines and full vectors of them.
constexpr int64_t rowGranularity = 16, columnGranularity = 64;

/// Whether columns are cut although rows could be, from measurements with two
/// threads. Cutting rows makes every piece read the whole rhs, cutting columns
/// the whole lhs; but only rows leave the pieces dense, which the library's
/// best code wants. Columns won by 4 to 25 % for wide results of few rows from
/// plain operands, and lost by up to 30 % elsewhere.
bool prefersColumns(const MatmulDescription &d) {
  bool plain = d.lhsStrideK == 1 && d.rhsStrideN == 1;
  bool wide = d.n >= 64 * d.m ||
              (plain && (d.n >= 4 * d.m || (d.n > d.m && d.k >= (1 << 14))));
  // Pieces that are not dense take f32 sums of the whole result for bf16.
  constexpr int64_t smallSums = 1 << 18;
  return wide && (d.resultType == ElementType::f32 || d.m * d.n <= smallSums);
}

/// Cuts the batch if it is large enough, else rows or columns.
Cut chooseCut(const MatmulDescription &d) {
  if (d.pieces == 1)
    return makeCut(Cut::rows, d.m, d.m, 1);
  auto largest = std::max_element(
      d.batch.begin(), d.batch.end(),
      [](const auto &a, const auto &b) { return a.size < b.size; });
  if (largest != d.batch.end() && largest->size >= d.pieces) {
    Cut cut = makeCut(Cut::batch, largest->size, 1, d.pieces);
    cut.batchIndex = size_t(largest - d.batch.begin());
    return cut;
  }
  Cut rows = makeCut(Cut::rows, d.m, rowGranularity, d.pieces);
  Cut columns = makeCut(Cut::columns, d.n, columnGranularity, d.pieces);
  // The largest piece decides how long the call takes.
  double rowShare = double(rows.run) / double(d.m);
  double columnShare = double(columns.run) / double(d.n);
  if (prefersColumns(d))
    return columnShare <= rowShare * 1.1 ? columns : rows;
  return rowShare <= columnShare * 1.1 ? rows : columns;
}

int64_t span(std::initializer_list<std::pair<int64_t, int64_t>> dimensions) {
  int64_t last = 0;
  for (auto [extent, stride] : dimensions)
    last += (extent - 1) * stride;
  return last;
}

/// The bytes each argument of the call spans, in the call's order.
std::vector<int64_t> argumentBytes(const MatmulDescription &d) {
  int64_t lhs = span({{d.m, d.lhsStrideM}, {d.k, d.lhsStrideK}});
  int64_t rhs = span({{d.k, d.rhsStrideK}, {d.n, d.rhsStrideN}});
  int64_t result = span({{d.m, d.resultStrideM}, {d.n, d.resultStrideN}});
  for (const BatchDimension &dimension : d.batch) {
    lhs += span({{dimension.size, dimension.lhsStride}});
    rhs += span({{dimension.size, dimension.rhsStride}});
    result += span({{dimension.size, dimension.resultStride}});
  }
  std::vector<int64_t> bytes{(lhs + 1) * byteWidth(d.lhsType),
                             (rhs + 1) * byteWidth(d.rhsType)};
  if (d.epilogue != Epilogue::none)
    bytes.push_back(d.n * byteWidth(d.resultType));
  bytes.push_back((result + 1) * byteWidth(d.resultType));
  return bytes;
}

struct Memories {
  dnnl_memory_desc_t lhs, rhs, bias, result;
};

Memories memoriesOf(const MatmulDescription &d) {
  std::vector<int64_t> lhs, rhs, result, lhsStrides, rhsStrides, resultStrides;
  for (const BatchDimension &dimension : d.batch) {
    // An operand that does not vary has extent 1 there.
    lhs.push_back(dimension.lhsStride ? dimension.size : 1);
    rhs.push_back(dimension.rhsStride ? dimension.size : 1);
    result.push_back(dimension.size);
    lhsStrides.push_back(dimension.lhsStride);
    rhsStrides.push_back(dimension.rhsStride);
    resultStrides.push_back(dimension.resultStride);
  }
  std::vector<int64_t> bias(d.batch.size(), 1), biasStrides(d.batch.size(), 1);
  auto append = [](std::vector<int64_t> &list, int64_t a, int64_t b) {
    list.push_back(a);
    list.push_back(b);
  };
  append(lhs, d.m, d.k);
  append(lhsStrides, d.lhsStrideM, d.lhsStrideK);
  append(rhs, d.k, d.n);
  append(rhsStrides, d.rhsStrideK, d.rhsStrideN);
  append(result, d.m, d.n);
  append(resultStrides, d.resultStrideM, d.resultStrideN);
  append(bias, 1, d.n);
  append(biasStrides, d.n, 1);
  auto resultType = *dataType(d.resultType);
  return {stridedMemory(lhs, lhsStrides, *dataType(d.lhsType), true),
          stridedMemory(rhs, rhsStrides, *dataType(d.rhsType), true),
          stridedMemory(bias, biasStrides, resultType, true),
          stridedMemory(result, resultStrides, resultType, true)};
}

PrimitiveDescription describe(const MatmulDescription &d,
                              const Memories &memories, const Engine &engine,
                              std::string &error) {
  PrimitiveDescription description;
  dnnl_matmul_desc_t operation;
  bool bias = d.epilogue != Epilogue::none;
  dnnl_status_t status = oneDNN.dnnl_matmul_desc_init(
      &operation, &memories.lhs, &memories.rhs, bias ? &memories.bias : nullptr,
      &memories.result);
  Attributes attributes = userScratchpad();
  if (status == dnnl_success)
    status = oneDNN.dnnl_primitive_desc_create(description.out(), &operation,
                                               attributes.get(), engine.engine,
                                               nullptr);
  if (status != dnnl_success) {
    error = "oneDNN has no matrix multiplication of " +
            std::string(name(d.lhsType)) + " and " +
            std::string(name(d.rhsType)) + " to " +
            std::string(name(d.resultType)) + " here: " + statusName(status);
    return {};
  }
  if (isReferenceCode(description)) {
    error = "oneDNN has only reference code for these strides";
    return {};
  }
  return description;
}

std::string typesNotSupported(const MatmulDescription &d) {
  for (ElementType type : {d.lhsType, d.rhsType, d.resultType})
    if (!dataType(type))
      return "oneDNN has no matrix multiplication of " +
             std::string(name(type)) + " on processors";
  if (d.lhsType != d.rhsType)
    return "oneDNN has no matrix multiplication of " +
           std::string(name(d.lhsType)) + " and " +
           std::string(name(d.rhsType));
  if (d.epilogue != Epilogue::none && d.resultType != ElementType::f32)
    return "an epilogue on " + std::string(name(d.resultType)) +
           " would not be rounded as the separate operations";
  return "";
}

/// Where the operands of one piece start, in elements.
struct Offsets {
  int64_t lhs = 0, rhs = 0, bias = 0, result = 0;
};

/// Whether instructions that add two products at a time have one left over.
bool hasOddPairs(const MatmulDescription &d) {
  return d.lhsType == ElementType::bf16 && d.k % 2 != 0;
}

/// Builds the pieces of one call.
class MatmulBuilder {
public:
  MatmulBuilder(PrimitiveCall &call, const Engine &engine, bool swapped,
                std::string &error)
      : call(call), engine(engine), swapped(swapped), error(error) {}

  /// Appends what computes `piece`; all pieces but the last have one shape.
  bool append(Task &task, const MatmulDescription &piece, Offsets offsets);

private:
  bool build(const MatmulDescription &piece);
  /// Whether the code built takes terms in pairs and fills up an odd number of
  /// them with the last lhs factor times 0.
  bool spoilsInfinities(const MatmulDescription &piece) const {
    return hasOddPairs(piece) &&
           implementationOf(description).starts_with("gemm");
  }
  bool appendStep(Task &task, const MatmulDescription &piece, Offsets offsets,
                  std::optional<Operand> packedLhs);
  bool appendPacked(Task &task, const MatmulDescription &piece,
                    Offsets offsets);

  PrimitiveCall &call;
  const Engine &engine;
  bool swapped;
  std::string &error;
  // Of the shape built last.
  std::optional<MatmulDescription> builtFor;
  Memories memories;
  PrimitiveDescription description;
  std::shared_ptr<Primitive> primitive;
};

bool MatmulBuilder::build(const MatmulDescription &piece) {
  if (builtFor == piece)
    return true;
  memories = memoriesOf(piece);
  description = describe(piece, memories, engine, error);
  if (!description)
    return false;
  primitive = createPrimitive(description);
  if (!primitive)
    return refuse(error, "oneDNN failed to create a matrix multiplication");
  builtFor = piece;
  return true;
}

bool MatmulBuilder::appendStep(Task &task, const MatmulDescription &piece,
                               Offsets offsets,
                               std::optional<Operand> packedLhs) {
  if (!build(piece))
    return false;
  if (spoilsInfinities(piece))
    return refuse(
        error,
        "oneDNN's code here multiplies the last of an odd number of bf16 "
        "terms by 0 as well, which turns an infinity into a not-a-number");
  if (call.code.empty())
    call.code = implementationOf(description);
  bool bias = piece.epilogue != Epilogue::none;
  Operand lhs{DNNL_ARG_SRC, memories.lhs, swapped ? 1 : 0,
              offsets.lhs * byteWidth(piece.lhsType)};
  std::vector<Operand> operands{packedLhs.value_or(lhs),
                                {DNNL_ARG_WEIGHTS, memories.rhs,
                                 swapped ? 0 : 1,
                                 offsets.rhs * byteWidth(piece.rhsType)},
                                {DNNL_ARG_DST, memories.result, bias ? 3 : 2,
                                 offsets.result * byteWidth(piece.resultType)}};
  if (bias)
    operands.push_back({DNNL_ARG_BIAS, memories.bias, 2,
                        offsets.bias * byteWidth(piece.resultType)});
  task.push_back(call.makeStep(description, primitive, std::move(operands)));
  return true;
}

/// Rows of a column-major lhs that are cut out of it are not dense, and for
/// bf16 the library would then keep the whole result in f32, or spoil it.
/// Instead some rows at a time are copied into a small buffer.
bool MatmulBuilder::appendPacked(Task &task, const MatmulDescription &piece,
                                 Offsets offsets) {
  constexpr int64_t bufferBytes = 1 << 19;
  int64_t rowBytes = piece.k * byteWidth(piece.lhsType);
  int64_t rows = std::clamp<int64_t>(
      bufferBytes / rowBytes / rowGranularity * rowGranularity, 64,
      std::max<int64_t>(64, roundUp(piece.m, rowGranularity)));
  int64_t buffer = call.reserve(rows * rowBytes);
  for (int64_t begin = 0; begin < piece.m; begin += rows) {
    MatmulDescription part = piece;
    part.m = std::min(rows, piece.m - begin);
    Memories strided = memoriesOf(part);
    part.lhsStrideM = part.k;
    part.lhsStrideK = 1;
    Memories dense = memoriesOf(part);
    PrimitiveDescription copy;
    Attributes attributes = userScratchpad();
    if (oneDNN.dnnl_reorder_primitive_desc_create(
            copy.out(), &strided.lhs, engine.engine, &dense.lhs, engine.engine,
            attributes.get()) != dnnl_success)
      return refuse(
          error,
          "oneDNN cannot transpose the operand of a matrix multiplication");
    auto copyPrimitive = createPrimitive(copy);
    if (!copyPrimitive)
      return refuse(error, "oneDNN failed to create a transposition");
    int64_t lhsOffset = offsets.lhs + begin * piece.lhsStrideM;
    task.push_back(call.makeStep(
        copy, copyPrimitive,
        {{DNNL_ARG_FROM, strided.lhs, swapped ? 1 : 0,
          lhsOffset * byteWidth(piece.lhsType)},
         {DNNL_ARG_TO, dense.lhs, call.workspaceArgument(), buffer}}));
    Offsets partOffsets = offsets;
    partOffsets.result += begin * piece.resultStrideM;
    if (!appendStep(
            task, part, partOffsets,
            Operand{DNNL_ARG_SRC, dense.lhs, call.workspaceArgument(), buffer}))
      return false;
  }
  return true;
}

bool MatmulBuilder::append(Task &task, const MatmulDescription &piece,
                           Offsets offsets) {
  if (!build(piece))
    return false;
  bool packs =
      piece.lhsType == ElementType::bf16 && piece.batch.empty() &&
      piece.lhsStrideK != 1 && piece.k > 1 && piece.m > 1 &&
      implementationOf(description).starts_with("gemm") &&
      (scratchpadBytes(description) > (1 << 20) || spoilsInfinities(piece));
  return packs ? appendPacked(task, piece, offsets)
               : appendStep(task, piece, offsets, std::nullopt);
}

/// The call in pieces; null and the reason if the library has none of them.
std::unique_ptr<PrimitiveCall> cutCall(const MatmulDescription &description,
                                       const Canonical &canonical,
                                       const Cut &cut, const Engine &engine,
                                       std::string &error) {
  auto call =
      std::make_unique<PrimitiveCall>(engine, argumentBytes(description));
  const MatmulDescription &whole = canonical.d;
  MatmulBuilder builder(*call, engine, canonical.swapped, error);
  Phase &phase = call->work.emplace_back();
  for (int64_t begin = 0; begin < cut.extent; begin += cut.run) {
    int64_t length = std::min(cut.run, cut.extent - begin);
    Offsets offsets;
    MatmulDescription piece = whole;
    switch (cut.dimension) {
    case Cut::batch: {
      BatchDimension &dimension = piece.batch[cut.batchIndex];
      dimension.size = length;
      offsets.lhs = begin * dimension.lhsStride;
      offsets.rhs = begin * dimension.rhsStride;
      offsets.result = begin * dimension.resultStride;
      break;
    }
    case Cut::rows:
      piece.m = length;
      offsets.lhs = begin * piece.lhsStrideM;
      offsets.result = begin * piece.resultStrideM;
      break;
    case Cut::columns:
      piece.n = length;
      offsets.rhs = begin * piece.rhsStrideN;
      offsets.bias = begin;
      offsets.result = begin * piece.resultStrideN;
      break;
    }
    if (!builder.append(phase.emplace_back(), piece, offsets))
      return nullptr;
  }
  return call;
}

} // namespace

std::unique_ptr<PrimitiveCall>
tenon::libraries::createCall(const MatmulDescription &description,
                             const Engine &engine, Isa isa,
                             std::string &error) {
  error = typesNotSupported(description);
  if (!error.empty())
    return nullptr;
  Canonical canonical = canonicalize(description);
  const MatmulDescription &whole = canonical.d;
  for (const BatchDimension &dimension : whole.batch)
    if (!dimension.lhsStride && !dimension.rhsStride)
      return refuse(error, "no operand varies along a batch dimension");

  std::vector<Cut> cuts{chooseCut(whole)};
  // Pieces that are dense need not be refused.
  if (hasOddPairs(whole)) {
    cuts.push_back(makeCut(Cut::rows, whole.m, rowGranularity, whole.pieces));
    cuts.push_back(makeCut(Cut::rows, whole.m, whole.m, 1));
  }
  for (const Cut &cut : cuts)
    if (auto call = cutCall(description, canonical, cut, engine, error)) {
      error.clear();
      return call;
    }
  return nullptr;
}

int64_t
tenon::libraries::preferredPieces(const MatmulDescription &description) {
  double flops = 2.0 * double(description.m) * double(description.n) *
                 double(description.k);
  for (const BatchDimension &dimension : description.batch)
    flops *= double(dimension.size);
  // A piece below a few microseconds is not worth waiting for; and beyond two,
  // each piece costs a little that only large products do not notice.
  constexpr double flopsPerPiece = 2.5e5, large = 2e9;
  return std::clamp<int64_t>(int64_t(flops / flopsPerPiece), 1,
                             flops >= large ? 4 : 2);
}
