//===- TensorAttention.cpp - What attention on tensor cores shares --------===//
//
// See TensorAttention.h.
//
//===----------------------------------------------------------------------===//

#include "TensorAttention.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/MathExpansions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::codegen {

/// The tensor of 16 bits that an operand is, or is widened from; null if it is
/// neither.
static Value narrowOf(Value operand) {
  if (auto convert = operand.getDefiningOp<stablehlo::ConvertOp>())
    operand = convert.getOperand();
  Type element = elementOf(operand);
  return stablehlo::isFloatOf16Bits(element) ? operand : Value();
}

bool fitsTensorAttention(const KernelSource &source,
                         const step::AttentionProblem &p,
                         ArrayRef<Value> tensors, ArrayRef<Value> results) {
  constexpr int64_t mostFeatures = 128;
  auto isNarrow = [&](Value tensor) {
    Value narrow = narrowOf(tensor);
    return narrow && elementOf(narrow) == elementOf(narrowOf(tensors.front()));
  };
  auto isFloat = [](Value result) {
    Type type = elementOf(result);
    return type.isF32() || stablehlo::isFloatOf16Bits(type);
  };
  // Of less, most of an instruction would be lost.
  return llvm::all_of(tensors, isNarrow) && llvm::all_of(results, isFloat) &&
         llvm::none_of(source.inPlace, [](int64_t i) { return i >= 0; }) &&
         p.features <= mostFeatures && p.valueFeatures <= mostFeatures &&
         p.queries >= 8 && p.keys >= 8;
}

bool arePlain(const step::AttentionProblem &p) {
  return !p.bias && !p.mask && p.scale > 0;
}

int64_t paddedFeatures(int64_t features) {
  return std::max<int64_t>(llvm::PowerOf2Ceil(features), sumsAtOnce);
}

TensorAttentionKernel::TensorAttentionKernel(
    const KernelSource &source, func::FuncOp function,
    const LaunchShape &launch, const GpuInstructions &instructions,
    const step::AttentionProblem &problem, const BlockShape &shape)
    : GpuAttentionKernel(source, function, launch, instructions, problem),
      isPlain(arePlain(problem)), shape(shape),
      tiles(*this, cast<FloatType>(elementOf(narrowOf(problem.query)))),
      row(algebra.floorDiv(tiles.lane, 4)),
      column(algebra.mod(tiles.lane, 4) * 2) {}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value TensorAttentionKernel::overLanes(Value value, ArrayRef<int64_t> distances,
                                       Combine combine) {
  Type i32 = builder.getI32Type();
  auto integer = [&](int64_t value) {
    return numberOfType(builder, loc, i32, double(value));
  };
  for (int64_t distance : distances) {
    Value bits = create<arith::BitcastOp>(i32, value);
    Value other = create<NVVM::ShflOp>(
        i32, integer(-1), bits, integer(distance), integer(threadsOfWarp - 1),
        NVVM::ShflKind::bfly, UnitAttr());
    value =
        combine(value, create<arith::BitcastOp>(builder.getF32Type(), other));
  }
  return value;
}

Value TensorAttentionKernel::isAnyOfWarp(Value condition) {
  return create<NVVM::VoteSyncOp>(
      builder.getI1Type(), numberOfType(builder, loc, builder.getI32Type(), -1),
      condition, NVVM::VoteSyncKind::any);
}

Value TensorAttentionKernel::largerOrNaN(Value a, Value b) {
  return create<arith::MaximumFOp>(a, b);
}

Value TensorAttentionKernel::multiplyAdd(Value a, Value b, Value c) {
  return create<math::FmaOp>(a, b, c);
}

