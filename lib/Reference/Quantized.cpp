//===- Quantized.cpp - Operations on quantized elements -------------------===//
//
// A quantized element is held as the integer that stores it. Operations that
// hand elements on see just that; all others are computed on the numbers the
// integers stand for and quantized at the end, as the StableHLO specification
// says, "Quantization computations". Every step is rounded to the expressed
// type.
//
//===----------------------------------------------------------------------===//

#include "Quantized.h"

#include "Evaluators.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;
using namespace tenon::stablehlo;

namespace {

bool isQuantized(Type type) {
  return isa<quant::QuantizedType>(getElementTypeOrSelf(type));
}

/// The number type that quantized elements stand for; other types as they are.
Type expressedType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto quantized = tensor
                       ? dyn_cast<quant::QuantizedType>(tensor.getElementType())
                       : quant::QuantizedType();
  return quantized ? tensor.clone(quantized.getExpressedType()) : type;
}

/// Scale and zero point of every element of a tensor of this type.
class Parameters {
public:
  explicit Parameters(RankedTensorType type)
      : type(type),
        perTensor(dyn_cast<quant::UniformQuantizedType>(type.getElementType())),
        perAxis(dyn_cast<quant::UniformQuantizedPerAxisType>(
            type.getElementType())) {}

  /// Of the element at a row-major position.
  std::pair<double, int64_t> at(int64_t position) const {
    if (perTensor)
      return {perTensor.getScale(), perTensor.getZeroPoint()};
    int64_t axis = perAxis.getQuantizedDimension(), inner = 1;
    for (int64_t extent : type.getShape().drop_front(axis + 1))
      inner *= extent;
    int64_t index = position / inner % type.getDimSize(axis);
    return {perAxis.getScales()[index], perAxis.getZeroPoints()[index]};
  }
  bool isKnown() const { return perTensor || perAxis; }

private:
  RankedTensorType type;
  quant::UniformQuantizedType perTensor;
  quant::UniformQuantizedPerAxisType perAxis;
};

double rounded(double value, Type type) {
  return realElement(value, type).real;
}

Tensor dequantize(const Tensor &stored) {
  Parameters parameters(stored.type);
  Tensor result(cast<RankedTensorType>(expressedType(stored.type)));
  Type type = result.elementType();
  for (int64_t i = 0; i < result.size(); ++i) {
    auto [scale, zero] = parameters.at(i);
    double difference =
        rounded(double(stored.elements[i].integer - zero), type);
    result.elements[i] = realElement(difference * rounded(scale, type), type);
  }
  return result;
}

Tensor quantize(const Tensor &numbers, RankedTensorType type) {
  Parameters parameters(type);
  Tensor result(type);
  auto stored = cast<quant::QuantizedType>(type.getElementType());
  Type expressed = numbers.elementType();
  double lowest = rounded(double(stored.getStorageTypeMin()), expressed);
  double highest = rounded(double(stored.getStorageTypeMax()), expressed);
  for (int64_t i = 0; i < result.size(); ++i) {
    auto [scale, zero] = parameters.at(i);
    double scaled = rounded(
        numbers.elements[i].real / rounded(scale, expressed), expressed);
    double moved =
        rounded(scaled + rounded(double(zero), expressed), expressed);
    if (std::isnan(moved))
      moved = 0;
    double whole = std::nearbyint(std::clamp(moved, lowest, highest));
    result.elements[i].integer = std::clamp(
        int64_t(whole), stored.getStorageTypeMin(), stored.getStorageTypeMax());
  }
  return result;
}

/// Operations to which an element is as good as the integer that stores it.
bool handsOn(Operation *op) {
  return isa<AllGatherOp, AllToAllOp, AllReduceOp, AsyncStartOp, AsyncDoneOp,
             BitcastConvertOp, BroadcastInDimOp, CaseOp, CollectiveBroadcastOp,
             CollectivePermuteOp, CollectiveReduceOp, ConcatenateOp, ConstantOp,
             CustomCallOp, DynamicSliceOp, DynamicUpdateSliceOp, GatherOp, IfOp,
             InfeedOp, MapOp, OptimizationBarrierOp, OutfeedOp, PadOp, RecvOp,
             ReduceOp, ReduceScatterOp, ReduceWindowOp, ReshapeOp, ReverseOp,
             ScatterOp, SelectAndScatterOp, SendOp, SliceOp, SortOp,
             TransposeOp, WhileOp>(op) ||
         !isa<StableHLODialect>(op->getDialect());
}

LogicalResult evaluateQuantize(Operation *op, Interpreter &,
                               ArrayRef<Tensor> operands, Tensors &results) {
  results.push_back(isQuantized(operands[0].type) ? dequantize(operands[0])
                                                  : operands[0]);
  if (isQuantized(op->getResult(0).getType()))
    results[0] = quantize(results[0], resultType(op));
  return success();
}

} // namespace

bool reference::computesOnNumbers(Operation *op) {
  auto any = [](TypeRange types) { return llvm::any_of(types, isQuantized); };
  return !handsOn(op) && !isa<UniformQuantizeOp, UniformDequantizeOp>(op) &&
         (any(op->getOperandTypes()) || any(op->getResultTypes()));
}

LogicalResult reference::evaluateOnNumbers(Operation *op, Evaluate evaluate,
                                           Interpreter &interpreter,
                                           ArrayRef<Tensor> operands,
                                           Tensors &results) {
  Tensors numbers;
  for (const Tensor &operand : operands)
    numbers.push_back(isQuantized(operand.type) ? dequantize(operand)
                                                : operand);
  // The same operation, whose results are numbers.
  Operation *twin = op->clone();
  for (Value result : twin->getResults())
    result.setType(expressedType(result.getType()));
  LogicalResult evaluated = evaluate(twin, interpreter, numbers, results);
  twin->erase();
  if (failed(evaluated))
    return failure();
  for (auto [result, type] : llvm::zip_equal(results, op->getResultTypes()))
    if (isQuantized(type))
      result = quantize(result, cast<RankedTensorType>(type));
  return success();
}

ArrayRef<Evaluator> reference::quantizedEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.uniform_dequantize", evaluateQuantize},
      {"stablehlo.uniform_quantize", evaluateQuantize},
  };
  return table;
}
