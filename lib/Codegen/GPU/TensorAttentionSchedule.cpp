//===- TensorAttentionSchedule.cpp - Attention on tensor cores ------------===//
//
// `step.attention` of 16-bit operands. A block of threads has some queries of
// one batch, each of its warps one or two strips of 16, and walks the keys in
// blocks: tiles of keys and values go to shared memory, one block ahead. Scores
// and weights of a warp stay in its registers:
//
//   scores   mma.sync of queries and keys, times the scale, with bias and mask
//   weights  exp(score - reference), summed in f32, and rounded to 16 bits
//   output   mma.sync of weights and values, added to what there is
//
// The reference of a row is the largest score that a warp had when it last
// looked. A warp looks again when a score is above it, for bf16 by a factor of
// 2^8 of the weight; then what was summed is multiplied by
// exp(old reference - new reference). Weights are kept smaller by that factor.
//
// Where nothing is added to scores or put in their place, they are products,
// and their scale is a factor of the exponent. Blocks whose keys all take part
// for all queries are walked first, and nothing is asked there.
//
// At the end the output is multiplied by the reciprocal of the weights' sum.
// The order of sums is not that of docs/Rationale/Attention.md, which is one
// chain per element, and weights are rounded before they are divided by their
// sum; GpuKernels.md says how much that is.
//
//===----------------------------------------------------------------------===//

#include "TensorAttention.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using step::AttentionProblem;

step::AttentionOp attentionOf(const KernelSource &source) {
  auto op = dyn_cast_or_null<step::AttentionOp>(source.root);
  if (!op)
    return nullptr;
  AttentionProblem p(op);
  return fitsTensorAttention(source, p, {p.query, p.key, p.value},
                             {op.getOutput()})
             ? op
             : nullptr;
}

/// Whether a thread has registers for more than one block of 32 keys.
bool areNarrow(const AttentionProblem &p) {
  return paddedFeatures(p.features) + paddedFeatures(p.valueFeatures) <= 128;
}

BlockShape shapeOf(const AttentionProblem &p) {
  return {.warps = 4, .strips = 1, .columns = areNarrow(p) ? 64 : 32};
}

class AttentionOnTensorCores : TensorAttentionKernel {
public:
  AttentionOnTensorCores(const KernelSource &source, func::FuncOp function,
                         const LaunchShape &launch,
                         const GpuInstructions &instructions)
      : TensorAttentionKernel(source, function, launch, instructions,
                              AttentionProblem(attentionOf(source)),
                              shapeOf(AttentionProblem(attentionOf(source)))),
        op(attentionOf(source)), keyShape{shape.columns,
                                          paddedFeatures(problem.features)},
        valueShape{shape.columns, paddedFeatures(problem.valueFeatures)},
        makesOutput(source.indexOfResult(op.getOutput()) >= 0) {
    setBlocksAtOnce(areNarrow(problem) ? 3 : 2);
    emit();
  }

private:
  void emit();
  void takeBlock(const IndexExpression &firstKey, Value stage, Values &state,
                 bool isWhole);
  /// New references, and what was summed before in relation to them.
  void moveReferences(Values &state);
  /// What a row's reference is, in a form that costs least at each score:
  /// the scaled negative of the number where scores are plain.
  Value referenceOf(Value score);
  /// The argument for coarseExp2 of a weight.
  Value shiftedExponent(Value score, Value reference);
  Value shiftedExponentOfChange(Value before, Value after);
  /// A new reference is taken where a weight would be larger than 1; it is then
  /// 2^-headroom. f16 has no exponents for that.
  float headroom() const { return isNarrowRange() ? 0 : 8; }
  bool isNarrowRange() const;
  double exponentOfScore() const {
    return (isPlain ? problem.scale : 1) * llvm::numbers::log2e;
  }

  step::AttentionOp op;
  const TileShape keyShape, valueShape;
  const bool makesOutput;
  /// The first query of the warp.
  IndexExpression firstQuery;
  SmallVector<Values> queryRegisters;
  /// What a loop over blocks of keys carries, in this order: of the lane's rows
  /// its own maxima, the references, and its own sums; and the output.
  Value &maximum(Values &state, int64_t row) const { return state[row]; }
  Value &reference(Values &state, int64_t row) const {
    return state[rowsOfLane() + row];
  }
  Value &sum(Values &state, int64_t row) const {
    return state[2 * rowsOfLane() + row];
  }
  MutableArrayRef<Value> output(Values &state) const {
    return MutableArrayRef(state).drop_front(3 * rowsOfLane());
  }
};

