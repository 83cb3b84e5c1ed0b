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
  // reduce_c1, reduce_c2, reduce_c3, reduce_i2
  if (failed(checkReducedOperands(*this, getInputs(), getInitValues())))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getInputs()[0]);
  ArrayRef<int64_t> reduced = getDimensions();
  // reduce_c4
  if (failed(checkDimensions(*this, "dimensions", reduced, {"inputs", 0},
                             shape.size())))
    return failure();
  // reduce_c5
  if (failed(checkUnique(*this, "dimensions", reduced)))
    return failure();
  // reduce_c6
  SmallVector<Type> elementTypes, accumulators;
  for (Value input : getInputs())
    elementTypes.push_back(elementTypeOf(input.getType()));
  if (failed(
          checkReducer(*this, "body", getBody(), elementTypes, accumulators)))
    return failure();
  SmallVector<int64_t> expected;
  for (auto [i, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(reduced, int64_t(i)))
      expected.push_back(size);
  for (int64_t i = 0, count = getInputs().size(); i < count; ++i) {
    Type result = getResult(i).getType();
    // reduce_c7
    if (failed(checkShape(*this, {"results", i}, shapeOf(result), expected,
                          "the shape of 'inputs' without 'dimensions'")))
      return failure();
    // reduce_c8
    if (failed(checkAccumulated(*this, {"results", i}, result, accumulators[i],
                                "body")))
      return failure();
  }
  return success();
}

LogicalResult SortOp::verify() {
  // sort_c1
  int64_t count = getInputs().size();
  if (count == 0)
    return emitOpError("has no inputs, expected at least one");
  if (failed(checkCount(*this, "results", getNumResults(), count,
                        "one for each of 'inputs'")))
    return failure();
  SmallVector<Type> arguments;
  for (int64_t i = 0; i < count; ++i) {
    Type input = getInputs()[i].getType();
    // sort_c3
    if (failed(checkSameShape(*this, {"inputs", 0}, getInputs()[0].getType(),
                              {"inputs", i}, input)))
      return failure();
    // sort_c2
    if (failed(checkSameType(*this, {"inputs", i}, input, {"results", i},
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
  if (failed(checkRegionArguments(*this, "comparator", getComparator(),
                                  arguments)))
    return failure();
  return checkRegionResults(*this, "comparator", getComparator(), {predicate});
}
