//===- Unfolder.cpp - A body that runs per device, for all of them at once ===//
//
// See Unfolder.h. This file has the leading dimensions, which operation is
// unfolded in which way, and computations, calls, loops and branches.
//
//===----------------------------------------------------------------------===//

#include "Unfolder.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::importer;

//===----------------------------------------------------------------------===//
// Leading dimensions
//===----------------------------------------------------------------------===//

SmallVector<int64_t> Unfolder::shapeFor(ArrayRef<int64_t> local,
                                        AxisSet axes) const {
  SmallVector<int64_t> shape;
  for (unsigned axis : axesOf(axes))
    shape.push_back(devices->size(axis));
  llvm::append_range(shape, local);
  return shape;
}

RankedTensorType Unfolder::typeFor(Type local, AxisSet axes) const {
  auto type = cast<RankedTensorType>(local);
  return type.clone(shapeFor(type.getShape(), axes));
}

Value Unfolder::reshape(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  return stablehlo::ReshapeOp::create(builder, type, value);
}

Value Unfolder::transpose(Value value, ArrayRef<int64_t> order) {
  if (llvm::equal(order, llvm::seq<int64_t>(0, order.size())))
    return value;
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(shapeOf(value)[dim]);
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  return stablehlo::TransposeOp::create(builder, type, value, order);
}

AxisSet Unfolder::unionOf(ArrayRef<Unfolded> values) const {
  AxisSet axes = 0;
  for (const Unfolded &value : values)
    axes |= value.axes;
  return axes;
}

Unfolded Unfolder::spread(Unfolded value, AxisSet axes) {
  axes |= value.axes;
  if (axes == value.axes)
    return value;
  SmallVector<int64_t> shape = shapeFor(value.local(), axes), places;
  for (unsigned axis : axesOf(value.axes))
    places.push_back(placeOf(axis, axes));
  llvm::append_range(places,
                     llvm::seq<int64_t>(llvm::popcount(axes), shape.size()));
  auto type = cast<RankedTensorType>(value.whole.getType()).clone(shape);
  return {
      stablehlo::BroadcastInDimOp::create(builder, type, value.whole, places),
      axes};
}

Unfolded Unfolder::first(Unfolded value, AxisSet axes) {
  axes &= value.axes;
  if (!axes)
    return value;
  SmallVector<int64_t> limits(shapeOf(value.whole));
  for (unsigned axis : axesOf(axes))
    limits[placeOf(axis, value.axes)] = 1;
  const AxisSet kept = value.axes & ~axes;
  const size_t rank = limits.size();
  auto type = cast<RankedTensorType>(value.whole.getType()).clone(limits);
  Value part = stablehlo::SliceOp::create(builder, type, value.whole,
                                          SmallVector<int64_t>(rank, 0), limits,
                                          SmallVector<int64_t>(rank, 1));
  return {reshape(part, shapeFor(value.local(), kept)), kept};
}

Value Unfolder::splitDim(Value value, int64_t at, ArrayRef<unsigned> axes) {
  SmallVector<int64_t> shape(shapeOf(value));
  shape[at] /= devices->product(axes);
  for (unsigned axis : llvm::reverse(axes))
    shape.insert(shape.begin() + at, devices->size(axis));
  return reshape(value, shape);
}

Unfolded Unfolder::cut(Unfolded value, int64_t dim, ArrayRef<unsigned> axes) {
  if (axes.empty())
    return value;
  const int64_t leading = value.leading(), at = leading + dim;
  Value parts = splitDim(value.whole, at, axes);
  const AxisSet all = value.axes | setOf(axes);
  SmallVector<int64_t> order;
  for (unsigned axis : axesOf(all)) {
    const auto *own = llvm::find(axes, axis);
    order.push_back(own != axes.end() ? at + (own - axes.begin())
                                      : placeOf(axis, value.axes));
  }
  for (int64_t place = leading; place < int64_t(shapeOf(parts).size()); ++place)
    if (place < at || place >= at + int64_t(axes.size()))
      order.push_back(place);
  return {transpose(parts, order), all};
}

