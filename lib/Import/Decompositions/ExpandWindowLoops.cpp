//===- ExpandWindowLoops.cpp - Windows as loops over elements -------------===//
//
// Reductions over sliding windows and what is scattered to the element that
// each window selects, for regions that hold loops (ExpandElementLoops.cpp).
//
//===----------------------------------------------------------------------===//

#include "ElementRows.h"

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::importer::elements;
using namespace tenon::stablehlo;

namespace {

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

Covered coveredBy(CodeBuilder &builder, const Window &window,
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

/// The number of the element that a window selects, below zero if it has none
/// under it.
Value selectedBy(CodeBuilder &builder, SelectAndScatterOp op,
                 const Window &window, ArrayRef<Value> position,
                 Value operand) {
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

} // namespace

SmallVector<Value> elements::expand(CodeBuilder &builder, ReduceWindowOp op) {
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

SmallVector<Value> elements::expand(CodeBuilder &builder,
                                    SelectAndScatterOp op) {
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
