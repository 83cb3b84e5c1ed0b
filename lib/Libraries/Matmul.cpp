//===- Matmul.cpp - Matrix multiplications through oneDNN ----------------===//
//
// Turns a MatmulDescription into single-threaded oneDNN primitives. First it is
// rewritten into an equal one that the library likes better (dense batch
// dimensions merged or folded into the rows, a column-major result computed as
// its transpose), then one dimension is cut into equal pieces. oneDNN's fast
// code wants at least one unit stride per operand and a row-major result; what
// it would run with its reference code counts as not supported.
//
// Where operands are narrower than the type that is multiplied in, a piece is
// computed in blocks: those of the operands are widened into buffers that stay
// in a core's cache, multiplied there, and the block of the result is rounded.
//
// Large products that are multiplied in f32 run by our own code instead
// (VectorProduct.h), which widens while it copies.
//
//===----------------------------------------------------------------------===//

#include "ConvertedCopy.h"
#include "PrimitiveCall.h"
#include "VectorProduct.h"

#include "tenon/Libraries/CallOverhead.h"
#include "tenon/Libraries/WidenedProducts.h"
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

/// Whether a tensor is stored in a narrower type than is multiplied in.
bool isWidened(const MatmulDescription &d) {
  return d.computeType == ElementType::f32 &&
         (d.lhsType != ElementType::f32 || d.rhsType != ElementType::f32 ||
          d.resultType != ElementType::f32);
}

/// Whether a product runs by our own code (VectorProduct.h): multiplied in f32,
/// not small, no batch, and its tensors lie as that code wants them. The
/// library's code reads rows of terms where they lie; ours copies them, which
/// takes a tenth of the time where they are many and meet few columns. What is
/// widened the library's code cannot read where it lies.
bool runsInVectors(const MatmulDescription &d, Isa isa) {
  constexpr double smallestWork = 4e6; // multiplications
  constexpr int64_t fewestOfEach = 64; // rows, columns and terms
  constexpr int64_t manyColumns = 512;
  bool isLarge = std::min({d.m, d.n, d.k}) >= fewestOfEach &&
                 double(d.m) * double(d.n) * double(d.k) >= smallestWork;
  bool rowsAreWorthCopying =
      d.lhsStrideM == 1 ||
      (d.lhsStrideK == 1 && (d.n >= manyColumns || isWidened(d)));
  return isa >= Isa::avx512 && d.computeType == ElementType::f32 &&
         d.batch.empty() && isLarge && rowsAreWorthCopying &&
         d.resultStrideN == 1 && (d.rhsStrideK == 1 || d.rhsStrideN == 1);
}

/// Cuts the batch if it is large enough, else rows or columns.
Cut chooseCut(const MatmulDescription &d, bool inVectors) {
  if (d.pieces == 1)
    return makeCut(Cut::rows, d.m, d.m, 1);
  // The shorter of both is copied by every piece.
  if (inVectors)
    return d.n >= d.m
               ? makeCut(Cut::columns, d.n, VectorProduct::columns, d.pieces)
               : makeCut(Cut::rows, d.m, 1, d.pieces);
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
  // What every piece reads as a whole, every piece widens.
  if (isWidened(d) ? d.n > d.m : prefersColumns(d))
    return columnShare <= rowShare * 1.1 ? columns : rows;
  return rowShare <= columnShare * 1.1 ? rows : columns;
}

int64_t span(std::initializer_list<std::pair<int64_t, int64_t>> dimensions) {
  int64_t last = 0;
  for (auto [extent, stride] : dimensions)
    last += (extent - 1) * stride;
  return last;
}

/// It is added before the sum is rounded.
constexpr ElementType biasType = ElementType::f32;

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
    bytes.push_back(d.n * byteWidth(biasType));
  bytes.push_back((result + 1) * byteWidth(d.resultType));
  return bytes;
}

/// How the right operand lies in memory.
enum class Order { strided, packed };

struct Memories {
  dnnl_memory_desc_t lhs, rhs, bias, result;
};

