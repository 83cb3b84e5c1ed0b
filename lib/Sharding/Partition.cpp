//===- Partition.cpp - One program that every device runs -----------------===//
//
// Walks over the step once. Every operation gets axes for its factors: those of
// the plan, if that has some; else, of the ways that its results and its
// operands suggest, the one that cuts most, so that no work is done twice, and
// of several the one that moves the least bytes. Its operands are moved to the
// layouts that follow, it is written on parts, and a reduction that is left
// pending is finished at once, in the layout that the value is to have.
//
// A value may be there in several layouts; it moves from the nearest one. What
// was moved within a region is forgotten behind it. What nobody reads is not
// written.
//
//===----------------------------------------------------------------------===//

#include "LocalCode.h"

#include "tenon/Analysis/DeviceTiles.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/Passes.h"
#include "tenon/Sharding/Rules.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tenon::sharding {
#define GEN_PASS_DEF_PARTITIONPASS
#include "tenon/Sharding/Passes.h.inc"
} // namespace tenon::sharding

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

namespace {

struct Part {
  Layout layout;
  Value value;
};

class Partitioner {
public:
  Partitioner(func::FuncOp from, func::FuncOp to, const Mesh &mesh,
              LayoutPlan plan, const Prices *prices)
      : from(from), mesh(mesh), wanted(std::move(plan.layouts)),
        planned(std::move(plan.axes)), copies(std::move(plan.copies)),
        keepsOnlyCopies(plan.keepsOnlyCopies),
        prices(prices), entry(to.addEntryBlock()), code(mesh, *entry),
        builder(from.getLoc(), from.getContext()) {}

  LogicalResult run() {
    findUnread(from.getBody().front());
    builder.setInsertionPointToEnd(entry);
    for (auto [old, local] :
         llvm::zip_equal(from.getArguments(), entry->getArguments()))
      remember(old, {wanted.values[old], local});
    Block &body = from.getBody().front();
    if (failed(writeBlock(body)))
      return failure();
    builder.setLoc(body.getTerminator()->getLoc());
    SmallVector<Value> results;
    for (auto [value, layout] :
         llvm::zip_equal(body.getTerminator()->getOperands(), wanted.results))
      results.push_back(partOf(value, layout));
    func::ReturnOp::create(builder, results);
    return success();
  }

  /// What was written takes, if there are prices.
  StepPrice price;

private:
  void findUnread(Block &block) {
    for (Operation &op : llvm::reverse(block.without_terminator())) {
      if (wouldOpBeTriviallyDead(&op) &&
          llvm::all_of(op.getUsers(), [&](Operation *user) {
            return unread.contains(user);
          })) {
        unread.insert(&op);
        continue;
      }
      for (Region &region : op.getRegions())
        if (isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
          findUnread(region.front());
    }
  }

  LogicalResult writeBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      if (failed(write(&op)))
        return failure();
    return success();
  }

