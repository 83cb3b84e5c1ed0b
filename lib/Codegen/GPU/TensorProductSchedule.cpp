//===- TensorProductSchedule.cpp - Dots of 16 bits on tensor cores --------===//
//
// A dot of bf16 or f16 that is summed in f32. A block of threads has a tile of
// a matrix of results (TensorProduct.h). How a tensor core adds is not the
// order of Loops/Contraction.h, so the bits are not the CPU's: they follow from
// the kernel and the GPU's generation.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "TensorProduct.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// The result as a batch of matrices, and the sum as one row of indices.
struct MatrixShape {
  SmallVector<int64_t> batch, rows, columns;
  /// The dimensions that are summed over, one in which an operand's elements
  /// are neighbours last, and their extents.
  SmallVector<size_t> sumOrder;
  SmallVector<int64_t> sums;
  TensorTile tile;

  MatrixShape(stablehlo::DotGeneralOp dot, const Contraction &c) {
    auto numbers = dot.getDotDimensionNumbers();
    const size_t batches = numbers.getLhsBatchingDimensions().size();
    const size_t free = shapeOf(c.left).size() - batches - c.sums.size();
    ArrayRef<int64_t> output = c.output;
    batch = llvm::to_vector(output.take_front(batches));
    rows = llvm::to_vector(output.slice(batches, free));
    columns = llvm::to_vector(output.drop_front(batches + free));

    sumOrder = llvm::to_vector(llvm::seq<size_t>(0, c.sums.size()));
    for (auto [tensor, contracting] :
         {std::pair(c.right, numbers.getRhsContractingDimensions()),
          std::pair(c.left, numbers.getLhsContractingDimensions())})
      for (auto [i, dimension] : llvm::enumerate(contracting))
        if (dimension == fastest(tensor)) {
          llvm::erase(sumOrder, i);
          sumOrder.push_back(i);
        }
    for (size_t i : sumOrder)
      sums.push_back(c.sums[i]);
    tile = TensorTile::of(elementCount(batch), elementCount(rows),
                          elementCount(columns));
  }

  int64_t rowTiles() const {
    return llvm::divideCeil(elementCount(rows), tile.rows);
  }
  int64_t columnTiles() const {
    return llvm::divideCeil(elementCount(columns), tile.columns);
  }

  /// The dimension along which neighbours are neighbours in memory, -1 if there
  /// is one element.
  static int64_t fastest(Value tensor) {
    ArrayRef<int64_t> shape = shapeOf(tensor);
    int64_t dimension = shape.size() - 1;
    while (dimension >= 0 && shape[dimension] == 1)
      --dimension;
    return dimension;
  }
};

stablehlo::DotGeneralOp productOf(const KernelSource &source) {
  auto dot = dyn_cast_or_null<stablehlo::DotGeneralOp>(source.root);
  if (!dot || dot.getAlgorithm() || source.inPlace[0] >= 0)
    return nullptr;
  Type left = elementOf(dot.getLhs()), right = elementOf(dot.getRhs()),
       result = elementOf(dot.getResult());
  const bool hasTypes = left == right && (left.isBF16() || left.isF16()) &&
                        (result.isF32() || result.isBF16() || result.isF16());
  if (!hasTypes)
    return nullptr;
  // Of less, most of an instruction would be lost.
  Contraction c = *Contraction::of(dot);
  MatrixShape shape(dot, c);
  bool isSmall = elementCount(shape.rows) < 8 ||
                 elementCount(shape.columns) < 8 || elementCount(c.sums) < 8;
  return isSmall ? nullptr : dot;
}

