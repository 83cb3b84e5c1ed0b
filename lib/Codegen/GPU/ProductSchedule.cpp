//===- ProductSchedule.cpp - Dots of floats in tiles ----------------------===//
//
// A block of threads has a tile of a matrix of results. It walks the sum in
// steps of 16: tiles of both operands go to shared memory, then each thread
// takes them into the sums of a few elements, which stay in its registers, in
// the order of Loops/Contraction.h. Elements have 1 or 16 sums; with 16, a step
// is one product for each of them, and tiles are smaller.
//
// A row of an operand's tile is one index of the sum. Rows lie a little more
// than a tile apart: a warp that reads along the sum writes 2 neighbours in 16
// rows, whose slots are 2 k + i modulo the 32 banks.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

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

/// The result as a batch of matrices.
struct ProductShape {
  SmallVector<int64_t> batch, rows, columns;
  int64_t sumsPerElement;
  int64_t perThread; // rows, and columns, of a tile

  ProductShape(stablehlo::DotGeneralOp dot, const Contraction &c)
      : sumsPerElement(c.sumsPerElement()),
        perThread(sumsPerElement > 1 ? 2 : 4) {
    auto numbers = dot.getDotDimensionNumbers();
    const size_t batches = numbers.getLhsBatchingDimensions().size();
    const size_t free = shapeOf(c.left).size() - batches - c.sums.size();
    ArrayRef<int64_t> output = c.output;
    batch.append(output.begin(), output.begin() + batches);
    rows.append(output.begin() + batches, output.begin() + batches + free);
    columns.append(output.begin() + batches + free, output.end());
  }

  int64_t tile() const { return edge * perThread; }
  int64_t rowTiles() const {
    return llvm::divideCeil(elementCount(rows), tile());
  }
  int64_t columnTiles() const {
    return llvm::divideCeil(elementCount(columns), tile());
  }
};

stablehlo::DotGeneralOp productOf(const KernelSource &source) {
  auto dot = dyn_cast_or_null<stablehlo::DotGeneralOp>(source.root);
  if (!dot || dot.getAlgorithm() || source.inPlace[0] >= 0)
    return nullptr;
  Contraction c = *Contraction::of(dot);
  // A few rows or columns would leave most of a tile empty.
  ProductShape shape(dot, c);
  bool isSmall = elementCount(shape.rows) < 4 ||
                 elementCount(shape.columns) < 4 || elementCount(c.sums) < 2;
  // Other types are left to the parts, which say what there is no code for.
  bool areFloats = llvm::all_of(
      ArrayRef<Value>{c.left, c.right, dot.getResult()}, [](Value value) {
        Type element = elementOf(value);
        return isa<FloatType>(element) && element.getIntOrFloatBitWidth() >= 16;
      });
  return areFloats && !isSmall ? dot : nullptr;
}

class ProductKernel : GpuKernelBuilder {
public:
  ProductKernel(const KernelSource &source, func::FuncOp function,
                const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        dot(productOf(source)), c(*Contraction::of(dot)), shape(dot, c),
        left(operandOf(
            c.left, c.leftAt,
            dot.getDotDimensionNumbers().getLhsContractingDimensions())),
        right(operandOf(
            c.right, c.rightAt,
            dot.getDotDimensionNumbers().getRhsContractingDimensions())) {
    emit();
  }

private:
  struct Operand {
    Value tensor;
    const Contraction::Map &map;
    /// Whether neighbours along the sum are neighbours in memory.
    bool isAlongSum;
    Buffer tile;
  };

  Operand operandOf(Value tensor, const Contraction::Map &map,
                    ArrayRef<int64_t> contracting) {
    bool isAlongSum = contracting.back() + 1 == int64_t(shapeOf(tensor).size());
    return {tensor, map, isAlongSum,
            sharedMemory(step * slotsOfRow(), c.sumType)};
  }
  int64_t slotsOfRow() const { return shape.tile() + 2; }

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
    // first of them.
    ArrayRef<int64_t> outer, inner = c.sums;
    if (shape.sumsPerElement > 1) {
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
        Indices own = algebra.delinearize(inside, extents), output = batch;
        output.resize(batch.size() + (isLeft ? 0 : shape.rows.size()), 0);
        llvm::append_range(output, own);
        output.resize(c.output.size(), 0);
        Element element =
            c.operand(*this, operand.tensor, operand.map, output, sumIndex(k));
        points.store(operand.tile, k * slotsOfRow() + index, element);
      });
  }

  Values read(const Operand &operand, int64_t k, const IndexExpression &first) {
    Values values;
    for (int64_t i = 0; i < shape.perThread; ++i)
      values.push_back(
          points.load(operand.tile, first + (k * slotsOfRow() + i * edge))
              .value);
    return values;
  }

  void store(int64_t i, int64_t j, ArrayRef<Value> sums) {
    ifBelow(firstRow + threadRow + i * edge, elementCount(shape.rows),
            [&](const IndexExpression &row) {
              ifBelow(firstColumn + threadColumn + j * edge,
                      elementCount(shape.columns),
                      [&](const IndexExpression &column) {
                        Indices place = batch;
                        llvm::append_range(
                            place, algebra.delinearize(row, shape.rows));
                        llvm::append_range(
                            place, algebra.delinearize(column, shape.columns));
                        storeResult(0, place, {finish(sums), levels.current()});
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

  stablehlo::DotGeneralOp dot;
  const Contraction c;
  const ProductShape shape;
  Operand left, right;
  Indices batch;
  IndexExpression firstRow, firstColumn, threadRow, threadColumn;
};

} // namespace

bool ProductSchedule::accepts(const KernelSource &source) const {
  return productOf(source) != nullptr;
}

LaunchShape ProductSchedule::launchShape(const KernelSource &source) const {
  auto dot = productOf(source);
  ProductShape shape(dot, *Contraction::of(dot));
  return {.parts = elementCount(shape.batch) * shape.rowTiles() *
                   shape.columnTiles(),
          .threads = edge * edge};
}

EmittedLoops ProductSchedule::emit(const KernelSource &source, ModuleOp module,
                                   StringRef name, unsigned) const {
  return emitAs<ProductKernel>(source, module, name);
}

} // namespace tenon::codegen
