//===- Expand.cpp - Collectives that only move bytes ----------------------===//
//
// What carries bytes between GPUs shall not add them up, since it chooses the
// order of its sums by size and number of ranks. So each rank sends all others
// the elements that they add up, adds its own up in the order of the ranks by a
// kernel like any other, and hands the sums to all:
//
//   all_reduce of 6 f32 by 4    pad to 8, as [4, 2]
//                               all_to_all         [4, 2]: a row from each rank
//                               reduce over ranks  [2]
//                               all_gather         [4, 2], of which 6
//
// That receives as many bytes as a ring. Where parts are not in one piece, they
// are turned so that they are, by a transpose that may join the kernels around
// it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/Identity.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Collectives/Passes.h"
#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"

namespace tenon::collectives {
#define GEN_PASS_DEF_EXPANDPASS
#include "tenon/Collectives/Passes.h.inc"
} // namespace tenon::collectives

using namespace mlir;
using namespace tenon;
using libraries::CollectiveDescription;
using libraries::CollectiveKind;

namespace {

/// Writes one collective anew in front of itself.
class Expansion {
public:
  Expansion(Operation *op, const CollectiveDescription &d)
      : builder(op->getLoc(), op), op(op), d(d) {}

  void run() {
    Value result = expanded();
    if (!result)
      return;
    op->getResult(0).replaceAllUsesWith(reshaped(
        result, cast<RankedTensorType>(op->getResult(0).getType()).getShape()));
    op->erase();
  }

private:
  /// Nothing if the collective stays as it is.
  Value expanded() {
    if (reducerOf(op) == libraries::Reducer::nccl)
      return d.outer > 1 ? scatteredInParts() : Value();
    switch (d.kind) {
    case CollectiveKind::allReduce:
      return d.piece < n ? reduced(allGather(reshaped(input, {1, d.piece})))
                         : reducedInShares();
    case CollectiveKind::reduceScatter:
      return reduced(allToAll(inParts(input)));
    case CollectiveKind::allGather:
      return d.outer > 1
                 ? joined(allGather(reshaped(input, {1, d.outer, d.piece})))
                 : Value();
    case CollectiveKind::allToAll:
      return d.outer > 1 ? joined(allToAll(inParts(input))) : Value();
    case CollectiveKind::collectivePermute:
    case CollectiveKind::partitionId:
      return {};
    }
    return {};
  }

  RankedTensorType typeOf(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, elementOf(input));
  }

  Value reshaped(Value value, ArrayRef<int64_t> shape) {
    return shapeOf(value) == shape
               ? value
               : stablehlo::ReshapeOp::create(builder, typeOf(shape), value);
  }

  /// [outer, n, piece] as [n, outer, piece].
  Value inParts(Value value) {
    if (d.outer == 1)
      return reshaped(value, {n, d.piece});
    return stablehlo::TransposeOp::create(
        builder, reshaped(value, {d.outer, n, d.piece}),
        ArrayRef<int64_t>{1, 0, 2});
  }

  /// [n, outer, piece] as [outer, n, piece].
  Value joined(Value parts) {
    return stablehlo::TransposeOp::create(builder, parts,
                                          ArrayRef<int64_t>{1, 0, 2});
  }

  /// Row i of the result is the only one of rank i.
  Value allGather(Value row) {
    SmallVector<int64_t> shape(shapeOf(row));
    shape[0] = n;
    return stablehlo::AllGatherOp::create(
               builder, TypeRange(typeOf(shape)), ValueRange(row),
               /*all_gather_dim=*/uint64_t(0), groups, channel,
               /*use_global_device_ids=*/channel != nullptr)
        .getResult(0);
  }

  /// Row i of the result is rank i's row for this one.
  Value allToAll(Value rows) {
    return stablehlo::AllToAllOp::create(
               builder, TypeRange(rows.getType()), ValueRange(rows),
               /*split_dimension=*/uint64_t(0),
               /*concat_dimension=*/uint64_t(0), uint64_t(n), groups, channel)
        .getResult(0);
  }

  /// The sum of the first half of the rows and that of the second.
  Value summedByTree(Value rows, int64_t begin, int64_t end) {
    if (end - begin > 1)
      return stablehlo::AddOp::create(
          builder, summedByTree(rows, begin, (begin + end) / 2),
          summedByTree(rows, (begin + end) / 2, end));
    ArrayRef<int64_t> shape = shapeOf(rows);
    SmallVector<int64_t> first(shape.size()), last(shape),
        strides(shape.size(), 1);
    first[0] = begin;
    last[0] = end;
    return reshaped(
        stablehlo::SliceOp::create(builder, rows, first, last, strides),
        shape.drop_front());
  }

  /// The rows, combined.
  Value reduced(Value rows) {
    if (isTree)
      return summedByTree(rows, 0, n);
    auto reduce = stablehlo::ReduceOp::create(
        builder, TypeRange(typeOf(shapeOf(rows).drop_front())),
        ValueRange(rows),
        ValueRange(identityOf(builder, typeOf({}), d.combination)),
        builder.getDenseI64ArrayAttr({0}));
    reduce.getBody().takeBody(op->getRegion(0));
    return reduce.getResult(0);
  }

  /// The library's own, of parts in one piece.
  Value scatteredInParts() {
    auto scatter = stablehlo::ReduceScatterOp::create(
        builder, Type(typeOf({1, d.outer, d.piece})), inParts(input),
        /*scatter_dimension=*/uint64_t(0), groups, channel,
        /*use_global_device_ids=*/channel != nullptr);
    scatter->setAttr(step::reducerAttrName, op->getAttr(step::reducerAttrName));
    scatter.getComputation().takeBody(op->getRegion(0));
    return scatter.getResult();
  }

  Value reducedInShares() {
    const int64_t share = libraries::shareOf(d);
    Value all = reshaped(input, {d.piece});
    if (const int64_t missing = n * share - d.piece)
      all = stablehlo::PadOp::create(
          builder, all, stablehlo::zeros(builder, typeOf({})),
          ArrayRef<int64_t>{0}, ArrayRef<int64_t>{missing},
          ArrayRef<int64_t>{0});
    Value sums = reduced(allToAll(reshaped(all, {n, share})));
    all = reshaped(allGather(reshaped(sums, {1, share})), {n * share});
    return n * share == d.piece
               ? all
               : stablehlo::SliceOp::create(builder, all, ArrayRef<int64_t>{0},
                                            ArrayRef<int64_t>{d.piece},
                                            ArrayRef<int64_t>{1});
  }

  ImplicitLocOpBuilder builder;
  Operation *op;
  const CollectiveDescription &d;
  const int64_t n = d.groupSize;
  const bool isTree = op->hasAttr(step::sumsByTreeAttrName);
  const Value input = op->getOperand(0);
  const DenseIntElementsAttr groups =
      op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  const stablehlo::ChannelHandleAttr channel =
      op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
};

struct Expand : public collectives::impl::ExpandPassBase<Expand> {
  using ExpandPassBase::ExpandPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> collectives;
    getOperation().walk([&](Operation *op) {
      if (exchanges(op) &&
          (!onlyTrees || op->hasAttr(step::sumsByTreeAttrName)))
        collectives.push_back(op);
    });
    for (Operation *op : collectives) {
      // What no rank carries out is refused where it gets a group.
      std::string whyNot;
      if (auto described = describeCollective(op, whyNot))
        Expansion(op, *described).run();
    }
  }
};

} // namespace
