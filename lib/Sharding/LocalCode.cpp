//===- LocalCode.cpp - What one device computes ---------------------------===//
//
// See LocalCode.h.
//
//===----------------------------------------------------------------------===//

#include "LocalCode.h"

#include "tenon/Analysis/Identity.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Sharding/Rules.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

RankedTensorType LocalCode::localType(Type whole, const Layout &layout) {
  auto type = cast<RankedTensorType>(whole);
  return type.clone(layout.localShape(type.getShape()));
}

Value LocalCode::scalar(int64_t number) {
  Value &known = scalars[number];
  if (known)
    return known;
  ImplicitLocOpBuilder builder(entry.getParentOp()->getLoc(),
                               entry.getParentOp()->getContext());
  builder.setInsertionPointToStart(&entry);
  known = stablehlo::scalarConstant(builder, number);
  if (!lastScalar)
    lastScalar = known;
  return known;
}

Value LocalCode::indexAlong(ArrayRef<AxisPart> parts) {
  std::vector<AxisPart> key(parts.begin(), parts.end());
  if (auto known = indices.find(key); known != indices.end())
    return known->second;
  ImplicitLocOpBuilder builder(entry.getParentOp()->getLoc(),
                               entry.getParentOp()->getContext());
  if (indices.empty()) {
    if (lastScalar)
      builder.setInsertionPointAfterValue(lastScalar);
    else
      builder.setInsertionPointToStart(&entry);
    auto id = stablehlo::PartitionIdOp::create(
        builder, RankedTensorType::get({}, builder.getIntegerType(32, false)));
    indices[{}] = stablehlo::ConvertOp::create(
        builder, RankedTensorType::get({}, builder.getI32Type()), id);
    if (parts.empty())
      return indices[{}];
  }
  // Behind the scalars, and in front of all that may read it.
  builder.setInsertionPointAfterValue(indices.at({}));
  Value device = indices.at({}), index;
  for (const AxisPart &part : parts) {
    Value coordinate = device;
    if (int64_t stride = mesh.stride(part); stride > 1)
      coordinate = stablehlo::DivideOp::create(builder, coordinate.getType(),
                                               coordinate, scalar(stride));
    if (mesh.stride(part) * part.size < mesh.devices())
      coordinate = stablehlo::RemainderOp::create(
          builder, coordinate.getType(), coordinate, scalar(part.size));
    if (!index) {
      index = coordinate;
      continue;
    }
    index = stablehlo::AddOp::create(
        builder,
        stablehlo::MultiplyOp::create(builder, index, scalar(part.size)),
        coordinate);
  }
  return indices[key] = index;
}

Value LocalCode::multipleOf(ArrayRef<AxisPart> parts, int64_t number) {
  if (parts.empty())
    return scalar(0);
  Value index = indexAlong(parts);
  if (number == 1)
    return index;
  Value &known = multiples[{index, number}];
  if (!known) {
    ImplicitLocOpBuilder builder(index.getLoc(), index.getContext());
    builder.setInsertionPointAfterValue(index);
    known = stablehlo::MultiplyOp::create(builder, index, scalar(number));
  }
  return known;
}

Value LocalCode::startOf(int64_t extent, ArrayRef<AxisPart> parts) {
  return multipleOf(parts, shardExtent(extent, countOf(parts)));
}

Value LocalCode::startOf(ImplicitLocOpBuilder &builder,
                         ArrayRef<AxisPart> parts, int64_t step,
                         int64_t first) {
  Value start = multipleOf(parts, step);
  return first == 0 ? start
                    : stablehlo::AddOp::create(builder, start, scalar(first));
}

Value tenon::sharding::repeat(ImplicitLocOpBuilder &builder, Value scalar,
                              ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(scalar.getType());
  return stablehlo::BroadcastInDimOp::create(builder, type.clone(shape), scalar,
                                             ArrayRef<int64_t>());
}

