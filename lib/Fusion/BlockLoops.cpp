//===- BlockLoops.cpp - Add up several rounds with one product ------------===//
//
// A loop in which sums over rounds are marked (ChooseBlocks) becomes one over
// blocks of s rounds. Its inner loop runs the rounds of a block and keeps, in
// place of the products, what they multiply; behind it each sum gets one
// product of all the block's rounds.
//
//     for i < T {                          for j < T/s {
//       d = ...                              for i < s {
//       sum += x[i]^T d                        d[i] = ...          ds = d
//     }                                      }
//                                            sum += xs^T ds        contracting
//                                          }                       rounds, too
//
// The terms of a sum stay in the order of the rounds. A product that a round
// only stacks is made behind the block, too, of all of its rows, and written to
// the stack at once, in reverse order if the rounds walk through it downwards.
// What a block keeps is carried by the loop over blocks, so that it lies in one
// place. Products read it again and again, so its rows are staggered where they
// would share sets of a cache, and so are those of a value that is put together
// in the round and multiplied there, too.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/Step/FilledStacks.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/RoundSums.h"
#include "tenon/Fusion/StaggeredRows.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_BLOCKLOOPSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using namespace tenon::stablehlo;

namespace {

/// Dimensions behind one that is put in front.
SmallVector<int64_t> behindOne(ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [](int64_t dim) { return dim + 1; });
}

/// The same dimensions, and the one in front of them.
SmallVector<int64_t> withFirst(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> all = {0};
  llvm::append_range(all, behindOne(dims));
  return all;
}

class Blocks {
public:
  Blocks(CountedLoop loop, int64_t rounds, bool stagger);
  void build();
  size_t sumCount() const { return sums.size(); }
  size_t stackedCount() const { return stacked.size(); }

private:
  Value numberOf(ImplicitLocOpBuilder &builder, Value first, Value round);
  Value indexOf(ImplicitLocOpBuilder &builder, Value index, IRMapping &mapping);
  Value writeRows(ImplicitLocOpBuilder &builder, const StackedProduct &product,
                  Value first, Value rows, Value stack);
  SmallVector<Value> runRound(ImplicitLocOpBuilder &builder, Value first,
                              Value round, ValueRange values);
  SmallVector<Value> runBlock(ImplicitLocOpBuilder &builder, Value block,
                              ValueRange values);

  RankedTensorType stackType(Value value) const;
  bool isStaggered(Value value) const;

  CountedLoop loop;
  int64_t length; // of a block
  bool stagger;
  SmallVector<RoundSum> sums;
  SmallVector<StackedProduct> stacked;
  /// The products and all that is behind them.
  llvm::DenseSet<Operation *> leaving;
  /// Positions of carried values besides the counter: those of every round and
  /// those of every block.
  SmallVector<unsigned> ofRounds, ofBlocks;
  /// What the rounds of a block are kept of.
  llvm::SmallSetVector<Value, 8> kept;
};

Blocks::Blocks(CountedLoop loop, int64_t rounds, bool stagger)
    : loop(loop), length(rounds), stagger(stagger) {
  for (Operation &op : loop.body())
    if (op.hasAttr(step::blockRoundsAttrName)) {
      if (std::optional<RoundSum> sum = RoundSum::of(loop, &op)) {
        leaving.insert(&op);
        leaving.insert_range(sum->behind);
        kept.insert_range(sum->operands());
        llvm::append_range(ofBlocks, sum->positions);
        sums.push_back(*std::move(sum));
      } else if (auto product = StackedProduct::of(loop, &op)) {
        leaving.insert_range(ArrayRef<Operation *>{
            product->product, product->slice, product->write});
        kept.insert(product->product.getLhs());
        ofBlocks.push_back(product->position);
        stacked.push_back(*std::move(product));
      }
    }
  unsigned counter = cast<BlockArgument>(loop.counter()).getArgNumber();
  for (unsigned i = 0; i < loop.loop()->getNumOperands(); ++i)
    if (i != counter && !llvm::is_contained(ofBlocks, i))
      ofRounds.push_back(i);
}

/// The number of a round of the block that begins with round `first`, as the
/// loop counts.
Value Blocks::numberOf(ImplicitLocOpBuilder &builder, Value first,
                       Value round) {
  Value number = AddOp::create(builder, first, round);
  if (number.getType() != loop.counter().getType())
    number = ConvertOp::create(builder, loop.counter().getType(), number);
  return number;
}

/// An index of the round whose number `mapping` has.
Value Blocks::indexOf(ImplicitLocOpBuilder &builder, Value index,
                      IRMapping &mapping) {
  if (index.getParentBlock() != &loop.body() || mapping.contains(index))
    return mapping.lookupOrDefault(index);
  Operation *op = index.getDefiningOp();
  for (Value operand : op->getOperands())
    indexOf(builder, operand, mapping);
  return builder.clone(*op, mapping)->getResult(0);
}

