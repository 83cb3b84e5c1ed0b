//===- XlaMemory.cpp - The temporaries XLA will need, predicted -----------===//
//
// See XlaMemory.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/StableHLO/XlaMemory.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/BitVector.h"

#include <deque>

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

int64_t codegen::bytesOf(Value value) {
  return isa<RankedTensorType>(value.getType()) ? storedBytes(value.getType())
                                                : 0;
}

int64_t codegen::temporaryBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  int64_t bytes = bytesOf(value);
  return type && type.getElementType().isBF16() ? 2 * bytes : bytes;
}

/// Calls `visit` with a result and the argument it is written over, for each
/// pair that the module lists, as programs made from XLA's own form do.
static void
forEachListedAlias(ModuleOp module,
                   llvm::function_ref<void(int64_t, int64_t)> visit) {
  auto list = module->getAttrOfType<ArrayAttr>("mhlo.input_output_alias");
  for (Attribute entry :
       list ? list : ArrayAttr::get(module.getContext(), {})) {
    auto pair = dyn_cast<DictionaryAttr>(entry);
    auto alias = pair ? pair.getAs<DictionaryAttr>("alias") : DictionaryAttr();
    if (!alias)
      continue;
    auto result = pair.getAs<DenseI64ArrayAttr>("output_index");
    auto inside = alias.getAs<DenseI64ArrayAttr>("parameter_index");
    auto argument = alias.getAs<IntegerAttr>("parameter_number");
    // Parts of tuples are no arguments of ours.
    if (result && argument && result.size() <= 1 && (!inside || inside.empty()))
      visit(result.empty() ? 0 : result[0], argument.getInt());
  }
}

SmallVector<int32_t> codegen::aliasedArguments(func::FuncOp main) {
  SmallVector<int32_t> arguments(main.getNumResults(), -1);
  auto add = [&](int64_t result, int64_t argument) {
    if (result >= 0 && result < int64_t(arguments.size()) && argument >= 0 &&
        argument < int64_t(main.getNumArguments()))
      arguments[result] = int32_t(argument);
  };
  if (auto module = main->getParentOfType<ModuleOp>())
    forEachListedAlias(module, add);
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (auto result =
            main.getArgAttrOfType<IntegerAttr>(index, "tf.aliasing_output"))
      add(result.getInt(), index);
  return arguments;
}

XlaSignature codegen::signatureBytes(func::FuncOp main) {
  XlaSignature bytes;
  for (BlockArgument argument : main.getArguments())
    bytes.arguments += bytesOf(argument);
  Operation *end = main.getBody().front().getTerminator();
  for (auto [result, argument] :
       llvm::zip_equal(end->getOperands(), aliasedArguments(main)))
    if (argument < 0)
      bytes.results += bytesOf(result);
  return bytes;
}

