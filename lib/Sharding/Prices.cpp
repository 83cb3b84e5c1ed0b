//===- Prices.cpp - Seconds of a step on a mesh ---------------------------===//
//
// See Prices.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/Prices.h"

#include "Lifetimes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/LapackCalls.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Cost/ExchangeCost.h"
#include "tenon/Cost/KernelCost.h"
#include "tenon/Cost/LapackCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Sharding/Propagate.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

/// Of what copying a part takes: mostly its reader reads it where it lies.
static constexpr double sliceShare = 1. / 64;

Prices::Prices(const Mesh &mesh, const target::Target &machine)
    : target(target::ofRank(machine, mesh.sizes())), cores(target.cores) {}

AxisParts tenon::sharding::exchangedAlong(const ReshardStep &step) {
  AxisParts along;
  auto take = [&](ArrayRef<AxisPart> parts) {
    for (const AxisPart &part : parts)
      if (!llvm::is_contained(along, part))
        along.push_back(part);
  };
  for (auto [from, to] : llvm::zip_equal(step.from.dims, step.to.dims)) {
    if (from == to)
      continue;
    // Devices with the same first parts have the same of the dimension, unless
    // other parts come in front.
    size_t same = 0;
    while (step.kind != ReshardKind::permute && same < from.size() &&
           same < to.size() && from[same] == to[same])
      ++same;
    take(ArrayRef(from).drop_front(same));
    if (step.kind == ReshardKind::permute)
      take(to);
  }
  for (const AxisPart &part : step.from.pending)
    if (!llvm::is_contained(step.to.pending, part))
      take(part);
  return joined(along);
}

StringRef tenon::sharding::nameOf(ReshardKind kind) {
  switch (kind) {
  case ReshardKind::slice:
    return "slice";
  case ReshardKind::allGather:
    return "all_gather";
  case ReshardKind::allToAll:
    return "all_to_all";
  case ReshardKind::permute:
    return "collective_permute";
  case ReshardKind::reduceScatter:
    return "reduce_scatter";
  case ReshardKind::allReduce:
    return "all_reduce";
  }
  llvm_unreachable("a step of another kind");
}

/// Of what is no slice.
static libraries::CollectiveKind collectiveOf(ReshardKind kind) {
  using Kind = libraries::CollectiveKind;
  switch (kind) {
  case ReshardKind::allGather:
    return Kind::allGather;
  case ReshardKind::allToAll:
    return Kind::allToAll;
  case ReshardKind::reduceScatter:
    return Kind::reduceScatter;
  case ReshardKind::allReduce:
    return Kind::allReduce;
  default:
    return Kind::collectivePermute;
  }
}

double Prices::secondsOf(const ReshardStep &step, ArrayRef<int64_t> shape,
                         int64_t elementBytes) const {
  if (step.kind == ReshardKind::slice) {
    double bytes = 2 * double(elementCount(step.to.localShape(shape))) *
                   double(elementBytes);
    return sliceShare * bytes /
           cost::bandwidthOf(bytes, target).of(cores, target.cores);
  }
  target::Link slowest = cost::noLink;
  AxisParts along = exchangedAlong(step);
  for (const AxisPart &part : along)
    slowest = cost::slowestOf(slowest, target.links[part.axis]);
  return cost::exchangeSeconds(collectiveOf(step.kind), countOf(along),
                               double(receivedBy(step, shape, elementBytes)),
                               slowest);
}

SmallVector<HaloPiece> tenon::sharding::halosOf(Operation *op,
                                                const Factors &rule,
                                                const FactorAxes &axes) {
  SmallVector<HaloPiece> pieces;
  std::array<SmallVector<int64_t>, 2> locals;
  // What devices get of operand `at` along a dimension of it.
  auto take = [&](unsigned at, int64_t dim, unsigned factor, const auto &halo) {
    Value operand = op->getOperand(at);
    if (isMadeAnywhere(operand))
      return;
    SmallVector<int64_t> &local = locals[at];
    if (local.empty())
      local = layoutOf(rule, rule.operands[at], axes, false)
                  .localShape(shapeOf(operand));
    for (int64_t reach : {halo.left, halo.right})
      for (int64_t width : hopsOf(reach, halo.block))
        pieces.push_back({axes[factor], elementCount(local) / local[dim] *
                                            width * elementBytesOf(operand)});
    local[dim] = halo.extent;
  };
  forEachHalo(rule, axes, [&](int64_t dim, unsigned factor, const Halo &halo) {
    take(0, dim, factor, halo);
  });
  forEachScatterHalo(
      rule, axes, [&](int64_t dim, unsigned factor, const ScatterHalo &halo) {
        take(0, dim, factor, halo.operand);
        take(1, dim, factor, halo.source);
      });
  return pieces;
}

