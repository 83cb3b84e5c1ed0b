//===- ContractionTemplate.cpp - Dots and convolutions in registers -------===//
//
// The fallback for contractions that no library takes. A tile of the result is
// held in registers: vectors along the last dimension ("columns") or the one
// before it ("rows"), times some indices of the other one. If an element has 16
// sums, lanes run along the last summed dimension instead, one sum per lane
// (Loops/Contraction.h); ContractionTiling chooses. There is no blocking for
// caches.
//
// Where lanes lie apart in an operand of f32, but neighbouring terms of the sum
// beside each other, some terms of each lane are read at once, and these blocks
// are turned in registers, which takes a fraction of a gather's time. So are
// the results of lanes along rows, and the sums of lanes along sums: 16 vectors
// are added up in 15 steps instead of 64.
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

/// Lane i of the result is number picks[i] of what `vectors`, all of 16 lanes,
/// hold one after the other, or anything if that is negative.
Value pickLanes(KernelBuilder &k, ArrayRef<Value> vectors,
                ArrayRef<int64_t> picks) {
  Value picked;
  for (auto [number, vector] : llvm::enumerate(vectors)) {
    const int64_t first = int64_t(number) * vectorLanes;
    auto isHere = [&](int64_t pick) {
      return pick >= first && pick < first + vectorLanes;
    };
    if (llvm::none_of(picks, isHere))
      continue;
    SmallVector<int64_t> mask(vectorLanes, -1);
    for (auto [lane, pick] : llvm::enumerate(picks)) {
      if (isHere(pick))
        mask[lane] = pick - first + (picked ? vectorLanes : 0);
      else if (picked && pick >= 0 && pick < first)
        mask[lane] = int64_t(lane);
    }
    picked =
        k.create<vector::ShuffleOp>(picked ? picked : vector, vector, mask);
  }
  return picked;
}

/// The first `count` lanes.
Value firstLanes(KernelBuilder &k, Value vector, int64_t count) {
  if (count == vectorLanes)
    return vector;
  return k.create<vector::ExtractStridedSliceOp>(vector, ArrayRef<int64_t>{0},
                                                 ArrayRef<int64_t>{count},
                                                 ArrayRef<int64_t>{1});
}

/// One tile of the result.
class Tile {
public:
  Tile(KernelBuilder &k, const Contraction &c, const Tiling &tiling,
       const ContractionAccess &access, const Indices &outer)
      : k(k), c(c), tiling(tiling), outer(outer),
        left(operandOf(c.left, c.leftAt, access.left)),
        right(operandOf(c.right, c.rightAt, access.right)) {}

  /// `lanes` indices from `firstLane` of the dimension that lanes run along,
  /// times `others` from `firstOther` of the other one.
  void alongResult(const IndexExpression &firstLane, int64_t lanes,
                   const IndexExpression &firstOther, int64_t others);
  /// `rows` rows from `firstRow`, `columns` columns from `firstColumn`.
  void alongSums(const IndexExpression &firstRow, int64_t rows,
                 const IndexExpression &firstColumn, int64_t columns);

private:
  struct Operand {
    Value tensor;
    const Contraction::Map &at;
    bool isTurned;
  };
  /// Terms of the sum, neighbours along its last dimension: `width` from
  /// `first` on are read, and those from number `from` on multiplied.
  struct Terms {
    Indices first;
    int64_t width = 1, from = 0;

    Indices at(int64_t number) const {
      Indices indices = first;
      if (number)
        indices.back() = indices.back() + number;
      return indices;
    }
  };
  /// What an operand has of these terms, a vector for each.
  struct Turned {
    Value tensor;
    IndexExpression position; // of the first lane and term
    Values terms;
  };

