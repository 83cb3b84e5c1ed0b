//===- SegmentLoops.cpp - Checkpoint a loop once per segment --------------===//
//
// A forward loop stacks values for the rounds of a backward loop, one slice per
// round. Cut into segments of s rounds, it only stacks what it carries, once
// per segment; the backward loop becomes one over segments, last first: each
// runs the segment's rounds again from there, stacking their slices, and then
// its backward rounds. Of T rounds the slices of s are there at once beside T/s
// sets of carried values, so that at s about the root of T both are few, for at
// most one more run of the forward loop.
//
//     forward   for i < 12 { c = f(c); r[i] = slice }
//     backward  for i < 12 { g = b(g, r[11 - i]) }
//
//     forward   for i < 12 { kept[(i + 3) / 4] = c; c = f(c) }       s = 4
//     backward  for j < 3 {
//                 c = kept[2 - j]
//                 for i < 4 { c = f(c); r[i] = slice }
//                 for i < 4 { g = b(g, r[3 - i]) }
//               }
//
// Round i of the forward loop writes what is carried into it at (i + s - 1)/s,
// so that the last to write at k is round k*s; what is written behind the start
// of the last segment is never read. Where s does not divide T, the last
// segment is shorter and stands beside the loop over the others: before it, if
// the backward loop reads downwards, else behind it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/RebuildLoop.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/LoopPair.h"
#include "tenon/Fusion/RoundSums.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

#include <map>
#include <numeric>

namespace tenon::fusion {
#define GEN_PASS_DEF_SEGMENTLOOPSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;
using fusion::LoopPair;

namespace {

/// A round number with another width.
Value asInteger(ImplicitLocOpBuilder &builder, Value round, Type type) {
  if (round.getType() == type)
    return round;
  return ConvertOp::create(builder, type, round);
}

/// The rounds of a loop from the last to the first.
Value countDown(ImplicitLocOpBuilder &builder, int64_t rounds, Value round) {
  return SubtractOp::create(builder, scalarConstant(builder, rounds - 1),
                            round);
}

/// Whether enough less is stacked, a tenth.
bool isWorth(int64_t before, int64_t after) {
  return before - after >= std::max<int64_t>(before / 10, 1);
}

/// How a pair is cut.
struct Cut {
  int64_t rounds = 0; // in a segment; 0 if the pair stays whole
  int64_t depth = 0;  // at most that deep
  int64_t bytes = 0;  // stacked
};

class Segmentation {
public:
  explicit Segmentation(LoopPair pair);

  /// Cuts at most `depth` deep. The bytes saved; 0, and nothing changed, if
  /// they are few.
  int64_t run(int64_t depth);
  /// Whether less would be stacked if the segments were cut once more.
  bool canNest() const { return nests; }

private:
  void collectRounds();
  Cut cut(int64_t trips, int64_t depth) const;
  SmallVector<Value> runAgain(ImplicitLocOpBuilder &builder, Value segment,
                              int64_t rounds);
  SmallVector<Value> runBackwardRound(ImplicitLocOpBuilder &builder,
                                      Value number, Value place,
                                      ValueRange values,
                                      ArrayRef<Value> slices);
  SmallVector<Value> runBackward(ImplicitLocOpBuilder &builder, Value segment,
                                 int64_t rounds, Value first,
                                 ValueRange values);
  WhileOp ofPair(ArrayRef<Value> results);
  void rebuildBackward();
  void dropStacks(WhileOp keeping);

  CountedLoop forward, backward;
  Value index; // of the backward round
  bool upwards = false;
  /// Stacks that only the backward loop reads.
  SmallVector<LoopPair::Residual> residuals;
  /// What runs again, in the order of the forward round, and the positions of
  /// what is carried to it.
  SmallVector<Operation *> again;
  llvm::SetVector<unsigned> carried;
  int64_t ofRound = 0, ofCarried = 0; // bytes
  int64_t length = 0;                 // of a segment
  /// Segments hold whole blocks of rounds whose products are made at once.
  int64_t block = 1;
  bool nests = false;
  /// The stacks of carried values.
  SmallVector<Value> kept;
  /// The loops that run the rounds of a segment again.
  SmallVector<WhileOp> inner;
};

Segmentation::Segmentation(LoopPair pair)
    : forward(pair.forward), backward(pair.backward), index(pair.index),
      upwards(pair.backward.directionOf(pair.index) ==
              CountedLoop::Direction::upwards),
      block(std::lcm(fusion::roundsOfBlock(pair.forward),
                     fusion::roundsOfBlock(pair.backward))) {
  for (LoopPair::Residual &residual : pair.residuals) {
    Value result = forward.loop()->getResult(residual.stack.position);
    size_t users = llvm::range_size(result.getUsers());
    if (users == residual.readers.size())
      residuals.push_back(std::move(residual));
  }
}

/// Finds what of the forward round the stacks need, through all rounds.
void Segmentation::collectRounds() {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> work;
  for (const LoopPair::Residual &residual : residuals)
    work.push_back(residual.stack.update());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (value.getParentBlock() != &forward.body() || value == forward.counter())
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (carried.insert(argument.getArgNumber()))
        work.push_back(forward.body().getTerminator()->getOperand(
            argument.getArgNumber()));
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!needed.insert(op).second)
      continue;
    llvm::append_range(work, op->getOperands());
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::append_range(work, captured);
  }
  for (Operation &op : forward.body())
    if (needed.contains(&op))
      again.push_back(&op);
}

