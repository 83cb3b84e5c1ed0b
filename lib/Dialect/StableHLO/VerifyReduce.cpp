//===- VerifyReduce.cpp - Constraints of reduce and sort -----------------===//
//
// The verifiers of the operations that take several tensors of one shape and a
// region over their elements. Labels are the constraint numbers of the
// StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

using namespace mlir;
using namespace tenon::stablehlo;

LogicalResult ReduceOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  // reduce_c3
  int64_t count = getInputs().size();
  if (count == 0)
    return emitOpError("has no inputs, expected at least one");
  // Both lists are cut from one list of operands, half each.
  if (failed(checkCount(op, "operands", getNumOperands(), 2 * count,
                        "as many 'init_values' as 'inputs'")) ||
      failed(checkCount(op, "results", getNumResults(), count,
                        "one for each of 'inputs'")))
    return failure();
  SmallVector<Type> elementTypes, accumulators;
  for (int64_t i = 0; i < count; ++i) {
    Type input = getInputs()[i].getType();
    Type init = getInitValues()[i].getType();
    // reduce_c1
    if (failed(checkSameShape(op, {"inputs", 0}, getInputs()[0].getType(),
                              {"inputs", i}, input)))
      return failure();
    // reduce_c2
    if (failed(checkSameElementType(op, {"inputs", i}, input,
                                    {"init_values", i}, init)))
      return failure();
    // reduce_i2
    if (failed(checkScalar(op, {"init_values", i}, init)))
      return failure();
    elementTypes.push_back(elementTypeOf(input));
  }
  ArrayRef<int64_t> shape = shapeOf(getInputs()[0]);
  ArrayRef<int64_t> reduced = getDimensions();
  // reduce_c4
  if (failed(checkDimensions(op, "dimensions", reduced, {"inputs", 0},
                             shape.size())))
    return failure();
  // reduce_c5
  if (failed(checkUnique(op, "dimensions", reduced)))
    return failure();
  // reduce_c6
  if (failed(checkReducer(op, "body", getBody(), elementTypes, accumulators)))
    return failure();
  SmallVector<int64_t> expected;
  for (auto [i, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(reduced, int64_t(i)))
      expected.push_back(size);
  for (int64_t i = 0; i < count; ++i) {
    Type result = getResult(i).getType();
    // reduce_c7
    if (failed(checkShape(op, {"results", i}, shapeOf(result), expected,
                          "the shape of 'inputs' without 'dimensions'")))
      return failure();
    // reduce_c8
    if (elementTypeOf(result) != accumulators[i])
      return emitOpError() << "'results' #" << i << " has element type "
                           << elementTypeOf(result) << ", expected "
                           << accumulators[i] << ", which 'body' returns";
  }
  return success();
}

LogicalResult SortOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  // sort_c1
  int64_t count = getInputs().size();
  if (count == 0)
    return emitOpError("has no inputs, expected at least one");
  if (failed(checkCount(op, "results", getNumResults(), count,
                        "one for each of 'inputs'")))
    return failure();
  SmallVector<Type> arguments;
  for (int64_t i = 0; i < count; ++i) {
    Type input = getInputs()[i].getType();
    // sort_c3
    if (failed(checkSameShape(op, {"inputs", 0}, getInputs()[0].getType(),
                              {"inputs", i}, input)))
      return failure();
    // sort_c2
    if (failed(checkSameType(op, {"inputs", i}, input, {"results", i},
                             getResult(i).getType())))
      return failure();
    arguments.append(2, RankedTensorType::get({}, elementTypeOf(input)));
  }
  // sort_c4
  int64_t rank = shapeOf(getInputs()[0]).size();
  int64_t dimension = getDimension();
  if (dimension < -rank || dimension >= rank)
    return emitOpError() << "'dimension' is " << dimension
                         << ", expected a dimension of 'inputs' of rank "
                         << rank << " (at least " << -rank << ", less than "
                         << rank << ")";
  // sort_c5
  Type predicate = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(
          checkRegionArguments(op, "comparator", getComparator(), arguments)))
    return failure();
  return checkRegionResults(op, "comparator", getComparator(), {predicate});
}
