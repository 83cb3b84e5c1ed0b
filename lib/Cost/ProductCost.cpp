//===- ProductCost.cpp - Seconds of small products by library and kernel --===//
//
// See ProductCost.h. Predictions are sums of counts times rates. The counts are
// those of the generated kernel's tiles (ContractionTiling.h), and of what a
// library does per call, per matrix of the batch and per vector.
// test/Benchmark/products.py measures products and fits the rates to them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/ProductCost.h"

#include "tenon/Analysis/ContractionTiling.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;

namespace {

constexpr int64_t mostExtent = 64, mostBatch = 2048;

/// What a generated kernel does.
enum KernelWork {
  kernelStart,
  // With lanes along the columns or the rows, in vectors.
  tiles,
  multiplyAdds,
  loads,
  broadcasts,
  gathers,
  turnedPieces, // a few neighbouring terms of a lane
  turnedTerms,
  stores,
  interleaves, // of results whose lanes run along the rows, a column each
  steps,       // of the sum, per tile
  maskedSteps, // per row, where columns end inside a vector
  // With lanes along the sums.
  sumMultiplyAdds,
  sumLoads,
  sumMasks,
  collapses, // of a vector to one element
  sumTiles,
  /// Lines of an operand that crowd into few sets of the first cache.
  crowdedLines,
};

/// What a library's call does.
enum CallWork {
  callStart,
  // By layout: both operands plain, the right one transposed, the left one,
  // both.
  single,                           // a call without a batch
  outsideMatrix = single + 4,       // a matrix of a batch around matrices
  outsideRow = outsideMatrix + 4,   // one of a single row
  outsideColumn = outsideRow + 4,   // or column
  insideMatrix = outsideColumn + 4, // the same of a batch inside of them
  insideRow = insideMatrix + 4,
  insideColumn = insideRow + 4,
  callMultiplyAdds = insideColumn + 4, // in vectors
  callStores,
  callSteps,  // of the sum, per matrix
  turnedLeft, // blocks of 16 by 16 of a transposed operand
  turnedRight,
  insideLines, // rows of vectors that are read around the batch
};
static_assert(crowdedLines + 1 ==
              std::tuple_size_v<decltype(ProductCounts::kernel)>);
static_assert(insideLines + 1 ==
              std::tuple_size_v<decltype(ProductCounts::call)>);

/// Nanoseconds of each of the above, as `products.py rates` fits them to what
/// it measured on a kind of core.
struct ProductRates {
  std::array<double, std::tuple_size_v<decltype(ProductCounts::kernel)>> kernel;
  std::array<double, std::tuple_size_v<decltype(ProductCounts::call)>> call;
};

// A Zen 5 core held to AVX2, oneDNN held to it, too; 1,367 products. What is
// turned was still gathered then: its rates here and below are those of Emerald
// Rapids, or twice that with vectors of half the size.
constexpr ProductRates ofAvx2 = {
    {17.8, 0, 0.239, 0.231, 0, 2.96, 0.25, 0.2, 0.0159, 0.27, 0, 0, 0.296, 0,
     0.0767, 0.384, 0.274, 1.66},
    {262,  195,  143,  126,  106,  195,   191,   140,  133, 88.8, 68.7,  0,
     0,    0,    60.3, 0,    56.6, 199,   189,   150,  140, 96,   67.3,  88.6,
     74.5, 85.9, 58.3, 76.8, 52.3, 0.264, 0.233, 0.28, 0,   18.4, 0.0781}};

// The same core with AVX-512; 6,098 products.
constexpr ProductRates ofZen5 = {
    {16.5, 0, 0.0374, 0.285, 0.0842, 3.74, 0.244, 0, 0.0941, 0.134, 0.0752,
     0.0115, 0.129, 0.0122, 0.0857, 0.662, 0.755, 1.97},
    {239,  9.77, 43,   41.9, 84.4, 20.8, 26.4,  26.8,  34.2, 24.1, 27.3, 0,
     0,    0,    13.6, 0,    18.3, 218,  147,   226,   240,  119,  81.2, 98.7,
     79.6, 88.4, 61.4, 73.7, 62.4, 0.14, 0.325, 0.457, 9.27, 9.35, 1.57}};

// An Emerald Rapids core, whose vectors are those of AVX-512; 24,584 products.
constexpr ProductRates ofEmeraldRapids = {
    {31.9, 0.0111, 0, 0.165, 0.172, 3.3, 0.254, 0, 0.523, 0.184, 0.0892,
     0.00221, 0.00942, 0.101, 0.282, 0.545, 2.93, 0.0823},
    {521,  0.00201, 123,    0.121, 867,   53.1,   25.8, 10.7,   0.507,
     30.2, 14.2,    0,      0,     0,     0.0274, 0,    0.0322, 669,
     652,  375,     853,    187,   152,   135,    107,  183,    139,
     110,  79.5,    0.0903, 1.31,  0.811, 43.8,   33.1, 0}};

/// The processors are told by what is recorded of them: Intel's cores have
/// tiles, or take longer for products of bf16 in vectors than for those of f32.
const ProductRates &ratesFor(const target::Target &machine, target::Isa isa) {
  if (isa < target::Isa::avx512)
    return ofAvx2;
  const bool isIntel =
      machine.isa >= target::Isa::amxBf16 ||
      machine.compute.bf16.oneCore < machine.compute.f32.oneCore;
  return isIntel ? ofEmeraldRapids : ofZen5;
}

/// A dot as one batch of products of matrices.
struct Product {
  /// How far an operand moves along each dimension, in elements.
  struct Operand {
    int64_t batch = 0, free = 0, sum = 0;
  };
  int64_t batch = 1, rows = 1, columns = 1, sums = 1;
  Operand left, right;

