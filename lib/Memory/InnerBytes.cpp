//===- InnerBytes.cpp - What only the inside of a loop or a branch needs --===//
//
// See InnerBytes.h.
//
//===----------------------------------------------------------------------===//

#include "InnerBytes.h"

#include "tenon/Dialect/Step/Step.h"

#include <map>
#include <optional>

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
                           const llvm::DenseSet<BufferClasses::Id> &outside,
                           ArrayRef<BufferClasses::Id> captured) {
  std::map<int64_t, int64_t> change; // by time
  auto add = [&](int64_t bytes, const Interval &interval) {
    // What is written takes its place while its operands are read; what a
    // branch captures is there from an even time on.
    change[interval.begin / 2 * 2] += placedBytes(bytes);
    change[interval.end] -= placedBytes(bytes);
  };
  // What is written over another value of the class is there once.
  auto addIntervals = [&](const BufferClass &buffer, Interval within) {
    std::optional<Interval> whole;
    for (Interval interval : buffer.intervals) {
      interval.begin = std::max(interval.begin, within.begin);
      interval.end = std::min(interval.end, within.end);
      if (interval.begin >= interval.end)
        continue;
      if (whole && interval.begin <= whole->end) {
        whole->end = std::max(whole->end, interval.end);
        continue;
      }
      if (whole)
        add(buffer.bytes, *whole);
      whole = interval;
    }
    if (whole)
      add(buffer.bytes, *whole);
  };
  const Interval step{0, buffers.endOfStep()};
  const Interval run{2 * buffers.timeOf(op) + 1, 2 * buffers.endTimeOf(op) + 2};
  llvm::DenseSet<BufferClasses::Id> seen, enclosing;
  for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp())
    addClasses(*parent->getBlock(), buffers, enclosing);
  // Results have places beside, but not at every moment while the body runs.
  int64_t results = 0;
  for (Value result : op->getResults()) {
    BufferClasses::Id id = buffers.classOf(result);
    const BufferClass &buffer = buffers[id];
    if (buffer.segment != step::Segment::temporaries ||
        enclosing.contains(id) || !seen.insert(id).second)
      continue;
    results += placedBytes(buffer.bytes);
    addIntervals(buffer, run);
  }
  for (BufferClasses::Id id : captured) {
    if (!seen.insert(id).second)
      continue;
    BufferClass inBranches;
    inBranches.bytes = buffers[id].bytes;
    llvm::copy_if(
        buffers[id].intervals, std::back_inserter(inBranches.intervals),
        [&](const Interval &interval) { return interval.begin > run.begin; });
    addIntervals(inBranches, run);
  }
  auto addClass = [&](Value value) {
    BufferClasses::Id id = buffers.classOf(value);
    const BufferClass &buffer = buffers[id];
    if (!outside.contains(id) && seen.insert(id).second &&
        buffer.segment == step::Segment::temporaries)
      addIntervals(buffer, step);
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
  return std::max<int64_t>(0, most - results);
}
