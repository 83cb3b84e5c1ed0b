//===- CheckPartition.cpp - Does a partitioned step compute the step? -----===//
//
// Goes through the partitioned step once. An operation that moves elements, or
// is a collective, changes what is held of a whole tensor; one that computes
// needs an operation of the whole step that computes the same of what its
// operands hold. A whole tensor that is another one with its elements moved is
// looked through, so that transposes, reshapes, slices and repetitions need no
// counterpart.
//
// Integers that depend on the number of the device and on places alone are
// known exactly: they are the starts of shards and the masks of tails.
//
// What becomes of the step behind the partitioner is followed as well: terms
// that a device adds up before all do, in loops, too; tensors that are joined
// to one for a collective; sums in the order of the ranks, for which rows are
// exchanged, added up and gathered.
//
//===----------------------------------------------------------------------===//

#include "tenon/ShardingCheck/CheckPartition.h"

#include "Holding.h"
#include "Labels.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Sharding/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <set>

namespace tenon::shardingcheck {
#define GEN_PASS_DEF_CHECKPARTITIONPASS
#include "tenon/ShardingCheck/Passes.h.inc"
} // namespace tenon::shardingcheck

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

namespace {

using Holdings = SmallVector<Holding, 2>;

bool isView(Operation *op) {
  return isa<stablehlo::TransposeOp, stablehlo::SliceOp, stablehlo::ReshapeOp,
             stablehlo::BroadcastInDimOp, stablehlo::OptimizationBarrierOp>(op);
}

bool isControl(Operation *op) {
  return isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op);
}

/// An operation that ends on a device only when others do it as well.
bool waitsForOthers(Operation *op) {
  return op->hasAttr("replica_groups") || op->hasAttr("source_target_pairs");
}

