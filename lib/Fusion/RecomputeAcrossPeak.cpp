//===- RecomputeAcrossPeak.cpp - Keep fewer values where most are kept ---===//
//
// See RecomputeAcrossPeak.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/RecomputeAcrossPeak.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Cost/KernelCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/RecomputationCut.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// How much longer the kernels that change may be predicted to take: memory is
/// what this is for, but it must cost next to nothing.
constexpr double mostSlowdown = 1.01;

/// Library calls and loops compute nothing again themselves: kernels of their
/// own do it for them. What the choice costs in all may then be this part of
/// the time of the block's calls and loops, ...
constexpr double mostForCalls = 0.05;

/// ... and in a loop, whose every round it costs, it must save this part of
/// what the loop holds in any case.
constexpr int64_t leastShareOfLoop = 50;

/// A sum of many terms, such as the residual of a deep network, may be computed
/// again from all of them in front of every reader, which reads more the deeper
/// the network is. Values of which more than this many times their bytes would
/// be read are kept in choices that save less memory. One of those is taken if
/// it is predicted to be quicker by a part of the step, and by at least half of
/// the part that is kept more. On a GPU, where products take less of a step,
/// smaller parts are looked for, too.
constexpr int64_t mostRead[] = {4, 2}, mostReadOnGpus[] = {4, 3, 2};
constexpr double leastGain = 0.01, leastGainOnGpus = 0.005,
                 leastGainPerMemory = 0.5;

struct Peak {
  int64_t bytes = 0;
  unsigned position = 0; // in the order
};

/// When most bytes of the block's values are in memory. Carried, returned and
/// outside values have memory of their own and are not counted.
Peak findPeak(Block &block, const GroupGraph &graph,
              ArrayRef<GroupGraph::Id> order, bool recomputableOnly) {
  llvm::DenseMap<Operation *, unsigned> positions;
  for (auto [position, group] : llvm::enumerate(order))
    for (Operation *op : graph.members(group))
      positions[op] = position;
  llvm::DenseSet<Value> leaves;
  for (Value value : block.getTerminator()->getOperands())
    leaves.insert(storageOf(value));

  struct Life {
    unsigned begin, end; // first and last position
  };
  llvm::MapVector<Value, Life> lives;
  for (auto [position, group] : llvm::enumerate(order))
    for (Value result : GroupGraph::resultsOf(graph.members(group))) {
      Value storage = storageOf(result);
      Operation *writer = storage.getDefiningOp();
      if (!writer || writer->getBlock() != &block || leaves.contains(storage) ||
          (recomputableOnly && !recomputePrice(writer)))
        continue;
      Life &life =
          lives.insert({storage, Life{unsigned(position), 0}}).first->second;
      for (Operation *user : result.getUsers())
        if (Operation *top = block.findAncestorOpInBlock(*user))
          if (auto entry = positions.find(top); entry != positions.end())
            life.end = std::max(life.end, entry->second);
    }
  SmallVector<int64_t> change(order.size() + 1, 0);
  for (auto &[value, life] : lives) {
    change[life.begin] += storedBytes(value.getType());
    change[std::max(life.begin, life.end) + 1] -= storedBytes(value.getType());
  }
  Peak peak;
  int64_t bytes = 0;
  for (unsigned position = 0; position < order.size(); ++position) {
    bytes += change[position];
    if (bytes > peak.bytes)
      peak = {bytes, position};
  }
  return peak;
}

/// What a choice is predicted to change, in seconds.
struct Seconds {
  double before = 0, after = 0; // of the kernels that change
  double forCalls = 0;          // of new kernels that calls and loops read
  double calls = 0;             // of all calls and loops of the block

  double added() const { return after + forCalls - before; }
  /// What new kernels may take, if the others stay as they are.
  double leftForCalls() const {
    return std::max(0.0, before + mostForCalls * calls - after);
  }
  bool areNextToNothing() const {
    return after <= mostSlowdown * before &&
           after + forCalls <=
               std::max(mostSlowdown * before, before + mostForCalls * calls);
  }
};

/// Whether a group computes nothing again itself.
static bool isCallOrLoop(ArrayRef<Operation *> members) {
  return llvm::any_of(members, [](Operation *op) {
    return classify(op) == OperationClass::generic || isa<step::GroupOp>(op) ||
           op->getNumRegions() > 1;
  });
}

class PeakCut {
public:
  PeakCut(Block &block, const GroupGraph &graph, KnownKernels &kernels,
          ArrayRef<GroupGraph::Id> order, unsigned peak,
          const target::Target &machine);

