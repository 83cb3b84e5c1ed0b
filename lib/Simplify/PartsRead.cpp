//===- PartsRead.cpp - Which parts of a block's values are read -----------===//
//
// Boxes hold what is not zero and what is read: both are kept as an interval
// per dimension, which may be larger than what is known but not smaller.
//
//===----------------------------------------------------------------------===//

#include "PartsRead.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Step/Attention.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;
using namespace tenon::simplify;

namespace {

class Finder {
public:
  explicit Finder(Block &block) : block(block) {}

  PartialOperations run();

private:
  void findZeros();
  void visit(Operation *op);

  /// What is read of a value, as far as that is less than all of it.
  struct Read {
    enum { nothing, part, all } what = nothing;
    Box box = {};
  };
  Read readOf(Value value) const;
  /// Nothing if the reader may read all.
  std::optional<Box> readBy(OpOperand &use) const;

  Interval roundsOf(const OperationLoops &loops, unsigned loop,
                    ArrayRef<Read> reads) const;

  Block &block;
  llvm::DenseMap<Value, Box> nonZero;
  /// Of operations with zeros in their operands.
  llvm::DenseMap<Operation *, PartialOperation> withZeros;
  PartialOperations partial;
};

void Finder::findZeros() {
  auto nonZeroPart = [&](Value value) -> const Box * {
    auto found = nonZero.find(value);
    return found == nonZero.end() ? nullptr : &found->second;
  };
  for (Operation &op : block) {
    if (!isa<PadOp>(op) &&
        (nonZero.empty() || llvm::none_of(op.getOperands(), [&](Value operand) {
           return nonZero.contains(operand);
         })))
      continue;
    auto loops = loopsOf(&op);
    if (!loops)
      continue;
    auto rounds = nonZeroRounds(&op, *loops, nonZeroPart);
    if (!rounds)
      continue;
    for (auto [number, result] : llvm::enumerate(op.getResults())) {
      Box part = resultPart(*loops, number, *rounds, result);
      if (part != wholeOf(result))
        nonZero.try_emplace(result, std::move(part));
    }
    withZeros.try_emplace(
        &op, PartialOperation{std::move(*loops), std::move(*rounds)});
  }
}

std::optional<Box> Finder::readBy(OpOperand &use) const {
  Operation *reader = use.getOwner();
  if (auto found = partial.find(reader); found != partial.end())
    return operandPart(found->second.loops, use.getOperandNumber(),
                       found->second.rounds, use.get());
  auto slice = dyn_cast<SliceOp>(reader);
  if (!slice || reader->getBlock() != &block)
    return std::nullopt;
  return boxOf(slice);
}

Finder::Read Finder::readOf(Value value) const {
  if (!isa<RankedTensorType>(value.getType()))
    return {Read::all};
  Read read;
  for (OpOperand &use : value.getUses()) {
    auto box = readBy(use);
    if (!box)
      return {Read::all};
    if (read.what == Read::nothing)
      read = {Read::part, std::move(*box)};
    else
      for (auto [interval, other] : llvm::zip_equal(read.box, *box))
        interval = interval.joined(other);
    if (read.box == wholeOf(value))
      return {Read::all};
  }
  return read;
}

Interval Finder::roundsOf(const OperationLoops &loops, unsigned loop,
                          ArrayRef<Read> reads) const {
  Interval whole{0, loops.extents[loop]};
  std::optional<Interval> read;
  for (auto [number, of] : llvm::enumerate(reads)) {
    if (of.what == Read::nothing)
      continue;
    // A result without the loop takes all rounds: it adds them up.
    if (of.what == Read::all || !loops.hasLoop(number, loop))
      return whole;
    for (auto [dim, interval] : llvm::zip_equal(loops.results[number], of.box))
      if (dim.loop == int64_t(loop))
        read = read ? read->joined(interval) : interval;
  }
  return read.value_or(whole);
}

void Finder::visit(Operation *op) {
  SmallVector<Read, 1> reads;
  bool readsPart = false;
  for (Value result : op->getResults()) {
    reads.push_back(readOf(result));
    readsPart |= reads.back().what == Read::part;
  }
  auto zeros = withZeros.find(op);
  if (!readsPart && zeros == withZeros.end())
    return;
  PartialOperation found;
  if (zeros != withZeros.end()) {
    found = std::move(zeros->second);
  } else {
    auto loops = loopsOf(op);
    if (!loops)
      return;
    found.rounds = wholeOf(loops->extents);
    found.loops = std::move(*loops);
  }
  for (auto [loop, rounds] : llvm::enumerate(found.rounds)) {
    Interval whole{0, found.loops.extents[loop]};
    rounds = rounds.within(roundsOf(found.loops, loop, reads));
    // A part that is nearly all costs as much, with extents that fit nothing.
    if (rounds.isEmpty() || 2 * rounds.size() > whole.size())
      rounds = whole;
  }
  // Which keys a causal query leaves out depends on its place, unless it leaves
  // out none.
  if (auto attention = step::attentionProblemOf(op)) {
    Interval &queries = found.rounds.back();
    if (attention->causal && queries.start < attention->keys - 1)
      queries = {0, attention->queries};
  }
  if (found.rounds != wholeOf(found.loops.extents))
    partial.insert({op, std::move(found)});
}

PartialOperations Finder::run() {
  findZeros();
  for (Operation &op : llvm::reverse(block))
    visit(&op);
  return std::move(partial);
}

} // namespace

PartialOperations simplify::findPartsRead(Block &block) {
  return Finder(block).run();
}