  static std::optional<Product> of(Operation *op);

  /// Whether the batch of an operand lies inside of its matrices.
  bool isInside(const Operand &operand, int64_t extent) const {
    return batch > 1 && (operand.batch < operand.sum ||
                         (extent > 1 && operand.batch < operand.free));
  }
  void countKernel(ProductCounts &counts, bool wideRegisters) const;
  void countCall(ProductCounts &counts) const;
};

int64_t vectorsOf(int64_t extent) {
  return (extent + contractionLanes - 1) / contractionLanes;
}

/// The dimensions of one kind as one: its extent and its smallest stride.
struct Merged {
  int64_t extent = 1, stride = 0;

  void add(int64_t size, int64_t step) {
    if (size == 1)
      return;
    stride = extent == 1 ? step : std::min(stride, step);
    extent *= size;
  }
};

std::optional<Product> Product::of(Operation *op) {
  auto dot = dyn_cast_or_null<stablehlo::DotGeneralOp>(op);
  if (!dot || dot.getAlgorithm())
    return std::nullopt;
  for (Value value :
       {Value(dot.getLhs()), Value(dot.getRhs()), Value(dot.getResult())})
    if (!elementOf(value).isF32())
      return std::nullopt;
  auto dims = dot.getDotDimensionNumbers();
  Product product;
  auto take = [](Value tensor, ArrayRef<int64_t> batching,
                 ArrayRef<int64_t> contracting, Operand &operand) {
    ArrayRef<int64_t> shape = shapeOf(tensor);
    Merged batch, free, sum;
    int64_t stride = 1;
    for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim]) {
      Merged &kind = llvm::is_contained(batching, dim)      ? batch
                     : llvm::is_contained(contracting, dim) ? sum
                                                            : free;
      kind.add(shape[dim], stride);
    }
    operand = {batch.stride, free.stride, sum.stride};
    return std::array{batch.extent, free.extent, sum.extent};
  };
  auto left = take(dot.getLhs(), dims.getLhsBatchingDimensions(),
                   dims.getLhsContractingDimensions(), product.left);
  auto right = take(dot.getRhs(), dims.getRhsBatchingDimensions(),
                    dims.getRhsContractingDimensions(), product.right);
  product.batch = left[0];
  product.rows = left[1];
  product.columns = right[1];
  product.sums = left[2];
  int64_t summed =
      llvm::count_if(dims.getLhsContractingDimensions(), [&](int64_t dim) {
        return shapeOf(dot.getLhs())[dim] != 1;
      });
  int64_t extent = std::max({product.rows, product.columns, product.sums});
  if (summed != 1 || extent > mostExtent || product.batch > mostBatch)
    return std::nullopt;
  return product;
}

