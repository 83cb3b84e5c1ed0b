//===- Collectives.cpp - What the ranks of a step exchange ----------------===//
//
// See Collectives.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/Collectives.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"

using namespace mlir;
using namespace tenon;
using libraries::CollectiveDescription;
using libraries::CollectiveKind;
using libraries::Combination;

bool tenon::isCollective(Operation *op) {
  return isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp,
             stablehlo::ReduceScatterOp, stablehlo::AllToAllOp,
             stablehlo::CollectivePermuteOp, stablehlo::PartitionIdOp>(op);
}

bool tenon::exchanges(Operation *op) {
  return isCollective(op) && op->getNumOperands() > 0;
}

bool tenon::holdsCollective(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isCollective(inner) ? WalkResult::interrupt()
                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

Combination tenon::combinationOf(Region &region) {
  Block &block = region.front();
  if (!region.hasOneBlock() || !llvm::hasNItems(block, 2))
    return Combination::none;
  Operation &op = block.front();
  if (op.getNumOperands() != 2 ||
      !llvm::all_of(block.getArguments(),
                    [&](BlockArgument argument) {
                      return llvm::is_contained(op.getOperands(), argument);
                    }) ||
      block.back().getNumOperands() != 1 ||
      block.back().getOperand(0).getDefiningOp() != &op)
    return Combination::none;
  const bool isBoolean = getElementTypeOrSelf(op.getResult(0)).isInteger(1);
  if (isa<stablehlo::AddOp>(op))
    return isBoolean ? Combination::maximum : Combination::sum;
  if (isa<stablehlo::MaximumOp>(op) || (isBoolean && isa<stablehlo::OrOp>(op)))
    return Combination::maximum;
  if (isa<stablehlo::MinimumOp>(op) || (isBoolean && isa<stablehlo::AndOp>(op)))
    return Combination::minimum;
  return Combination::none;
}

namespace {

/// Takes the tensors, groups and dimension of a collective.
class Describer {
public:
  Describer(Operation *op, std::string &whyNot) : op(op), whyNot(whyNot) {}

  std::optional<CollectiveDescription> run() {
    if (op->getNumOperands() > 1 || op->getNumResults() != 1)
      return refuse("it has several tensors");
    auto type = elementTypeOf(getElementTypeOrSelf(op->getResult(0).getType()));
    if (!type)
      return refuse("no rank holds its element type");
    d.type = *type;
    if (isa<stablehlo::PartitionIdOp>(op)) {
      d.kind = CollectiveKind::partitionId;
      return d;
    }
    if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op))
      return alongDimension(CollectiveKind::allGather, gather.getAllGatherDim(),
                            op->getOperand(0), 1);
    if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op)) {
      d.combination = combinationOf(scatter.getComputation());
      return alongDimension(CollectiveKind::reduceScatter,
                            scatter.getScatterDimension(), op->getResult(0), 1);
    }
    if (auto exchange = dyn_cast<stablehlo::AllToAllOp>(op)) {
      if (exchange.getSplitDimension() != exchange.getConcatDimension())
        return refuse("it cuts one dimension and joins another");
      return alongDimension(CollectiveKind::allToAll,
                            exchange.getSplitDimension(), op->getOperand(0),
                            exchange.getSplitCount());
    }
    d.piece = elementCount(shapeOf(op->getOperand(0)));
    if (auto reduce = dyn_cast<stablehlo::AllReduceOp>(op)) {
      d.kind = CollectiveKind::allReduce;
      d.combination = combinationOf(reduce.getComputation());
      return withGroups("replica_groups");
    }
    d.kind = CollectiveKind::collectivePermute;
    return withGroups("source_target_pairs");
  }

private:
  std::nullopt_t refuse(const char *why) {
    whyNot = why;
    return std::nullopt;
  }

  /// `part` is the tensor that has one rank's share of the dimension, or
  /// `shares` of them.
  std::optional<CollectiveDescription> alongDimension(CollectiveKind kind,
                                                      uint64_t dimension,
                                                      Value part,
                                                      uint64_t shares) {
    d.kind = kind;
    ArrayRef<int64_t> shape = shapeOf(part);
    d.outer = elementCount(shape.take_front(dimension));
    d.piece = elementCount(shape.drop_front(dimension)) / int64_t(shares);
    return withGroups("replica_groups");
  }

  std::optional<CollectiveDescription> withGroups(StringRef name) {
    auto table = cast<DenseIntElementsAttr>(op->getAttr(name));
    d.groupSize = cast<RankedTensorType>(table.getType()).getDimSize(1);
    for (const APInt &rank : table.getValues<APInt>())
      d.groups.push_back({rank.getSExtValue()});
    if (op->getNumRegions() > 0 && d.combination == Combination::none)
      return refuse("it combines elements by something else than a sum, a "
                    "maximum or a minimum");
    return d;
  }

  Operation *op;
  std::string &whyNot;
  CollectiveDescription d;
};

} // namespace

std::optional<CollectiveDescription>
tenon::describeCollective(Operation *op, std::string &whyNot) {
  return Describer(op, whyNot).run();
}

libraries::Reducer tenon::reducerOf(Operation *op) {
  auto by = op->getAttrOfType<StringAttr>(step::reducerAttrName);
  return libraries::reducerNamed(by ? by.getValue() : "")
      .value_or(libraries::Reducer::ranks);
}