void AttentionOnTensorCores::emit() {
  Indices place = algebra.delinearize(
      block, {elementCount(problem.batch), shape.blocksOf(problem.queries)});
  batch = algebra.delinearize(place[0], problem.batch);
  IndexExpression firstOfBlock = place[1] * shape.rows();
  firstQuery = firstOfBlock + tiles.warp * shape.rowsOfWarp();

  TensorOperand query = operandOf(problem.query, problem.queryDims,
                                  problem.queries, problem.features),
                key = operandOf(problem.key, problem.keyDims, problem.keys,
                                problem.features),
                value = operandOf(problem.value, problem.valueDims,
                                  problem.keys, problem.valueFeatures);
  const TileShape queryShape{shape.rows(), keyShape.width};
  const int64_t stageBytes = keyShape.bytes() + valueShape.bytes();
  const int64_t resultBytes =
      makesOutput
          ? shape.rows() * valueShape.width * bytesOf(elementOf(op.getOutput()))
          : 0;
  Value memory = tiles.sharedMemory(std::max(
      queryShape.bytes() + stagesOfAttention * stageBytes, resultBytes));

  const SmallVector<Stretch> stretches =
      stretchesOfKeys(firstOfBlock, shape.rows(), shape.columns);

  auto fetch = [&](const IndexExpression &index, Value stage,
                   SmallVectorImpl<TensorTiles::Held> &held) {
    tiles.begin(key, keyShape, index * shape.columns, 0, stage, 0, held);
    if (makesOutput)
      tiles.begin(value, valueShape, index * shape.columns, 0, stage,
                  keyShape.bytes(), held);
  };
  SmallVector<TensorTiles::Held> held;
  tiles.begin(query, queryShape, firstOfBlock, 0, memory, 0, held);
  tiles.store(memory, held);
  Value stageMemory =
      tiles.addressAt(memory, IndexExpression(queryShape.bytes()));
  held.clear();
  fetch(0, stageMemory, held);
  tiles.store(stageMemory, held);
  tiles.endGroup();
  tiles.awaitGroups(0);
  awaitBlock();
  for (int64_t s = 0; s < queryShape.width; s += sumsAtOnce)
    for (int64_t strip = 0; strip < shape.strips; ++strip)
      queryRegisters.push_back(loadRows(memory, queryShape, strip, s));

  // Lower than any score, and a number.
  Value lowest =
      isPlain ? number(0x1p126) : number(std::numeric_limits<float>::lowest());
  Values state(rowsOfLane(), number(nothing));
  state.append(rowsOfLane(), lowest);
  state.append(rowsOfLane(), number(0));
  if (makesOutput)
    state.append(elementsOfLane(valueShape.width), number(0));
  state = walk(constantIndex(0), stretches,
               llvm::divideCeil(problem.keys, shape.columns), stageMemory,
               stageBytes, state, fetch,
               [&](const IndexExpression &index, Value stage, Values &state,
                   bool isWhole) {
                 takeBlock(index * shape.columns, stage, state, isWhole);
               });

  auto added = [&](Value a, Value b) { return add(a, b); };
  auto larger = [&](Value a, Value b) { return largerOrNaN(a, b); };
  SmallVector<Value> factors;
  for (int64_t row = 0; row < rowsOfLane(); ++row) {
    Value total = overRow(sum(state, row), added),
          most = overRow(maximum(state, row), larger);
    factors.push_back(create<arith::DivFOp>(number(1), total));
    // The sum in relation to the maximum.
    Value largest = coarseExp2(shiftedExponent(most, reference(state, row)));
    Value isNothing =
        create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, most, number(nothing));
    total = create<arith::SelectOp>(isNothing, total,
                                    create<arith::DivFOp>(total, largest));
    if (isPlain && problem.scale != 1)
      most = multiply(most, number(problem.scale));
    ifBelow(firstQuery + rowAt(row), problem.queries,
            [&](const IndexExpression &query) {
              ifBelow(column, 2, [&](const IndexExpression &) {
                Indices at = batch;
                at.push_back(query);
                for (auto [result, value] : {std::pair(op.getMaximum(), most),
                                             std::pair(op.getSum(), total)})
                  if (int i = source.indexOfResult(result); i >= 0)
                    storeResult(
                        i, at,
                        {convertFloat(builder, loc, value, elementOf(result)),
                         levels.current()});
              });
            });
  }
  if (!makesOutput)
    return;
  for (auto [i, value] : llvm::enumerate(output(state)))
    value = multiply(value, factors[rowNumber(i)]);
  storeRows(op.getOutput(), op.getOutputDims(), output(state),
            problem.valueFeatures, firstQuery, problem.queries, memory);
}

