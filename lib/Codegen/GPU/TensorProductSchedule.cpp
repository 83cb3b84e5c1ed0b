//===- TensorProductSchedule.cpp - 16-bit products on tensor cores --------===//
//
// A dot or a convolution of bf16 or f16 that is summed in f32. A block of
// threads has a tile of a matrix of results (TensorProduct.h). How a tensor
// core adds is not the order of Loops/Contraction.h, so the bits are not the
// CPU's: they follow from the kernel and the GPU's generation.
//
// Few results with long sums, such as the gradient of a layer's weights, make
// too few tiles for a GPU. There the sum is cut into parts, each of which is
// added up by a block of its own and left in scratch memory; a second launch
// adds the parts up, in their order:
//
//   1. part(p, row, column)  by blocks of a part and a tile each
//   2. result(row, column) = part(0, ..) + part(1, ..) + ...
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "ProductMatrices.h"
#include "TensorProduct.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/PointwiseOperations.h"

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
  SumCut cut;

  explicit MatrixShape(Operation *op) : MatrixShape(op, *Contraction::of(op)) {}

  int64_t rowTiles() const {
    return llvm::divideCeil(elementCount(rows), tile.rows);
  }
  int64_t columnTiles() const {
    return llvm::divideCeil(elementCount(columns), tile.columns);
  }
  /// Blocks that have a part of the sum each, or all of it.
  int64_t tiles() const {
    return elementCount(batch) * rowTiles() * columnTiles();
  }
  /// Of one part of the sums.
  int64_t elements() const {
    return elementCount(batch) * elementCount(rows) * elementCount(columns);
  }
  int64_t bytesOfParts() const {
    return cut.parts > 1 ? cut.parts * elements() * 4 : 0;
  }
  /// Results next to each other in memory along a row.
  int64_t neighboursOfResult() const;

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
                          elementCount(columns), elementCount(sums));
    cut = SumCut::of(tiles(), elementCount(sums));
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
  const bool hasTypes = left == right && stablehlo::isFloatOf16Bits(left) &&
                        (result.isF32() || stablehlo::isFloatOf16Bits(result));
  if (!hasTypes)
    return nullptr;
  // Of less, most of an instruction would be lost.
  MatrixShape shape(op);
  bool isSmall = elementCount(shape.rows) < 8 ||
                 elementCount(shape.columns) < 8 ||
                 elementCount(shape.sums) < 8;
  return isSmall ? nullptr : op;
}

int64_t MatrixShape::neighboursOfResult() const {
  if (feature && *feature + 1 != c.output.size())
    return 1;
  ArrayRef<int64_t> extents = columns;
  while (extents.size() > 1 && extents.back() == 1)
    extents = extents.drop_back();
  return extents.empty() ? 1 : extents.back();
}

