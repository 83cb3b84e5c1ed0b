//===- OverflowRisk.cpp - Values that f16 may be too small for ------------===//
//
// See OverflowRisk.h.
//
//===----------------------------------------------------------------------===//

#include "OverflowRisk.h"

#include "FormatClasses.h"
#include "LossScale.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

static constexpr double unbounded = std::numeric_limits<double>::infinity();
static constexpr double largestF16 = 65504;
/// Longer chains of operations are not followed.
static constexpr int deepest = 16;

static double largestElement(DenseElementsAttr elements) {
  double largest = 0;
  auto see = [&](const APFloat &number) {
    APFloat wide = number;
    bool losesInfo;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
    // Infinities and NaN are numbers of f16.
    if (wide.isFinite())
      largest = std::max(largest, std::abs(wide.convertToDouble()));
  };
  if (elements.isSplat())
    see(elements.getSplatValue<APFloat>());
  else
    llvm::for_each(elements.getValues<APFloat>(), see);
  return largest;
}

/// No finite element of the value is larger than this.
static double boundOf(Value value, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > deepest)
    return unbounded;
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) &&
      isa<FloatType>(elements.getElementType()))
    return largestElement(elements);
  if (isa<stablehlo::TanhOp, stablehlo::LogisticOp, stablehlo::SineOp,
          stablehlo::CosineOp, stablehlo::SignOp>(op))
    return 1;
  auto of = [&](unsigned operand) {
    return boundOf(op->getOperand(operand), depth + 1);
  };
  if (isa<stablehlo::ConvertOp>(op))
    return getElementTypeOrSelf(op->getOperand(0)).isInteger(1) ? 1 : of(0);
  if (isa<stablehlo::NegateOp, stablehlo::AbsOp, stablehlo::ReshapeOp,
          stablehlo::TransposeOp, stablehlo::BroadcastInDimOp,
          stablehlo::SliceOp, stablehlo::ReverseOp>(op))
    return of(0);
  if (isa<stablehlo::AddOp, stablehlo::SubtractOp>(op))
    return of(0) + of(1);
  if (isa<stablehlo::MultiplyOp>(op)) {
    double product = of(0) * of(1);
    return std::isnan(product) ? 0 : product; // zero times what has no bound
  }
  if (isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(op))
    return std::max(of(0), of(1));
  if (isa<stablehlo::SelectOp>(op))
    return std::max(of(1), of(2));
  if (isa<stablehlo::ClampOp>(op))
    return std::max(of(0), of(2));
  return unbounded;
}

bool precision::repeatsInfinity(Value value) {
  while (auto spread = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    value = spread.getOperand();
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) ||
      !isa<FloatType>(elements.getElementType()))
    return false;
  return elements.isSplat()
             ? elements.getSplatValue<APFloat>().isInfinity()
             : llvm::any_of(elements.getValues<APFloat>(),
                            [](const APFloat &n) { return n.isInfinity(); });
}

OverflowRisk::OverflowRisk(func::FuncOp step) {
  if (BlockArgument scale = lossScaleOf(step))
    scaled.insert(scale);
  // A loop may carry in a later round what its body scales.
  for (size_t before = 0; before != scaled.size();) {
    before = scaled.size();
    forEachOperation(step.getBody(), [&](Operation *op) {
      if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
        Operation *end = loop.getBody().front().getTerminator();
        for (auto [index, operand] : llvm::enumerate(op->getOperands()))
          if (scaled.contains(operand) ||
              scaled.contains(end->getOperand(unsigned(index)))) {
            scaled.insert(op->getResult(unsigned(index)));
            for (Region &region : op->getRegions())
              scaled.insert(region.getArgument(unsigned(index)));
          }
        return;
      }
      if (llvm::any_of(op->getOperands(),
                       [&](Value each) { return scaled.contains(each); }))
        scaled.insert(op->result_begin(), op->result_end());
    });
  }
}

bool OverflowRisk::mayOverflow(Value value) const {
  return !scaled.contains(value) && boundOf(value) > largestF16;
}