Value LocalCode::maskTail(ImplicitLocOpBuilder &builder, Value local,
                          RankedTensorType whole, const Layout &layout,
                          int64_t dim, Reduction reduction) {
  ArrayRef<AxisPart> parts = layout.dims[dim];
  int64_t extent = whole.getDimSize(dim);
  if (shardExtent(extent, countOf(parts)) * countOf(parts) == extent)
    return local;
  auto type = cast<RankedTensorType>(local.getType());
  auto counts = RankedTensorType::get(type.getShape(), builder.getI32Type());
  Value index = stablehlo::IotaOp::create(builder, counts, dim);
  Value left = stablehlo::SubtractOp::create(builder, scalar(extent),
                                             startOf(extent, parts));
  Value isElement = stablehlo::CompareOp::create(
      builder, index, repeat(builder, left, type.getShape()),
      stablehlo::ComparisonDirection::LT, stablehlo::ComparisonType::SIGNED);
  return stablehlo::SelectOp::create(
      builder, type, isElement, local,
      identityOf(builder, type, combinationOf(reduction)));
}

Value LocalCode::onFirst(ImplicitLocOpBuilder &builder, Value local,
                         ArrayRef<AxisPart> parts, Reduction reduction) {
  auto type = cast<RankedTensorType>(local.getType());
  Value isFirst = stablehlo::CompareOp::create(
      builder, indexAlong(parts), scalar(0), stablehlo::ComparisonDirection::EQ,
      stablehlo::ComparisonType::SIGNED);
  return stablehlo::SelectOp::create(
      builder, type, isFirst, local,
      identityOf(builder, type, combinationOf(reduction)));
}

