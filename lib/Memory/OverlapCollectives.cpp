//===- OverlapCollectives.cpp - Compute while ranks exchange --------------===//
//
// A collective that others run beside costs only the time for which nothing
// does. So what reads its result runs later, and it starts earlier, as far as
// the order allows and no more bytes are live than are at the peak anyway.
// Where the first of its readers or what it waits for is in the way, others are
// moved across it one by one.
// Worked example, c1 and c2 the sums of two gradients, u1 and u2 the updates
// with them, h what comes before the second gradient:
//
//   g1 c1 u1 h g2 c2 u2        g1 c1 h g2 c2 u1 u2
//
// where h and g2 run beside c1: u1 waits for it up to where enough has run.
// Then c2 starts before u1, which runs beside it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "BlockOrder.h"
#include "Exchanges.h"
#include "OrderingModel.h"
#include "PackingProblem.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"

namespace tenon::memory {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVESPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

int64_t arenaOf(const BufferClasses &buffers) {
  PackingProblem packing(buffers);
  return solver::solveOffsetPacking(packing.problem, quickPacking(packing))
      .arena;
}

int64_t nanosecondsOf(Operation &op) {
  auto time = op.getAttrOfType<IntegerAttr>(step::nanosecondsAttrName);
  return time ? time.getInt() : 0;
}

/// The operations of a block, and how long others should run beside each.
class Overlap {
public:
  Overlap(BlockOrder &order, ArrayRef<int64_t> wanted, int64_t most)
      : order(order), wanted(wanted), most(most), live(order.liveBytes()) {}

  void run() {
    for (int32_t operation = 0; operation < int32_t(wanted.size()); ++operation)
      if (wanted[size_t(operation)] > 0 && runBeside(operation)) {
        readLater(operation);
        runOthersFirst(operation);
        startEarlier(operation);
        runOthersLater(operation);
        settled.push_back(operation);
      }
  }

private:
  int64_t missing(int32_t collective) const {
    return wanted[size_t(collective)] -
           order.timeOf(order.placeOf(collective) + 1, order.dueOf(collective));
  }

  /// Whether no place has more bytes than there may be.
  bool fits() {
    std::vector<int64_t> changed = order.liveBytes();
    for (size_t place = 0; place < changed.size(); ++place)
      if (changed[place] > std::max(most, live[place]))
        return false;
    live = std::move(changed);
    return true;
  }

  /// Whether what is between the collective and its first reader may run beside
  /// it.
  bool runBeside(int32_t collective) {
    order.runBeside(collective, wanted[size_t(collective)]);
    if (fits())
      return true;
    order.runBeside(collective, 0);
    return false;
  }

  /// A move that does not fit is taken back.
  bool tryMove(size_t from, size_t to) {
    order.move(from, to);
    if (fits())
      return true;
    if (from < to)
      order.move(to - 1, from);
    else
      order.move(to, from + 1);
    return false;
  }

  /// Has the first readers run behind what need not wait for them.
  void readLater(int32_t collective) {
    constexpr int mostReaders = 16;
    for (int reader = 0; reader < mostReaders; ++reader) {
      const size_t due = order.dueOf(collective);
      int64_t left = missing(collective);
      if (left <= 0 || due == order.operations().size())
        return;
      const size_t limit = order.dueOf(order.operations()[due]);
      size_t to = due + 1;
      for (; to < limit && left > 0; ++to)
        left -= order.timeOf(to, to + 1);
      while (to > due + 1 && !tryMove(due, to))
        to = due + 1 + (to - due - 1) / 2;
      if (to == due + 1)
        return;
    }
  }

