//===- Attention.cpp - Attention as one operation ------------------------===//
//
// Text, extents and verifiers of the operations of Attention.td.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Step/Attention.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tenon::step;

namespace {

/// By -1 - AttentionDimension.
constexpr char dimensionLetters[] = {'q', 'k', 'd', 'v'};

std::string nameOf(int64_t dimension) {
  return dimension >= 0 ? std::to_string(dimension)
                        : std::string(1, dimensionLetters[-1 - dimension]);
}

} // namespace

/// `[0, q, 1, d]`.
static ParseResult parseAttentionDimensions(OpAsmParser &parser,
                                            DenseI64ArrayAttr &dimensions) {
  SmallVector<int64_t> parsed;
  auto parseOne = [&]() -> ParseResult {
    int64_t number = 0;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (isNumber.has_value()) {
      if (failed(*isNumber))
        return failure();
      if (number < 0)
        return parser.emitError(parser.getCurrentLocation())
               << "a batch dimension has a number of at least 0, found "
               << number;
      parsed.push_back(number);
      return success();
    }
    SMLoc where = parser.getCurrentLocation();
    StringRef letter;
    if (failed(parser.parseKeyword(&letter)))
      return failure();
    const char *found = letter.size() == 1
                            ? llvm::find(dimensionLetters, letter.front())
                            : std::end(dimensionLetters);
    if (found == std::end(dimensionLetters))
      return parser.emitError(where) << "expected the number of a batch "
                                        "dimension, q, k, d or v, found '"
                                     << letter << "'";
    parsed.push_back(-1 - (found - dimensionLetters));
    return success();
  };
  if (failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                            parseOne)))
    return failure();
  dimensions = parser.getBuilder().getDenseI64ArrayAttr(parsed);
  return success();
}

static void printAttentionDimensions(OpAsmPrinter &printer, Operation *,
                                     DenseI64ArrayAttr dimensions) {
  printer << '[';
  llvm::interleaveComma(
      dimensions.asArrayRef(), printer.getStream(),
      [&](int64_t dimension) { printer.getStream() << nameOf(dimension); });
  printer << ']';
}

#define GET_OP_CLASSES
#include "tenon/Dialect/Step/AttentionOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

/// Dimensions of an operand that may be absent.
static ArrayRef<int64_t> dimsOf(std::optional<ArrayRef<int64_t>> dims) {
  return dims.value_or(ArrayRef<int64_t>());
}

template <typename Op>
void AttentionProblem::read(Op op) {
  query = op.getQuery();
  key = op.getKey();
  value = op.getValue();
  bias = op.getBias();
  mask = op.getMask();
  factor = op.getFactor();
  queryDims = op.getQueryDims();
  keyDims = op.getKeyDims();
  valueDims = op.getValueDims();
  biasDims = dimsOf(op.getBiasDims());
  maskDims = dimsOf(op.getMaskDims());
  factorDims = dimsOf(op.getFactorDims());
  scale = op.getScale().convertToFloat();
  if (op.getFill())
    fill = op.getFill()->convertToFloat();
  causal = op.getCausal();
  roundsWeights = op.getRoundsWeights();
  for (auto [dimension, extent] : llvm::zip(queryDims, shapeOf(query))) {
    if (dimension >= 0) {
      if (dimension >= int64_t(batch.size()))
        batch.resize(dimension + 1, 1);
      batch[dimension] = extent;
    } else if (dimension == queryPositions)
      queries = extent;
    else
      features = extent;
  }
  for (auto [dimension, extent] : llvm::zip(valueDims, shapeOf(value))) {
    if (dimension == keyPositions)
      keys = extent;
    else if (dimension == tenon::step::valueFeatures)
      valueFeatures = extent;
  }
}

AttentionProblem::AttentionProblem(AttentionOp op) { read(op); }
AttentionProblem::AttentionProblem(AttentionGradientOp op) {
  read(op);
  roundsWeightGradients = op.getRoundsWeightGradients();
  roundsSlopes = op.getRoundsSlopes();
}

int64_t AttentionProblem::extentOf(int64_t dimension) const {
  switch (dimension) {
  case queryPositions:
    return queries;
  case keyPositions:
    return keys;
  case queryFeatures:
    return features;
  case tenon::step::valueFeatures:
    return valueFeatures;
  default:
    return batch[dimension];
  }
}

int64_t AttentionProblem::pairs() const {
  if (!causal)
    return queries * keys;
  int64_t both = std::min(queries, keys);
  return both * (both + 1) / 2 + (queries - both) * keys;
}