Value LocalCode::maskOutside(ImplicitLocOpBuilder &builder, Value local,
                             int64_t dim, int64_t extent,
                             ArrayRef<AxisPart> parts, const Halo &halo,
                             Value fill) {
  if (!halo.startsOutside && !halo.endsOutside)
    return local;
  auto type = cast<RankedTensorType>(local.getType());
  Value start = startOf(builder, parts, halo.step, halo.first);
  Value index = stablehlo::IotaOp::create(
      builder, RankedTensorType::get(type.getShape(), builder.getI32Type()),
      dim);
  using stablehlo::ComparisonDirection;
  auto compare = [&](int64_t end, ComparisonDirection direction) -> Value {
    Value left = stablehlo::SubtractOp::create(builder, scalar(end), start);
    return stablehlo::CompareOp::create(
        builder, index, repeat(builder, left, type.getShape()), direction,
        stablehlo::ComparisonType::SIGNED);
  };
  Value isElement;
  if (halo.startsOutside)
    isElement = compare(0, ComparisonDirection::GE);
  if (halo.endsOutside) {
    Value isBefore = compare(extent, ComparisonDirection::LT);
    isElement = isElement
                    ? stablehlo::AndOp::create(builder, isElement, isBefore)
                    : isBefore;
  }
  return stablehlo::SelectOp::create(builder, type, isElement, local,
                                     repeat(builder, fill, type.getShape()));
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {

/// Every device runs one program: groups hold numbers of devices.
stablehlo::ChannelHandleAttr channel(ImplicitLocOpBuilder &builder) {
  return stablehlo::ChannelHandleAttr::get(builder.getContext(), 1, 1);
}

/// Behind the elements of `dim`, zeros up to `extent`.
Value padTo(ImplicitLocOpBuilder &builder, Value local, int64_t dim,
            int64_t extent) {
  auto type = cast<RankedTensorType>(local.getType());
  if (type.getDimSize(dim) == extent)
    return local;
  SmallVector<int64_t> none(type.getRank(), 0), high(none);
  high[dim] = extent - type.getDimSize(dim);
  Value zero = stablehlo::zeros(
      builder, RankedTensorType::get({}, type.getElementType()));
  return stablehlo::PadOp::create(builder, local, zero, none, high, none);
}

/// `extent` elements of `dim` from `start` on.
Value cutOut(ImplicitLocOpBuilder &builder, Value local, int64_t dim,
             int64_t start, int64_t extent) {
  auto type = cast<RankedTensorType>(local.getType());
  if (type.getDimSize(dim) == extent)
    return local;
  SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1);
  SmallVector<int64_t> limits(type.getShape());
  starts[dim] = start;
  limits[dim] = start + extent;
  return stablehlo::SliceOp::create(builder, local, starts, limits, strides);
}

/// The first `extent` elements of `dim`.
Value cutTo(ImplicitLocOpBuilder &builder, Value local, int64_t dim,
            int64_t extent) {
  return cutOut(builder, local, dim, 0, extent);
}

Value reshapeTo(ImplicitLocOpBuilder &builder, Value local,
                ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(local.getType());
  if (type.getShape() == shape)
    return local;
  return stablehlo::ReshapeOp::create(builder, type.clone(shape), local);
}

/// `local`, seen with a dimension for each number of `shape`, with these
/// dimensions in another order, and seen as `result` at the end.
Value reorder(ImplicitLocOpBuilder &builder, Value local,
              ArrayRef<int64_t> shape, ArrayRef<int64_t> order,
              ArrayRef<int64_t> result) {
  // Dimensions of extent 1 may stand anywhere.
  SmallVector<int64_t> moved;
  for (int64_t dim : order)
    if (shape[dim] != 1)
      moved.push_back(dim);
  if (!llvm::is_sorted(moved)) {
    local = reshapeTo(builder, local, shape);
    local = stablehlo::TransposeOp::create(builder, local, order);
  }
  return reshapeTo(builder, local, result);
}

/// What `to` has behind `from`.
AxisParts added(ArrayRef<AxisPart> from, ArrayRef<AxisPart> to) {
  return to.size() > from.size() ? AxisParts(to.drop_front(from.size()))
                                 : AxisParts();
}

/// The region of a collective that reduces.
void addRegion(ImplicitLocOpBuilder &builder, Region &region, Type element,
               Reduction reduction) {
  OpBuilder::InsertionGuard guard(builder);
  auto scalar = RankedTensorType::get({}, element);
  Block *block = builder.createBlock(&region, {}, {scalar, scalar},
                                     {builder.getLoc(), builder.getLoc()});
  Value left = block->getArgument(0), right = block->getArgument(1), both;
  switch (reduction) {
  case Reduction::sum:
    both = stablehlo::AddOp::create(builder, left, right);
    break;
  case Reduction::max:
    both = stablehlo::MaximumOp::create(builder, left, right);
    break;
  case Reduction::min:
    both = stablehlo::MinimumOp::create(builder, left, right);
    break;
  }
  stablehlo::ReturnOp::create(builder, both);
}

} // namespace

DenseIntElementsAttr LocalCode::groupsAlong(ImplicitLocOpBuilder &builder,
                                            ArrayRef<AxisPart> parts) {
  auto groups = mesh.groupsAlong(parts);
  SmallVector<int64_t> ids;
  for (ArrayRef<int64_t> group : groups)
    llvm::append_range(ids, group);
  return DenseIntElementsAttr::get(
      RankedTensorType::get({int64_t(groups.size()), countOf(parts)},
                            builder.getI64Type()),
      ids);
}

Value LocalCode::reshard(ImplicitLocOpBuilder &builder, Value local,
                         RankedTensorType whole, const ReshardPlan &plan) {
  for (const ReshardStep &next : plan.steps)
    local = step(builder, local, whole, next);
  return local;
}

Value LocalCode::step(ImplicitLocOpBuilder &builder, Value local,
                      RankedTensorType whole, const ReshardStep &step) {
  switch (step.kind) {
  case ReshardKind::slice:
    return slice(builder, local, whole, step);
  case ReshardKind::allGather:
    return gather(builder, local, whole, step);
  case ReshardKind::allToAll:
    return exchange(builder, local, whole, step);
  case ReshardKind::permute:
    return permute(builder, local, step);
  case ReshardKind::reduceScatter:
  case ReshardKind::allReduce:
    return reduce(builder, local, whole, step);
  }
  return local;
}

