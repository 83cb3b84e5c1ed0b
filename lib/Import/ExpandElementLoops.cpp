//===- ExpandElementLoops.cpp - Loops where element regions hold loops ----===//
//
// Reductions, maps, windows, scatters and sorts whose region is more than a
// straight line and branches become loops over elements. All tensors are one
// row of elements there, and places are computed as i64. The order is the
// interpreter's, and a region is run on no other elements than it would be
// there: what it holds need not end on others. No training step spends its time
// here, so the obvious loop will do.
//
//===----------------------------------------------------------------------===//

#include "ElementCode.h"

#include "tenon/Import/Passes.h"

#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <functional>
#include <limits>
#include <numeric>

namespace tenon::importer {
#define GEN_PASS_DEF_EXPANDELEMENTLOOPSPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::stablehlo;

namespace {

using Builder = ImplicitLocOpBuilder;

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Numbers of elements
//===----------------------------------------------------------------------===//

Value number(Builder &builder, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return ConstantOp::create(builder,
                            cast<ElementsAttr>(DenseElementsAttr::get(
                                type, builder.getI64IntegerAttr(value))));
}

Value plus(Builder &builder, Value value, int64_t term) {
  return AddOp::create(builder, value, number(builder, term));
}

Value times(Builder &builder, Value value, int64_t factor) {
  return MultiplyOp::create(builder, value, number(builder, factor));
}

Value isBelow(Builder &builder, Value value, int64_t bound) {
  return CompareOp::create(builder, value, number(builder, bound),
                           ComparisonDirection::LT, ComparisonType::SIGNED);
}

Value always(Builder &builder) {
  auto type = RankedTensorType::get({}, builder.getI1Type());
  return ConstantOp::create(
      builder, cast<ElementsAttr>(DenseElementsAttr::get(type, true)));
}

/// Whether 0 <= value < bound.
Value isWithin(Builder &builder, Value value, int64_t bound) {
  Value isNegative = isBelow(builder, value, 0);
  return AndOp::create(builder, NotOp::create(builder, isNegative),
                       isBelow(builder, value, bound));
}

Value converted(Builder &builder, Value value, Type element) {
  RankedTensorType type = typeOf(value);
  if (type.getElementType() == element)
    return value;
  return ConvertOp::create(builder, type.clone(element), value);
}

Value wide(Builder &builder, Value round) {
  return converted(builder, round, builder.getI64Type());
}

/// A place in a tensor: one number per dimension.
using Place = SmallVector<Value>;

/// The place of element `at` in row-major order.
Place placeOf(Builder &builder, Value at, ArrayRef<int64_t> shape) {
  Place place(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    Value extent = number(builder, shape[dim]);
    place[dim] = RemainderOp::create(builder, at, extent);
    at = DivideOp::create(builder, at, extent);
  }
  return place;
}

/// The row-major number of the element at a place.
Value numberOf(Builder &builder, ArrayRef<Value> place,
               ArrayRef<int64_t> shape) {
  Value at = number(builder, 0);
  for (auto [coordinate, extent] : llvm::zip_equal(place, shape))
    at = AddOp::create(builder, times(builder, at, extent), coordinate);
  return at;
}

//===----------------------------------------------------------------------===//
// Rows of elements
//===----------------------------------------------------------------------===//

Value row(Builder &builder, Value tensor) {
  RankedTensorType type = typeOf(tensor);
  return ReshapeOp::create(builder, type.clone({type.getNumElements()}),
                           tensor);
}

SmallVector<Value> rows(Builder &builder, ValueRange tensors) {
  return llvm::map_to_vector(
      tensors, [&](Value tensor) { return row(builder, tensor); });
}

/// A row of the elements of `type`, all of them the scalar `value`.
Value repeated(Builder &builder, Value value, RankedTensorType type) {
  value = converted(builder, value, type.getElementType());
  return BroadcastInDimOp::create(builder, type.clone({type.getNumElements()}),
                                  value, ArrayRef<int64_t>());
}

SmallVector<Value> elementsAt(Builder &builder, ValueRange rows, Value at) {
  return llvm::map_to_vector(
      rows, [&](Value row) { return sliceAt(builder, row, 0, at); });
}

SmallVector<Value> updatedAt(Builder &builder, ValueRange rows, Value at,
                             ValueRange elements) {
  SmallVector<Value> updated;
  for (auto [row, element] : llvm::zip_equal(rows, elements))
    updated.push_back(updateAt(builder, row, 0, at, element));
  return updated;
}

/// What a region computes from elements; it may want them in wider types.
SmallVector<Value> computed(Builder &builder, Region &region,
                            ArrayRef<Value> elements) {
  SmallVector<Value> arguments;
  for (auto [element, argument] :
       llvm::zip_equal(elements, region.getArguments()))
    arguments.push_back(
        converted(builder, element, typeOf(argument).getElementType()));
  return cloneBody(builder, region, arguments);
}

/// What `compute` says where `condition` holds, `otherwise` where it does not.
SmallVector<Value> whereTrue(Builder &builder, Value condition,
                             ValueRange otherwise,
                             llvm::function_ref<SmallVector<Value>()> compute) {
  auto op = IfOp::create(builder, otherwise.getTypes(), condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getTrueBranch());
  ReturnOp::create(builder, compute());
  builder.createBlock(&op.getFalseBranch());
  ReturnOp::create(builder, otherwise);
  return llvm::to_vector_of<Value>(op.getResults());
}

//===----------------------------------------------------------------------===//
// Maps and reductions
//===----------------------------------------------------------------------===//

SmallVector<Value> expand(Builder &builder, MapOp op) {
  RankedTensorType type = op.getType();
  int64_t count = type.getNumElements();
  SmallVector<Value> inputs = rows(builder, op.getInputs());
  return buildCountedLoop(builder, count, zeros(builder, type.clone({count})),
                          [&](Value at, ValueRange results) {
                            SmallVector<Value> values =
                                computed(builder, op.getComputation(),
                                         elementsAt(builder, inputs, at));
                            return updatedAt(builder, results, at, values);
                          });
}

/// The dimensions that are reduced go last, so that the terms of a result lie
/// side by side.
SmallVector<Value> expand(Builder &builder, ReduceOp op) {
  ArrayRef<int64_t> shape = typeOf(op.getInputs()[0]).getShape();
  auto isReduced = [&](int64_t dim) {
    return llvm::is_contained(op.getDimensions(), dim);
  };
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size())));
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(isReduced(a), a) < std::pair(isReduced(b), b);
  });
  SmallVector<int64_t> ordered;
  int64_t terms = 1;
  for (int64_t dim : order) {
    ordered.push_back(shape[dim]);
    terms *= isReduced(dim) ? shape[dim] : 1;
  }
  SmallVector<Value> inputs, starts;
  for (auto [input, init, result] :
       llvm::zip_equal(op.getInputs(), op.getInitValues(), op.getResults())) {
    inputs.push_back(
        row(builder, TransposeOp::create(builder, typeOf(input).clone(ordered),
                                         input, order)));
    starts.push_back(repeated(builder, init, typeOf(result)));
  }
  return buildCountedLoop(
      builder, typeOf(op.getResult(0)).getNumElements(), starts,
      [&](Value round, ValueRange results) {
        Value to = wide(builder, round), first = times(builder, to, terms);
        SmallVector<Value> sums = buildCountedLoop(
            builder, terms, elementsAt(builder, results, to),
            [&](Value term, ValueRange running) {
              Value at = AddOp::create(builder, first, wide(builder, term));
              SmallVector<Value> arguments(running);
              llvm::append_range(arguments, elementsAt(builder, inputs, at));
              return computed(builder, op.getBody(), arguments);
            });
        return updatedAt(builder, results, to, sums);
      });
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// A sliding window over a tensor of `shape`, with one number per dimension.
struct Window {
  SmallVector<int64_t> shape, sizes, strides, baseDilations, dilations, low;

