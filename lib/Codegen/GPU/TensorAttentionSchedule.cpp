//===- TensorAttentionSchedule.cpp - Attention on tensor cores ------------===//
//
// `step.attention` of 16-bit operands. A block of threads has 64 queries of one
// batch, each of its four warps 16 of them, and walks the keys in blocks of 32:
// tiles of keys and values go to shared memory, one block ahead. Scores and
// weights of a warp stay in its registers:
//
//   scores   mma.sync of queries and keys, times the scale, with bias and mask
//   maximum  so far, of each row; what was summed before is multiplied by
//            exp(old maximum - new maximum)
//   weights  exp(score - maximum), summed in f32, and rounded to 16 bits
//   output   mma.sync of weights and values, added to what there is
//
// At the end the output is multiplied by the reciprocal of the weights' sum.
// The order of sums is not that of docs/Rationale/Attention.md, which is one
// chain per element, and weights are rounded before they are divided by their
// sum; GpuKernels.md says how much that is.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "TensorTiles.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/MathExpansions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <limits>

using namespace mlir;

namespace tenon::codegen {
namespace {

using step::AttentionProblem;
using Values = GpuKernelBuilder::Values;

constexpr int64_t warps = 4, rowsOfWarp = 16,
                  queriesOfBlock = warps * rowsOfWarp;
constexpr int64_t keysOfBlock = 32, stages = 2;
constexpr int64_t columnsAtOnce = 8, sumsAtOnce = 16;
constexpr int64_t mostFeatures = 128;

/// The tensor of 16 bits that an operand is, or is widened from; null if it is
/// neither.
Value narrowOf(Value operand) {
  if (auto convert = operand.getDefiningOp<stablehlo::ConvertOp>())
    operand = convert.getOperand();
  Type element = elementOf(operand);
  return element.isBF16() || element.isF16() ? operand : Value();
}

step::AttentionOp attentionOf(const KernelSource &source) {
  auto op = dyn_cast_or_null<step::AttentionOp>(source.root);
  if (!op || llvm::any_of(source.inPlace, [](int64_t i) { return i >= 0; }))
    return nullptr;
  AttentionProblem p(op);
  Value query = narrowOf(p.query), key = narrowOf(p.key),
        value = narrowOf(p.value);
  if (!query || !key || !value || elementOf(query) != elementOf(key) ||
      elementOf(query) != elementOf(value))
    return nullptr;
  Type output = elementOf(op.getOutput());
  const bool hasTypes = output.isF32() || output.isBF16() || output.isF16();
  // Of less, most of an instruction would be lost.
  const bool fits = p.features <= mostFeatures &&
                    p.valueFeatures <= mostFeatures && p.queries >= 8 &&
                    p.keys >= 8;
  return hasTypes && fits ? op : nullptr;
}

int64_t queryBlocks(const AttentionProblem &p) {
  return llvm::divideCeil(p.queries, queriesOfBlock);
}

class AttentionOnTensorCores : GpuKernelBuilder {
public:
  AttentionOnTensorCores(const KernelSource &source, func::FuncOp function,
                         const LaunchShape &launch,
                         const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        op(attentionOf(source)), problem(op),
        tiles(*this, cast<FloatType>(elementOf(narrowOf(problem.query)))),
        features(padded(problem.features)),
        valueFeatures(padded(problem.valueFeatures)),
        makesOutput(source.indexOfResult(op.getOutput()) >= 0) {
    emit();
  }

private:
  /// A power of two, of at least one instruction's sum.
  static int64_t padded(int64_t features) {
    return std::max<int64_t>(llvm::PowerOf2Ceil(features), sumsAtOnce);
  }
  Value number(double value) {
    return numberOfType(builder, loc, builder.getF32Type(), value);
  }
  static constexpr float nothing = -std::numeric_limits<float>::infinity();

  Indices indices(ArrayRef<int64_t> dims, const IndexExpression &query,
                  const IndexExpression &key, const IndexExpression &feature) {
    Indices all;
    for (int64_t dimension : dims)
      all.push_back(dimension >= 0                      ? batch[dimension]
                    : dimension == step::queryPositions ? query
                    : dimension == step::keyPositions   ? key
                                                        : feature);
    return all;
  }

  /// Rows of queries, keys or values with their features as the sum.
  TensorOperand operandOf(Value tensor, ArrayRef<int64_t> dims, int64_t rows,
                          int64_t features) {
    TensorOperand operand;
    operand.tensor = narrowOf(tensor);
    operand.rows = rows;
    operand.sum = features;
    operand.isAlongSum = true;
    operand.neighbours = 1;
    if (dims.back() == step::queryFeatures ||
        dims.back() == step::valueFeatures)
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

  void emit();
  void takeBlock(const IndexExpression &firstKey, Value stage, Values &state);
  Value scoreAt(Value product, const IndexExpression &query,
                const IndexExpression &key);
  Value besides(Value tensor, ArrayRef<int64_t> dims,
                const IndexExpression &query, const IndexExpression &key);
  Value larger(Value a, Value b) {
    Value isLarger = create<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
    return create<arith::SelectOp>(isLarger, a, b);
  }
  Value exponential(Value a, Value b) {
    Value difference = create<arith::SubFOp>(a, b);
    return emitMath(builder, loc, MathFunction::exp, {difference},
                    instructions);
  }
  /// Of the four lanes that have a row, in all of them.
  Value overRow(Value value, llvm::function_ref<Value(Value, Value)> combine) {
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

  step::AttentionOp op;
  AttentionProblem problem;
  TensorTiles tiles;
  const int64_t features, valueFeatures;
  const bool makesOutput;
  Indices batch;
  /// The row of this lane's first elements, of eight, and the column.
  IndexExpression row, column;
  SmallVector<Values> queryRegisters;
  TileShape keyShape, valueShape;
};

/// What a loop over blocks of keys carries, in this order: the maxima and sums
/// of two rows, and the output of 16.
constexpr size_t maximaAt = 0, sumsAt = 2, outputAt = 4;

void AttentionOnTensorCores::emit() {
  Indices place = algebra.delinearize(
      block, {elementCount(problem.batch), queryBlocks(problem)});
  batch = algebra.delinearize(place[0], problem.batch);
  IndexExpression firstQuery = place[1] * queriesOfBlock;
  IndexExpression firstRow = tiles.warp * rowsOfWarp;
  row = firstQuery + firstRow + algebra.floorDiv(tiles.lane, 4);
  column = algebra.mod(tiles.lane, 4) * 2;

  TensorOperand query = operandOf(problem.query, problem.queryDims,
                                  problem.queries, problem.features),
                key = operandOf(problem.key, problem.keyDims, problem.keys,
                                problem.features),
                value = operandOf(problem.value, problem.valueDims,
                                  problem.keys, problem.valueFeatures);
  const TileShape queryShape{queriesOfBlock, features};
  keyShape = {keysOfBlock, features};
  valueShape = {keysOfBlock, valueFeatures};
  const int64_t stageBytes = keyShape.bytes() + valueShape.bytes();
  const int64_t resultBytes =
      makesOutput
          ? queriesOfBlock * valueFeatures * bytesOf(elementOf(op.getOutput()))
          : 0;
  Value memory = tiles.sharedMemory(
      std::max(queryShape.bytes() + stages * stageBytes, resultBytes));

  // Keys behind the last query of the block are not looked at.
  const int64_t blocks = llvm::divideCeil(problem.keys, keysOfBlock);
  Value end = constantIndex(blocks);
  if (problem.causal) {
    IndexExpression behind = algebra.floorDiv(
        firstQuery + (queriesOfBlock + keysOfBlock - 1), keysOfBlock);
    end = create<arith::MinUIOp>(algebra.scalar(behind), end);
  }

  auto fetch = [&](const IndexExpression &index, Value stage,
                   SmallVectorImpl<TensorTiles::Held> &held) {
    tiles.begin(key, keyShape, index * keysOfBlock, 0, stage, 0, held);
    if (makesOutput)
      tiles.begin(value, valueShape, index * keysOfBlock, 0, stage,
                  keyShape.bytes(), held);
  };
  SmallVector<TensorTiles::Held> held;
  tiles.begin(query, queryShape, firstQuery, 0, memory, 0, held);
  tiles.store(memory, held);
  Value stageMemory =
      tiles.addressAt(memory, IndexExpression(queryShape.bytes()));
  held.clear();
  fetch(0, stageMemory, held);
  tiles.store(stageMemory, held);
  tiles.endGroup();
  tiles.awaitGroups(0);
  awaitBlock();
  for (int64_t s = 0; s < features; s += sumsAtOnce)
    queryRegisters.push_back(tiles.loadMatrices(
        tiles.addressAt(memory,
                        tiles.placeOfLeft(queryShape, true, firstRow, s)),
        true));

  Values state = {number(nothing), number(nothing), number(0), number(0)};
  if (makesOutput)
    state.append(4 * valueFeatures / columnsAtOnce, number(0));
  const size_t count = state.size();
  state.push_back(constantIndex(0));
  state =
      forLoop(constantIndex(0), end, 1, {0, blocks - 1}, 1, /*isLane=*/false,
              state, [&](const IndexExpression &index, ValueRange carried) {
                Values next(carried.begin(), carried.begin() + count);
                Value read = carried[count];
                tiles.awaitGroups(0);
                awaitBlock();
                Value write =
                    create<arith::SubIOp>(constantIndex(stageBytes), read);
                Value to = tiles.addressAt(stageMemory, write);
                SmallVector<TensorTiles::Held> computed;
                fetch(index + 1, to, computed);
                tiles.endGroup();
                takeBlock(index * keysOfBlock,
                          tiles.addressAt(stageMemory, read), next);
                tiles.store(to, computed);
                next.push_back(write);
                return next;
              });
  tiles.awaitGroups(0);
  awaitBlock();

  auto add = [&](Value a, Value b) -> Value {
    return create<arith::AddFOp>(a, b);
  };
  for (int64_t half = 0; half < 2; ++half) {
    Value &sum = state[sumsAt + half];
    sum = overRow(sum, add);
    ifBelow(row + 8 * half, problem.queries, [&](const IndexExpression &query) {
      ifBelow(column, 2, [&](const IndexExpression &) {
        Indices at = batch;
        at.push_back(query);
        for (auto [result, value] :
             {std::pair(op.getMaximum(), state[maximaAt + half]),
              std::pair(op.getSum(), sum)})
          if (int i = source.indexOfResult(result); i >= 0)
            storeResult(i, at,
                        {convertFloat(builder, loc, value, elementOf(result)),
                         levels.current()});
      });
    });
  }
  if (!makesOutput)
    return;
  Value factors[2];
  for (int64_t half = 0; half < 2; ++half)
    factors[half] = create<arith::DivFOp>(number(1), state[sumsAt + half]);
  MutableArrayRef<Value> output =
      MutableArrayRef(state).slice(outputAt, count - outputAt);
  for (auto [i, value] : llvm::enumerate(output))
    value = create<arith::MulFOp>(value, factors[i / 2 % 2]);

  Type type = elementOf(op.getOutput());
  int64_t lanes = 1;
  if (op.getOutputDims().back() == step::valueFeatures)
    for (lanes = bytesOfAccess / bytesOf(type); problem.valueFeatures % lanes;)
      lanes /= 2;
  Value own = tiles.addressAt(
      memory, tiles.warp * (rowsOfWarp * valueFeatures * bytesOf(type)));
  tiles.forVectors(
      own, output, valueFeatures, type, lanes,
      [&](const IndexExpression &inWarp, const IndexExpression &feature,
          Value vector) {
        ifBelow(firstQuery + firstRow + inWarp, problem.queries,
                [&](const IndexExpression &query) {
                  ifBelow(
                      feature, problem.valueFeatures,
                      [&](const IndexExpression &feature) {
                        algebra.lanes = lanes;
                        storeResult(
                            source.indexOfResult(op.getOutput()),
                            indices(op.getOutputDims(), query, 0,
                                    vectorAt(feature, problem.valueFeatures)),
                            {vector, levels.current()});
                        algebra.lanes = 1;
                      });
                });
      });
}

Value AttentionOnTensorCores::besides(Value tensor, ArrayRef<int64_t> dims,
                                      const IndexExpression &query,
                                      const IndexExpression &key) {
  Value value = points.at(tensor, indices(dims, query, key, 0)).value;
  if (!isa<FloatType>(elementOf(tensor)))
    return value;
  return convertFloat(builder, loc, value, builder.getF32Type());
}

Value AttentionOnTensorCores::scoreAt(Value product,
                                      const IndexExpression &query,
                                      const IndexExpression &key) {
  // What there is not is left out; what is read for it is another element.
  IndexExpression q = algebra.clamped(query, {0, problem.queries - 1}),
                  k = algebra.clamped(key, {0, problem.keys - 1});
  Value score = product;
  if (problem.scale != 1)
    score = create<arith::MulFOp>(score, number(problem.scale));
  if (problem.bias)
    score = create<arith::AddFOp>(
        score, besides(problem.bias, problem.biasDims, q, k));
  if (problem.mask)
    score =
        create<arith::SelectOp>(besides(problem.mask, problem.maskDims, q, k),
                                score, number(*problem.fill));
  auto keep = [&](arith::CmpIPredicate predicate, Value limit) {
    Value isThere =
        create<arith::CmpIOp>(predicate, algebra.scalar(key), limit);
    score = create<arith::SelectOp>(isThere, score, number(nothing));
  };
  if (problem.causal)
    keep(arith::CmpIPredicate::ule, algebra.scalar(query));
  if (algebra.range(key).high >= problem.keys)
    keep(arith::CmpIPredicate::ult, constantIndex(problem.keys));
  return score;
}

void AttentionOnTensorCores::takeBlock(const IndexExpression &firstKey,
                                       Value stage, Values &state) {
  constexpr int64_t count = keysOfBlock / columnsAtOnce;
  Values scores(4 * count, number(0));
  auto addTo = [&](MutableArrayRef<Value> sums, ValueRange a, ValueRange b) {
    llvm::copy(tiles.multiplyAdd(a, b, sums), sums.begin());
  };
  for (int64_t j = 0; j < count; j += 2)
    for (int64_t s = 0; s < features; s += sumsAtOnce) {
      Values both = tiles.loadMatrices(
          tiles.addressAt(
              stage, tiles.placeOfRight(keyShape, true, j * columnsAtOnce, s)),
          true);
      for (int64_t i = 0; i < 2; ++i)
        addTo(MutableArrayRef(scores).slice(4 * (j + i), 4),
              queryRegisters[s / sumsAtOnce], ArrayRef(both).slice(2 * i, 2));
    }

  auto queryOf = [&](int64_t i) { return row + 8 * (i / 2 % 2); };
  auto keyOf = [&](int64_t i) {
    return firstKey + column + (i / 4 * columnsAtOnce + i % 2);
  };
  for (int64_t i = 0; i < int64_t(scores.size()); ++i)
    scores[i] = scoreAt(scores[i], queryOf(i), keyOf(i));
  auto isOf = [](int64_t i, int64_t half) { return i / 2 % 2 == half; };
  for (int64_t half = 0; half < 2; ++half) {
    Value old = state[maximaAt + half], maximum = old;
    for (int64_t i = 0; i < int64_t(scores.size()); ++i)
      if (isOf(i, half))
        maximum = larger(scores[i], maximum);
    maximum = overRow(maximum, [&](Value a, Value b) { return larger(a, b); });
    // Where there is nothing but -infinity, all weights are 0.
    Value isNothing = create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                                            number(nothing));
    Value reference = create<arith::SelectOp>(isNothing, number(0), maximum);
    Value correction = exponential(old, reference);
    Value sum = create<arith::MulFOp>(state[sumsAt + half], correction);
    for (int64_t i = 0; i < int64_t(scores.size()); ++i)
      if (isOf(i, half)) {
        scores[i] = exponential(scores[i], reference);
        sum = create<arith::AddFOp>(sum, scores[i]);
      }
    state[maximaAt + half] = maximum;
    state[sumsAt + half] = sum;
    for (size_t i = outputAt; i < state.size(); ++i)
      if (isOf(i - outputAt, half))
        state[i] = create<arith::MulFOp>(state[i], correction);
  }
  if (!makesOutput)
    return;
  if (problem.factor)
    for (int64_t i = 0; i < int64_t(scores.size()); ++i)
      scores[i] = create<arith::MulFOp>(
          scores[i],
          besides(problem.factor, problem.factorDims,
                  algebra.clamped(queryOf(i), {0, problem.queries - 1}),
                  algebra.clamped(keyOf(i), {0, problem.keys - 1})));
  for (int64_t s = 0; s < keysOfBlock; s += sumsAtOnce) {
    // Two neighbours of results are two neighbours of an operand.
    ArrayRef<Value> w = ArrayRef(scores).slice(4 * s / columnsAtOnce, 8);
    Values weights = {tiles.pack(w[0], w[1]), tiles.pack(w[2], w[3]),
                      tiles.pack(w[4], w[5]), tiles.pack(w[6], w[7])};
    for (int64_t j = 0; j < valueFeatures / columnsAtOnce; j += 2) {
      Values both = tiles.loadMatrices(
          tiles.addressAt(stage, tiles.placeOfRight(valueShape, false,
                                                    j * columnsAtOnce, s) +
                                     keyShape.bytes()),
          false);
      for (int64_t i = 0; i < 2; ++i)
        addTo(MutableArrayRef(state).slice(outputAt + 4 * (j + i), 4), weights,
              ArrayRef(both).slice(2 * i, 2));
    }
  }
}

} // namespace

bool TensorAttentionSchedule::accepts(const KernelSource &source) const {
  return attentionOf(source) != nullptr;
}

LaunchShape
TensorAttentionSchedule::launchShape(const KernelSource &source) const {
  AttentionProblem problem(attentionOf(source));
  return {.parts = elementCount(problem.batch) * queryBlocks(problem),
          .threads = warps * threadsOfWarp};
}

EmittedLoops TensorAttentionSchedule::emit(const KernelSource &source,
                                           ModuleOp module, StringRef name,
                                           unsigned) const {
  return emitAs<AttentionOnTensorCores>(source, module, name);
}

} // namespace tenon::codegen
