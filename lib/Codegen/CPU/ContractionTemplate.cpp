//===- ContractionTemplate.cpp - Dots and convolutions in registers -------===//
//
// The fallback for contractions that no library takes. A tile of the result is
// held in registers: some indices of the last dimension but one ("rows") times
// vectors along the last. Which dimension the lanes run along follows from the
// order of the sum (Loops/Contraction.h): along the last result dimension if an
// element has one sum, along the last summed dimension if it has 16, one per
// lane. There is no blocking for caches.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

#include "tenon/Analysis/ContractionTiling.h"
#include "tenon/Codegen/Loops/Contraction.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using Values = KernelBuilder::Values;

using Tiling = ContractionTiling;
static_assert(contractionLanes == vectorLanes);

Tiling chooseTiling(const Contraction &c, bool wideRegisters) {
  return {withoutUnits(c.output), c.sumsPerElement() > 1, wideRegisters};
}

/// One tile of the result.
class Tile {
public:
  Tile(KernelBuilder &k, const Contraction &c, const Tiling &tiling,
       const Indices &outer)
      : k(k), c(c), tiling(tiling), outer(outer) {}

  /// `rows` rows from `firstRow`, `columns` columns from `firstColumn`.
  void alongColumns(const IndexExpression &firstRow, int64_t rows,
                    const IndexExpression &firstColumn, int64_t columns);
  void alongSums(const IndexExpression &firstRow, int64_t rows,
                 const IndexExpression &firstColumn, int64_t columns);

private:
  Indices outputAt(const IndexExpression &row, const IndexExpression &column) {
    Indices all = outer;
    if (tiling.rows > 1 || !tiling.outer.empty())
      all.push_back(row);
    all.push_back(column);
    // Without dimensions there is nothing to index.
    size_t rank = withoutUnits(c.output).size();
    return withUnitDimensions(
        c.output, ArrayRef(all).take_back(std::min(rank, all.size())));
  }
  Value operand(Value tensor, const Contraction::Map &map,
                const Indices &output, const Indices &sums);
  void store(const Indices &output, Value sum);

  KernelBuilder &k;
  const Contraction &c;
  const Tiling &tiling;
  Indices outer;
};

/// The element in the sum's type, a vector.
Value Tile::operand(Value tensor, const Contraction::Map &map,
                    const Indices &output, const Indices &sums) {
  return k.points.asVector(c.operand(k, tensor, map, output, sums));
}

void Tile::store(const Indices &output, Value sum) {
  Type result = k.results.front().elementType;
  if (isa<FloatType>(result))
    sum = convertFloat(k.builder, k.loc, sum, result);
  k.storeResult(0, output, {sum, k.levels.current()});
}

void Tile::alongColumns(const IndexExpression &firstRow, int64_t rows,
                        const IndexExpression &firstColumn, int64_t columns) {
  MaskedVectors vectors(k, columns);
  auto outputOf = [&](int64_t row, int64_t vector) {
    return outputAt(firstRow + row, firstColumn + vector * vectorLanes);
  };
  Type type = VectorType::get({vectorLanes}, valueType(c.sumType));
  Value zero = k.levels.emitAt(
      0, [&](OpBuilder &b) { return numberOfType(b, k.loc, type, 0); });
  Values sums(rows * vectors.count(), zero);
  sums = k.forSpace(c.sums, sums, [&](const Indices &sum, ValueRange carried) {
    Values next(carried.begin(), carried.end());
    vectors.forEach([&](int64_t vector) {
      for (int64_t row = 0; row < rows; ++row) {
        Indices output = outputOf(row, vector);
        Value a = operand(c.left, c.leftAt, output, sum);
        Value b = operand(c.right, c.rightAt, output, sum);
        Value &held = next[row * vectors.count() + vector];
        held = c.multiplyAdd(k, a, b, held);
      }
    });
    return next;
  });
  for (int64_t row = 0; row < rows; ++row)
    vectors.forEach([&](int64_t vector) {
      store(outputOf(row, vector), sums[row * vectors.count() + vector]);
    });
}

