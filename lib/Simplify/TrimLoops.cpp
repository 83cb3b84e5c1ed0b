//===- TrimLoops.cpp - Loops carry what changes and what is read ----------===//
//
// Three facts about each value a loop carries, found on the loop as it stands:
// it never changes, it equals another one, or nobody reads it. A loop that has
// such values is rebuilt without them, until none is left.
//
//===----------------------------------------------------------------------===//

#include "tenon/Simplify/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace tenon::simplify {
#define GEN_PASS_DEF_TRIMLOOPSPASS
#include "tenon/Simplify/Passes.h.inc"
} // namespace tenon::simplify

using namespace mlir;
using tenon::stablehlo::WhileOp;

namespace {

/// A loop's blocks and what it carries.
struct Loop {
  explicit Loop(WhileOp op)
      : op(op), condition(op.getCond().front()), body(op.getBody().front()),
        next(body.getTerminator()) {}

  WhileOp op;
  Block &condition;
  Block &body;
  Operation *next;

  unsigned size() { return op->getNumOperands(); }
  Value start(unsigned i) { return op->getOperand(i); }
  Value following(unsigned i) { return next->getOperand(i); }

  /// Makes everyone who reads value `i`, inside and after the loop, read what
  /// the others are.
  void redirect(unsigned i, Value inCondition, Value inBody, Value after) {
    condition.getArgument(i).replaceAllUsesWith(inCondition);
    body.getArgument(i).replaceAllUsesWith(inBody);
    op->getResult(i).replaceAllUsesWith(after);
  }
};

/// The values that are needed: read after the loop, by the condition, or by
/// what computes a needed value of the next round. Fills `liveOps` with the
/// operations of the body that compute them.
llvm::BitVector findNeeded(Loop &loop, llvm::DenseSet<Operation *> &liveOps) {
  llvm::BitVector needed(loop.size());
  SmallVector<Value> worklist;
  auto need = [&](unsigned i) {
    if (needed.test(i))
      return;
    needed.set(i);
    worklist.push_back(loop.following(i));
  };
  auto keep = [&](Operation *op) {
    // Everything the operation reads, also from inside its regions.
    if (!liveOps.insert(op).second)
      return;
    op->walk([&](Operation *inner) {
      llvm::append_range(worklist, inner->getOperands());
    });
  };
  for (unsigned i = 0; i < loop.size(); ++i)
    if (!loop.op->getResult(i).use_empty() ||
        !loop.condition.getArgument(i).use_empty())
      need(i);
  for (Operation &op : loop.body.without_terminator())
    if (!isMemoryEffectFree(&op) && !isOpTriviallyDead(&op))
      keep(&op);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == &loop.body)
        need(argument.getArgNumber());
    } else if (Operation *op =
                   loop.body.findAncestorOpInBlock(*value.getDefiningOp())) {
      keep(op);
    }
  }
  return needed;
}

/// Rebuilds the loop without the values that are not in `kept`; nobody reads
/// those any more.
WhileOp rebuild(Loop &loop, const llvm::BitVector &kept) {
  llvm::BitVector dropped = kept;
  dropped.flip();
  SmallVector<Value> starts;
  SmallVector<Type> types;
  for (unsigned i : kept.set_bits()) {
    starts.push_back(loop.start(i));
    types.push_back(loop.start(i).getType());
  }
  OpBuilder builder(loop.op);
  auto smaller = WhileOp::create(builder, loop.op.getLoc(), types, starts);
  smaller->setDiscardableAttrs(loop.op->getDiscardableAttrDictionary());
  loop.next->eraseOperands(dropped);
  loop.condition.eraseArguments(dropped);
  loop.body.eraseArguments(dropped);
  smaller.getCond().takeBody(loop.op.getCond());
  smaller.getBody().takeBody(loop.op.getBody());
  for (auto [position, i] : llvm::enumerate(kept.set_bits()))
    loop.op->getResult(i).replaceAllUsesWith(smaller->getResult(position));
  loop.op->erase();
  return smaller;
}

class TrimLoops : public tenon::simplify::impl::TrimLoopsPassBase<TrimLoops> {
  void runOnOperation() override {
    SmallVector<WhileOp> loops;
    getOperation()->walk([&](WhileOp op) { loops.push_back(op); });
    // Inner loops first: what they stop reading the outer ones may drop.
    for (WhileOp loop : loops)
      trim(loop);
  }

  void trim(WhileOp op) {
    unsigned before = op->getNumOperands(), unchanged = 0, equal = 0;
    Location location = op.getLoc();
    while (true) {
      Loop loop(op);
      llvm::BitVector kept(loop.size(), true);
      for (unsigned i = 0; i < loop.size(); ++i) {
        Value following = loop.following(i);
        if (following != loop.body.getArgument(i) && following != loop.start(i))
          continue;
        loop.redirect(i, loop.start(i), loop.start(i), loop.start(i));
        kept.reset(i);
        ++unchanged;
      }
      llvm::SmallMapVector<std::pair<Value, Value>, unsigned, 16> first;
      for (unsigned i : kept.set_bits()) {
        auto [same, isNew] =
            first.insert({{loop.start(i), loop.following(i)}, i});
        if (isNew)
          continue;
        unsigned j = same->second;
        loop.redirect(i, loop.condition.getArgument(j),
                      loop.body.getArgument(j), op->getResult(j));
        kept.reset(i);
        ++equal;
      }
      llvm::DenseSet<Operation *> liveOps;
      llvm::BitVector needed = findNeeded(loop, liveOps);
      kept &= needed;
      if (kept.all())
        break;
      // What computed dropped values must not read their arguments any more.
      SmallVector<Operation *> ops = llvm::map_to_vector(
          loop.body.without_terminator(), [](Operation &op) { return &op; });
      for (Operation *dead : llvm::reverse(ops))
        if (!liveOps.contains(dead)) {
          dead->dropAllUses();
          dead->erase();
        }
      op = rebuild(loop, kept);
    }
    unsigned after = op->getNumOperands();
    if (after != before)
      remark::passed(location, remark::RemarkOpts::name("trimmed").category(
                                   "simplify-trim-loops"))
          << remark::add(
                 "loop carries {0} of {1} values: {2} never change, {3} "
                 "equal others, {4} are not read",
                 after, before, unchanged, equal,
                 before - after - unchanged - equal);
  }
};

} // namespace