dnnl_memory_desc_t packedMemory(int64_t rows, int64_t columns,
                                ElementType type) {
  dnnl_memory_desc_t memory;
  const dnnl_dims_t extents = {rows, columns};
  oneDNN.dnnl_memory_desc_init_by_tag(&memory, 2, extents, *dataType(type),
                                      dnnl_BA16a64b2a);
  return memory;
}

Memories memoriesOf(const MatmulDescription &d, Order order = Order::strided) {
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
  return {stridedMemory(lhs, lhsStrides, *dataType(d.lhsType), true),
          order == Order::packed
              ? packedMemory(d.k, d.n, d.rhsType)
              : stridedMemory(rhs, rhsStrides, *dataType(d.rhsType), true),
          stridedMemory(bias, biasStrides, *dataType(biasType), true),
          stridedMemory(result, resultStrides, *dataType(d.resultType), true)};
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
  if (status == dnnl_success &&
      !holdsSumsIn(d.accumulateType, operation.accum_data_type, error))
    return {};
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

std::string operandsNotSupported(const MatmulDescription &d, Isa isa) {
  for (ElementType type : {d.lhsType, d.rhsType})
    if (std::string whyNot =
            typesNotSupported(type, d.computeType, d.resultType, isa);
        !whyNot.empty())
      return whyNot;
  return "";
}

/// Where the operands of one piece start, in elements.
struct Offsets {
  int64_t lhs = 0, rhs = 0, bias = 0, result = 0;
};

/// Whether instructions that add two products at a time have one left over.
bool hasOddPairs(const MatmulDescription &d) {
  return d.computeType == ElementType::bf16 && d.k % 2 != 0;
}

/// Where the tensors of one primitive are.
struct Places {
  struct Place {
    int64_t argument = 0;
    int64_t offset = 0; // bytes
  };
  Place lhs, rhs, bias, result;
};

/// One of the three tensors of a product, in the fields of its description.
struct Side {
  ElementType MatmulDescription::*type;
  int64_t BatchDimension::*batchStride;
  int64_t MatmulDescription::*rows, MatmulDescription::*columns;
  int64_t MatmulDescription::*rowStride, MatmulDescription::*columnStride;

  /// Whether it is stored in another type than it is multiplied in.
  bool isConverted(const MatmulDescription &d) const {
    return d.*type != d.computeType;
  }
  /// Of one product, and of all of them; an operand need not vary.
  int64_t elements(const MatmulDescription &d) const {
    int64_t count = d.*rows * d.*columns;
    for (const BatchDimension &dimension : d.batch)
      if (dimension.*batchStride)
        count *= dimension.size;
    return count;
  }
};

constexpr Side lhsSide = {
    &MatmulDescription::lhsType,    &BatchDimension::lhsStride,
    &MatmulDescription::m,          &MatmulDescription::k,
    &MatmulDescription::lhsStrideM, &MatmulDescription::lhsStrideK};
constexpr Side rhsSide = {
    &MatmulDescription::rhsType,    &BatchDimension::rhsStride,
    &MatmulDescription::k,          &MatmulDescription::n,
    &MatmulDescription::rhsStrideK, &MatmulDescription::rhsStrideN};
constexpr Side resultSide = {&MatmulDescription::resultType,
                             &BatchDimension::resultStride,
                             &MatmulDescription::m,
                             &MatmulDescription::n,
                             &MatmulDescription::resultStrideM,
                             &MatmulDescription::resultStrideN};

/// Gives `side` the type that is multiplied in and makes it dense, by columns
/// if it lies so.
void makeDense(MatmulDescription &d, const Side &side, bool byColumns) {
  d.*side.type = d.computeType;
  d.*side.rowStride = byColumns ? 1 : d.*side.columns;
  d.*side.columnStride = byColumns ? d.*side.rows : 1;
  int64_t stride = d.*side.rows * d.*side.columns;
  for (size_t i = d.batch.size(); i-- > 0;)
    if (int64_t &batchStride = d.batch[i].*side.batchStride) {
      batchStride = stride;
      stride *= d.batch[i].size;
    }
}

/// Copies `side` between two descriptions of one product.
ConvertedCopy copyOfSide(const MatmulDescription &from,
                         const MatmulDescription &to, const Side &side) {
  std::vector<int64_t> extents{from.*side.rows, from.*side.columns};
  std::vector<int64_t> fromStrides{from.*side.rowStride,
                                   from.*side.columnStride};
  std::vector<int64_t> toStrides{to.*side.rowStride, to.*side.columnStride};
  for (size_t i = 0; i < from.batch.size(); ++i)
    if (from.batch[i].*side.batchStride) {
      extents.push_back(from.batch[i].size);
      fromStrides.push_back(from.batch[i].*side.batchStride);
      toStrides.push_back(to.batch[i].*side.batchStride);
    }
  return ConvertedCopy(extents, from.*side.type, fromStrides, to.*side.type,
                       toStrides);
}

/// `d` with the extents of the largest block whose converted copies stay in a
/// core's cache.
MatmulDescription largestBlock(const MatmulDescription &d) {
  constexpr int64_t cachedElements = 1 << 18, smallestSide = 64;
  MatmulDescription block = d;
  for (BatchDimension &dimension : block.batch)
    dimension.size = 1;
  auto copied = [&] {
    int64_t elements = 0;
    for (const Side *side : {&lhsSide, &rhsSide, &resultSide})
      if (side->isConverted(d))
        elements += side->elements(block);
    return elements;
  };
  while (copied() > cachedElements &&
         std::max(block.m, block.n) > smallestSide) {
    int64_t &longer = block.m > block.n ? block.m : block.n;
    longer = roundUp((longer + 1) / 2, rowGranularity);
  }
  for (size_t i = d.batch.size(); i-- > 0;) {
    block.batch[i].size =
        std::clamp<int64_t>(cachedElements / copied(), 1, d.batch[i].size);
    if (block.batch[i].size < d.batch[i].size)
      break;
  }
  return block;
}

/// Builds the pieces of one call.
class MatmulBuilder {
public:
  MatmulBuilder(PrimitiveCall &call, const Engine &engine, Isa isa,
                bool swapped, bool inVectors, Order order, std::string &error)
      : call(call), engine(engine), isa(isa), swapped(swapped),
        inVectors(inVectors), order(order), error(error) {}

  /// Appends what computes `piece`.
  bool append(Task &task, const MatmulDescription &piece, Offsets offsets);

private:
  /// A primitive for one shape.
  struct Built {
    MatmulDescription shape;
    Memories memories;
    PrimitiveDescription description;
    std::shared_ptr<Primitive> primitive;

    std::string code() const { return implementationOf(description); }
    /// Whether it takes terms in pairs and fills up an odd number of them with
    /// the last lhs factor times 0.
    bool spoilsInfinities() const {
      return hasOddPairs(shape) && code().starts_with("gemm");
    }
  };
  /// Buffers of a task that computes in blocks, and what is in them.
  struct Buffers {
    Shared lhs, rhs, result, scratch;
    std::optional<MatmulDescription> last;
    Offsets lastOffsets;
  };

  const Built *build(const MatmulDescription &shape);
  bool shouldPack(const Built &built) const;
  Places placesOf(const MatmulDescription &piece, const Offsets &offsets) const;
  bool appendStep(Task &task, const MatmulDescription &shape,
                  const Places &places, Shared *scratch = nullptr);
  void appendVectors(Task &task, const MatmulDescription &piece,
                     const Offsets &offsets);
  bool appendPacked(Task &task, const MatmulDescription &piece,
                    Offsets offsets);
  bool appendWidened(Task &task, const MatmulDescription &piece,
                     Offsets offsets);
  bool appendBlock(Task &task, MatmulDescription stored, const Offsets &offsets,
                   Buffers &buffers);

  PrimitiveCall &call;
  const Engine &engine;
  Isa isa;
  bool swapped, inVectors;
  Order order;
  std::string &error;
  std::vector<std::unique_ptr<Built>> built; // a few shapes
};

const MatmulBuilder::Built *
MatmulBuilder::build(const MatmulDescription &shape) {
  for (const auto &one : built)
    if (one->shape == shape)
      return one.get();
  auto one = std::make_unique<Built>();
  one->shape = shape;
  one->memories = memoriesOf(shape, order);
  one->description = describe(shape, one->memories, engine, error);
  if (!one->description)
    return nullptr;
  one->primitive = createPrimitive(one->description);
  if (!one->primitive) {
    error = "oneDNN failed to create a matrix multiplication";
    return nullptr;
  }
  built.push_back(std::move(one));
  return built.back().get();
}

Places MatmulBuilder::placesOf(const MatmulDescription &piece,
                               const Offsets &offsets) const {
  bool bias = piece.epilogue != Epilogue::none;
  return {{swapped ? 1 : 0, offsets.lhs * byteWidth(piece.lhsType)},
          {swapped ? 0 : 1, offsets.rhs * byteWidth(piece.rhsType)},
          {2, offsets.bias * byteWidth(biasType)},
          {bias ? 3 : 2, offsets.result * byteWidth(piece.resultType)}};
}

bool MatmulBuilder::appendStep(Task &task, const MatmulDescription &shape,
                               const Places &places, Shared *scratch) {
  const Built *one = build(shape);
  if (!one)
    return false;
  if (one->spoilsInfinities())
    return refuse(
        error,
        "oneDNN's code here multiplies the last of an odd number of bf16 "
        "terms by 0 as well, which turns an infinity into a not-a-number");
  if (call.code.empty())
    call.code = one->code();
  auto operand = [](int name, const dnnl_memory_desc_t &memory,
                    const Places::Place &place) {
    return Operand{name, memory, place.argument, place.offset};
  };
  std::vector<Operand> operands{
      operand(DNNL_ARG_SRC, one->memories.lhs, places.lhs),
      operand(DNNL_ARG_WEIGHTS, one->memories.rhs, places.rhs),
      operand(DNNL_ARG_DST, one->memories.result, places.result)};
  if (shape.epilogue != Epilogue::none)
    operands.push_back(operand(DNNL_ARG_BIAS, one->memories.bias, places.bias));
  task.push_back(call.makeStep(one->description, one->primitive,
                               std::move(operands), scratch));
  return true;
}

VectorProduct vectorProductOf(const MatmulDescription &piece) {
  VectorProduct product;
  product.lhsType = piece.lhsType;
  product.rhsType = piece.rhsType;
  product.resultType = piece.resultType;
  product.m = piece.m;
  product.n = piece.n;
  product.k = piece.k;
  product.lhsStrideM = piece.lhsStrideM;
  product.lhsStrideK = piece.lhsStrideK;
  product.rhsStrideK = piece.rhsStrideK;
  product.rhsStrideN = piece.rhsStrideN;
  product.resultStrideM = piece.resultStrideM;
  return product;
}

void MatmulBuilder::appendVectors(Task &task, const MatmulDescription &piece,
                                  const Offsets &offsets) {
  const VectorProduct product = vectorProductOf(piece);
  const Places places = placesOf(piece, offsets);
  Step step;
  auto addOperand = [&](const Places::Place &place) {
    step.operands.push_back({0, {}, place.argument, place.offset});
  };
  addOperand(places.lhs);
  addOperand(places.rhs);
  addOperand(places.result);
  addOperand(
      {call.workspaceArgument(), call.reserve(product.workspaceBytes())});
  const bool hasBias = piece.epilogue == Epilogue::bias;
  if (hasBias)
    addOperand(places.bias);
  step.function = [product, hasBias](std::span<void *const> pointers) {
    product.run(pointers[0], pointers[1],
                hasBias ? static_cast<const float *>(pointers[4]) : nullptr,
                pointers[2], pointers[3]);
  };
  task.push_back(std::move(step));
  call.code = "vectors:avx512";
}

/// Bytes of a row of a packed lhs.
int64_t packedRowBytes(const MatmulDescription &piece) {
  return piece.k * byteWidth(piece.lhsType);
}

/// Rows that are packed at a time, so many that half a megabyte is full.
int64_t packedRows(const MatmulDescription &piece) {
  constexpr int64_t bufferBytes = 1 << 19;
  return std::clamp<int64_t>(
      bufferBytes / packedRowBytes(piece) / rowGranularity * rowGranularity, 64,
      std::max<int64_t>(64, roundUp(piece.m, rowGranularity)));
}

/// Rows of a column-major lhs that are cut out of it are not dense, and for
/// bf16 the library would then keep the whole result in f32, or spoil it.
/// Instead some rows at a time are copied into a small buffer.
bool MatmulBuilder::appendPacked(Task &task, const MatmulDescription &piece,
                                 Offsets offsets) {
  const int64_t rows = packedRows(piece);
  int64_t buffer = call.reserve(rows * packedRowBytes(piece));
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
    Offsets partOffsets = offsets;
    partOffsets.lhs += begin * piece.lhsStrideM;
    partOffsets.result += begin * piece.resultStrideM;
    Places places = placesOf(piece, partOffsets);
    task.push_back(call.makeStep(
        copy, copyPrimitive,
        {{DNNL_ARG_FROM, strided.lhs, places.lhs.argument, places.lhs.offset},
         {DNNL_ARG_TO, dense.lhs, call.workspaceArgument(), buffer}}));
    places.lhs = {call.workspaceArgument(), buffer};
    if (!appendStep(task, part, places))
      return false;
  }
  return true;
}