/// The cut for which least is stacked. A shorter last segment is more code and
/// a deeper cut more time: both have to be worth it.
Cut Segmentation::cut(int64_t trips, int64_t depth) const {
  if (depth == 0)
    return {/*rounds=*/0, /*depth=*/0, trips * ofRound};
  const Cut shallower = cut(trips, depth - 1);
  Cut best = shallower, bestDivisor = shallower;
  for (int64_t rounds = block == 1 ? 2 : block; rounds <= trips / 2;
       rounds += block) {
    const int64_t segments = llvm::divideCeil(trips, rounds);
    const bool divides = trips % rounds == 0;
    // With as many segments, the shorter ones are better.
    if (!divides &&
        int64_t(llvm::divideCeil(trips, rounds - block)) == segments)
      continue;
    Cut candidate = {rounds, depth,
                     (segments + 1) * ofCarried + cut(rounds, depth - 1).bytes};
    if (candidate.bytes < best.bytes)
      best = candidate;
    if (divides && candidate.bytes < bestDivisor.bytes)
      bestDivisor = candidate;
  }
  if (!isWorth(bestDivisor.bytes, best.bytes))
    best = bestDivisor;
  return isWorth(shallower.bytes, best.bytes) ? best : shallower;
}

/// The loop with these results, marked as what the pair became.
WhileOp Segmentation::ofPair(ArrayRef<Value> results) {
  auto loop = results.back().getDefiningOp<WhileOp>();
  loop->setDiscardableAttrs(backward.loop()->getDiscardableAttrDictionary());
  return loop;
}