Value LocalCode::slice(ImplicitLocOpBuilder &builder, Value local,
                       RankedTensorType whole, const ReshardStep &step) {
  SmallVector<int64_t> sizes = step.to.localShape(whole.getShape());
  SmallVector<Value> starts;
  for (auto [dim, parts] : llvm::enumerate(step.to.dims)) {
    AxisParts more = added(step.from.dims[dim], parts);
    local = padTo(builder, local, dim,
                  more.empty() ? sizes[dim] : sizes[dim] * countOf(more));
    starts.push_back(multipleOf(more, sizes[dim]));
  }
  return stablehlo::DynamicSliceOp::create(builder, local, starts, sizes);
}

Value LocalCode::gather(ImplicitLocOpBuilder &builder, Value local,
                        RankedTensorType whole, const ReshardStep &step) {
  for (auto [dim, parts] : llvm::enumerate(step.from.dims)) {
    AxisParts gone = added(step.to.dims[dim], parts);
    if (gone.empty())
      continue;
    auto type = cast<RankedTensorType>(local.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] *= countOf(gone);
    local = stablehlo::AllGatherOp::create(
                builder, TypeRange(type.clone(shape)), ValueRange(local),
                uint64_t(dim), groupsAlong(builder, gone), channel(builder),
                /*use_global_device_ids=*/true)
                .getResult(0);
    local =
        cutTo(builder, local, dim, step.to.localShape(whole.getShape())[dim]);
  }
  return local;
}

/// Cuts what is sent to each device of the group into a dimension in front,
/// exchanges along that, and puts what came from each device, by its place
/// along each part, in front of the dimensions that grow.
Value LocalCode::exchange(ImplicitLocOpBuilder &builder, Value local,
                          RankedTensorType whole, const ReshardStep &step) {
  SmallVector<int64_t> target = step.to.localShape(whole.getShape());
  int64_t rank = whole.getRank();
  AxisParts group;             // major first, as targets are numbered
  SmallVector<int64_t> shape;  // with a dimension for the targets of each cut
  SmallVector<int64_t> order;  // those to the front
  SmallVector<int64_t> others; // the rest
  for (int64_t dim = 0; dim < rank; ++dim) {
    AxisParts more = added(step.from.dims[dim], step.to.dims[dim]);
    if (!more.empty()) {
      local = padTo(builder, local, dim, target[dim] * countOf(more));
      llvm::append_range(group, more);
      order.push_back(shape.size());
      shape.push_back(countOf(more));
    }
    others.push_back(shape.size());
    shape.push_back(
        !more.empty()
            ? target[dim]
            : cast<RankedTensorType>(local.getType()).getDimSize(dim));
  }
  SmallVector<int64_t> piece;
  for (int64_t at : others)
    piece.push_back(shape[at]);
  llvm::append_range(order, others);
  SmallVector<int64_t> sent{countOf(group)};
  llvm::append_range(sent, piece);
  local = reorder(builder, local, shape, order, sent);
  local = stablehlo::AllToAllOp::create(
              builder, TypeRange(local.getType()), ValueRange(local),
              uint64_t(0), uint64_t(0), uint64_t(countOf(group)),
              groupsAlong(builder, group), channel(builder))
              .getResult(0);
  // A dimension per part of the group, then those of the piece.
  SmallVector<int64_t> received;
  for (const AxisPart &part : group)
    received.push_back(part.size);
  llvm::append_range(received, piece);
  SmallVector<int64_t> back, result;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t extent = piece[dim];
    for (const AxisPart &part : added(step.to.dims[dim], step.from.dims[dim])) {
      back.push_back(llvm::find(group, part) - group.begin());
      extent *= part.size;
    }
    back.push_back(int64_t(group.size()) + dim);
    result.push_back(extent);
  }
  local = reorder(builder, local, received, back, result);
  for (int64_t dim = 0; dim < rank; ++dim)
    local = cutTo(builder, local, dim, target[dim]);
  return local;
}