bool AttentionProblem::fillsTiles() const {
  constexpr int64_t least = 8;
  return std::min({queries, keys, features, this->valueFeatures}) >= least;
}

std::optional<AttentionProblem> tenon::step::attentionProblemOf(Operation *op) {
  if (auto attention = dyn_cast_or_null<AttentionOp>(op))
    return AttentionProblem(attention);
  if (auto gradient = dyn_cast_or_null<AttentionGradientOp>(op))
    return AttentionProblem(gradient);
  return std::nullopt;
}

int64_t tenon::step::attentionPairs(Operation *op) {
  auto problem = attentionProblemOf(op);
  if (!problem)
    return 0;
  int64_t pairs = problem->pairs();
  for (int64_t extent : problem->batch)
    pairs *= extent;
  return pairs;
}

int64_t tenon::step::attentionUnits(Operation *op) {
  auto problem = attentionProblemOf(op);
  if (!problem)
    return 0;
  int64_t units = 1;
  for (auto [number, extent] : llvm::enumerate(problem->batch))
    if (isa<AttentionOp>(op) || !problem->isShared(number))
      units *= extent;
  return units;
}

bool tenon::step::multipliesTiles(Operation *op) {
  auto problem = attentionProblemOf(op);
  if (!problem || !problem->fillsTiles() || !problem->roundsWeights)
    return false;
  SmallVector<Value, 4> factors{problem->query, problem->key, problem->value};
  if (auto gradient = dyn_cast<AttentionGradientOp>(op)) {
    if (!problem->roundsSlopes)
      return false;
    factors.push_back(gradient.getOutputGradient());
  }
  return llvm::all_of(factors, [](Value factor) {
    return getElementTypeOrSelf(factor.getType()).isBF16();
  });
}