/// Appends a block of a piece whose tensors are `stored` in other types than
/// they are multiplied in.
bool MatmulBuilder::appendBlock(Task &task, MatmulDescription stored,
                                const Offsets &offsets, Buffers &buffers) {
  std::erase_if(stored.batch,
                [](const BatchDimension &b) { return b.size == 1; });
  MatmulDescription computed = stored;
  Places places = placesOf(stored, offsets);
  auto reserve = [&](const Side &side, Shared &buffer) -> Places::Place {
    int64_t bytes = side.elements(computed) * byteWidth(computed.computeType);
    return {call.workspaceArgument(), call.reserve(bytes, &buffer)};
  };
  auto copy = [&](const Side &side, const MatmulDescription &from,
                  const Places::Place &source, const MatmulDescription &to,
                  const Places::Place &target) {
    Step step;
    step.operands = {{0, {}, source.argument, source.offset},
                     {0, {}, target.argument, target.offset}};
    step.function = [converted = copyOfSide(from, to, side)](
                        std::span<void *const> pointers) {
      converted.run(pointers[0], pointers[1]);
    };
    task.push_back(std::move(step));
  };
  auto widen = [&](const Side &side, Places::Place &place, Shared &buffer,
                   int64_t offset, int64_t lastOffset) {
    if (!side.isConverted(stored))
      return;
    makeDense(computed, side,
              stored.*side.rowStride < stored.*side.columnStride);
    Places::Place source = place;
    place = reserve(side, buffer);
    const auto &last = buffers.last;
    bool isThere = last && last->batch == stored.batch &&
                   (*last).*side.rows == stored.*side.rows &&
                   (*last).*side.columns == stored.*side.columns &&
                   lastOffset == offset;
    if (!isThere)
      copy(side, stored, source, computed, place);
  };
  widen(lhsSide, places.lhs, buffers.lhs, offsets.lhs, buffers.lastOffsets.lhs);
  widen(rhsSide, places.rhs, buffers.rhs, offsets.rhs, buffers.lastOffsets.rhs);
  Places::Place result = places.result;
  bool isRounded = resultSide.isConverted(stored);
  if (isRounded) {
    makeDense(computed, resultSide, /*byColumns=*/false);
    places.result = reserve(resultSide, buffers.result);
  }
  if (!appendStep(task, computed, places, &buffers.scratch))
    return false;
  if (isRounded)
    copy(resultSide, computed, places.result, stored, result);
  buffers.last = stored;
  buffers.lastOffsets = offsets;
  return true;
}

