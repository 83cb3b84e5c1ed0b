//===- WritePlan.cpp - A recomputation plan as StableHLO ------------------===//
//
// See WritePlan.h. The block is written anew in the order of the plan. Where a
// value has been computed again or tied, its readers from there on take the
// newest name; what lies in no memory is written again for those readers.
//
// Four things are tied. The first two to the latest result so far of a dot,
// convolution or reduction, which XLA can take into no reader:
//  - what a copy or a postponed node reads, unless that is late already: else
//    XLA would merge the copy with its original, or run it as soon as it could;
//  - what was computed long before it is read: else XLA would derive other
//    forms of it, transposed ones for example, as soon as it is there;
//  - the gradient of a parameter, to the parameter's other readers: else XLA
//    copies the parameter before it is overwritten;
//  - what a large value is made of, to the update that let go of another one
//    just before: else XLA, where first come is first served, has both.
//
//===----------------------------------------------------------------------===//

#include "WritePlan.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Codegen/StableHLO/Tie.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

namespace {

class PlanWriter {
public:
  PlanWriter(func::FuncOp main, const XlaClusters &clusters,
             const XlaProblem &problem, ArrayRef<int32_t> order)
      : block(main.getBody().front()), end(block.getTerminator()), builder(end),
        clusters(clusters), problem(problem), order(order) {}

  WrittenPlan write() {
    remember();
    for (auto [position, node] : llvm::enumerate(order))
      execute(int32_t(position), node);
    finish();
    return written;
  }

private:
  /// A name for one execution only.
  struct Lent {
    Value value, name;
  };