  Operand operandOf(Value tensor, const Contraction::Map &at,
                    const ContractionSteps &steps) {
    // What is no argument has no memory.
    return {tensor, at,
            steps.isTurned(tiling.lanes) && isa<BlockArgument>(tensor)};
  }
  bool isAlongRows() const { return tiling.lanes == ContractionLanes::rows; }
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
  Indices placeOf(const IndexExpression &lane, const IndexExpression &other) {
    return isAlongRows() ? outputAt(lane, other) : outputAt(other, lane);
  }
  Value zero() {
    Type type = VectorType::get({vectorLanes}, valueType(c.sumType));
    return k.levels.emitAt(
        0, [&](OpBuilder &b) { return numberOfType(b, k.loc, type, 0); });
  }
  Value operand(const Operand &operand, const Indices &output,
                const Indices &sums);
  Values forTerms(
      ValueRange carried,
      llvm::function_ref<Values(const Terms &terms, ValueRange carried)> body);
  const Values &turnedTerms(const Operand &operand, const Terms &terms,
                            int64_t lanes,
                            llvm::function_ref<Indices(int64_t lane)> placeOf);
  Values turn(const Operand &operand, const Terms &terms,
              ArrayRef<IndexExpression> positions);
  Values turnPacked(Value memory, const IndexExpression &first, int64_t lanes,
                    int64_t width);
  Value collapseTogether(ArrayRef<Value> sums);
  void store(const Indices &output, Value sum);
  void storeRun(const IndexExpression &row, const IndexExpression &column,
                Value vector, int64_t count);

  KernelBuilder &k;
  const Contraction &c;
  const Tiling &tiling;
  Indices outer;
  Operand left, right;
  /// Of the terms at hand.
  SmallVector<Turned> turned;
};

/// The element in the sum's type, a vector.
Value Tile::operand(const Operand &operand, const Indices &output,
                    const Indices &sums) {
  return k.points.asVector(
      c.operand(k, operand.tensor, operand.at, output, sums));
}

void Tile::store(const Indices &output, Value sum) {
  Type result = k.results.front().elementType;
  if (isa<FloatType>(result))
    sum = convertFloat(k.builder, k.loc, sum, result);
  k.storeResult(0, output, {sum, k.levels.current()});
}

/// The first `count` lanes to elements that follow each other, row by row.
void Tile::storeRun(const IndexExpression &row, const IndexExpression &column,
                    Value vector, int64_t count) {
  if (count == 1)
    return store(outputAt(row, column), vector);
  IndexExpression lane = k.algebra.laneVariable(
      k.constantIndex(0), {0, count - 1}, k.levels.current(), 1 << 20);
  store(outputAt(row, column + lane), firstLanes(k, vector, count));
}

//===----------------------------------------------------------------------===//
// Operands that are turned
//===----------------------------------------------------------------------===//

/// Of `lanes` lanes that have `width` elements each, all of which follow each
/// other.
LoopNest::Values Tile::turnPacked(Value memory, const IndexExpression &first,
                                  int64_t lanes, int64_t width) {
  Type type = VectorType::get({vectorLanes}, c.sumType);
  Values whole;
  for (int64_t at = 0, end = lanes * width; at < end; at += vectorLanes) {
    Value index = k.algebra.scalar(first + at);
    if (at + vectorLanes <= end) {
      whole.push_back(k.create<vector::LoadOp>(type, memory, index));
      continue;
    }
    Value mask = k.levels.createAt<vector::ConstantMaskOp>(
        0, k.loc, VectorType::get({vectorLanes}, k.builder.getI1Type()),
        ArrayRef<int64_t>{end - at});
    whole.push_back(
        k.create<vector::MaskedLoadOp>(type, memory, index, mask, zero()));
  }
  Values terms;
  for (int64_t term = 0; term < width; ++term) {
    SmallVector<int64_t> picks;
    for (int64_t lane = 0; lane < lanes; ++lane)
      picks.push_back(lane * width + term);
    terms.push_back(pickLanes(k, whole, picks));
  }
  return terms;
}

