//===- UnfoldCollectives.cpp - What devices exchange, as one tensor -------===//
//
// A sum over devices is a sum along leading dimensions (Unfolder.h), a gather
// makes leading dimensions part of another one, and a permutation puts the
// parts of a leading dimension in another order. Groups have to follow axes of
// the mesh.
//
//===----------------------------------------------------------------------===//

#include "Unfolder.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/Identity.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::importer;

/// The places of axes among leading dimensions.
static SmallVector<int64_t> placesOf(ArrayRef<unsigned> axes, AxisSet leading) {
  return llvm::map_to_vector(
      axes, [&](unsigned axis) { return placeOf(axis, leading); });
}

FailureOr<Unfolded> Unfolder::reduced(Operation *op, Unfolded value,
                                      ArrayRef<unsigned> axes) {
  const auto combination = combinationOf(op->getRegion(0));
  if (combination == libraries::Combination::none)
    return refuse(op, "its region is no sum, maximum or minimum");
  value = spread(value, setOf(axes));
  const AxisSet left = value.axes & ~setOf(axes);
  SmallVector<int64_t> dims = placesOf(axes, value.axes);
  llvm::sort(dims);
  auto type = cast<RankedTensorType>(value.whole.getType())
                  .clone(shapeFor(value.local(), left));
  Value start =
      identityOf(builder, type.clone(ArrayRef<int64_t>()), combination);
  auto made = stablehlo::ReduceOp::create(builder, TypeRange(type),
                                          ValueRange(value.whole),
                                          ValueRange(start), dims);
  IRMapping mapping;
  op->getRegion(0).cloneInto(&made.getBody(), mapping);
  return Unfolded{made->getResult(0), left};
}

/// Each device gets a part of each other one: what was one dimension becomes
/// the devices that it goes to, and the devices that it comes from become part
/// of another one.
Unfolded Unfolder::exchanged(Unfolded value, ArrayRef<unsigned> axes,
                             int64_t split, int64_t joined) {
  value = spread(value, setOf(axes));
  const int64_t leading = value.leading(), at = leading + split,
                count = axes.size(), rank = shapeOf(value.whole).size();
  Value parts = splitDim(value.whole, at, axes);
  // Where a dimension of before lies among the parts.
  auto placed = [&](int64_t place) {
    return place >= at ? place + count : place;
  };
  SmallVector<int64_t> order, result;
  for (auto [place, axis] : llvm::enumerate(axesOf(value.axes))) {
    const auto *own = llvm::find(axes, axis);
    order.push_back(own != axes.end() ? at + (own - axes.begin())
                                      : int64_t(place));
    result.push_back(devices->size(axis));
  }
  for (int64_t place = leading; place < rank; ++place) {
    int64_t size = shapeOf(parts)[placed(place)];
    if (place == leading + joined) {
      llvm::append_range(order, placesOf(axes, value.axes));
      size *= devices->product(axes);
    }
    order.push_back(placed(place));
    result.push_back(size);
  }
  return {reshape(transpose(parts, order), result), value.axes};
}

Unfolded Unfolder::moved(Unfolded value, const Move &move) {
  value = spread(value, AxisSet(1) << move.axis);
  const int64_t place = placeOf(move.axis, value.axes);
  auto type = cast<RankedTensorType>(value.whole.getType());
  const SmallVector<int64_t> ones(type.getRank(), 1);
  SmallVector<Value> pieces;
  ArrayRef<int64_t> sources = move.sources;
  while (!sources.empty()) {
    // Devices whose sources follow each other get one piece.
    size_t length = 1;
    const int64_t from = sources.front();
    while (length < sources.size() &&
           sources[length] == (from < 0 ? from : from + int64_t(length)))
      ++length;
    sources = sources.drop_front(length);
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape());
    limits[place] = length;
    RankedTensorType pieceType = type.clone(limits);
    if (from < 0) {
      // Nobody sends, so there are zeros.
      pieces.push_back(stablehlo::ConstantOp::create(
          builder, DenseElementsAttr::get(
                       pieceType, builder.getZeroAttr(type.getElementType()))));
      continue;
    }
    starts[place] = from;
    limits[place] = from + length;
    pieces.push_back(stablehlo::SliceOp::create(builder, pieceType, value.whole,
                                                starts, limits, ones));
  }
  if (pieces.size() == 1)
    return {pieces.front(), value.axes};
  return {stablehlo::ConcatenateOp::create(builder, type, pieces, place),
          value.axes};
}

LogicalResult Unfolder::collective(Operation *op) {
  Results operands;
  if (failed(getAll(op->getOperands(), operands)))
    return failure();
  auto channel =
      op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
  if (!channel || channel.getHandle() <= 0)
    return refuse(op, "it has no channel, so it is between replicas");

  if (auto permute = dyn_cast<stablehlo::CollectivePermuteOp>(op)) {
    auto pairs = cast<DenseIntElementsAttr>(permute.getSourceTargetPairs());
    std::optional<Move> move = devices->ofPairs(pairs);
    if (!move)
      return refuse(op, "its pairs do not move values along one axis of the "
                        "mesh, everywhere alike");
    if (!isAxisOf(manual, move->axis))
      return refuse(op, "it moves values along an axis that the compiler "
                        "decides about");
    known[op->getResult(0)] = constrained(moved(operands[0], *move));
    return success();
  }
  auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  std::optional<AxisList> axes =
      groups ? devices->ofGroups(groups) : std::nullopt;
  if (!axes)
    return refuse(op, "its groups do not follow axes of the mesh");
  if (setOf(*axes) & ~manual)
    return refuse(op, "its groups are along an axis that the compiler decides "
                      "about");
  for (auto [operand, result] : llvm::zip_equal(operands, op->getResults())) {
    FailureOr<Unfolded> made =
        llvm::TypeSwitch<Operation *, FailureOr<Unfolded>>(op)
            .Case<stablehlo::AllReduceOp>(
                [&](auto) { return reduced(op, operand, *axes); })
            .Case<stablehlo::ReduceScatterOp>([&](auto scatter) {
              FailureOr<Unfolded> sum = reduced(op, operand, *axes);
              if (succeeded(sum))
                *sum = cut(*sum, scatter.getScatterDimension(), *axes);
              return sum;
            })
            .Case<stablehlo::AllGatherOp>([&](auto gather) {
              return join(spread(operand, setOf(*axes)),
                          gather.getAllGatherDim(), *axes);
            })
            .Case<stablehlo::AllToAllOp>([&](auto exchange) {
              return exchanged(operand, *axes, exchange.getSplitDimension(),
                               exchange.getConcatDimension());
            })
            .Case<stablehlo::CollectiveBroadcastOp>(
                [&](auto) { return first(operand, setOf(*axes)); })
            .Default([&](Operation *) {
              return refuse(op, "nobody has written it for all devices");
            });
    if (failed(made))
      return failure();
    known[result] = constrained(*made);
  }
  return success();
}
