//===- LoopPair.cpp - A forward loop and the one that reads its stacks ----===//
//
// See LoopPair.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/LoopPair.h"

#include "tenon/Analysis/ElementTypes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using namespace tenon::stablehlo;

/// The loop that reads most bytes of this one's stacks. Another layer's forward
/// loop may read one, too.
static WhileOp partnerOf(const CountedLoop &forward) {
  WhileOp loop = forward.loop();
  llvm::MapVector<Operation *, int64_t> bytes; // by reader
  for (const CountedLoop::Stack &stack : forward.stacks()) {
    Value result = loop->getResult(stack.position);
    llvm::SmallSetVector<Operation *, 4> readers;
    for (Operation *user : result.getUsers())
      if (auto reader = dyn_cast<WhileOp>(user->getParentOp()))
        if (reader != loop && reader->getBlock() == loop->getBlock())
          readers.insert(reader);
    for (Operation *reader : readers)
      bytes[reader] += storedBytes(result.getType());
  }
  WhileOp partner;
  int64_t most = 0;
  for (auto [reader, read] : bytes)
    if (read > most) {
      most = read;
      partner = cast<WhileOp>(reader);
    }
  return partner;
}

std::optional<LoopPair> LoopPair::find(WhileOp loop) {
  std::optional<CountedLoop> forward = CountedLoop::recognize(loop);
  if (!forward)
    return std::nullopt;
  WhileOp partner = partnerOf(*forward);
  if (!partner)
    return std::nullopt;
  std::optional<CountedLoop> backward = CountedLoop::recognize(partner);
  if (!backward || backward->trips() != forward->trips())
    return std::nullopt;
  LoopPair pair(*forward, *backward);
  if (!pair.collect())
    return std::nullopt;
  return pair;
}

/// Where a loop reads one slice of the value in each round.
static SmallVector<DynamicSliceOp> readsOf(Value stack, Block &round) {
  SmallVector<DynamicSliceOp> reads;
  for (Operation *user : stack.getUsers()) {
    auto slice = dyn_cast<DynamicSliceOp>(user);
    if (slice && slice->getBlock() == &round && takesOneOfFirst(slice))
      reads.push_back(slice);
  }
  return reads;
}

/// Finds the stacks that the partner reads, each round at one index.
bool LoopPair::collect() {
  for (const CountedLoop::Stack &stack : forward.stacks()) {
    if (!forward.isCounter(stack.index()))
      continue;
    Value result = forward.loop()->getResult(stack.position);
    SmallVector<DynamicSliceOp> readers = readsOf(result, backward.body());
    if (readers.empty())
      continue;
    Value start = readers.front().getStartIndices().front();
    if (!index) {
      if (!backward.directionOf(start) ||
          start.getType() != forward.counter().getType())
        return false;
      index = start;
    }
    bool inOrder = llvm::all_of(readers, [&](DynamicSliceOp reader) {
      return reader.getStartIndices().front() == index;
    });
    // What the partner's own nested operations read cannot be replaced.
    bool readElsewhere = llvm::any_of(result.getUsers(), [&](Operation *user) {
      return backward.loop()->isProperAncestor(user) &&
             !llvm::is_contained(readers, user);
    });
    if (inOrder && !readElsewhere)
      residuals.push_back({stack, std::move(readers)});
  }
  return !residuals.empty();
}