  int64_t terms() const {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                           std::multiplies<int64_t>());
  }
};

template <typename WindowOp>
Window windowOf(WindowOp op, RankedTensorType type,
                std::optional<ArrayRef<int64_t>> sizes) {
  SmallVector<int64_t> ones(type.getRank(), 1);
  auto given = [&](std::optional<ArrayRef<int64_t>> numbers) {
    return SmallVector<int64_t>(numbers.value_or(ones));
  };
  Window window;
  window.shape = SmallVector<int64_t>(type.getShape());
  window.sizes = given(sizes);
  window.strides = given(op.getWindowStrides());
  window.baseDilations = window.dilations = ones;
  window.low.assign(ones.size(), 0);
  if (auto padding = op.getPadding())
    for (auto [dim, low] : llvm::enumerate(window.low))
      low = padding->template getValues<int64_t>()[{uint64_t(dim), 0}];
  return window;
}

/// What a window has under one of its terms.
struct Covered {
  Value at;       // the element's number, if there is one
  Value isInside; // false in the padding and between dilated elements
};

Covered coveredBy(Builder &builder, const Window &window,
                  ArrayRef<Value> position, Value term) {
  Place place = placeOf(builder, term, window.sizes);
  Value inside = always(builder);
  for (auto [dim, coordinate] : llvm::enumerate(place)) {
    Value at = AddOp::create(builder,
                             times(builder, position[dim], window.strides[dim]),
                             times(builder, coordinate, window.dilations[dim]));
    at = plus(builder, at, -window.low[dim]);
    Value dilation = number(builder, window.baseDilations[dim]);
    Value isOnElement =
        isWithin(builder, RemainderOp::create(builder, at, dilation), 1);
    coordinate = DivideOp::create(builder, at, dilation);
    Value isWith = AndOp::create(
        builder, isOnElement, isWithin(builder, coordinate, window.shape[dim]));
    inside = AndOp::create(builder, inside, isWith);
  }
  return {numberOf(builder, place, window.shape), inside};
}

