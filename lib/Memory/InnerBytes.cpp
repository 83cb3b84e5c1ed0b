//===- InnerBytes.cpp - What only the inside of a loop or a branch needs --===//
//
// See InnerBytes.h.
//
//===----------------------------------------------------------------------===//

#include "InnerBytes.h"

#include "tenon/Dialect/Step/Step.h"

#include <map>

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

void memory::addClasses(Block &block, const BufferClasses &buffers,
                        llvm::DenseSet<BufferClasses::Id> &classes) {
  auto add = [&](Value value) { classes.insert(buffers.classOf(value)); };
  llvm::for_each(block.getArguments(), add);
  for (Operation &op : block)
    llvm::for_each(op.getResults(), add);
}

int64_t memory::innerBytes(Operation *op, const BufferClasses &buffers,
                           const llvm::DenseSet<BufferClasses::Id> &outside) {
  std::map<int64_t, int64_t> change; // by time
  auto add = [&](int64_t bytes, const Interval &interval) {
    // What is written takes its place while its operands are read.
    change[interval.begin - 1] += placedBytes(bytes);
    change[interval.end] -= placedBytes(bytes);
  };
  llvm::DenseSet<BufferClasses::Id> seen;
  auto addClass = [&](Value value) {
    BufferClasses::Id id = buffers.classOf(value);
    const BufferClass &buffer = buffers[id];
    if (outside.contains(id) || !seen.insert(id).second ||
        buffer.segment != step::Segment::temporaries)
      return;
    for (const Interval &interval : buffer.intervals)
      add(buffer.bytes, interval);
  };
  op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    if (nested != op)
      llvm::for_each(nested->getResults(), addClass);
    if (isa<step::GroupOp>(nested))
      return WalkResult::skip();
    for (Region &region : nested->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), addClass);
    return WalkResult::advance();
  });
  for (const ScratchBuffer &scratch : buffers.scratch())
    if (op->isProperAncestor(scratch.group))
      add(scratch.bytes, {scratch.interval.begin + 1, scratch.interval.end});
  int64_t live = 0, most = 0;
  for (auto [time, bytes] : change)
    most = std::max(most, live += bytes);
  return most;
}