Value LocalCode::permute(ImplicitLocOpBuilder &builder, Value local,
                         const ReshardStep &step) {
  // Which shard a device holds, which part of a pending reduction, and where it
  // is along axes that say nothing of that.
  AxisParts others = step.from.pending;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    const AxisPart all{axis, 1, mesh.axes[axis].size};
    if (!step.from.uses(all) && !step.to.uses(all))
      others.push_back(all);
  }
  auto keyOf = [&](const Layout &layout, int64_t device) {
    std::vector<int64_t> key;
    for (const AxisParts &parts : layout.dims)
      key.push_back(mesh.indexAlong(device, parts));
    key.push_back(mesh.indexAlong(device, others));
    return key;
  };
  std::map<std::vector<int64_t>, SmallVector<int64_t>> holders;
  SmallVector<int64_t> targets;
  SmallVector<int64_t> pairs;
  for (int64_t device = 0; device < mesh.devices(); ++device) {
    if (keyOf(step.from, device) == keyOf(step.to, device)) {
      pairs.append({device, device}); // keeps what it has
      continue;
    }
    holders[keyOf(step.from, device)].push_back(device);
    targets.push_back(device);
  }
  for (int64_t device : targets)
    pairs.append({holders[keyOf(step.to, device)].pop_back_val(), device});
  auto table = DenseIntElementsAttr::get(
      RankedTensorType::get({mesh.devices(), 2}, builder.getI64Type()), pairs);
  return stablehlo::CollectivePermuteOp::create(builder, local.getType(), local,
                                                table, channel(builder));
}

Value LocalCode::fromInFront(ImplicitLocOpBuilder &builder, Value local,
                             ArrayRef<AxisPart> parts, int64_t hops) {
  SmallVector<int64_t> pairs;
  for (ArrayRef<int64_t> group : mesh.groupsAlong(parts))
    for (auto [at, device] : llvm::enumerate(group)) {
      const int64_t count = group.size();
      pairs.append({device, group[(int64_t(at) + hops + count) % count]});
    }
  auto table = DenseIntElementsAttr::get(
      RankedTensorType::get({mesh.devices(), 2}, builder.getI64Type()), pairs);
  return stablehlo::CollectivePermuteOp::create(builder, local.getType(), local,
                                                table, channel(builder));
}

Value LocalCode::withNeighbours(ImplicitLocOpBuilder &builder, Value local,
                                int64_t dim, ArrayRef<AxisPart> parts,
                                int64_t left, int64_t right) {
  auto type = cast<RankedTensorType>(local.getType());
  const int64_t block = type.getDimSize(dim);
  SmallVector<Value> pieces;
  SmallVector<int64_t> widths = hopsOf(left, block);
  for (size_t hops = widths.size(); hops > 0; --hops)
    pieces.push_back(fromInFront(
        builder,
        cutOut(builder, local, dim, block - widths[hops - 1], widths[hops - 1]),
        parts, int64_t(hops)));
  pieces.push_back(local);
  for (auto [at, width] : llvm::enumerate(hopsOf(right, block)))
    pieces.push_back(fromInFront(builder, cutTo(builder, local, dim, width),
                                 parts, -int64_t(at) - 1));
  if (pieces.size() == 1)
    return local;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = left + block + right;
  return stablehlo::ConcatenateOp::create(builder, type.clone(shape), pieces,
                                          uint64_t(dim));
}

/// `extent` elements of `dim` from `start`, a scalar, on.
static Value cutOutFrom(ImplicitLocOpBuilder &builder, Value local, int64_t dim,
                        Value start, Value zero, int64_t extent) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(local.getType()).getShape());
  shape[dim] = extent;
  SmallVector<Value> starts(shape.size(), zero);
  starts[dim] = start;
  return stablehlo::DynamicSliceOp::create(builder, local, starts, shape);
}

