//===- Lifetimes.cpp - When the values of a step take bytes ---------------===//
//
// See Lifetimes.h.
//
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/ChooseLayouts.h"

#include <map>

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

bool tenon::sharding::isControl(Operation *op) {
  return isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op);
}

bool tenon::sharding::mayShareCopy(Value value) {
  llvm::SmallPtrSet<Operation *, 4> readers;
  for (Operation *user : value.getUsers()) {
    if (user->getBlock() != value.getParentBlock())
      return false;
    readers.insert(user);
  }
  return readers.size() > 1;
}

Lifetimes::Lifetimes(func::FuncOp main) {
  number(main.getBody().front());
  Operation *end = main.getBody().front().getTerminator();
  for (unsigned at = 0; at < main.getNumArguments(); ++at)
    if (auto successor =
            main.getArgAttrOfType<IntegerAttr>(at, step::successorAttrName)) {
      Value next = end->getOperand(successor.getInt());
      if (!isa<BlockArgument>(next) && !mayShareCopy(next))
        replacing.insert(next);
    }
}

void Lifetimes::number(Block &block) {
  for (Operation &op : block) {
    begins[&op] = now++;
    if (isControl(&op))
      for (Region &region : op.getRegions())
        number(region.front());
    ends[&op] = now;
  }
}

int64_t Lifetimes::lastRead(Value value) const {
  int64_t last = 0;
  for (Operation *user : value.getUsers())
    last = std::max(last, ends.lookup(user));
  return last;
}

Lifetimes::Span Lifetimes::of(Value value) const {
  Operation *op = value.getDefiningOp();
  Span span;
  span.begin = op ? begins.lookup(op) : 0;
  span.end = span.begin + 1;
  span.firstRead = std::numeric_limits<int64_t>::max();
  Block *block = value.getParentBlock();
  for (Operation *user : value.getUsers())
    if (Operation *reader = block->findAncestorOpInBlock(*user)) {
      span.end = std::max(span.end, ends.lookup(reader));
      span.firstRead = std::min(span.firstRead, begins.lookup(reader));
    }
  span.firstRead = std::min(span.firstRead, span.end);
  if (!isStored(value))
    span.end = span.begin;
  if (!op)
    span.end = now; // an argument of the step
  else if (isControl(op))
    span.end = std::max(span.end, ends.lookup(op));
  if (replacing.contains(value))
    span.end = span.begin;
  return span;
}

int64_t tenon::sharding::leastPeakBytes(func::FuncOp main,
                                        const ValueLayouts &layouts) {
  Lifetimes lifetimes(main);
  std::map<int64_t, int64_t> changes;
  auto add = [&](Value value) {
    auto layout = layouts.find(value);
    if (layout == layouts.end() || isMadeAnywhere(value))
      return;
    const Lifetimes::Span span = lifetimes.of(value);
    const int64_t bytes =
        elementCount(layout->second.localShape(shapeOf(value))) *
        elementBytesOf(value);
    changes[span.begin] += bytes;
    changes[span.end] -= bytes;
  };
  for (BlockArgument argument : main.getArguments())
    add(argument);
  main.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        add(result);
  });
  int64_t taken = 0, peak = 0;
  for (auto [time, change] : changes)
    peak = std::max(peak, taken += change);
  return peak;
}