  LogicalResult write(Operation *op) {
    builder.setLoc(op->getLoc());
    if (unread.contains(op))
      return success(); // nobody would read its collectives either
    if (llvm::all_of(op->getResults(), isMadeAnywhere) &&
        op->getNumResults() > 0)
      return success(); // where it is read
    if (isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
      return writeControl(op);
    if (auto constraint = dyn_cast<step::ShardingConstraintOp>(op))
      return writeConstraint(constraint);
    if (structureOf(op) == absent)
      return op->emitOpError("cannot be partitioned: step form does not hold "
                             "it");
    Factors rule = factorsOf(op);
    if (rule.factors.empty() &&
        llvm::is_contained({gathered, rounds, batches}, structureOf(op)))
      explainGathering(op);
    FactorAxes axes = choose(op, rule);
    explainWholeWindows(op, rule);
    if (prices) {
      price.compute += runs * prices->secondsOf(op, rule, axes);
      for (const HaloPiece &piece : halosOf(op, rule, axes))
        addToPrice(ReshardKind::permute, piece.along, piece.received,
                   prices->secondsOf(piece));
    }
    const size_t before = added.size();
    SmallVector<Part> results = emit(op, rule, axes);
    forgetMoved(before);
    for (auto [value, part] : llvm::zip_equal(op->getResults(), results)) {
      Layout &target = wanted.values[value];
      if (!part.layout.pending.empty())
        part = {target, move(part, value, target)};
      remember(value, std::move(part));
    }
    return success();
  }

  /// The operand where it is to lie; nothing is left of the constraint.
  LogicalResult writeConstraint(step::ShardingConstraintOp op) {
    const Layout layout = wanted.values[op.getResult()];
    const size_t before = added.size();
    Part part{layout, partOf(op.getInput(), layout)};
    forgetMoved(before);
    remember(op.getResult(), std::move(part));
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  void remember(Value value, Part part) {
    parts[value].push_back(std::move(part));
    added.push_back(value);
  }
  void forgetBehind(size_t count) {
    while (added.size() > count)
      parts[added.pop_back_val()].pop_back();
  }

  /// Forgets what an operation has had moved, but for chosen copies: where
  /// memory has a limit, they alone are counted for longer.
  void forgetMoved(size_t count) {
    if (!keepsOnlyCopies)
      return;
    SmallVector<std::pair<Value, Part>> kept;
    while (added.size() > count) {
      Value value = added.pop_back_val();
      Part part = parts[value].pop_back_val();
      auto copy = copies.find(value);
      if (copy != copies.end() && copy->second == part.layout)
        kept.push_back({value, std::move(part)});
    }
    for (auto &[value, part] : llvm::reverse(kept))
      remember(value, std::move(part));
  }

  const ReshardPlan &planFor(Value value, const Layout &source,
                             const Layout &target) {
    std::string key = source.text(mesh) + target.text(mesh);
    for (int64_t extent : shapeOf(value))
      key += "x" + std::to_string(extent);
    key += "b" + std::to_string(elementBytesOf(value));
    auto [found, isNew] = plans.try_emplace(key);
    if (isNew)
      found->second = planReshard(mesh, shapeOf(value), elementBytesOf(value),
                                  source, target);
    return found->second;
  }

  Value move(const Part &part, Value value, const Layout &target) {
    const ReshardPlan &plan = planFor(value, part.layout, target);
    if (prices)
      addToPrice(plan, value);
    return code.reshard(builder, part.value,
                        cast<RankedTensorType>(value.getType()), plan);
  }

  void addToPrice(const ReshardPlan &plan, Value value) {
    ArrayRef<int64_t> shape = shapeOf(value);
    const int64_t bytes = elementBytesOf(value);
    for (const ReshardStep &step : plan.steps) {
      const double seconds = prices->secondsOf(step, shape, bytes);
      if (step.kind == ReshardKind::slice) {
        price.compute += runs * seconds;
        continue;
      }
      addToPrice(step.kind, exchangedAlong(step),
                 receivedBy(step, shape, bytes), seconds);
    }
  }

  /// Of a collective: the bytes and seconds of one run.
  void addToPrice(ReshardKind kind, const AxisParts &parts, int64_t received,
                  double seconds) {
    price.communication += runs * seconds;
    price.received += runs * double(received);
    Layout along;
    along.dims = {parts};
    // As in a layout of one dimension, without its brackets.
    std::string axes = along.text(mesh);
    axes = axes.substr(1, axes.size() - 2);
    ++price.collectives[{kind, axes, received}];
  }

  /// What it takes to have a value moved: seconds, if there are prices, and
  /// bytes.
  std::pair<double, int64_t> distance(Value value, const Layout &source,
                                      const Layout &target) {
    const ReshardPlan &plan = planFor(value, source, target);
    return {prices ? prices->secondsOf(plan, shapeOf(value),
                                       elementBytesOf(value))
                   : 0,
            plan.received};
  }

  /// The part that the layout is nearest to; null if the value is made
  /// anywhere.
  const Part *nearest(Value value, const Layout &target) {
    const Part *best = nullptr;
    for (const Part &part : parts[value])
      if (!best || distance(value, part.layout, target) <
                       distance(value, best->layout, target))
        best = &part;
    return best;
  }

  bool hasPart(Value value, const Layout &layout) {
    return llvm::any_of(parts[value], [&](const Part &part) {
      return part.layout == layout;
    });
  }

  /// Has the chosen copy made if the layout is nearer to it than to all parts.
  void makeNearerCopy(Value value, const Layout &layout) {
    auto copy = copies.find(value);
    if (copy == copies.end() || copy->second == layout ||
        hasPart(value, copy->second))
      return;
    const Layout &between = copy->second;
    if (distance(value, between, layout) <
        distance(value, nearest(value, layout)->layout, layout))
      partOf(value, between);
  }

  Value partOf(Value value, const Layout &layout) {
    for (const Part &part : parts[value])
      if (part.layout == layout)
        return part.value;
    Value made;
    if (isMadeAnywhere(value)) {
      made = make(value, layout);
    } else {
      makeNearerCopy(value, layout);
      made = move(*nearest(value, layout), value, layout);
    }
    remember(value, {layout, made});
    return made;
  }

  Value make(Value value, const Layout &layout) {
    Operation *op = value.getDefiningOp();
    auto whole = cast<RankedTensorType>(value.getType());
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto splat = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (splat && splat.isSplat())
        return stablehlo::ConstantOp::create(
            builder, cast<ElementsAttr>(splat.resizeSplat(
                         LocalCode::localType(whole, layout))));
      Value all = builder.clone(*op)->getResult(0);
      return move({Layout::replicated(whole.getRank()), all}, value, layout);
    }
    Factors rule = factorsOf(op);
    FactorAxes axes(rule.factors.size());
    adopt(rule, rule.results[0], layout, whole.getShape(), axes);
    Part part = emit(op, rule, axes).front();
    return move(part, value, layout);
  }

  //===--------------------------------------------------------------------===//
  // Choice
  //===--------------------------------------------------------------------===//

  struct Tensor {
    Value value;
    const TensorFactors *factors;
    Layout layout;
  };

  FactorAxes axesBy(const Factors &rule, ArrayRef<Tensor> order) {
    FactorAxes axes(rule.factors.size());
    for (const Tensor &tensor : order)
      adopt(rule, *tensor.factors, tensor.layout, shapeOf(tensor.value), axes);
    restrict(rule, axes);
    return axes;
  }

  FactorAxes choose(Operation *op, const Factors &rule) {
    if (auto found = planned.find(op); found != planned.end())
      return found->second;
    SmallVector<Tensor> results, operands;
    for (auto [value, factors] :
         llvm::zip_equal(op->getResults(), rule.results))
      results.push_back({value, &factors, wanted.values[value]});
    SmallVector<std::pair<int64_t, unsigned>> largestFirst;
    for (auto [at, value] : llvm::enumerate(op->getOperands()))
      if (!isMadeAnywhere(value))
        largestFirst.push_back({-elementCount(shapeOf(value)), unsigned(at)});
    llvm::sort(largestFirst);
    for (auto [size, at] : largestFirst) {
      Value value = op->getOperand(at);
      operands.push_back(
          {value, &rule.operands[at], parts[value].front().layout});
    }
    auto both = [](ArrayRef<Tensor> first, ArrayRef<Tensor> second) {
      SmallVector<Tensor> all(first);
      llvm::append_range(all, second);
      return all;
    };
    SmallVector<FactorAxes> ways{axesBy(rule, both(results, operands)),
                                 axesBy(rule, both(operands, results)),
                                 axesBy(rule, results)};
    SmallVector<Tensor> reversed(llvm::reverse(operands));
    ways.push_back(axesBy(rule, both(reversed, results)));
    FactorAxes *best = nullptr;
    int64_t least = 0, most = 0;
    for (FactorAxes &axes : ways) {
      int64_t bytes = receivedFor(op, rule, axes), cuts = 1;
      for (const AxisParts &cut : axes)
        cuts *= countOf(cut);
      if (best && (cuts < most || (cuts == most && bytes >= least)))
        continue;
      best = &axes;
      least = bytes;
      most = cuts;
    }
    return *best;
  }

  /// The bytes that a device receives if the factors are cut so.
  int64_t receivedFor(Operation *op, const Factors &rule,
                      const FactorAxes &axes) {
    int64_t bytes = 0;
    for (auto [at, value] : llvm::enumerate(op->getOperands()))
      if (!isMadeAnywhere(value)) {
        Layout layout = layoutOf(rule, rule.operands[at], axes, false);
        bytes +=
            planFor(value, nearest(value, layout)->layout, layout).received;
      }
    for (auto [at, value] : llvm::enumerate(op->getResults()))
      bytes += planFor(value, layoutOf(rule, rule.results[at], axes, true),
                       wanted.values[value])
                   .received;
    for (const HaloPiece &piece : halosOf(op, rule, axes))
      bytes += piece.received;
    return bytes;
  }

  /// What is cut where it is made, and whole because windows run over it.
  void explainWholeWindows(Operation *op, const Factors &rule) {
    if (rule.operands.empty() || isMadeAnywhere(op->getOperand(0)))
      return;
    const Layout &there = parts[op->getOperand(0)].front().layout;
    for (auto [dim, factors] : llvm::enumerate(rule.operands[0])) {
      if (factors.size() != 1 || !rule.factors[factors[0]].windowed)
        continue;
      const Factor &factor = rule.factors[factors[0]];
      const int64_t count = countOf(there.dims[dim]);
      const char *why = whyWhole(factor, count);
      if (count > 1 && why)
        remark::missed(
            op->getLoc(),
            remark::RemarkOpts::name("windowed").category("partition"))
            << remark::add("dimension {0} of '{1}' is not cut into {2}: {3}",
                           dim, op->getName().getStringRef().str(), count,
                           std::string(why));
    }
  }

  void explainGathering(Operation *op) {
    for (auto [at, value] : llvm::enumerate(op->getOperands())) {
      Layout whole = Layout::replicated(shapeOf(value).size());
      if (isMadeAnywhere(value) || nearest(value, whole)->layout == whole)
        continue;
      remark::missed(op->getLoc(),
                     remark::RemarkOpts::name("gathered").category("partition"))
          << remark::add("'{0}' runs on whole tensors on every device: operand "
                         "{1} is gathered",
                         op->getName().getStringRef().str(), at);
    }
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  SmallVector<Part> emit(Operation *op, const Factors &rule,
                         const FactorAxes &axes) {
    SmallVector<Layout> layouts;
    SmallVector<Value> operands;
    for (auto [value, factors] :
         llvm::zip_equal(op->getOperands(), rule.operands)) {
      layouts.push_back(layoutOf(rule, factors, axes, false));
      operands.push_back(partOf(value, layouts.back()));
    }
    SmallVector<Part> results;
    for (TensorFactors const &factors : rule.results)
      results.push_back({layoutOf(rule, factors, axes, true), Value()});
    // Neighbours exchange elements before any are masked.
    addHalos(op, rule, axes, operands);
    addScatterHalos(op, rule, axes, operands);
    if (!isa<stablehlo::GatherOp>(op))
      maskTails(op, rule, layouts, operands);
    maskHalos(op, rule, axes, operands);
    if (auto gather = dyn_cast<stablehlo::GatherOp>(op)) {
      results[0].value = emitGather(gather, layouts, operands, results[0]);
      return results;
    }
    if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op);
        scatter && scatter.getInputs().size() == 1)
      prepareScatter(scatter, layouts, operands, results[0].layout);
    Operation *local = cloneOn(op, operands, results);
    padByHalos(local, rule, axes);
    for (auto [part, value] : llvm::zip_equal(results, local->getResults()))
      part.value = value;
    if (auto iota = dyn_cast<stablehlo::IotaOp>(op))
      results[0].value = fromStart(iota, results[0]);
    if (auto scatter = dyn_cast<stablehlo::SelectAndScatterOp>(local))
      results[0].value = ownPart(scatter, rule, axes);
    return results;
  }

