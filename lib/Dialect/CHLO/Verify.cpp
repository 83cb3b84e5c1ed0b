//===- Verify.cpp - Constraints of chlo operations ------------------------===//
//
// The verifiers of the chlo dialect: shapes after broadcasting, and the shapes
// of the large operations.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tenon::chlo;
using namespace tenon::stablehlo;

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

/// Merges `size` into the broadcast size `result`: equal sizes stay, 1 gives
/// way, a dynamic size gives way to a size other than 1. Returns false if the
/// two cannot be broadcast.
static bool mergeSize(int64_t &result, int64_t size) {
  if (result == size || size == 1)
    return true;
  if (result == 1 || ShapedType::isDynamic(result)) {
    result = size;
    return true;
  }
  return ShapedType::isDynamic(size);
}

/// The operand's shape at the dimensions it takes in the result of rank `rank`,
/// 1 elsewhere: last dimensions against last dimensions, or as `dims` says.
static SmallVector<int64_t> alignShape(ArrayRef<int64_t> shape, size_t rank,
                                       std::optional<ArrayRef<int64_t>> dims) {
  SmallVector<int64_t> aligned(rank, 1);
  for (auto [i, size] : llvm::enumerate(shape))
    aligned[dims ? (*dims)[i] : rank - shape.size() + i] = size;
  return aligned;
}

/// The result has the shape to which `operands` are broadcast. `dims`, if
/// given, places the dimensions of operands of lower rank.
static LogicalResult
checkBroadcast(Operation *op, ArrayRef<Subject> names,
               std::optional<ArrayRef<int64_t>> dims = std::nullopt) {
  if (failed(checkTensorTypes(op)))
    return failure();
  size_t rank = 0;
  Subject highest = names[0];
  for (auto [name, operand] : llvm::zip(names, op->getOperands()))
    if (shapeOf(operand).size() > rank) {
      rank = shapeOf(operand).size();
      highest = name;
    }
  SmallVector<int64_t> expected(rank, 1);
  for (auto [name, operand] : llvm::zip(names, op->getOperands())) {
    ArrayRef<int64_t> shape = shapeOf(operand);
    bool isPlaced = dims && shape.size() < rank;
    if (isPlaced && (failed(checkCount(op, "broadcast_dimensions", dims->size(),
                                       shape.size(),
                                       "one for each dimension of the "
                                       "operand of lower rank")) ||
                     failed(checkDimensions(op, "broadcast_dimensions", *dims,
                                            highest, rank)) ||
                     failed(checkUnique(op, "broadcast_dimensions", *dims))))
      return failure();
    SmallVector<int64_t> aligned =
        alignShape(shape, rank, isPlaced ? dims : std::nullopt);
    for (size_t i = 0; i < rank; ++i)
      if (int64_t before = expected[i]; !mergeSize(expected[i], aligned[i]))
        return op->emitOpError()
               << "dimension " << i << " after broadcasting has size "
               << aligned[i] << " in " << name << " and " << before
               << " in an operand before it, expected equal sizes or 1";
  }
  return checkShape(op, "result", shapeOf(op->getResult(0)), expected,
                    "that of the operands after broadcasting");
}

/// As above for two operands whose elements have one type, and a result of that
/// type unless `resultElement` names another.
static LogicalResult checkBinary(Operation *op,
                                 std::optional<ArrayRef<int64_t>> dims,
                                 Type resultElement = nullptr) {
  Type lhs = op->getOperand(0).getType(), rhs = op->getOperand(1).getType();
  if (failed(checkSameBaselineElementType(op, "lhs", lhs, "rhs", rhs)))
    return failure();
  Type result = op->getResult(0).getType();
  if (resultElement && elementTypeOf(result) != resultElement)
    return op->emitOpError()
           << "'result' has element type " << elementTypeOf(result)
           << ", expected " << resultElement;
  if (!resultElement &&
      failed(checkSameBaselineElementType(op, "lhs", lhs, "result", result)))
    return failure();
  return checkBroadcast(op, {"lhs", "rhs"}, dims);
}

#define TENON_VERIFY_BROADCAST(Operation)                                      \
  LogicalResult Operation::verify() {                                          \
    return checkBinary(*this, getBroadcastDimensions());                       \
  }