void Tile::alongSums(const IndexExpression &firstRow, int64_t rows,
                     const IndexExpression &firstColumn, int64_t columns) {
  auto outputOf = [&](int64_t row, int64_t column) {
    return outputAt(firstRow + row, firstColumn + column);
  };
  int64_t lastSum = c.sums.back();
  int64_t whole = lastSum - lastSum % vectorLanes;
  auto multiply = [&](const Indices &sum, ValueRange carried) {
    Values next(carried.begin(), carried.end());
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        Indices output = outputOf(row, column);
        Value a = operand(c.left, c.leftAt, output, sum);
        Value b = operand(c.right, c.rightAt, output, sum);
        Value &held = next[row * columns + column];
        Value added = c.multiplyAdd(k, a, b, held);
        held =
            k.points.mask
                ? Value(k.create<arith::SelectOp>(k.points.mask, added, held))
                : added;
      }
    return next;
  };
  Type type = VectorType::get({vectorLanes}, valueType(c.sumType));
  Value zero = k.levels.emitAt(
      0, [&](OpBuilder &b) { return numberOfType(b, k.loc, type, 0); });
  Values sums(rows * columns, zero);
  sums = k.forSpace(
      ArrayRef(c.sums).drop_back(), sums,
      [&](const Indices &outerSums, ValueRange carried) {
        Values next(carried.begin(), carried.end());
        auto at = [&](const IndexExpression &last) {
          Indices sum = outerSums;
          sum.push_back(last);
          return sum;
        };
        if (whole)
          next = k.forLoop(k.constantIndex(0), k.constantIndex(whole),
                           vectorLanes, {0, whole - 1}, vectorLanes, true, next,
                           [&](const IndexExpression &j, ValueRange inner) {
                             return multiply(at(j), inner);
                           });
        if (whole != lastSum)
          next = k.carryingTail(whole, lastSum, [&](const IndexExpression &j) {
            return multiply(at(j), next);
          });
        return next;
      });
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      store(outputOf(row, column),
            collapse(k, {sums[row * columns + column]},
                     [&](Value a, Value b) { return c.add(k, a, b); }));
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

LogicalResult check(const KernelSource &source) {
  return checkContraction(source.root);
}

Demand demand(const KernelSource &source) {
  Contraction c = *Contraction::of(source.root);
  return {chooseTiling(c, true).units(), 0};
}

void emit(KernelBuilder &k, unsigned) {
  Contraction c = *Contraction::of(k.source.root);
  Tiling tiling = chooseTiling(c, k.instructions.hasWideRegisters);
  k.forUnits(tiling.units(), [&](const IndexExpression &unit) {
    SmallVector<int64_t> shape = tiling.outer;
    shape.push_back(tiling.columnBlocks());
    shape.push_back(tiling.rowBlocks());
    Indices blocks = k.algebra.delinearize(unit, shape);
    IndexExpression rowBlock = blocks.pop_back_val();
    IndexExpression columnBlock = blocks.pop_back_val();
    Tile tile(k, c, tiling, blocks);
    k.forBlock(rowBlock, tiling.rows, tiling.tileRows,
               [&](const IndexExpression &row, int64_t rows) {
                 k.forBlock(
                     columnBlock, tiling.columns, tiling.tileColumns,
                     [&](const IndexExpression &column, int64_t columns) {
                       if (tiling.lanesAlongSums)
                         return tile.alongSums(row, rows, column, columns);
                       IndexRange range = k.algebra.range(column);
                       IndexExpression lane = k.algebra.laneVariable(
                           k.algebra.scalar(column),
                           {range.low, range.high + vectorLanes - 1},
                           k.levels.current(), tiling.tileColumns);
                       tile.alongColumns(row, rows, lane, columns);
                     });
               });
  });
}

} // namespace

extern const Template contractionTemplate;
const Template contractionTemplate = {
    .accepts = acceptsOp<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>,
    .demand = demand,
    .emit = emit,
    .check = check};

} // namespace tenon::codegen
