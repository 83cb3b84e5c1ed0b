//===- TensorAttentionSchedule.cpp - Attention on tensor cores ------------===//
//
// `step.attention` of 16-bit operands. A block of threads has 128 queries of
// one batch, or 64, each of its four warps a quarter of them, and walks the
// keys in blocks of 64, or 32: tiles of keys and values go to shared memory,
// one block ahead. Scores and weights of a warp stay in its registers:
//
//   scores   mma.sync of queries and keys, times the scale, with bias and mask
//   maximum  so far, of each row; what was summed before is multiplied by
//            exp(old maximum - new maximum)
//   weights  exp(score - maximum), summed in f32, and rounded to 16 bits
//   output   mma.sync of weights and values, added to what there is
//
// Where nothing is added to scores or put in their place, a maximum is that of
// the products, and their scale a factor of the exponent. Blocks whose keys all
// take part for all queries are walked first, and nothing is asked there.
//
// At the end the output is multiplied by the reciprocal of the weights' sum.
// The order of sums is not that of docs/Rationale/Attention.md, which is one
// chain per element, and weights are rounded before they are divided by their
// sum; GpuKernels.md says how much that is.
//
//===----------------------------------------------------------------------===//

#include "TensorAttention.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using step::AttentionProblem;

constexpr int64_t warps = 4, queriesOfBlock = warps * rowsOfWarp;
constexpr int64_t keysOfBlock = 32;

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

int64_t queryBlocks(const AttentionProblem &p) {
  return llvm::divideCeil(p.queries, queriesOfBlock);
}

class AttentionOnTensorCores : TensorAttentionKernel {
public:
  AttentionOnTensorCores(const KernelSource &source, func::FuncOp function,
                         const LaunchShape &launch,
                         const GpuInstructions &instructions)
      : TensorAttentionKernel(source, function, launch, instructions,
                              AttentionProblem(attentionOf(source))),
        op(attentionOf(source)), keyShape{keysOfBlock,
                                          paddedFeatures(problem.features)},
        valueShape{keysOfBlock, paddedFeatures(problem.valueFeatures)},
        makesOutput(source.indexOfResult(op.getOutput()) >= 0) {
    // With 64 features a thread needs 128 registers, and so many threads hide
    // latencies best.
    setBlocksAtOnce(keyShape.width + valueShape.width <= 128 ? 4 : 2);
    emit();
  }

private:
  void emit();
  void takeBlock(const IndexExpression &firstKey, Value stage, Values &state,
                 bool isWhole);
  /// From products to weights of a row, in place; and what was summed before.
  void weighRow(int64_t half, MutableArrayRef<Value> scores, Values &state);

  step::AttentionOp op;
  const TileShape keyShape, valueShape;
  const bool makesOutput;
  /// The first query of the warp.
  IndexExpression firstQuery;
  SmallVector<Values> queryRegisters;
};

/// What a loop over blocks of keys carries, in this order: the maxima and sums
/// of two rows, and the output of 16.
constexpr size_t maximaAt = 0, sumsAt = 2, outputAt = 4;