void AttentionOnTensorCores::takeBlock(const IndexExpression &firstKey,
                                       Value stage, Values &state,
                                       bool isWhole) {
  Values scores = productsOf(
      [&](int64_t strip, int64_t s) {
        return queryRegisters[s / sumsAtOnce * shape.strips + strip];
      },
      stage, keyShape);
  auto queryOf = [&](int64_t i) { return firstQuery + rowOf(i); };
  auto keyOf = [&](int64_t i) { return firstKey + columnOf(i); };
  for (auto [i, score] : llvm::enumerate(scores)) {
    if (!isPlain)
      score = scoreAt(score, queryOf(i), keyOf(i));
    if (!isWhole)
      score = whereTaken(score, queryOf(i), keyOf(i), nothing);
  }
  for (auto [i, score] : llvm::enumerate(scores)) {
    Value &most = maximum(state, rowNumber(i));
    most = largerOrNaN(most, score);
  }
  Value isAbove;
  for (int64_t row = 0; row < rowsOfLane(); ++row) {
    // Also where it is no number; not where it was rounded up.
    Value above = create<arith::CmpFOp>(
        arith::CmpFPredicate::UGT,
        shiftedExponent(maximum(state, row), reference(state, row)),
        number(coarseExp2Shift + 0.25f));
    isAbove = isAbove ? create<arith::OrIOp>(isAbove, above) : above;
  }
  state = ifThen(isAnyOfWarp(isAbove), state, [&] {
    Values moved = state;
    moveReferences(moved);
    return moved;
  });
  for (auto [i, weight] : llvm::enumerate(scores)) {
    const int64_t row = rowNumber(i);
    weight = coarseExp2(shiftedExponent(weight, reference(state, row)));
    sum(state, row) = add(sum(state, row), weight);
  }
  if (!makesOutput)
    return;
  if (problem.factor)
    for (auto [i, weight] : llvm::enumerate(scores))
      weight = multiply(weight, besides(problem.factor, problem.factorDims,
                                        queryOf(i), keyOf(i)));
  addWeighted({{output(state), scores}},
              tiles.addressAt(stage, IndexExpression(keyShape.bytes())),
              valueShape);
}

bool AttentionOnTensorCores::isNarrowRange() const {
  return tiles.elementType().isF16();
}

Value AttentionOnTensorCores::referenceOf(Value score) {
  if (!isPlain)
    return score;
  return multiplyAdd(score, number(-exponentOfScore()),
                     number(coarseExp2Shift - headroom()));
}

Value AttentionOnTensorCores::shiftedExponent(Value score, Value reference) {
  if (isPlain)
    return multiplyAdd(score, number(exponentOfScore()), reference);
  Value difference = create<arith::SubFOp>(score, reference);
  return multiplyAdd(difference, number(exponentOfScore()),
                     number(coarseExp2Shift - headroom()));
}

Value AttentionOnTensorCores::shiftedExponentOfChange(Value before,
                                                      Value after) {
  Value difference = isPlain ? create<arith::SubFOp>(after, before)
                             : create<arith::SubFOp>(before, after);
  if (isPlain)
    return add(difference, number(coarseExp2Shift));
  return multiplyAdd(difference, number(exponentOfScore()),
                     number(coarseExp2Shift));
}

void AttentionOnTensorCores::moveReferences(Values &state) {
  SmallVector<Value> corrections;
  for (int64_t row = 0; row < rowsOfLane(); ++row) {
    Value most = overRow(maximum(state, row),
                         [&](Value a, Value b) { return largerOrNaN(a, b); });
    Value before = reference(state, row);
    // Nothing but -infinity so far leaves it as low as it is.
    Value isNothing =
        create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, most, number(nothing));
    Value after = create<arith::SelectOp>(isNothing, before, referenceOf(most));
    reference(state, row) = after;
    corrections.push_back(coarseExp2(shiftedExponentOfChange(before, after)));
    sum(state, row) = multiply(sum(state, row), corrections.back());
  }
  for (auto [i, value] : llvm::enumerate(output(state)))
    value = multiply(value, corrections[rowNumber(i)]);
}

} // namespace

bool TensorAttentionSchedule::accepts(const KernelSource &source) const {
  return attentionOf(source) != nullptr;
}

LaunchShape
TensorAttentionSchedule::launchShape(const KernelSource &source) const {
  AttentionProblem problem(attentionOf(source));
  const BlockShape shape = shapeOf(problem);
  return {.parts =
              elementCount(problem.batch) * shape.blocksOf(problem.queries),
          .threads = shape.threads()};
}

EmittedLoops TensorAttentionSchedule::emit(const KernelSource &source,
                                           ModuleOp module, StringRef name,
                                           unsigned) const {
  return emitAs<AttentionOnTensorCores>(source, module, name);
}

} // namespace tenon::codegen
