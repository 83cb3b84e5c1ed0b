//===- XlaProblem.cpp - A step as a recomputation problem for XLA ---------===//
//
// See XlaProblem.h.
//
//===----------------------------------------------------------------------===//

#include "XlaProblem.h"

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

XlaProblem::XlaProblem(func::FuncOp main, const XlaClusters &clusters,
                       const target::Target &machine)
    : clusters(clusters), all(clusters.clusters()), after(all.size()) {
  for (Value value : main.getBody().front().getTerminator()->getOperands())
    results.insert(clusters.storageOf(value));
  keepEffectsInOrder();
  findOverwritten(main);
  orderClusters();
  if (sequence.size() != all.size()) {
    // Arguments' readers wait for each other in a circle: let XLA copy them.
    after.assign(all.size(), {});
    waits.clear();
    sequence.clear();
    keepEffectsInOrder();
    orderClusters();
  }
  postponeLarge();
  addNodes(machine);
}

void XlaProblem::keepEffectsInOrder() {
  int32_t last = -1;
  for (auto [index, cluster] : llvm::enumerate(all)) {
    if (isMemoryEffectFree(cluster.root()))
      continue;
    if (last >= 0)
      after[index].push_back(last);
    last = int32_t(index);
  }
}

/// Clusters that read a value, and in place of those that only give it another
/// form, a transposed one for example, the readers of that form.
SmallVector<int32_t> XlaProblem::computing(
    const llvm::DenseMap<Value, SmallVector<int32_t>> &readersOf,
    Value value) const {
  llvm::SetVector<int32_t> found;
  SmallVector<Value> names = {value};
  while (!names.empty())
    for (int32_t reader : readersOf.lookup(names.pop_back_val())) {
      Operation *root = all[reader].root();
      if (isFusible(root) && all[reader].reads.size() == 1 &&
          !results.contains(root->getResult(0)))
        names.push_back(root->getResult(0));
      else
        found.insert(reader);
    }
  return found.takeVector();
}

void XlaProblem::findOverwritten(func::FuncOp main) {
  Block &block = main.getBody().front();
  llvm::DenseMap<Value, SmallVector<int32_t>> readersOf;
  for (auto [index, cluster] : llvm::enumerate(all))
    for (Value read : cluster.reads)
      readersOf[read].push_back(int32_t(index));
  for (auto [index, argument] : llvm::enumerate(aliasedArguments(main))) {
    if (argument < 0)
      continue;
    auto writer = clusters.writerOf(block.getTerminator()->getOperand(index));
    if (!writer)
      continue;
    llvm::BitVector before = clusters.ancestors(*writer);
    OverwrittenArgument found;
    for (int32_t reader : computing(readersOf, block.getArgument(argument)))
      if (reader != *writer && !before.test(reader) &&
          !clusters.ancestors(reader).test(*writer))
        found.readers.push_back(reader);
    if (found.readers.empty())
      continue;
    // The largest value that is no result on the way, past other new state.
    llvm::SetVector<int32_t> onTheWay;
    onTheWay.insert(*writer);
    int64_t most = 0;
    for (size_t next = 0; next < onTheWay.size(); ++next)
      for (Value read : all[onTheWay[next]].reads) {
        auto source = clusters.writerOf(read);
        if (!source)
          continue;
        if (results.contains(read))
          onTheWay.insert(*source);
        else if (bytesOf(read) > most) {
          most = bytesOf(read);
          found.gradient = read;
        }
      }
    if (!found.gradient)
      continue;
    // All who read it wait, unless one of the others needs them.
    ArrayRef<int32_t> waiting = readersOf[found.gradient];
    bool possible = llvm::none_of(found.readers, [&](int32_t reader) {
      llvm::BitVector needed = clusters.ancestors(reader);
      return llvm::is_contained(waiting, reader) ||
             llvm::any_of(waiting,
                          [&](int32_t other) { return needed.test(other); });
    });
    if (!possible)
      continue;
    for (int32_t other : waiting)
      llvm::append_range(after[other], found.readers);
    waits.push_back(std::move(found));
  }
}

void XlaProblem::orderClusters() {
  std::vector<SmallVector<int32_t>> next(all.size());
  std::vector<int32_t> waiting(all.size(), 0);
  llvm::DenseMap<Value, int32_t> readers; // that have not run
  for (auto [index, cluster] : llvm::enumerate(all)) {
    llvm::SmallSetVector<int32_t, 8> sources(after[index].begin(),
                                             after[index].end());
    for (Value read : cluster.reads) {
      ++readers[read];
      if (auto writer = clusters.writerOf(read))
        sources.insert(*writer);
    }
    waiting[index] = sources.size();
    for (int32_t source : sources)
      next[source].push_back(int32_t(index));
  }
  std::vector<bool> done(all.size(), false);
  auto needs = [&](int32_t index) {
    int64_t bytes = 0;
    for (Value result : all[index].root()->getResults())
      bytes += results.contains(result) ? 0 : temporaryBytes(result);
    for (Value read : all[index].reads)
      if (readers.lookup(read) == 1 && clusters.writerOf(read) &&
          !results.contains(read))
        bytes -= temporaryBytes(read);
    return bytes;
  };
  std::function<void(int32_t)> run = [&](int32_t index) {
    done[index] = true;
    sequence.push_back(index);
    for (Value read : all[index].reads)
      --readers[read];
    for (int32_t reader : next[index])
      --waiting[reader];
  };
  auto runWhatFrees = [&](int32_t from) {
    SmallVector<int32_t> pending = {from};
    while (!pending.empty()) {
      int32_t index = pending.pop_back_val();
      // Readers of what it wrote, of what it read last, and who waited for it.
      llvm::SmallSetVector<int32_t, 16> candidates(next[index].begin(),
                                                   next[index].end());
      for (Value read : all[index].reads)
        if (readers.lookup(read) == 1)
          if (auto writer = clusters.writerOf(read))
            candidates.insert(next[*writer].begin(), next[*writer].end());
      for (int32_t candidate : candidates)
        if (!done[candidate] && !waiting[candidate] && needs(candidate) <= 0) {
          run(candidate);
          pending.push_back(candidate);
        }
    }
  };
  // What waits for clusters further down is met again after them.
  bool moved = true;
  while (moved) {
    moved = false;
    for (int32_t index = 0; index < int32_t(all.size()); ++index)
      if (!done[index] && !waiting[index]) {
        run(index);
        runWhatFrees(index);
        moved = true;
      }
  }
}