  /// The bytes saved; 0, and nothing changed, if they are few.
  int64_t run(RecomputedOperations &recomputed);

private:
  bool isBefore(Operation *op) const {
    auto entry = positions.find(op);
    return entry != positions.end() && entry->second <= peak;
  }
  Operation *topLevel(Operation *op) const {
    return block.findAncestorOpInBlock(*op);
  }
  /// Whether something after the peak reads the value.
  bool isReadAfter(Value value) const;
  /// Whether the value is in memory after the peak whatever is chosen.
  bool isThereAnyway(Value value) const;
  void collectCrossing();
  /// Index maps, such as gathers, that kernels behind the peak with sums along
  /// rows or columns would need computed again. No such kernel holds one, so a
  /// kernel of its own would write what the other reads.
  llvm::DenseSet<Operation *> mapsOfSums() const;
  /// Operations whose result is read from more than `most` times its bytes if
  /// it is computed again.
  llvm::DenseSet<Operation *> readingMoreThan(int64_t most) const;
  /// Of what calls and loops behind the peak read, the operations that make
  /// what would take most time per byte to compute again for them, so that the
  /// others take no more than `most` seconds.
  llvm::DenseSet<Operation *> dearestForCalls(double most) const;
  double bytesCrossing() const;
  struct Candidate {
    RecomputationChoice choice;
    Seconds seconds;

    /// By at least a part of the step.
    bool isBetterThan(const Candidate &other, double least) const;
  };
  /// The choice that keeps the results of some operations in any case.
  std::optional<Candidate> choose(const llvm::DenseSet<Operation *> &kept);
  /// What of `copied` the group at a position behind the peak reads.
  llvm::SetVector<Value> copiedReads(unsigned position) const;
  /// What makes these values, and what that needs computed again.
  llvm::SetVector<Operation *> makersOf(ArrayRef<Value> copies) const;
  /// Numbers of the operations and the others, in order.
  SmallVector<unsigned> numbersWith(llvm::SetVector<Operation *> operations,
                                    ArrayRef<unsigned> others) const;
  Seconds predict();
  /// Bytes that are in memory in every round of the loop whose body the block
  /// is: what it carries, and what it reads from outside; 0 outside of loops.
  int64_t bytesOfLoop() const;
  /// Seconds of the kernel that computes copies for calls and loops; 0 if they
  /// read none.
  double secondsForCall(ArrayRef<Value> read, double kept) const;
  void explain(int64_t saved, const Seconds &seconds, bool done) const;
  void copyFor(GroupGraph::Id group, RecomputedOperations &recomputed);
  Value copyOf(Value value, OpBuilder &builder, IRMapping &copies,
               unsigned reader, RecomputedOperations &recomputed);

  /// What does not depend on the choice, of a group.
  struct Part {
    bool isCallOrLoop = false;
    SmallVector<Value> results;
    /// What it reads of values computed before the peak, in its regions, too,
    /// if it stands behind.
    llvm::SetVector<Value> reads;
  };

  Block &block;
  const GroupGraph &graph;
  KnownKernels &kernels;
  ArrayRef<GroupGraph::Id> order;
  unsigned peak;
  const target::Target &machine;
  std::vector<Part> parts; // by position
  llvm::DenseMap<Operation *, unsigned> positions;
  llvm::DenseSet<Value> leaving;        // what the terminator reads
  llvm::SetVector<Value> crossing;      // computed before, read after the peak
  llvm::DenseSet<Value> copied;         // computed again rather than kept
  llvm::DenseSet<Operation *> fixed;    // never computed again
  std::optional<double> secondsOfCalls; // the same for every choice
};

PeakCut::PeakCut(Block &block, const GroupGraph &graph, KnownKernels &kernels,
                 ArrayRef<GroupGraph::Id> order, unsigned peak,
                 const target::Target &machine)
    : block(block), graph(graph), kernels(kernels), order(order), peak(peak),
      machine(machine), parts(order.size()) {
  leaving.insert_range(block.getTerminator()->getOperands());
  for (auto [position, group] : llvm::enumerate(order))
    for (Operation *op : graph.members(group))
      positions[op] = position;
  for (auto [position, group] : llvm::enumerate(order)) {
    ArrayRef<Operation *> members = graph.members(group);
    Part &part = parts[position];
    part.isCallOrLoop = ::isCallOrLoop(members);
    part.results = GroupGraph::resultsOf(members);
    if (position <= peak)
      continue;
    auto read = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *writer = operand.getDefiningOp();
            writer && isBefore(writer))
          part.reads.insert(operand);
    };
    for (Operation *member : members)
      if (member->getNumRegions() == 0)
        read(member);
      else
        member->walk(read);
  }
}

