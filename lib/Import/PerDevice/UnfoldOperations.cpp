//===- UnfoldOperations.cpp - Operations with dimensions in front ---------===//
//
// What becomes of the attributes of an operation that counts dimensions when
// all its tensors get leading ones (Unfolder.h).
//
//===----------------------------------------------------------------------===//

#include "Unfolder.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::importer;

namespace {

/// Dimensions behind `leading` new ones.
SmallVector<int64_t> shifted(ArrayRef<int64_t> dims, int64_t leading) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return dim + leading; });
}

/// The new dimensions and those behind them.
SmallVector<int64_t> raised(ArrayRef<int64_t> dims, int64_t leading) {
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, leading));
  llvm::append_range(all, shifted(dims, leading));
  return all;
}

/// Attributes of an operation with `leading` dimensions more.
class Changes {
public:
  Changes(Operation *op, int64_t leading) : op(op), leading(leading) {}

  void set(StringRef name, Attribute value) {
    changed.push_back({StringAttr::get(op->getContext(), name), value});
  }
  void set(StringRef name, ArrayRef<int64_t> values) {
    set(name, DenseI64ArrayAttr::get(op->getContext(), values));
  }
  /// A list with an entry per dimension, one of `value` for each new one; a
  /// list that is not there stays away.
  void prefix(StringRef name, int64_t value) {
    prefix(name, SmallVector<int64_t>(leading, value));
  }
  void prefix(StringRef name, ArrayRef<int64_t> values) {
    if (auto list = op->getAttrOfType<DenseI64ArrayAttr>(name)) {
      SmallVector<int64_t> all(values);
      llvm::append_range(all, list.asArrayRef());
      set(name, all);
    }
  }
  /// Padding of windows, a pair per dimension.
  void padding(StringRef name) {
    auto list = op->getAttrOfType<DenseIntElementsAttr>(name);
    if (!list)
      return;
    SmallVector<int64_t> all(2 * leading, 0);
    llvm::append_range(all, list.getValues<int64_t>());
    set(name, DenseIntElementsAttr::get(
                  RankedTensorType::get({int64_t(all.size()) / 2, 2},
                                        list.getElementType()),
                  ArrayRef(all)));
  }
  void shift(StringRef name) {
    set(name, shifted(op->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef(),
                      leading));
  }
  void raise(StringRef name) {
    set(name, raised(op->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef(),
                     leading));
  }
  void shiftNumber(StringRef name, int64_t value) {
    set(name, IntegerAttr::get(IntegerType::get(op->getContext(), 64),
                               value + leading));
  }

  operator ArrayRef<NamedAttribute>() const { return changed; }

private:
  Operation *op;
  int64_t leading;
  SmallVector<NamedAttribute> changed;
};

} // namespace

LogicalResult Unfolder::shape(Operation *op) {
  Results operands;
  AxisSet axes = 0;
  auto pad = dyn_cast<stablehlo::PadOp>(op);
  if (auto barrier = dyn_cast<stablehlo::OptimizationBarrierOp>(op)) {
    // Each of its values has axes of its own.
    if (failed(getAll(op->getOperands(), operands)))
      return failure();
    SmallVector<Value> wholes;
    for (const Unfolded &operand : operands)
      wholes.push_back(operand.whole);
    auto made = stablehlo::OptimizationBarrierOp::create(
        builder, TypeRange(ValueRange(wholes)), wholes);
    for (auto [result, whole, operand] :
         llvm::zip_equal(op->getResults(), made->getResults(), operands))
      known[result] = {whole, operand.axes};
    return success();
  }
  if (failed(pad ? getAll(op->getOperands(), operands)
                 : together(op, operands, axes)))
    return failure();
  if (pad) {
    if (operands[1].axes)
      return refuse(op, "devices pad with different values");
    axes = operands[0].axes;
  }
  Changes changes(op, llvm::popcount(axes));
  if (isa<stablehlo::BroadcastInDimOp>(op)) {
    changes.raise("broadcast_dimensions");
  } else if (isa<stablehlo::TransposeOp>(op)) {
    changes.raise("permutation");
  } else if (isa<stablehlo::ReverseOp>(op)) {
    changes.shift("dimensions");
  } else if (isa<stablehlo::SliceOp>(op)) {
    changes.prefix("start_indices", 0);
    changes.prefix(
        "limit_indices",
        shapeOf(operands[0].whole).take_front(operands[0].leading()));
    changes.prefix("strides", 1);
  } else if (pad) {
    changes.prefix("edge_padding_low", 0);
    changes.prefix("edge_padding_high", 0);
    changes.prefix("interior_padding", 0);
  } else if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op)) {
    changes.shiftNumber("dimension", concatenate.getDimension());
  } else if (auto sort = dyn_cast<stablehlo::SortOp>(op)) {
    const int64_t dim = sort.getDimension(),
                  rank = shapeOf(op->getOperand(0)).size();
    changes.shiftNumber("dimension", dim < 0 ? dim + rank : dim);
  }
  return rebuild(op, operands, axes, changes);
}