/// Block by block. Of the operands the longer one is widened once, the other
/// one again for each of its blocks if it has several itself.
bool MatmulBuilder::appendWidened(Task &task, const MatmulDescription &piece,
                                  Offsets offsets) {
  const MatmulDescription largest = largestBlock(piece);
  Buffers buffers;
  auto appendRowsAndColumns = [&](MatmulDescription block, Offsets first) {
    bool rowsOutside = piece.m >= piece.n;
    int64_t outer = rowsOutside ? piece.m : piece.n;
    int64_t inner = rowsOutside ? piece.n : piece.m;
    int64_t outerRun = rowsOutside ? largest.m : largest.n;
    int64_t innerRun = rowsOutside ? largest.n : largest.m;
    for (int64_t i = 0; i < outer; i += outerRun)
      for (int64_t j = 0; j < inner; j += innerRun) {
        int64_t row = rowsOutside ? i : j, column = rowsOutside ? j : i;
        block.m = std::min(largest.m, piece.m - row);
        block.n = std::min(largest.n, piece.n - column);
        Offsets at = first;
        at.lhs += row * piece.lhsStrideM;
        at.rhs += column * piece.rhsStrideN;
        at.bias += column;
        at.result += row * piece.resultStrideM + column * piece.resultStrideN;
        if (!appendBlock(task, block, at, buffers))
          return false;
      }
    return true;
  };
  auto appendBatch = [&](auto &self, size_t level, MatmulDescription block,
                         Offsets first) -> bool {
    if (level == piece.batch.size())
      return appendRowsAndColumns(block, first);
    const BatchDimension &dimension = piece.batch[level];
    int64_t run = largest.batch[level].size;
    for (int64_t begin = 0; begin < dimension.size; begin += run) {
      block.batch[level].size = std::min(run, dimension.size - begin);
      Offsets at = first;
      at.lhs += begin * dimension.lhsStride;
      at.rhs += begin * dimension.rhsStride;
      at.result += begin * dimension.resultStride;
      if (!self(self, level + 1, block, at))
        return false;
    }
    return true;
  };
  return appendBatch(appendBatch, 0, piece, offsets);
}