SmallVector<Value> expand(Builder &builder, ReduceWindowOp op) {
  RankedTensorType type = typeOf(op.getInputs()[0]);
  RankedTensorType resultType = typeOf(op.getResult(0));
  Window window = windowOf(op, type, op.getWindowDimensions());
  if (auto dilations = op.getBaseDilations())
    window.baseDilations = SmallVector<int64_t>(*dilations);
  if (auto dilations = op.getWindowDilations())
    window.dilations = SmallVector<int64_t>(*dilations);
  SmallVector<Value> inputs = rows(builder, op.getInputs());
  SmallVector<Value> inits(op.getInitValues()), starts;
  // Windows may lie over nothing but padding; there is something to read then.
  if (type.getNumElements() == 0)
    for (auto [input, init] : llvm::zip_equal(inputs, inits))
      input = ReshapeOp::create(builder, typeOf(init).clone({1}), init);
  for (auto [init, result] : llvm::zip_equal(inits, op.getResults()))
    starts.push_back(repeated(builder, init, typeOf(result)));
  return buildCountedLoop(
      builder, resultType.getNumElements(), starts,
      [&](Value round, ValueRange results) {
        Value to = wide(builder, round);
        Place position = placeOf(builder, to, resultType.getShape());
        SmallVector<Value> sums = buildCountedLoop(
            builder, window.terms(), elementsAt(builder, results, to),
            [&](Value term, ValueRange running) {
              Covered from =
                  coveredBy(builder, window, position, wide(builder, term));
              SmallVector<Value> arguments(running);
              for (auto [element, init] :
                   llvm::zip_equal(elementsAt(builder, inputs, from.at), inits))
                arguments.push_back(
                    SelectOp::create(builder, from.isInside, element, init));
              return computed(builder, op.getBody(), arguments);
            });
        return updatedAt(builder, results, to, sums);
      });
}

