//===- RecomputeAcrossLoops.cpp - Stack fewer values between two loops ---===//
//
// A scan over layers stacks what its rounds compute for the rounds of a
// backward loop: for each value that the framework's rules want again, one
// slice per layer. Round by round, element-wise operations make most of these
// values from a few others, so those few are stacked and the rest is computed
// again in the backward round. The choice is the minimum cut of
// RecomputationCut.h on the body of the forward loop; the layer's parameters
// and the counter are there anyway.
//
// Under a memory budget the stage is run at several levels: each makes what is
// computed again four times cheaper against a byte kept, so that contractions
// and reductions follow, the short ones first. What is stacked at one level
// need not be stacked at the next.
//
// Both loops run the same known number of times and use each index once, so
// that what is read at an index is what the round of that index wrote. A value
// that no stack holds yet gets one.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/AttentionPattern.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/RebuildLoop.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/LoopPair.h"
#include "tenon/Fusion/RecomputationCut.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_RECOMPUTEACROSSLOOPSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;
using fusion::LoopPair;
using fusion::storageOf;

namespace {

/// What one pair of loops stacks, and the change to it.
class StackChoice {
public:
  explicit StackChoice(LoopPair pair)
      : forward(pair.forward), index(pair.index),
        residuals(std::move(pair.residuals)) {}

  /// The bytes saved; 0, and nothing changed, if they are few. With
  /// `attentionOnly` nothing but scores and weights of attention is computed
  /// again, and that costs nothing.
  int64_t run(int64_t level, bool attentionOnly);

private:
  bool isInRound(Value value) const {
    return value.getParentBlock() == &forward.body();
  }
  /// Whether the backward round has the value whatever is chosen.
  bool isThereAnyway(Value value) const;
  int64_t bytesOf(Value value) const;
  Value inBackwardRound(Value value, OpBuilder &builder);
  /// Where the slices of a value lie that is to be stacked.
  unsigned stackFor(Value value);