double tenon::step::attentionFlops(Operation *op) {
  auto problem = attentionProblemOf(op);
  if (!problem)
    return 0;
  bool isGradient = isa<AttentionGradientOp>(op);
  return 2 * double(attentionPairs(op)) *
         double((isGradient ? 3 : 1) * problem->features +
                (isGradient ? 2 : 1) * problem->valueFeatures);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

namespace {

/// Holds the dimensions of the tensors of one operation against each other.
class Checker {
public:
  explicit Checker(Operation *op) : op(op) {}

  /// `required` are the dimensions that are no batch dimensions; `optional`
  /// says whether any of them may be missing.
  LogicalResult check(StringRef what, Type type, ArrayRef<int64_t> dims,
                      ArrayRef<int64_t> required, bool optional = false) {
    auto tensor = cast<RankedTensorType>(type);
    if (int64_t(dims.size()) != tensor.getRank())
      return op->emitOpError() << "names " << dims.size() << " dimensions of "
                               << what << ", which has " << tensor.getRank();
    llvm::SmallSet<int64_t, 8> seen;
    for (auto [dimension, extent] : llvm::zip(dims, tensor.getShape())) {
      if (!seen.insert(dimension).second)
        return op->emitOpError() << "names dimension " << nameOf(dimension)
                                 << " of " << what << " twice";
      if (dimension < 0 && !llvm::is_contained(required, dimension))
        return op->emitOpError()
               << what << " has no dimension " << nameOf(dimension);
      auto [known, isNew] = extents.try_emplace(dimension, extent);
      if (!isNew && known->second != extent)
        return op->emitOpError()
               << "dimension " << nameOf(dimension) << " of " << what
               << " has extent " << extent << ", elsewhere " << known->second;
      if (isNew && dimension >= 0 && what != "query")
        return op->emitOpError() << what << " has batch dimension " << dimension
                                 << ", which the query lacks";
    }
    if (!optional)
      for (int64_t dimension : required)
        if (!seen.contains(dimension))
          return op->emitOpError() << "dimension " << nameOf(dimension)
                                   << " of " << what << " is missing";
    return success();
  }

  int64_t extentOf(int64_t dimension) const {
    return extents.lookup(dimension);
  }

private:
  Operation *op;
  llvm::DenseMap<int64_t, int64_t> extents;
};

SmallVector<int64_t> batchOf(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> batch;
  llvm::copy_if(dims, std::back_inserter(batch),
                [](int64_t dimension) { return dimension >= 0; });
  llvm::sort(batch);
  return batch;
}

template <typename Op>
LogicalResult checkProblem(Op op, Checker &checker) {
  // What is computed in f32.
  SmallVector<Value> tensors(op->getOperands());
  if (op.getMask())
    tensors.erase(llvm::find(tensors, op.getMask()));
  llvm::append_range(tensors, op->getResults());
  for (Value tensor : tensors) {
    Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
    if (!element.isF32() && !element.isBF16() && !element.isF16())
      return op.emitOpError()
             << "takes elements of f32, bf16 or f16, found " << element;
  }
  if (failed(checker.check("query", op.getQuery().getType(), op.getQueryDims(),
                           {queryPositions, queryFeatures})) ||
      failed(checker.check("key", op.getKey().getType(), op.getKeyDims(),
                           {keyPositions, queryFeatures})) ||
      failed(checker.check("value", op.getValue().getType(), op.getValueDims(),
                           {keyPositions, valueFeatures})))
    return failure();
  SmallVector<int64_t> numbers = batchOf(op.getQueryDims());
  for (auto [index, number] : llvm::enumerate(numbers))
    if (number != int64_t(index))
      return op.emitOpError() << "has no batch dimension " << index
                              << " but one with the number " << number;
  if (batchOf(op.getKeyDims()) != batchOf(op.getValueDims()))
    return op.emitOpError() << "key and value have different batch dimensions";
  auto checkBeside = [&](StringRef what, Value tensor,
                         std::optional<ArrayRef<int64_t>> dims) {
    if (bool(tensor) != dims.has_value())
      return LogicalResult(op.emitOpError()
                           << what << " and its dimensions come together");
    if (!tensor)
      return success();
    return checker.check(what, tensor.getType(), *dims,
                         {queryPositions, keyPositions}, /*optional=*/true);
  };
  if (failed(checkBeside("bias", op.getBias(), op.getBiasDims())) ||
      failed(checkBeside("mask", op.getMask(), op.getMaskDims())) ||
      failed(checkBeside("factor", op.getFactor(), op.getFactorDims())))
    return failure();
  if (bool(op.getMask()) != bool(op.getFill()))
    return op.emitOpError() << "a mask and 'fill' come together";
  if (op.getMask() && !cast<RankedTensorType>(op.getMask().getType())
                           .getElementType()
                           .isInteger(1))
    return op.emitOpError() << "the mask has elements of type "
                            << op.getMask().getType() << ", expected i1";
  return success();
}

template <typename Op>
LogicalResult checkResult(Op op, Checker &checker, StringRef what, Type type,
                          ArrayRef<int64_t> dims, ArrayRef<int64_t> required,
                          ArrayRef<int64_t> batchLike) {
  if (failed(checker.check(what, type, dims, required)))
    return failure();
  if (batchOf(dims) != batchOf(batchLike))
    return op.emitOpError() << "the batch dimensions of " << what
                            << " are not those of what it belongs to";
  return success();
}

template <typename Op>
LogicalResult checkStatistics(Op op, Checker &checker) {
  SmallVector<int64_t> shape;
  for (int64_t dimension : batchOf(op.getQueryDims()))
    shape.push_back(checker.extentOf(dimension));
  shape.push_back(checker.extentOf(queryPositions));
  auto expected =
      RankedTensorType::get(shape, Float32Type::get(op.getContext()));
  for (auto [what, type] : {std::pair("maximum", op.getMaximum().getType()),
                            std::pair("sum", op.getSum().getType())})
    if (type != expected)
      return LogicalResult(op.emitOpError()
                           << "the " << what << " has type " << type
                           << ", expected " << expected);
  return success();
}

} // namespace

LogicalResult AttentionOp::verify() {
  Checker checker(*this);
  return failure(
      failed(checkProblem(*this, checker)) ||
      failed(checkResult(*this, checker, "output", getOutput().getType(),
                         getOutputDims(), {queryPositions, valueFeatures},
                         getQueryDims())) ||
      failed(checkStatistics(*this, checker)));
}

LogicalResult AttentionGradientOp::verify() {
  Checker checker(*this);
  return failure(
      failed(checkProblem(*this, checker)) ||
      failed(checkStatistics(*this, checker)) ||
      failed(checkResult(*this, checker, "output gradient",
                         getOutputGradient().getType(), getOutputGradientDims(),
                         {queryPositions, valueFeatures}, getQueryDims())) ||
      failed(checkResult(*this, checker, "query gradient",
                         getQueryGradient().getType(), getQueryGradientDims(),
                         {queryPositions, queryFeatures}, getQueryDims())) ||
      failed(checkResult(*this, checker, "key gradient",
                         getKeyGradient().getType(), getKeyGradientDims(),
                         {keyPositions, queryFeatures}, getKeyDims())) ||
      failed(checkResult(*this, checker, "value gradient",
                         getValueGradient().getType(), getValueGradientDims(),
                         {keyPositions, valueFeatures}, getValueDims())));
}