void AttentionOnTensorCores::emit() {
  Indices place = algebra.delinearize(
      block, {elementCount(problem.batch), queryBlocks(problem)});
  batch = algebra.delinearize(place[0], problem.batch);
  IndexExpression firstOfBlock = place[1] * queriesOfBlock;
  firstQuery = firstOfBlock + tiles.warp * rowsOfWarp;

  TensorOperand query = operandOf(problem.query, problem.queryDims,
                                  problem.queries, problem.features),
                key = operandOf(problem.key, problem.keyDims, problem.keys,
                                problem.features),
                value = operandOf(problem.value, problem.valueDims,
                                  problem.keys, problem.valueFeatures);
  const TileShape queryShape{queriesOfBlock, keyShape.width};
  const int64_t stageBytes = keyShape.bytes() + valueShape.bytes();
  const int64_t resultBytes = makesOutput
                                  ? queriesOfBlock * valueShape.width *
                                        bytesOf(elementOf(op.getOutput()))
                                  : 0;
  Value memory = tiles.sharedMemory(std::max(
      queryShape.bytes() + stagesOfAttention * stageBytes, resultBytes));

  const SmallVector<Stretch> stretches =
      stretchesOfKeys(firstOfBlock, queriesOfBlock, keysOfBlock);

  auto fetch = [&](const IndexExpression &index, Value stage,
                   SmallVectorImpl<TensorTiles::Held> &held) {
    tiles.begin(key, keyShape, index * keysOfBlock, 0, stage, 0, held);
    if (makesOutput)
      tiles.begin(value, valueShape, index * keysOfBlock, 0, stage,
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
    queryRegisters.push_back(loadRows(memory, queryShape, s));

  Values state = {number(nothing), number(nothing), number(0), number(0)};
  if (makesOutput)
    state.append(4 * valueShape.width / columnsAtOnce, number(0));
  state = walk(constantIndex(0), stretches,
               llvm::divideCeil(problem.keys, keysOfBlock), stageMemory,
               stageBytes, state, fetch,
               [&](const IndexExpression &index, Value stage, Values &state,
                   bool isWhole) {
                 takeBlock(index * keysOfBlock, stage, state, isWhole);
               });

  for (int64_t half = 0; half < 2; ++half) {
    Value &sum = state[sumsAt + half], maximum = state[maximaAt + half];
    sum = overRow(sum, [&](Value a, Value b) { return add(a, b); });
    if (isPlain && problem.scale != 1)
      maximum = multiply(maximum, number(problem.scale));
    ifBelow(firstQuery + rowOf(2 * half), problem.queries,
            [&](const IndexExpression &query) {
              ifBelow(column, 2, [&](const IndexExpression &) {
                Indices at = batch;
                at.push_back(query);
                for (auto [result, value] :
                     {std::pair(op.getMaximum(), maximum),
                      std::pair(op.getSum(), sum)})
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
  Value factors[2];
  for (int64_t half = 0; half < 2; ++half)
    factors[half] = create<arith::DivFOp>(number(1), state[sumsAt + half]);
  MutableArrayRef<Value> output = MutableArrayRef(state).drop_front(outputAt);
  for (auto [i, value] : llvm::enumerate(output))
    value = multiply(value, factors[i / 2 % 2]);
  storeRows(op.getOutput(), op.getOutputDims(), output, problem.valueFeatures,
            firstQuery, problem.queries, memory);
}

void AttentionOnTensorCores::takeBlock(const IndexExpression &firstKey,
                                       Value stage, Values &state,
                                       bool isWhole) {
  Values scores =
      productsOf([&](int64_t s) { return queryRegisters[s / sumsAtOnce]; },
                 stage, keyShape);
  auto queryOf = [&](int64_t i) { return firstQuery + rowOf(i); };
  auto keyOf = [&](int64_t i) { return firstKey + columnOf(i); };
  for (auto [i, score] : llvm::enumerate(scores)) {
    if (!isPlain)
      score = scoreAt(score, queryOf(i), keyOf(i));
    if (!isWhole)
      score = whereTaken(score, queryOf(i), keyOf(i), nothing);
  }
  for (int64_t half = 0; half < 2; ++half)
    weighRow(half, scores, state);
  if (!makesOutput)
    return;
  if (problem.factor)
    for (auto [i, weight] : llvm::enumerate(scores))
      weight = multiply(weight, besides(problem.factor, problem.factorDims,
                                        queryOf(i), keyOf(i)));
  addWeighted({{MutableArrayRef(state).drop_front(outputAt), scores}},
              tiles.addressAt(stage, IndexExpression(keyShape.bytes())),
              valueShape);
}

void AttentionOnTensorCores::weighRow(int64_t half,
                                      MutableArrayRef<Value> scores,
                                      Values &state) {
  auto larger = [&](Value a, Value b) { return largerOrNaN(a, b); };
  Value old = state[maximaAt + half];
  Value maximum =
      larger(overRow(joined(ofRow(scores, half), larger), larger), old);
  // Where there is nothing but -infinity, all weights are 0.
  Value isNothing = create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                                          number(nothing));
  Value reference = create<arith::SelectOp>(isNothing, number(0), maximum);
  const Value exponentOfDifference =
      number((isPlain ? problem.scale : 1) * llvm::numbers::log2e);
  auto weightOf = [&](Value score) {
    Value difference = create<arith::SubFOp>(score, reference);
    return coarseExp2(multiply(difference, exponentOfDifference));
  };
  auto isOfRow = [&](size_t i) { return int64_t(i) / 2 % 2 == half; };
  for (auto [i, score] : llvm::enumerate(scores))
    if (isOfRow(i))
      score = weightOf(score);
  Value correction = weightOf(old);
  Value sum =
      joined(ofRow(scores, half), [&](Value a, Value b) { return add(a, b); });
  state[maximaAt + half] = maximum;
  state[sumsAt + half] = multiplyAdd(state[sumsAt + half], correction, sum);
  for (auto [i, output] :
       llvm::enumerate(MutableArrayRef(state).drop_front(outputAt)))
    if (isOfRow(i))
      output = multiply(output, correction);
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