/// The element that a constant repeats, also where it was moved; null for what
/// is none.
Attribute splatOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      return dense && dense.isSplat() && !isa<ComplexType>(elementOf(value))
                 ? dense.getSplatValue<Attribute>()
                 : Attribute();
    }
    if (!isView(op) || isa<stablehlo::OptimizationBarrierOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// The ways to combine of which an element is the identity, as bits.
unsigned identitiesOf(Attribute element) {
  unsigned bits = 0;
  if (auto floating = dyn_cast_if_present<FloatAttr>(element)) {
    APFloat value = floating.getValue();
    const llvm::fltSemantics &semantics = value.getSemantics();
    bool hasInf = APFloat::semanticsHasInf(semantics);
    auto isEnd = [&](bool isNegative) {
      return hasInf ? value.isInfinity() && value.isNegative() == isNegative
                    : value == APFloat::getLargest(semantics, isNegative);
    };
    if (value.isZero())
      bits |= bitOf(Combine::sum);
    if (isEnd(true))
      bits |= bitOf(Combine::max);
    if (isEnd(false))
      bits |= bitOf(Combine::min);
  } else if (auto integer = dyn_cast_if_present<IntegerAttr>(element)) {
    APInt value = integer.getValue();
    bool isUnsigned =
        integer.getType().isUnsignedInteger() || integer.getType().isInteger(1);
    if (value.isZero())
      bits |= bitOf(Combine::sum);
    if (isUnsigned ? value.isMinValue() : value.isMinSignedValue())
      bits |= bitOf(Combine::max);
    if (isUnsigned ? value.isMaxValue() : value.isMaxSignedValue())
      bits |= bitOf(Combine::min);
  }
  return bits;
}

/// What an operation says beside its operands, without what is only noted.
SmallVector<NamedAttribute> attributesOf(Operation *op,
                                         ArrayRef<StringRef> without) {
  SmallVector<NamedAttribute> kept;
  for (NamedAttribute attribute : op->getAttrDictionary())
    if (!attribute.getName().getValue().contains('.') &&
        !llvm::is_contained(without, attribute.getName().getValue()))
      kept.push_back(attribute);
  return kept;
}

class Checker {
public:
  Checker(func::FuncOp whole, func::FuncOp local, sharding::Mesh mesh)
      : whole(whole), local(local), mesh(std::move(mesh)),
        devices(this->mesh.devices()) {}

  std::optional<PartitionFault> run() {
    if (!readBoundary() || !checkMeetings())
      return fault;
    whole.walk([&](Operation *op) {
      byName[op->getName()].push_back(op);
      if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
        constants[constant.getValue()].push_back(constant.getResult());
    });
    if (!visitBlock(local.getBody().front()))
      return fault;
    Operation *end = local.getBody().front().getTerminator();
    Operation *wholeEnd = whole.getBody().front().getTerminator();
    for (auto [at, layout] : llvm::enumerate(resultLayouts)) {
      Value value = wholeEnd->getOperand(at);
      Value part = end->getOperand(at);
      if (holds(part, value, rangesOf(value, layout)))
        continue;
      Operation *lost = firstLost(part);
      fault = {lost ? lost->getLoc() : end->getLoc(),
               ("result " + Twine(at) +
                " of the partitioned step is not what " + "the layout " +
                layout.text(mesh) + " of result " + Twine(at) +
                " of the whole step says" +
                (lost ? "; '" + lost->getName().getStringRef() +
                            "' computes nothing that the whole step does"
                      : ""))
                   .str()};
      return fault;
    }
    return std::nullopt;
  }

private:
  //===--------------------------------------------------------------------===//
  // The boundary
  //===--------------------------------------------------------------------===//

  bool fail(Location location, const Twine &message) {
    if (!fault)
      fault = {location, message.str()};
    return false;
  }

  bool readBoundary() {
    if (local.getNumArguments() != whole.getNumArguments() ||
        local.getNumResults() != whole.getNumResults())
      return fail(local.getLoc(), "the partitioned step has other arguments or "
                                  "results than the whole one");
    for (auto [at, argument] : llvm::enumerate(whole.getArguments())) {
      auto layout =
          readLayout(local.getArgAttrDict(at), argument.getType(),
                     local.getArgument(at).getType(), "argument " + Twine(at));
      if (!layout)
        return false;
      Holding held = holdingOf(argument, shapeOf(local.getArgument(at)),
                               rangesOf(argument, *layout));
      known[local.getArgument(at)] = {std::move(held)};
    }
    for (unsigned at = 0; at < whole.getNumResults(); ++at) {
      auto layout =
          readLayout(local.getResultAttrDict(at), whole.getResultTypes()[at],
                     local.getResultTypes()[at], "result " + Twine(at));
      if (!layout)
        return false;
      resultLayouts.push_back(std::move(*layout));
    }
    return true;
  }

  std::optional<sharding::Layout> readLayout(DictionaryAttr attributes,
                                             Type wholeType, Type localType,
                                             const Twine &where) {
    auto text = attributes ? attributes.getAs<StringAttr>(step::layoutAttrName)
                           : StringAttr();
    auto tensor = dyn_cast<RankedTensorType>(wholeType);
    std::string error = "there is none";
    auto layout = text ? sharding::Layout::parse(text.getValue(), mesh, error)
                       : std::nullopt;
    if (!layout || !tensor) {
      fail(local.getLoc(), where + " has no layout of a tensor: " + error);
      return std::nullopt;
    }
    if (int64_t(layout->dims.size()) != tensor.getRank() ||
        !layout->pending.empty() ||
        localType != tensor.clone(layout->localShape(tensor.getShape()))) {
      std::string types;
      llvm::raw_string_ostream(types)
          << localType << " is no part of " << tensor;
      fail(local.getLoc(),
           where + ": " + types + " with the layout " + text.getValue());
      return std::nullopt;
    }
    return layout;
  }

  std::vector<Range> rangesOf(Value value, const sharding::Layout &layout) {
    ArrayRef<int64_t> shape = shapeOf(value);
    SmallVector<int64_t> extents = layout.localShape(shape);
    std::vector<Range> ranges;
    for (auto [dim, parts] : llvm::enumerate(layout.dims)) {
      PerDevice start(devices);
      for (int64_t device = 0; device < devices; ++device)
        start[device] = mesh.indexAlong(device, parts) * extents[dim];
      ranges.push_back({std::move(start), 0});
      if (shape[dim] == 1 && parts.empty())
        ranges.back().start.reset();
    }
    return ranges;
  }

  bool holds(Value part, Value value, ArrayRef<Range> expected) {
    for (const Holding &held : holdingsOn(part, value)) {
      auto ranges = blockOf(held);
      if (held.isPending() || !ranges)
        continue;
      bool isAsExpected = true;
      for (auto [own, range] : llvm::zip_equal(*ranges, expected))
        isAsExpected &= !own.start || *own.start == range.start.value_or(
                                                        PerDevice(devices, 0));
      if (isAsExpected)
        return true;
    }
    return false;
  }

  /// The first operation on the way to a value of which nothing is known while
  /// something is known of all its operands.
  Operation *firstLost(Value value) {
    llvm::DenseSet<Operation *> seen;
    SmallVector<Value> open{value};
    Operation *first = nullptr;
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (!op || !seen.insert(op).second)
        continue;
      bool isLost = llvm::none_of(op->getResults(), isKnown());
      if (isLost && llvm::all_of(op->getOperands(), isKnown()) &&
          (!first || first->getBlock() != op->getBlock() ||
           op->isBeforeInBlock(first)))
        first = op;
      if (isLost)
        llvm::append_range(open, op->getOperands());
    }
    return first;
  }
  std::function<bool(Value)> isKnown() {
    return [this](Value value) {
      auto found = known.find(value);
      return (found != known.end() && !found->second.empty()) ||
             numbers.contains(value) || masks.contains(value) ||
             joined.contains(value) || sentRows.contains(value) ||
             splatOf(value);
    };
  }

  //===--------------------------------------------------------------------===//
  // What is held
  //===--------------------------------------------------------------------===//

  /// What a holding of the operand of an operation that moves elements says of
  /// result `at`.
  std::optional<Holding> through(Operation *op, unsigned at,
                                 const Holding &held) {
    Value to = op->getResult(at);
    // What is missing is no such view.
    if (held.missing)
      return std::nullopt;
    if (isa<stablehlo::OptimizationBarrierOp>(op)) {
      Holding same = held;
      same.whole = to;
      return same;
    }
    ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), shape = shapeOf(to);
    if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op))
      return ofTransposed(held, to, transpose.getPermutation());
    if (auto slice = dyn_cast<stablehlo::SliceOp>(op))
      return ofSliced(held, to, slice.getStartIndices(), slice.getStrides());
    if (auto repeat = dyn_cast<stablehlo::BroadcastInDimOp>(op))
      return ofBroadcast(held, to, from, repeat.getBroadcastDimensions(),
                         shape);
    return ofReshaped(held, to, from, shape);
  }

  /// All that is known of a local value as one of `value`.
  Holdings holdingsOn(Value part, Value value) {
    Holdings found;
    if (elementOf(part) != elementOf(value))
      return found;
    if (auto stored = known.find(part); stored != known.end())
      for (const Holding &held : stored->second)
        if (held.whole == value)
          found.push_back(held);
    if (auto mask = masks.find(part); mask != masks.end())
      addMasked(mask->second, value, found);
    Attribute element = splatOf(value);
    if (element && element == splatOf(part))
      found.push_back(anything(value, shapeOf(value), shapeOf(part), devices));
    Operation *op = value.getDefiningOp();
    if (!op)
      return found;
    if (auto iota = dyn_cast<stablehlo::IotaOp>(op)) {
      if (auto number = numbers.find(part); number != numbers.end()) {
        Holding held = number->second;
        int dim = int(iota.getIotaDimension());
        held.whole = value;
        held.base.assign(shapeOf(value).size(), std::nullopt);
        held.tail.assign(shapeOf(value).size(), 0);
        held.base[dim] = number->second.base[0];
        for (Digits &digits : held.dims)
          for (Digit &digit : digits)
            if (digit.of != repeats)
              digit.of = dim;
        found.push_back(std::move(held));
      }
    } else if (isView(op)) {
      unsigned at = isa<stablehlo::OptimizationBarrierOp>(op)
                        ? cast<OpResult>(value).getResultNumber()
                        : 0;
      Value from = op->getOperand(at);
      for (const Holding &held : holdingsOn(part, from))
        for (const Holding &placed :
             isa<stablehlo::ReshapeOp>(op)
                 ? withPlaces(held, shapeOf(from), shapeOf(value))
                 : SmallVector<Holding>{held})
          if (auto moved = through(op, at, placed)) {
            forgetOnlyPlaces(*moved);
            found.push_back(std::move(*moved));
          }
    }
    return found;
  }

  /// Elements of `from` before an index of a dimension, which may depend on the
  /// device; an identity behind it.
  struct Mask {
    Value from;
    int64_t dim;
    PerDevice end;
    unsigned identities;
  };

  void addMasked(const Mask &mask, Value value, Holdings &found) {
    for (const Holding &held : holdingsOn(mask.from, value)) {
      auto ranges = blockOf(held);
      if (!ranges || held.isPending())
        continue;
      Range &range = (*ranges)[mask.dim];
      PerDevice start(devices);
      for (int64_t device = 0; device < devices; ++device)
        start[device] = shapeOf(value)[mask.dim] - mask.end[device];
      // Where all elements are alike, it is the mask that says which they are.
      if (range.start && *range.start != start)
        continue;
      if (llvm::any_of(start, [](int64_t at) { return at < 0; }))
        continue;
      range.start = std::move(start);
      range.tail = mask.identities;
      for (auto [dim, other] : llvm::enumerate(*ranges))
        if (int64_t(dim) != mask.dim)
          other.tail &= mask.identities;
      found.push_back(holdingOf(value, shapeOf(mask.from), *ranges));
    }
  }

  /// What is held, and what is it with its elements moved.
  static SmallVector<Value> viewsOf(ArrayRef<Holding> held) {
    llvm::SetVector<Value> views;
    for (const Holding &one : held)
      views.insert(one.whole);
    for (size_t at = 0; at < views.size(); ++at)
      for (OpOperand &use : views[at].getUses()) {
        Operation *user = use.getOwner();
        if (isa<stablehlo::OptimizationBarrierOp>(user))
          views.insert(user->getResult(use.getOperandNumber()));
        else if (isView(user))
          views.insert(user->getResult(0));
      }
    return views.takeVector();
  }

  /// Operations of the whole step by this name that read something of which a
  /// local operand holds parts.
  SmallVector<Operation *> candidatesFor(Operation *op) {
    llvm::SetVector<Operation *> found;
    bool hasOrigin = false;
    for (Value operand : op->getOperands()) {
      Value origin = operand;
      while (masks.contains(origin))
        origin = masks.find(origin)->second.from;
      auto stored = known.find(origin);
      if (stored == known.end() || stored->second.empty())
        continue;
      hasOrigin = true;
      for (Value view : viewsOf(stored->second))
        for (Operation *user : view.getUsers())
          if (user->getName() == op->getName())
            found.insert(user);
      break;
    }
    if (!hasOrigin)
      return byName.lookup(op->getName());
    return found.takeVector();
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  bool visitBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      if (!visit(&op))
        return false;
    return true;
  }

  bool visit(Operation *op) {
    for (Value result : op->getResults()) {
      known.erase(result);
      numbers.erase(result);
      masks.erase(result);
      joined.erase(result);
      sentRows.erase(result);
      ownSums.erase(result);
    }
    if (isControl(op))
      return visitControl(op);
    visitNumbers(op);
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      if (!splatOf(constant.getResult()))
        for (Value value : constants.lookup(constant.getValue()))
          add(constant.getResult(), everything(value, shapeOf(value), devices));
      return true;
    }
    if (isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp,
            stablehlo::AllToAllOp, stablehlo::ReduceScatterOp,
            stablehlo::CollectivePermuteOp>(op)) {
      visitCollective(op);
      visitExchangeOfRows(op);
      return true;
    }
    visitMovement(op);
    visitJoined(op);
    if (auto select = dyn_cast<stablehlo::SelectOp>(op))
      visitSelect(select);
    if (auto add = dyn_cast<stablehlo::AddOp>(op))
      visitSumOfTerms(add);
    if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
      visitSumOfRows(reduce);
    visitComputation(op);
    return true;
  }

  /// All elements along a dimension of one element are alike.
  static void forgetOnlyPlaces(Holding &held) {
    for (auto [dim, base] : llvm::enumerate(held.base)) {
      auto isOf = [&, dim = dim](const Digit &digit) {
        return digit.of == int(dim);
      };
      if (shapeOf(held.whole)[dim] == 1 && base &&
          llvm::all_of(*base, [](int64_t at) { return at == 0; }) &&
          llvm::none_of(held.dims, [&](const Digits &digits) {
            return llvm::any_of(digits, isOf);
          }))
        base.reset();
    }
  }

  void add(Value part, Holding held) {
    if (held.dims.size() != shapeOf(part).size())
      return;
    forgetOnlyPlaces(held);
    known[part].push_back(std::move(held));
  }

  static SmallVector<int64_t> extentsOf(Value value) {
    return SmallVector<int64_t>(shapeOf(value));
  }

  /// What an operation that moves elements makes of one holding.
  std::optional<Holding> moved(Operation *op, const Holding &held,
                               ArrayRef<int64_t> wholeShape) {
    Value from = op->getOperand(0), to = op->getResult(0);
    if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op))
      return transposed(held, transpose.getPermutation());
    if (isa<stablehlo::ReshapeOp>(op))
      return reshaped(held, shapeOf(to));
    if (auto repeat = dyn_cast<stablehlo::BroadcastInDimOp>(op))
      return broadcast(held, repeat.getBroadcastDimensions(), shapeOf(to));
    if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
      SmallVector<PerDevice> starts;
      for (int64_t start : slice.getStartIndices())
        starts.push_back(PerDevice(devices, start));
      return sliced(held, starts, shapeOf(to), slice.getStrides());
    }
    if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op)) {
      SmallVector<PerDevice> starts;
      for (auto [dim, index] : llvm::enumerate(slice.getStartIndices())) {
        auto number = scalarOf(index);
        if (!number)
          return std::nullopt;
        starts.push_back(*number);
        for (int64_t &at : starts.back())
          at =
              std::clamp<int64_t>(at, 0, shapeOf(from)[dim] - shapeOf(to)[dim]);
      }
      SmallVector<int64_t> ones(starts.size(), 1);
      return sliced(held, starts, shapeOf(to), ones);
    }
    if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
      if (llvm::any_of(pad.getInteriorPadding(),
                       [](int64_t at) { return at != 0; }))
        return std::nullopt;
      return padded(held, wholeShape, pad.getEdgePaddingLow(),
                    pad.getEdgePaddingHigh(), devices);
    }
    return std::nullopt;
  }

  void visitMovement(Operation *op) {
    if (isa<stablehlo::OptimizationBarrierOp>(op)) {
      for (auto [from, to] :
           llvm::zip_equal(op->getOperands(), op->getResults()))
        if (auto stored = known.find(from); stored != known.end()) {
          Holdings copy = stored->second;
          known[to] = std::move(copy);
        }
      return;
    }
    if (!isView(op) && !isa<stablehlo::DynamicSliceOp, stablehlo::PadOp>(op))
      return;
    auto stored = known.find(op->getOperand(0));
    if (stored == known.end())
      return;
    Holdings copy = stored->second;
    // What is added must be outside of the tensor that the holding is of.
    if (isa<stablehlo::PadOp>(op)) {
      SmallVector<Value> views = viewsOf(copy);
      copy.clear();
      for (Value view : views)
        llvm::append_range(copy, holdingsOn(op->getOperand(0), view));
    }
    for (const Holding &held : copy)
      if (auto result = moved(op, held, shapeOf(held.whole)))
        add(op->getResult(0), std::move(*result));
      else if (isa<stablehlo::ReshapeOp>(op))
        reshapeInOrder(op, held.whole);
  }

  /// Shapes without common factors: elements keep their order, here and in a
  /// reshape of the whole step.
  void reshapeInOrder(Operation *op, Value from) {
    for (Value view : viewsOf({anything(from, {}, {}, devices)}))
      for (Operation *user : view.getUsers()) {
        if (!isa<stablehlo::ReshapeOp>(user))
          continue;
        int64_t count = elementCount(shapeOf(view));
        for (const Holding &held : holdingsOn(op->getOperand(0), view)) {
          if (held.missing)
            continue;
          auto row = ofReshaped(held, {}, shapeOf(view), {count});
          auto local =
              row ? reshaped(*row, shapeOf(op->getResult(0))) : std::nullopt;
          auto result = local ? ofReshaped(*local, user->getResult(0), {count},
                                           shapeOf(user->getResult(0)))
                              : std::nullopt;
          if (result)
            add(op->getResult(0), std::move(*result));
        }
      }
  }

  /// Whether two regions on elements compute the same.
  bool sameRegions(Operation *part, Operation *op) {
    if (part->getNumRegions() != op->getNumRegions())
      return false;
    llvm::DenseMap<Value, Value> same;
    auto areSame = [&](Value a, Value b) {
      if (auto found = same.find(a); found != same.end())
        return success(found->second == b);
      return success(shapeOf(a).empty() && shapeOf(b).empty() &&
                     llvm::any_of(holdingsOn(a, b), [](const Holding &held) {
                       return !held.isPending();
                     }));
    };
    for (auto [a, b] : llvm::zip_equal(part->getRegions(), op->getRegions()))
      if (!OperationEquivalence::isRegionEquivalentTo(
              &a, &b, areSame, [&](Value x, Value y) { same[x] = y; },
              OperationEquivalence::IgnoreLocations))
        return false;
    return true;
  }

  void visitComputation(Operation *op) {
    for (Value result : op->getResults())
      if (!isa<RankedTensorType>(result.getType()))
        return;
    for (Operation *candidate : candidatesFor(op)) {
      if (candidate->getNumOperands() != op->getNumOperands() ||
          candidate->getNumResults() != op->getNumResults())
        continue;
      std::vector<Holding> results;
      if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op)) {
        auto whole = cast<stablehlo::ScatterOp>(candidate);
        if (!relateScatter(scatter, whole, false, results) &&
            !relateScatter(scatter, whole, true, results))
          continue;
      } else {
        auto labels = labelsOf(candidate);
        if (!labels)
          continue;
        SmallVector<StringRef> without;
        if (isa<stablehlo::GatherOp, stablehlo::DynamicSliceOp>(op))
          without.push_back("slice_sizes");
        if (attributesOf(op, without) != attributesOf(candidate, without) ||
            !sameSliceSizes(op, candidate, *labels) ||
            !sameRegions(op, candidate) ||
            !relate(op->getOperands(), op->getResults(), candidate, *labels,
                    results))
          continue;
      }
      for (auto [value, held] : llvm::zip_equal(op->getResults(), results))
        add(value, std::move(held));
    }
  }

  /// A slice is as large as the whole one, or all of what the device has of a
  /// dimension of which the whole one takes everything.
  bool sameSliceSizes(Operation *part, Operation *op, const Labels &labels) {
    auto sizes = part->getAttrOfType<DenseI64ArrayAttr>("slice_sizes");
    auto wholeSizes = op->getAttrOfType<DenseI64ArrayAttr>("slice_sizes");
    if (!sizes || !wholeSizes)
      return sizes == wholeSizes;
    if (sizes.size() != wholeSizes.size())
      return false;
    ArrayRef<int64_t> extents = shapeOf(part->getOperand(0)),
                      shape = shapeOf(op->getOperand(0));
    for (int64_t dim = 0; dim < sizes.size(); ++dim) {
      bool isAll = labels.operands[0][dim] != shardingcheck::whole &&
                   wholeSizes[dim] == shape[dim] && shape[dim] > 1;
      if (isAll ? sizes[dim] != extents[dim] : sizes[dim] != wholeSizes[dim])
        return false;
    }
    return true;
  }

  /// Where the dimensions of a label lie.
  struct Place {
    std::optional<int64_t> extent;
    std::optional<PerDevice> start;
    int64_t wholeExtent = 1;
    SmallVector<unsigned> tails;
  };

  bool place(std::vector<Place> &places, const TensorLabels &labels, Value part,
             Value value, ArrayRef<Range> ranges) {
    ArrayRef<int64_t> extents = shapeOf(part), shape = shapeOf(value);
    for (auto [dim, label] : llvm::enumerate(labels)) {
      const Range &range = ranges[dim];
      if (label == shardingcheck::whole) {
        if (extents[dim] != shape[dim] ||
            (range.start &&
             llvm::any_of(*range.start, [](int64_t at) { return at != 0; })))
          return false;
        continue;
      }
      Place &known = places[label];
      if (known.extent.value_or(extents[dim]) != extents[dim] ||
          (known.start && range.start && *known.start != *range.start))
        return false;
      known.extent = extents[dim];
      known.wholeExtent = shape[dim];
      if (range.start)
        known.start = range.start;
      known.tails.push_back(range.tail);
    }
    return true;
  }

  bool placeOperand(std::vector<Place> &places, const TensorLabels &labels,
                    Value part, Value value) {
    for (const Holding &held : holdingsOn(part, value)) {
      auto ranges = blockOf(held);
      if (held.isPending() || !ranges || ranges->size() != labels.size())
        continue;
      std::vector<Place> tried = places;
      if (!place(tried, labels, part, value, *ranges))
        continue;
      places = std::move(tried);
      return true;
    }
    return false;
  }

  /// Splits of a label that a result does not have: which of the shares each
  /// device has.
  struct Shares {
    PerDevice share;
    int64_t count = 1;
    std::optional<Combine> combine;
  };

  bool addShares(const Label &label, const Place &place, Shares &shares) {
    if (!place.extent)
      return true;
    if (!label.combine) // what the result does not depend on
      return true;
    int64_t extent = *place.extent, total = place.wholeExtent;
    if (!place.start)
      return extent == total;
    std::set<int64_t> starts(place.start->begin(), place.start->end());
    int64_t next = 0;
    for (int64_t start : starts) {
      if (start != next)
        return false;
      next += extent;
    }
    if (next < total)
      return false;
    if (next > total && label.readsTail &&
        llvm::any_of(place.tails, [&](unsigned tail) {
          return !(tail & bitOf(*label.combine));
        }))
      return false;
    if (starts.size() == 1)
      return true;
    if (shares.combine && *shares.combine != *label.combine)
      return false;
    shares.combine = label.combine;
    shares.share.resize(devices, 0);
    for (int64_t device = 0; device < devices; ++device)
      shares.share[device] = shares.share[device] * int64_t(starts.size()) +
                             (*place.start)[device] / extent;
    shares.count *= int64_t(starts.size());
    return true;
  }

  /// What a result holds, from where the labels lie.
  bool placeResult(const std::vector<Place> &places, const Labels &labels,
                   unsigned at, Value part, Value value, Holding &held) {
    std::vector<Range> ranges;
    ArrayRef<int64_t> extents = shapeOf(part), shape = shapeOf(value);
    for (auto [dim, label] : llvm::enumerate(labels.results[at])) {
      if (label == shardingcheck::whole || !places[label].extent) {
        // A dimension that no operand has is made as a whole.
        if (extents[dim] != shape[dim])
          return false;
        ranges.push_back({PerDevice(devices, 0), 0});
        if (shape[dim] == 1)
          ranges.back().start.reset();
        continue;
      }
      if (extents[dim] != *places[label].extent)
        return false;
      ranges.push_back({places[label].start, 0});
    }
    held = holdingOf(value, extents, ranges);
    Shares shares;
    for (auto [number, label] : llvm::enumerate(labels.labels))
      if (!llvm::is_contained(labels.results[at], int(number)) &&
          !addShares(label, places[number], shares))
        return false;
    if (shares.count > 1) {
      held.share = shares.share;
      held.shares = shares.count;
      held.combine = *shares.combine;
    }
    return true;
  }

  /// A splat initial value that may be combined with by every device.
  static bool isNeutral(Value init, Combine combine) {
    return combine != Combine::sum ||
           identitiesOf(splatOf(init)) & bitOf(Combine::sum);
  }

  bool relate(ValueRange operands, ValueRange parts, Operation *op,
              const Labels &labels, std::vector<Holding> &results) {
    std::vector<Place> places(labels.labels.size());
    for (auto [at, part] : llvm::enumerate(operands))
      if (!placeOperand(places, labels.operands[at], part, op->getOperand(at)))
        return false;
    for (auto [label, place] : llvm::zip_equal(labels.labels, places))
      if (label.isEven && place.start && place.extent)
        for (int64_t start : *place.start)
          if (start + *place.extent > place.wholeExtent)
            return false;
    for (auto [at, part] : llvm::enumerate(parts)) {
      Holding held;
      if (!placeResult(places, labels, at, part, op->getResult(at), held))
        return false;
      if (held.isPending())
        if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
            reduce && !isNeutral(reduce.getInitValues()[0], held.combine))
          return false;
      results.push_back(std::move(held));
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Indices
  //===--------------------------------------------------------------------===//

  /// A known number per component of index vectors, and device.
  std::optional<SmallVector<PerDevice>>
  components(Value value, int64_t vectorDim, int64_t count) {
    auto repeat = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
    if (!repeat) {
      Attribute element = splatOf(value);
      auto integer = dyn_cast_if_present<IntegerAttr>(element);
      if (!integer)
        return std::nullopt;
      return SmallVector<PerDevice>(
          count, PerDevice(devices, integer.getValue().getSExtValue()));
    }
    if (shapeOf(repeat.getOperand()).empty()) {
      if (count != 1)
        return std::nullopt;
    } else if (repeat.getBroadcastDimensions() != ArrayRef(vectorDim)) {
      return std::nullopt;
    }
    auto list = elementsOf(repeat.getOperand());
    if (!list || int64_t(list->size()) != count)
      return std::nullopt;
    return list;
  }

  /// The known elements of a small tensor of integers.
  std::optional<SmallVector<PerDevice>> elementsOf(Value value) {
    if (shapeOf(value).empty())
      if (auto number = scalarOf(value))
        return SmallVector<PerDevice>{*number};
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
      if (!dense || dense.getNumElements() > 64)
        return std::nullopt;
      SmallVector<PerDevice> list;
      for (const APInt &element : dense.getValues<APInt>())
        list.push_back(PerDevice(devices, element.getSExtValue()));
      return list;
    }
    if (isa<stablehlo::ReshapeOp, stablehlo::ConvertOp>(op) &&
        isa<IntegerType>(elementOf(value)) &&
        isa<IntegerType>(elementOf(op->getOperand(0)))) {
      auto list = elementsOf(op->getOperand(0));
      if (list)
        for (PerDevice &element : *list)
          if (!fits(element, elementOf(value)))
            return std::nullopt;
      return list;
    }
    if (isa<stablehlo::ConcatenateOp>(op)) {
      SmallVector<PerDevice> list;
      for (Value operand : op->getOperands()) {
        auto part = elementsOf(operand);
        if (!part)
          return std::nullopt;
        llvm::append_range(list, *part);
      }
      return list;
    }
    return std::nullopt;
  }

  /// Indices into a shard: those of the whole tensor less where it starts.
  struct LocalIndices {
    Value from;
    SmallVector<PerDevice> starts;
  };

  std::optional<LocalIndices> localIndices(Value indices, int64_t vectorDim,
                                           int64_t count) {
    auto subtract = indices.getDefiningOp<stablehlo::SubtractOp>();
    if (subtract && elementOf(indices).isSignlessInteger(64))
      if (auto starts = components(subtract.getRhs(), vectorDim, count))
        return LocalIndices{subtract.getLhs(), *starts};
    return std::nullopt;
  }

  /// Widening conversions keep every index.
  static Value narrowed(Value value) {
    while (auto convert = value.getDefiningOp<stablehlo::ConvertOp>()) {
      auto from = dyn_cast<IntegerType>(elementOf(convert.getOperand()));
      auto to = dyn_cast<IntegerType>(elementOf(value));
      if (!from || !to || from.getWidth() + from.isUnsigned() > to.getWidth() ||
          from.isInteger(1))
        return value;
      value = convert.getOperand();
    }
    return value;
  }

  bool relateScatter(stablehlo::ScatterOp part, stablehlo::ScatterOp op,
                     bool isShifted, std::vector<Holding> &results) {
    auto labels = labelsOf(op);
    if (!labels || part.getInputs().size() != 1 ||
        attributesOf(part, {}) != attributesOf(op, {}) ||
        !sameRegions(part, op))
      return false;
    auto numbers = op.getScatterDimensionNumbers();
    ArrayRef<int64_t> dims = numbers.getScatterDimsToOperandDims();
    Value from = part.getScatterIndices();
    SmallVector<PerDevice> starts(dims.size(), PerDevice(devices, 0));
    if (isShifted) {
      auto indices =
          localIndices(from, numbers.getIndexVectorDim(), dims.size());
      if (!indices)
        return false;
      from = narrowed(indices->from);
      starts = indices->starts;
    }
    Value input = part.getInputs()[0];
    PerDevice isFirst;
    if (auto found = firsts.find(input); found != firsts.end()) {
      input = found->second.first;
      isFirst = found->second.second;
    }
    std::vector<Place> places(labels->labels.size());
    if (!placeOperand(places, labels->operands[0], input, op.getInputs()[0]))
      return false;
    // What is outside does not matter where zeros are added.
    if (!placeOperand(places, labels->operands[1], from,
                      op.getScatterIndices()))
      return false;
    for (Place &place : places)
      place.tails.clear();
    if (!placeOperand(places, labels->operands[2], part.getUpdates()[0],
                      op.getUpdates()[0]))
      return false;
    for (auto [at, dim] : llvm::enumerate(dims)) {
      int label = labels->operands[0][dim];
      PerDevice start(devices, 0);
      if (label != shardingcheck::whole) {
        // Where all elements are alike, indices say which rows these are.
        if (!places[label].start)
          places[label].start = starts[at];
        start = *places[label].start;
      }
      if (starts[at] != start ||
          llvm::any_of(start, [](int64_t row) { return row < 0; }))
        return false;
    }
    Holding held;
    if (!placeResult(places, *labels, 0, part.getResult(0), op.getResult(0),
                     held))
      return false;
    if (held.isPending()) {
      // The devices that have the operand are those of one share.
      std::set<int64_t> with, without;
      for (int64_t device = 0; device < devices && !isFirst.empty(); ++device)
        (isFirst[device] ? with : without).insert(held.share[device]);
      if (with.size() != 1 || without.contains(*with.begin()))
        return false;
    } else if (!isFirst.empty()) {
      return false;
    }
    results.push_back(std::move(held));
    return true;
  }

  /// select(index is here, gather(indices - start), 0).
  void visitMaskedGather(stablehlo::SelectOp select) {
    auto part = select.getOnTrue().getDefiningOp<stablehlo::GatherOp>();
    auto spread = select.getPred().getDefiningOp<stablehlo::BroadcastInDimOp>();
    if (!part || !spread ||
        !(identitiesOf(splatOf(select.getOnFalse())) & bitOf(Combine::sum)))
      return;
    auto numbers = part.getDimensionNumbers();
    SmallVector<int64_t> batch;
    for (int64_t dim = 0; dim < int64_t(shapeOf(part.getResult()).size());
         ++dim)
      if (!llvm::is_contained(numbers.getOffsetDims(), dim))
        batch.push_back(dim);
    if (spread.getBroadcastDimensions() != ArrayRef(batch))
      return;
    int64_t vectorDim = numbers.getIndexVectorDim();
    ArrayRef<int64_t> dims = numbers.getStartIndexMap();
    Value indices = part.getStartIndices();
    auto shifted = localIndices(indices, vectorDim, dims.size());
    if (!shifted)
      return;
    auto clamp = narrowed(shifted->from).getDefiningOp<stablehlo::ClampOp>();
    if (!clamp)
      return;
    auto least = components(clamp.getMin(), vectorDim, dims.size());
    auto most = components(clamp.getMax(), vectorDim, dims.size());
    // Whether the index is here, for each component.
    Value isHere = spread.getOperand();
    if (vectorDim < int64_t(shapeOf(indices).size())) {
      auto all = isHere.getDefiningOp<stablehlo::ReduceOp>();
      if (!all || all.getInputs().size() != 1 ||
          all.getDimensions() != ArrayRef(vectorDim) ||
          combineOf(all.getBody()) != Combine::min ||
          !(identitiesOf(splatOf(all.getInitValues()[0])) &
            bitOf(Combine::min)))
        return;
      isHere = all.getInputs()[0];
    }
    auto both = isHere.getDefiningOp<stablehlo::AndOp>();
    if (!least || !most || !both)
      return;
    auto low = both.getLhs().getDefiningOp<stablehlo::CompareOp>();
    auto high = both.getRhs().getDefiningOp<stablehlo::CompareOp>();
    using stablehlo::ComparisonDirection;
    if (!low || !high || low.getLhs() != indices || high.getLhs() != indices ||
        low.getComparisonDirection() != ComparisonDirection::GE ||
        high.getComparisonDirection() != ComparisonDirection::LT)
      return;
    auto from = components(low.getRhs(), vectorDim, dims.size());
    auto to = components(high.getRhs(), vectorDim, dims.size());
    if (!from || !to)
      return;
    Value plain = narrowed(clamp.getOperand());
    SmallVector<Operation *> candidates = byName.lookup(part->getName());
    for (Operation *candidate : candidates) {
      auto op = cast<stablehlo::GatherOp>(candidate);
      Labels labels = labelsOfGather(op, true);
      if (attributesOf(part, {"slice_sizes"}) !=
              attributesOf(op, {"slice_sizes"}) ||
          !sameSliceSizes(part, op, labels))
        continue;
      std::vector<Place> places(labels.labels.size());
      if (!placeOperand(places, labels.operands[0], part.getOperand(),
                        op.getOperand()) ||
          !placeOperand(places, labels.operands[1], plain,
                        op.getStartIndices()))
        continue;
      bool isRight = true;
      ArrayRef<int64_t> shape = shapeOf(op.getOperand());
      for (auto [at, dim] : llvm::enumerate(dims)) {
        int label = labels.operands[0][dim];
        PerDevice start(devices, 0);
        if (label != shardingcheck::whole && places[label].start)
          start = *places[label].start;
        int64_t extent = shapeOf(part.getOperand())[dim];
        int64_t largest = shape[dim] - op.getSliceSizes()[dim];
        for (int64_t device = 0; device < devices; ++device)
          isRight &= (*least)[at][device] == 0 && (*from)[at][device] == 0 &&
                     (*most)[at][device] == largest &&
                     shifted->starts[at][device] == start[device] &&
                     ((*to)[at][device] == extent ||
                      (extent == shape[dim] && (*to)[at][device] > extent));
      }
      Holding held;
      if (isRight && placeResult(places, labels, 0, select.getResult(),
                                 op.getResult(), held))
        add(select.getResult(), std::move(held));
    }
  }

  //===--------------------------------------------------------------------===//
  // Masks
  //===--------------------------------------------------------------------===//

  void visitSelect(stablehlo::SelectOp select) {
    visitMaskedGather(select);
    auto compare = select.getPred().getDefiningOp<stablehlo::CompareOp>();
    if (!compare)
      return;
    auto left = numbers.find(compare.getLhs());
    auto right = numbers.find(compare.getRhs());
    unsigned identities = identitiesOf(splatOf(select.getOnFalse()));
    if (left == numbers.end() || right == numbers.end() || !identities ||
        !isUniform(right->second))
      return;
    using stablehlo::ComparisonDirection;
    ComparisonDirection direction = compare.getComparisonDirection();
    const PerDevice &least = *left->second.base[0];
    PerDevice end = *right->second.base[0];
    for (int64_t device = 0; device < devices; ++device)
      end[device] -= least[device];
    auto places = compare.getLhs().getDefiningOp<stablehlo::IotaOp>();
    if (isUniform(left->second) && !places) {
      if (direction != ComparisonDirection::EQ ||
          !(identities & bitOf(Combine::sum)))
        return;
      for (int64_t &at : end)
        at = at == 0;
      firsts[select.getResult()] = {select.getOnTrue(), std::move(end)};
      return;
    }
    std::optional<int64_t> dim;
    if (places && isUniform(left->second))
      dim = places.getIotaDimension(); // of one element
    for (auto [at, digits] : llvm::enumerate(left->second.dims))
      for (const Digit &digit : digits)
        if (digit.of != repeats) {
          if (dim || digits.size() != 1 || digit.step != 1)
            return;
          dim = at;
        }
    if (dim && direction == ComparisonDirection::LT)
      masks[select.getResult()] = {select.getOnTrue(), *dim, std::move(end),
                                   identities};
  }

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  static bool isUniform(const Holding &number) {
    return llvm::all_of(number.dims, [](const Digits &digits) {
      return llvm::all_of(digits,
                          [](const Digit &d) { return d.of == repeats; });
    });
  }

  /// The known value of a scalar on every device.
  std::optional<PerDevice> scalarOf(Value value) {
    auto found = numbers.find(value);
    if (found == numbers.end() || !isUniform(found->second))
      return std::nullopt;
    return *found->second.base[0];
  }

  /// Whether a type holds these numbers exactly.
  static bool fits(ArrayRef<int64_t> values, Type type) {
    int64_t least = 0, most = 0;
    if (auto integer = dyn_cast<IntegerType>(type)) {
      unsigned width = std::min(integer.getWidth(), 62u);
      if (width < 2)
        return false;
      most = integer.isUnsigned() ? (int64_t(1) << width) - 1
                                  : (int64_t(1) << (width - 1)) - 1;
      least = integer.isUnsigned() ? 0 : -most - 1;
    } else if (auto floating = dyn_cast<FloatType>(type)) {
      unsigned precision = std::min(floating.getFPMantissaWidth(), 53u);
      most = int64_t(1) << precision;
      if (floating.getWidth() < 16)
        return false;
      least = -most;
    }
    return most > 0 && llvm::all_of(values, [&](int64_t value) {
             return value >= least && value <= most;
           });
  }

  void setNumber(Value value, Holding number) {
    PerDevice ends = *number.base[0];
    for (const Digits &digits : number.dims)
      for (const Digit &digit : digits)
        for (int64_t &end : ends)
          end += (digit.size - 1) * digit.step;
    if (fits(*number.base[0], elementOf(value)) && fits(ends, elementOf(value)))
      numbers[value] = std::move(number);
  }

  void visitNumbers(Operation *op) {
    if (op->getNumResults() != 1 ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      return;
    Value result = op->getResult(0);
    ArrayRef<int64_t> shape = shapeOf(result);
    Holding number = anything({}, {0}, shape, devices);
    PerDevice base(devices, 0);
    if (isa<stablehlo::PartitionIdOp>(op)) {
      for (int64_t device = 0; device < devices; ++device)
        base[device] = device;
    } else if (auto iota = dyn_cast<stablehlo::IotaOp>(op)) {
      Digits &digits = number.dims[iota.getIotaDimension()];
      for (Digit &digit : digits)
        digit = {digit.size, 0, 1};
    } else if (isa<stablehlo::ConstantOp>(op)) {
      auto element = dyn_cast_if_present<IntegerAttr>(splatOf(result));
      if (!element || element.getType().isInteger(1) ||
          element.getValue().getBitWidth() > 64)
        return;
      base.assign(devices, elementOf(result).isUnsignedInteger()
                               ? int64_t(element.getValue().getZExtValue())
                               : element.getValue().getSExtValue());
    } else {
      SmallVector<const Holding *> inputs;
      for (Value operand : op->getOperands()) {
        auto found = numbers.find(operand);
        if (found == numbers.end())
          return;
        inputs.push_back(&found->second);
      }
      if (inputs.empty())
        return;
      if (isView(op) || isa<stablehlo::DynamicSliceOp>(op)) {
        // There is no outside among all numbers.
        Holding held = *inputs[0];
        auto result = moved(op, held, {});
        if (result)
          setNumber(op->getResult(0), std::move(*result));
        return;
      }
      if (isa<stablehlo::ConvertOp>(op)) {
        setNumber(result, Holding(*inputs[0]));
        return;
      }
      if (inputs.size() != 2)
        return;
      const Holding &a = *inputs[0], &b = *inputs[1];
      for (int64_t device = 0; device < devices; ++device) {
        int64_t x = (*a.base[0])[device], y = (*b.base[0])[device];
        if (isa<stablehlo::AddOp>(op))
          base[device] = x + y;
        else if (isa<stablehlo::SubtractOp>(op))
          base[device] = x - y;
        else if (isa<stablehlo::MultiplyOp>(op) && std::abs(x) < (1ll << 31) &&
                 std::abs(y) < (1ll << 31))
          base[device] = x * y;
        else if (isa<stablehlo::DivideOp>(op) && x >= 0 && y > 0)
          base[device] = x / y;
        else if (isa<stablehlo::RemainderOp>(op) && x >= 0 && y > 0)
          base[device] = x % y;
        else
          return;
      }
      if (!isa<IntegerType>(elementOf(result)) &&
          !isa<stablehlo::AddOp, stablehlo::SubtractOp>(op))
        return;
      if (!isUniform(b))
        return;
      if (!isUniform(a) && !isa<stablehlo::AddOp, stablehlo::SubtractOp>(op))
        return;
      number.dims = a.dims;
    }
    number.base[0] = std::move(base);
    setNumber(result, std::move(number));
  }

  //===--------------------------------------------------------------------===//
  // Collectives
  //===--------------------------------------------------------------------===//

  /// A collective that not all devices come to in the same order never ends,
  /// whether its result is read or not. One program runs on all of them, and
  /// visitControl() refuses loops and branches in which they could part. What
  /// is left is that each collective stands where this is known and has groups
  /// that hold each device once; its verifier compares sizes with the groups.
  bool checkMeetings() {
    auto module = local->getParentOfType<ModuleOp>();
    return !module
                .walk([&](Operation *op) {
                  return !waitsForOthers(op) || meets(op)
                             ? WalkResult::advance()
                             : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  bool meets(Operation *op) {
    std::string name = ("'" + op->getName().getStringRef() + "'").str();
    Operation *around = op->getParentOp();
    while (around && isControl(around))
      around = around->getParentOp();
    if (around != local)
      return fail(op->getLoc(), name + " stands outside of @main and its loops "
                                       "and branches, where the check does not "
                                       "see which devices come to it");
    if (auto permute = dyn_cast<stablehlo::CollectivePermuteOp>(op))
      return sourcesOf(permute) ||
             fail(op->getLoc(), name + " has to name each of the " +
                                    Twine(devices) +
                                    " devices once as a source and once as a "
                                    "target, with a channel above 0");
    if (!isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp,
             stablehlo::AllToAllOp, stablehlo::ReduceScatterOp>(op))
      return fail(op->getLoc(),
                  name + " is no collective that a partitioned step may have");
    if (!groupsOf(op))
      return fail(op->getLoc(),
                  name + " has to have each of the " + Twine(devices) +
                      " devices in one of its groups, with a channel above 0 "
                      "and global device ids, or some devices wait for ever");
    return true;
  }

  /// The groups of a collective if each device is in one of them. All have
  /// them behind checkMeetings(), and so it is with sourcesOf().
  std::optional<Groups> groupsOf(Operation *op) {
    auto table = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
    auto channel =
        op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
    bool needsFlag = !isa<stablehlo::AllToAllOp>(op);
    if (!table || table.getType().getRank() != 2 || !channel ||
        channel.getHandle() <= 0 ||
        (needsFlag && !op->hasAttr("use_global_device_ids")))
      return std::nullopt;
    Groups groups(table.getType().getShape()[0]);
    SmallVector<bool> seen(devices);
    auto values = table.getValues<APInt>();
    int64_t size = table.getType().getShape()[1];
    if (groups.empty() || size == 0 || int64_t(groups.size()) * size != devices)
      return std::nullopt;
    for (auto [at, value] : llvm::enumerate(values)) {
      int64_t device = value.getSExtValue();
      if (device < 0 || device >= devices || seen[device])
        return std::nullopt;
      seen[device] = true;
      groups[int64_t(at) / size].push_back(device);
    }
    return groups;
  }

  /// Who sends to each device; nothing unless each one receives and sends once.
  std::optional<SmallVector<int64_t>>
  sourcesOf(stablehlo::CollectivePermuteOp op) {
    SmallVector<int64_t> sources(devices, -1);
    SmallVector<bool> sends(devices);
    auto pairs = op.getSourceTargetPairs();
    if (pairs.getNumElements() != 2 * devices || !op.getChannelHandle() ||
        op.getChannelHandle()->getHandle() <= 0)
      return std::nullopt;
    SmallVector<int64_t> values;
    for (const APInt &value : pairs.getValues<APInt>())
      values.push_back(value.getSExtValue());
    for (size_t at = 0; at < values.size(); at += 2) {
      int64_t from = values[at], to = values[at + 1];
      if (from < 0 || to < 0 || from >= devices || to >= devices ||
          sources[to] >= 0 || sends[from])
        return std::nullopt;
      sources[to] = from;
      sends[from] = true;
    }
    return sources;
  }

  void visitCollective(Operation *op) {
    if (op->getNumOperands() != 1)
      return;
    auto stored = known.find(op->getOperand(0));
    if (stored == known.end())
      return;
    Holdings copy = stored->second;
    std::optional<Groups> groups;
    if (!isa<stablehlo::CollectivePermuteOp>(op))
      groups = groupsOf(op);
    for (const Holding &held : copy) {
      std::optional<Holding> result;
      if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
        result = gathered(held, *groups, gather.getAllGatherDim());
      } else if (auto exchange = dyn_cast<stablehlo::AllToAllOp>(op)) {
        result = exchanged(held, *groups, exchange.getSplitDimension(),
                           exchange.getConcatDimension());
      } else if (auto permute = dyn_cast<stablehlo::CollectivePermuteOp>(op)) {
        result = permuted(held, *sourcesOf(permute));
      } else if (auto combine = combineOf(op->getRegion(0))) {
        result = reduced(held, *groups, *combine);
        if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op);
            scatter && result)
          result = scattered(*result, *groups, scatter.getScatterDimension());
      }
      if (result)
        add(op->getResult(0), std::move(*result));
    }
  }

  //===--------------------------------------------------------------------===//
  // Joined tensors, and sums in the order of the ranks
  //===--------------------------------------------------------------------===//

  /// Elements of a local tensor, counted along its rows, and what they hold as
  /// a tensor of one dimension. A joined tensor has parts of several tensors,
  /// and perhaps elements that hold nothing.
  struct Piece {
    int64_t begin, count;
    Holdings held;
  };
  using Pieces = SmallVector<Piece, 1>;

  Pieces piecesOf(Value value) {
    if (auto found = joined.find(value); found != joined.end())
      return found->second;
    Piece all{0, elementCount(shapeOf(value)), {}};
    if (auto stored = known.find(value); stored != known.end())
      for (const Holding &held : stored->second)
        if (auto row = reshaped(held, {all.count}))
          all.held.push_back(std::move(*row));
    return all.held.empty() ? Pieces() : Pieces{std::move(all)};
  }

  static bool isAlike(const Holding &a, const Holding &b) {
    return a.whole == b.whole && a.dims == b.dims && a.base == b.base &&
           a.share == b.share && a.shares == b.shares &&
           a.combine == b.combine && a.missing == b.missing;
  }

  void addIfNew(Value value, Holding held) {
    forgetOnlyPlaces(held);
    auto stored = known.find(value);
    if (stored == known.end() ||
        llvm::none_of(stored->second,
                      [&](auto &other) { return isAlike(other, held); }))
      add(value, std::move(held));
  }

  void setPieces(Value value, Pieces pieces) {
    if (pieces.empty())
      return;
    if (pieces.size() == 1 && pieces[0].begin == 0 &&
        pieces[0].count == elementCount(shapeOf(value)))
      for (const Holding &held : pieces[0].held)
        if (auto placed = reshaped(held, shapeOf(value)))
          addIfNew(value, std::move(*placed));
    joined[value] = std::move(pieces);
  }

  static Pieces reducedPieces(Pieces pieces, const Groups &groups,
                              Combine combine) {
    for (Piece &piece : pieces) {
      Holdings results;
      for (const Holding &held : piece.held)
        if (auto result = reduced(held, groups, combine))
          results.push_back(std::move(*result));
      piece.held = std::move(results);
    }
    return pieces;
  }

  /// What operations that keep the order of elements make of pieces.
  void visitJoined(Operation *op) {
    if (op->getNumResults() != 1 ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      return;
    Value result = op->getResult(0);
    Pieces pieces;
    if (isa<stablehlo::ReshapeOp>(op)) {
      if (auto own = ownSums.find(op->getOperand(0)); own != ownSums.end()) {
        Exchange copy = own->second;
        ownSums[result] = std::move(copy);
      }
      // What has no place in the new shape may have one again later.
      if (joined.contains(op->getOperand(0)) ||
          known.lookup(op->getOperand(0)).size() != known.lookup(result).size())
        setPieces(result, piecesOf(op->getOperand(0)));
      return;
    }
    if (shapeOf(result).size() != 1)
      return;
    if (isa<stablehlo::ConcatenateOp>(op)) {
      int64_t begin = 0;
      for (Value operand : op->getOperands()) {
        for (Piece &piece : piecesOf(operand)) {
          piece.begin += begin;
          pieces.push_back(std::move(piece));
        }
        begin += elementCount(shapeOf(operand));
      }
    } else if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
      if (pad.getEdgePaddingLow()[0] == 0 && pad.getEdgePaddingHigh()[0] >= 0 &&
          pad.getInteriorPadding()[0] == 0)
        pieces = piecesOf(op->getOperand(0));
    } else if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
      if (slice.getStrides()[0] == 1 && joined.contains(op->getOperand(0)))
        pieces = slicedPieces(piecesOf(op->getOperand(0)),
                              slice.getStartIndices()[0],
                              slice.getStartIndices()[0] + shapeOf(result)[0]);
    }
    setPieces(result, std::move(pieces));
  }

  Pieces slicedPieces(const Pieces &pieces, int64_t begin, int64_t end) {
    Pieces cut;
    for (const Piece &piece : pieces) {
      const int64_t from = std::max(begin, piece.begin);
      const int64_t to = std::min(end, piece.begin + piece.count);
      if (from >= to)
        continue;
      Piece part{from - begin, to - from, {}};
      for (const Holding &held : piece.held)
        if (auto result = sliced(held, PerDevice(devices, from - piece.begin),
                                 {part.count}, {1}))
          part.held.push_back(std::move(*result));
      cut.push_back(std::move(part));
    }
    return cut;
  }

  /// Rows that the members of groups have sent: row i is the one that member i
  /// has for the receiver, or all that it has.
  struct Exchange {
    Value from;
    Groups groups;
    bool isForReceiver = false;
    Combine combine = Combine::sum; // of what is added up
  };

  /// A sum may be written as an exchange of rows, their sum in the order of the
  /// members, and a gathering of the sums.
  void visitExchangeOfRows(Operation *op) {
    if (op->getNumOperands() != 1)
      return;
    Value operand = op->getOperand(0), result = op->getResult(0);
    ArrayRef<int64_t> shape = shapeOf(operand);
    std::optional<Groups> groups =
        isa<stablehlo::CollectivePermuteOp>(op) ? std::nullopt : groupsOf(op);
    if (!groups || shape.empty())
      return;
    if (isa<stablehlo::AllReduceOp>(op)) {
      auto combine = combineOf(op->getRegion(0));
      if (combine && joined.contains(operand))
        setPieces(result, reducedPieces(piecesOf(operand), *groups, *combine));
    } else if (auto all = dyn_cast<stablehlo::AllToAllOp>(op)) {
      if (all.getSplitDimension() == 0 && all.getConcatDimension() == 0 &&
          shape[0] == int64_t(groups->front().size()))
        sentRows[result] = {operand, *groups, /*isForReceiver=*/true};
    } else if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op);
               gather && gather.getAllGatherDim() == 0 && shape[0] == 1) {
      if (auto own = ownSums.find(operand);
          own != ownSums.end() && own->second.groups == *groups)
        setPieces(result, reducedPieces(piecesOf(own->second.from), *groups,
                                        own->second.combine));
      sentRows[result] = {operand, *groups};
    }
  }

  void visitSumOfRows(stablehlo::ReduceOp op) {
    auto found = op.getInputs().size() == 1 ? sentRows.find(op.getInputs()[0])
                                            : sentRows.end();
    auto combine = combineOf(op.getBody());
    if (found == sentRows.end() || op.getDimensions() != ArrayRef<int64_t>(0) ||
        !combine ||
        !(identitiesOf(splatOf(op.getInitValues()[0])) & bitOf(*combine)))
      return;
    Exchange rows = found->second;
    rows.combine = *combine;
    Value result = op.getResult(0);
    if (!rows.isForReceiver) {
      setPieces(result,
                reducedPieces(piecesOf(rows.from), rows.groups, *combine));
      return;
    }
    for (const Holding &held : Holdings(known.lookup(rows.from))) {
      auto sum = reduced(held, rows.groups, *combine);
      auto own = sum ? scattered(*sum, rows.groups, 0) : std::nullopt;
      if (auto row = own ? reshaped(*own, shapeOf(result)) : std::nullopt)
        addIfNew(result, std::move(*row));
    }
    ownSums[result] = std::move(rows);
  }

  static bool isZero(Value value) {
    return identitiesOf(splatOf(value)) & bitOf(Combine::sum);
  }

  /// Terms of two sums over the same devices are, added up, those of a third.
  /// What was missing may be added when nothing is pending any more.
  void visitSumOfTerms(stablehlo::AddOp op) {
    Value part = op.getResult();
    for (auto [total, other] : {std::pair(op.getLhs(), op.getRhs()),
                                std::pair(op.getRhs(), op.getLhs())})
      for (const Holding &held : Holdings(known.lookup(total))) {
        auto ranges =
            held.missing && held.shares == 1 ? blockOf(held) : std::nullopt;
        if (!ranges)
          continue;
        for (const Holding &added : holdingsOn(other, held.missing)) {
          auto own = added.isPending() ? std::nullopt : blockOf(added);
          auto merged = own ? both(*ranges, *own) : std::nullopt;
          if (merged)
            add(part, holdingOf(held.whole, shapeOf(part), *merged));
        }
      }
    for (Operation *candidate : candidatesFor(op)) {
      for (const Holding &a : holdingsOn(op.getLhs(), candidate->getOperand(0)))
        for (const Holding &b :
             holdingsOn(op.getRhs(), candidate->getOperand(1)))
          if (a.shares > 1 && a.shares == b.shares && a.share == b.share &&
              a.combine == Combine::sum && b.combine == Combine::sum &&
              a.dims == b.dims && a.base == b.base &&
              !(a.missing && b.missing)) {
            Holding sum = a;
            sum.whole = candidate->getResult(0);
            sum.tail.assign(sum.tail.size(), 0);
            if (b.missing)
              sum.missing = b.missing;
            addIfNew(part, std::move(sum));
          }
    }
  }

  //===--------------------------------------------------------------------===//
  // Loops and branches
  //===--------------------------------------------------------------------===//

  /// Every device takes the way of the whole step, so all meet in the same
  /// collectives: nothing else is accepted even where results do not depend on
  /// it.
  bool visitControl(Operation *op) {
    SmallVector<Operation *> candidates = byName.lookup(op->getName());
    bool isRelated = false;
    for (Operation *candidate : candidates) {
      if (candidate->getNumOperands() != op->getNumOperands() ||
          candidate->getNumResults() != op->getNumResults() ||
          candidate->getNumRegions() != op->getNumRegions())
        continue;
      isRelated |= isa<stablehlo::WhileOp>(op)
                       ? relateLoop(cast<stablehlo::WhileOp>(op),
                                    cast<stablehlo::WhileOp>(candidate))
                       : relateBranches(op, candidate);
      fault.reset(); // of another candidate
    }
    return isRelated ||
           fail(op->getLoc(), "'" + op->getName().getStringRef() +
                                  "' is no loop or branch of the whole step, "
                                  "or devices could go different ways");
  }

  bool holdsScalar(Value part, Value value) {
    return llvm::any_of(holdingsOn(part, value),
                        [](const Holding &held) { return !held.isPending(); });
  }

  using Blocks = SmallVector<std::vector<Range>, 1>;

  Blocks blocksOn(Value part, Value value) {
    Blocks found;
    for (const Holding &held : holdingsOn(part, value))
      if (auto ranges = blockOf(held); ranges && !held.isPending()) {
        for (Range &range : *ranges)
          range.tail = 0;
        found.push_back(std::move(*ranges));
      }
    return found;
  }

  /// What both say, where either may say less; nothing if they differ.
  static std::optional<std::vector<Range>> both(ArrayRef<Range> a,
                                                ArrayRef<Range> b) {
    std::vector<Range> merged;
    for (auto [x, y] : llvm::zip_equal(a, b)) {
      if (x.start && y.start && *x.start != *y.start)
        return std::nullopt;
      merged.push_back({x.start ? x.start : y.start, 0});
    }
    return merged;
  }

  static bool isEqual(ArrayRef<Range> a, ArrayRef<Range> b) {
    return llvm::all_of(llvm::zip_equal(a, b), [](auto pair) {
      return std::get<0>(pair).start == std::get<1>(pair).start;
    });
  }

  /// Assumes of carried values what holds before the loop, and goes through the
  /// body until it holds behind it as well.
  bool relateLoop(stablehlo::WhileOp part, stablehlo::WhileOp op) {
    unsigned count = op.getNumOperands();
    std::vector<Blocks> carried;
    // Of values to which the rounds add, what they add up to before the devices
    // add theirs; each is looked for once.
    std::vector<std::optional<Holding>> terms(count);
    std::vector<bool> isTried(count);
    for (unsigned at = 0; at < count; ++at)
      carried.push_back(blocksOn(part.getOperand()[at], op.getOperand()[at]));
    auto assume = [&](auto partValues, auto values) {
      for (unsigned at = 0; at < count; ++at) {
        if (isa<BlockArgument>(Value(partValues[at])))
          known.erase(partValues[at]);
        for (const auto &ranges : carried[at])
          add(partValues[at],
              holdingOf(values[at], shapeOf(partValues[at]), ranges));
        if (terms[at]) {
          Holding held = *terms[at];
          held.whole = values[at];
          add(partValues[at], std::move(held));
        }
      }
    };
    Operation *end = part.getBody().front().getTerminator();
    Operation *wholeEnd = op.getBody().front().getTerminator();
    bool isStable = false;
    while (!isStable) {
      assume(part.getBody().getArguments(), op.getBody().getArguments());
      if (!visitBlock(part.getBody().front()))
        return false;
      isStable = true;
      for (unsigned at = 0; at < count; ++at) {
        Blocks behind = blocksOn(end->getOperand(at), wholeEnd->getOperand(at));
        Blocks kept;
        for (const auto &ranges : carried[at])
          for (const auto &other : behind)
            if (auto merged = both(ranges, other)) {
              isStable &= isEqual(*merged, ranges);
              kept.push_back(std::move(*merged));
              break;
            }
        isStable &= kept.size() == carried[at].size();
        carried[at] = std::move(kept);
        if (terms[at]) {
          Holding expected = *terms[at];
          expected.whole = wholeEnd->getOperand(at);
          if (llvm::none_of(
                  holdingsOn(end->getOperand(at), expected.whole),
                  [&](auto &held) { return isAlike(held, expected); })) {
            terms[at].reset();
            isStable = false;
          }
        } else if (carried[at].empty() && !isTried[at]) {
          isTried[at] = true;
          terms[at] = termsOfRounds(part, op, at);
          isStable &= !terms[at];
        }
      }
    }
    assume(part.getCond().getArguments(), op.getCond().getArguments());
    if (!visitBlock(part.getCond().front()) ||
        !holdsScalar(part.getCond().front().getTerminator()->getOperand(0),
                     op.getCond().front().getTerminator()->getOperand(0)))
      return false;
    assume(part.getResults(), op.getResults());
    return true;
  }

  /// What a carried value may hold that starts from zeros and to which each
  /// round adds terms of what the whole step adds. Where that starts from
  /// something else, this is missing.
  std::optional<Holding> termsOfRounds(stablehlo::WhileOp part,
                                       stablehlo::WhileOp op, unsigned at) {
    auto addedIn = [at](stablehlo::WhileOp loop) -> Value {
      Block &body = loop.getBody().front();
      auto add = body.getTerminator()
                     ->getOperand(at)
                     .getDefiningOp<stablehlo::AddOp>();
      Value carried = body.getArgument(at);
      if (!add || (add.getLhs() != carried && add.getRhs() != carried))
        return {};
      return add.getLhs() == carried ? add.getRhs() : add.getLhs();
    };
    Value added = addedIn(part), wholeAdded = addedIn(op);
    if (!added || !wholeAdded || !isZero(part.getOperand()[at]))
      return std::nullopt;
    for (Holding &held : holdingsOn(added, wholeAdded))
      if (held.shares > 1 && !held.missing && held.combine == Combine::sum) {
        Value start = op.getOperand()[at];
        if (!isZero(start))
          held.missing = start;
        held.tail.assign(held.tail.size(), 0);
        return held;
      }
    return std::nullopt;
  }

  bool relateBranches(Operation *part, Operation *op) {
    if (!holdsScalar(part->getOperand(0), op->getOperand(0)))
      return false;
    std::vector<Blocks> found;
    for (auto [at, regions] : llvm::enumerate(
             llvm::zip_equal(part->getRegions(), op->getRegions()))) {
      Block &block = std::get<0>(regions).front();
      Operation *wholeEnd = std::get<1>(regions).front().getTerminator();
      if (!visitBlock(block))
        return false;
      for (unsigned result = 0; result < op->getNumResults(); ++result) {
        Blocks own = blocksOn(block.getTerminator()->getOperand(result),
                              wholeEnd->getOperand(result));
        if (at == 0) {
          found.push_back(std::move(own));
          continue;
        }
        Blocks merged;
        for (const auto &a : found[result])
          for (const auto &b : own)
            if (auto ranges = both(a, b))
              merged.push_back(std::move(*ranges));
        found[result] = std::move(merged);
      }
    }
    for (unsigned result = 0; result < op->getNumResults(); ++result)
      for (const auto &ranges : found[result])
        add(part->getResult(result),
            holdingOf(op->getResult(result), shapeOf(part->getResult(result)),
                      ranges));
    return true;
  }

  func::FuncOp whole, local;
  sharding::Mesh mesh;
  int64_t devices;
  std::vector<sharding::Layout> resultLayouts;
  std::optional<PartitionFault> fault;
  llvm::DenseMap<OperationName, SmallVector<Operation *>> byName;
  llvm::DenseMap<Attribute, SmallVector<Value, 1>> constants;
  llvm::DenseMap<Value, Holdings> known;
  /// Integers that the device and the place alone decide, as holdings of the
  /// numbers from 0 on.
  llvm::DenseMap<Value, Holding> numbers;
  llvm::DenseMap<Value, Mask> masks;
  llvm::DenseMap<Value, Pieces> joined;
  llvm::DenseMap<Value, Exchange> sentRows;
  /// Sums of the rows that members of groups have for the device.
  llvm::DenseMap<Value, Exchange> ownSums;
  /// What some devices have and others have zeros for.
  llvm::DenseMap<Value, std::pair<Value, PerDevice>> firsts;
};

