//===- ComputeReadParts.cpp - Only the parts that somebody reads ----------===//
//
// Operations that need to run for some rounds only are written again on slices
// of their operands. They are taken together with all that are connected to
// them, because a part of one is what another reads of it; each such piece of
// the step is taken if a product gets smaller by it. Who reads more of a result
// than its part gets it padded with zeros. Nothing here depends on the machine
// or on a budget.
//
//===----------------------------------------------------------------------===//

#include "tenon/Simplify/Passes.h"

#include "PartsRead.h"
#include "Rules.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Step/Attention.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace tenon::simplify {
#define GEN_PASS_DEF_COMPUTEREADPARTSPASS
#include "tenon/Simplify/Passes.h.inc"
} // namespace tenon::simplify

using namespace mlir;
using namespace tenon;
using namespace tenon::simplify;
using namespace tenon::stablehlo;

namespace {

SmallVector<int64_t> extentsOf(ArrayRef<Interval> box) {
  return llvm::map_to_vector(box, [](Interval i) { return i.size(); });
}

/// Whether a slice leaves out no elements between the first and the last.
bool isBox(SliceOp slice) { return allAre(slice.getStrides(), 1); }

/// Writes operations of one block again.
class Rewriter {
public:
  Rewriter(Block &block, const PartialOperations &partial)
      : block(block), partial(partial), builder(block.getParentOp()) {}

  void rewrite(const llvm::DenseSet<Operation *> &chosen);

private:
  struct Part {
    Value tensor;
    Box box;
  };

  void writeAgain(Operation *op, const PartialOperation &how);
  Value sliceAgain(SliceOp op, const PartialOperation &how);
  Value padAgain(PadOp op, const PartialOperation &how);

  /// Elements of a value of the block as it was.
  Value take(Value value, const Box &box, Location location);
  Value slice(Value tensor, const Box &box, Location location);
  /// What `part` has of the elements in `box`, and zeros.
  Value padded(const Part &part, const Box &box, Location location);
  Value zero(Type type);

  Block &block;
  const PartialOperations &partial;
  OpBuilder builder;
  llvm::DenseMap<Value, Part> parts;
  llvm::DenseMap<Value, SmallVector<Part, 1>> taken;
  llvm::DenseMap<Type, Value> zeros;
};

Value Rewriter::zero(Type type) {
  Value &value = zeros[type];
  if (!value) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    value =
        makeSplat(builder, block.getParentOp()->getLoc(),
                  RankedTensorType::get({}, type), builder.getZeroAttr(type));
  }
  return value;
}

Value Rewriter::slice(Value tensor, const Box &box, Location location) {
  if (box == wholeOf(tensor))
    return tensor;
  SmallVector<int64_t> starts, limits;
  for (Interval interval : box) {
    starts.push_back(interval.start);
    limits.push_back(interval.limit);
  }
  RankedTensorType type = tensorTypeOf(tensor).clone(extentsOf(box));
  if (Attribute element = splatOf(tensor))
    return makeSplat(builder, location, type, element);
  return SliceOp::create(builder, location, type, tensor, starts, limits,
                         SmallVector<int64_t>(box.size(), 1));
}

Value Rewriter::padded(const Part &part, const Box &box, Location location) {
  auto type = cast<RankedTensorType>(part.tensor.getType());
  type = type.clone(extentsOf(box));
  Box common;
  SmallVector<int64_t> low, high;
  for (auto [wanted, has] : llvm::zip_equal(box, part.box)) {
    Interval both = wanted.within(has);
    if (both.isEmpty())
      return makeSplat(builder, location, type,
                       builder.getZeroAttr(type.getElementType()));
    low.push_back(both.start - wanted.start);
    high.push_back(wanted.limit - both.limit);
    common.push_back(both.shifted(-has.start));
  }
  Value tensor = slice(part.tensor, common, location);
  if (tensor.getType() == type)
    return tensor;
  return PadOp::create(builder, location, type, tensor,
                       zero(type.getElementType()), low, high,
                       SmallVector<int64_t>(box.size(), 0));
}

