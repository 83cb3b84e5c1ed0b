//===- AlignContractions.cpp - Contracted dimensions side by side ---------===//
//
// A library multiplies along one contracted dimension. Where several of them do
// not lie in memory as one in some operand, this pass copies that operand into
// an order in which they do. Runs before FormLibraryGroups; the copy is a
// transpose like any other and is merged with what computes the operand.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Fusion/StridedView.h"

#include <numeric>
#include <tuple>

namespace tenon::fusion {
#define GEN_PASS_DEF_ALIGNCONTRACTIONSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// One operand of a dot.
struct Side {
  Operation *dot;
  Value operand;
  ArrayRef<int64_t> batching, contracting;

  RankedTensorType type() const {
    return cast<RankedTensorType>(operand.getType());
  }
  StridedView view() const { return stridedView(dot, operand); }
  /// Elements per index of the batching and contracted dimensions.
  int64_t freeExtent() const {
    int64_t extent = type().getNumElements();
    for (int64_t dim : batching)
      extent /= std::max<int64_t>(type().getDimSize(dim), 1);
    for (int64_t dim : contracting)
      extent /= std::max<int64_t>(type().getDimSize(dim), 1);
    return extent;
  }
};

/// The positions in `side.contracting`, outermost in memory first.
SmallVector<unsigned> orderInMemory(const Side &side, const StridedView &view) {
  SmallVector<unsigned> order(side.contracting.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    int64_t strideOfA = view.strides[side.contracting[a]];
    int64_t strideOfB = view.strides[side.contracting[b]];
    return std::tie(strideOfB, a) < std::tie(strideOfA, b);
  });
  return order;
}

/// Whether the contracted dimensions, walked in this order, are one dimension
/// of `view`.
bool isOne(const Side &side, const StridedView &view,
           ArrayRef<unsigned> order) {
  std::optional<int64_t> outerStride;
  for (unsigned position : order) {
    int64_t dim = side.contracting[position];
    if (view.shape[dim] == 1)
      continue;
    if (outerStride && *outerStride != view.strides[dim] * view.shape[dim])
      return false;
    outerStride = view.strides[dim];
  }
  return true;
}

bool isAligned(const Side &side, ArrayRef<unsigned> order) {
  return isOne(side, side.view(), order) ||
         isOne(side, plainView(side.operand), order);
}

struct AlignContractions
    : public fusion::impl::AlignContractionsPassBase<AlignContractions> {
  using AlignContractionsPassBase::AlignContractionsPassBase;

  void runOnOperation() override {
    SmallVector<stablehlo::DotGeneralOp> dots;
    getOperation().walk([&](stablehlo::DotGeneralOp dot) {
      Type type = cast<RankedTensorType>(dot.getType()).getElementType();
      if (dot.getDotDimensionNumbers().getLhsContractingDimensions().size() >
              1 &&
          (type.isF32() || stablehlo::isFloatOf16Bits(type)))
        dots.push_back(dot);
    });
    for (stablehlo::DotGeneralOp dot : dots)
      align(dot);
  }

private:
  void align(stablehlo::DotGeneralOp dot);
};

/// Transposes `side` so that its dimensions come as batching, free and
/// contracted, the last in `order`; returns where each old dimension went.
SmallVector<int64_t> transpose(OpBuilder &builder, OpOperand &operand,
                               const Side &side, ArrayRef<unsigned> order) {
  SmallVector<int64_t> permutation(side.batching);
  for (int64_t dim = 0; dim < side.type().getRank(); ++dim)
    if (!llvm::is_contained(side.batching, dim) &&
        !llvm::is_contained(side.contracting, dim))
      permutation.push_back(dim);
  for (unsigned position : order)
    permutation.push_back(side.contracting[position]);
  SmallVector<int64_t> shape, moved(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation)) {
    shape.push_back(side.type().getDimSize(from));
    moved[from] = int64_t(to);
  }
  operand.set(stablehlo::TransposeOp::create(
      builder, operand.getOwner()->getLoc(), side.type().clone(shape),
      side.operand, builder.getDenseI64ArrayAttr(permutation)));
  return moved;
}

SmallVector<int64_t> renumber(ArrayRef<int64_t> dims, ArrayRef<int64_t> moved) {
  SmallVector<int64_t> result;
  for (int64_t dim : dims)
    result.push_back(moved.empty() ? dim : moved[dim]);
  return result;
}

void AlignContractions::align(stablehlo::DotGeneralOp dot) {
  auto dims = dot.getDotDimensionNumbers();
  Side sides[2] = {{dot, dot.getLhs(), dims.getLhsBatchingDimensions(),
                    dims.getLhsContractingDimensions()},
                   {dot, dot.getRhs(), dims.getRhsBatchingDimensions(),
                    dims.getRhsContractingDimensions()}};
  // Elements to copy if the contracted dimensions are walked in `order`.
  auto copied = [&](ArrayRef<unsigned> order) {
    int64_t elements = 0;
    for (const Side &side : sides)
      elements += isAligned(side, order) ? 0 : side.type().getNumElements();
    return elements;
  };
  SmallVector<unsigned> best;
  int64_t fewest = -1;
  for (const Side &side : sides)
    for (const StridedView &view : {side.view(), plainView(side.operand)}) {
      SmallVector<unsigned> order = orderInMemory(side, view);
      int64_t elements = copied(order);
      if (fewest < 0 || elements < fewest) {
        fewest = elements;
        best = order;
      }
    }
  if (fewest == 0)
    return;
  // A copied element must be used often enough to pay for the copy.
  constexpr int64_t fewestUses = 8;
  for (auto [index, side] : llvm::enumerate(sides))
    if (!isAligned(side, best) && sides[1 - index].freeExtent() < fewestUses)
      return;
  OpBuilder builder(dot);
  SmallVector<int64_t> moved[2];
  for (auto [index, side] : llvm::enumerate(sides))
    if (!isAligned(side, best))
      moved[index] = transpose(builder, dot->getOpOperand(index), side, best);
  dot.setDotDimensionNumbersAttr(stablehlo::DotDimensionNumbersAttr::get(
      dot.getContext(), renumber(sides[0].batching, moved[0]),
      renumber(sides[1].batching, moved[1]),
      renumber(sides[0].contracting, moved[0]),
      renumber(sides[1].contracting, moved[1])));
}

} // namespace
