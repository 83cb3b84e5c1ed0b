//===- TensorProductSchedule.cpp - 16-bit products on tensor cores --------===//
//
// A dot or a convolution of bf16 or f16 that is summed in f32. A block of
// threads has a tile of a matrix of results (TensorProduct.h). How a tensor
// core adds is not the order of Loops/Contraction.h, so the bits are not the
// CPU's: they follow from the kernel and the GPU's generation.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "ProductMatrices.h"
#include "TensorProduct.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// How an operand lies in memory.
struct OperandLayout {
  /// Whether neighbours along the sum are neighbours in memory, or else those
  /// along the rows of this operand's matrix, if any are; how many of them, as
  /// TensorOperand says.
  bool isAlongSum = false;
  int64_t neighbours = 1;
};

/// A power of two up to `most` that divides the extent.
int64_t largestVector(int64_t extent, int64_t most) {
  int64_t lanes = most;
  while (extent % lanes)
    lanes /= 2;
  return lanes;
}

/// The dimension along which neighbours are neighbours in memory, -1 if there
/// is one element.
int64_t fastest(Value tensor) {
  ArrayRef<int64_t> shape = shapeOf(tensor);
  int64_t dimension = shape.size() - 1;
  while (dimension >= 0 && shape[dimension] == 1)
    --dimension;
  return dimension;
}

/// The result as a batch of matrices, and the sum as one row of indices.
struct MatrixShape : ProductMatrices {
  Contraction c;
  /// The dimensions that are summed over, one in which an operand's elements
  /// are neighbours last, and their extents.
  SmallVector<size_t> sumOrder;
  SmallVector<int64_t> sums;
  OperandLayout left, right;
  TensorTile tile;

  explicit MatrixShape(Operation *op) : MatrixShape(op, *Contraction::of(op)) {}

  int64_t rowTiles() const {
    return llvm::divideCeil(elementCount(rows), tile.rows);
  }
  int64_t columnTiles() const {
    return llvm::divideCeil(elementCount(columns), tile.columns);
  }

private:
  MatrixShape(Operation *op, const Contraction &contraction)
      : ProductMatrices(ProductMatrices::of(op, contraction)), c(contraction),
        sumOrder(llvm::to_vector(llvm::seq<size_t>(0, c.sums.size()))) {
    if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
      ofConvolution(convolution);
    else
      ofDot(cast<stablehlo::DotGeneralOp>(op));
    for (size_t i : sumOrder)
      sums.push_back(c.sums[i]);
    tile = TensorTile::of(elementCount(batch), elementCount(rows),
                          elementCount(columns));
  }
  void ofDot(stablehlo::DotGeneralOp dot);
  void ofConvolution(stablehlo::ConvolutionOp convolution);
};

void MatrixShape::ofDot(stablehlo::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  for (auto [tensor, contracting] :
       {std::pair(c.right, numbers.getRhsContractingDimensions()),
        std::pair(c.left, numbers.getLhsContractingDimensions())})
    for (auto [i, dimension] : llvm::enumerate(contracting))
      if (dimension == fastest(tensor)) {
        llvm::erase(sumOrder, i);
        sumOrder.push_back(i);
      }
  auto layoutOf = [&](Value tensor, ArrayRef<int64_t> contracting,
                      ArrayRef<int64_t> batching) {
    const int64_t last = fastest(tensor);
    OperandLayout layout;
    // Not so where another summed dimension had to be the last one.
    layout.isAlongSum = llvm::is_contained(contracting, last);
    const bool hasNeighbours = layout.isAlongSum
                                   ? contracting[sumOrder.back()] == last
                                   : !llvm::is_contained(batching, last);
    if (hasNeighbours && last >= 0)
      layout.neighbours =
          largestVector(shapeOf(tensor)[last], TileShape::elementsOfChunk);
    return layout;
  };
  left = layoutOf(c.left, numbers.getLhsContractingDimensions(),
                  numbers.getLhsBatchingDimensions());
  right = layoutOf(c.right, numbers.getRhsContractingDimensions(),
                   numbers.getRhsBatchingDimensions());
}

/// Neighbours along a spatial dimension need not be there together, so they are
/// read one by one. The last of the summed dimensions is the input feature.
void MatrixShape::ofConvolution(stablehlo::ConvolutionOp convolution) {
  auto numbers = convolution.getDimensionNumbers();
  constexpr int64_t most = TileShape::elementsOfChunk;
  const auto isLast = [](Value tensor, uint64_t dimension) {
    return fastest(tensor) == int64_t(dimension);
  };
  const auto images = size_t(numbers.getOutputBatchDimension());
  const bool isLastOfRows =
      images + 1 == rows.size() + (*feature < images ? 1 : 0);
  if (isLast(c.left, numbers.getInputFeatureDimension()))
    left = {true, largestVector(c.sums.back(), most)};
  else if (isLast(c.left, numbers.getInputBatchDimension()) &&
           convolution.getBatchGroupCount() == 1 && isLastOfRows)
    left = {false, largestVector(rows.back(), most)};
  if (isLast(c.right, numbers.getKernelInputFeatureDimension()))
    right = {true, largestVector(c.sums.back(), most)};
  else if (isLast(c.right, numbers.getKernelOutputFeatureDimension()))
    right = {false, largestVector(columns.back(), most)};
}