  /// Reductions take no elements that are none.
  void maskTails(Operation *op, const Factors &rule, ArrayRef<Layout> layouts,
                 MutableArrayRef<Value> operands) {
    for (auto [at, factors] : llvm::enumerate(rule.operands))
      for (auto [dim, list] : llvm::enumerate(factors))
        if (list.size() == 1 && rule.factors[list[0]].reduction &&
            !(at == 0 && rule.factors[list[0]].windowed))
          operands[at] = code.maskTail(
              builder, operands[at],
              cast<RankedTensorType>(op->getOperand(at).getType()), layouts[at],
              dim, *rule.factors[list[0]].reduction);
  }

  /// Has what windows read of other shards moved into the first operand.
  void addHalos(Operation *op, const Factors &rule, const FactorAxes &axes,
                MutableArrayRef<Value> operands) {
    forEachHalo(rule, axes, [&](int64_t dim, unsigned cut, const Halo &halo) {
      operands[0] =
          isMadeAnywhere(op->getOperand(0))
              ? resized(operands[0], dim, halo.extent)
              : code.withHalo(builder, operands[0], dim, axes[cut], halo);
    });
  }

  /// Has what the windows that may add to a shard read, and what they add,
  /// moved into both operands.
  void addScatterHalos(Operation *op, const Factors &rule,
                       const FactorAxes &axes,
                       MutableArrayRef<Value> operands) {
    forEachScatterHalo(
        rule, axes, [&](int64_t dim, unsigned cut, const ScatterHalo &halo) {
          for (unsigned at : {0, 1}) {
            const ScatterHalo::Tensor &tensor = at ? halo.source : halo.operand;
            operands[at] = isMadeAnywhere(op->getOperand(at))
                               ? resized(operands[at], dim, tensor.extent)
                               : code.withHalo(builder, operands[at], dim,
                                               axes[cut], halo, tensor);
          }
        });
  }