/// What both launches share.
class TensorKernel : protected GpuKernelBuilder {
protected:
  TensorKernel(const KernelSource &source, func::FuncOp function,
               const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        shape(productOf(source)), c(shape.c) {}

  /// The parts of the sums, in scratch memory, f32.
  Buffer parts() {
    return scratchBuffer(constantIndex(0), shape.cut.parts * shape.elements(),
                         builder.getF32Type());
  }
  /// Where they have a part of an element.
  IndexExpression placeOf(const IndexExpression &part,
                          const IndexExpression &matrix,
                          const IndexExpression &row,
                          const IndexExpression &column) {
    return algebra.linearize({part, matrix, row, column},
                             {shape.cut.parts, elementCount(shape.batch),
                              elementCount(shape.rows),
                              elementCount(shape.columns)});
  }

  /// Stores neighbouring results from the column on, as many as the vector has.
  void storeResults(const IndexExpression &row, const IndexExpression &column,
                    Value vector) {
    storeResult(0,
                shape.outputAt(batch, algebra.delinearize(row, shape.rows),
                               algebra.delinearize(column, shape.columns)),
                {vector, levels.current()});
  }

  const MatrixShape shape;
  const Contraction &c;
  Indices batch;
};

/// Sums, or parts of them.
class SumsKernel : TensorKernel {
public:
  SumsKernel(const KernelSource &source, func::FuncOp function,
             const LaunchShape &launch, const GpuInstructions &instructions)
      : TensorKernel(source, function, launch, instructions) {
    emit();
  }

private:
  void emit() {
    Indices place =
        algebra.delinearize(block, {shape.cut.parts, elementCount(shape.batch),
                                    shape.rowTiles(), shape.columnTiles()});
    batch = algebra.delinearize(place[1], shape.batch);
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
    TensorProduct product(
        *this, cast<FloatType>(elementOf(c.left)), shape.tile, left, right,
        place[2] * shape.tile.rows, place[3] * shape.tile.columns,
        {place[0] * shape.cut.tilesOfPart, shape.cut.tilesOfPart});
    product.multiply();

    const int64_t columns = elementCount(shape.columns);
    const bool isWhole = shape.cut.parts == 1;
    Type type = isWhole ? results.front().elementType : builder.getF32Type();
    const int64_t lanes =
        largestVector(isWhole ? shape.neighboursOfResult() : columns,
                      bytesOfAccess / bytesOf(type));
    product.forResults(
        type, lanes,
        [&](const IndexExpression &row, const IndexExpression &column,
            Value vector) {
          algebra.lanes = lanes;
          IndexExpression columnAt = vectorAt(column, columns);
          if (isWhole)
            storeResults(row, columnAt, vector);
          else
            points.store(parts(), placeOf(place[0], place[1], row, columnAt),
                         {vector, levels.current()});
          algebra.lanes = 1;
        });
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
};

/// Adds the parts up: a vector of results per thread.
class PartsKernel : TensorKernel {
public:
  static constexpr int64_t threads = 256;

  PartsKernel(const KernelSource &source, func::FuncOp function,
              const LaunchShape &launch, const GpuInstructions &instructions)
      : TensorKernel(source, function, launch, instructions) {
    ifBelow(block * threads + thread, vectors(shape),
            [&](const IndexExpression &number) { emit(number); });
  }

  static int64_t vectors(const MatrixShape &shape) {
    return shape.elements() / lanesOf(shape);
  }

private:
  static int64_t lanesOf(const MatrixShape &shape) {
    return largestVector(shape.neighboursOfResult(), bytesOfAccess / 4);
  }

  void emit(const IndexExpression &number) {
    const int64_t lanes = lanesOf(shape), columns = elementCount(shape.columns);
    Indices place = algebra.delinearize(
        number,
        {elementCount(shape.batch), elementCount(shape.rows), columns / lanes});
    batch = algebra.delinearize(place[0], shape.batch);
    algebra.lanes = lanes;
    IndexExpression column = vectorAt(place[2] * lanes, columns);
    const Buffer buffer = parts();
    auto partOf = [&](const IndexExpression &part) {
      return points.asVector(
          points.load(buffer, placeOf(part, place[0], place[1], column)));
    };
    Values sum = forRange(
        shape.cut.parts - 1, partOf(0),
        [&](const IndexExpression &before, ValueRange sum) {
          return Values{create<arith::AddFOp>(sum.front(), partOf(before + 1))};
        });
    storeResults(
        place[1], column,
        convertFloat(builder, loc, sum.front(), results.front().elementType));
    algebra.lanes = 1;
  }
};

} // namespace

bool TensorProductSchedule::accepts(const KernelSource &source) const {
  return productOf(source) != nullptr;
}

SmallVector<GpuLaunch>
TensorProductSchedule::launches(const KernelSource &source) const {
  MatrixShape shape(productOf(source));
  LaunchShape launch{.parts = shape.cut.parts * shape.tiles(),
                     .threads = shape.tile.threads(),
                     .scratchBytes = shape.bytesOfParts()};
  SmallVector<GpuLaunch> launches = {launchOf<SumsKernel>(launch)};
  if (shape.cut.parts > 1) {
    launch.parts =
        llvm::divideCeil(PartsKernel::vectors(shape), PartsKernel::threads);
    launch.threads = PartsKernel::threads;
    launches.push_back(launchOf<PartsKernel>(launch));
  }
  return launches;
}

} // namespace tenon::codegen
