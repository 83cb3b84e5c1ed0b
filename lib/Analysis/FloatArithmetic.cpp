//===- FloatArithmetic.cpp - What subnormal numbers are to operations -----===//
//
// See FloatArithmetic.h. The table lists what computes; all else moves.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/FloatArithmetic.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tenon;

static Type partOf(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  auto complex = dyn_cast<ComplexType>(element);
  return complex ? complex.getElementType() : element;
}

bool tenon::hasFlushedSubnormals(Type elementType) {
  return isa<Float32Type, Float64Type, BFloat16Type>(elementType);
}

/// A conversion that is made of bits: bf16 is the upper half of f32, and floats
/// of 8 bits and less are converted by their bits.
static bool movesBits(Type from, Type to) {
  auto isNarrow = [](Type type) {
    return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 16;
  };
  return from == to || (from.isBF16() && to.isF32()) || isNarrow(from) ||
         isNarrow(to);
}

bool tenon::isFloatArithmetic(Operation *op) {
  static const llvm::StringSet<> table = {
      "stablehlo.add",
      "stablehlo.atan2",
      "stablehlo.cbrt",
      "stablehlo.ceil",
      "stablehlo.clamp",
      "stablehlo.convolution",
      "stablehlo.cosine",
      "stablehlo.divide",
      "stablehlo.dot_general",
      "stablehlo.exponential",
      "stablehlo.exponential_minus_one",
      "stablehlo.floor",
      "stablehlo.log",
      "stablehlo.log_plus_one",
      "stablehlo.logistic",
      "stablehlo.maximum",
      "stablehlo.minimum",
      "stablehlo.multiply",
      "stablehlo.power",
      "stablehlo.remainder",
      "stablehlo.round_nearest_afz",
      "stablehlo.round_nearest_even",
      "stablehlo.rsqrt",
      "stablehlo.sign",
      "stablehlo.sine",
      "stablehlo.sqrt",
      "stablehlo.subtract",
      "stablehlo.tan",
      "stablehlo.tanh",
      "chlo.acos",
      "chlo.acosh",
      "chlo.asin",
      "chlo.asinh",
      "chlo.atan",
      "chlo.atanh",
      "chlo.bessel_i1e",
      "chlo.cosh",
      "chlo.digamma",
      "chlo.erf",
      "chlo.erf_inv",
      "chlo.erfc",
      "chlo.lgamma",
      "chlo.polygamma",
      "chlo.sinh",
      "chlo.square",
      "chlo.tan",
      "chlo.zeta",
      "step.attention",
      "step.attention_gradient",
      "step.stochastic_round",
  };
  if (table.contains(op->getName().getStringRef()))
    return true;
  // A magnitude of parts is computed; that of a number drops its sign.
  if (isa<stablehlo::AbsOp>(op))
    return isa<ComplexType>(getElementTypeOrSelf(op->getOperand(0).getType()));
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op))
    return compare.getCompareType() != stablehlo::ComparisonType::TOTALORDER;
  if (auto convert = dyn_cast<stablehlo::ConvertOp>(op))
    return !movesBits(partOf(convert.getOperand()),
                      partOf(convert.getResult()));
  return false;
}

/// Whether a reduction's results are those of arithmetic: its region ends with
/// it for every result, and there is something to reduce.
static bool reducesByArithmetic(Operation *op) {
  if (!isa<stablehlo::ReduceOp, stablehlo::ReduceWindowOp>(op))
    return false;
  for (int64_t extent :
       cast<RankedTensorType>(op->getOperand(0).getType()).getShape())
    if (extent == 0)
      return false;
  return llvm::all_of(op->getRegion(0).front().getTerminator()->getOperands(),
                      [](Value value) {
                        Operation *last = value.getDefiningOp();
                        return last && isFloatArithmetic(last);
                      });
}

static bool neverSubnormal(Value value, int depth) {
  constexpr int deepest = 8;
  if (!hasFlushedSubnormals(partOf(value)))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || depth > deepest)
    return false;
  if (isFloatArithmetic(op) || reducesByArithmetic(op) ||
      isa<stablehlo::IotaOp>(op))
    return true;
  DenseElementsAttr constant;
  if (matchPattern(op, m_Constant(&constant))) {
    auto isNormal = [](const APFloat &number) { return !number.isDenormal(); };
    if (!isa<FloatType>(constant.getElementType()))
      return false;
    constexpr int64_t most = 4096;
    if (constant.isSplat())
      return isNormal(constant.getSplatValue<APFloat>());
    return constant.getNumElements() <= most &&
           llvm::all_of(constant.getValues<APFloat>(), isNormal);
  }
  if (isa<stablehlo::AbsOp, stablehlo::BroadcastInDimOp,
          stablehlo::ConcatenateOp, stablehlo::ConvertOp,
          stablehlo::DynamicSliceOp, stablehlo::DynamicUpdateSliceOp,
          stablehlo::GatherOp, stablehlo::NegateOp,
          stablehlo::OptimizationBarrierOp, stablehlo::PadOp,
          stablehlo::ReshapeOp, stablehlo::ReverseOp, stablehlo::SelectOp,
          stablehlo::SliceOp, stablehlo::TransposeOp,
          step::ShardingConstraintOp>(op)) {
    if (isa<stablehlo::OptimizationBarrierOp>(op))
      return neverSubnormal(
          op->getOperand(cast<OpResult>(value).getResultNumber()), depth + 1);
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return neverSubnormal(operand, depth + 1);
    });
  }
  return false;
}

bool tenon::isNeverSubnormal(Value value) { return neverSubnormal(value, 0); }