/// `positions` are those of the first term in each lane that there is.
LoopNest::Values Tile::turn(const Operand &operand, const Terms &terms,
                            ArrayRef<IndexExpression> positions) {
  Value memory = k.points.bufferOf(operand.tensor).memref;
  const auto lanes = int64_t(positions.size());
  const int64_t width = terms.width;
  if (lanes > 1 && width < contractionTerms) {
    IndexExpression step = positions[1] - positions[0];
    if (step.isConstant() && step.constant == width)
      return turnPacked(memory, positions[0], lanes, width);
  }
  // Two or four neighbours of each lane; of three, nobody asks for the fourth.
  const int64_t length = width == 3 ? 4 : width;
  auto pieceOf = [&](int64_t lane) -> Value {
    if (lane >= lanes)
      return numberOfType(k.builder, k.loc,
                          VectorType::get({length}, c.sumType), 0);
    Value piece =
        k.create<vector::LoadOp>(VectorType::get({width}, c.sumType), memory,
                                 k.algebra.scalar(positions[lane]));
    if (length == width)
      return piece;
    return k.create<vector::ShuffleOp>(piece, piece,
                                       ArrayRef<int64_t>{0, 1, 2, -1});
  };
  // Pieces of lanes first, first + step and so on, one after the other.
  auto join = [&](int64_t first, int64_t step) {
    Values pieces;
    for (int64_t piece = 0; piece < vectorLanes / length; ++piece)
      pieces.push_back(pieceOf(first + piece * step));
    for (int64_t size = length; pieces.size() > 1; size *= 2) {
      auto both = llvm::to_vector(llvm::seq<int64_t>(0, 2 * size));
      Values next;
      for (size_t i = 0; i < pieces.size(); i += 2)
        next.push_back(
            k.create<vector::ShuffleOp>(pieces[i], pieces[i + 1], both));
      pieces = std::move(next);
    }
    return pieces.front();
  };
  if (length == 2) {
    Values whole = {join(0, 1)};
    if (lanes > vectorLanes / 2)
      whole.push_back(join(vectorLanes / 2, 1));
    Values results;
    for (int64_t term = 0; term < width; ++term) {
      SmallVector<int64_t> picks;
      for (int64_t lane = 0; lane < lanes; ++lane)
        picks.push_back(2 * lane + term);
      results.push_back(pickLanes(k, whole, picks));
    }
    return results;
  }
  // Piece p of vector j is lane 4 p + j, so that all that is left is to turn
  // four blocks of 4 by 4, each within a quarter of the registers.
  auto shuffled = [&](Value a, Value b, std::array<int64_t, 4> picks) -> Value {
    SmallVector<int64_t> mask;
    for (int64_t quarter = 0; quarter < vectorLanes; quarter += 4)
      for (int64_t pick : picks)
        mask.push_back(quarter + pick % 4 + (pick < 4 ? 0 : vectorLanes));
    return k.create<vector::ShuffleOp>(a, b, mask);
  };
  std::array<Value, 4> quarters;
  for (auto [number, vector] : llvm::enumerate(quarters))
    vector = join(int64_t(number), 4);
  constexpr std::array<int64_t, 4> low{0, 4, 1, 5}, high{2, 6, 3, 7},
      lowPairs{0, 1, 4, 5}, highPairs{2, 3, 6, 7};
  Values results;
  for (const auto &half : {low, high}) {
    Value even = shuffled(quarters[0], quarters[1], half);
    Value odd = shuffled(quarters[2], quarters[3], half);
    results.push_back(shuffled(even, odd, lowPairs));
    results.push_back(shuffled(even, odd, highPairs));
  }
  return results;
}

/// The terms of `lanes` lanes, read once for all that use them.
const LoopNest::Values &
Tile::turnedTerms(const Operand &operand, const Terms &terms, int64_t lanes,
                  llvm::function_ref<Indices(int64_t lane)> placeOf) {
  auto positionOf = [&](int64_t lane) {
    return k.algebra.linearize(
        operand.at(k.algebra, placeOf(lane), terms.first).indices,
        k.points.bufferOf(operand.tensor).shape);
  };
  SmallVector<IndexExpression> positions = {positionOf(0)};
  for (const Turned &known : turned)
    if (known.tensor == operand.tensor && known.position == positions.front())
      return known.terms;
  for (int64_t lane = 1; lane < lanes; ++lane)
    positions.push_back(positionOf(lane));
  turned.push_back(
      {operand.tensor, positions.front(), turn(operand, terms, positions)});
  return turned.back().terms;
}

