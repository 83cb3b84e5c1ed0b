//===- VerifyDot.cpp - Constraints of dot_general ------------------------===//
//
// The verifier of the matrix product. Labels are the constraint numbers of the
// StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"
#include "tenon/Dialect/StableHLO/VerifyQuantized.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

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

/// Element types of a product of quantized operands.
static LogicalResult checkQuantized(DotGeneralOp op,
                                    const DotDimensions &dims) {
  Type lhs = elementTypeOf(op.getLhs().getType());
  Type rhs = elementTypeOf(op.getRhs().getType());
  Type result = elementTypeOf(op.getResult().getType());
  // dot_general_c14
  if (!isa<quant::QuantizedType>(rhs) ||
      isa<quant::QuantizedType>(lhs) != isa<quant::QuantizedType>(result))
    return op.emitOpError()
           << "element types are " << lhs << ", " << rhs << " and " << result
           << ", expected 'rhs' to be quantized, and 'lhs' if and only if "
              "'result' is";
  // dot_general_c15
  if (hasNonzeroZeroPoint(rhs))
    return op.emitOpError()
           << "'rhs' has element type " << rhs << ", expected zero points of 0";
  // dot_general_c16
  auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(rhs);
  if (perAxis &&
      llvm::is_contained(dims.rhsContracting, perAxis.getQuantizedDimension()))
    return op.emitOpError() << "'rhs' is quantized along dimension "
                            << perAxis.getQuantizedDimension()
                            << ", expected one that is not contracted";
  if (!isa<quant::QuantizedType>(lhs))
    // dot_general_c20
    return checkExpressedTypes(op, lhs, rhs, result);
  // dot_general_c17
  if (failed(checkStorageTypes(op, lhs, rhs)))
    return failure();
  // dot_general_c18
  if (failed(checkExpressedTypes(op, lhs, rhs, result)))
    return failure();
  // dot_general_c19
  return checkPerTensorResult(op, rhs, result);
}

static LogicalResult checkElementTypes(DotGeneralOp op,
                                       const DotDimensions &dims) {
  Type lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  if (isa<quant::QuantizedType>(elementTypeOf(lhs)) ||
      isa<quant::QuantizedType>(elementTypeOf(rhs)) ||
      isa<quant::QuantizedType>(elementTypeOf(op.getResult().getType())))
    return checkQuantized(op, dims);
  // dot_general_c13. An algorithm says which types the operands are converted
  // to, so that exporters leave them as they are.
  return op.getAlgorithm() ? success()
                           : checkSameElementType(op, "lhs", lhs, "rhs", rhs);
}

static LogicalResult checkAlgorithm(DotGeneralOp op) {
  std::optional<DotAlgorithmAttr> algorithm = op.getAlgorithm();
  if (!algorithm)
    return success();
  // dot_general_c21
  if (std::optional<ArrayAttr> precision = op.getPrecisionConfig())
    for (Attribute each : *precision)
      if (cast<PrecisionAttr>(each).getValue() != Precision::DEFAULT)
        return op.emitOpError()
               << "has precision "
               << stringifyPrecision(cast<PrecisionAttr>(each).getValue())
               << " and an algorithm, expected DEFAULT";
  // dot_general_c22
  if (failed(checkAtLeast(op, "lhs_component_count",
                          algorithm->getLhsComponentCount(), 1)))
    return failure();
  // dot_general_c23
  if (failed(checkAtLeast(op, "rhs_component_count",
                          algorithm->getRhsComponentCount(), 1)))
    return failure();
  // dot_general_c24
  return checkAtLeast(op, "num_primitive_operations",
                      algorithm->getNumPrimitiveOperations(), 1);
}

LogicalResult DotGeneralOp::verify() {
  DotDimensionNumbersAttr numbers = getDotDimensionNumbers();
  DotDimensions dims{shapeOf(getLhs()),
                     shapeOf(getRhs()),
                     numbers.getLhsBatchingDimensions(),
                     numbers.getRhsBatchingDimensions(),
                     numbers.getLhsContractingDimensions(),
                     numbers.getRhsContractingDimensions()};
  if (failed(checkLists(*this, dims)))
    return failure();
  // dot_general_c9
  if (failed(checkPairs(*this, "batching", dims, dims.lhsBatching,
                        dims.rhsBatching)))
    return failure();
  // dot_general_c10
  if (failed(checkPairs(*this, "contracting", dims, dims.lhsContracting,
                        dims.rhsContracting)))
    return failure();
  // dot_general_c11
  std::optional<ArrayAttr> precision = getPrecisionConfig();
  if (precision && !precision->empty() &&
      failed(checkCount(*this, "precision_config", precision->size(), 2,
                        "one for each operand")))
    return failure();
  // dot_general_c12
  if (failed(checkShape(*this, "result", shapeOf(getResult()),
                        resultShape(dims),
                        "the batching dimensions, then the remaining "
                        "dimensions of 'lhs' and of 'rhs'")))
    return failure();
  if (failed(checkElementTypes(*this, dims)))
    return failure();
  return checkAlgorithm(*this);
}
