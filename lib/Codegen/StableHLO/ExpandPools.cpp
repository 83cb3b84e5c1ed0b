//===- ExpandPools.cpp - Gradients of pools without places in memory ------===//
//
// See ExpandPools.h. The elements at the same place of all windows are a
// strided slice. The slices are compared one after the other, as the operation
// does it, which gives the number of the place that won in each window:
//
//     operand 4x4, windows 2x2      places   0 1      winners  3 0
//       1 2 7 5                              2 3               1 0
//       3 4 6 5
//       1 9 8 2
//       0 1 3 4
//
// An element of the result is its window's source if its place won.
//
//===----------------------------------------------------------------------===//

#include "ExpandPools.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

/// The only operation of a region before its return, if it is an `Op` of the
/// region's arguments in their order and its result is what is returned.
template <typename Op>
static Op onlyOperation(Region &region) {
  Block &block = region.front();
  auto op = dyn_cast<Op>(block.front());
  bool matches = op && block.getOperations().size() == 2 &&
                 op->getOperand(0) == block.getArgument(0) &&
                 op->getOperand(1) == block.getArgument(1) &&
                 block.getTerminator()->getOperand(0) == op->getResult(0);
  return matches ? op : Op();
}

namespace {

class PoolExpander {
public:
  explicit PoolExpander(stablehlo::SelectAndScatterOp op)
      : op(op), builder(op), location(op.getLoc()),
        whole(cast<RankedTensorType>(op.getOperand().getType())),
        windows(cast<RankedTensorType>(op.getSource().getType())) {}

  void run() {
    compare = onlyOperation<stablehlo::CompareOp>(op.getSelect());
    if (!compare || !onlyOperation<stablehlo::AddOp>(op.getScatter()) ||
        !whole.hasStaticShape() || !windows.hasStaticShape() ||
        !op.getWindowDimensions() || !liesBeside())
      return;
    op.getResult().replaceAllUsesWith(spread(findWinners()));
    op.erase();
  }

private:
  bool liesBeside() {
    extents = llvm::to_vector(*op.getWindowDimensions());
    for (unsigned d = 0; d < extents.size(); ++d) {
      int64_t stride = op.getWindowStrides() ? (*op.getWindowStrides())[d] : 1;
      if (stride != extents[d] ||
          windows.getDimSize(d) * extents[d] != whole.getDimSize(d))
        return false;
      places *= extents[d];
    }
    // A few operations per place: windows as large as an image are left alone.
    constexpr int64_t mostPlaces = 64;
    if (places > mostPlaces)
      return false;
    return !op.getPadding() ||
           llvm::all_of(op.getPadding()->getValues<int64_t>(),
                        [](int64_t elements) { return elements == 0; });
  }

  /// The elements at one place of all windows; places count row by row.
  Value elementsAt(int64_t place) {
    SmallVector<int64_t> starts(extents.size());
    for (int d = int(extents.size()) - 1; d >= 0; --d) {
      starts[d] = place % extents[d];
      place /= extents[d];
    }
    return stablehlo::SliceOp::create(
        builder, location, windows.clone(whole.getElementType()),
        op.getOperand(), builder.getDenseI64ArrayAttr(starts),
        builder.getDenseI64ArrayAttr(whole.getShape()),
        builder.getDenseI64ArrayAttr(extents));
  }

  Value number(int64_t value) {
    auto type = windows.clone(builder.getI32Type());
    return stablehlo::ConstantOp::create(
        builder, location,
        cast<ElementsAttr>(Attribute(DenseElementsAttr::get(
            type, builder.getI32IntegerAttr(int32_t(value))))));
  }

  Value findWinners() {
    Value best = elementsAt(0), winner = number(0);
    for (int64_t place = 1; place < places; ++place) {
      Value next = elementsAt(place);
      Value stays = stablehlo::CompareOp::create(
          builder, location, best, next, compare.getComparisonDirection(),
          compare.getCompareType());
      winner = select(stays, winner, number(place));
      if (place + 1 < places)
        best = select(stays, best, next);
    }
    return winner;
  }

  Value select(Value condition, Value yes, Value no) {
    return stablehlo::SelectOp::create(builder, location, yes.getType(),
                                       condition, yes, no);
  }

  Value spread(Value winner) {
    // A dimension of d windows of w elements becomes two, d and w.
    SmallVector<int64_t> shape, windowDims, placeDims;
    for (unsigned d = 0; d < extents.size(); ++d) {
      windowDims.push_back(int64_t(shape.size()));
      shape.push_back(windows.getDimSize(d));
      placeDims.push_back(int64_t(shape.size()));
      shape.push_back(extents[d]);
    }
    auto toPlaces = [&](Value value, ArrayRef<int64_t> dims) -> Value {
      auto type = cast<RankedTensorType>(value.getType()).clone(shape);
      return stablehlo::BroadcastInDimOp::create(
          builder, location, type, value, builder.getDenseI64ArrayAttr(dims));
    };
    SmallVector<int32_t> numbers(places);
    std::iota(numbers.begin(), numbers.end(), 0);
    Value place = stablehlo::ConstantOp::create(
        builder, location,
        cast<ElementsAttr>(Attribute(DenseElementsAttr::get(
            RankedTensorType::get(extents, builder.getI32Type()),
            ArrayRef<int32_t>(numbers)))));
    Value won = stablehlo::CompareOp::create(
        builder, location, toPlaces(winner, windowDims),
        toPlaces(place, placeDims), stablehlo::ComparisonDirection::EQ,
        stablehlo::ComparisonType::SIGNED);
    Value start = toPlaces(op.getInitValue(), {});
    Value sum = stablehlo::AddOp::create(builder, location, start,
                                         toPlaces(op.getSource(), windowDims));
    return stablehlo::ReshapeOp::create(builder, location, whole,
                                        select(won, sum, start));
  }

  stablehlo::SelectAndScatterOp op;
  OpBuilder builder;
  Location location;
  RankedTensorType whole, windows;
  stablehlo::CompareOp compare;
  SmallVector<int64_t> extents;
  int64_t places = 1;
};

} // namespace

void codegen::expandPools(func::FuncOp main) {
  SmallVector<stablehlo::SelectAndScatterOp> pools;
  main.walk([&](stablehlo::SelectAndScatterOp op) { pools.push_back(op); });
  for (stablehlo::SelectAndScatterOp op : pools)
    PoolExpander(op).run();
}
