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
// Element-wise groups and groups of rows that are left alone then run earlier,
// behind the last ones of either kind that are there, if nothing they read is
// computed in between: conversions of parameters for products, say.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "JointRuns.h"
#include "OrderingModel.h"
#include "PackingProblem.h"
#include "Views.h"

#include "tenon/Target/GraphNodes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/Hashing.h"

#include <numeric>

namespace tenon::memory {
#define GEN_PASS_DEF_GATHERLAUNCHESPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// An order of a block's operations, and the bytes that are live in it.
class Gathering {
public:
  explicit Gathering(const solver::OrderingProblem &problem);

  /// `kinds` are those of the operations: equal ones above 0 may be launched
  /// together, and `addresses` are what each is given. Operations move as long
  /// as `most` bytes are live at most wherever a value waits longer.
  std::vector<int32_t> gather(ArrayRef<uint64_t> kinds,
                              ArrayRef<unsigned> addresses, int64_t most);
  /// Those of `mixing` that are alone run earlier, behind others of these.
  /// Nothing is run for those of `views`.
  std::vector<int32_t> gatherAlone(ArrayRef<bool> mixing, ArrayRef<bool> views,
                                   ArrayRef<unsigned> addresses, int64_t most);
  /// Of the given order.
  int64_t peak() const;

private:
  std::vector<int64_t> liveBytes() const;
  /// The place of the first operation that waits for this one.
  size_t dueOf(int32_t operation) const;
  /// The last place of what this one waits for; -1 for none.
  int64_t readyAt(int32_t operation) const;
  /// Whether an operation waits for another one, through views as well.
  bool waitsFor(int32_t operation, int32_t other, ArrayRef<bool> views) const;
  void move(size_t from, size_t to);
  /// Moves unless more than `most` bytes, and more than are now, would be live
  /// in between.
  bool tryMove(size_t from, size_t to, int64_t most,
               std::vector<int64_t> &live);

