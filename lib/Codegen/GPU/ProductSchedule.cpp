//===- ProductSchedule.cpp - Dots and convolutions of floats in tiles -----===//
//
// A block of threads has a tile of a matrix of results. It walks the sum in
// steps of 16: tiles of both operands go to shared memory, then each thread
// takes them into the sums of a few elements, which stay in its registers, in
// the order of Loops/Contraction.h. Elements have 1 or 16 sums; with 16, a step
// is one product for each of them, and tiles are smaller. So are the tiles of
// small results, which would leave processors of the GPU without work.
//
// Each element of the matrix of a convolution's inputs (ProductMatrices.h) is
// read where the index map says, and is zero outside.
//
// A row of an operand's tile is one index of the sum. Where a warp reads along
// the sum it writes 2 neighbours in 16 rows, so rows lie 2 slots more than a
// tile apart: the slots are 2 k + i or 18 k + i modulo the 32 banks, all of
// them different. Otherwise it writes neighbours in one row, or 16 in each of
// two, and rows follow each other.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "ProductMatrices.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/Contraction.h"
#include "tenon/Codegen/Loops/ReduceTree.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// Threads are a square.
constexpr int64_t edge = 16;
/// Indices of the sum that are taken at once.
constexpr int64_t step = reductionChunk;

/// Tiles that keep a GPU busy.
constexpr int64_t manyTiles = 128;

struct ProductShape : ProductMatrices {
  Contraction c;
  /// Whether neighbours along the sum are neighbours in memory.
  bool leftIsAlongSum, rightIsAlongSum;
  int64_t sumsPerElement;
  int64_t perThread; // rows, and columns, of a tile

  explicit ProductShape(Operation *op)
      : ProductShape(op, *Contraction::of(op)) {}

  int64_t tile() const { return edge * perThread; }
  int64_t rowTiles() const {
    return llvm::divideCeil(elementCount(rows), tile());
  }
  int64_t columnTiles() const {
    return llvm::divideCeil(elementCount(columns), tile());
  }
  int64_t tiles() const {
    return elementCount(batch) * rowTiles() * columnTiles();
  }

private:
  ProductShape(Operation *op, const Contraction &contraction)
      : ProductMatrices(ProductMatrices::of(op, contraction)), c(contraction),
        sumsPerElement(c.sumsPerElement()) {
    if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
      ofConvolution(convolution);
    else
      ofDot(cast<stablehlo::DotGeneralOp>(op));
    perThread = sumsPerElement > 1 ? 2 : 4;
    while (perThread > 1 && tiles() < manyTiles)
      perThread /= 2;
  }
  void ofDot(stablehlo::DotGeneralOp dot) {
    auto numbers = dot.getDotDimensionNumbers();
    auto isAlongSum = [](Value tensor, ArrayRef<int64_t> contracting) {
      return !contracting.empty() &&
             contracting.back() + 1 == int64_t(shapeOf(tensor).size());
    };
    leftIsAlongSum = isAlongSum(c.left, numbers.getLhsContractingDimensions());
    rightIsAlongSum =
        isAlongSum(c.right, numbers.getRhsContractingDimensions());
  }
  void ofConvolution(stablehlo::ConvolutionOp convolution) {
    auto numbers = convolution.getDimensionNumbers();
    const int64_t last = int64_t(c.output.size()) - 1;
    leftIsAlongSum = numbers.getInputFeatureDimension() == last;
    rightIsAlongSum = numbers.getKernelInputFeatureDimension() == last;
  }
};

Operation *productOf(const KernelSource &source) {
  Operation *op = source.root;
  auto dot = dyn_cast_or_null<stablehlo::DotGeneralOp>(op);
  if (!isa_and_nonnull<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op) ||
      (dot && dot.getAlgorithm()) || source.inPlace[0] >= 0)
    return nullptr;
  // Other types are left to others, which say what there is no code for.
  bool areFloats = llvm::all_of(
      ArrayRef<Value>{op->getOperand(0), op->getOperand(1), op->getResult(0)},
      [](Value value) {
        Type element = elementOf(value);
        return isa<FloatType>(element) && element.getIntOrFloatBitWidth() >= 16;
      });
  if (!areFloats)
    return nullptr;
  // A few rows or columns would leave most of a tile empty.
  ProductShape shape(op);
  bool isSmall = elementCount(shape.rows) < 4 ||
                 elementCount(shape.columns) < 4 ||
                 elementCount(shape.c.sums) < 2;
  return isSmall ? nullptr : op;
}