TENON_VERIFY_BROADCAST(BroadcastAddOp)
TENON_VERIFY_BROADCAST(BroadcastAndOp)
TENON_VERIFY_BROADCAST(BroadcastAtan2Op)
TENON_VERIFY_BROADCAST(BroadcastDivOp)
TENON_VERIFY_BROADCAST(BroadcastMaxOp)
TENON_VERIFY_BROADCAST(BroadcastMinOp)
TENON_VERIFY_BROADCAST(BroadcastMulOp)
TENON_VERIFY_BROADCAST(BroadcastNextAfterOp)
TENON_VERIFY_BROADCAST(BroadcastOrOp)
TENON_VERIFY_BROADCAST(BroadcastPolygammaOp)
TENON_VERIFY_BROADCAST(BroadcastPowOp)
TENON_VERIFY_BROADCAST(BroadcastRemOp)
TENON_VERIFY_BROADCAST(BroadcastShiftLeftOp)
TENON_VERIFY_BROADCAST(BroadcastShiftRightArithmeticOp)
TENON_VERIFY_BROADCAST(BroadcastShiftRightLogicalOp)
TENON_VERIFY_BROADCAST(BroadcastSubOp)
TENON_VERIFY_BROADCAST(BroadcastXorOp)
TENON_VERIFY_BROADCAST(BroadcastZetaOp)
#undef TENON_VERIFY_BROADCAST

LogicalResult BroadcastComplexOp::verify() {
  return checkBinary(*this, getBroadcastDimensions(),
                     ComplexType::get(elementTypeOf(getLhs().getType())));
}

LogicalResult BroadcastCompareOp::verify() {
  return checkBinary(*this, getBroadcastDimensions(),
                     IntegerType::get(getContext(), 1));
}

LogicalResult BroadcastSelectOp::verify() {
  Type onTrue = getOnTrue().getType();
  if (failed(checkSameBaselineElementType(*this, "on_true", onTrue, "on_false",
                                          getOnFalse().getType())) ||
      failed(checkSameBaselineElementType(*this, "on_true", onTrue, "result",
                                          getResult().getType())))
    return failure();
  return checkBroadcast(*this, {"pred", "on_true", "on_false"});
}

//===----------------------------------------------------------------------===//
// Constants and large operations
//===----------------------------------------------------------------------===//

LogicalResult ConstantLikeOp::verify() {
  if (failed(checkTensorTypes(*this)))
    return failure();
  Type element = elementTypeOf(getResult().getType());
  if (getValue().getType() != element)
    return emitOpError() << "'value' has type " << getValue().getType()
                         << ", expected " << element
                         << ", the element type of 'result'";
  return success();
}