/// The number of the element that a window selects, below zero if it has none
/// under it.
Value selectedBy(Builder &builder, SelectAndScatterOp op, const Window &window,
                 ArrayRef<Value> position, Value operand) {
  return buildCountedLoop(
      builder, window.terms(), number(builder, -1),
      [&](Value term, ValueRange carried) -> SmallVector<Value> {
        Value best = carried[0];
        Covered next =
            coveredBy(builder, window, position, wide(builder, term));
        Value isFirst = isBelow(builder, best, 0);
        Value isChallenge = AndOp::create(builder, next.isInside,
                                          NotOp::create(builder, isFirst));
        Value unchallenged =
            SelectOp::create(builder, next.isInside, next.at, best);
        return whereTrue(builder, isChallenge, unchallenged, [&] {
          Value keeps = computed(builder, op.getSelect(),
                                 {sliceAt(builder, operand, 0, best),
                                  sliceAt(builder, operand, 0, next.at)})[0];
          return SmallVector<Value>{
              SelectOp::create(builder, keeps, best, next.at)};
        });
      })[0];
}

SmallVector<Value> expand(Builder &builder, SelectAndScatterOp op) {
  RankedTensorType type = typeOf(op.getOperand());
  RankedTensorType sourceType = typeOf(op.getSource());
  Window window = windowOf(op, type, op.getWindowDimensions());
  Value operand = row(builder, op.getOperand());
  Value source = row(builder, op.getSource());
  Value start = repeated(builder, op.getInitValue(), op.getType());
  int64_t rounds = type.getNumElements() ? sourceType.getNumElements() : 0;
  return buildCountedLoop(
      builder, rounds, start, [&](Value round, ValueRange results) {
        Value from = wide(builder, round);
        Place position = placeOf(builder, from, sourceType.getShape());
        Value to = selectedBy(builder, op, window, position, operand);
        Value old = sliceAt(builder, results[0], 0, to);
        Value isSome = NotOp::create(builder, isBelow(builder, to, 0));
        return updatedAt(
            builder, results, to, whereTrue(builder, isSome, old, [&] {
              return computed(builder, op.getScatter(),
                              {old, sliceAt(builder, source, 0, from)});
            }));
      });
}

//===----------------------------------------------------------------------===//
// Places that are data
//===----------------------------------------------------------------------===//

/// An index as an i64. Whatever is far outside of every tensor stays outside,
/// but so near that a place in a window can be added.
Value asNumber(Builder &builder, Value index) {
  constexpr int64_t farOutside = int64_t(1) << 32;
  Type element = typeOf(index).getElementType();
  if (element.isUnsignedInteger(64))
    index = MinimumOp::create(
        builder, index,
        converted(builder, number(builder, farOutside), element));
  index = converted(builder, index, builder.getI64Type());
  return ClampOp::create(builder, index.getType(), number(builder, -farOutside),
                         index, number(builder, farOutside));
}

/// Where the update at `from` goes, see the operation's specification.
Place targetOf(Builder &builder, ScatterOp op, ArrayRef<Value> from,
               Value indices) {
  auto numbers = op.getScatterDimensionNumbers();
  RankedTensorType indicesType = typeOf(op.getScatterIndices());
  int64_t vectorDim = numbers.getIndexVectorDim();
  Place batch, window;
  for (auto [dim, coordinate] : llvm::enumerate(from))
    (llvm::is_contained(numbers.getUpdateWindowDims(), int64_t(dim)) ? window
                                                                     : batch)
        .push_back(coordinate);
  Value zero = number(builder, 0);
  Place to(typeOf(op.getInputs()[0]).getRank(), zero);
  for (auto [i, dim] : llvm::enumerate(numbers.getScatterDimsToOperandDims())) {
    Place place(batch);
    if (vectorDim < indicesType.getRank())
      place.insert(place.begin() + vectorDim, number(builder, int64_t(i)));
    Value at = numberOf(builder, place, indicesType.getShape());
    to[dim] = asNumber(builder, sliceAt(builder, indices, 0, at));
  }
  for (auto [dim, indicesDim] :
       llvm::zip_equal(numbers.getInputBatchingDims(),
                       numbers.getScatterIndicesBatchingDims()))
    to[dim] = batch[indicesDim > vectorDim ? indicesDim - 1 : indicesDim];
  auto coordinate = window.begin();
  for (auto [dim, value] : llvm::enumerate(to))
    if (!llvm::is_contained(numbers.getInsertedWindowDims(), int64_t(dim)) &&
        !llvm::is_contained(numbers.getInputBatchingDims(), int64_t(dim)))
      value = AddOp::create(builder, value, *coordinate++);
  return to;
}