class ProductKernel : GpuKernelBuilder {
public:
  ProductKernel(const KernelSource &source, func::FuncOp function,
                const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        shape(productOf(source)), c(shape.c),
        left(operandOf(c.left, c.leftAt, shape.leftIsAlongSum)),
        right(operandOf(c.right, c.rightAt, shape.rightIsAlongSum)) {
    emit();
  }

private:
  struct Operand {
    Value tensor;
    const Contraction::Map &map;
    bool isAlongSum;
    int64_t slotsOfRow;
    Buffer tile;
  };

  Operand operandOf(Value tensor, const Contraction::Map &map,
                    bool isAlongSum) {
    const int64_t slots = shape.tile() + (isAlongSum ? 2 : 0);
    return {tensor, map, isAlongSum, slots,
            sharedMemory(step * slots, c.sumType)};
  }

  void emit() {
    Indices place =
        algebra.delinearize(block, {elementCount(shape.batch), shape.rowTiles(),
                                    shape.columnTiles()});
    batch = algebra.delinearize(place[0], shape.batch);
    firstRow = place[1] * shape.tile();
    firstColumn = place[2] * shape.tile();
    threadRow = algebra.floorDiv(thread, edge);
    threadColumn = algebra.mod(thread, edge);

    Value zero = numberOfType(builder, loc, valueType(c.sumType), 0);
    Values sums(shape.perThread * shape.perThread * shape.sumsPerElement, zero);
    // With several sums, each stretch of the last dimension begins with the
    // first of them. With one, steps that never reach over the end of a stretch
    // need no division, and a window's place is tested once for all of them.
    ArrayRef<int64_t> outer, inner = c.sums;
    if (shape.sumsPerElement > 1 ||
        (!inner.empty() && inner.back() % step == 0)) {
      outer = inner.drop_back();
      inner = inner.take_back();
    }
    const int64_t length = elementCount(inner), whole = length / step;
    sums = forSpace(outer, sums, [&](const Indices &before, ValueRange held) {
      auto at = [&](const IndexExpression &position) {
        Indices indices = before;
        llvm::append_range(indices, algebra.delinearize(position, inner));
        return indices;
      };
      Values next(held);
      if (whole)
        next = forRange(whole, next,
                        [&](const IndexExpression &index, ValueRange held) {
                          return emitStep(
                              [&](const IndexExpression &k) {
                                return at(index * step + k);
                              },
                              step, held);
                        });
      if (length % step)
        next = emitStep(
            [&](const IndexExpression &k) { return at(k + whole * step); },
            length % step, next);
      return next;
    });
    for (int64_t i = 0; i < shape.perThread; ++i)
      for (int64_t j = 0; j < shape.perThread; ++j)
        store(i, j, ArrayRef(sums).slice(sumsAt(i, j), shape.sumsPerElement));
  }

  size_t sumsAt(int64_t i, int64_t j) const {
    return (i * shape.perThread + j) * shape.sumsPerElement;
  }

  using SumIndex = llvm::function_ref<Indices(const IndexExpression &)>;

  /// `count` indices of the sum.
  Values emitStep(SumIndex sumIndex, int64_t count, ValueRange held) {
    fill(left, firstRow, shape.rows, /*isLeft=*/true, sumIndex, count);
    fill(right, firstColumn, shape.columns, /*isLeft=*/false, sumIndex, count);
    awaitBlock();
    Values sums(held);
    for (int64_t k = 0; k < count; ++k) {
      Values a = read(left, k, threadRow), b = read(right, k, threadColumn);
      for (int64_t i = 0; i < shape.perThread; ++i)
        for (int64_t j = 0; j < shape.perThread; ++j) {
          Value &sum = sums[sumsAt(i, j) + k % shape.sumsPerElement];
          sum = c.multiplyAdd(*this, a[i], b[j], sum);
        }
    }
    awaitBlock();
    return sums;
  }

  /// Numbers beyond the end are those of the last index; their sums are never
  /// stored.
  void fill(const Operand &operand, const IndexExpression &first,
            ArrayRef<int64_t> extents, bool isLeft, SumIndex sumIndex,
            int64_t count) {
    const int64_t numbers = shape.tile() * count;
    for (int64_t done = 0; done < numbers; done += launch.threads)
      ifBelow(thread + done, numbers, [&](const IndexExpression &number) {
        const int64_t fastest = operand.isAlongSum ? count : shape.tile();
        IndexExpression k = algebra.mod(number, fastest);
        IndexExpression index = algebra.floorDiv(number, fastest);
        if (!operand.isAlongSum)
          std::swap(k, index);
        IndexExpression inside =
            algebra.clamped(first + index, {0, elementCount(extents) - 1});
        Indices own = algebra.delinearize(inside, extents);
        Indices output =
            isLeft ? shape.outputAt(batch, own, Indices(shape.columns.size()))
                   : shape.outputAt(batch, Indices(shape.rows.size()), own);
        Element element =
            c.operand(*this, operand.tensor, operand.map, output, sumIndex(k));
        points.store(operand.tile, k * operand.slotsOfRow + index, element);
      });
  }

  Values read(const Operand &operand, int64_t k, const IndexExpression &first) {
    Values values;
    for (int64_t i = 0; i < shape.perThread; ++i)
      values.push_back(
          points.load(operand.tile, first + (k * operand.slotsOfRow + i * edge))
              .value);
    return values;
  }

  void store(int64_t i, int64_t j, ArrayRef<Value> sums) {
    ifBelow(firstRow + threadRow + i * edge, elementCount(shape.rows),
            [&](const IndexExpression &row) {
              ifBelow(firstColumn + threadColumn + j * edge,
                      elementCount(shape.columns),
                      [&](const IndexExpression &column) {
                        storeResult(
                            0,
                            shape.outputAt(
                                batch, algebra.delinearize(row, shape.rows),
                                algebra.delinearize(column, shape.columns)),
                            {finish(sums), levels.current()});
                      });
            });
  }

  Value finish(ArrayRef<Value> sums) {
    Value sum = sums.front();
    if (sums.size() > 1)
      sum = collapse(*this, sums,
                     [&](Value a, Value b) { return c.add(*this, a, b); });
    return convertFloat(builder, loc, sum, results.front().elementType);
  }

  const ProductShape shape;
  const Contraction &c;
  Operand left, right;
  Indices batch;
  IndexExpression firstRow, firstColumn, threadRow, threadColumn;
};

} // namespace

bool ProductSchedule::accepts(const KernelSource &source) const {
  return productOf(source) != nullptr;
}

LaunchShape ProductSchedule::launchShape(const KernelSource &source) const {
  return {.parts = ProductShape(productOf(source)).tiles(),
          .threads = edge * edge};
}

EmittedLoops ProductSchedule::emit(const KernelSource &source, ModuleOp module,
                                   StringRef name, unsigned) const {
  return emitAs<ProductKernel>(source, module, name);
}

} // namespace tenon::codegen