/// Moves what makes more bytes than it lets go to its first reader, such as the
/// gradient of an embedding that is only read with the embedding's update.
void XlaProblem::postponeLarge() {
  postponed.assign(all.size(), false);
  std::vector<int32_t> positions(all.size());
  auto number = [&] {
    for (auto [position, index] : llvm::enumerate(sequence))
      positions[index] = int32_t(position);
  };
  number();
  llvm::DenseMap<Value, SmallVector<int32_t>> readersOf;
  for (auto [index, cluster] : llvm::enumerate(all))
    for (Value read : cluster.reads)
      readersOf[read].push_back(int32_t(index));
  std::vector<SmallVector<int32_t>> waiting(all.size());
  for (auto [index, sources] : llvm::enumerate(after))
    for (int32_t source : sources)
      waiting[source].push_back(int32_t(index));

  int32_t last = int32_t(sequence.size());
  for (int32_t position = last - 1; position >= 0; --position) {
    int32_t index = sequence[position];
    const XlaCluster &cluster = all[index];
    if (!cluster.mayRepeat)
      continue;
    int32_t reader = last;
    int64_t made = 0, kept = 0;
    bool isResult = false;
    for (Value result : cluster.root()->getResults()) {
      isResult |= results.contains(result);
      made += temporaryBytes(result);
      for (int32_t other : readersOf.lookup(result))
        reader = std::min(reader, positions[other]);
    }
    for (int32_t other : waiting[index])
      reader = std::min(reader, positions[other]);
    if (isResult || reader == last ||
        reader - position < farApart(sequence.size()))
      continue;
    for (Value read : cluster.reads)
      if (clusters.writerOf(read) && !results.contains(read) &&
          llvm::none_of(readersOf.lookup(read), [&](int32_t other) {
            return positions[other] >= reader;
          }))
        kept += temporaryBytes(read);
    if (made <= kept + kept / 4)
      continue;
    auto from = sequence.begin() + position;
    std::rotate(from, from + 1, sequence.begin() + reader);
    postponed[index] = true;
    number();
  }
}

void XlaProblem::addNodes(const target::Target &machine) {
  llvm::DenseMap<Value, int32_t> numbers;
  struct Further {
    Value value;
    int32_t node;
  };
  SmallVector<Further> further;
  double flopsPerSecond = machine.compute.f32.allCores;
  double bytesPerSecond = machine.memory.copy.allCores;
  for (auto [node, index] : llvm::enumerate(sequence)) {
    const XlaCluster &cluster = all[index];
    solver::RecomputeProblem::Node entry;
    double flops = 0, bytes = 0;
    for (Operation *op : cluster.operations)
      flops += contractionFlops(op);
    for (Value read : cluster.reads)
      bytes += double(bytesOf(read));
    for (Value result : cluster.root()->getResults())
      bytes += double(bytesOf(result));
    entry.cost = int64_t(1e9 * (std::max(flops / flopsPerSecond,
                                         bytes / bytesPerSecond) +
                                machine.overheads.launch)) +
                 1;
    entry.workspace = regionBytes(cluster.root());
    entry.pinned = !cluster.mayRepeat;
    bool isBarrier = isa<stablehlo::OptimizationBarrierOp>(cluster.root());
    for (auto [number, result] :
         llvm::enumerate(cluster.root()->getResults())) {
      entry.pinned |= results.contains(result);
      if (number) {
        further.push_back({result, int32_t(node)});
        continue;
      }
      numbers[result] = int32_t(node);
      entry.bytes =
          results.contains(result) || isBarrier ? 0 : temporaryBytes(result);
    }
    model.nodes.push_back(entry);
  }
  for (const Further &output : further) {
    bool isBarrier =
        isa<stablehlo::OptimizationBarrierOp>(output.value.getDefiningOp());
    numbers[output.value] = model.valueCount();
    model.extraOutputs.push_back(
        {output.node, results.contains(output.value) || isBarrier
                          ? 0
                          : temporaryBytes(output.value)});
  }
  for (auto [node, index] : llvm::enumerate(sequence)) {
    Operation *root = all[index].root();
    for (Value read : all[index].reads)
      if (auto entry = numbers.find(read); entry != numbers.end())
        model.edges.push_back({entry->second, int32_t(node)});
    // A barrier's results lie where its operands do.
    if (isa<stablehlo::OptimizationBarrierOp>(root))
      for (auto [operand, result] :
           llvm::zip_equal(root->getOperands(), root->getResults())) {
        auto base = numbers.find(clusters.storageOf(operand));
        if (base != numbers.end())
          model.aliases.push_back({numbers.lookup(result), base->second});
      }
  }
}