  /// The names and operands of the program, before any of it is rewritten.
  void remember() {
    for (Operation &op : block.without_terminator()) {
      originals.push_back(&op);
      SmallVector<Value> &reads = operandsOf[&op];
      op.walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          if (operand.getParentBlock() == &block)
            reads.push_back(operand);
      });
    }
    returned.assign(end->operand_begin(), end->operand_end());
    for (Value value : returned)
      results.insert(clusters.storageOf(value));
    for (const solver::RecomputeProblem::Node &node : problem.problem().nodes)
      large = std::max(large, node.bytes / 4);
    smallest = large / 64;
    for (const OverwrittenArgument &entry : problem.overwritten())
      llvm::append_range(waits[entry.gradient], entry.readers);
  }

  const XlaCluster &clusterAt(int32_t node) const {
    return clusters.clusters()[problem.order()[node]];
  }

  Value newest(Value value) const {
    auto entry = current.find(value);
    return entry == current.end() ? value : entry->second;
  }

  /// When the newest name of a value became available.
  int32_t timeOf(Value value) const {
    auto entry = times.find(newest(value));
    return entry == times.end() ? -1 : entry->second;
  }

  void execute(int32_t position, int32_t node) {
    const XlaCluster &cluster = clusterAt(node);
    auto lastRun = runs.find(node);
    bool again = lastRun != runs.end();
    Lent lent;
    if (again || problem.isPostponed(node) || isEarly(cluster, position))
      lent = tieCopy(cluster, again ? lastRun->second : -1);
    else
      tieKept(cluster, position);
    if (!again) {
      tieGradients(cluster);
      tieBehindUpdate(cluster, node);
    }

    Value usual = lent.value ? newest(lent.value) : Value();
    if (lent.value)
      current[lent.value] = lent.name;
    Operation *root = nullptr;
    for (Operation *op : cluster.operations)
      if (!lent.value || op != lent.value.getDefiningOp())
        root = emit(op);
    if (lent.value)
      current[lent.value] = usual;
    runs[node] = position;

    for (Value result : root->getResults())
      times[result] = position;
    if (!again)
      for (auto [before, after] :
           llvm::zip_equal(cluster.root()->getResults(), root->getResults()))
        first[before] = after;
    if (isa<stablehlo::OptimizationBarrierOp>(root)) {
      tieBehindBarrier(cluster.root());
      return;
    }
    if (isa<stablehlo::ConvolutionOp, stablehlo::DotGeneralOp,
            stablehlo::ReduceOp>(root) &&
        canBeWaitedFor(root->getResult(0))) {
      late = root->getResult(0);
      lateTime = position;
    }
  }

  /// The type under which a value is tied. Where contractions read the value,
  /// the one under which they do: XLA makes matrices of what dots without
  /// batches read, and would compute a second form of the value for a tie of
  /// another type. For what a convolution wrote a single dimension: XLA would
  /// take a tie of more into some of the readers, and copy the value for the
  /// others.
  static Type typeOfTie(Value value) {
    auto asRead = [](Value name, Operation *op) -> Type {
      if (isa<stablehlo::ConvolutionOp>(op))
        return name.getType();
      auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
      if (!dot)
        return {};
      auto type = cast<RankedTensorType>(name.getType());
      if (type.getRank() <= 2 ||
          !dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty())
        return type;
      int64_t columns = type.getShape().back();
      return RankedTensorType::get({type.getNumElements() / columns, columns},
                                   type.getElementType());
    };
    SmallVector<Value> names = {value};
    while (!names.empty()) {
      Value name = names.pop_back_val();
      for (Operation *user : name.getUsers()) {
        if (Type type = asRead(name, user))
          return type;
        if (isa<stablehlo::ReshapeOp>(user))
          names.push_back(user->getResult(0));
      }
    }
    auto type = cast<RankedTensorType>(value.getType());
    return value.getDefiningOp<stablehlo::ConvolutionOp>()
               ? RankedTensorType::get({type.getNumElements()},
                                       type.getElementType())
               : type;
  }

  Value reshaped(Value value, Type type) {
    return value.getType() == type ? value
                                   : stablehlo::ReshapeOp::create(
                                         builder, value.getLoc(), type, value);
  }

  /// A new name for `value` that waits for `until`.
  Value tied(Value value, Value until, int32_t time) {
    Value name = newest(value);
    Type type = name.getType();
    name = reshaped(name, typeOfTie(value));
    name = reshaped(tie(builder, value.getLoc(), name, until), type);
    times[name] = time;
    ++written.ties;
    return name;
  }

  /// A copy waits for what came last before it.
  Lent tieCopy(const XlaCluster &cluster, int32_t lastRun) {
    if (!late)
      return {};
    if (cluster.reads.empty())
      return tieMade(cluster);
    Value chosen;
    bool isKept = false;
    for (Value read : cluster.reads) {
      // Late, and not what the original read.
      if (timeOf(read) >= lateTime && timeOf(read) > lastRun)
        return {};
      if (!canBeTied(read))
        continue;
      bool kept = clusters.writerOf(read) && !results.contains(read);
      int64_t bytes = storedBytes(read.getType());
      // What is kept is tied in place, the largest of it; an argument would be
      // copied, so then it is the smallest.
      bool isBetter =
          !chosen || (kept && !isKept) ||
          (kept == isKept && (kept ? bytes > storedBytes(chosen.getType())
                                   : bytes < storedBytes(chosen.getType())));
      if (isBetter) {
        chosen = read;
        isKept = kept;
      }
    }
    if (!chosen)
      return {};
    Value name = tied(chosen, late, lateTime);
    if (!isKept)
      return {chosen, name};
    current[chosen] = name;
    return {};
  }

  /// What is made of nothing but constants waits with one of them.
  Lent tieMade(const XlaCluster &cluster) {
    for (Operation *op : cluster.operations)
      if (op->getNumResults() == 1 && isTieableConstant(op->getResult(0))) {
        Value constant = op->getResult(0);
        ++written.ties;
        return {constant,
                tieConstant(builder, constant.getLoc(), constant, late)};
      }
    return {};
  }

  /// Whether XLA would give arguments another form long before that is read.
  bool isEarly(const XlaCluster &cluster, int32_t position) const {
    Operation *root = cluster.root();
    return isFusible(root) && position >= farApart(order.size()) &&
           !results.contains(root->getResult(0)) &&
           storedBytes(root->getResult(0).getType()) >= smallest &&
           llvm::all_of(cluster.reads,
                        [&](Value read) { return !clusters.writerOf(read); });
  }

  /// What was computed long ago waits for the newest of what is read with it,
  /// which delays nothing, else for what came last.
  void tieKept(const XlaCluster &cluster, int32_t position) {
    int32_t far = farApart(order.size());
    Value until = late;
    int32_t time = lateTime;
    for (Value read : cluster.reads)
      if (position - timeOf(read) < far && canBeWaitedFor(read) &&
          (until == late || timeOf(read) > time)) {
        until = newest(read);
        time = timeOf(read);
      }
    for (Value read : cluster.reads)
      if (clusters.writerOf(read) && !results.contains(read) &&
          canBeTied(read) && storedBytes(read.getType()) >= smallest &&
          position - timeOf(read) >= far && until && time > timeOf(read))
        current[read] = tied(read, until, time);
  }

  void tieGradients(const XlaCluster &cluster) {
    for (Value read : cluster.reads) {
      auto entry = waits.find(read);
      if (entry == waits.end())
        continue;
      for (int32_t reader : entry->second) {
        Value until = newest(clusters.clusters()[reader].root()->getResult(0));
        if (canBeTied(read) && canBeWaitedFor(until) && times.contains(until))
          current[read] = tied(read, until, timeOf(read));
      }
      waits.erase(entry);
    }
  }

  /// What makes much waits for the update that let go of as much just before:
  /// what becomes ready first runs first in XLA, and an update is ready late.
  void tieBehindUpdate(const XlaCluster &cluster, int32_t node) {
    Operation *root = cluster.root();
    if (!root->getNumResults())
      return; // for its effects alone
    if (update >= 0 && !results.contains(root->getResult(0)) &&
        bytesOf(root->getResult(0)) >= large &&
        !clusters.ancestors(problem.order()[node])
             .test(problem.order()[update])) {
      Value chosen;
      for (Value read : cluster.reads)
        if (clusters.writerOf(read) && !results.contains(read) &&
            canBeTied(read) &&
            (!chosen ||
             storedBytes(read.getType()) < storedBytes(chosen.getType())))
          chosen = read;
      Value until = newest(clusterAt(update).root()->getResult(0));
      if (chosen && canBeWaitedFor(until)) {
        current[chosen] = tied(chosen, until, timeOf(until));
        update = -1;
      }
    }
    if (results.contains(root->getResult(0)))
      for (Value read : cluster.reads)
        if (clusters.writerOf(read) && !results.contains(read) &&
            bytesOf(read) >= large)
          update = node;
  }

  /// What the user wanted to be computed after something else is.
  void tieBehindBarrier(Operation *barrier) {
    Value until;
    for (Value operand : barrier->getOperands()) {
      Value storage = clusters.storageOf(operand);
      if (clusters.writerOf(storage) && canBeWaitedFor(storage) &&
          (!until || timeOf(storage) > timeOf(until)))
        until = storage;
    }
    if (!until)
      return;
    for (auto [operand, result] :
         llvm::zip_equal(barrier->getOperands(), barrier->getResults())) {
      Value storage = clusters.storageOf(operand);
      if (storage == until || !clusters.writerOf(storage) ||
          !canBeTied(result) || result.use_empty())
        continue;
      current[result] = tied(result, newest(until), timeOf(until));
    }
  }

  /// Writes an operation at the end, with the newest names of what it reads.
  /// The program's own operation is used first, then copies; one with the same
  /// names is not written twice.
  Operation *emit(Operation *op) {
    SmallVector<Value> names = llvm::map_to_vector(
        operandsOf[op], [&](Value value) { return newest(value); });
    auto &known = versions[op];
    for (auto &[operands, version] : known)
      if (operands == names)
        return rename(op, version);
    IRMapping mapping;
    for (auto [value, name] : llvm::zip_equal(operandsOf[op], names))
      mapping.map(value, name);
    Operation *version = builder.clone(*op, mapping);
    known.push_back({std::move(names), version});
    return rename(op, version);
  }

  /// What runs more often than in the program.
  void countCopies(const llvm::DenseSet<Operation *> &unread) {
    for (const XlaCluster &cluster : clusters.clusters()) {
      int64_t copies = llvm::count_if(versions.lookup(cluster.root()),
                                      [&](auto &version) {
                                        return !unread.contains(version.second);
                                      }) -
                       1;
      if (copies <= 0)
        continue;
      written.clusters += copies;
      if (isDotInXla(cluster.root()))
        written.dots += copies;
      if (isa<stablehlo::ConvolutionOp>(cluster.root()))
        written.convolutions += copies;
    }
  }

  Operation *rename(Operation *op, Operation *version) {
    for (auto [value, name] :
         llvm::zip_equal(op->getResults(), version->getResults()))
      current[value] = name;
    return version;
  }

  /// The step returns what was computed first, through its own views.
  void finish() {
    for (auto &[value, name] : first)
      if (results.contains(value))
        current[value] = name;
    for (auto [number, value] : llvm::enumerate(returned)) {
      SmallVector<Operation *> chain;
      collectViews(value, chain);
      for (Operation *op : llvm::reverse(chain))
        emit(op);
      end->setOperand(unsigned(number), newest(value));
    }
    countCopies(dropUnread());
    for (Operation *op : llvm::reverse(originals)) {
      op->dropAllUses();
      op->erase();
    }
  }

  /// XLA drops what nobody reads, so it is no part of the plan.
  llvm::DenseSet<Operation *> dropUnread() {
    llvm::DenseSet<Operation *> unread;
    SmallVector<Operation *> all;
    for (Operation &op : block.without_terminator())
      all.push_back(&op);
    llvm::DenseSet<Operation *> before(originals.begin(), originals.end());
    for (Operation *op : llvm::reverse(all))
      if (!before.contains(op) && op->use_empty() && isMemoryEffectFree(op)) {
        unread.insert(op);
        op->erase();
      }
    return unread;
  }

  /// Operations between a returned value and memory, last first.
  void collectViews(Value value, SmallVector<Operation *> &chain) {
    Operation *writer = value.getDefiningOp();
    if (!writer || first.contains(value))
      return;
    chain.push_back(writer);
    for (Value operand : operandsOf[writer])
      collectViews(operand, chain);
  }

  Block &block;
  Operation *end;
  OpBuilder builder;
  const XlaClusters &clusters;
  const XlaProblem &problem;
  ArrayRef<int32_t> order;
  int64_t large = 1;    // bytes from which on two values count
  int64_t smallest = 0; // bytes below which order does not matter
  int32_t update = -1;  // the last node that let go of much for a result

  SmallVector<Operation *> originals;
  SmallVector<Value> returned;
  llvm::DenseMap<Operation *, SmallVector<Value>> operandsOf;
  llvm::DenseSet<Value> results;
  llvm::DenseMap<Value, SmallVector<int32_t>> waits; // gradient to clusters
  llvm::DenseMap<int32_t, int32_t> runs;             // node to when it ran last
  llvm::DenseMap<Value, Value> current; // value of the program to newest name
  llvm::DenseMap<Value, Value> first;
  llvm::DenseMap<Value, int32_t> times; // of names
  llvm::DenseMap<Operation *,
                 SmallVector<std::pair<SmallVector<Value>, Operation *>, 1>>
      versions;
  Value late; // latest result that others may wait for
  int32_t lateTime = -1;
  WrittenPlan written;
};

} // namespace

WrittenPlan codegen::writePlan(func::FuncOp main, const XlaClusters &clusters,
                               const XlaProblem &problem,
                               ArrayRef<int32_t> order) {
  return PlanWriter(main, clusters, problem, order).write();
}