LogicalResult Unfolder::reduction(Operation *op) {
  const bool selects = isa<stablehlo::SelectAndScatterOp>(op);
  const size_t inputs = selects ? 2 : op->getNumOperands() / 2;
  Results operands;
  if (failed(getAll(op->getOperands(), operands)))
    return failure();
  const AxisSet axes = unionOf(ArrayRef(operands).take_front(inputs));
  for (auto [at, operand] : llvm::enumerate(operands))
    if (at < inputs)
      operand = spread(operand, axes);
    else if (operand.axes)
      return refuse(op, "devices start from different values");
  Changes changes(op, llvm::popcount(axes));
  if (isa<stablehlo::ReduceOp>(op)) {
    changes.shift("dimensions");
  } else {
    for (StringRef name : {"window_dimensions", "window_strides",
                           "base_dilations", "window_dilations"})
      changes.prefix(name, 1);
    changes.padding("padding");
  }
  return rebuild(op, operands, axes, changes);
}

/// Axes that both factors have are batches, those of one factor are free
/// dimensions of it.
LogicalResult Unfolder::contraction(Operation *op) {
  auto dot = cast<stablehlo::DotGeneralOp>(op);
  Results operands;
  if (failed(getAll(op->getOperands(), operands)))
    return failure();
  const auto &[left, right] = std::pair(operands[0], operands[1]);
  const AxisSet both = left.axes & right.axes, all = left.axes | right.axes;
  auto dims = dot.getDotDimensionNumbers();
  auto placesOf = [&](const Unfolded &value) {
    SmallVector<int64_t> places;
    for (auto [place, axis] : llvm::enumerate(axesOf(value.axes)))
      if (isAxisOf(both, axis))
        places.push_back(place);
    return places;
  };
  SmallVector<int64_t> leftBatch = placesOf(left), rightBatch = placesOf(right);
  llvm::append_range(leftBatch,
                     shifted(dims.getLhsBatchingDimensions(), left.leading()));
  llvm::append_range(rightBatch,
                     shifted(dims.getRhsBatchingDimensions(), right.leading()));
  auto numbers = stablehlo::DotDimensionNumbersAttr::get(
      op->getContext(), leftBatch, rightBatch,
      shifted(dims.getLhsContractingDimensions(), left.leading()),
      shifted(dims.getRhsContractingDimensions(), right.leading()));
  // The result has the batches, then what is free of the left factor, then of
  // the right one.
  AxisList order = axesOf(both);
  SmallVector<int64_t> shape;
  auto take = [&](AxisSet axes) {
    SmallVector<int64_t> places;
    for (unsigned axis : axesOf(axes)) {
      places.push_back(shape.size());
      shape.push_back(devices->size(axis));
    }
    return places;
  };
  ArrayRef<int64_t> local = shapeOf(op->getResult(0));
  const size_t batches = dims.getLhsBatchingDimensions().size();
  const size_t leftFree = shapeOf(dot.getLhs()).size() - batches -
                          dims.getLhsContractingDimensions().size();
  SmallVector<int64_t> inner;
  auto takeLocal = [&](ArrayRef<int64_t> sizes) {
    for (int64_t size : sizes) {
      inner.push_back(shape.size());
      shape.push_back(size);
    }
  };
  SmallVector<int64_t> places = take(both);
  takeLocal(local.take_front(batches));
  llvm::append_range(places, take(left.axes & ~both));
  takeLocal(local.slice(batches, leftFree));
  llvm::append_range(places, take(right.axes & ~both));
  takeLocal(local.drop_front(batches + leftFree));
  llvm::append_range(order, axesOf(left.axes & ~both));
  llvm::append_range(order, axesOf(right.axes & ~both));

  auto type = cast<RankedTensorType>(op->getResult(0).getType()).clone(shape);
  Value product = stablehlo::DotGeneralOp::create(
      builder, type, left.whole, right.whole, numbers,
      dot.getPrecisionConfigAttr(), dot.getAlgorithmAttr());
  SmallVector<int64_t> permutation;
  for (unsigned axis : axesOf(all))
    permutation.push_back(places[llvm::find(order, axis) - order.begin()]);
  llvm::append_range(permutation, inner);
  known[op->getResult(0)] = {transpose(product, permutation), all};
  return success();
}