/// Multiplies the rows of a block, one after the other in the order of the
/// rounds, and writes them to the stack.
Value Blocks::writeRows(ImplicitLocOpBuilder &builder,
                        const StackedProduct &product, Value first, Value rows,
                        Value stack) {
  auto dot = cast<DotGeneralOp>(builder.clone(*product.product));
  dot->removeAttr(step::blockRoundsAttrName);
  auto dims = dot.getDotDimensionNumbers();
  dot.setDotDimensionNumbersAttr(DotDimensionNumbersAttr::get(
      builder.getContext(), {}, {},
      behindOne(dims.getLhsContractingDimensions()),
      dims.getRhsContractingDimensions()));
  dot->setOperand(0, rows);
  auto type = cast<RankedTensorType>(dot.getType());
  SmallVector<int64_t> shape = {length};
  llvm::append_range(shape, type.getShape());
  dot.getResult().setType(type.clone(shape));

  bool upwards = product.direction == CountedLoop::Direction::upwards;
  Value slices = dot.getResult();
  if (!upwards)
    slices = ReverseOp::create(builder, slices, ArrayRef<int64_t>{0});
  Value lowest = scalarConstant(builder, upwards ? 0 : length - 1);
  IRMapping mapping;
  mapping.map(loop.counter(), numberOf(builder, first, lowest));
  Value index = indexOf(builder, product.index(), mapping);
  return DynamicUpdateSliceOp::create(
      builder, stack, slices,
      startAt(builder, int64_t(shape.size()), /*dimension=*/0, index));
}

bool Blocks::isStaggered(Value value) const {
  return stagger && shareSets(cast<RankedTensorType>(value.getType()));
}