bool PeakCut::isReadAfter(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *top = topLevel(user);
    return top && (top == block.getTerminator() || !isBefore(top));
  });
}

bool PeakCut::isThereAnyway(Value value) const {
  if (value.getParentBlock() != &block)
    return true;
  // A carried value is overwritten after its last read; the step's arguments
  // stay, since an update waits for all readers of the old state.
  if (isa<BlockArgument>(value))
    return isa<func::FuncOp>(block.getParentOp()) || isReadAfter(value);
  return leaving.contains(value);
}

void PeakCut::collectCrossing() {
  for (Operation &op : block.without_terminator())
    if (isBefore(&op))
      for (Value result : op.getResults())
        if (isReadAfter(result) && !isThereAnyway(result))
          crossing.insert(result);
}

llvm::DenseSet<Operation *> PeakCut::mapsOfSums() const {
  llvm::DenseSet<Operation *> found, seen;
  SmallVector<Value> left;
  for (unsigned position = peak + 1; position < parts.size(); ++position)
    if (llvm::any_of(graph.members(order[position]),
                     llvm::IsaPred<stablehlo::ReduceOp>))
      llvm::append_range(left, parts[position].reads);
  while (!left.empty()) {
    Operation *writer = left.pop_back_val().getDefiningOp();
    if (!writer || writer->getBlock() != &block || !recomputePrice(writer) ||
        !seen.insert(writer).second)
      continue;
    if (classify(writer) == OperationClass::indexMap && !isFreeToClone(writer))
      found.insert(writer);
    llvm::append_range(left, writer->getOperands());
  }
  return found;
}

llvm::DenseSet<Operation *> PeakCut::readingMoreThan(int64_t most) const {
  llvm::DenseSet<Operation *> found;
  // What is read to compute a value again; of one that is kept, itself.
  llvm::DenseMap<Value, llvm::SmallSetVector<Value, 4>> sources;
  for (Operation &op : block.without_terminator()) {
    // What every reader computes for itself is never kept.
    const bool isFree = isFreeToClone(&op);
    if (!isFree && (!isBefore(&op) || !recomputePrice(&op)))
      continue;
    Value result = op.getResult(0);
    llvm::SmallSetVector<Value, 4> read;
    for (Value operand : op.getOperands())
      if (auto known = sources.find(operand); known != sources.end())
        read.insert_range(known->second);
      else
        read.insert(storageOf(operand));
    const int64_t own = storedBytes(result.getType());
    int64_t bytes = 0;
    for (Value source : read) // of a larger one only a part
      bytes += std::min(own, storedBytes(source.getType()));
    if (!isFree && bytes > most * own) {
      found.insert(&op);
      read.clear();
      read.insert(storageOf(result));
    }
    sources.insert({result, std::move(read)});
  }
  return found;
}

bool PeakCut::Candidate::isBetterThan(const Candidate &other,
                                      double least) const {
  const double gained = other.seconds.added() - seconds.added(),
               step = other.seconds.calls + other.seconds.before;
  const double more = double(choice.kept - other.choice.kept) /
                      double(std::max<int64_t>(other.choice.kept, 1));
  return gained > std::max(least, leastGainPerMemory * more) * step;
}

std::optional<PeakCut::Candidate>
PeakCut::choose(const llvm::DenseSet<Operation *> &kept) {
  std::optional<RecomputationChoice> choice = chooseRecomputation(
      crossing.getArrayRef(),
      {[&](Value value) { return value.getParentBlock() == &block; },
       [&](Value value) { return isThereAnyway(value); },
       [](Value value) { return storedBytes(value.getType()); },
       [&](Operation *op) {
         return kept.contains(op) || fixed.contains(op) ? std::nullopt
                                                        : recomputePrice(op);
       }});
  if (!choice)
    return std::nullopt;
  copied = choice->copied;
  return Candidate{std::move(*choice), predict()};
}

/// The value as the reader may use it: kept, or computed again at `builder`.
Value PeakCut::copyOf(Value value, OpBuilder &builder, IRMapping &copies,
                      unsigned reader, RecomputedOperations &recomputed) {
  if (Value copy = copies.lookupOrNull(value))
    return copy;
  if (!copied.contains(value))
    return value;
  Operation *op = value.getDefiningOp();
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, copyOf(operand, builder, copies, reader, recomputed));
  Operation *copy = builder.clone(*op, operands);
  if (!isFreeToClone(copy))
    recomputed.readerOf[copy] = reader;
  copies.map(value, copy->getResult(0));
  return copy->getResult(0);
}