  const solver::OrderingProblem &problem;
  std::vector<SmallVector<int32_t>> after, before; // per operation
  std::vector<int32_t> order;
  std::vector<size_t> places; // per operation, in the order
};

Gathering::Gathering(const solver::OrderingProblem &problem)
    : problem(problem), after(problem.operations.size()),
      before(problem.operations.size()), order(problem.operations.size()),
      places(problem.operations.size()) {
  std::iota(order.begin(), order.end(), 0);
  std::iota(places.begin(), places.end(), 0);
  for (const auto &use : problem.uses)
    after[problem.producer(use.value)].push_back(use.user);
  for (const auto &control : problem.controls)
    after[control.before].push_back(control.after);
  for (auto [operation, users] : llvm::enumerate(after))
    for (int32_t user : users)
      before[user].push_back(int32_t(operation));
}

size_t Gathering::dueOf(int32_t operation) const {
  size_t due = order.size();
  for (int32_t next : after[operation])
    due = std::min(due, places[next]);
  return due;
}

int64_t Gathering::readyAt(int32_t operation) const {
  int64_t ready = -1;
  for (int32_t previous : before[operation])
    ready = std::max(ready, int64_t(places[previous]));
  return ready;
}

bool Gathering::waitsFor(int32_t operation, int32_t other,
                         ArrayRef<bool> views) const {
  return llvm::any_of(before[operation], [&](int32_t previous) {
    return previous == other ||
           (views[previous] && waitsFor(previous, other, views));
  });
}

/// Per place, as if no result took the place of an operand.
std::vector<int64_t> Gathering::liveBytes() const {
  std::vector<size_t> last(problem.valueCount());
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    last[value] = places[problem.producer(value)];
  for (const auto &use : problem.uses)
    last[use.value] = std::max(last[use.value], places[use.user]);
  for (int32_t value : problem.kept)
    last[value] = order.size();
  std::vector<int64_t> change(order.size() + 1);
  for (int32_t value = 0; value < problem.valueCount(); ++value) {
    change[places[problem.producer(value)]] += problem.bytes(value);
    if (last[value] < order.size())
      change[last[value] + 1] -= problem.bytes(value);
  }
  int64_t live = 0;
  std::vector<int64_t> result(order.size());
  for (size_t place = 0; place < order.size(); ++place) {
    live += change[place];
    result[place] = live + problem.operations[order[place]].workspace;
  }
  return result;
}

int64_t Gathering::peak() const {
  int64_t peak = 0;
  for (int64_t live : liveBytes())
    peak = std::max(peak, live);
  return peak;
}

/// Operations from behind `from` up to before `to` come one place earlier.
void Gathering::move(size_t from, size_t to) {
  if (from < to)
    std::rotate(order.begin() + from, order.begin() + from + 1,
                order.begin() + to);
  else
    std::rotate(order.begin() + to, order.begin() + from,
                order.begin() + from + 1);
  for (size_t place = std::min(from, to); place <= std::max(from, to); ++place)
    if (place < order.size())
      places[order[place]] = place;
}

std::vector<int32_t> Gathering::gather(ArrayRef<uint64_t> kinds,
                                       ArrayRef<unsigned> addresses,
                                       int64_t most) {
  std::vector<int64_t> live = liveBytes();
  for (size_t from = order.size(); from-- > 0;) {
    const int32_t operation = order[from];
    const uint64_t kind = kinds[operation];
    if (kind == 0)
      continue;
    const size_t due = dueOf(operation);
    size_t begin = from + 1;
    while (begin < due && kinds[order[begin]] != kind)
      ++begin;
    unsigned given = addresses[operation];
    size_t end = begin;
    for (; end < order.size() && kinds[order[end]] == kind; ++end)
      given += addresses[order[end]];
    // One of them may wait for it.
    if (begin == end || due < end || begin == from + 1 ||
        given > target::mostJointAddresses)
      continue;
    tryMove(from, begin, most, live);
  }
  return order;
}

bool Gathering::tryMove(size_t from, size_t to, int64_t most,
                        std::vector<int64_t> &live) {
  move(from, to);
  std::vector<int64_t> moved = liveBytes();
  bool fits = true;
  for (size_t place = std::min(from, to); place <= std::max(from, to); ++place)
    fits &= place >= moved.size() ||
            moved[place] <= std::max(most, live[place]);
  if (fits)
    live = std::move(moved);
  else if (from < to)
    move(to - 1, from);
  else
    move(to, from + 1);
  return fits;
}

std::vector<int32_t> Gathering::gatherAlone(ArrayRef<bool> mixing,
                                            ArrayRef<bool> views,
                                            ArrayRef<unsigned> addresses,
                                            int64_t most) {
  std::vector<int64_t> live = liveBytes();
  // Over views to the next place that runs; -1 or the end for none.
  auto previous = [&](int64_t place) {
    do
      --place;
    while (place >= 0 && views[order[size_t(place)]]);
    return place;
  };
  auto next = [&](size_t place) {
    do
      ++place;
    while (place < order.size() && views[order[place]]);
    return place;
  };
  for (size_t from = 1; from < order.size(); ++from) {
    const int32_t operation = order[from];
    if (!mixing[operation])
      continue;
    const int64_t left = previous(int64_t(from));
    const size_t right = next(from);
    if ((left >= 0 && mixing[order[size_t(left)]] &&
         !waitsFor(operation, order[size_t(left)], views)) ||
        (right < order.size() && mixing[order[right]] &&
         !waitsFor(order[right], operation, views)))
      continue; // not alone
    const int64_t ready = readyAt(operation);
    int64_t end = left;
    while (end > ready && !mixing[order[size_t(end)]])
      end = previous(end);
    // All that runs in a row there has to be behind what this one waits for.
    unsigned given = addresses[operation];
    int64_t begin = end;
    for (; begin > ready && mixing[order[size_t(begin)]];
         begin = previous(begin))
      given += addresses[order[size_t(begin)]];
    if (end <= ready || (begin >= 0 && mixing[order[size_t(begin)]]) ||
        given > target::mostJointAddresses)
      continue;
    tryMove(from, size_t(end) + 1, most, live);
  }
  return order;
}

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

struct GatherLaunches
    : public memory::impl::GatherLaunchesPassBase<GatherLaunches> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    Block &block = function.getBody().front();
    BufferClasses buffers(function);
    OrderingModel model(block, buffers);
    SmallVector<uint64_t> kinds;
    SmallVector<unsigned> addresses;
    SmallVector<bool> mixing, views;
    for (Operation &op : block.without_terminator()) {
      kinds.push_back(kindOf(&op));
      mixing.push_back(mayShareLaunch(&op) &&
                       cast<step::GroupOp>(op).getKind() !=
                           step::GroupKind::column);
      views.push_back(isView(&op) || matchPattern(&op, m_Constant()));
      addresses.push_back(addressesOf(&op));
    }
    const int64_t given = arenaOf(buffers);
    const int64_t peak = Gathering(model.problem()).peak();
    // What is live is not all: an order may leave gaps. Then less has to do.
    for (int64_t percent : {100, 98, 95, 90, 80, 0}) {
      const int64_t most = peak * percent / 100;
      Gathering gathering(model.problem());
      gathering.gather(kinds, addresses, most);
      model.apply(gathering.gatherAlone(mixing, views, addresses, most));
      if (arenaOf(BufferClasses(function)) <= given)
        return;
      model.restore();
    }
  }

private:
  static int64_t arenaOf(const BufferClasses &buffers) {
    PackingProblem packing(buffers);
    return solver::solveOffsetPacking(packing.problem, quickPacking(packing))
        .arena;
  }
};

} // namespace