/// Of the stack in which a block keeps `value`.
RankedTensorType Blocks::stackType(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  if (isStaggered(value))
    type = staggered(type);
  SmallVector<int64_t> shape = {length};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

/// A round of the block that begins with round `first`, on values of every
/// round and what is kept.
SmallVector<Value> Blocks::runRound(ImplicitLocOpBuilder &builder, Value first,
                                    Value round, ValueRange values) {
  IRMapping mapping;
  mapping.map(loop.counter(), numberOf(builder, first, round));
  for (auto [position, value] : llvm::zip_first(ofRounds, values))
    mapping.map(loop.body().getArgument(position), value);
  IRMapping keptAs;
  for (Operation &op : loop.body().without_terminator()) {
    if (leaving.contains(&op))
      continue;
    Operation *copy = builder.clone(op, mapping);
    if (auto whole = dyn_cast<ConcatenateOp>(op);
        whole && kept.contains(whole) && isStaggered(whole)) {
      Value longer = withStagger(builder, copy->getResult(0));
      keptAs.map(whole.getResult(), longer);
      mapping.map(whole.getResult(), withoutStagger(builder, longer));
    }
  }
  SmallVector<Value> next;
  for (unsigned position : ofRounds)
    next.push_back(mapping.lookupOrDefault(
        loop.body().getTerminator()->getOperand(position)));
  for (auto [value, stack] :
       llvm::zip_equal(kept, values.drop_front(ofRounds.size())))
    next.push_back(updateAt(builder, stack, /*dimension=*/0, round,
                            keptAs.contains(value)
                                ? keptAs.lookup(value)
                                : mapping.lookupOrDefault(value)));
  return next;
}

/// The rounds of a block and its products, on values of every round, of every
/// block, and what was kept of the block before.
SmallVector<Value> Blocks::runBlock(ImplicitLocOpBuilder &builder, Value block,
                                    ValueRange values) {
  Value first =
      MultiplyOp::create(builder, block, scalarConstant(builder, length));
  SmallVector<Value> starts(values.take_front(ofRounds.size()));
  llvm::append_range(starts, values.take_back(kept.size()));
  SmallVector<Value> ran = buildCountedLoop(
      builder, length, starts, [&](Value round, ValueRange inner) {
        return runRound(builder, first, round, inner);
      });
  ArrayRef<Value> stacks = ArrayRef(ran).take_back(kept.size());
  SmallVector<Value> rows(stacks);
  for (auto [value, stack] : llvm::zip_equal(kept, rows))
    if (isStaggered(value))
      stack = withoutStagger(builder, stack);
  auto rowsOf = [&](Value value) {
    return rows[size_t(llvm::find(kept, value) - kept.begin())];
  };
  IRMapping mapping;
  for (auto [position, value] :
       llvm::zip_first(ofBlocks, values.drop_front(ofRounds.size())))
    mapping.map(loop.body().getArgument(position), value);
  for (const RoundSum &sum : sums) {
    Operation *product = builder.clone(*sum.product, mapping);
    product->removeAttr(step::blockRoundsAttrName);
    if (auto dot = dyn_cast<DotGeneralOp>(product)) {
      auto dims = dot.getDotDimensionNumbers();
      dot.setDotDimensionNumbersAttr(DotDimensionNumbersAttr::get(
          builder.getContext(), behindOne(dims.getLhsBatchingDimensions()),
          behindOne(dims.getRhsBatchingDimensions()),
          withFirst(dims.getLhsContractingDimensions()),
          withFirst(dims.getRhsContractingDimensions())));
    } else {
      auto reduce = cast<ReduceOp>(product);
      reduce.setDimensions(withFirst(reduce.getDimensions()));
    }
    for (auto [number, operand] : llvm::enumerate(sum.operands()))
      product->setOperand(number, rowsOf(operand));
    for (Operation *op : sum.behind)
      builder.clone(*op, mapping);
  }
  for (const StackedProduct &product : stacked)
    mapping.map(
        Value(DynamicUpdateSliceOp(product.write).getResult()),
        writeRows(builder, product, first,
                  rowsOf(DotGeneralOp(product.product).getLhs()),
                  mapping.lookup(loop.body().getArgument(product.position))));
  SmallVector<Value> next =
      SmallVector<Value>(ArrayRef(ran).take_front(ofRounds.size()));
  for (unsigned position : ofBlocks)
    next.push_back(
        mapping.lookup(loop.body().getTerminator()->getOperand(position)));
  llvm::append_range(next, stacks);
  return next;
}

/// Replaces the loop by one over blocks.
void Blocks::build() {
  WhileOp before = loop.loop();
  ImplicitLocOpBuilder builder(before.getLoc(), before);
  SmallVector<Value> starts;
  for (unsigned position : llvm::concat<unsigned>(ofRounds, ofBlocks))
    starts.push_back(before->getOperand(position));
  for (Value value : kept)
    starts.push_back(zeros(builder, stackType(value)));
  SmallVector<Value> values =
      buildCountedLoop(builder, loop.trips() / length, starts,
                       [&](Value block, ValueRange carried) {
                         return runBlock(builder, block, carried);
                       });
  Operation *after = values.back().getDefiningOp();
  after->setDiscardableAttrs(before->getDiscardableAttrDictionary());
  // Stacks stay filled, and what a block keeps is written before it is read.
  SmallVector<int64_t> filled;
  auto isFilled = [&](unsigned position) {
    return llvm::is_contained(step::filledStacks(before), int64_t(position));
  };
  const auto firstResult = cast<OpResult>(values.front()).getResultNumber();
  for (auto [index, position] :
       llvm::enumerate(llvm::concat<unsigned>(ofRounds, ofBlocks)))
    if (isFilled(position))
      filled.push_back(int64_t(firstResult + index));
  for (size_t index = values.size() - kept.size(); index < values.size();
       ++index)
    filled.push_back(int64_t(firstResult + index));
  step::setFilledStacks(after, std::move(filled));
  SmallVector<Value> results(before->getNumResults());
  for (auto [position, value] :
       llvm::zip_first(llvm::concat<unsigned>(ofRounds, ofBlocks), values))
    results[position] = value;
  Value trips = scalarConstant(builder, loop.trips());
  Type counterType = loop.counter().getType();
  if (trips.getType() != counterType)
    trips = ConvertOp::create(builder, counterType, trips);
  results[cast<BlockArgument>(loop.counter()).getArgNumber()] = trips;
  before->replaceAllUsesWith(results);
  before->erase();
}

struct BlockLoops : public fusion::impl::BlockLoopsPassBase<BlockLoops> {
  using BlockLoopsPassBase::BlockLoopsPassBase;

  void runOnOperation() override {
    // Inner loops first, since what an outer loop holds is copied.
    SmallVector<WhileOp> loops;
    getOperation().walk([&](WhileOp loop) { loops.push_back(loop); });
    bool changed = false;
    for (WhileOp loop : loops) {
      std::optional<CountedLoop> counted = CountedLoop::recognize(loop);
      int64_t rounds = counted ? roundsOfBlock(*counted) : 1;
      if (rounds == 1 || counted->trips() % rounds != 0)
        continue;
      Location location = loop.getLoc();
      Blocks blocks(*counted, rounds, stagger);
      if (!blocks.sumCount() && !blocks.stackedCount())
        continue;
      blocks.build();
      changed = true;
      remark::passed(location, remark::RemarkOpts::name("Blocked").category(
                                   "fusion-block-loops"))
          << remark::metric("Sums", int64_t(blocks.sumCount()))
          << remark::metric("Stacked", int64_t(blocks.stackedCount()))
          << remark::metric("Rounds", rounds);
    }
    getOperation().walk(
        [](Operation *op) { op->removeAttr(step::blockRoundsAttrName); });
    if (!changed)
      return;
    // Indices and movements that only the products needed.
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }
};

} // namespace