/// Whether rows of a column-major lhs are copied before they are multiplied.
bool MatmulBuilder::shouldPack(const Built &one) const {
  const MatmulDescription &piece = one.shape;
  if (piece.computeType != ElementType::bf16 || !piece.batch.empty() ||
      piece.lhsStrideK == 1 || piece.k == 1 || piece.m == 1 ||
      !one.code().starts_with("gemm"))
    return false;
  // Only the code for dense rows uses tiles well: it is twice as fast. Without
  // tiles both take the same time, and what needs less memory is taken.
  return isa == Isa::amxBf16 || one.spoilsInfinities() ||
         scratchpadBytes(one.description) >
             packedRows(piece) * packedRowBytes(piece);
}

bool MatmulBuilder::append(Task &task, const MatmulDescription &piece,
                           Offsets offsets) {
  if (inVectors) {
    appendVectors(task, piece, offsets);
    return true;
  }
  if (isWidened(piece))
    return appendWidened(task, piece, offsets);
  const Built *one = build(piece);
  if (!one)
    return false;
  return shouldPack(*one) ? appendPacked(task, piece, offsets)
                          : appendStep(task, piece, placesOf(piece, offsets));
}

/// The largest of the pieces.
MatmulDescription largestPiece(const MatmulDescription &whole, const Cut &cut) {
  MatmulDescription piece = whole;
  switch (cut.dimension) {
  case Cut::batch:
    piece.batch[cut.batchIndex].size = cut.run;
    break;
  case Cut::rows:
    piece.m = cut.run;
    break;
  case Cut::columns:
    piece.n = cut.run;
    break;
  }
  return piece;
}