double Prices::secondsOf(const HaloPiece &piece) const {
  target::Link slowest = cost::noLink;
  for (const AxisPart &part : piece.along)
    slowest = cost::slowestOf(slowest, target.links[part.axis]);
  return cost::exchangeSeconds(libraries::CollectiveKind::collectivePermute,
                               countOf(piece.along), double(piece.received),
                               slowest);
}

double Prices::secondsOfHalos(Operation *op, const Factors &rule,
                              const FactorAxes &axes) const {
  double seconds = 0;
  for (const HaloPiece &piece : halosOf(op, rule, axes))
    seconds += secondsOf(piece);
  return seconds;
}

double Prices::secondsOf(const ReshardPlan &plan, ArrayRef<int64_t> shape,
                         int64_t elementBytes) const {
  double seconds = 0;
  for (const ReshardStep &step : plan.steps)
    seconds += secondsOf(step, shape, elementBytes);
  return seconds;
}

int64_t tenon::sharding::elementBytesOf(Value tensor) {
  Type element = elementOf(tensor);
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * (complex.getElementType().getIntOrFloatBitWidth() / 8);
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

static bool isMerged(Operation *op) {
  if (!op)
    return false;
  OperationClass kind = classify(op);
  return kind == OperationClass::pointwise ||
         kind == OperationClass::indexMap || kind == OperationClass::view;
}

bool tenon::sharding::isStored(Value value) {
  if (isMadeAnywhere(value))
    return false;
  return !isMerged(value.getDefiningOp()) ||
         llvm::any_of(value.getUsers(), [&](Operation *reader) {
           return !isMerged(reader) ||
                  reader->getBlock() != value.getParentBlock();
         });
}

namespace {

/// The share of an operation's work that is left on each rank.
class LocalWork {
public:
  LocalWork(Operation *op, const Factors &rule, const FactorAxes &axes)
      : op(op), rule(rule), axes(axes) {}

  double share() const {
    // Scores of attention are computed for all features of values, and rows of
    // a table are looked up once per index, wherever the table is cut.
    if (isa<step::AttentionOp>(op))
      return shareOf(rule.results[1]);
    if (isa<stablehlo::GatherOp>(op))
      return shareOf(rule.results[0]);
    if (isa<stablehlo::ScatterOp>(op))
      return shareOf(rule.operands[op->getNumOperands() - 1]);
    double share = 1;
    for (unsigned factor = 0; factor < axes.size(); ++factor)
      share *= shareOf(factor);
    // Windows that reach into the shards of others run on both.
    forEachScatterHalo(
        rule, axes, [&](int64_t, unsigned, const ScatterHalo &halo) {
          share *= double(halo.source.extent) / double(halo.source.block);
        });
    return share;
  }

  double operations() const {
    if (isa<stablehlo::GatherOp>(op))
      return double(elementCount(shapeOf(op->getResult(0))));
    if (isa<stablehlo::ScatterOp>(op))
      return double(
          elementCount(shapeOf(op->getOperand(op->getNumOperands() - 1))));
    return cost::elementOperations(op);
  }

  /// Bytes that are read and written.
  double bytes() const {
    if (classify(op) == OperationClass::view)
      return 0;
    if (isa<stablehlo::GatherOp, stablehlo::DynamicSliceOp>(op))
      return 2 * ofResult(0);
    if (isa<stablehlo::DynamicUpdateSliceOp>(op))
      return 2 * ofOperand(1);
    double bytes = 0;
    for (unsigned at = 0; at < op->getNumOperands(); ++at)
      if (isStored(op->getOperand(at)))
        bytes += ofOperand(at);
    for (unsigned at = 0; at < op->getNumResults(); ++at)
      if (isStored(op->getResult(at)))
        bytes += ofResult(at);
    return bytes + ofHalos();
  }

private:
  /// An operand that is put together is written and read once more, and so is a
  /// result of which the own shard is cut out.
  double ofHalos() const {
    bool scatters = false;
    double scattered = 1, added = 1;
    forEachScatterHalo(
        rule, axes, [&](int64_t, unsigned, const ScatterHalo &halo) {
          scatters = true;
          scattered *= double(halo.operand.extent) / double(halo.operand.block);
          added *= double(halo.source.extent) / double(halo.source.block);
        });
    if (scatters)
      return 2 *
             ((ofOperand(0) + ofResult(0)) * scattered + ofOperand(1) * added);
    bool isOwnShard = true;
    double share = 1;
    forEachHalo(rule, axes, [&](int64_t, unsigned factor, const Halo &halo) {
      isOwnShard &= halo.isOwnShard();
      share *= double(halo.extent) / double(halo.block);
    });
    return isOwnShard ? 0 : 2 * ofOperand(0) * share;
  }
  double shareOf(unsigned factor) const {
    int64_t size = rule.factors[factor].size;
    return size < 2 ? 1
                    : double(shardExtent(size, countOf(axes[factor]))) /
                          double(size);
  }
  double shareOf(const TensorFactors &tensor) const {
    double share = 1;
    for (const auto &dim : tensor)
      for (unsigned factor : dim)
        share *= shareOf(factor);
    return share;
  }
  double ofTensor(Value value, const TensorFactors &tensor) const {
    return double(elementCount(shapeOf(value)) * elementBytesOf(value)) *
           shareOf(tensor);
  }
  double ofOperand(unsigned at) const {
    return ofTensor(op->getOperand(at), rule.operands[at]);
  }
  double ofResult(unsigned at) const {
    return ofTensor(op->getResult(at), rule.results[at]);
  }

  Operation *op;
  const Factors &rule;
  const FactorAxes &axes;
};

} // namespace

/// What a routine of LAPACK takes for all matrices; 0 for any other operation.
static double secondsOfRoutine(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  std::string ignored;
  auto lapack = call ? describeLapack(call, ignored) : std::nullopt;
  return lapack ? cost::lapackSeconds(*lapack) : 0;
}

double Prices::secondsOf(Operation *op, const Factors &rule,
                         const FactorAxes &axes) const {
  LocalWork work(op, rule, axes);
  double share = work.share();
  double flops = contractionFlops(op) * share;
  double compute =
      cost::arithmeticSeconds(work.operations() * share, cores, target) +
      secondsOfRoutine(op) * share;
  if (flops > 0) {
    double reached = isa<step::AttentionOp>(op) ? target.shares.attention
                     : isa<step::AttentionGradientOp>(op)
                         ? target.shares.gradient
                         : target.shares.library;
    ElementType type =
        elementTypeOf(elementOf(op->getOperand(0))).value_or(ElementType::f32);
    compute +=
        flops / (target.computeRate(type).of(cores, target.cores) * reached);
  }
  double bytes = work.bytes();
  double memory =
      bytes / cost::bandwidthOf(bytes, target).of(cores, target.cores);
  return std::max(compute, memory) +
         (isMerged(op) ? 0 : target.overheads.launch);
}

double tenon::sharding::computeSecondsOf(Block &local, const Prices &prices) {
  double seconds = 0;
  for (Operation &op : local.without_terminator()) {
    double inside = 0;
    if (isControl(&op)) {
      // Of branches the longest counts.
      for (Region &region : op.getRegions())
        inside =
            isa<stablehlo::WhileOp>(op)
                ? inside + computeSecondsOf(region.front(), prices)
                : std::max(inside, computeSecondsOf(region.front(), prices));
      seconds +=
          inside *
          double(isa<stablehlo::WhileOp>(op) ? tripCount(&op).value_or(1) : 1);
      continue;
    }
    if (structureOf(&op) == absent ||
        llvm::all_of(op.getResults(), isMadeAnywhere))
      continue;
    const Factors rule = factorsOf(&op);
    seconds += prices.secondsOf(&op, rule, FactorAxes(rule.factors.size()));
  }
  return seconds;
}