  /// Of what windows have added to, this device's shard.
  Value ownPart(stablehlo::SelectAndScatterOp local, const Factors &rule,
                const FactorAxes &axes) {
    local.getResult().setType(
        cast<RankedTensorType>(local.getOperand().getType()));
    Value part = local.getResult();
    forEachScatterHalo(
        rule, axes, [&](int64_t dim, unsigned cut, const ScatterHalo &halo) {
          part = code.withoutHalo(builder, part, dim, axes[cut], halo);
        });
    return part;
  }

  /// Windows that reach beyond an end of the operand read what is padded there.
  void maskHalos(Operation *op, const Factors &rule, const FactorAxes &axes,
                 MutableArrayRef<Value> operands) {
    forEachHalo(rule, axes, [&](int64_t dim, unsigned cut, const Halo &halo) {
      if (halo.startsOutside || halo.endsOutside)
        operands[0] = code.maskOutside(
            builder, operands[0], dim, shapeOf(op->getOperand(0))[dim],
            axes[cut], halo, paddingOf(op, operands));
    });
  }

  /// A constant whose elements are alike, with so many of them.
  Value resized(Value value, int64_t dim, int64_t extent) {
    auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = extent;
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    return stablehlo::ConstantOp::create(
        builder, cast<ElementsAttr>(elements.resizeSplat(type.clone(shape))));
  }