class TensorKernel : GpuKernelBuilder {
public:
  TensorKernel(const KernelSource &source, func::FuncOp function,
               const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        dot(productOf(source)), c(*Contraction::of(dot)), shape(dot, c) {
    emit();
  }

private:
  void emit() {
    Indices place =
        algebra.delinearize(block, {elementCount(shape.batch), shape.rowTiles(),
                                    shape.columnTiles()});
    batch = algebra.delinearize(place[0], shape.batch);
    auto numbers = dot.getDotDimensionNumbers();
    TensorOperand left =
        operandOf(c.left, c.leftAt, numbers.getLhsContractingDimensions(),
                  numbers.getLhsBatchingDimensions(), shape.rows, 0);
    TensorOperand right = operandOf(
        c.right, c.rightAt, numbers.getRhsContractingDimensions(),
        numbers.getRhsBatchingDimensions(), shape.columns, shape.rows.size());
    TensorProduct product(*this, cast<FloatType>(elementOf(c.left)), shape.tile,
                          left, right, place[1] * shape.tile.rows,
                          place[2] * shape.tile.columns);
    product.multiply();

    Type type = results.front().elementType;
    const int64_t width = lastExtent(shape.columns);
    const int64_t lanes = largestVector(width, bytesOfAccess / bytesOf(type));
    product.forResults(
        type, lanes,
        [&](const IndexExpression &row, const IndexExpression &column,
            Value vector) {
          algebra.lanes = lanes;
          Indices indices = batch;
          llvm::append_range(indices, algebra.delinearize(row, shape.rows));
          llvm::append_range(
              indices,
              algebra.delinearize(vectorAt(column, elementCount(shape.columns)),
                                  shape.columns));
          storeResult(0, indices, {vector, levels.current()});
          algebra.lanes = 1;
        });
  }

  /// A power of two up to `most` that divides the extent.
  static int64_t largestVector(int64_t extent, int64_t most) {
    int64_t lanes = most;
    while (extent % lanes)
      lanes /= 2;
    return lanes;
  }
  static int64_t lastExtent(ArrayRef<int64_t> shape) {
    while (shape.size() > 1 && shape.back() == 1)
      shape = shape.drop_back();
    return shape.empty() ? 1 : shape.back();
  }

  TensorOperand operandOf(Value tensor, const Contraction::Map &map,
                          ArrayRef<int64_t> contracting,
                          ArrayRef<int64_t> batching, ArrayRef<int64_t> extents,
                          size_t skipped) {
    const int64_t fastest = MatrixShape::fastest(tensor);
    TensorOperand operand;
    operand.tensor = tensor;
    operand.rows = elementCount(extents);
    operand.sum = elementCount(shape.sums);
    // Not so where another summed dimension had to be the last one.
    operand.isAlongSum = llvm::is_contained(contracting, fastest);
    bool hasNeighbours = !llvm::is_contained(batching, fastest);
    if (operand.isAlongSum)
      hasNeighbours = contracting[shape.sumOrder.back()] == fastest;
    operand.neighbours = hasNeighbours
                             ? largestVector(shapeOf(tensor)[fastest],
                                             TileShape::elementsOfChunk)
                             : 1;
    operand.at = [this, &map, extents, skipped](const IndexExpression &row,
                                                const IndexExpression &sum) {
      Indices output = batch;
      output.resize(batch.size() + skipped, 0);
      llvm::append_range(output, algebra.delinearize(row, extents));
      output.resize(c.output.size(), 0);
      Indices ordered = algebra.delinearize(sum, shape.sums),
              sums(ordered.size());
      for (auto [i, index] : llvm::zip(shape.sumOrder, ordered))
        sums[i] = index;
      return map(algebra, output, sums);
    };
    return operand;
  }

  stablehlo::DotGeneralOp dot;
  const Contraction c;
  const MatrixShape shape;
  Indices batch;
};

} // namespace

bool TensorProductSchedule::accepts(const KernelSource &source) const {
  return productOf(source) != nullptr;
}

LaunchShape
TensorProductSchedule::launchShape(const KernelSource &source) const {
  auto dot = productOf(source);
  MatrixShape shape(dot, *Contraction::of(dot));
  return {.parts = elementCount(shape.batch) * shape.rowTiles() *
                   shape.columnTiles(),
          .threads = shape.tile.threads()};
}

EmittedLoops TensorProductSchedule::emit(const KernelSource &source,
                                         ModuleOp module, StringRef name,
                                         unsigned) const {
  return emitAs<TensorKernel>(source, module, name);
}

} // namespace tenon::codegen