/// Updates in row-major order; one that falls outside is left out.
SmallVector<Value> expand(Builder &builder, ScatterOp op) {
  RankedTensorType type = typeOf(op.getInputs()[0]);
  RankedTensorType updatesType = typeOf(op.getUpdates()[0]);
  Value indices = row(builder, op.getScatterIndices());
  SmallVector<Value> updates = rows(builder, op.getUpdates()), starts;
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    starts.push_back(converted(builder, row(builder, input),
                               typeOf(result).getElementType()));
  int64_t rounds = type.getNumElements() ? updatesType.getNumElements() : 0;
  return buildCountedLoop(
      builder, rounds, starts, [&](Value round, ValueRange results) {
        Value from = wide(builder, round);
        Place target =
            targetOf(builder, op,
                     placeOf(builder, from, updatesType.getShape()), indices);
        Value isInside = always(builder);
        for (auto [coordinate, extent] :
             llvm::zip_equal(target, type.getShape()))
          isInside = AndOp::create(builder, isInside,
                                   isWithin(builder, coordinate, extent));
        Value to = numberOf(builder, target, type.getShape());
        SmallVector<Value> old = elementsAt(builder, results, to);
        return updatedAt(
            builder, results, to, whereTrue(builder, isInside, old, [&] {
              SmallVector<Value> arguments(old);
              llvm::append_range(arguments, elementsAt(builder, updates, from));
              return computed(builder, op.getUpdateComputation(), arguments);
            }));
      });
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// Element by element moves down to its place, as long as it comes before its
/// neighbour.
SmallVector<Value> expand(Builder &builder, SortOp op) {
  RankedTensorType type = typeOf(op.getInputs()[0]);
  int64_t rank = type.getRank(), dim = op.getDimension();
  dim += dim < 0 ? rank : 0;
  int64_t length = type.getDimSize(dim);
  // Lanes lie side by side: the dimension changes places with the last one.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[dim], order[rank - 1]);
  SmallVector<int64_t> ordered(type.getShape());
  std::swap(ordered[dim], ordered[rank - 1]);
  auto exchanged = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    return TransposeOp::create(builder, typeOf(value).clone(shape), value,
                               order);
  };
  auto isFirst = [&](Value at) -> Value {
    Value extent = number(builder, length);
    return isBelow(builder, RemainderOp::create(builder, at, extent), 1);
  };
  SmallVector<Value> starts;
  for (Value input : op.getInputs())
    starts.push_back(row(builder, exchanged(input, ordered)));
  auto insert = [&](Value round, ValueRange lanes) {
    Value at = wide(builder, round);
    SmallVector<Value> carried{at, NotOp::create(builder, isFirst(at))};
    llvm::append_range(carried, lanes);
    carried = buildLoop(
        builder, carried, [](ValueRange carried) { return carried[1]; },
        [&](ValueRange carried) {
          Value at = carried[0], below = plus(builder, at, -1);
          ValueRange lanes = carried.drop_front(2);
          SmallVector<Value> upper = elementsAt(builder, lanes, at);
          SmallVector<Value> lower = elementsAt(builder, lanes, below);
          SmallVector<Value> arguments;
          for (auto [a, b] : llvm::zip_equal(upper, lower))
            arguments.append({a, b});
          Value comesFirst =
              computed(builder, op.getComparator(), arguments)[0];
          SmallVector<Value> atUpper, atLower;
          for (auto [a, b] : llvm::zip_equal(upper, lower)) {
            atUpper.push_back(SelectOp::create(builder, comesFirst, b, a));
            atLower.push_back(SelectOp::create(builder, comesFirst, a, b));
          }
          SmallVector<Value> next{
              below, AndOp::create(builder, comesFirst,
                                   NotOp::create(builder, isFirst(below)))};
          llvm::append_range(
              next, updatedAt(builder, updatedAt(builder, lanes, at, atUpper),
                              below, atLower));
          return next;
        });
    return SmallVector<Value>(ArrayRef(carried).drop_front(2));
  };
  SmallVector<Value> sorted =
      buildCountedLoop(builder, type.getNumElements(), starts, insert);
  for (Value &value : sorted)
    value = exchanged(
        ReshapeOp::create(builder, typeOf(value).clone(ordered), value),
        type.getShape());
  return sorted;
}