Operation *productOf(const KernelSource &source) {
  Operation *op = source.root;
  auto dot = dyn_cast_or_null<stablehlo::DotGeneralOp>(op);
  if (!isa_and_nonnull<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op) ||
      (dot && dot.getAlgorithm()) || source.inPlace[0] >= 0)
    return nullptr;
  Type left = elementOf(op->getOperand(0)),
       right = elementOf(op->getOperand(1)),
       result = elementOf(op->getResult(0));
  const bool hasTypes = left == right && (left.isBF16() || left.isF16()) &&
                        (result.isF32() || result.isBF16() || result.isF16());
  if (!hasTypes)
    return nullptr;
  // Of less, most of an instruction would be lost.
  MatrixShape shape(op);
  bool isSmall = elementCount(shape.rows) < 8 ||
                 elementCount(shape.columns) < 8 ||
                 elementCount(shape.sums) < 8;
  return isSmall ? nullptr : op;
}

class TensorKernel : GpuKernelBuilder {
public:
  TensorKernel(const KernelSource &source, func::FuncOp function,
               const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        shape(productOf(source)), c(shape.c) {
    emit();
  }

private:
  void emit() {
    Indices place =
        algebra.delinearize(block, {elementCount(shape.batch), shape.rowTiles(),
                                    shape.columnTiles()});
    batch = algebra.delinearize(place[0], shape.batch);
    TensorOperand left = operandOf(
        c.left, shape.left, shape.rows,
        [this](const Indices &row, const Indices &sums) {
          return c.leftAt(
              algebra,
              shape.outputAt(batch, row, Indices(shape.columns.size(), 0)),
              sums);
        });
    TensorOperand right = operandOf(
        c.right, shape.right, shape.columns,
        [this](const Indices &column, const Indices &sums) {
          return c.rightAt(
              algebra,
              shape.outputAt(batch, Indices(shape.rows.size(), 0), column),
              sums);
        });
    TensorProduct product(*this, cast<FloatType>(elementOf(c.left)), shape.tile,
                          left, right, place[1] * shape.tile.rows,
                          place[2] * shape.tile.columns);
    product.multiply();

    Type type = results.front().elementType;
    const int64_t lanes =
        largestVector(neighboursOfResult(), bytesOfAccess / bytesOf(type));
    product.forResults(
        type, lanes,
        [&](const IndexExpression &row, const IndexExpression &column,
            Value vector) {
          algebra.lanes = lanes;
          Indices rowAt = algebra.delinearize(row, shape.rows),
                  columnAt = algebra.delinearize(
                      vectorAt(column, elementCount(shape.columns)),
                      shape.columns);
          storeResult(0, shape.outputAt(batch, rowAt, columnAt),
                      {vector, levels.current()});
          algebra.lanes = 1;
        });
  }

  /// Along a row, in memory.
  int64_t neighboursOfResult() const {
    if (shape.feature && *shape.feature + 1 != c.output.size())
      return 1;
    ArrayRef<int64_t> columns = shape.columns;
    while (columns.size() > 1 && columns.back() == 1)
      columns = columns.drop_back();
    return columns.empty() ? 1 : columns.back();
  }

  TensorOperand operandOf(
      Value tensor, const OperandLayout &layout, ArrayRef<int64_t> extents,
      std::function<OperandElement(const Indices &, const Indices &)> at) {
    TensorOperand operand;
    operand.tensor = tensor;
    operand.rows = elementCount(extents);
    operand.sum = elementCount(shape.sums);
    operand.isAlongSum = layout.isAlongSum;
    operand.neighbours = layout.neighbours;
    operand.at = [this, extents, at](const IndexExpression &row,
                                     const IndexExpression &sum) {
      Indices ordered = algebra.delinearize(sum, shape.sums),
              sums(ordered.size());
      for (auto [i, index] : llvm::zip(shape.sumOrder, ordered))
        sums[i] = index;
      return at(algebra.delinearize(row, extents), sums);
    };
    return operand;
  }

  const MatrixShape shape;
  const Contraction &c;
  Indices batch;
};

} // namespace

bool TensorProductSchedule::accepts(const KernelSource &source) const {
  return productOf(source) != nullptr;
}

LaunchShape
TensorProductSchedule::launchShape(const KernelSource &source) const {
  MatrixShape shape(productOf(source));
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