  CountedLoop forward;
  Value index; // of the backward round
  SmallVector<LoopPair::Residual> residuals;
  llvm::DenseSet<Value> copied;
  llvm::DenseMap<Value, Value> available;   // in the backward round
  llvm::MapVector<Value, unsigned> stackOf; // by storage, number of a result
  SmallVector<Value> added;                 // values with a stack of their own
  SmallVector<Value> starts;                // what these stacks start as
  /// Reads of stacks that are still to be made.
  SmallVector<std::pair<DynamicSliceOp, unsigned>> reads;
};

bool StackChoice::isThereAnyway(Value value) const {
  if (value == forward.counter())
    return true;
  // Parameters, batch and constants; other values would be kept longer.
  return !isInRound(value) &&
         (isa<BlockArgument>(value) || matchPattern(value, m_Constant()));
}

/// What keeping a value takes in each round.
int64_t StackChoice::bytesOf(Value value) const {
  int64_t bytes = storedBytes(value.getType());
  // What the loop captures is kept once for all rounds.
  return isInRound(value) ? bytes
                          : int64_t(llvm::divideCeil(bytes, forward.trips()));
}

unsigned StackChoice::stackFor(Value value) {
  Value storage = storageOf(value);
  auto [entry, isNew] =
      stackOf.insert({storage, forward.loop()->getNumResults() + added.size()});
  if (!isNew)
    return entry->second;
  SmallVector<int64_t> shape = {forward.trips()};
  auto type = cast<RankedTensorType>(storage.getType());
  llvm::append_range(shape, type.getShape());
  ImplicitLocOpBuilder builder(value.getLoc(), forward.loop());
  added.push_back(storage);
  starts.push_back(zeros(builder, type.clone(shape)));
  return entry->second;
}

/// A value of the forward round in the backward round of the same index.
Value StackChoice::inBackwardRound(Value value, OpBuilder &builder) {
  if (value == forward.counter())
    return index;
  if (!isInRound(value))
    return value;
  if (Value known = available.lookup(value))
    return known;
  Value result;
  Operation *op = value.getDefiningOp();
  if (copied.contains(value)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(inBackwardRound(operand, builder));
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    result = copy->getResult(0);
  } else {
    unsigned number = stackFor(value),
             results = forward.loop()->getNumResults();
    // Until the loop carries a new one, what it starts as stands for it.
    Value stacked = number < results ? forward.loop()->getResult(number)
                                     : starts[number - results];
    SmallVector<int64_t> part(
        cast<RankedTensorType>(stacked.getType()).getShape());
    part.front() = 1;
    ImplicitLocOpBuilder here(value.getLoc(), builder);
    auto read = DynamicSliceOp::create(
        here, stacked,
        startAt(here, int64_t(part.size()), /*dimension=*/0, index), part);
    reads.push_back({read, number});
    result = read;
    if (result.getType() != value.getType())
      result =
          ReshapeOp::create(builder, value.getLoc(), value.getType(), result);
  }
  available[value] = result;
  return result;
}

/// Replaces what a slice of a stack reads. The dimension of rounds is dropped
/// behind it as a rule: where it was only put in front of `value`, both go, and
/// nothing stands between the two rounds' operations that would be a kernel.
void replaceRead(DynamicSliceOp reader, Value value) {
  if (auto raised = value.getDefiningOp<ReshapeOp>())
    for (Operation *user : llvm::make_early_inc_range(reader->getUsers()))
      if (auto lowered = dyn_cast<ReshapeOp>(user);
          lowered && lowered.getType() == raised.getOperand().getType()) {
        lowered->replaceAllUsesWith(ValueRange(raised.getOperand()));
        lowered.erase();
      }
  reader->replaceAllUsesWith(ValueRange(value));
}

/// What a floating-point operation of a contraction costs, in sixteenths of a
/// byte kept; a transcendental function costs a byte.
constexpr int64_t pricePerFlop = 1;

/// recomputePrice() at a level above 0.
std::optional<int64_t> priceAtLevel(Operation *op, int64_t level) {
  std::optional<int64_t> price = fusion::recomputePrice(op);
  if (double flops = contractionFlops(op); flops > 0 && !price)
    price = int64_t(flops) * pricePerFlop;
  else if (classify(op) == OperationClass::reduction &&
           op->getNumResults() == 1)
    price =
        cast<RankedTensorType>(op->getOperand(0).getType()).getNumElements();
  if (price)
    *price >>= 2 * level;
  return price;
}

int64_t StackChoice::run(int64_t level, bool attentionOnly) {
  WhileOp loop = forward.loop();
  llvm::DenseSet<Operation *> scores;
  if (attentionOnly)
    scores = attentionScores(forward.body());
  if (attentionOnly && scores.empty())
    return 0;
  auto priceOf = [&](Operation *op) -> std::optional<int64_t> {
    // A product of a block of rounds has no rounds elsewhere.
    if (op->hasAttr(step::blockRoundsAttrName))
      return std::nullopt;
    if (attentionOnly)
      return scores.contains(op) ? std::optional<int64_t>(0) : std::nullopt;
    return level ? priceAtLevel(op, level) : fusion::recomputePrice(op);
  };
  SmallVector<Value> wanted;
  for (const LoopPair::Residual &residual : residuals)
    wanted.push_back(residual.stack.update());
  std::optional<fusion::RecomputationChoice> choice =
      fusion::chooseRecomputation(
          wanted, {[&](Value value) { return isInRound(value); },
                   [&](Value value) { return isThereAnyway(value); },
                   [&](Value value) { return bytesOf(value); }, priceOf});
  if (!choice)
    return 0;
  copied = std::move(choice->copied);

  // Stacks that hold the very value stay; the others are read no more.
  for (const LoopPair::Residual &residual : residuals)
    stackOf.insert(
        {storageOf(residual.stack.update()), residual.stack.position});
  Operation *first = residuals.front().readers.front();
  for (const LoopPair::Residual &residual : residuals)
    for (DynamicSliceOp reader : residual.readers)
      if (reader->isBeforeInBlock(first))
        first = reader;
  OpBuilder builder(first);
  for (const LoopPair::Residual &residual : residuals) {
    Value value = inBackwardRound(residual.stack.update(), builder);
    for (DynamicSliceOp reader : residual.readers)
      replaceRead(reader, value);
  }
  for (const LoopPair::Residual &residual : residuals)
    for (DynamicSliceOp reader : residual.readers)
      reader.erase();
  llvm::BitVector dropped(loop->getNumOperands());
  for (const LoopPair::Residual &residual : residuals)
    if (loop->getResult(residual.stack.position).use_empty())
      dropped.set(residual.stack.position);
  unsigned firstNew = loop->getNumOperands() - dropped.count();
  unsigned oldResults = loop->getNumResults();
  Value counter = forward.counter();
  WhileOp rebuilt = stablehlo::rebuildLoop(
      loop, dropped, starts, [&](ValueRange carried, OpBuilder &inside) {
        SmallVector<Value> following;
        for (auto [value, stack] : llvm::zip_equal(added, carried)) {
          ImplicitLocOpBuilder round(value.getLoc(), inside);
          following.push_back(
              updateAt(round, stack, /*dimension=*/0, counter, value));
        }
        return following;
      });
  for (auto [read, number] : reads)
    if (number >= oldResults)
      read->setOperand(0, rebuilt->getResult(firstNew + number - oldResults));
  loop->erase();
  return choice->saved * forward.trips();
}

struct RecomputeAcrossLoops
    : public fusion::impl::RecomputeAcrossLoopsPassBase<RecomputeAcrossLoops> {
  using RecomputeAcrossLoopsPassBase::RecomputeAcrossLoopsPassBase;

  int64_t levelOf(int64_t pair) const {
    return levels.empty()
               ? 0
               : levels[std::min<size_t>(size_t(pair), levels.size() - 1)];
  }

  void runOnOperation() override {
    SmallVector<int64_t> savings; // of each pair
    SmallVector<WhileOp> loops;
    getOperation().walk([&](WhileOp loop) { loops.push_back(loop); });
    for (WhileOp loop : loops) {
      Location location = loop.getLoc();
      if (std::optional<LoopPair> pair = LoopPair::find(loop)) {
        auto number = int64_t(savings.size());
        for (WhileOp one : {loop, pair->backward.loop()})
          if (!attention)
            one->setAttr(step::loopPairAttrName,
                         Builder(&getContext()).getI64IntegerAttr(number));
        int64_t saved =
            StackChoice(*std::move(pair)).run(levelOf(number), attention);
        savings.push_back(saved);
        if (saved)
          remark::passed(location, remark::RemarkOpts::name("Saved").category(
                                       "fusion-recompute-across-loops"))
              << remark::metric("Bytes", saved);
      }
    }
    if (!savings.empty() && !attention)
      getOperation()->setAttr(
          step::loopSavingsAttrName,
          Builder(&getContext()).getDenseI64ArrayAttr(savings));
  }
};

} // namespace
