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

/// Cuts the batch if it is large enough, else the rows or columns, whichever
/// leaves the more balanced pieces; rows of a row-major lhs stay dense when
/// cut, so they win when both are as good.
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
  bool rowsStayDense = d.lhsStrideK == 1;
  if (rowShare <= columnShare * 1.05 && (rowsStayDense || d.m >= d.n))
    return rows;
  return columnShare <= rowShare * 1.05 ? columns : rows;
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
  return {stridedMemory(lhs, lhsStrides, *dataType(d.lhsType)),
          stridedMemory(rhs, rhsStrides, *dataType(d.rhsType)),
          stridedMemory(bias, biasStrides, resultType),
          stridedMemory(result, resultStrides, resultType)};
}

PrimitiveDescription describe(const MatmulDescription &d,
                              const Memories &memories, const Engine &engine,
                              std::string &error) {
  PrimitiveDescription description;
  dnnl_matmul_desc_t operation;
  bool bias = d.epilogue != Epilogue::none;
  dnnl_status_t status =
      dnnl_matmul_desc_init(&operation, &memories.lhs, &memories.rhs,
                            bias ? &memories.bias : nullptr, &memories.result);
  Attributes attributes = userScratchpad();
  if (status == dnnl_success)
    status =
        dnnl_primitive_desc_create(description.out(), &operation,
                                   attributes.get(), engine.engine, nullptr);
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
  if (d.epilogue == Epilogue::biasRelu)
    return "oneDNN's relu turns a not-a-number into 0, a maximum keeps it";
  if (d.epilogue != Epilogue::none && d.resultType != ElementType::f32)
    return "an epilogue on " + std::string(name(d.resultType)) +
           " would not be rounded as the separate operations";
  return "";
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
    if (!dimension.lhsStride && !dimension.rhsStride) {
      error = "no operand varies along a batch dimension";
      return nullptr;
    }

  bool bias = whole.epilogue != Epilogue::none;
  auto call =
      std::make_unique<PrimitiveCall>(engine, argumentBytes(description));
  Cut cut = chooseCut(whole);
  Phase &phase = call->work.emplace_back();
  PrimitiveDescription primitiveDescription;
  std::shared_ptr<Primitive> primitive;
  Memories memories;
  int64_t builtFor = 0;
  for (int64_t begin = 0; begin < cut.extent; begin += cut.run) {
    int64_t length = std::min(cut.run, cut.extent - begin);
    int64_t lhsOffset = 0, rhsOffset = 0, biasOffset = 0, resultOffset = 0;
    MatmulDescription piece = whole;
    switch (cut.dimension) {
    case Cut::batch: {
      BatchDimension &dimension = piece.batch[cut.batchIndex];
      dimension.size = length;
      lhsOffset = begin * dimension.lhsStride;
      rhsOffset = begin * dimension.rhsStride;
      resultOffset = begin * dimension.resultStride;
      break;
    }
    case Cut::rows:
      piece.m = length;
      lhsOffset = begin * piece.lhsStrideM;
      resultOffset = begin * piece.resultStrideM;
      break;
    case Cut::columns:
      piece.n = length;
      rhsOffset = begin * piece.rhsStrideN;
      biasOffset = begin;
      resultOffset = begin * piece.resultStrideN;
      break;
    }
    // Only the last piece can differ in length.
    if (length != builtFor) {
      memories = memoriesOf(piece);
      primitiveDescription = describe(piece, memories, engine, error);
      if (!primitiveDescription)
        return nullptr;
      primitive = createPrimitive(primitiveDescription);
      if (!primitive) {
        error = "oneDNN failed to create a matrix multiplication";
        return nullptr;
      }
      builtFor = length;
      if (call->code.empty())
        call->code = implementationOf(primitiveDescription);
    }
    std::vector<Operand> operands{
        {DNNL_ARG_SRC, memories.lhs, canonical.swapped ? 1 : 0,
         lhsOffset * byteWidth(piece.lhsType)},
        {DNNL_ARG_WEIGHTS, memories.rhs, canonical.swapped ? 0 : 1,
         rhsOffset * byteWidth(piece.rhsType)},
        {DNNL_ARG_DST, memories.result, bias ? 3 : 2,
         resultOffset * byteWidth(piece.resultType)}};
    if (bias)
      operands.push_back({DNNL_ARG_BIAS, memories.bias, 2,
                          biasOffset * byteWidth(piece.resultType)});
    phase.emplace_back().push_back(
        call->makeStep(primitiveDescription, primitive, std::move(operands)));
  }
  return call;
}

int64_t
tenon::libraries::preferredPieces(const MatmulDescription &description) {
  double flops = 2.0 * double(description.m) * double(description.n) *
                 double(description.k);
  for (const BatchDimension &dimension : description.batch)
    flops *= double(dimension.size);
  // A piece below this takes no longer than waking a second thread for it.
  constexpr double flopsPerPiece = 1e6;
  return std::clamp<int64_t>(int64_t(flops / flopsPerPiece), 1, 2);
}