  /// The scalar that windows read outside of an operand.
  Value paddingOf(Operation *op, ArrayRef<Value> operands) {
    if (!isa<stablehlo::ConvolutionOp>(op))
      return operands[1];
    return stablehlo::zeros(
        builder, RankedTensorType::get({}, elementOf(op->getOperand(0))));
  }

  /// What an operation still pads if its operand has halos.
  void padByHalos(Operation *local, const Factors &rule,
                  const FactorAxes &axes) {
    auto conv = dyn_cast<stablehlo::ConvolutionOp>(local);
    auto pool = dyn_cast<stablehlo::ReduceWindowOp>(local);
    auto pad = dyn_cast<stablehlo::PadOp>(local);
    bool hasHalos = false;
    forEachHalo(rule, axes,
                [&](int64_t, unsigned, const Halo &) { hasHalos = true; });
    if (!hasHalos || (!conv && !pool && !pad))
      return;
    SmallVector<Window> windows = conv   ? windowsOf(conv)
                                  : pool ? windowsOf(pool)
                                         : windowsOf(pad);
    SmallVector<int64_t> low, high, both;
    for (const Window &window : windows) {
      low.push_back(window.low);
      high.push_back(window.high);
    }
    forEachHalo(rule, axes, [&](int64_t dim, unsigned, const Halo &halo) {
      size_t at = dim;
      if (conv)
        at = llvm::find(conv.getDimensionNumbers().getInputSpatialDimensions(),
                        dim) -
             conv.getDimensionNumbers().getInputSpatialDimensions().begin();
      low[at] = halo.low;
      high[at] = halo.high;
    });
    if (pad) {
      pad.setEdgePaddingLow(low);
      pad.setEdgePaddingHigh(high);
      return;
    }
    for (auto [first, last] : llvm::zip_equal(low, high))
      both.append({first, last});
    auto padding = DenseIntElementsAttr::get(
        RankedTensorType::get({int64_t(windows.size()), 2},
                              builder.getI64Type()),
        both);
    if (conv)
      conv.setPaddingAttr(padding);
    else
      pool.setPaddingAttr(padding);
  }

  /// The same operation on parts.
  Operation *cloneOn(Operation *op, ArrayRef<Value> operands,
                     ArrayRef<Part> results) {
    Operation *local = op->clone();
    local->setOperands(operands);
    for (auto [value, part] : llvm::zip_equal(local->getResults(), results))
      value.setType(LocalCode::localType(value.getType(), part.layout));
    // Regions on elements may read scalars from outside.
    SmallVector<OpOperand *> captured;
    for (Region &region : local->getRegions())
      region.walk([&](Operation *inner) {
        for (OpOperand &use : inner->getOpOperands())
          if (!local->isAncestor(use.get().getParentBlock()->getParentOp()))
            captured.push_back(&use);
      });
    for (OpOperand *use : captured)
      use->set(
          partOf(use->get(), Layout::replicated(shapeOf(use->get()).size())));
    if (local->getNumResults() > 0) {
      auto type = cast<RankedTensorType>(local->getResult(0).getType());
      SmallVector<int64_t> extents(type.getShape());
      if (auto slice = dyn_cast<stablehlo::SliceOp>(local)) {
        SmallVector<int64_t> limits(slice.getLimitIndices());
        for (auto [dim, parts] : llvm::enumerate(results[0].layout.dims))
          if (!parts.empty())
            limits[dim] = extents[dim];
        slice.setLimitIndices(limits);
      } else if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(local)) {
        slice.setSliceSizes(extents);
      }
    }
    builder.insert(local);
    return local;
  }

  Value fromStart(stablehlo::IotaOp iota, const Part &part) {
    int64_t dim = iota.getIotaDimension();
    ArrayRef<AxisPart> cut = part.layout.dims[dim];
    if (cut.empty())
      return part.value;
    auto type = cast<RankedTensorType>(part.value.getType());
    Value start = code.startOf(shapeOf(iota.getResult())[dim], cut);
    start = stablehlo::ConvertOp::create(
        builder, RankedTensorType::get({}, type.getElementType()), start);
    return stablehlo::AddOp::create(builder, part.value,
                                    repeat(builder, start, type.getShape()));
  }

  //===--------------------------------------------------------------------===//
  // Indices
  //===--------------------------------------------------------------------===//

  /// Indices of at least 32 bits, so that they hold every extent.
  Value widened(Value indices) {
    auto type = cast<RankedTensorType>(indices.getType());
    if (type.getElementType().isIndex() || widthOf(type) >= 32)
      return indices;
    return stablehlo::ConvertOp::create(
        builder, type.clone(builder.getI32Type()), indices);
  }
  static unsigned widthOf(RankedTensorType type) {
    return type.getElementType().getIntOrFloatBitWidth();
  }