Value LocalCode::withHalo(ImplicitLocOpBuilder &builder, Value local,
                          int64_t dim, ArrayRef<AxisPart> parts,
                          const Halo &halo) {
  local = withNeighbours(builder, local, dim, parts, halo.left, halo.right);
  // Device i has the elements from i * block - left on.
  if (halo.step == halo.block)
    return cutOut(builder, local, dim, halo.first + halo.left, halo.extent);
  return cutOutFrom(
      builder, local, dim,
      startOf(builder, parts, halo.step - halo.block, halo.first + halo.left),
      scalar(0), halo.extent);
}

Value LocalCode::firstWindow(ImplicitLocOpBuilder &builder,
                             ArrayRef<AxisPart> parts, const ScatterHalo &halo,
                             int64_t each) {
  // All numbers on the way are those of elements or windows, none is negative.
  Value number = multipleOf(parts, halo.operand.block);
  if (halo.lead > 0) {
    number = stablehlo::MaximumOp::create(builder, number, scalar(halo.lead));
    number = stablehlo::SubtractOp::create(builder, number, scalar(halo.lead));
  }
  if (halo.stride > 1)
    number = stablehlo::DivideOp::create(builder, number, scalar(halo.stride));
  number =
      stablehlo::MinimumOp::create(builder, number, scalar(halo.mostWindows));
  return each == 1
             ? number
             : stablehlo::MultiplyOp::create(builder, number, scalar(each));
}

Value LocalCode::withHalo(ImplicitLocOpBuilder &builder, Value local,
                          int64_t dim, ArrayRef<AxisPart> parts,
                          const ScatterHalo &halo,
                          const ScatterHalo::Tensor &tensor) {
  local = withNeighbours(builder, local, dim, parts, tensor.left, tensor.right);
  const bool isOperand = &tensor == &halo.operand;
  Value start = firstWindow(builder, parts, halo, isOperand ? halo.stride : 1);
  if (tensor.left > 0)
    start = stablehlo::AddOp::create(builder, start, scalar(tensor.left));
  start = stablehlo::SubtractOp::create(builder, start,
                                        multipleOf(parts, tensor.block));
  return cutOutFrom(builder, local, dim, start, scalar(0), tensor.extent);
}

Value LocalCode::withoutHalo(ImplicitLocOpBuilder &builder, Value local,
                             int64_t dim, ArrayRef<AxisPart> parts,
                             const ScatterHalo &halo) {
  local = padTo(builder, local, dim, halo.operand.extent + halo.tail);
  Value start = stablehlo::SubtractOp::create(
      builder, multipleOf(parts, halo.operand.block),
      firstWindow(builder, parts, halo, halo.stride));
  return cutOutFrom(builder, local, dim, start, scalar(0), halo.operand.block);
}

Value LocalCode::reduce(ImplicitLocOpBuilder &builder, Value local,
                        RankedTensorType whole, const ReshardStep &step) {
  AxisParts finished;
  Reduction reduction = step.from.reduction;
  Type element = whole.getElementType();
  if (step.kind == ReshardKind::allReduce) {
    for (const AxisPart &part : step.from.pending)
      if (!llvm::is_contained(step.to.pending, part))
        finished.push_back(part);
    auto op = stablehlo::AllReduceOp::create(
        builder, TypeRange(local.getType()), ValueRange(local),
        groupsAlong(builder, finished), channel(builder),
        /*use_global_device_ids=*/true);
    addRegion(builder, op.getComputation(), element, reduction);
    return op.getResult(0);
  }
  for (auto [dim, parts] : llvm::enumerate(step.to.dims)) {
    AxisParts more = added(step.from.dims[dim], parts);
    if (more.empty())
      continue;
    SmallVector<int64_t> shape = step.to.localShape(whole.getShape());
    local = padTo(builder, local, dim, shape[dim] * countOf(more));
    auto op = stablehlo::ReduceScatterOp::create(
        builder, whole.clone(shape), local, uint64_t(dim),
        groupsAlong(builder, more), channel(builder),
        /*use_global_device_ids=*/true);
    addRegion(builder, op.getComputation(), element, reduction);
    return op.getResult();
  }
  return local;
}