  /// Has operations that wait for none of its readers run before the first of
  /// them. On a GPU a sum is an exchange, a kernel that adds up and another
  /// exchange, which readers of the first cannot pass.
  void runOthersFirst(int32_t collective) {
    int failuresLeft = mostFailures;
    size_t to = order.dueOf(collective);
    for (size_t from = to + 1; from < order.operations().size() &&
                               failuresLeft > 0 && missing(collective) > 0;
         ++from) {
      const int32_t other = order.operations()[from];
      if (order.readyOf(other) > to ||
          llvm::is_contained(order.before(other), collective))
        continue;
      if (tryMove(from, to))
        ++to;
      else
        --failuresLeft;
    }
  }

  void startEarlier(int32_t collective) {
    const size_t from = order.placeOf(collective);
    const size_t ready = order.readyOf(collective);
    size_t to = from;
    for (int64_t left = missing(collective); to > ready && left > 0; --to)
      left -= order.timeOf(to - 1, to);
    while (to < from && !tryMove(from, to))
      to = from - (from - to) / 2;
  }

  /// Whether what runs at a place runs beside a collective already.
  bool isBeside(size_t place) const {
    return llvm::any_of(settled, [&](int32_t collective) {
      return order.placeOf(collective) < place &&
             place <= order.lastBeside(collective);
    });
  }

  /// Has operations that it does not wait for run behind it, as if it and what
  /// it does wait for started earlier.
  void runOthersLater(int32_t collective) {
    int failuresLeft = mostFailures;
    for (size_t from = order.placeOf(collective);
         from-- > 0 && failuresLeft > 0 && missing(collective) > 0;) {
      const int32_t other = order.operations()[from];
      const size_t to = order.placeOf(collective) + 1;
      if (wanted[size_t(other)] == 0 && order.dueOf(other) >= to &&
          !isBeside(from) && !tryMove(from, to))
        --failuresLeft;
    }
  }

  /// Where memory is short, few moves fit, and each takes a look at all places.
  static constexpr int mostFailures = 32;

  BlockOrder &order;
  ArrayRef<int64_t> wanted;
  const int64_t most;
  std::vector<int64_t> live;    // per place
  SmallVector<int32_t> settled; // collectives that were looked at
};

struct OverlapCollectives
    : public memory::impl::OverlapCollectivesPassBase<OverlapCollectives> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    SmallVector<Block *> blocks;
    function.getBody().walk([&](Operation *op) {
      if (isExchange(op) && !llvm::is_contained(blocks, op->getBlock()))
        blocks.push_back(op->getBlock());
    });
    for (Block *block : blocks)
      overlap(*block);
  }

private:
  void overlap(Block &block) {
    BufferClasses buffers(getOperation());
    OrderingModel model(block, buffers);
    SmallVector<int64_t> times, wanted;
    SmallVector<Operation *> operations;
    for (Operation &op : block.without_terminator()) {
      operations.push_back(&op);
      const bool isBeside = isWorthQueue(&op, switchNanoseconds);
      wanted.push_back(isBeside ? nanosecondsOf(op) : 0);
      // While one is under way, another does not hide it.
      times.push_back(isExchange(&op) ? 0 : nanosecondsOf(op));
    }
    const int64_t given = arenaOf(buffers);
    const int64_t peak = BlockOrder(model.problem()).peak();
    // What is live is not all: an order may leave gaps. Then less has to do.
    for (int64_t percent : {100, 98, 95, 90, 80}) {
      BlockOrder order(model.problem());
      order.setTimes(times);
      Overlap(order, wanted, peak * percent / 100).run();
      model.apply(order.operations());
      for (auto [index, op] : llvm::enumerate(operations)) {
        const auto operation = int32_t(index);
        const size_t count =
            order.lastBeside(operation) - order.placeOf(operation);
        if (count > 0)
          op->setAttr(step::besideAttrName,
                      Builder(op).getI64IntegerAttr(int64_t(count)));
      }
      if (arenaOf(BufferClasses(getOperation())) <= given)
        return;
      for (Operation *op : operations)
        op->removeAttr(step::besideAttrName);
      model.restore();
    }
  }
};

} // namespace