/// The call in pieces; null and the reason if the library has none of them.
std::unique_ptr<PrimitiveCall> cutCall(const MatmulDescription &description,
                                       const Canonical &canonical,
                                       const Cut &cut, bool inVectors,
                                       Order order, const Engine &engine,
                                       Isa isa, std::string &error) {
  auto call =
      std::make_unique<PrimitiveCall>(engine, argumentBytes(description));
  const MatmulDescription &whole = canonical.d;
  MatmulBuilder builder(*call, engine, isa, canonical.swapped, inVectors, order,
                        error);
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
  error = operandsNotSupported(description, isa);
  if (!error.empty())
    return nullptr;
  Canonical canonical = canonicalize(description);
  const MatmulDescription &whole = canonical.d;
  for (const BatchDimension &dimension : whole.batch)
    if (!dimension.lhsStride && !dimension.rhsStride)
      return refuse(error, "no operand varies along a batch dimension");

  const bool inVectors = runsInVectors(whole, isa);
  std::vector<Cut> cuts{chooseCut(whole, inVectors)};
  // Pieces that are dense need not be refused.
  if (hasOddPairs(whole)) {
    cuts.push_back(makeCut(Cut::rows, whole.m, rowGranularity, whole.pieces));
    cuts.push_back(makeCut(Cut::rows, whole.m, whole.m, 1));
  }
  for (const Cut &cut : cuts)
    if (auto call = cutCall(description, canonical, cut, inVectors,
                            Order::strided, engine, isa, error)) {
      error.clear();
      return call;
    }
  return nullptr;
}

