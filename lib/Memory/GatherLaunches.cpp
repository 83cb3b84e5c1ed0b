//===- GatherLaunches.cpp - Bring together what one launch can do ---------===//
//
// On a GPU kernels that follow each other and do not touch what another one
// writes are one launch (Codegen/GPU/JointKernel.h). Here groups run later, up
// to the next one like them, as long as nobody waits for their results and no
// more bytes are live for it than are at the peak anyway: the updates of
// parameters, whose results are state, gather behind the peak. Worked example,
// u and v updates of equal kind, p the peak:
//
//   g1 u1 p g2 u2 h v1        g1 p g2 h u1 u2 v1
//
// where the gradient that u1 reads waits through p. If it has no room there,
// u1 stays. Groups are looked at from the last to the first, so that one which
// moves finds those that have moved already.
//
// Groups that are left alone then run earlier, behind the last ones that they
// may be launched with, if nothing they read is computed in between:
// conversions of parameters for products, say. Those that cannot run later, in
// front of the next ones that they may be launched with, if these do not wait
// for them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "BlockOrder.h"
#include "JointRuns.h"
#include "OrderingModel.h"
#include "PackingProblem.h"
#include "Views.h"

#include "tenon/Target/GraphNodes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/Hashing.h"

#include <memory>

namespace tenon::memory {
#define GEN_PASS_DEF_GATHERLAUNCHESPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// What a group has in common with those that it may be launched with; of rows
/// and columns only runs of the same kernel.
uint64_t kindOf(Operation *op) {
  if (!mayShareLaunch(op))
    return 0;
  auto group = cast<step::GroupOp>(op);
  if (group.getKind() == step::GroupKind::elementwise)
    return 1;
  auto ignore = [](Value) { return llvm::hash_code(0); };
  llvm::hash_code hash = llvm::hash_value(uint64_t(group.getKind()));
  for (Operation &each : group.getBody().front())
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  &each, ignore, ignore,
                  OperationEquivalence::Flags::IgnoreLocations));
  return std::max<uint64_t>(2, uint64_t(hash));
}

/// Kernels of rows and element-wise ones have as many threads to a block, those
/// of columns mostly fewer.
unsigned familyOf(Operation *op) {
  if (!mayShareLaunch(op))
    return 0;
  return cast<step::GroupOp>(op).getKind() == step::GroupKind::column ? 2 : 1;
}

/// What the operations of a block are to joint launches, in their order.
struct Launches {
  /// Equal ones above 0 may be launched together.
  SmallVector<uint64_t> kinds;
  /// Those alike above 0 may be, too, if they are run one behind the other.
  SmallVector<unsigned> families;
  /// Whether nothing is run for it.
  SmallVector<bool> views;
  /// How many a launch gets for it.
  SmallVector<unsigned> addresses;

  explicit Launches(Block &block) {
    for (Operation &op : block.without_terminator()) {
      kinds.push_back(kindOf(&op));
      families.push_back(familyOf(&op));
      views.push_back(isView(&op) || matchPattern(&op, m_Constant()));
      addresses.push_back(addressesOf(&op));
    }
  }
};

/// Brings operations together in an order, as long as `most` bytes are live at
/// most wherever a value waits longer.
class Gathering {
public:
  Gathering(const solver::OrderingProblem &problem, const Launches &launches,
            int64_t most)
      : block(problem), launches(launches), most(most),
        live(block.liveBytes()) {}

  ArrayRef<int32_t> operations() const { return block.operations(); }

  /// Operations run later, behind others of their kind.
  void gather();
  /// Those that are alone run earlier, behind others of their family, or later,
  /// in front of others.
  void gatherAlone();

private:
  void runAloneEarlier();
  void runAloneLater();
  int32_t at(size_t place) const { return block.operations()[place]; }
  unsigned familyAt(size_t place) const { return launches.families[at(place)]; }
  /// Over views to the next place that runs; -1 or the end for none.
  int64_t previous(int64_t place) const;
  size_t next(size_t place) const;
  /// Whether an operation waits for another one, through views as well.
  bool waitsFor(int32_t operation, int32_t other) const;
  bool isAlone(size_t place) const;
  /// Moves unless more than `most` bytes, and more than are now, would be live
  /// in between.
  void tryMove(size_t from, size_t to);

  BlockOrder block;
  const Launches &launches;
  int64_t most;
  std::vector<int64_t> live; // per place
};

void Gathering::gather() {
  const size_t count = live.size();
  for (size_t from = count; from-- > 0;) {
    const int32_t operation = at(from);
    const uint64_t kind = launches.kinds[operation];
    if (kind == 0)
      continue;
    const size_t due = block.dueOf(operation);
    size_t begin = from + 1;
    while (begin < due && launches.kinds[at(begin)] != kind)
      ++begin;
    unsigned given = launches.addresses[operation];
    size_t end = begin;
    for (; end < count && launches.kinds[at(end)] == kind; ++end)
      given += launches.addresses[at(end)];
    // One of them may wait for it.
    if (begin == end || due < end || begin == from + 1 ||
        given > target::mostJointAddresses)
      continue;
    tryMove(from, begin);
  }
}