Unfolded Unfolder::join(Unfolded value, int64_t dim, ArrayRef<unsigned> axes) {
  if (axes.empty())
    return value;
  const AxisSet left = value.axes & ~setOf(axes);
  const int64_t leading = value.leading(), rank = shapeOf(value.whole).size();
  SmallVector<int64_t> order, shape;
  auto take = [&](int64_t place) {
    order.push_back(place);
    shape.push_back(shapeOf(value.whole)[place]);
  };
  for (unsigned axis : axesOf(left))
    take(placeOf(axis, value.axes));
  for (int64_t place = leading; place < rank; ++place) {
    if (place == leading + dim)
      for (unsigned axis : axes)
        order.push_back(placeOf(axis, value.axes));
    take(place);
    if (place == leading + dim)
      shape.back() *= devices->product(axes);
  }
  return {reshape(transpose(value.whole, order), shape), left};
}

SmallVector<sdy::DimensionShardingAttr>
Unfolder::lyingAlong(AxisSet axes) const {
  MLIRContext *context = builder.getContext();
  return llvm::map_to_vector(axesOf(axes), [&](unsigned axis) {
    return sdy::DimensionShardingAttr::get(
        context, sdy::AxisRefAttr::get(context, devices->name(axis), {}),
        /*is_closed=*/true, std::nullopt);
  });
}

Unfolded Unfolder::constrained(Unfolded value) {
  if (!constrains)
    return value;
  MLIRContext *context = builder.getContext();
  SmallVector<sdy::DimensionShardingAttr> dims = lyingAlong(value.axes);
  SmallVector<sdy::AxisRefAttr> alike;
  // What is not written per device may cut what one device sees.
  const bool isOpen = manual != devices->all();
  dims.resize(
      shapeOf(value.whole).size(),
      sdy::DimensionShardingAttr::get(context, {}, !isOpen, std::nullopt));
  for (unsigned axis : axesOf(manual & ~value.axes))
    alike.push_back(sdy::AxisRefAttr::get(context, devices->name(axis), {}));
  auto sharding = sdy::TensorShardingAttr::get(context, meshName, dims, alike,
                                               {}, sdy::ReductionOp::SUM);
  return {step::ShardingConstraintOp::create(
              builder, value.whole.getType(), value.whole, sharding,
              DenseI64ArrayAttr(), IntegerAttr(), StringAttr()),
          value.axes};
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

FailureOr<Unfolded> Unfolder::get(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  auto table = numbers.find(value);
  assert(table != numbers.end() && "operands come before those who read them");
  const AxisSet axes = devices->ofTable(table->second);
  if (axes & ~manual)
    return refuse(value.getDefiningOp(),
                  "the device's number is asked along axes that the compiler "
                  "decides about");
  auto type = typeFor(value.getType(), axes);
  SmallVector<APInt> elements;
  for (auto [device, number] : llvm::enumerate(table->second))
    if (llvm::all_of(axesOf(devices->all() & ~axes),
                     [&, device = device](unsigned axis) {
                       return devices->coordinate(device, axis) == 0;
                     }))
      elements.emplace_back(type.getElementTypeBitWidth(), number,
                            /*isSigned=*/true, /*implicitTrunc=*/true);
  // Written where it is read: it may be read in a region that is taken out.
  return Unfolded{stablehlo::ConstantOp::create(
                      builder, DenseElementsAttr::get(type, elements)),
                  axes};
}

LogicalResult Unfolder::getAll(ValueRange values, Results &found) {
  for (Value value : values) {
    FailureOr<Unfolded> one = get(value);
    if (failed(one))
      return failure();
    found.push_back(*one);
  }
  return success();
}

bool Unfolder::number(Operation *op) {
  const int64_t count = devices->devices();
  if (isa<stablehlo::PartitionIdOp>(op)) {
    numbers[op->getResult(0)] = llvm::to_vector(llvm::seq<int64_t>(0, count));
    return true;
  }
  if (isa<stablehlo::ReplicaIdOp>(op)) {
    numbers[op->getResult(0)].assign(count, 0);
    return true;
  }
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      op->getNumOperands() == 0)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.getRank() != 0 || !type.getElementType().isInteger())
    return false;
  bool isKnown = false;
  SmallVector<SmallVector<int64_t>> operands;
  for (Value operand : op->getOperands()) {
    if (auto table = numbers.find(operand); table != numbers.end()) {
      operands.push_back(table->second);
      isKnown = true;
      continue;
    }
    auto constant = operand.getDefiningOp<stablehlo::ConstantOp>();
    auto value = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                          : DenseIntElementsAttr();
    if (!value || !value.isSplat() || value.getType().getRank() != 0)
      return false;
    operands.emplace_back(count, value.getSplatValue<APInt>().getSExtValue());
  }
  if (!isKnown)
    return false;
  SmallVector<int64_t> table;
  for (int64_t device = 0; device < count; ++device) {
    const int64_t a = operands[0][device];
    const int64_t b = operands.size() > 1 ? operands[1][device] : 0;
    const bool isPlain = a >= 0 && b >= 0;
    if (isa<stablehlo::ConvertOp>(op) && a >= 0)
      table.push_back(a);
    else if (isa<stablehlo::AddOp>(op) && isPlain)
      table.push_back(a + b);
    else if (isa<stablehlo::MultiplyOp>(op) && isPlain)
      table.push_back(a * b);
    else if (isa<stablehlo::SubtractOp>(op) && isPlain && a >= b)
      table.push_back(a - b);
    else if (isa<stablehlo::DivideOp>(op) && isPlain && b > 0)
      table.push_back(a / b);
    else if (isa<stablehlo::RemainderOp>(op) && isPlain && b > 0)
      table.push_back(a % b);
    else
      return false;
    // Numbers that fit into the least of types have no other meaning there.
    if (table.back() > 127 && type.getElementTypeBitWidth() < 32)
      return false;
    if (table.back() > std::numeric_limits<int32_t>::max())
      return false;
  }
  numbers[op->getResult(0)] = std::move(table);
  return true;
}

