//===- BucketSums.cpp - One collective for many small sums ----------------===//
//
// Ranks wait a latency for each sum, however small. So small sums over the same
// ranks are joined to one tensor and summed together. A block is walked in its
// order; a sum joins the open bucket of its kind and waits, and what needs one
// that waits waits, too. When the bucket is full, or a collective needs one of
// its sums, the bucket is written, and then what has waited:
//
//   s1 = all_reduce(g1)   u1(s1)   g2 = ...   s2 = all_reduce(g2)   u2(s2)
//   g2 = ...   s = all_reduce(join(g1, g2))   u1(part of s)   u2(part of s)
//
// No sum is kept from a collective that needs it, so a bucket never needs
// itself. Each element is summed in the order of the ranks as before.
//
//===----------------------------------------------------------------------===//

#include "tenon/Collectives/Passes.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"

namespace tenon::collectives {
#define GEN_PASS_DEF_BUCKETSUMSPASS
#include "tenon/Collectives/Passes.h.inc"
} // namespace tenon::collectives

using namespace mlir;
using namespace tenon;

namespace {

class Buckets {
public:
  Buckets(Block &block, int64_t most) : block(block), most(most) {}

  void run() {
    SmallVector<Operation *> operations;
    for (Operation &op : block.without_terminator())
      operations.push_back(&op);
    for (Operation *op : operations) {
      if (holdsCollective(op))
        writeNeeded(op);
      if (mayJoin(op))
        join(cast<stablehlo::AllReduceOp>(op));
      else if (mustWait(op))
        waiting.insert(op);
      else
        place(op);
    }
    while (!open.empty())
      write(open.begin());
  }

private:
  struct Bucket {
    SmallVector<stablehlo::AllReduceOp> sums;
    int64_t bytes = 0;
  };
  /// A tensor that is joined from many takes a look at each of them.
  static constexpr size_t mostSums = 32;

  static int64_t bytesOf(Operation *op) {
    return storedBytes(op->getResult(0).getType());
  }

  bool mayJoin(Operation *op) const {
    auto sum = dyn_cast<stablehlo::AllReduceOp>(op);
    std::string whyNot;
    return sum && sum->getNumOperands() == 1 && bytesOf(op) < most &&
           describeCollective(op, whyNot);
  }

  static bool areAlike(stablehlo::AllReduceOp a, stablehlo::AllReduceOp b) {
    std::string whyNot;
    auto first = describeCollective(a, whyNot),
         second = describeCollective(b, whyNot);
    first->piece = second->piece = 1;
    return *first == *second && a->hasAttr(step::sumsByTreeAttrName) ==
                                    b->hasAttr(step::sumsByTreeAttrName);
  }

  bool isInBucket(Operation *op) const {
    return llvm::any_of(open, [&](const auto &bucket) {
      return llvm::is_contained(bucket->sums, op);
    });
  }

  /// Calls `visit` for what writes the operands of an operation and of those in
  /// it.
  static void forWriters(Operation *op,
                         llvm::function_ref<void(Operation *)> visit) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *writer = operand.getDefiningOp())
          visit(writer);
    });
  }

  /// Whether it needs a sum that is not written, or what waits for one.
  bool mustWait(Operation *op) const {
    bool must = false;
    forWriters(op, [&](Operation *writer) {
      must |= waiting.contains(writer) || isInBucket(writer);
    });
    return must;
  }

  /// Writes the buckets that an operation needs.
  void writeNeeded(Operation *op) {
    while (mustWait(op)) {
      SmallVector<Operation *> reached = {op};
      llvm::SmallPtrSet<Operation *, 16> seen;
      Bucket *needed = nullptr;
      while (!needed && !reached.empty())
        forWriters(reached.pop_back_val(), [&](Operation *writer) {
          for (const auto &bucket : open)
            if (llvm::is_contained(bucket->sums, writer))
              needed = bucket.get();
          if (waiting.contains(writer) && seen.insert(writer).second)
            reached.push_back(writer);
        });
      write(llvm::find_if(
          open, [&](const auto &bucket) { return bucket.get() == needed; }));
    }
  }

  void join(stablehlo::AllReduceOp sum) {
    auto bucket = llvm::find_if(open, [&](const auto &other) {
      return areAlike(other->sums.front(), sum);
    });
    if (bucket != open.end() && ((*bucket)->bytes + bytesOf(sum) > most ||
                                 (*bucket)->sums.size() == mostSums)) {
      write(bucket);
      bucket = open.end();
    }
    if (bucket == open.end()) {
      open.push_back(std::make_unique<Bucket>());
      bucket = std::prev(open.end());
    }
    (*bucket)->sums.push_back(sum);
    (*bucket)->bytes += bytesOf(sum);
  }

  void place(Operation *op) { op->moveBefore(block.getTerminator()); }

  /// Writes a bucket, and what no longer waits.
  void write(std::vector<std::unique_ptr<Bucket>>::iterator at) {
    std::unique_ptr<Bucket> bucket = std::move(*at);
    open.erase(at);
    if (bucket->sums.size() == 1)
      place(bucket->sums.front());
    else
      writeJoined(bucket->sums);
    // One that waited may let go those behind it, which wait for no other.
    for (Operation *op : waiting.takeVector())
      if (mustWait(op))
        waiting.insert(op);
      else
        place(op);
  }

  void writeJoined(ArrayRef<stablehlo::AllReduceOp> sums) {
    OpBuilder builder(block.getTerminator());
    Type element = getElementTypeOrSelf(sums.front()->getResult(0).getType());
    auto inRow = [&](int64_t count) {
      return RankedTensorType::get({count}, element);
    };
    SmallVector<Value> rows;
    SmallVector<Location> locations;
    int64_t all = 0;
    for (stablehlo::AllReduceOp sum : sums) {
      Value operand = sum->getOperand(0);
      const int64_t count = elementCount(shapeOf(operand));
      rows.push_back(stablehlo::ReshapeOp::create(builder, sum.getLoc(),
                                                  inRow(count), operand));
      locations.push_back(sum.getLoc());
      all += count;
    }
    Location location = builder.getFusedLoc(locations);
    IRMapping mapping;
    mapping.map(sums.front()->getOperand(0),
                stablehlo::ConcatenateOp::create(builder, location, inRow(all),
                                                 rows, uint64_t(0)));
    Operation *joined = builder.clone(*sums.front(), mapping);
    joined->setLoc(location);
    joined->getResult(0).setType(inRow(all));
    int64_t begin = 0;
    for (stablehlo::AllReduceOp sum : sums) {
      Value result = sum->getResult(0);
      const int64_t count = elementCount(shapeOf(result));
      Value part = stablehlo::SliceOp::create(
          builder, sum.getLoc(), inRow(count), joined->getResult(0),
          ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{begin + count},
          ArrayRef<int64_t>{1});
      begin += count;
      result.replaceAllUsesWith(stablehlo::ReshapeOp::create(
          builder, sum.getLoc(), result.getType(), part));
      sum.erase();
    }
  }

  Block &block;
  const int64_t most;
  std::vector<std::unique_ptr<Bucket>> open;
  llvm::SetVector<Operation *> waiting; // in order
};

struct BucketSums : public collectives::impl::BucketSumsPassBase<BucketSums> {
  using BucketSumsPassBase::BucketSumsPassBase;

  void runOnOperation() override {
    llvm::SetVector<Block *> blocks;
    getOperation().walk(
        [&](stablehlo::AllReduceOp sum) { blocks.insert(sum->getBlock()); });
    for (Block *each : blocks)
      Buckets(*each, bytes).run();
  }
};

} // namespace