void Gathering::tryMove(size_t from, size_t to) {
  std::vector<int64_t> moved = block.liveBytesBehindMove(live, from, to);
  for (size_t place = std::min(from, to);
       place <= std::max(from, to) && place < moved.size(); ++place)
    if (moved[place] > std::max(most, live[place]))
      return;
  block.move(from, to);
  live = std::move(moved);
}

int64_t Gathering::previous(int64_t place) const {
  do
    --place;
  while (place >= 0 && launches.views[at(size_t(place))]);
  return place;
}

size_t Gathering::next(size_t place) const {
  do
    ++place;
  while (place < live.size() && launches.views[at(place)]);
  return place;
}

bool Gathering::waitsFor(int32_t operation, int32_t other) const {
  return llvm::any_of(block.before(operation), [&](int32_t earlier) {
    return earlier == other ||
           (launches.views[earlier] && waitsFor(earlier, other));
  });
}

bool Gathering::isAlone(size_t place) const {
  const unsigned family = familyAt(place);
  const int64_t left = previous(int64_t(place));
  const size_t right = next(place);
  return !(left >= 0 && familyAt(size_t(left)) == family &&
           !waitsFor(at(place), at(size_t(left)))) &&
         !(right < live.size() && familyAt(right) == family &&
           !waitsFor(at(right), at(place)));
}

void Gathering::gatherAlone() {
  runAloneEarlier();
  runAloneLater();
}

void Gathering::runAloneEarlier() {
  for (size_t from = 1; from < live.size(); ++from) {
    const unsigned family = familyAt(from);
    if (family == 0 || !isAlone(from))
      continue;
    const int64_t ready = int64_t(block.readyOf(at(from))) - 1;
    int64_t end = previous(int64_t(from));
    while (end > ready && familyAt(size_t(end)) != family)
      end = previous(end);
    // All that runs in a row there has to be behind what this one waits for.
    unsigned given = launches.addresses[at(from)];
    int64_t begin = end;
    for (; begin > ready && familyAt(size_t(begin)) == family;
         begin = previous(begin))
      given += launches.addresses[at(size_t(begin))];
    if (end <= ready || (begin >= 0 && familyAt(size_t(begin)) == family) ||
        given > target::mostJointAddresses)
      continue;
    tryMove(from, size_t(end) + 1);
  }
}

void Gathering::runAloneLater() {
  const size_t count = live.size();
  for (size_t from = count; from-- > 0;) {
    const unsigned family = familyAt(from);
    if (family == 0 || !isAlone(from))
      continue;
    const size_t due = block.dueOf(at(from));
    size_t begin = next(from);
    while (begin < due && familyAt(begin) != family)
      begin = next(begin);
    // None of all that runs in a row there may wait for this one.
    unsigned given = launches.addresses[at(from)];
    size_t end = begin;
    for (; end < due && familyAt(end) == family; end = next(end))
      given += launches.addresses[at(end)];
    if (begin >= due || (end < count && familyAt(end) == family) ||
        given > target::mostJointAddresses)
      continue;
    tryMove(from, begin);
  }
}

struct GatherLaunches
    : public memory::impl::GatherLaunchesPassBase<GatherLaunches> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    KnownOverwrites overwrites;
    Placed placed{std::make_unique<BufferClasses>(function, overwrites)};
    placed.arena = arenaOf(PackingProblem(*placed.buffers));
    mostArena = placed.arena + placed.arena / partForLaunches;
    // What stays alone in the order that was found moves in that one.
    reorder(function, &Gathering::gather, placed, overwrites);
    reorder(function, &Gathering::gatherAlone, placed, overwrites);
  }

private:
  /// What the order of operations makes of their values.
  struct Placed {
    std::unique_ptr<BufferClasses> buffers;
    int64_t arena = 0;
  };

  /// Fewer launches may take this part of the arena more: a small result that
  /// waits for its launch at the peak would else rule out a whole order.
  static constexpr int64_t partForLaunches = 4096;
  int64_t mostArena = 0;

  /// Puts operations into the order that `find` finds.
  void reorder(func::FuncOp function, void (Gathering::*find)(), Placed &placed,
               KnownOverwrites &overwrites) const {
    Block &block = function.getBody().front();
    OrderingModel model(block, *placed.buffers);
    const Launches launches(block);
    const int64_t peak = BlockOrder(model.problem()).peak();
    // What is live is not all: results take the place of operands, and an order
    // may leave gaps. Then less has to do.
    for (int64_t percent : {100, 95, 90, 80, 70, 60, 50, 30, 0}) {
      Gathering gathering(model.problem(), launches, peak * percent / 100);
      (gathering.*find)();
      if (llvm::is_sorted(gathering.operations()))
        return;
      model.apply(gathering.operations());
      Placed moved{std::make_unique<BufferClasses>(function, overwrites)};
      const PackingProblem packing(*moved.buffers);
      if (solver::leastArena(packing.problem) <= mostArena) {
        moved.arena = arenaOf(packing);
        if (moved.arena <= mostArena) {
          placed = std::move(moved);
          return;
        }
      }
      model.restore();
    }
  }

  static int64_t arenaOf(const PackingProblem &packing) {
    return solver::solveOffsetPacking(packing.problem, quickPacking(packing))
        .arena;
  }
};

} // namespace