Value TensorAttentionKernel::coarseExp2(Value shifted) {
  return emitCoarseExp2(builder, loc, shifted, instructions);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

TensorOperand TensorAttentionKernel::operandOf(Value tensor,
                                               ArrayRef<int64_t> dims,
                                               int64_t rows, int64_t features) {
  TensorOperand operand;
  operand.tensor = narrowOf(tensor);
  operand.rows = rows;
  operand.sum = features;
  operand.isAlongSum = true;
  operand.neighbours = 1;
  if (hasFeaturesLast(dims))
    for (operand.neighbours = TileShape::elementsOfChunk;
         features % operand.neighbours;)
      operand.neighbours /= 2;
  operand.at = [this, dims](const IndexExpression &row,
                            const IndexExpression &feature) {
    OperandElement element;
    element.indices = indices(dims, row, row, feature);
    return element;
  };
  return operand;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

TensorAttentionKernel::Values
TensorAttentionKernel::loadRows(Value tile, const TileShape &tileShape,
                                int64_t strip, int64_t sum) {
  const IndexExpression first =
      tiles.warp * shape.rowsOfWarp() + strip * rowsOfStrip;
  return tiles.loadMatrices(
      tiles.addressAt(tile, tiles.placeOfLeft(tileShape, true, first, sum)),
      true);
}

void TensorAttentionKernel::addProducts(MutableArrayRef<Value> sums,
                                        ValueRange a, ValueRange b) {
  llvm::copy(tiles.multiplyAdd(a, b, sums), sums.begin());
}

TensorAttentionKernel::Values TensorAttentionKernel::productsOf(
    llvm::function_ref<Values(int64_t, int64_t)> rowsAt, Value tile,
    const TileShape &tileShape) {
  const int64_t count = tileShape.rows / columnsAtOnce;
  Values products(elementsOfLane(tileShape.rows), number(0));
  for (int64_t s = 0; s < tileShape.width; s += sumsAtOnce) {
    SmallVector<Values> rows;
    for (int64_t strip = 0; strip < shape.strips; ++strip)
      rows.push_back(rowsAt(strip, s));
    for (int64_t j = 0; j < count; j += 2) {
      Values both = tiles.loadMatrices(
          tiles.addressAt(
              tile, tiles.placeOfRight(tileShape, true, j * columnsAtOnce, s)),
          true);
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t strip = 0; strip < shape.strips; ++strip)
          addProducts(MutableArrayRef(products).slice(
                          4 * ((j + i) * shape.strips + strip), 4),
                      rows[strip], ArrayRef(both).slice(2 * i, 2));
    }
  }
  return products;
}

void TensorAttentionKernel::addWeighted(ArrayRef<Weighted> all, Value tile,
                                        const TileShape &tileShape) {
  const int64_t strips = shape.strips;
  for (int64_t s = 0; s < tileShape.rows; s += sumsAtOnce) {
    // Two neighbours of results are two neighbours of an operand.
    SmallVector<Values> rows;
    for (const Weighted &each : all)
      for (int64_t strip = 0; strip < strips; ++strip) {
        Values registers;
        for (int64_t i = 0; i < sumsAtOnce / columnsAtOnce; ++i) {
          ArrayRef<Value> w = each.coefficients.slice(
              4 * ((s / columnsAtOnce + i) * strips + strip), 4);
          registers.push_back(tiles.pack(w[0], w[1]));
          registers.push_back(tiles.pack(w[2], w[3]));
        }
        rows.push_back(registers);
      }
    for (int64_t j = 0; j < tileShape.width / columnsAtOnce; j += 2) {
      Values both = tiles.loadMatrices(
          tiles.addressAt(
              tile, tiles.placeOfRight(tileShape, false, j * columnsAtOnce, s)),
          false);
      for (auto [number, each] : llvm::enumerate(all))
        for (int64_t i = 0; i < 2; ++i)
          for (int64_t strip = 0; strip < strips; ++strip)
            addProducts(each.sums.slice(4 * ((j + i) * strips + strip), 4),
                        rows[int64_t(number) * strips + strip],
                        ArrayRef(both).slice(2 * i, 2));
    }
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

SmallVector<TensorAttentionKernel::Stretch>
TensorAttentionKernel::stretchesOfKeys(const IndexExpression &first,
                                       int64_t rows, int64_t columns) {
  const int64_t blocks = llvm::divideCeil(problem.keys, columns),
                wholeBlocks = problem.keys / columns;
  Value end = constantIndex(blocks), wholeEnd = constantIndex(wholeBlocks);
  if (problem.causal) {
    // Keys behind the last query are not looked at. Whole blocks are in front
    // of the first one.
    auto blocksBefore = [&](const IndexExpression &key) {
      return algebra.scalar(algebra.floorDiv(key, columns));
    };
    end =
        create<arith::MinUIOp>(blocksBefore(first + (rows + columns - 1)), end);
    wholeEnd = create<arith::MinUIOp>(blocksBefore(first + 1), wholeEnd);
  }
  SmallVector<Stretch> stretches = {{wholeEnd, /*isWhole=*/true}};
  if (problem.causal || wholeBlocks < blocks)
    stretches.push_back({end, /*isWhole=*/false});
  return stretches;
}

TensorAttentionKernel::Values
TensorAttentionKernel::walk(Value first, ArrayRef<Stretch> stretches,
                            int64_t count, Value stages, int64_t stageBytes,
                            Values state, Fetch fetch, Take take) {
  const size_t carriedState = state.size();
  state.push_back(constantIndex(0));
  for (const Stretch &stretch : stretches) {
    state = forLoop(
        first, stretch.end, 1, {0, count - 1}, 1, /*isLane=*/false, state,
        [&](const IndexExpression &block, ValueRange carried) {
          Values next(carried.begin(), carried.begin() + carriedState);
          Value read = carried[carriedState];
          tiles.awaitGroups(0);
          awaitBlock();
          Value write = create<arith::SubIOp>(constantIndex(stageBytes), read);
          Value to = tiles.addressAt(stages, write);
          SmallVector<TensorTiles::Held> computed;
          // The last block again rather than one that is not there.
          fetch(algebra.clamped(block + 1, {0, count - 1}), to, computed);
          tiles.endGroup();
          take(block, tiles.addressAt(stages, read), next, stretch.isWhole);
          tiles.store(to, computed);
          next.push_back(write);
          return next;
        });
    first = stretch.end;
  }
  tiles.awaitGroups(0);
  awaitBlock();
  state.pop_back();
  return state;
}

void TensorAttentionKernel::storeRows(Value result, ArrayRef<int64_t> dims,
                                      ArrayRef<Value> sums, int64_t features,
                                      const IndexExpression &first,
                                      int64_t rows, Value memory) {
  Type type = elementOf(result);
  const int64_t strips = shape.strips,
                width = int64_t(sums.size()) / 4 / strips * columnsAtOnce;
  int64_t lanes = 1;
  if (hasFeaturesLast(dims))
    for (lanes = bytesOfAccess / bytesOf(type); features % lanes;)
      lanes /= 2;
  for (int64_t strip = 0; strip < strips; ++strip) {
    Values ofStrip;
    for (auto [i, sum] : llvm::enumerate(sums))
      if (int64_t(i) / 4 % strips == strip)
        ofStrip.push_back(sum);
    const IndexExpression firstRow =
        tiles.warp * shape.rowsOfWarp() + strip * rowsOfStrip;
    tiles.forVectors(
        tiles.addressAt(memory, firstRow * (width * bytesOf(type))), ofStrip,
        width, type, lanes,
        [&](const IndexExpression &inStrip, const IndexExpression &feature,
            Value vector) {
          ifBelow(first + inStrip + strip * rowsOfStrip, rows,
                  [&](const IndexExpression &row) {
                    ifBelow(feature, features,
                            [&](const IndexExpression &feature) {
                              algebra.lanes = lanes;
                              storePart(result,
                                        indices(dims, row, row,
                                                vectorAt(feature, features)),
                                        {vector, levels.current()});
                              algebra.lanes = 1;
                            });
                  });
        });
  }
}

} // namespace tenon::codegen