std::unique_ptr<PrimitiveCall>
tenon::libraries::createCall(const PackedMatmulDescription &description,
                             const Engine &engine, Isa isa,
                             std::string &error) {
  const PackedMatmulDescription &d = description;
  error = operandsNotSupported(d, isa);
  if (!error.empty())
    return nullptr;
  // Elsewhere packed rows have another order, and rows of the result that are
  // not dense are multiplied by code that packs them itself.
  if (isa != Isa::amxBf16 || d.rhsType != ElementType::bf16 || isWidened(d))
    return refuse(error, "only products of bf16 by AMX take a packed operand");
  if (d.resultStrideN != 1)
    return refuse(error, "a packed operand is the right one of rows");
  return cutCall(d, {d}, makeCut(Cut::rows, d.m, rowGranularity, d.pieces),
                 /*inVectors=*/false, Order::packed, engine, isa, error);
}

bool tenon::libraries::widensInCopies(const MatmulDescription &description,
                                      Isa isa) {
  const MatmulDescription d = canonicalize(description).d;
  return isWidened(d) && runsInVectors(d, isa);
}

int64_t
tenon::libraries::elementsConverted(const MatmulDescription &description,
                                    Isa isa) {
  const MatmulDescription d = canonicalize(description).d;
  if (!isWidened(d))
    return 0;
  int64_t elements = 0;
  if (!runsInVectors(d, isa)) {
    for (const Side *side : {&lhsSide, &rhsSide, &resultSide})
      if (side->isConverted(d))
        elements += side->elements(d);
    return elements;
  }
  MatmulDescription wide = d;
  wide.lhsType = wide.rhsType = wide.resultType = ElementType::f32;
  // The library's code would read rows where they lie.
  return runsInVectors(wide, isa) ? 0 : lhsSide.elements(d);
}

int64_t tenon::libraries::bytesMetByRows(const MatmulDescription &description,
                                         Isa isa) {
  const MatmulDescription d = canonicalize(description).d;
  const bool inVectors = runsInVectors(d, isa);
  const MatmulDescription piece = largestPiece(d, chooseCut(d, inVectors));
  VectorProduct wide = vectorProductOf(piece);
  wide.rhsType = ElementType::f32;
  const bool isCopied = !inVectors || !wide.readsRightInPlace();
  return rhsSide.elements(piece) * byteWidth(piece.computeType) *
         (isCopied ? 2 : 1);
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