Value Rewriter::take(Value value, const Box &box, Location location) {
  auto found = parts.find(value);
  if (found == parts.end() && box == wholeOf(value))
    return value;
  for (const Part &before : taken[value])
    if (before.box == box)
      return before.tensor;
  Value result = found == parts.end() ? slice(value, box, location)
                                      : padded(found->second, box, location);
  taken[value].push_back({result, box});
  return result;
}

Value Rewriter::sliceAgain(SliceOp op, const PartialOperation &how) {
  Value from =
      take(op.getOperand(),
           operandPart(how.loops, 0, how.rounds, op.getOperand()), op.getLoc());
  if (isBox(op))
    return from;
  // Dimensions without a loop still have to be cut.
  SmallVector<int64_t> starts(op.getStartIndices()),
      limits(op.getLimitIndices());
  for (auto [dim, of] : llvm::enumerate(how.loops.operands[0]))
    if (!of.isWhole()) {
      starts[dim] = 0;
      limits[dim] = shapeOf(from)[dim];
    }
  Box box = resultPart(how.loops, 0, how.rounds, op);
  return SliceOp::create(builder, op.getLoc(),
                         op.getType().clone(extentsOf(box)), from, starts,
                         limits, op.getStrides());
}

Value Rewriter::padAgain(PadOp op, const PartialOperation &how) {
  Box box = resultPart(how.loops, 0, how.rounds, op);
  Value from =
      take(op.getOperand(),
           operandPart(how.loops, 0, how.rounds, op.getOperand()), op.getLoc());
  SmallVector<int64_t> low(op.getEdgePaddingLow()),
      high(op.getEdgePaddingHigh());
  Box whole = wholeOf(op.getResult());
  for (size_t dim = 0; dim < box.size(); ++dim)
    if (box[dim] != whole[dim]) // a part has nothing of the zeros around
      low[dim] = high[dim] = 0;
  if (allAre(low, 0) && allAre(high, 0) && allAre(op.getInteriorPadding(), 0))
    return from;
  return PadOp::create(builder, op.getLoc(), op.getType().clone(extentsOf(box)),
                       from, op.getPaddingValue(), low, high,
                       op.getInteriorPadding());
}

