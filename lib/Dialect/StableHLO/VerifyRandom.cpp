//===- VerifyRandom.cpp - Constraints of random numbers ------------------===//
//
// The verifiers of rng and rng_bit_generator. Labels are the constraint numbers
// of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon::stablehlo;

LogicalResult RngBitGeneratorOp::verify() {
  // rng_bit_generator_c1
  if (failed(checkSameType(*this, "initial_state", getInitialState().getType(),
                           "output_state", getOutputState().getType())))
    return failure();
  // rng_bit_generator_i2
  ArrayRef<int64_t> shape = shapeOf(getInitialState());
  if (shape.size() != 1)
    return emitOpError() << "'initial_state' has rank " << shape.size()
                         << ", expected 1";
  // rng_bit_generator_c2
  int64_t size = shape[0];
  RngAlgorithm algorithm = getRngAlgorithm();
  if (ShapedType::isDynamic(size) || algorithm == RngAlgorithm::DEFAULT)
    return success();
  bool isPhilox = algorithm == RngAlgorithm::PHILOX;
  if (size == 2 || (isPhilox && size == 3))
    return success();
  return emitOpError() << "'initial_state' has " << size
                       << " elements, expected " << (isPhilox ? "2 or 3" : "2")
                       << " for " << stringifyRngAlgorithm(algorithm);
}

LogicalResult RngOp::verify() {
  Type a = getA().getType(), result = getResult().getType();
  // rng_c1
  if (failed(checkSameElementType(*this, "a", a, "b", getB().getType())) ||
      failed(checkSameElementType(*this, "a", a, "result", result)))
    return failure();
  // rng_i1
  if (failed(checkScalar(*this, "a", a)) ||
      failed(checkScalar(*this, "b", getB().getType())))
    return failure();
  // rng_c2
  if (getRngDistribution() == RngDistribution::NORMAL &&
      !isa<FloatType>(elementTypeOf(a)))
    return emitOpError() << "'a' has element type " << elementTypeOf(a)
                         << ", expected a floating-point type for NORMAL";
  // rng_c3
  DenseIntElementsAttr shape;
  if (!matchPattern(getShape(), m_Constant(&shape)))
    return success();
  SmallVector<int64_t> expected;
  for (const APInt &size : shape.getValues<APInt>())
    expected.push_back(size.getSExtValue());
  return checkShape(*this, "result", shapeOf(result), expected,
                    "which 'shape' holds");
}