/// Devices that differ in their data alone are more examples, those that differ
/// in their kernels alone are more features of the result, and where they
/// differ in both each of them is a group.
LogicalResult Unfolder::convolution(Operation *op) {
  auto conv = cast<stablehlo::ConvolutionOp>(op);
  Results operands;
  if (failed(getAll(op->getOperands(), operands)))
    return failure();
  Unfolded data = operands[0], kernel = operands[1];
  auto dims = conv.getDimensionNumbers();
  int64_t groups = conv.getFeatureGroupCount(),
          batchGroups = conv.getBatchGroupCount();
  const bool isData = !kernel.axes && batchGroups == 1;
  const bool isKernel = !data.axes && groups == 1 && batchGroups == 1;
  const AxisSet axes = data.axes | kernel.axes;
  if (!isData && !isKernel) {
    data = spread(data, axes);
    kernel = spread(kernel, axes);
  }
  const AxisList list = axesOf(axes);
  const int64_t count = devices->product(list);
  Value lhs = data.whole, rhs = kernel.whole;
  int64_t place = dims.getOutputFeatureDimension();
  if (isData) {
    lhs = join(data, dims.getInputBatchDimension(), list).whole;
    place = dims.getOutputBatchDimension();
  } else if (isKernel) {
    rhs = join(kernel, dims.getKernelOutputFeatureDimension(), list).whole;
  } else {
    lhs = join(data,
               batchGroups == 1 ? dims.getInputFeatureDimension()
                                : dims.getInputBatchDimension(),
               list)
              .whole;
    rhs = join(kernel, dims.getKernelOutputFeatureDimension(), list).whole;
    (batchGroups == 1 ? groups : batchGroups) *= count;
  }
  SmallVector<int64_t> shape(shapeOf(op->getResult(0)));
  shape[place] *= count;
  auto type = cast<RankedTensorType>(op->getResult(0).getType()).clone(shape);
  Operation *made = builder.clone(*op);
  made->setOperands({lhs, rhs});
  made->getResult(0).setType(type);
  cast<stablehlo::ConvolutionOp>(made).setFeatureGroupCount(groups);
  cast<stablehlo::ConvolutionOp>(made).setBatchGroupCount(batchGroups);
  known[op->getResult(0)] = cut({made->getResult(0), 0}, place, list);
  return success();
}

LogicalResult Unfolder::gather(Operation *op) {
  auto gather = cast<stablehlo::GatherOp>(op);
  Results operands;
  if (failed(getAll(op->getOperands(), operands)))
    return failure();
  const AxisSet axes = unionOf(operands);
  const int64_t leading = llvm::popcount(axes);
  auto dims = gather.getDimensionNumbers();
  // A table that all devices share is read by all their indices.
  const int64_t batches = operands[0].axes ? leading : 0;
  for (auto [at, operand] : llvm::enumerate(operands))
    if (at > 0 || batches > 0)
      operand = spread(operand, axes);
  auto batching = [&](ArrayRef<int64_t> own, int64_t shift) {
    auto all = llvm::to_vector(llvm::seq<int64_t>(0, batches));
    llvm::append_range(all, shifted(own, shift));
    return all;
  };
  Changes changes(op, batches);
  changes.set("dimension_numbers",
              stablehlo::GatherDimensionNumbersAttr::get(
                  op->getContext(), shifted(dims.getOffsetDims(), leading),
                  shifted(dims.getCollapsedSliceDims(), batches),
                  batching(dims.getOperandBatchingDims(), batches),
                  batching(dims.getStartIndicesBatchingDims(), leading),
                  shifted(dims.getStartIndexMap(), batches),
                  dims.getIndexVectorDim() + leading));
  changes.prefix("slice_sizes", 1);
  // What is sorted on each device is not along all of them.
  changes.set("indices_are_sorted", BoolAttr::get(op->getContext(), false));
  return rebuild(op, operands, axes, changes);
}

LogicalResult Unfolder::scatter(Operation *op) {
  auto scatter = cast<stablehlo::ScatterOp>(op);
  Results operands;
  AxisSet axes = 0;
  if (failed(together(op, operands, axes)))
    return failure();
  const int64_t leading = llvm::popcount(axes);
  auto dims = scatter.getScatterDimensionNumbers();
  Changes changes(op, leading);
  changes.set("scatter_dimension_numbers",
              stablehlo::ScatterDimensionNumbersAttr::get(
                  op->getContext(),
                  shifted(dims.getUpdateWindowDims(), leading),
                  shifted(dims.getInsertedWindowDims(), leading),
                  raised(dims.getInputBatchingDims(), leading),
                  raised(dims.getScatterIndicesBatchingDims(), leading),
                  shifted(dims.getScatterDimsToOperandDims(), leading),
                  dims.getIndexVectorDim() + leading));
  changes.set("indices_are_sorted", BoolAttr::get(op->getContext(), false));
  return rebuild(op, operands, axes, changes);
}