void Rewriter::writeAgain(Operation *op, const PartialOperation &how) {
  SmallVector<Value> results;
  if (auto slice = dyn_cast<SliceOp>(op)) {
    results.push_back(sliceAgain(slice, how));
  } else if (auto pad = dyn_cast<PadOp>(op)) {
    results.push_back(padAgain(pad, how));
  } else {
    SmallVector<Value> operands;
    for (auto [number, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(
          take(operand, operandPart(how.loops, number, how.rounds, operand),
               op->getLoc()));
    Operation *again = builder.clone(*op);
    again->setOperands(operands);
    for (auto [number, result] : llvm::enumerate(op->getResults())) {
      auto type = cast<RankedTensorType>(result.getType());
      Box box = resultPart(how.loops, number, how.rounds, result);
      again->getResult(number).setType(type.clone(extentsOf(box)));
      results.push_back(again->getResult(number));
    }
    // A part of the queries is taken only where they see all keys.
    if (step::isAttention(op) &&
        how.rounds.back().size() != how.loops.extents.back())
      again->removeAttr("causal");
  }
  for (auto [number, result] : llvm::enumerate(op->getResults()))
    parts[result] = {results[number],
                     resultPart(how.loops, number, how.rounds, result)};
}

void Rewriter::rewrite(const llvm::DenseSet<Operation *> &chosen) {
  auto isCut = [&](Operation *reader) {
    auto slice = dyn_cast<SliceOp>(reader);
    return slice && reader->getBlock() == &block && isBox(slice);
  };
  SmallVector<Operation *> replaced;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    builder.setInsertionPoint(&op);
    if (!chosen.contains(&op)) {
      auto slice = dyn_cast<SliceOp>(op);
      if (slice && isBox(slice) && parts.contains(slice.getOperand())) {
        slice.replaceAllUsesWith(
            take(slice.getOperand(), boxOf(slice), op.getLoc()));
        replaced.push_back(&op);
      }
      continue;
    }
    writeAgain(&op, partial.find(&op)->second);
    replaced.push_back(&op);
    for (Value result : op.getResults()) {
      auto readsAll = [&](OpOperand &use) {
        return !chosen.contains(use.getOwner()) && !isCut(use.getOwner());
      };
      if (llvm::any_of(result.getUses(), readsAll))
        result.replaceUsesWithIf(take(result, wholeOf(result), op.getLoc()),
                                 readsAll);
    }
  }
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

class ComputeReadParts
    : public simplify::impl::ComputeReadPartsPassBase<ComputeReadParts> {
  void runOnOperation() override {
    bool changed = false;
    getOperation()->walk<WalkOrder::PreOrder>([&](func::FuncOp function) {
      if (!function.isDeclaration())
        changed |= computeReadParts(function.getBody().front());
      return WalkResult::skip();
    });
    if (!changed)
      markAllAnalysesPreserved();
  }

  static bool computeReadParts(Block &block) {
    PartialOperations partial = findPartsRead(block);
    llvm::DenseSet<Operation *> chosen = choose(partial);
    if (chosen.empty())
      return false;
    Rewriter(block, partial).rewrite(chosen);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    return true;
  }

  /// The pieces in which a product gets smaller.
  static llvm::DenseSet<Operation *> choose(const PartialOperations &partial) {
    llvm::EquivalenceClasses<Operation *> pieces;
    for (const auto &[op, how] : partial) {
      pieces.insert(op);
      for (Operation *reader : op->getUsers())
        if (partial.contains(reader))
          pieces.unionSets(op, reader);
    }
    struct Work {
      double before = 0, now = 0; // FLOPs of products
      int64_t operations = 0;
      bool computes = false; // and does not only move elements
      Location location;
    };
    llvm::MapVector<Operation *, Work> work;
    for (const auto &[op, how] : llvm::reverse(partial)) {
      Work &piece = work.insert({pieces.getLeaderValue(op),
                                 Work{.location = op->getLoc()}})
                        .first->second;
      double share = 1;
      for (auto [extent, rounds] :
           llvm::zip_equal(how.loops.extents, how.rounds))
        share *= extent ? double(rounds.size()) / double(extent) : 1;
      double flops = contractionFlops(op);
      piece.before += flops;
      piece.now += share * flops;
      ++piece.operations;
      piece.computes |= classify(op) == OperationClass::pointwise;
    }
    llvm::DenseSet<Operation *> chosen;
    for (const auto &[leader, piece] : work)
      if (piece.before > 0 || piece.computes)
        report(piece.location, piece.operations, piece.before, piece.now);
    for (const auto &[op, how] : partial)
      if (work.find(pieces.getLeaderValue(op))->second.before > 0)
        chosen.insert(op);
    return chosen;
  }

  static void report(Location location, int64_t operations, double before,
                     double now) {
    auto options = remark::RemarkOpts::name("ReadParts")
                       .category("simplify-compute-read-parts");
    if (before > 0)
      remark::passed(location, options)
          << remark::add("{0} operations compute what is read of them: {1} of "
                         "{2} FLOPs of their products",
                         operations, int64_t(now), int64_t(before))
          << remark::metric("before", int64_t(before))
          << remark::metric("after", int64_t(now));
    else
      remark::missed(location, options)
          << remark::add("{0} operations compute more than is read of them",
                         operations)
          << remark::reason("{0}", "there is no product among them");
  }
};

} // namespace
