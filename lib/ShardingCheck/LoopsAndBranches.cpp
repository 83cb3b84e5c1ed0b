//===- LoopsAndBranches.cpp - Loops and branches --------------------------===//
//
// Loops and branches: every device takes the way of the whole step, and what
// carried values hold is what every round leaves them.
//
//===----------------------------------------------------------------------===//

#include "PartitionChecker.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

bool PartitionChecker::visitControl(Operation *op) {
  SmallVector<Operation *> candidates = byName.lookup(op->getName());
  bool isRelated = false;
  for (Operation *candidate : candidates) {
    if (candidate->getNumOperands() != op->getNumOperands() ||
        candidate->getNumResults() != op->getNumResults() ||
        candidate->getNumRegions() != op->getNumRegions())
      continue;
    isRelated |= isa<stablehlo::WhileOp>(op)
                     ? relateLoop(cast<stablehlo::WhileOp>(op),
                                  cast<stablehlo::WhileOp>(candidate))
                     : relateBranches(op, candidate);
    fault.reset(); // of another candidate
  }
  return isRelated ||
         fail(op->getLoc(), "'" + op->getName().getStringRef() +
                                "' is no loop or branch of the whole step, "
                                "or devices could go different ways");
}

bool PartitionChecker::relateLoop(stablehlo::WhileOp part,
                                  stablehlo::WhileOp op) {
  unsigned count = op.getNumOperands();
  std::vector<Blocks> carried;
  // Of values to which the rounds add, what they add up to before the devices
  // add theirs; each is looked for once.
  std::vector<std::optional<Holding>> terms(count);
  std::vector<bool> isTried(count);
  for (unsigned at = 0; at < count; ++at)
    carried.push_back(blocksOn(part.getOperand()[at], op.getOperand()[at]));
  auto assume = [&](auto partValues, auto values) {
    for (unsigned at = 0; at < count; ++at) {
      if (isa<BlockArgument>(Value(partValues[at])))
        known.erase(partValues[at]);
      for (const auto &ranges : carried[at])
        add(partValues[at],
            holdingOf(values[at], shapeOf(partValues[at]), ranges));
      if (terms[at]) {
        Holding held = *terms[at];
        held.whole = values[at];
        add(partValues[at], std::move(held));
      }
    }
  };
  Operation *end = part.getBody().front().getTerminator();
  Operation *wholeEnd = op.getBody().front().getTerminator();
  bool isStable = false;
  while (!isStable) {
    assume(part.getBody().getArguments(), op.getBody().getArguments());
    if (!visitBlock(part.getBody().front()))
      return false;
    isStable = true;
    for (unsigned at = 0; at < count; ++at) {
      Blocks behind = blocksOn(end->getOperand(at), wholeEnd->getOperand(at));
      Blocks kept;
      for (const auto &ranges : carried[at])
        for (const auto &other : behind)
          if (auto merged = both(ranges, other)) {
            isStable &= isEqual(*merged, ranges);
            kept.push_back(std::move(*merged));
            break;
          }
      isStable &= kept.size() == carried[at].size();
      carried[at] = std::move(kept);
      if (terms[at]) {
        Holding expected = *terms[at];
        expected.whole = wholeEnd->getOperand(at);
        if (llvm::none_of(
                holdingsOn(end->getOperand(at), expected.whole),
                [&](auto &held) { return isAlike(held, expected); })) {
          terms[at].reset();
          isStable = false;
        }
      } else if (carried[at].empty() && !isTried[at]) {
        isTried[at] = true;
        terms[at] = termsOfRounds(part, op, at);
        isStable &= !terms[at];
      }
    }
  }
  assume(part.getCond().getArguments(), op.getCond().getArguments());
  if (!visitBlock(part.getCond().front()) ||
      !holdsScalar(part.getCond().front().getTerminator()->getOperand(0),
                   op.getCond().front().getTerminator()->getOperand(0)))
    return false;
  assume(part.getResults(), op.getResults());
  return true;
}

std::optional<Holding> PartitionChecker::termsOfRounds(stablehlo::WhileOp part,
                                                       stablehlo::WhileOp op,
                                                       unsigned at) {
  auto addedIn = [at](stablehlo::WhileOp loop) -> Value {
    Block &body = loop.getBody().front();
    auto add =
        body.getTerminator()->getOperand(at).getDefiningOp<stablehlo::AddOp>();
    Value carried = body.getArgument(at);
    if (!add || (add.getLhs() != carried && add.getRhs() != carried))
      return {};
    return add.getLhs() == carried ? add.getRhs() : add.getLhs();
  };
  Value added = addedIn(part), wholeAdded = addedIn(op);
  if (!added || !wholeAdded || !isZero(part.getOperand()[at]))
    return std::nullopt;
  for (Holding &held : holdingsOn(added, wholeAdded))
    if (held.shares > 1 && !held.missing && held.combine == Combine::sum) {
      Value start = op.getOperand()[at];
      if (!isZero(start))
        held.missing = start;
      held.tail.assign(held.tail.size(), 0);
      return held;
    }
  return std::nullopt;
}

bool PartitionChecker::relateBranches(Operation *part, Operation *op) {
  if (!holdsScalar(part->getOperand(0), op->getOperand(0)))
    return false;
  std::vector<Blocks> found;
  for (auto [at, regions] :
       llvm::enumerate(llvm::zip_equal(part->getRegions(), op->getRegions()))) {
    Block &block = std::get<0>(regions).front();
    Operation *wholeEnd = std::get<1>(regions).front().getTerminator();
    if (!visitBlock(block))
      return false;
    for (unsigned result = 0; result < op->getNumResults(); ++result) {
      Blocks own = blocksOn(block.getTerminator()->getOperand(result),
                            wholeEnd->getOperand(result));
      if (at == 0) {
        found.push_back(std::move(own));
        continue;
      }
      Blocks merged;
      for (const auto &a : found[result])
        for (const auto &b : own)
          if (auto ranges = both(a, b))
            merged.push_back(std::move(*ranges));
      found[result] = std::move(merged);
    }
  }
  for (unsigned result = 0; result < op->getNumResults(); ++result)
    for (const auto &ranges : found[result])
      add(part->getResult(result),
          holdingOf(op->getResult(result), shapeOf(part->getResult(result)),
                    ranges));
  return true;
}

bool PartitionChecker::holdsScalar(Value part, Value value) {
  return llvm::any_of(holdingsOn(part, value),
                      [](const Holding &held) { return !held.isPending(); });
}

Blocks PartitionChecker::blocksOn(Value part, Value value) {
  Blocks found;
  for (const Holding &held : holdingsOn(part, value))
    if (auto ranges = blockOf(held); ranges && !held.isPending()) {
      for (Range &range : *ranges)
        range.tail = 0;
      found.push_back(std::move(*ranges));
    }
  return found;
}

std::optional<std::vector<Range>> PartitionChecker::both(ArrayRef<Range> a,
                                                         ArrayRef<Range> b) {
  std::vector<Range> merged;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    if (x.start && y.start && *x.start != *y.start)
      return std::nullopt;
    merged.push_back({x.start ? x.start : y.start, 0});
  }
  return merged;
}

bool PartitionChecker::isEqual(ArrayRef<Range> a, ArrayRef<Range> b) {
  return llvm::all_of(llvm::zip_equal(a, b), [](auto pair) {
    return std::get<0>(pair).start == std::get<1>(pair).start;
  });
}