/// With the same places on all devices it stays what it is. Places that differ
/// become rows of indices, clamped as the operation says.
LogicalResult Unfolder::dynamicSlice(Operation *op) {
  auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op);
  const size_t tensors = slice ? 1 : 2;
  Results operands;
  if (failed(getAll(op->getOperands(), operands)))
    return failure();
  MutableArrayRef<Unfolded> indices =
      MutableArrayRef(operands).drop_front(tensors);
  const AxisSet axes = unionOf(operands);
  const int64_t leading = llvm::popcount(axes);
  ArrayRef<int64_t> local = shapeOf(op->getOperand(0));
  ArrayRef<int64_t> sizes =
      slice ? slice.getSliceSizes() : shapeOf(op->getOperand(1));
  if (!unionOf(indices)) {
    for (Unfolded &tensor : MutableArrayRef(operands).take_front(tensors))
      tensor = spread(tensor, axes);
    auto type = cast<RankedTensorType>(indices.front().whole.getType());
    Value zero = stablehlo::ConstantOp::create(
        builder, DenseElementsAttr::get(
                     type, builder.getZeroAttr(type.getElementType())));
    operands.insert(operands.begin() + tensors, leading, {zero, 0});
    Changes changes(op, leading);
    if (slice)
      changes.prefix("slice_sizes",
                     shapeOf(operands[0].whole).take_front(leading));
    return rebuild(op, operands, axes, changes);
  }

  auto indexType = cast<RankedTensorType>(op->getOperands().back().getType());
  SmallVector<Value> columns;
  for (auto [index, extent, size] : llvm::zip_equal(indices, local, sizes)) {
    Value whole = spread(index, axes).whole;
    auto type = cast<RankedTensorType>(whole.getType());
    auto constant = [&](int64_t value) -> Value {
      return stablehlo::ConstantOp::create(
          builder,
          DenseElementsAttr::get(
              RankedTensorType::get({}, type.getElementType()),
              builder.getIntegerAttr(type.getElementType(), value).getValue()));
    };
    whole = stablehlo::ClampOp::create(builder, type, constant(0), whole,
                                       constant(extent - size));
    SmallVector<int64_t> column(type.getShape());
    column.push_back(1);
    columns.push_back(reshape(whole, column));
  }
  SmallVector<int64_t> rows(
      cast<RankedTensorType>(columns.front().getType()).getShape());
  rows.back() = columns.size();
  Value places = stablehlo::ConcatenateOp::create(
      builder, RankedTensorType::get(rows, indexType.getElementType()), columns,
      leading);

  const int64_t rank = local.size();
  auto inner = llvm::to_vector(llvm::seq<int64_t>(leading, leading + rank));
  auto front = llvm::to_vector(llvm::seq<int64_t>(0, leading));
  auto type = typeFor(op->getResult(0).getType(), axes);
  if (slice) {
    const int64_t batches = operands[0].axes ? leading : 0;
    Value table = batches ? spread(operands[0], axes).whole : operands[0].whole;
    SmallVector<int64_t> all(batches, 1);
    llvm::append_range(all, sizes);
    known[op->getResult(0)] = {
        stablehlo::GatherOp::create(
            builder, type, table, places,
            stablehlo::GatherDimensionNumbersAttr::get(
                op->getContext(), inner, {},
                ArrayRef(front).take_front(batches),
                ArrayRef(front).take_front(batches),
                llvm::to_vector(llvm::seq<int64_t>(batches, batches + rank)),
                leading),
            all),
        axes};
    return success();
  }
  auto made = stablehlo::ScatterOp::create(
      builder, TypeRange(type), ValueRange(spread(operands[0], axes).whole),
      places, ValueRange(spread(operands[1], axes).whole),
      stablehlo::ScatterDimensionNumbersAttr::get(op->getContext(), inner, {},
                                                  front, front, inner, leading),
      /*indices_are_sorted=*/false, /*unique_indices=*/true);
  OpBuilder::InsertionGuard guard(builder);
  auto element = RankedTensorType::get({}, type.getElementType());
  Block *block =
      builder.createBlock(&made.getUpdateComputation(), {}, {element, element},
                          {op->getLoc(), op->getLoc()});
  stablehlo::ReturnOp::create(builder, ValueRange(block->getArgument(1)));
  known[op->getResult(0)] = {made.getResult(0), axes};
  return success();
}