  /// A number per component of index vectors, for each of the indices.
  Value perComponent(Value indices, int64_t vectorDim,
                     ArrayRef<int64_t> numbers) {
    auto type = cast<RankedTensorType>(indices.getType());
    auto vector =
        RankedTensorType::get({int64_t(numbers.size())}, builder.getI64Type());
    Value constant = stablehlo::ConstantOp::create(
        builder, cast<ElementsAttr>(DenseElementsAttr::get(vector, numbers)));
    constant = stablehlo::ConvertOp::create(
        builder, vector.clone(type.getElementType()), constant);
    return spread(constant, type, vectorDim);
  }
  /// A vector along the components of the indices; a single component has no
  /// dimension if the indices are scalars.
  Value spread(Value vector, RankedTensorType type, int64_t vectorDim) {
    if (vectorDim < type.getRank())
      return stablehlo::BroadcastInDimOp::create(builder, type, vector,
                                                 ArrayRef<int64_t>{vectorDim});
    Value scalar = stablehlo::ReshapeOp::create(
        builder, RankedTensorType::get({}, type.getElementType()), vector);
    return repeat(builder, scalar, type.getShape());
  }

  /// Where the shards of the dimensions that index vectors name begin.
  Value shardStarts(Value indices, int64_t vectorDim, ArrayRef<int64_t> dims,
                    const Layout &layout, ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(indices.getType());
    auto single = RankedTensorType::get({1}, builder.getI32Type());
    SmallVector<Value> starts;
    for (int64_t dim : dims)
      starts.push_back(stablehlo::ReshapeOp::create(
          builder, single, code.startOf(shape[dim], layout.dims[dim])));
    Value vector = starts.front();
    if (starts.size() > 1)
      vector = stablehlo::ConcatenateOp::create(
          builder,
          RankedTensorType::get({int64_t(starts.size())}, builder.getI32Type()),
          starts, uint64_t(0));
    vector = stablehlo::ConvertOp::create(
        builder,
        cast<RankedTensorType>(vector.getType()).clone(type.getElementType()),
        vector);
    return spread(vector, type, vectorDim);
  }

  static bool cutsAny(const Layout &layout, ArrayRef<int64_t> dims) {
    return llvm::any_of(dims,
                        [&](int64_t dim) { return !layout.dims[dim].empty(); });
  }

