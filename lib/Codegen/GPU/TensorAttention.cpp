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
  return element.isBF16() || element.isF16() ? operand : Value();
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
    return type.isF32() || type.isBF16() || type.isF16();
  };
  // Of less, most of an instruction would be lost.
  return llvm::all_of(tensors, isNarrow) && llvm::all_of(results, isFloat) &&
         llvm::none_of(source.inPlace, [](int64_t i) { return i >= 0; }) &&
         p.features <= mostFeatures && p.valueFeatures <= mostFeatures &&
         p.queries >= 8 && p.keys >= 8;
}

int64_t paddedFeatures(int64_t features) {
  return std::max<int64_t>(llvm::PowerOf2Ceil(features), sumsAtOnce);
}

TensorAttentionKernel::TensorAttentionKernel(
    const KernelSource &source, func::FuncOp function,
    const LaunchShape &launch, const GpuInstructions &instructions,
    const step::AttentionProblem &problem)
    : GpuAttentionKernel(source, function, launch, instructions, problem),
      isPlain(!problem.bias && !problem.mask && problem.scale > 0),
      tiles(*this, cast<FloatType>(elementOf(narrowOf(problem.query)))),
      row(algebra.floorDiv(tiles.lane, 4)),
      column(algebra.mod(tiles.lane, 4) * 2) {}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value TensorAttentionKernel::joined(Values values, Combine combine) {
  while (values.size() > 1) {
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      values[i / 2] = combine(values[i], values[i + 1]);
    if (values.size() % 2)
      values[values.size() / 2] = values.back();
    values.truncate(llvm::divideCeil(values.size(), 2));
  }
  return values.front();
}

Value TensorAttentionKernel::overRow(Value value, Combine combine) {
  Type i32 = builder.getI32Type();
  auto integer = [&](int64_t value) {
    return numberOfType(builder, loc, i32, double(value));
  };
  for (int64_t distance : {1, 2}) {
    Value bits = create<arith::BitcastOp>(i32, value);
    Value other = create<NVVM::ShflOp>(
        i32, integer(-1), bits, integer(distance), integer(threadsOfWarp - 1),
        NVVM::ShflKind::bfly, UnitAttr());
    value =
        combine(value, create<arith::BitcastOp>(builder.getF32Type(), other));
  }
  return value;
}

Value TensorAttentionKernel::largerOrNaN(Value a, Value b) {
  return create<arith::MaximumFOp>(a, b);
}

Value TensorAttentionKernel::multiplyAdd(Value a, Value b, Value c) {
  return create<math::FmaOp>(a, b, c);
}

Value TensorAttentionKernel::coarseExp2(Value exponent) {
  return emitCoarseExp2(builder, loc, exponent, instructions);
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
TensorAttentionKernel::ofRow(ArrayRef<Value> elements, int64_t half) const {
  Values found;
  for (auto [i, element] : llvm::enumerate(elements))
    if (int64_t(i) / 2 % 2 == half)
      found.push_back(element);
  return found;
}

TensorAttentionKernel::Values
TensorAttentionKernel::loadRows(Value tile, const TileShape &shape,
                                int64_t sum) {
  return tiles.loadMatrices(
      tiles.addressAt(
          tile, tiles.placeOfLeft(shape, true, tiles.warp * rowsOfWarp, sum)),
      true);
}

void TensorAttentionKernel::addProducts(MutableArrayRef<Value> sums,
                                        ValueRange a, ValueRange b) {
  llvm::copy(tiles.multiplyAdd(a, b, sums), sums.begin());
}

TensorAttentionKernel::Values
TensorAttentionKernel::productsOf(llvm::function_ref<Values(int64_t)> rowsAt,
                                  Value tile, const TileShape &shape) {
  const int64_t count = shape.rows / columnsAtOnce;
  Values products(4 * count, number(0));
  for (int64_t s = 0; s < shape.width; s += sumsAtOnce) {
    Values rows = rowsAt(s);
    for (int64_t j = 0; j < count; j += 2) {
      Values both = tiles.loadMatrices(
          tiles.addressAt(
              tile, tiles.placeOfRight(shape, true, j * columnsAtOnce, s)),
          true);
      for (int64_t i = 0; i < 2; ++i)
        addProducts(MutableArrayRef(products).slice(4 * (j + i), 4), rows,
                    ArrayRef(both).slice(2 * i, 2));
    }
  }
  return products;
}

void TensorAttentionKernel::addWeighted(ArrayRef<Weighted> all, Value tile,
                                        const TileShape &shape) {
  for (int64_t s = 0; s < shape.rows; s += sumsAtOnce) {
    // Two neighbours of results are two neighbours of an operand.
    SmallVector<Values> rows;
    for (const Weighted &each : all) {
      ArrayRef<Value> w = each.coefficients.slice(4 * s / columnsAtOnce, 8);
      rows.push_back({tiles.pack(w[0], w[1]), tiles.pack(w[2], w[3]),
                      tiles.pack(w[4], w[5]), tiles.pack(w[6], w[7])});
    }
    for (int64_t j = 0; j < shape.width / columnsAtOnce; j += 2) {
      Values both = tiles.loadMatrices(
          tiles.addressAt(
              tile, tiles.placeOfRight(shape, false, j * columnsAtOnce, s)),
          false);
      for (auto [each, row] : llvm::zip_equal(all, rows))
        for (int64_t i = 0; i < 2; ++i)
          addProducts(each.sums.slice(4 * (j + i), 4), row,
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
          fetch(block + 1, to, computed);
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
  const int64_t width = int64_t(sums.size()) / 4 * columnsAtOnce;
  int64_t lanes = 1;
  if (hasFeaturesLast(dims))
    for (lanes = bytesOfAccess / bytesOf(type); features % lanes;)
      lanes /= 2;
  Value own = tiles.addressAt(memory, tiles.warp *
                                          (rowsOfWarp * width * bytesOf(type)));
  tiles.forVectors(
      own, sums, width, type, lanes,
      [&](const IndexExpression &inWarp, const IndexExpression &feature,
          Value vector) {
        ifBelow(first + inWarp, rows, [&](const IndexExpression &row) {
          ifBelow(feature, features, [&](const IndexExpression &feature) {
            algebra.lanes = lanes;
            storePart(result,
                      indices(dims, row, row, vectorAt(feature, features)),
                      {vector, levels.current()});
            algebra.lanes = 1;
          });
        });
      });
}

} // namespace tenon::codegen