LogicalResult Unfolder::refuse(Operation *op, const Twine &why) {
  return op->emitError() << "'" << op->getName()
                         << "' computes per device, and has no form for all "
                            "devices at once: "
                         << why << "; export the step without shard_map";
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult Unfolder::unfold(sdy::ManualComputationOp op) {
  known.clear();
  numbers.clear();
  manual = 0;
  devices.reset();
  builder.setInsertionPoint(op);
  // Exporters say of elements, too, where they lie.
  op.walk([](Operation *inner) {
    if (isa<sdy::ShardingConstraintOp, step::ShardingConstraintOp>(inner) &&
        stablehlo::hasElementRegions(inner->getParentOp())) {
      inner->getResult(0).replaceAllUsesWith(inner->getOperand(0));
      inner->erase();
    }
  });
  for (Value operand : op.getTensors())
    known[operand] = {operand, 0};
  if (failed(computation(op)))
    return failure();
  for (Value result : op.getResults())
    result.replaceAllUsesWith(known[result].whole);
  op.erase();
  return success();
}

void Unfolder::dropCalled() {
  for (Operation *function : called)
    if (SymbolTable::getSymbolVisibility(function) !=
            SymbolTable::Visibility::Public &&
        SymbolTable::symbolKnownUseEmpty(function, function->getParentOp()))
      function->erase();
  called.clear();
}

/// The axes of a dimension along which the computation is per device.
static FailureOr<AxisList> manualAxesOf(sdy::DimensionShardingAttr dim,
                                        const DeviceAxes &devices,
                                        AxisSet own) {
  AxisList axes;
  for (sdy::AxisRefAttr axis : dim.getAxes()) {
    std::optional<unsigned> number = devices.find(axis.getName());
    if (!number || !isAxisOf(own, *number))
      continue;
    if (axis.getSubAxisInfo())
      return failure();
    axes.push_back(*number);
  }
  return axes;
}

LogicalResult Unfolder::computation(sdy::ManualComputationOp op) {
  auto inputs = op.getInShardings().getShardings();
  auto outputs = op.getOutShardings().getShardings();
  sdy::TensorShardingAttr any = !inputs.empty()    ? inputs.front()
                                : !outputs.empty() ? outputs.front()
                                                   : sdy::TensorShardingAttr();
  std::optional<DeviceAxes> own =
      any ? DeviceAxes::of(any.getMesh(op)) : std::nullopt;
  if (!own)
    return refuse(op, "it has no mesh with axes and devices in their order");
  if (devices && devices->mesh() != own->mesh())
    return refuse(op, "the body around it is on another mesh");
  devices = own;
  meshName = any.getMeshOrRef();
  AxisSet axes = 0;
  for (StringAttr name : op.getManualAxes().getValue())
    if (std::optional<unsigned> axis = devices->find(name))
      axes |= AxisSet(1) << *axis;
  const AxisSet outer = manual;

  auto eachDimension = [&](sdy::TensorShardingAttr sharding, Type whole,
                           Type local,
                           SmallVectorImpl<AxisList> &dims) -> LogicalResult {
    if (!sharding.getUnreducedAxes().empty())
      return refuse(op, "a sum is pending in one of its tensors");
    auto wholeType = dyn_cast<RankedTensorType>(whole);
    auto localType = dyn_cast<RankedTensorType>(local);
    if (!wholeType || !localType || !wholeType.hasStaticShape() ||
        !localType.hasStaticShape())
      return refuse(op, "it has what is no tensor of static shape");
    for (auto [at, dim] : llvm::enumerate(sharding.getDimShardings())) {
      auto found = manualAxesOf(dim, *devices, axes);
      if (failed(found))
        return refuse(op, "it cuts along a part of an axis");
      if (localType.getRank() != wholeType.getRank() ||
          localType.getDimSize(at) * devices->product(*found) !=
              wholeType.getDimSize(at))
        return refuse(op, "its parts do not make up the whole tensors");
      dims.push_back(std::move(*found));
    }
    return success();
  };

  Block &body = op.getBody().front();
  Results arguments, returned;
  manual = outer | axes;
  for (auto [operand, sharding, argument] :
       llvm::zip_equal(op.getTensors(), inputs, body.getArguments())) {
    SmallVector<AxisList> dims;
    FailureOr<Unfolded> value = get(operand);
    if (failed(value) || failed(eachDimension(sharding, operand.getType(),
                                              argument.getType(), dims)))
      return failure();
    for (auto [dim, cutBy] : llvm::enumerate(dims))
      *value = cut(*value, dim, cutBy);
    arguments.push_back(constrained(*value));
  }
  if (failed(visitBlock(body, arguments, returned)))
    return failure();
  for (auto [value, sharding, local, result] :
       llvm::zip_equal(returned, outputs, body.getTerminator()->getOperands(),
                       op.getResults())) {
    SmallVector<AxisList> dims;
    if (failed(
            eachDimension(sharding, result.getType(), local.getType(), dims)))
      return failure();
    AxisSet cutBy = 0;
    for (const AxisList &some : dims)
      cutBy |= setOf(some);
    // Devices that hold the same part have to agree on it.
    value = spread(first(value, axes & ~cutBy), cutBy);
    for (auto [dim, some] : llvm::enumerate(dims))
      value = join(value, dim, some);
    known[result] = value;
  }
  manual = outer;
  return success();
}

LogicalResult Unfolder::visitBlock(Block &block, ArrayRef<Unfolded> arguments,
                                   Results &results) {
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    known[argument] = value;
  for (Operation &op : block.without_terminator()) {
    builder.setLoc(op.getLoc());
    if (failed(visit(&op)))
      return failure();
  }
  return getAll(block.getTerminator()->getOperands(), results);
}

LogicalResult Unfolder::visit(Operation *op) {
  if (number(op))
    return success();
  if (auto inner = dyn_cast<sdy::ManualComputationOp>(op))
    return computation(inner);
  if (auto callOp = dyn_cast<func::CallOp>(op))
    return call(op, callOp.getCallee());
  if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
    return call(op, composite.getDecomposition());
  if (isa<step::ShardingConstraintOp>(op))
    return constraint(op);
  // What says where a value lies is said of one on which nothing depends here.
  if (isa<sdy::ShardingConstraintOp, sdy::ReshardOp, sdy::PropagationBarrierOp,
          sdy::DataFlowEdgeOp>(op)) {
    FailureOr<Unfolded> value = get(op->getOperand(0));
    if (failed(value))
      return failure();
    known[op->getResult(0)] = *value;
    return success();
  }
  if (isa<sdy::ShardingGroupOp>(op))
    return success();
  if (isa<stablehlo::WhileOp>(op))
    return loop(op);
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
    return branches(op);
  if (isCollective(op) ||
      isa<stablehlo::CollectiveBroadcastOp, stablehlo::CollectiveReduceOp,
          stablehlo::CrossReplicaSumOp>(op))
    return collective(op);
  if (llvm::any_of(op->getResultTypes(), [](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return !tensor || !tensor.hasStaticShape();
      }))
    return refuse(op, "it gives what is no tensor of static shape");
  Results operands;
  if (failed(getAll(op->getOperands(), operands)))
    return failure();
  return unionOf(operands) ? compute(op) : rebuild(op, operands, 0);
}

LogicalResult Unfolder::rebuild(Operation *op, ArrayRef<Unfolded> operands,
                                AxisSet axes,
                                ArrayRef<NamedAttribute> changed) {
  OperationState state(op->getLoc(), op->getName());
  for (const Unfolded &operand : operands)
    state.operands.push_back(operand.whole);
  for (Type type : op->getResultTypes())
    state.types.push_back(typeFor(type, axes));
  NamedAttrList attributes(op->getAttrDictionary());
  for (NamedAttribute attribute : changed)
    attributes.set(attribute.getName(), attribute.getValue());
  state.addAttributes(attributes);
  IRMapping mapping;
  for (Region &region : op->getRegions()) {
    WalkResult walked = region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (op->isAncestor(operand.getParentBlock()->getParentOp()))
          continue;
        FailureOr<Unfolded> found = get(operand);
        if (failed(found))
          return WalkResult::interrupt();
        if (found->axes) {
          (void)refuse(op, "its region reads a value that devices differ in");
          return WalkResult::interrupt();
        }
        mapping.map(operand, found->whole);
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
    region.cloneInto(state.addRegion(), mapping);
  }
  Operation *made = builder.create(state);
  for (auto [before, after] :
       llvm::zip_equal(op->getResults(), made->getResults()))
    known[before] = {after, axes};
  return success();
}

LogicalResult Unfolder::together(Operation *op, Results &operands,
                                 AxisSet &axes) {
  if (failed(getAll(op->getOperands(), operands)))
    return failure();
  axes = unionOf(operands);
  for (Unfolded &operand : operands)
    operand = spread(operand, axes);
  return success();
}

LogicalResult Unfolder::compute(Operation *op) {
  if (op->hasTrait<OpTrait::Elementwise>() ||
      isa<stablehlo::SelectOp, stablehlo::ClampOp>(op))
    return elementwise(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
            stablehlo::TransposeOp, stablehlo::ReverseOp, stablehlo::SliceOp,
            stablehlo::PadOp, stablehlo::ConcatenateOp, stablehlo::SortOp,
            stablehlo::BitcastConvertOp, stablehlo::OptimizationBarrierOp>(
          [&](Operation *) { return shape(op); })
      .Case<stablehlo::ReduceOp, stablehlo::ReduceWindowOp,
            stablehlo::SelectAndScatterOp>(
          [&](Operation *) { return reduction(op); })
      .Case<stablehlo::DotGeneralOp>(
          [&](Operation *) { return contraction(op); })
      .Case<stablehlo::ConvolutionOp>(
          [&](Operation *) { return convolution(op); })
      .Case<stablehlo::GatherOp>([&](Operation *) { return gather(op); })
      .Case<stablehlo::ScatterOp>([&](Operation *) { return scatter(op); })
      .Case<stablehlo::DynamicSliceOp, stablehlo::DynamicUpdateSliceOp>(
          [&](Operation *) { return dynamicSlice(op); })
      .Default([&](Operation *) {
        return refuse(op, "nobody has written it for tensors with a dimension "
                          "per axis of the mesh");
      });
}

LogicalResult Unfolder::elementwise(Operation *op) {
  Results operands;
  AxisSet axes = 0;
  if (failed(together(op, operands, axes)))
    return failure();
  // A scalar beside tensors, such as a predicate, has all of their dimensions.
  ArrayRef<int64_t> local =
      cast<RankedTensorType>(op->getResultTypes().front()).getShape();
  for (auto [operand, before] : llvm::zip_equal(operands, op->getOperands())) {
    ArrayRef<int64_t> own = shapeOf(before);
    if (own == local)
      continue;
    if (!own.empty())
      return refuse(op, "its operands have different shapes");
    auto type =
        typeFor(cast<RankedTensorType>(before.getType()).clone(local), axes);
    operand.whole = stablehlo::BroadcastInDimOp::create(
        builder, type, operand.whole,
        llvm::to_vector(llvm::seq<int64_t>(0, operand.leading())));
  }
  return rebuild(op, operands, axes);
}

LogicalResult Unfolder::call(Operation *op, StringRef callee) {
  auto function = symbols.lookup<func::FuncOp>(callee);
  if (!function || function.isExternal() || !function.getBody().hasOneBlock())
    return refuse(op, "it calls a function without a body of one block");
  Results arguments, results;
  if (failed(getAll(op->getOperands(), arguments)))
    return failure();
  if (!calling.insert(function).second)
    return refuse(op, "it calls itself");
  called.insert(function);
  LogicalResult visited =
      visitBlock(function.getBody().front(), arguments, results);
  calling.erase(function);
  if (failed(visited))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
    known[result] = value;
  return success();
}

LogicalResult Unfolder::constraint(Operation *op) {
  auto constraint = cast<step::ShardingConstraintOp>(op);
  FailureOr<Unfolded> value = get(op->getOperand(0));
  if (failed(value))
    return failure();
  Attribute sharding = constraint.getShardingAttr();
  auto named = dyn_cast_or_null<sdy::TensorShardingAttr>(sharding);
  if (sharding && !named)
    return refuse(op, "it numbers devices");
  MLIRContext *context = op->getContext();
  if (named) {
    SmallVector<sdy::DimensionShardingAttr> dims = lyingAlong(value->axes);
    llvm::append_range(dims, named.getDimShardings());
    named = sdy::TensorShardingAttr::get(
        context, named.getMeshOrRef(), dims, named.getReplicatedAxes(),
        named.getUnreducedAxes(), named.getReductionOp());
  }
  SmallVector<int64_t> open;
  for (int64_t dim : constraint.getOpenDims().value_or(ArrayRef<int64_t>()))
    open.push_back(dim + value->leading());
  auto made = step::ShardingConstraintOp::create(
      builder, value->whole.getType(), value->whole, Attribute(named),
      constraint.getOpenDims() ? DenseI64ArrayAttr::get(context, open)
                               : DenseI64ArrayAttr(),
      constraint.getGroupAttr(), constraint.getPassesAttr());
  known[op->getResult(0)] = {made, value->axes};
  return success();
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

LogicalResult Unfolder::loop(Operation *op) {
  auto loop = cast<stablehlo::WhileOp>(op);
  Results carried;
  if (failed(getAll(op->getOperands(), carried)))
    return failure();
  const Location location = op->getLoc();
  // A value that devices come to differ in has to be carried for all of them
  // from the start. Each try is taken out again but the last.
  while (true) {
    OperationState state(location, op->getName());
    SmallVector<Type> types;
    for (const Unfolded &value : carried) {
      state.operands.push_back(value.whole);
      types.push_back(value.whole.getType());
    }
    state.addTypes(types);
    state.addRegion();
    state.addRegion();
    Operation *made = builder.create(state);
    const SmallVector<Location> locations(types.size(), location);
    Results decided, next;
    bool isSettled = true;
    for (auto [from, to, results] :
         {std::tuple(&loop.getCond(), &made->getRegion(0), &decided),
          std::tuple(&loop.getBody(), &made->getRegion(1), &next)}) {
      OpBuilder::InsertionGuard guard(builder);
      Block *block = builder.createBlock(to, to->end(), types, locations);
      Results arguments;
      for (auto [argument, value] :
           llvm::zip_equal(block->getArguments(), carried))
        arguments.push_back({argument, value.axes});
      if (failed(visitBlock(from->front(), arguments, *results)))
        return failure();
      if (results == &next)
        for (auto [value, start] : llvm::zip_equal(next, carried)) {
          isSettled &= (value.axes & ~start.axes) == 0;
          value = spread(value, start.axes);
        }
      SmallVector<Value> returned;
      for (const Unfolded &value : *results)
        returned.push_back(value.whole);
      stablehlo::ReturnOp::create(builder, returned);
    }
    if (decided.front().axes)
      return refuse(op, "devices may leave the loop after different rounds");
    if (isSettled) {
      for (auto [result, whole, value] :
           llvm::zip_equal(op->getResults(), made->getResults(), carried))
        known[result] = {whole, value.axes};
      return success();
    }
    made->erase();
    builder.setLoc(location);
    for (auto [start, value] : llvm::zip_equal(carried, next))
      start = spread(start, value.axes);
  }
}

LogicalResult Unfolder::branches(Operation *op) {
  FailureOr<Unfolded> decides = get(op->getOperand(0));
  if (failed(decides))
    return failure();
  if (decides->axes)
    return refuse(op, "devices may take different branches");
  const Location location = op->getLoc();
  SmallVector<std::unique_ptr<Region>> regions;
  std::vector<Results> results(op->getNumRegions());
  for (auto [from, values] : llvm::zip_equal(op->getRegions(), results)) {
    OpBuilder::InsertionGuard guard(builder);
    regions.push_back(std::make_unique<Region>());
    builder.createBlock(regions.back().get());
    if (failed(visitBlock(from.front(), {}, values)))
      return failure();
  }
  SmallVector<AxisSet> axes(op->getNumResults(), 0);
  for (const Results &values : results)
    for (auto [all, value] : llvm::zip_equal(axes, values))
      all |= value.axes;
  OperationState state(location, op->getName());
  state.addOperands(decides->whole);
  for (auto [type, all] : llvm::zip_equal(op->getResultTypes(), axes))
    state.addTypes(typeFor(type, all));
  for (auto [region, values] : llvm::zip_equal(regions, results)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&region->front());
    SmallVector<Value> returned;
    for (auto [value, all] : llvm::zip_equal(values, axes))
      returned.push_back(spread(value, all).whole);
    stablehlo::ReturnOp::create(builder, returned);
    state.addRegion(std::move(region));
  }
  Operation *made = builder.create(state);
  for (auto [result, whole, all] :
       llvm::zip_equal(op->getResults(), made->getResults(), axes))
    known[result] = {whole, all};
  return success();
}
