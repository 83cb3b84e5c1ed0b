//===- VerifyDot.cpp - Constraints of dot_general ------------------------===//
//
// The verifier of the matrix product. Labels are the constraint numbers of the
// StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace {

/// The four lists of dimension numbers and the two shapes.
struct DotDimensions {
  ArrayRef<int64_t> lhs, rhs;
  ArrayRef<int64_t> lhsBatching, rhsBatching;
  ArrayRef<int64_t> lhsContracting, rhsContracting;
};

} // namespace

static LogicalResult checkLists(Operation *op, const DotDimensions &dims) {
  // dot_general_c1
  if (failed(checkCount(op, "rhs_batching_dimensions", dims.rhsBatching.size(),
                        dims.lhsBatching.size(),
                        "one for each of 'lhs_batching_dimensions'")))
    return failure();
  // dot_general_c2
  if (failed(checkCount(op, "rhs_contracting_dimensions",
                        dims.rhsContracting.size(), dims.lhsContracting.size(),
                        "one for each of 'lhs_contracting_dimensions'")))
    return failure();
  // dot_general_c3
  if (failed(checkUnique(op, "lhs_batching_dimensions", dims.lhsBatching,
                         "lhs_contracting_dimensions", dims.lhsContracting)))
    return failure();
  // dot_general_c4
  if (failed(checkUnique(op, "rhs_batching_dimensions", dims.rhsBatching,
                         "rhs_contracting_dimensions", dims.rhsContracting)))
    return failure();
  // dot_general_c5
  if (failed(checkDimensions(op, "lhs_batching_dimensions", dims.lhsBatching,
                             "lhs", dims.lhs.size())))
    return failure();
  // dot_general_c6
  if (failed(checkDimensions(op, "lhs_contracting_dimensions",
                             dims.lhsContracting, "lhs", dims.lhs.size())))
    return failure();
  // dot_general_c7
  if (failed(checkDimensions(op, "rhs_batching_dimensions", dims.rhsBatching,
                             "rhs", dims.rhs.size())))
    return failure();
  // dot_general_c8
  return checkDimensions(op, "rhs_contracting_dimensions", dims.rhsContracting,
                         "rhs", dims.rhs.size());
}

static LogicalResult checkPairs(Operation *op, StringRef kind,
                                const DotDimensions &dims,
                                ArrayRef<int64_t> lhsList,
                                ArrayRef<int64_t> rhsList) {
  for (auto [left, right] : llvm::zip(lhsList, rhsList))
    if (!agree(dims.lhs[left], dims.rhs[right]))
      return op->emitOpError()
             << kind << " dimension " << left << " of 'lhs' has size "
             << dims.lhs[left] << " but " << kind << " dimension " << right
             << " of 'rhs' has size " << dims.rhs[right]
             << ", expected equal sizes";
  return success();
}

static SmallVector<int64_t> resultShape(const DotDimensions &dims) {
  SmallVector<int64_t> shape;
  for (int64_t dimension : dims.lhsBatching)
    shape.push_back(dims.lhs[dimension]);
  auto appendRest = [&](ArrayRef<int64_t> sizes, ArrayRef<int64_t> batching,
                        ArrayRef<int64_t> contracting) {
    for (auto [i, size] : llvm::enumerate(sizes))
      if (!llvm::is_contained(batching, int64_t(i)) &&
          !llvm::is_contained(contracting, int64_t(i)))
        shape.push_back(size);
  };
  appendRest(dims.lhs, dims.lhsBatching, dims.lhsContracting);
  appendRest(dims.rhs, dims.rhsBatching, dims.rhsContracting);
  return shape;
}

LogicalResult DotGeneralOp::verify() {
  Operation *op = getOperation();
  if (failed(checkByteSizes(op)))
    return failure();
  DotDimensionNumbersAttr numbers = getDotDimensionNumbers();
  DotDimensions dims{shapeOf(getLhs()),
                     shapeOf(getRhs()),
                     numbers.getLhsBatchingDimensions(),
                     numbers.getRhsBatchingDimensions(),
                     numbers.getLhsContractingDimensions(),
                     numbers.getRhsContractingDimensions()};
  if (failed(checkLists(op, dims)))
    return failure();
  // dot_general_c9
  if (failed(
          checkPairs(op, "batching", dims, dims.lhsBatching, dims.rhsBatching)))
    return failure();
  // dot_general_c10
  if (failed(checkPairs(op, "contracting", dims, dims.lhsContracting,
                        dims.rhsContracting)))
    return failure();
  // dot_general_c11
  std::optional<ArrayAttr> precision = getPrecisionConfig();
  if (precision && !precision->empty() &&
      failed(checkCount(op, "precision_config", precision->size(), 2,
                        "one for each operand")))
    return failure();
  // dot_general_c12
  if (failed(checkShape(op, "result", shapeOf(getResult()), resultShape(dims),
                        "the batching dimensions, then the remaining "
                        "dimensions of 'lhs' and of 'rhs'")))
    return failure();
  // dot_general_c13
  if (failed(checkSameElementType(op, "lhs", getLhs().getType(), "rhs",
                                  getRhs().getType())))
    return failure();
  return success();
}