void PeakCut::copyFor(GroupGraph::Id group, RecomputedOperations &recomputed) {
  ArrayRef<Operation *> members = graph.members(group);
  OpBuilder builder(members.front());
  unsigned reader = recomputed.readers++;
  IRMapping copies;
  for (Operation *member : members)
    member->walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (copied.contains(operand.get()))
          operand.set(
              copyOf(operand.get(), builder, copies, reader, recomputed));
    });
}

llvm::SetVector<Value> PeakCut::copiedReads(unsigned position) const {
  llvm::SetVector<Value> found;
  for (Value value : parts[position].reads)
    if (copied.contains(value))
      found.insert(value);
  return found;
}

llvm::SetVector<Operation *> PeakCut::makersOf(ArrayRef<Value> copies) const {
  llvm::SetVector<Operation *> makers;
  for (Value value : copies)
    makers.insert(value.getDefiningOp());
  for (unsigned i = 0; i < makers.size(); ++i)
    makers[i]->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (copied.contains(operand))
          makers.insert(operand.getDefiningOp());
    });
  return makers;
}

SmallVector<unsigned>
PeakCut::numbersWith(llvm::SetVector<Operation *> operations,
                     ArrayRef<unsigned> others) const {
  SmallVector<unsigned> numbers(others);
  for (Operation *op : operations)
    numbers.push_back(*graph.numberOf(op));
  llvm::sort(numbers);
  return numbers;
}

llvm::DenseSet<Operation *> PeakCut::dearestForCalls(double most) const {
  struct Read {
    llvm::SetVector<Value> values;
    double seconds, bytes = 0;
    size_t number = 0;
  };
  std::vector<Read> reads;
  const double kept = bytesCrossing();
  double all = 0;
  for (unsigned position = peak + 1; position < parts.size(); ++position) {
    if (!parts[position].isCallOrLoop)
      continue;
    llvm::SetVector<Value> values = copiedReads(position);
    const double seconds = secondsForCall(values.getArrayRef(), kept);
    Read read{std::move(values), seconds};
    for (Value value : read.values)
      read.bytes += double(storedBytes(value.getType()));
    all += read.seconds;
    read.number = reads.size();
    if (read.bytes > 0)
      reads.push_back(std::move(read));
  }
  llvm::sort(reads, [](const Read &a, const Read &b) {
    const double first = a.seconds * b.bytes, second = b.seconds * a.bytes;
    return first != second ? first > second : a.number < b.number;
  });
  llvm::DenseSet<Operation *> makers;
  for (const Read &read : reads) {
    if (all <= most)
      break;
    all -= read.seconds;
    for (Value value : read.values)
      for (Value made : {value, storageOf(value)})
        if (Operation *maker = made.getDefiningOp())
          makers.insert(maker);
  }
  return makers;
}

double PeakCut::secondsForCall(ArrayRef<Value> read, double kept) const {
  if (read.empty())
    return 0;
  cost::KernelWork work = kernels.workOf(numbersWith(makersOf(read), {}), read);
  return cost::secondsOf(
      work, cost::bandwidthOf(std::max(work.bytes, kept), machine), machine);
}

int64_t PeakCut::bytesOfLoop() const {
  auto loop = dyn_cast<stablehlo::WhileOp>(block.getParentOp());
  if (!loop)
    return 0;
  llvm::SetVector<Value> read, held;
  getUsedValuesDefinedAbove(loop.getBody(), read);
  for (Value value : read)
    held.insert(storageOf(value));
  held.insert_range(block.getArguments());
  int64_t bytes = 0;
  for (Value value : held)
    bytes += storedBytes(value.getType());
  return bytes;
}

double PeakCut::bytesCrossing() const {
  double bytes = 0;
  for (Value value : crossing)
    bytes += double(storedBytes(value.getType()));
  return bytes;
}

