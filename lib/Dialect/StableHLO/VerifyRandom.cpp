//===- VerifyRandom.cpp - Constraints of random numbers ------------------===//
//
// The verifier of rng_bit_generator. Labels are the constraint numbers of the
// StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

using namespace mlir;
using namespace tenon::stablehlo;

LogicalResult RngBitGeneratorOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  // rng_bit_generator_c1
  if (failed(checkSameType(op, "initial_state", getInitialState().getType(),
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