/// All terms of the sum in order, as many at once as turned operands have.
LoopNest::Values Tile::forTerms(
    ValueRange carried,
    llvm::function_ref<Values(const Terms &terms, ValueRange carried)> body) {
  if (!left.isTurned && !right.isTurned)
    return k.forSpace(c.sums, carried,
                      [&](const Indices &sum, ValueRange inner) {
                        return body({sum}, inner);
                      });
  const int64_t last = c.sums.back();
  const int64_t width = std::min(last, contractionTerms), rest = last % width;
  return k.forSpace(
      ArrayRef(c.sums).drop_back(), carried,
      [&](const Indices &outerSums, ValueRange inner) {
        auto block = [&](const IndexExpression &first, int64_t from,
                         ValueRange held) {
          Terms terms{outerSums, width, from};
          terms.first.push_back(first);
          turned.clear();
          return body(terms, held);
        };
        Values next =
            last < 2 * width
                ? block(0, 0, inner)
                : k.forLoop(k.constantIndex(0), k.constantIndex(last - rest),
                            width, {0, last - rest - width}, width, false,
                            inner,
                            [&](const IndexExpression &first, ValueRange held) {
                              return block(first, 0, held);
                            });
        return rest ? block(last - width, width - rest, next) : next;
      });
}

//===----------------------------------------------------------------------===//
// Lanes along the result
//===----------------------------------------------------------------------===//

void Tile::alongResult(const IndexExpression &firstLane, int64_t lanes,
                       const IndexExpression &firstOther, int64_t others) {
  MaskedVectors vectors(k, lanes);
  IndexRange range = k.algebra.range(firstLane);
  IndexExpression lane = k.algebra.laneVariable(
      k.algebra.scalar(firstLane), {range.low, range.high + vectorLanes - 1},
      k.levels.current(), isAlongRows() ? tiling.tileRows : tiling.tileColumns);
  auto lanesOf = [&](int64_t vector) {
    return std::min(lanes - vector * vectorLanes, vectorLanes);
  };
  auto termOf = [&](const Operand &from, int64_t vector, int64_t other,
                    const Terms &terms, int64_t term) {
    const IndexExpression otherIndex = firstOther + other;
    if (!from.isTurned)
      return operand(from, placeOf(lane + vector * vectorLanes, otherIndex),
                     terms.at(term));
    auto placeOfLane = [&](int64_t i) {
      return placeOf(firstLane + (vector * vectorLanes + i), otherIndex);
    };
    return turnedTerms(from, terms, lanesOf(vector), placeOfLane)[term];
  };
  Values sums(others * vectors.count(), zero());
  sums = forTerms(sums, [&](const Terms &terms, ValueRange carried) {
    Values next(carried.begin(), carried.end());
    vectors.forEach([&](int64_t vector) {
      for (int64_t term = terms.from; term < terms.width; ++term)
        for (int64_t other = 0; other < others; ++other) {
          Value a = termOf(left, vector, other, terms, term);
          Value b = termOf(right, vector, other, terms, term);
          Value &held = next[other * vectors.count() + vector];
          held = c.multiplyAdd(k, a, b, held);
        }
    });
    return next;
  });
  if (!isAlongRows()) {
    for (int64_t other = 0; other < others; ++other)
      vectors.forEach([&](int64_t vector) {
        store(placeOf(lane + vector * vectorLanes, firstOther + other),
              sums[other * vectors.count() + vector]);
      });
    return;
  }
  // All columns are here, so the rows of a vector follow each other.
  assert(others == tiling.columns && "lanes along rows hold whole rows");
  for (int64_t vector = 0; vector < vectors.count(); ++vector) {
    Values columns;
    for (int64_t other = 0; other < others; ++other)
      columns.push_back(sums[other * vectors.count() + vector]);
    const int64_t end = lanesOf(vector) * others;
    for (int64_t at = 0; at < end; at += vectorLanes) {
      const int64_t count = std::min(end - at, vectorLanes);
      SmallVector<int64_t> picks;
      for (int64_t i = at; i < at + count; ++i)
        picks.push_back(i % others * vectorLanes + i / others);
      storeRun(firstLane + vector * vectorLanes, at,
               pickLanes(k, columns, picks), count);
    }
  }
}