void Product::countKernel(ProductCounts &counts, bool wideRegisters) const {
  auto &count = counts.kernel;
  count[kernelStart] = 1;
  /// A dimension of the result, and how operands move along it.
  struct Dimension {
    int64_t extent, left, right;
  };
  SmallVector<Dimension> dimensions;
  SmallVector<int64_t> shape;
  for (Dimension dimension : {Dimension{batch, left.batch, right.batch},
                              {rows, left.free, 0},
                              {columns, 0, right.free}})
    if (dimension.extent > 1) {
      dimensions.push_back(dimension);
      shape.push_back(dimension.extent);
    }
  Dimension column =
      dimensions.empty() ? Dimension{1, 0, 0} : dimensions.back();
  Dimension row = dimensions.size() < 2 ? Dimension{1, 0, 0}
                                        : dimensions[dimensions.size() - 2];
  ContractionAccess access;
  access.shape = shape;
  access.lastSum = sums;
  access.left = {column.left, row.left, left.sum};
  access.right = {column.right, row.right, right.sum};
  const ContractionTiling tiling(access, wideRegisters);
  const double outer = double(elementCount(tiling.outer)),
               tilesInAll = double(tiling.units());
  const double length = double(sums);
  if (tiling.lanes == ContractionLanes::sums) {
    const double vectors = double(vectorsOf(sums));
    const double elements = outer * double(column.extent * row.extent);
    count[sumMultiplyAdds] = elements * vectors;
    count[sumLoads] = outer * vectors *
                      double(tiling.columnBlocks() * row.extent +
                             tiling.rowBlocks() * column.extent);
    count[sumMasks] = sums % contractionLanes ? elements : 0;
    count[collapses] = elements;
    count[sumTiles] = tilesInAll;
  } else {
    const bool alongRows = tiling.lanes == ContractionLanes::rows;
    const Dimension &lane = alongRows ? row : column,
                    &other = alongRows ? column : row;
    const double others = double(other.extent),
                 vectors = double(vectorsOf(lane.extent));
    const double laneBlocks = double(alongRows ? tiling.rowBlocks()
                                               : tiling.columnBlocks()),
                 otherBlocks = double(alongRows ? tiling.columnBlocks()
                                                : tiling.rowBlocks());
    count[tiles] = tilesInAll;
    count[multiplyAdds] = outer * others * vectors * length;
    count[stores] = outer * others * vectors;
    if (alongRows)
      count[interleaves] = outer * others * others * vectors;
    count[steps] = tilesInAll * length;
    count[maskedSteps] =
        lane.extent % contractionLanes ? outer * others * length : 0;
    for (auto [operand, perOther] : {std::pair(&access.left, other.left),
                                     std::pair(&access.right, other.right)}) {
      // Once for all of the other dimension that a tile has, or each time.
      const double times = outer * (perOther ? others : otherBlocks);
      if (operand->isTurned(tiling.lanes)) {
        count[turnedPieces] += times * double(lane.extent) *
                               std::ceil(length / double(contractionTerms));
        count[turnedTerms] += times * vectors * length;
      } else if (operand->along(tiling.lanes) == 0) {
        count[broadcasts] += times * length * laneBlocks;
      } else {
        count[operand->isNear(tiling.lanes) ? loads : gathers] +=
            times * length * vectors;
      }
    }
  }
  // Lines that are a multiple of some 2 KiB apart share few sets of 8 and more
  // ways.
  constexpr int64_t setsBytes = 4096, ways = 8, elementBytes = 4;
  auto crowds = [](int64_t extent, int64_t stride) {
    return extent * std::gcd(stride * elementBytes, setsBytes) >
           ways * setsBytes;
  };
  auto linesOf = [&](const Operand &operand, int64_t extent) {
    bool isDense = operand.sum == 1;
    return double(batch * extent * (isDense ? vectorsOf(sums) : sums));
  };
  if (crowds(rows, left.free))
    count[crowdedLines] += linesOf(left, rows) * double(vectorsOf(columns));
  if (crowds(columns, right.free))
    count[crowdedLines] += linesOf(right, columns);
}

void Product::countCall(ProductCounts &counts) const {
  auto &count = counts.call;
  const double matrices = double(batch);
  const bool leftTurned = left.sum != 1, rightTurned = right.sum == 1;
  const int layout = 2 * leftTurned + rightTurned;
  const bool inside = isInside(left, rows) || isInside(right, columns);
  count[callStart] = 1;
  if (batch == 1)
    count[single + layout] = 1;
  else
    count[(rows == 1      ? inside ? insideRow : outsideRow
           : columns == 1 ? inside ? insideColumn : outsideColumn
           : inside       ? insideMatrix
                          : outsideMatrix) +
          layout] = matrices;
  const double vectors = double(vectorsOf(columns)), length = double(sums);
  count[callMultiplyAdds] = matrices * double(rows) * vectors * length;
  count[callStores] = matrices * double(rows) * vectors;
  count[callSteps] = matrices * length;
  const double sumVectors = double(vectorsOf(sums));
  if (leftTurned)
    count[turnedLeft] = matrices * sumVectors * double(vectorsOf(rows));
  if (rightTurned)
    count[turnedRight] = matrices * sumVectors * vectors;
  if (inside)
    count[insideLines] =
        matrices * ((leftTurned ? 0 : double(rows) * sumVectors) +
                    (rightTurned ? double(columns) * sumVectors : 0));
}

} // namespace

std::optional<ProductCounts> cost::countProduct(Operation *op,
                                                target::Isa isa) {
  auto product = Product::of(op);
  if (!product)
    return std::nullopt;
  ProductCounts counts;
  product->countKernel(counts, /*wideRegisters=*/isa >= target::Isa::avx512);
  product->countCall(counts);
  return counts;
}

std::optional<ProductSeconds>
cost::productSeconds(Operation *op, const target::Target &machine,
                     target::Isa isa) {
  auto counts = countProduct(op, isa);
  if (!counts)
    return std::nullopt;
  const ProductRates &known = ratesFor(machine, isa);
  auto seconds = [](const auto &counts, const auto &rates) {
    return 1e-9 *
           std::inner_product(counts.begin(), counts.end(), rates.begin(), 0.0);
  };
  return ProductSeconds{seconds(counts->call, known.call),
                        seconds(counts->kernel, known.kernel)};
}