  /// Indices are moved into the whole operand first, as the operation does it,
  /// and then to the shard. A device that does not hold the element adds zero.
  Value emitGather(stablehlo::GatherOp op, ArrayRef<Layout> layouts,
                   ArrayRef<Value> operands, const Part &result) {
    auto numbers = op.getDimensionNumbers();
    ArrayRef<int64_t> shape = shapeOf(op.getOperand());
    SmallVector<int64_t> sizes(op.getSliceSizes());
    SmallVector<int64_t> extents = layouts[0].localShape(shape);
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      if (!layouts[0].dims[dim].empty() && sizes[dim] == shape[dim])
        sizes[dim] = extents[dim];
    SmallVector<Value> inputs(operands);
    Value isHere;
    ArrayRef<int64_t> dims = numbers.getStartIndexMap();
    if (cutsAny(layouts[0], dims)) {
      Value indices = widened(operands[1]);
      auto type = cast<RankedTensorType>(indices.getType());
      int64_t vectorDim = numbers.getIndexVectorDim();
      SmallVector<int64_t> most, ends;
      for (int64_t dim : dims) {
        most.push_back(shape[dim] - op.getSliceSizes()[dim]);
        ends.push_back(layouts[0].dims[dim].empty()
                           ? std::numeric_limits<int32_t>::max()
                           : extents[dim]);
      }
      Value zero = stablehlo::zeros(builder, type);
      indices = stablehlo::ClampOp::create(
          builder, type, zero, indices, perComponent(indices, vectorDim, most));
      // Unsigned numbers do not go below zero.
      auto wide = type.clone(builder.getI64Type());
      indices = stablehlo::ConvertOp::create(builder, wide, indices);
      zero = stablehlo::zeros(builder, wide);
      indices = stablehlo::SubtractOp::create(
          builder, indices,
          shardStarts(indices, vectorDim, dims, layouts[0], shape));
      inputs[1] = indices;
      using stablehlo::ComparisonDirection;
      auto compare = [&](Value right, ComparisonDirection direction) -> Value {
        return stablehlo::CompareOp::create(builder, indices, right, direction,
                                            stablehlo::ComparisonType::SIGNED);
      };
      isHere = stablehlo::AndOp::create(
          builder, compare(zero, ComparisonDirection::GE),
          compare(perComponent(indices, vectorDim, ends),
                  ComparisonDirection::LT));
      isHere = allComponents(isHere, vectorDim);
    }
    Operation *local = op->clone();
    local->setOperands(inputs);
    auto type = LocalCode::localType(op.getType(), result.layout);
    local->getResult(0).setType(type);
    cast<stablehlo::GatherOp>(local).setSliceSizes(sizes);
    builder.insert(local);
    Value gathered = local->getResult(0);
    if (!isHere)
      return gathered;
    SmallVector<int64_t> batch;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(numbers.getOffsetDims(), dim))
        batch.push_back(dim);
    isHere = stablehlo::BroadcastInDimOp::create(
        builder, type.clone(builder.getI1Type()), isHere, batch);
    return stablehlo::SelectOp::create(builder, type, isHere, gathered,
                                       stablehlo::zeros(builder, type));
  }

  /// Whether something holds for all components of index vectors.
  Value allComponents(Value holds, int64_t vectorDim) {
    auto type = cast<RankedTensorType>(holds.getType());
    if (vectorDim == type.getRank())
      return holds;
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + vectorDim);
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value init = stablehlo::ConstantOp::create(
        builder, cast<ElementsAttr>(DenseElementsAttr::get(scalar, true)));
    auto reduce = stablehlo::ReduceOp::create(
        builder, TypeRange(type.clone(shape)), ValueRange(holds),
        ValueRange(init), ArrayRef<int64_t>{vectorDim});
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&reduce.getBody(), {}, {scalar, scalar},
                                       {builder.getLoc(), builder.getLoc()});
    Value both = stablehlo::AndOp::create(builder, block->getArgument(0),
                                          block->getArgument(1));
    stablehlo::ReturnOp::create(builder, both);
    return reduce.getResult(0);
  }

  /// Updates outside the shard are outside the operand. Where devices hold
  /// different updates, one of them has the operand to add them to.
  void prepareScatter(stablehlo::ScatterOp op, ArrayRef<Layout> layouts,
                      MutableArrayRef<Value> operands, const Layout &result) {
    auto numbers = op.getScatterDimensionNumbers();
    ArrayRef<int64_t> dims = numbers.getScatterDimsToOperandDims();
    if (cutsAny(layouts[0], dims)) {
      Value indices = widened(operands[1]);
      auto wide =
          cast<RankedTensorType>(indices.getType()).clone(builder.getI64Type());
      indices = stablehlo::ConvertOp::create(builder, wide, indices);
      operands[1] = stablehlo::SubtractOp::create(
          builder, indices,
          shardStarts(indices, numbers.getIndexVectorDim(), dims, layouts[0],
                      shapeOf(op.getInputs()[0])));
    }
    if (!result.pending.empty())
      operands[0] =
          code.onFirst(builder, operands[0], result.pending, Reduction::sum);
  }

  //===--------------------------------------------------------------------===//
  // Loops and branches
  //===--------------------------------------------------------------------===//

  /// Carried values keep one layout; what decides is the same on all devices.
  LogicalResult writeControl(Operation *op) {
    auto loop = dyn_cast<stablehlo::WhileOp>(op);
    SmallVector<Layout> layouts;
    OperationState state(op->getLoc(), op->getName());
    for (Value result : op->getResults()) {
      layouts.push_back(isMadeAnywhere(result)
                            ? Layout::replicated(shapeOf(result).size())
                            : wanted.values[result]);
      state.addTypes(LocalCode::localType(result.getType(), layouts.back()));
    }
    for (auto [at, operand] : llvm::enumerate(op->getOperands()))
      state.addOperands(
          partOf(operand, loop ? layouts[at]
                               : Layout::replicated(shapeOf(operand).size())));
    state.addAttributes(op->getAttrs());
    for (unsigned at = 0; at < op->getNumRegions(); ++at)
      state.addRegion();
    Operation *local = builder.create(state);
    const double runsBefore = runs;
    if (loop)
      runs *= double(tripCount(op).value_or(1));
    for (auto [old, region] :
         llvm::zip_equal(op->getRegions(), local->getRegions())) {
      OpBuilder::InsertionGuard guard(builder);
      size_t known = added.size();
      Block &body = old.front();
      Block *block = builder.createBlock(&region);
      for (auto [at, argument] : llvm::enumerate(body.getArguments()))
        remember(argument,
                 {layouts[at],
                  block->addArgument(
                      LocalCode::localType(argument.getType(), layouts[at]),
                      argument.getLoc())});
      if (failed(writeBlock(body)))
        return failure();
      builder.setLoc(body.getTerminator()->getLoc());
      bool isTest = loop && &old == &loop.getCond();
      SmallVector<Value> results;
      for (auto [at, value] :
           llvm::enumerate(body.getTerminator()->getOperands()))
        results.push_back(
            partOf(value, isTest ? Layout::replicated(shapeOf(value).size())
                                 : layouts[at]));
      stablehlo::ReturnOp::create(builder, results);
      forgetBehind(known);
    }
    runs = runsBefore;
    for (auto [at, value] : llvm::enumerate(op->getResults()))
      remember(value, {layouts[at], local->getResult(at)});
    return success();
  }

  func::FuncOp from;
  const Mesh &mesh;
  PropagatedLayouts wanted;
  llvm::DenseMap<Operation *, FactorAxes> planned;
  ValueLayouts copies;
  bool keepsOnlyCopies;
  const Prices *prices;
  double runs = 1; // of what is being written
  Block *entry;
  LocalCode code;
  ImplicitLocOpBuilder builder;
  llvm::DenseSet<Operation *> unread;
  llvm::DenseMap<Value, SmallVector<Part, 1>> parts;
  SmallVector<Value> added;
  std::map<std::string, ReshardPlan> plans;
};