//===----------------------------------------------------------------------===//
// Lanes along the sums
//===----------------------------------------------------------------------===//

/// Lane i is what collapse() makes of vector i; at most 16 of them.
Value Tile::collapseTogether(ArrayRef<Value> sums) {
  auto add = [&](Value a, Value b) { return c.add(k, a, b); };
  if (sums.size() == 1) {
    Value sum = collapse(k, sums, add);
    return k.create<vector::BroadcastOp>(sums.front().getType(), sum);
  }
  // Each step halves the lanes of a sum, and two vectors become one. A vector
  // without a partner stands beside itself.
  Values vectors(sums);
  for (int64_t half = vectorLanes / 2; half > 0; half /= 2) {
    Values next;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      Value a = vectors[i], b = vectors[std::min(i + 1, vectors.size() - 1)];
      SmallVector<int64_t> low, high;
      for (int64_t first = 0; first < 2 * vectorLanes; first += 2 * half)
        for (int64_t place = first; place < first + half; ++place) {
          low.push_back(place);
          high.push_back(place + half);
        }
      next.push_back(add(k.create<vector::ShuffleOp>(a, b, low),
                         k.create<vector::ShuffleOp>(a, b, high)));
    }
    vectors = std::move(next);
  }
  return vectors.front();
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
        Value a = operand(left, output, sum);
        Value b = operand(right, output, sum);
        Value &held = next[row * columns + column];
        Value added = c.multiplyAdd(k, a, b, held);
        held =
            k.points.mask
                ? Value(k.create<arith::SelectOp>(k.points.mask, added, held))
                : added;
      }
    return next;
  };
  Values sums(rows * columns, zero());
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
  Value results = collapseTogether(sums);
  // Whole rows follow each other.
  const int64_t run = columns == tiling.columns ? rows * columns : columns;
  for (int64_t first = 0; first < rows * columns; first += run) {
    auto picks = llvm::to_vector(llvm::seq(first, first + run));
    storeRun(firstRow + first / columns, firstColumn,
             first ? pickLanes(k, {results}, picks) : results, run);
  }
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

LogicalResult checkProduct(const KernelSource &source) {
  return checkContraction(source.root);
}

Demand demandOfContraction(const KernelSource &source) {
  Contraction c = *Contraction::of(source.root);
  return {Tiling(c.access(), /*wideRegisters=*/true).units(), 0};
}

void emitContraction(KernelBuilder &k, unsigned) {
  Contraction c = *Contraction::of(k.source.root);
  ContractionAccess access = c.access();
  Tiling tiling(access, k.instructions.hasWideRegisters);
  k.forUnits(tiling.units(), [&](const IndexExpression &unit) {
    SmallVector<int64_t> shape = tiling.outer;
    shape.push_back(tiling.columnBlocks());
    shape.push_back(tiling.rowBlocks());
    Indices blocks = k.algebra.delinearize(unit, shape);
    IndexExpression rowBlock = blocks.pop_back_val();
    IndexExpression columnBlock = blocks.pop_back_val();
    Tile tile(k, c, tiling, access, blocks);
    k.forBlock(rowBlock, tiling.rows, tiling.tileRows,
               [&](const IndexExpression &row, int64_t rows) {
                 k.forBlock(
                     columnBlock, tiling.columns, tiling.tileColumns,
                     [&](const IndexExpression &column, int64_t columns) {
                       if (tiling.lanes == ContractionLanes::sums)
                         tile.alongSums(row, rows, column, columns);
                       else if (tiling.lanes == ContractionLanes::rows)
                         tile.alongResult(row, rows, column, columns);
                       else
                         tile.alongResult(column, columns, row, rows);
                     });
               });
  });
}

} // namespace

extern const Template contractionTemplate;
const Template contractionTemplate = {
    .accepts = acceptsOp<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>,
    .demand = demandOfContraction,
    .emit = emitContraction,
    .check = checkProduct};

} // namespace tenon::codegen