/// Runs the rounds of a segment of the forward loop; returns their slices.
SmallVector<Value> Segmentation::runAgain(ImplicitLocOpBuilder &builder,
                                          Value segment, int64_t rounds) {
  SmallVector<Value> starts;
  for (Value stack : kept)
    starts.push_back(sliceAt(builder, stack, /*dimension=*/0, segment));
  for (const LoopPair::Residual &residual : residuals) {
    auto type = cast<RankedTensorType>(residual.stack.update().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = rounds;
    starts.push_back(zeros(builder, type.clone(shape)));
  }
  Value first =
      MultiplyOp::create(builder, segment, scalarConstant(builder, length));
  SmallVector<Value> results = buildCountedLoop(
      builder, rounds, starts, [&](Value round, ValueRange values) {
        IRMapping mapping;
        mapping.map(forward.counter(),
                    asInteger(builder, AddOp::create(builder, first, round),
                              forward.counter().getType()));
        for (auto [position, value] : llvm::zip_first(carried, values))
          mapping.map(forward.body().getArgument(position), value);
        for (Operation *op : again)
          builder.clone(*op, mapping);
        SmallVector<Value> next;
        for (unsigned position : carried)
          next.push_back(mapping.lookupOrDefault(
              forward.body().getTerminator()->getOperand(position)));
        for (auto [residual, stack] :
             llvm::zip_equal(residuals, values.drop_front(carried.size()))) {
          Value slice = mapping.lookupOrDefault(residual.stack.update());
          auto type = cast<RankedTensorType>(stack.getType());
          next.push_back(DynamicUpdateSliceOp::create(
              builder, stack, slice,
              startAt(builder, type.getRank(), /*dimension=*/0, round)));
        }
        return next;
      });
  inner.push_back(ofPair(results));
  return SmallVector<Value>(ArrayRef(results).drop_front(carried.size()));
}

/// Runs backward round `number` on the values that it carries besides the
/// counter; its slices are those at `place`.
SmallVector<Value> Segmentation::runBackwardRound(ImplicitLocOpBuilder &builder,
                                                  Value number, Value place,
                                                  ValueRange values,
                                                  ArrayRef<Value> slices) {
  IRMapping mapping;
  mapping.map(backward.counter(),
              asInteger(builder, number, backward.counter().getType()));
  unsigned next = 0;
  for (BlockArgument argument : backward.body().getArguments())
    if (argument != backward.counter())
      mapping.map(argument, values[next++]);
  llvm::DenseMap<Operation *, Value> stackOf;
  for (auto [residual, slice] : llvm::zip_equal(residuals, slices))
    for (DynamicSliceOp reader : residual.readers)
      stackOf[reader] = slice;
  for (Operation &op : backward.body().without_terminator()) {
    Value stack = stackOf.lookup(&op);
    if (!stack) {
      builder.clone(op, mapping);
      continue;
    }
    auto reader = cast<DynamicSliceOp>(op);
    auto type = cast<RankedTensorType>(reader.getType());
    mapping.map(reader.getResult(),
                DynamicSliceOp::create(
                    builder, type, stack,
                    startAt(builder, type.getRank(), /*dimension=*/0, place),
                    reader.getSliceSizes()));
  }
  SmallVector<Value> results;
  for (auto [argument, value] :
       llvm::zip_equal(backward.body().getArguments(),
                       backward.body().getTerminator()->getOperands()))
    if (argument != backward.counter())
      results.push_back(mapping.lookupOrDefault(value));
  return results;
}

/// Runs the backward rounds from `first` on that read a segment.
SmallVector<Value> Segmentation::runBackward(ImplicitLocOpBuilder &builder,
                                             Value segment, int64_t rounds,
                                             Value first, ValueRange values) {
  SmallVector<Value> slices = runAgain(builder, segment, rounds);
  SmallVector<Value> results = buildCountedLoop(
      builder, rounds, values, [&](Value round, ValueRange inner) {
        Value place = upwards ? round : countDown(builder, rounds, round);
        return runBackwardRound(builder, AddOp::create(builder, first, round),
                                place, inner, slices);
      });
  ofPair(results);
  return results;
}

/// Replaces the backward loop by one over segments.
void Segmentation::rebuildBackward() {
  WhileOp loop = backward.loop();
  unsigned counter = cast<BlockArgument>(backward.counter()).getArgNumber();
  SmallVector<Value> values(loop->getOperands());
  values.erase(values.begin() + counter);
  ImplicitLocOpBuilder builder(loop.getLoc(), loop);
  const int64_t whole = backward.trips() / length;
  const int64_t rest = backward.trips() % length;
  auto runRest = [&](int64_t first) {
    if (rest)
      values = runBackward(builder, scalarConstant(builder, whole), rest,
                           scalarConstant(builder, first), values);
  };
  if (!upwards)
    runRest(0);
  values = buildCountedLoop(
      builder, whole, values, [&](Value done, ValueRange inner) {
        Value segment = upwards ? done : countDown(builder, whole, done);
        Value first =
            MultiplyOp::create(builder, done, scalarConstant(builder, length));
        if (!upwards && rest)
          first = AddOp::create(builder, first, scalarConstant(builder, rest));
        return runBackward(builder, segment, length, first, inner);
      });
  ofPair(values);
  if (upwards)
    runRest(whole * length);
  values.insert(values.begin() + counter,
                asInteger(builder, scalarConstant(builder, backward.trips()),
                          backward.counter().getType()));
  loop->replaceAllUsesWith(values);
  loop->erase();
}

/// Drops the stacks that nothing reads any more.
void Segmentation::dropStacks(WhileOp keeping) {
  llvm::BitVector dropped(keeping->getNumOperands());
  for (const LoopPair::Residual &residual : residuals)
    dropped.set(residual.stack.position);
  stablehlo::rebuildLoop(keeping, dropped, {}, [](ValueRange, OpBuilder &) {
    return SmallVector<Value>();
  });
  keeping->erase();
}

int64_t Segmentation::run(int64_t depth) {
  if (residuals.empty())
    return 0;
  collectRounds();
  if (!llvm::all_of(again, isMemoryEffectFree) ||
      llvm::any_of(again, holdsCollective))
    return 0;
  for (const LoopPair::Residual &residual : residuals)
    ofRound += storedBytes(residual.stack.update().getType());
  for (unsigned position : carried)
    ofCarried += storedBytes(forward.body().getArgument(position).getType());
  const Cut chosen = cut(forward.trips(), depth);
  if (!chosen.rounds)
    return 0;
  const int64_t saved = forward.trips() * ofRound - chosen.bytes;
  nests = cut(forward.trips(), depth + 1).bytes < chosen.bytes;
  length = chosen.rounds;

  WhileOp loop = forward.loop();
  ImplicitLocOpBuilder builder(loop.getLoc(), loop);
  SmallVector<Value> starts;
  for (unsigned position : carried) {
    auto type =
        cast<RankedTensorType>(forward.body().getArgument(position).getType());
    SmallVector<int64_t> shape = {
        int64_t(llvm::divideCeil(forward.trips(), length)) + 1};
    llvm::append_range(shape, type.getShape());
    starts.push_back(zeros(builder, type.clone(shape)));
  }
  WhileOp keeping = stablehlo::rebuildLoop(
      loop, llvm::BitVector(loop->getNumOperands()), starts,
      [&](ValueRange stacks, OpBuilder &inside) {
        ImplicitLocOpBuilder round(loop.getLoc(), inside);
        Value behind = AddOp::create(
            round,
            asInteger(round, forward.counter(),
                      RankedTensorType::get({}, round.getI32Type())),
            scalarConstant(round, length - 1));
        Value at =
            DivideOp::create(round, behind, scalarConstant(round, length));
        SmallVector<Value> following;
        for (auto [position, stack] : llvm::zip_equal(carried, stacks))
          following.push_back(updateAt(round, stack, /*dimension=*/0, at,
                                       forward.body().getArgument(position)));
        return following;
      });
  loop->erase();
  forward = *CountedLoop::recognize(keeping);
  llvm::append_range(kept, keeping->getResults().take_back(carried.size()));
  rebuildBackward();
  dropStacks(keeping);
  for (WhileOp segment : inner)
    if (std::optional<LoopPair> pair = LoopPair::find(segment))
      Segmentation(*std::move(pair)).run(chosen.depth - 1);
  return saved;
}

struct SegmentLoops : public fusion::impl::SegmentLoopsPassBase<SegmentLoops> {
  using SegmentLoopsPassBase::SegmentLoopsPassBase;

  void runOnOperation() override {
    // Inner loops first, since what an outer loop holds is copied; else in the
    // order of the program.
    std::map<size_t, SmallVector<WhileOp>, std::greater<>> loopsAt; // by level
    llvm::DenseMap<Operation *, size_t> pairOf; // of forward loops
    getOperation().walk([&](WhileOp loop) {
      size_t level = 0;
      for (Operation *op = loop; op; op = op->getParentOp())
        ++level;
      loopsAt[level].push_back(loop);
      if (LoopPair::find(loop))
        pairOf.insert({loop, pairOf.size()});
    });
    llvm::DenseSet<Operation *> replaced;
    SmallVector<int64_t> savings(pairOf.size(), 0);
    bool canNest = false;
    for (auto &[level, loops] : loopsAt)
      for (WhileOp loop : loops)
        if (auto entry = pairOf.find(loop);
            entry != pairOf.end() && !replaced.contains(loop))
          savings[entry->second] =
              segment(loop, depthOf(entry->second), replaced, canNest);
    if (llvm::all_of(savings, [](int64_t saved) { return saved == 0; }))
      return;
    Builder builder(&getContext());
    getOperation()->setAttr(step::segmentSavingsAttrName,
                            builder.getDenseI64ArrayAttr(savings));
    if (canNest)
      getOperation()->setAttr(step::segmentsCanNestAttrName,
                              builder.getUnitAttr());
    // Indices that only reads of the former stacks needed.
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }

  int64_t depthOf(size_t pair) const {
    return depths.empty() ? 1 : depths[std::min(pair, depths.size() - 1)];
  }

  /// The bytes saved by cutting the pair of a forward loop; its partner is
  /// replaced then.
  int64_t segment(WhileOp loop, int64_t depth,
                  llvm::DenseSet<Operation *> &replaced, bool &canNest) {
    std::optional<LoopPair> pair = LoopPair::find(loop);
    if (!pair)
      return 0;
    Location location = loop.getLoc();
    Operation *partner = pair->backward.loop();
    Segmentation segmentation(*std::move(pair));
    int64_t saved = segmentation.run(depth);
    if (!saved)
      return 0;
    replaced.insert(partner);
    canNest |= segmentation.canNest();
    remark::passed(location, remark::RemarkOpts::name("Saved").category(
                                 "fusion-segment-loops"))
        << remark::metric("Bytes", saved);
    return saved;
  }
};

} // namespace