LogicalResult TopKOp::verify() {
  if (failed(checkTensorTypes(*this)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  if (shape.empty())
    return emitOpError("'operand' has rank 0, expected at least 1");
  int64_t k = getK(), last = shape.back();
  if (k < 0 || (!ShapedType::isDynamic(last) && k > last))
    return emitOpError() << "'k' is " << k
                         << ", expected at least 0 and at most the size "
                         << last << " of the last dimension of 'operand'";
  SmallVector<int64_t> expected(shape.drop_back());
  expected.push_back(k);
  StringRef reason = "that of 'operand' with a last dimension of size 'k'";
  if (failed(checkShape(*this, "values", shapeOf(getValues()), expected,
                        reason)) ||
      failed(checkShape(*this, "indices", shapeOf(getIndices()), expected,
                        reason)) ||
      failed(checkSameElementType(*this, "operand", getOperand().getType(),
                                  "values", getValues().getType())))
    return failure();
  Type index = elementTypeOf(getIndices().getType());
  if (!index.isSignlessInteger(32))
    return emitOpError() << "'indices' has element type " << index
                         << ", expected i32";
  return success();
}

namespace {

/// The shapes and dimension numbers of a ragged product.
struct RaggedDot {
  ArrayRef<int64_t> lhs, rhs, groups;
  ArrayRef<int64_t> lhsBatching, rhsBatching;
  ArrayRef<int64_t> lhsContracting, rhsContracting;
  int64_t raggedDimension;
  ArrayRef<int64_t> rhsGroup;
};

} // namespace

/// Sizes of the dimensions of `shape` that are in none of the lists.
static SmallVector<int64_t> remaining(ArrayRef<int64_t> shape,
                                      ArrayRef<ArrayRef<int64_t>> lists) {
  SmallVector<int64_t> sizes;
  for (auto [i, size] : llvm::enumerate(shape))
    if (llvm::none_of(lists, [i = int64_t(i)](ArrayRef<int64_t> list) {
          return llvm::is_contained(list, i);
        }))
      sizes.push_back(size);
  return sizes;
}

static LogicalResult checkRaggedLists(Operation *op, const RaggedDot &dot) {
  if (failed(checkCount(op, "rhs_batching_dimensions", dot.rhsBatching.size(),
                        dot.lhsBatching.size(),
                        "one for each of 'lhs_batching_dimensions'")) ||
      failed(checkCount(op, "rhs_contracting_dimensions",
                        dot.rhsContracting.size(), dot.lhsContracting.size(),
                        "one for each of 'lhs_contracting_dimensions'")) ||
      failed(checkUnique(op, "lhs_batching_dimensions", dot.lhsBatching,
                         "lhs_contracting_dimensions", dot.lhsContracting)) ||
      failed(checkUnique(op, "rhs_batching_dimensions", dot.rhsBatching,
                         "rhs_contracting_dimensions", dot.rhsContracting)))
    return failure();
  int64_t lhsRank = dot.lhs.size(), rhsRank = dot.rhs.size();
  if (failed(checkDimensions(op, "lhs_batching_dimensions", dot.lhsBatching,
                             "lhs", lhsRank)) ||
      failed(checkDimensions(op, "rhs_batching_dimensions", dot.rhsBatching,
                             "rhs", rhsRank)) ||
      failed(checkDimensions(op, "lhs_contracting_dimensions",
                             dot.lhsContracting, "lhs", lhsRank)) ||
      failed(checkDimensions(op, "rhs_contracting_dimensions",
                             dot.rhsContracting, "rhs", rhsRank)) ||
      failed(checkDimension(op, "lhs_ragged_dimensions", dot.raggedDimension,
                            "lhs", lhsRank)) ||
      failed(checkDimensions(op, "rhs_group_dimensions", dot.rhsGroup, "rhs",
                             rhsRank)) ||
      failed(checkUnique(op, "rhs_batching_dimensions", dot.rhsBatching,
                         "rhs_group_dimensions", dot.rhsGroup)) ||
      failed(checkUnique(op, "rhs_contracting_dimensions", dot.rhsContracting,
                         "rhs_group_dimensions", dot.rhsGroup)))
    return failure();
  auto checkPairs = [&](StringRef kind, ArrayRef<int64_t> left,
                        ArrayRef<int64_t> right) -> LogicalResult {
    for (auto [i, j] : llvm::zip(left, right))
      if (!agree(dot.lhs[i], dot.rhs[j]))
        return op->emitOpError()
               << kind << " dimension " << i << " of 'lhs' has size "
               << dot.lhs[i] << " but " << kind << " dimension " << j
               << " of 'rhs' has size " << dot.rhs[j]
               << ", expected equal sizes";
    return success();
  };
  return failure(
      failed(checkPairs("batching", dot.lhsBatching, dot.rhsBatching)) ||
      failed(
          checkPairs("contracting", dot.lhsContracting, dot.rhsContracting)));
}

/// `group_sizes` has one size per group, for each index of the batching
/// dimensions (and of free dimensions) before the ragged one; a vector holds
/// for all of them.
static LogicalResult checkGroupSizes(Operation *op, const RaggedDot &dot) {
  if (dot.groups.empty())
    return op->emitOpError("'group_sizes' has rank 0, expected at least 1");
  if (dot.groups.size() == 1)
    return success();
  SmallVector<int64_t> prefix;
  for (int64_t dimension : dot.lhsBatching) {
    if (dimension == dot.raggedDimension)
      break;
    prefix.push_back(dot.lhs[dimension]);
  }
  bool isBatching = llvm::is_contained(dot.lhsBatching, dot.raggedDimension);
  bool isContracting =
      llvm::is_contained(dot.lhsContracting, dot.raggedDimension);
  if (isContracting) {
    for (int64_t dimension : dot.lhsContracting) {
      if (dimension == dot.raggedDimension)
        break;
      prefix.push_back(dot.lhs[dimension]);
    }
  } else if (!isBatching) {
    for (int64_t i = 0; i < dot.raggedDimension; ++i)
      if (!llvm::is_contained(dot.lhsBatching, i) &&
          !llvm::is_contained(dot.lhsContracting, i))
        prefix.push_back(dot.lhs[i]);
  }
  prefix.push_back(dot.groups.back());
  return checkShape(op, "group_sizes", dot.groups, prefix,
                    "the dimensions before the ragged one, then the groups");
}

LogicalResult RaggedDotOp::verify() {
  if (failed(checkTensorTypes(*this)))
    return failure();
  RaggedDotDimensionNumbersAttr numbers = getRaggedDotDimensionNumbers();
  ArrayRef<int64_t> ragged = numbers.getLhsRaggedDimensions();
  if (ragged.size() != 1)
    return emitOpError() << "'lhs_ragged_dimensions' has " << ragged.size()
                         << " entries, expected 1";
  RaggedDot dot{shapeOf(getLhs()),
                shapeOf(getRhs()),
                shapeOf(getGroupSizes()),
                numbers.getLhsBatchingDimensions(),
                numbers.getRhsBatchingDimensions(),
                numbers.getLhsContractingDimensions(),
                numbers.getRhsContractingDimensions(),
                ragged[0],
                numbers.getRhsGroupDimensions()};
  if (failed(checkRaggedLists(*this, dot)))
    return failure();
  bool isFree = !llvm::is_contained(dot.lhsBatching, dot.raggedDimension) &&
                !llvm::is_contained(dot.lhsContracting, dot.raggedDimension);
  if (failed(checkCount(*this, "rhs_group_dimensions", dot.rhsGroup.size(),
                        isFree ? 1 : 0,
                        isFree ? "the ragged dimension is free"
                               : "the ragged dimension is not free")) ||
      failed(checkGroupSizes(*this, dot)))
    return failure();
  int64_t groups = dot.groups.back();
  if (isFree && !agree(dot.rhs[dot.rhsGroup[0]], groups))
    return emitOpError() << "group dimension " << dot.rhsGroup[0]
                         << " of 'rhs' has size " << dot.rhs[dot.rhsGroup[0]]
                         << ", expected " << groups
                         << ", the number of groups in 'group_sizes'";

  SmallVector<int64_t> expected;
  if (llvm::is_contained(dot.lhsContracting, dot.raggedDimension))
    expected.push_back(groups);
  for (int64_t dimension : dot.lhsBatching)
    expected.push_back(dot.lhs[dimension]);
  llvm::append_range(expected,
                     remaining(dot.lhs, {dot.lhsBatching, dot.lhsContracting}));
  llvm::append_range(
      expected,
      remaining(dot.rhs, {dot.rhsBatching, dot.rhsContracting, dot.rhsGroup}));
  if (std::optional<ArrayAttr> precision = getPrecisionConfig();
      precision && !precision->empty() &&
      failed(checkCount(*this, "precision_config", precision->size(), 2,
                        "one for each operand")))
    return failure();
  if (failed(checkSameElementType(*this, "lhs", getLhs().getType(), "rhs",
                                  getRhs().getType())))
    return failure();
  return checkShape(*this, "result", shapeOf(getResult()), expected,
                    "groups if contracted, batching dimensions, then what "
                    "remains of 'lhs' and of 'rhs'");
}

/// The type of one slice of `type` across `dimension`.
static Type sliceType(Type type, int64_t dimension) {
  SmallVector<int64_t> shape(shapeOf(type));
  shape.erase(shape.begin() + dimension);
  return RankedTensorType::get(shape, elementTypeOf(type));
}

LogicalResult ScanOp::verify() {
  if (failed(checkTensorTypes(*this)) ||
      failed(checkCount(*this, "carries", getCarries().size(),
                        getInits().size(), "one for each of 'inits'")))
    return failure();
  int64_t dimension = getDimension();
  std::optional<int64_t> length;
  if (std::optional<uint64_t> size = getScanDimSize())
    length = int64_t(*size);
  SmallVector<Type> arguments, results;
  auto checkScanned = [&](StringRef name, ValueRange values,
                          SmallVector<Type> &slices) -> LogicalResult {
    for (int64_t i = 0, e = values.size(); i < e; ++i) {
      ArrayRef<int64_t> shape = shapeOf(values[i]);
      if (failed(checkDimension(*this, "dimension", dimension, {name, i},
                                shape.size())))
        return failure();
      int64_t size = shape[dimension];
      if (!length || ShapedType::isDynamic(*length))
        length = size;
      if (!agree(*length, size))
        return emitOpError()
               << "dimension " << dimension << " of "
               << "'" << name << "' #" << i << " has size " << size
               << ", expected " << *length << ", the length of the scan";
      slices.push_back(sliceType(values[i].getType(), dimension));
    }
    return success();
  };
  if (failed(checkScanned("inputs", getInputs(), arguments)) ||
      failed(checkScanned("outputs", getOutputs(), results)))
    return failure();
  for (int64_t i = 0, e = getInits().size(); i < e; ++i)
    if (failed(checkSameType(*this, {"inits", i}, getInits()[i].getType(),
                             {"carries", i}, getCarries()[i].getType())))
      return failure();
  llvm::append_range(arguments, getInits().getTypes());
  llvm::append_range(results, getCarries().getTypes());
  if (failed(checkRegionArguments(*this, "body", getBody(), arguments)))
    return failure();
  return checkRegionResults(*this, "body", getBody(), results);
}