int64_t codegen::regionBytes(Operation *op) {
  // The regions of reductions and the like compute single elements.
  if (!isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
    return 0;
  int64_t most = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      most = std::max(
          most, predictTemporaries(block, XlaClusters(block, Barriers::names),
                                   nullptr));
  return most;
}

namespace {

class Playback {
public:
  Playback(Block &block, const XlaClusters &clusters, func::FuncOp main)
      : block(block), clusters(clusters), all(clusters.clusters()), main(main) {
  }

  int64_t run() {
    findReaders();
    findResults();
    if (main)
      copyArguments();
    for (const XlaCluster &cluster : all)
      live += earlyBytes(cluster.root());
    most = live;
    play();
    return most;
  }

private:
  /// A piece of memory and how many clusters have still to read it.
  struct Buffer {
    int64_t bytes = 0;
    int32_t readers = 0;
    bool isFree = false; // given back when nobody reads it any more
  };

  void findReaders() {
    readers.resize(all.size());
    waiting.assign(all.size(), 0);
    for (auto [index, cluster] : llvm::enumerate(all)) {
      llvm::SmallDenseSet<int32_t> writers;
      for (Value read : cluster.reads) {
        ++readCount[read];
        if (auto writer = clusters.writerOf(read))
          writers.insert(*writer);
      }
      waiting[index] = writers.size();
    }
    // In program order, as users are listed.
    for (auto [index, cluster] : llvm::enumerate(all)) {
      llvm::SmallDenseSet<int32_t> seen;
      for (Value read : cluster.reads)
        if (auto writer = clusters.writerOf(read);
            writer && seen.insert(*writer).second)
          readers[*writer].push_back(int32_t(index));
    }
  }

  /// What is returned has memory of its own, the caller's.
  void findResults() {
    for (Value value : block.getTerminator()->getOperands()) {
      Value storage = clusters.storageOf(value);
      if (main)
        results.insert(storage);
      else
        ++readCount[storage]; // carried values live to the end of the body
    }
  }

  void copyArguments() {
    Operation *end = block.getTerminator();
    for (auto [index, argument] : llvm::enumerate(aliasedArguments(main))) {
      if (argument < 0)
        continue;
      BlockArgument value = block.getArgument(argument);
      auto writer = clusters.writerOf(end->getOperand(index));
      if (!writer || !readCount.lookup(value))
        continue;
      llvm::BitVector before = clusters.ancestors(*writer);
      bool mayBeOverwritten = false;
      for (auto [reader, cluster] : llvm::enumerate(all))
        mayBeOverwritten |=
            !before.test(reader) && llvm::is_contained(cluster.reads, value);
      if (!mayBeOverwritten)
        continue;
      buffers.push_back({bytesOf(value), readCount.lookup(value), false});
      bufferOf[value] = buffers.size() - 1;
      live += bytesOf(value);
    }
  }

  /// Which operand's memory a result may lie in, if nobody else reads that.
  std::optional<unsigned> overwrites(Operation *root, unsigned result) const {
    if (isa<stablehlo::DynamicUpdateSliceOp>(root))
      return 0;
    if (isa<stablehlo::WhileOp, stablehlo::ScatterOp, stablehlo::SortOp>(
            root) &&
        result < root->getNumOperands())
      return result;
    return std::nullopt;
  }

  /// What XLA computes at the start for an operation: a gradient of windows
  /// finds the places of the largest elements by numbering all of them.
  static int64_t earlyBytes(Operation *root) {
    if (!isa<stablehlo::SelectAndScatterOp>(root))
      return 0;
    auto type = cast<RankedTensorType>(root->getOperand(0).getType());
    return type.getRank() * type.getNumElements() * int64_t(sizeof(int32_t));
  }

  void play() {
    std::deque<int32_t> ready;
    for (auto [index, count] : llvm::enumerate(waiting))
      if (!count)
        ready.push_back(int32_t(index));
    while (!ready.empty()) {
      int32_t index = ready.front();
      ready.pop_front();
      step(index);
      for (int32_t reader : readers[index])
        if (!--waiting[reader])
          ready.push_back(reader);
    }
  }

  void step(int32_t index) {
    const XlaCluster &cluster = all[index];
    Operation *root = cluster.root();
    bool isElementwise = isFusible(root);
    SmallVector<int32_t> dying;
    for (Value read : cluster.reads) {
      auto entry = bufferOf.find(read);
      if (entry != bufferOf.end() && !--buffers[entry->second].readers)
        dying.push_back(entry->second);
    }
    for (auto [number, result] : llvm::enumerate(root->getResults())) {
      if (results.contains(result))
        continue;
      int64_t bytes = temporaryBytes(result);
      int32_t readersLeft = readCount.lookup(result);
      int32_t reused = -1;
      if (auto operand = overwrites(root, number)) {
        Value storage = clusters.storageOf(root->getOperand(*operand));
        auto entry = bufferOf.find(storage);
        if (entry == bufferOf.end()) {
          if (!main && isa<BlockArgument>(storage))
            continue; // a carried value's memory, none of ours
        } else if (llvm::is_contained(dying, entry->second)) {
          reused = entry->second;
        }
      }
      if (reused < 0 && isElementwise)
        for (int32_t candidate : dying)
          if (buffers[candidate].bytes == bytes)
            reused = candidate;
      if (reused >= 0) {
        buffers[reused].readers += readersLeft;
        llvm::erase(dying, reused);
        bufferOf[result] = reused;
        if (!buffers[reused].readers)
          dying.push_back(reused);
        continue;
      }
      buffers.push_back({bytes, readersLeft, false});
      bufferOf[result] = buffers.size() - 1;
      live += bytes;
      if (!readersLeft)
        dying.push_back(buffers.size() - 1);
    }
    most = std::max(most, live + regionBytes(root));
    live -= earlyBytes(root);
    for (int32_t buffer : dying)
      if (!std::exchange(buffers[buffer].isFree, true))
        live -= buffers[buffer].bytes;
  }

  Block &block;
  const XlaClusters &clusters;
  ArrayRef<XlaCluster> all;
  func::FuncOp main;
  std::vector<SmallVector<int32_t>> readers;
  std::vector<int32_t> waiting; // writers that have not run
  llvm::DenseMap<Value, int32_t> readCount;
  llvm::DenseSet<Value> results;
  llvm::DenseMap<Value, int32_t> bufferOf;
  std::vector<Buffer> buffers;
  int64_t live = 0, most = 0;
};

} // namespace

int64_t codegen::predictTemporaries(Block &block, const XlaClusters &clusters,
                                    func::FuncOp main) {
  return Playback(block, clusters, main).run();
}