class CheckPartition
    : public tenon::shardingcheck::impl::CheckPartitionPassBase<
          CheckPartition> {
public:
  using CheckPartitionPassBase::CheckPartitionPassBase;

  void runOnOperation() override {
    if (whole.empty()) {
      getOperation().emitError("give the step that was partitioned, as in "
                               "--check-partition=whole=step.mlir");
      return signalPassFailure();
    }
    auto step = parseSourceFile<ModuleOp>(whole, &getContext());
    if (!step)
      return signalPassFailure();
    if (auto fault = checkPartition(*step, getOperation())) {
      emitError(fault->location) << fault->message;
      return signalPassFailure();
    }
  }
};

} // namespace

std::optional<PartitionFault>
tenon::shardingcheck::checkPartition(ModuleOp whole, ModuleOp local) {
  auto fail = [](Operation *op, const Twine &message) {
    return PartitionFault{op->getLoc(), message.str()};
  };
  auto step = whole.lookupSymbol<func::FuncOp>("main");
  auto part = local.lookupSymbol<func::FuncOp>("main");
  if (!step || step.isExternal())
    return fail(whole, "the whole step has no function @main with a body");
  if (!part || part.isExternal())
    return fail(local,
                "the partitioned step has no function @main with a body");
  auto text = local->getAttrOfType<StringAttr>(step::meshAttrName);
  std::string error;
  auto mesh =
      text ? sharding::Mesh::parse(text.getValue(), error) : std::nullopt;
  if (!mesh)
    return fail(local, "the step is not partitioned: it has no '" +
                           step::meshAttrName + "' " + error);
  return Checker(step, part, std::move(*mesh)).run();
}