/// Attributes of an argument or result, with what it is a part of.
DictionaryAttr describe(DictionaryAttr attributes, Type whole,
                        const Layout &layout, const Mesh &mesh,
                        MLIRContext *context) {
  NamedAttrList list(attributes);
  list.erase(sdy::shardingAttrName);
  list.erase(deviceTilesAttrName);
  list.set(step::layoutAttrName, StringAttr::get(context, layout.text(mesh)));
  list.set(step::wholeAttrName, TypeAttr::get(whole));
  return list.getDictionary(context);
}

class PartitionModule
    : public tenon::sharding::impl::PartitionPassBase<PartitionModule> {
public:
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    Mesh devices;
    std::string error;
    if (!mesh.empty()) {
      auto read = Mesh::parse(mesh, error);
      if (!read) {
        getOperation().emitError() << "mesh: " << error;
        return signalPassFailure();
      }
      devices = *read;
    }
    std::string text;
    if (!layouts.empty()) {
      auto file = llvm::MemoryBuffer::getFile(layouts);
      if (!file) {
        getOperation().emitError()
            << "cannot read '" << layouts << "': " << file.getError().message();
        return signalPassFailure();
      }
      text = (*file)->getBuffer().str();
    }
    auto asked = readAskedLayouts(getOperation(), devices, text, layouts);
    if (failed(asked) || failed(partition(getOperation(), devices, *asked)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult tenon::sharding::partition(ModuleOp module, const Mesh &mesh,
                                         LayoutPlan plan, const Prices *prices,
                                         StepPrice *price) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (module->hasAttr(step::meshAttrName))
    return module.emitError("the step is partitioned already, for the mesh ")
           << module->getAttr(step::meshAttrName);
  PropagatedLayouts &layouts = plan.layouts;
  MLIRContext *context = module.getContext();
  SmallVector<Type> inputs, outputs;
  SmallVector<DictionaryAttr> ofInputs, ofOutputs;
  for (auto [at, argument] : llvm::enumerate(main.getArguments())) {
    const Layout &layout = layouts.values[argument];
    inputs.push_back(LocalCode::localType(argument.getType(), layout));
    ofInputs.push_back(describe(main.getArgAttrDict(at), argument.getType(),
                                layout, mesh, context));
  }
  for (auto [at, type] : llvm::enumerate(main.getResultTypes())) {
    outputs.push_back(LocalCode::localType(type, layouts.results[at]));
    ofOutputs.push_back(describe(main.getResultAttrDict(at), type,
                                 layouts.results[at], mesh, context));
  }
  OpBuilder builder(main);
  auto local =
      func::FuncOp::create(builder, main.getLoc(), main.getSymName(),
                           FunctionType::get(context, inputs, outputs));
  local->setDiscardableAttrs(main->getDiscardableAttrDictionary());
  local.setVisibility(main.getVisibility());
  local.setAllArgAttrs(ofInputs);
  local.setAllResultAttrs(ofOutputs);
  Partitioner partitioner(main, local, mesh, std::move(plan), prices);
  if (failed(partitioner.run()))
    return failure();
  if (price)
    *price = std::move(partitioner.price);
  main.erase();
  for (Operation &op :
       llvm::make_early_inc_range(module.getBody()->getOperations()))
    if (isa<sdy::MeshOp>(op))
      op.erase();
  module->setAttr(step::meshAttrName, builder.getStringAttr(mesh.text()));
  module->setAttr("mhlo.num_partitions",
                  builder.getI32IntegerAttr(int32_t(mesh.devices())));
  return success();
}

LogicalResult tenon::sharding::partition(ModuleOp module, const Mesh &mesh,
                                         const AskedLayouts &asked) {
  LayoutPlan plan;
  plan.layouts = propagate(module.lookupSymbol<func::FuncOp>("main"), asked);
  return partition(module, mesh, std::move(plan));
}