/// The results of an owner as rows or in their shapes; none if there is no loop
/// for it.
SmallVector<Value> expand(Builder &builder, Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<MapOp, ReduceOp, ReduceWindowOp, SelectAndScatterOp, ScatterOp,
            SortOp>([&](auto owner) { return expand(builder, owner); })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether the regions of `op` hold more than a straight line and branches.
bool needsLoop(Operation *op) {
  return op
      ->walk([&](Operation *inner) {
        bool isFine =
            inner == op || (isa<IfOp, CaseOp>(inner) ? hasSingleElements(inner)
                                                     : isOnElements(inner));
        return isFine ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Rounds are counted in 32 bits.
bool isCountable(Operation *op) {
  constexpr uint64_t most = std::numeric_limits<int32_t>::max();
  auto isCountable = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() &&
           uint64_t(tensor.getNumElements()) <= most;
  };
  uint64_t terms = 1; // a window may be larger than all that it lies over
  if (auto windows = dyn_cast<ReduceWindowOp>(op))
    for (int64_t size : windows.getWindowDimensions())
      terms = llvm::SaturatingMultiply(terms, uint64_t(size));
  return terms <= most && llvm::all_of(op->getOperandTypes(), isCountable) &&
         llvm::all_of(op->getResultTypes(), isCountable);
}

struct ExpandElementLoops
    : public tenon::importer::impl::ExpandElementLoopsPassBase<
          ExpandElementLoops> {
  void runOnOperation() override {
    int64_t expanded = 0;
    // The outermost first: what was in a region may be an owner itself.
    while (int64_t count = expandOutermost())
      expanded += count;
    if (expanded)
      remark::passed(getOperation().getLoc(),
                     remark::RemarkOpts::name("expanded")
                         .category("import-expand-element-loops")
                         .function(getOperation().getSymName()))
          << remark::add("{0} operations became loops over elements", expanded);
  }

private:
  int64_t expandOutermost() {
    SmallVector<Operation *> owners;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!hasElementRegions(op))
        return WalkResult::advance();
      if (isCountable(op) && needsLoop(op))
        owners.push_back(op);
      return WalkResult::skip();
    });
    int64_t count = 0;
    for (Operation *op : owners) {
      Builder builder(op->getLoc(), op);
      SmallVector<Value> results = expand(builder, op);
      if (results.empty())
        continue;
      for (auto [result, value] : llvm::zip_equal(op->getResults(), results)) {
        if (value.getType() != result.getType())
          value = ReshapeOp::create(builder, result.getType(), value);
        result.replaceAllUsesWith(value);
      }
      op->erase();
      ++count;
    }
    return count;
  }
};

} // namespace