Seconds PeakCut::predict() {
  // What is kept over the peak has left the caches when it is read again, if
  // all of it does not fit.
  const double kept = bytesCrossing();
  Seconds seconds;
  // Groups exist of calls so far, and of what is in loops.
  if (!secondsOfCalls)
    secondsOfCalls =
        cost::predictStep(*block.getParent(), machine).total.seconds;
  seconds.calls = *secondsOfCalls;
  for (auto [position, group] : llvm::enumerate(order)) {
    const Part &part = parts[position];
    llvm::SetVector<Value> read;
    if (position > peak)
      read = copiedReads(position);
    if (part.isCallOrLoop) {
      seconds.forCalls += secondsForCall(read.getArrayRef(), kept);
      continue;
    }
    SmallVector<Value> left;
    // What only readers behind the peak want is not written any more.
    for (Value result : part.results)
      if (position > peak || !copied.contains(result) ||
          llvm::any_of(result.getUsers(), [&](Operation *user) {
            Operation *top = topLevel(user);
            return isBefore(top) && graph.groupOf(top) != group;
          }))
        left.push_back(result);
    if (left.size() == part.results.size() && read.empty())
      continue;
    ArrayRef<unsigned> members = graph.memberNumbers(group);
    cost::KernelWork old = kernels.workOf(members);
    cost::KernelWork work = kernels.workOf(
        numbersWith(makersOf(read.getArrayRef()), members), left);
    const target::Rate &bandwidth =
        cost::bandwidthOf(std::max({old.bytes, work.bytes, kept}), machine);
    seconds.before += cost::secondsOf(old, bandwidth, machine);
    // A kernel of which nobody wants anything any more is not run.
    if (!left.empty())
      seconds.after += cost::secondsOf(work, bandwidth, machine);
  }
  return seconds;
}

void PeakCut::explain(int64_t saved, const Seconds &seconds, bool done) const {
  Operation *parent = block.getParentOp();
  auto options =
      remark::RemarkOpts::name("Recompute").category("fusion-form-groups");
  (done ? remark::passed(parent->getLoc(), options)
        : remark::missed(parent->getLoc(), options))
      << remark::add("{0} values {1} over the peak, {2} bytes less: the "
                     "kernels are predicted to take {3:f2} us with that, "
                     "{4:f2} us without; what calls and loops of {5:f2} us "
                     "read takes {6:f2} us",
                     copied.size(),
                     done ? "are computed again rather than kept"
                          : "stay rather than be computed again",
                     saved, seconds.after * 1e6, seconds.before * 1e6,
                     seconds.calls * 1e6, seconds.forCalls * 1e6);
}

int64_t PeakCut::run(RecomputedOperations &recomputed) {
  collectCrossing();
  const bool onGpu = machine.isGpu();
  if (onGpu)
    fixed = mapsOfSums();
  std::optional<Candidate> best = choose({});
  if (!best)
    return 0;
  const llvm::DenseSet<Value> whole = best->choice.copied;
  if (best->seconds.areNextToNothing())
    for (int64_t most : onGpu ? ArrayRef(mostReadOnGpus) : ArrayRef(mostRead))
      if (std::optional<Candidate> other = choose(readingMoreThan(most));
          other &&
          other->isBetterThan(*best, onGpu ? leastGainOnGpus : leastGain))
        best = std::move(other);
  // Where kernels of their own for calls take too long, what they would compute
  // at the highest price stays; all of it, if that is not enough.
  for (double most : {best->seconds.leftForCalls(), 0.0}) {
    if (best->seconds.areNextToNothing())
      break;
    copied = whole;
    if (std::optional<Candidate> other = choose(dearestForCalls(most));
        other && other->seconds.areNextToNothing())
      best = std::move(other);
  }
  copied = std::move(best->choice.copied);
  const int64_t saved = best->choice.saved;
  const Seconds &seconds = best->seconds;
  bool isWorthIt =
      seconds.areNextToNothing() &&
      (seconds.forCalls == 0 || saved * leastShareOfLoop >= bytesOfLoop());
  explain(saved, seconds, isWorthIt);
  if (!isWorthIt)
    return 0;

  // In the graph's order, so that everything kept is written before its
  // readers.
  for (GroupGraph::Id group : order)
    for (Operation *op : graph.members(group))
      op->moveBefore(block.getTerminator());
  for (GroupGraph::Id group : order.drop_front(peak + 1))
    copyFor(group, recomputed);
  // What only the copied readers wanted.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op)) {
      recomputed.readerOf.erase(&op);
      op.erase();
    }
  return saved;
}

} // namespace

int64_t fusion::recomputeAcrossPeak(Block &block, const GroupGraph &graph,
                                    KnownKernels &kernels,
                                    RecomputedOperations &recomputed,
                                    const target::Target &machine) {
  SmallVector<GroupGraph::Id> order = graph.executionOrder();
  std::optional<unsigned> tried;
  for (bool recomputableOnly : {false, true}) {
    Peak peak = findPeak(block, graph, order, recomputableOnly);
    if (tried == peak.position)
      break;
    tried = peak.position;
    if (int64_t saved =
            PeakCut(block, graph, kernels, order, peak.position, machine)
                .run(recomputed))
      return saved;
  }
  return 0;
}
