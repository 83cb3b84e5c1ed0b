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

#include "TensorAttention.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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
        op(attentionOf(source)),
        keyShape{keysOfBlock, paddedFeatures(problem.features)},
        valueShape{keysOfBlock, paddedFeatures(problem.valueFeatures)},
        makesOutput(source.indexOfResult(op.getOutput()) >= 0) {
    emit();
  }

private:
  void emit();
  void takeBlock(const IndexExpression &firstKey, Value stage, Values &state);

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

  // Keys behind the last query of the block are not looked at.
  const int64_t blocks = llvm::divideCeil(problem.keys, keysOfBlock);
  Value end = constantIndex(blocks);
  if (problem.causal) {
    IndexExpression behind = algebra.floorDiv(
        firstOfBlock + (queriesOfBlock + keysOfBlock - 1), keysOfBlock);
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
  queryRegisters = loadRows(memory, queryShape);

  Values state = {number(nothing), number(nothing), number(0), number(0)};
  if (makesOutput)
    state.append(4 * valueShape.width / columnsAtOnce, number(0));
  state =
      walk(constantIndex(0), end, blocks, stageMemory, stageBytes, state, fetch,
           [&](const IndexExpression &index, Value stage, Values &state) {
             takeBlock(index * keysOfBlock, stage, state);
           });

  for (int64_t half = 0; half < 2; ++half) {
    Value &sum = state[sumsAt + half];
    sum = overRow(sum, [&](Value a, Value b) { return add(a, b); });
    ifBelow(firstQuery + rowOf(2 * half), problem.queries,
            [&](const IndexExpression &query) {
              ifBelow(column, 2, [&](const IndexExpression &) {
                Indices at = batch;
                at.push_back(query);
                for (auto [result, value] :
                     {std::pair(op.getMaximum(), state[maximaAt + half]),
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
                                       Value stage, Values &state) {
  Values scores =
      productsOf([&](int64_t s) { return queryRegisters[s / sumsAtOnce]; },
                 stage, keyShape);
  auto queryOf = [&](int64_t i) { return firstQuery + rowOf(i); };
  auto keyOf = [&](int64_t i) { return firstKey + columnOf(i); };
  for (int64_t i = 0; i < int64_t(scores.size()); ++i)
    scores[i] = whereTaken(scoreAt(scores[i], queryOf(i), keyOf(i)), queryOf(i),
                           keyOf(i), nothing);
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
    Value sum = multiply(state[sumsAt + half], correction);
    for (int64_t i = 0; i < int64_t(scores.size()); ++i)
      if (isOf(i, half)) {
        scores[i] = exponential(scores[i], reference);
        sum = create<arith::AddFOp>(sum, scores[i]);
      }
    state[maximaAt + half] = maximum;
    state[sumsAt + half] = sum;
    for (size_t i = outputAt; i < state.size(); ++i)
      if (isOf(i - outputAt, half))
        state[i] = multiply(state[i], correction);
  }
  if (!makesOutput)
    return;
  if (problem.factor)
    for (int64_t i = 0; i < int64_t(scores.size()); ++i)
      scores[i] =
          multiply(scores[i], besides(problem.factor, problem.factorDims,
                                      queryOf(i), keyOf(i)));
  addWeighted(MutableArrayRef(state).drop_front(outputAt), scores,
              tiles.addressAt(stage, IndexExpression(keyShape.bytes())),
              valueShape);
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
