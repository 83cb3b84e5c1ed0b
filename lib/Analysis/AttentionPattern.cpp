//===- AttentionPattern.cpp - Attention written as many operations --------===//
//
// Starts at the exponential of a softmax and follows values: back to the
// product of queries and keys, on to the product with the values, and from both
// to what automatic differentiation makes of them. Dimensions are named by
// those of the scores, on the way through transposes and products too.
//
// With weights P = E / L, E = exp(S - max S), L = sum E, the gradient of S is
//
//     P (dP - sum P dP)                  where the softmax has a rule of its
//     own E (dP / L - sum dP E / (L L))      where it has none
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/AttentionPattern.h"

#include "tenon/Analysis/ReductionTree.h"
#include "tenon/Analysis/Shapes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon;

namespace {

namespace hlo = tenon::stablehlo;

using Labels = SmallVector<int64_t>;

/// The other operand of an operation of two; null if `value` is none of them.
Value otherOperand(Operation *op, Value value) {
  if (op->getOperand(0) == value)
    return op->getOperand(1);
  return op->getOperand(1) == value ? op->getOperand(0) : Value();
}

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The number that a splat constant of floats repeats.
std::optional<double> repeatedNumber(Value value) {
  DenseFPElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return std::nullopt;
  return constant.getSplatValue<FloatAttr>().getValueAsDouble();
}

bool repeats(Value value, double number) {
  return repeatedNumber(value) == number;
}

/// `x * c` or `x / c` with a number c: x and the factor.
std::optional<std::pair<Value, double>> scaling(Operation *op) {
  if (auto multiply = dyn_cast_or_null<hlo::MultiplyOp>(op)) {
    if (auto factor = repeatedNumber(multiply.getRhs()))
      return std::pair(multiply.getLhs(), *factor);
    if (auto factor = repeatedNumber(multiply.getLhs()))
      return std::pair(multiply.getRhs(), *factor);
  }
  if (auto divide = dyn_cast_or_null<hlo::DivideOp>(op))
    if (auto divisor = repeatedNumber(divide.getRhs()))
      return std::pair(divide.getLhs(), 1 / *divisor);
  return std::nullopt;
}

/// The booleans that a tensor of numbers is, true being 1.
Value booleansOf(Value numbers) {
  auto convert = numbers.getDefiningOp<hlo::ConvertOp>();
  return convert && elementOf(convert.getOperand()).isInteger(1)
             ? convert.getOperand()
             : Value();
}

/// What a value is but for its shape and the sign of its zeros.
Value beforeReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    bool isSame = isa<hlo::ReshapeOp>(op) ||
                  (isa<hlo::AddOp>(op) && repeats(op->getOperand(1), 0));
    if (!isSame)
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The operand's labels of a transpose whose result has `labels`.
Labels beforeTranspose(hlo::TransposeOp op, ArrayRef<int64_t> labels) {
  Labels before(labels.size());
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    before[from] = labels[to];
  return before;
}

Labels afterTranspose(hlo::TransposeOp op, ArrayRef<int64_t> labels) {
  Labels after;
  for (int64_t from : op.getPermutation())
    after.push_back(labels[from]);
  return after;
}

/// The labels of a tensor of shape `to` that differs from one of shape `from`
/// in dimensions of extent 1 alone; `unit` for those that are new.
std::optional<Labels> acrossUnits(ArrayRef<int64_t> from,
                                  ArrayRef<int64_t> labels,
                                  ArrayRef<int64_t> to) {
  if (withoutUnits(from) != withoutUnits(to))
    return std::nullopt;
  Labels found;
  size_t next = 0;
  for (int64_t extent : to) {
    if (extent == 1) {
      found.push_back(unitDimension);
      continue;
    }
    while (from[next] == 1)
      ++next;
    found.push_back(labels[next++]);
  }
  return found;
}

/// A tensor as it lies in front of its transposes, and of a conversion of its
/// 16-bit elements to f32, in which the operations compute anyway.
LabelledTensor asStored(LabelledTensor tensor) {
  while (Operation *op = tensor.value.getDefiningOp()) {
    if (auto transpose = dyn_cast<hlo::TransposeOp>(op)) {
      tensor.labels = beforeTranspose(transpose, tensor.labels);
    } else {
      auto convert = dyn_cast<hlo::ConvertOp>(op);
      if (!convert || !elementOf(tensor.value).isF32() ||
          !isa<BFloat16Type, Float16Type>(elementOf(convert.getOperand())))
        break;
    }
    tensor.value = op->getOperand(0);
  }
  return tensor;
}

/// A tensor as it lies behind the transpose that alone reads it.
LabelledTensor behindTranspose(LabelledTensor tensor) {
  if (!tensor.value.hasOneUse())
    return tensor;
  auto transpose = dyn_cast<hlo::TransposeOp>(*tensor.value.user_begin());
  if (!transpose || transpose->getBlock() != tensor.value.getParentBlock())
    return tensor;
  return {transpose.getResult(), afterTranspose(transpose, tensor.labels)};
}

/// A tensor without the dimensions along which it is repeated.
LabelledTensor beforeBroadcasts(LabelledTensor tensor) {
  tensor = asStored(tensor);
  while (auto broadcast = tensor.value.getDefiningOp<hlo::BroadcastInDimOp>()) {
    auto from = cast<RankedTensorType>(broadcast.getOperand().getType());
    auto to = cast<RankedTensorType>(broadcast.getType());
    Labels labels;
    for (auto [dim, target] :
         llvm::enumerate(broadcast.getBroadcastDimensions())) {
      bool isRepeated = from.getDimSize(dim) != to.getDimSize(target);
      labels.push_back(isRepeated ? unitDimension : tensor.labels[target]);
    }
    tensor = asStored({broadcast.getOperand(), labels});
  }
  return tensor;
}

/// One operation of dropout: a number that is multiplied, or booleans where
/// false makes zero.
struct DropoutStep {
  Value operand; // what it changes
  double scale = 1;
  LabelledTensor kept;
};

/// The booleans, and the number that is there where they are true, of a tensor
/// that is zero elsewhere.
std::optional<DropoutStep> scaledBooleans(LabelledTensor tensor) {
  DropoutStep step;
  while (true) {
    tensor = beforeBroadcasts(tensor);
    if (Value booleans = booleansOf(tensor.value)) {
      step.kept = beforeBroadcasts({booleans, tensor.labels});
      return step;
    }
    Operation *op = tensor.value.getDefiningOp();
    if (auto select = dyn_cast_or_null<hlo::SelectOp>(op)) {
      auto scale = repeatedNumber(select.getOnTrue());
      if (!scale || !repeats(select.getOnFalse(), 0))
        return std::nullopt;
      step.scale *= *scale;
      step.kept = beforeBroadcasts({select.getPred(), tensor.labels});
      return step;
    }
    if (auto reshape = dyn_cast_or_null<hlo::ReshapeOp>(op)) {
      auto labels = acrossUnits(shapeOf(tensor.value), tensor.labels,
                                shapeOf(reshape.getOperand()));
      if (!labels)
        return std::nullopt;
      tensor = {reshape.getOperand(), *labels};
      continue;
    }
    auto scaled = scaling(op);
    if (!scaled)
      return std::nullopt;
    step.scale *= scaled->second;
    tensor.value = scaled->first;
  }
}

/// `op` as a step of dropout on numbers whose dimensions have `labels`.
std::optional<DropoutStep> dropoutStep(Operation *op,
                                       ArrayRef<int64_t> labels) {
  if (auto scaled = scaling(op))
    return DropoutStep{scaled->first, scaled->second, {}};
  if (auto select = dyn_cast_or_null<hlo::SelectOp>(op)) {
    if (!repeats(select.getOnFalse(), 0) ||
        shapeOf(select.getPred()).size() != labels.size())
      return std::nullopt;
    return DropoutStep{select.getOnTrue(), 1,
                       beforeBroadcasts({select.getPred(), Labels(labels)})};
  }
  if (isa_and_nonnull<hlo::MultiplyOp>(op))
    for (unsigned side : {0, 1})
      if (auto step = scaledBooleans({op->getOperand(side), Labels(labels)})) {
        step->operand = op->getOperand(1 - side);
        return step;
      }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The dimensions of a product, one of whose sides or whose result is labelled.
struct Product {
  hlo::DotGeneralOp op;
  hlo::DotDimensionNumbersAttr numbers;

  explicit Product(hlo::DotGeneralOp op)
      : op(op), numbers(op.getDotDimensionNumbers()) {}

  Value side(bool left) const { return op->getOperand(left ? 0 : 1); }
  ArrayRef<int64_t> batching(bool left) const {
    return left ? numbers.getLhsBatchingDimensions()
                : numbers.getRhsBatchingDimensions();
  }
  ArrayRef<int64_t> contracting(bool left) const {
    return left ? numbers.getLhsContractingDimensions()
                : numbers.getRhsContractingDimensions();
  }
  Labels freeDims(bool left) const {
    Labels free;
    int64_t rank = cast<RankedTensorType>(side(left).getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!llvm::is_contained(batching(left), dim) &&
          !llvm::is_contained(contracting(left), dim))
        free.push_back(dim);
    return free;
  }

  /// Those of them of extent other than 1.
  Labels realFreeDims(bool left) const {
    Labels free = freeDims(left);
    llvm::erase_if(free,
                   [&](int64_t dim) { return shapeOf(side(left))[dim] == 1; });
    return free;
  }

  /// The labels of a side from those of the result, with `feature` for the one
  /// summed dimension.
  std::optional<Labels> sideLabels(bool left, ArrayRef<int64_t> result,
                                   int64_t feature) const {
    if (contracting(left).size() != 1)
      return std::nullopt;
    Labels free = freeDims(left);
    Labels labels(batching(left).size() + free.size() + 1, feature);
    for (auto [i, dim] : llvm::enumerate(batching(left)))
      labels[dim] = result[i];
    size_t next =
        batching(left).size() + (left ? 0 : freeDims(/*left=*/true).size());
    for (int64_t dim : free)
      labels[dim] = result[next++];
    return labels;
  }

  /// Those of the other side and of the result from those of one side, with
  /// `feature` for the other's one free dimension that is not given in
  /// `contracted`. Sums run over what contracts.
  struct Others {
    Labels side, result;
  };
  std::optional<Others> othersOf(bool left, ArrayRef<int64_t> labels,
                                 int64_t feature) const {
    Labels free = realFreeDims(!left);
    if (free.size() != 1)
      return std::nullopt;
    Others others;
    others.side.assign(shapeOf(side(!left)).size(), unitDimension);
    others.side[free.front()] = feature;
    for (auto [own, other] : llvm::zip(batching(left), batching(!left))) {
      others.side[other] = labels[own];
      others.result.push_back(labels[own]);
    }
    for (auto [own, other] : llvm::zip(contracting(left), contracting(!left)))
      others.side[other] = labels[own];
    for (bool ofLeft : {true, false})
      for (int64_t dim : freeDims(ofLeft))
        others.result.push_back(ofLeft == left ? labels[dim]
                                               : others.side[dim]);
    return others;
  }
};

/// The labels that a product sums over, of a side with `labels`.
Labels summedLabels(const Product &product, bool left,
                    ArrayRef<int64_t> labels) {
  Labels summed;
  for (int64_t dim : product.contracting(left))
    if (shapeOf(product.side(left))[dim] != 1)
      summed.push_back(labels[dim]);
  llvm::sort(summed);
  return summed;
}

/// Along an extent of 1 there is nothing to name.
bool isSameTensor(LabelledTensor a, LabelledTensor b) {
  return a.value == b.value &&
         llvm::all_of(llvm::zip_equal(a.labels, b.labels, shapeOf(a.value)),
                      [](auto dimension) {
                        auto [left, right, extent] = dimension;
                        return left == right || extent == 1;
                      });
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

class Search {
public:
  Search(hlo::ExponentialOp exponential, std::string &whyNot)
      : exponential(exponential), whyNot(whyNot) {}

  std::optional<AttentionPattern> run();

  /// Adds what makes the scores and weights, whoever reads them; only that of
  /// attention.
  void addScores(llvm::DenseSet<Operation *> &operations);

private:
  std::nullopt_t decline(const Twine &reason) {
    whyNot = reason.str();
    return std::nullopt;
  }
  bool fail(const Twine &reason) {
    whyNot = reason.str();
    return false;
  }

  bool findSoftmax();
  bool findScores();
  bool followScore(LabelledTensor at);
  bool takeProduct(hlo::DotGeneralOp dot, ArrayRef<int64_t> labels);
  bool takeMask(LabelledTensor mask);
  bool findWeightedSum();
  bool findGradient();
  bool findSlopes(Value &gradientOfWeights, Value &slopes);
  bool followGradientOfWeights(Value value);
  bool takeDropout(const DropoutStep &step, AttentionPattern::Dropout &dropout);
  bool hasSameDropout(const AttentionPattern::Dropout &gradient);
  bool followSlopes(Value value);
  bool takeRoundings();
  std::nullopt_t declineUnmultiplied();
  bool isClosed();
  void rename();

  /// Whether `value` repeats a number per row, `row`, along the keys.
  bool repeatsRow(Value value, Value row) const;
  /// The number per row that a sum along the keys of `value` is, if it has a
  /// reader through nothing but reshapes.
  hlo::ReduceOp sumAlongKeys(Value value) const;
  bool reducesKeys(hlo::ReduceOp reduce) const;
  bool sumsKeys(hlo::ReduceOp reduce) const;
  bool isCausal(LabelledTensor mask) const;
  std::optional<int64_t> countsAlong(LabelledTensor tensor) const;

  Labels scoreLabels() const {
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  void include(Value value) {
    if (Operation *op = value.getDefiningOp())
      inside.insert(op);
  }

  hlo::ExponentialOp exponential;
  std::string &whyNot;
  AttentionPattern found;
  int64_t rank = 0, keyDim = 0, queryDim = -1;
  Value scores, sum, sumRepeated, weights;
  /// What the program rounds to; null for what it does not round.
  Type roundedWeights, roundedWeightGradients, roundedSlopes;
  /// The weights as products read them.
  LabelledTensor multiplied;
  /// What goes if the operations are put in its place, and the products whose
  /// results they give.
  llvm::SetVector<Operation *> inside, replaced;
};

bool Search::reducesKeys(hlo::ReduceOp reduce) const {
  return reduce.getInputs().size() == 1 &&
         reduce.getDimensions() == ArrayRef<int64_t>{keyDim};
}

bool Search::sumsKeys(hlo::ReduceOp reduce) const {
  return reducesKeys(reduce) &&
         isa_and_nonnull<hlo::AddOp>(commutativeOperation(reduce.getBody())) &&
         repeats(reduce.getInitValues().front(), 0);
}

bool Search::repeatsRow(Value value, Value row) const {
  auto broadcast = value.getDefiningOp<hlo::BroadcastInDimOp>();
  if (!broadcast)
    return false;
  if (beforeReshapes(broadcast.getOperand()) != row)
    return false;
  // The row's dimensions are the scores' other than the keys.
  ArrayRef<int64_t> to = shapeOf(value);
  Labels expected, given;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != keyDim && to[dim] != 1)
      expected.push_back(dim);
  for (auto [target, extent] : llvm::zip_equal(
           broadcast.getBroadcastDimensions(), shapeOf(broadcast.getOperand())))
    if (extent != 1)
      given.push_back(target);
  return given == expected;
}

hlo::ReduceOp Search::sumAlongKeys(Value value) const {
  for (Operation *user : value.getUsers())
    if (auto reduce = dyn_cast<hlo::ReduceOp>(user))
      if (sumsKeys(reduce))
        return reduce;
  return nullptr;
}

bool Search::findSoftmax() {
  auto type = cast<RankedTensorType>(exponential.getType());
  rank = type.getRank();
  auto difference = exponential.getOperand().getDefiningOp<hlo::SubtractOp>();
  auto repeated =
      difference ? difference.getRhs().getDefiningOp<hlo::BroadcastInDimOp>()
                 : nullptr;
  if (!repeated)
    return false;
  scores = difference.getLhs();
  Value row = repeated.getOperand();
  while (auto reshape = row.getDefiningOp<hlo::ReshapeOp>()) {
    include(row);
    row = reshape.getOperand();
  }
  auto maximum = row.getDefiningOp<hlo::ReduceOp>();
  if (!maximum || maximum.getInputs().size() != 1 ||
      maximum.getInputs().front() != scores ||
      maximum.getDimensions().size() != 1 ||
      !isa_and_nonnull<hlo::MaximumOp>(commutativeOperation(maximum.getBody())))
    return false;
  keyDim = maximum.getDimensions().front();
  // Of no other number than the scores.
  std::optional<double> least = repeatedNumber(maximum.getInitValues().front());
  if (!least || *least > std::numeric_limits<float>::lowest() ||
      !repeatsRow(difference.getRhs(), maximum.getResult(0)))
    return false;
  include(maximum.getResult(0));
  include(repeated.getResult());
  include(difference.getResult());
  include(exponential.getResult());

  hlo::ReduceOp sumOp = sumAlongKeys(exponential.getResult());
  if (!sumOp)
    return false;
  sum = sumOp.getResult(0);
  include(sum);
  for (Operation *user : exponential->getUsers()) {
    auto divide = dyn_cast<hlo::DivideOp>(user);
    if (divide && divide.getLhs() == exponential.getResult() &&
        repeatsRow(divide.getRhs(), sum)) {
      weights = divide.getResult();
      sumRepeated = divide.getRhs();
    }
  }
  if (!weights)
    return false;
  include(weights);
  for (Value value = sumRepeated; value != sum;
       value = value.getDefiningOp()->getOperand(0))
    include(value);
  return true;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// The product that is reached through what scores are made of.
hlo::DotGeneralOp productBehind(Value value, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 8)
    return nullptr;
  if (auto dot = dyn_cast<hlo::DotGeneralOp>(op))
    return dot;
  if (isa<hlo::TransposeOp, hlo::ConvertOp, hlo::ReshapeOp>(op))
    return productBehind(op->getOperand(0), depth + 1);
  if (auto scaled = scaling(op))
    return productBehind(scaled->first, depth + 1);
  if (isa<hlo::AddOp>(op)) {
    hlo::DotGeneralOp left = productBehind(op->getOperand(0), depth + 1);
    return left ? left : productBehind(op->getOperand(1), depth + 1);
  }
  if (auto select = dyn_cast<hlo::SelectOp>(op))
    return productBehind(select.getOnTrue(), depth + 1);
  return nullptr;
}

bool comesFromProduct(Value value) { return bool(productBehind(value)); }

/// Whether a product is reached through what changes elements alone.
bool reachesProduct(Value value, int depth = 0) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<hlo::DotGeneralOp>(user) ||
           (depth < 4 &&
            isa<hlo::MultiplyOp, hlo::DivideOp, hlo::SelectOp, hlo::ConvertOp,
                hlo::TransposeOp, hlo::ReshapeOp>(user) &&
            reachesProduct(user->getResult(0), depth + 1));
  });
}

bool Search::findScores() {
  return comesFromProduct(scores) && followScore({scores, scoreLabels()});
}

bool Search::followScore(LabelledTensor at) {
  Operation *op = at.value.getDefiningOp();
  include(at.value);
  if (!elementOf(at.value).isF32())
    return fail("its scores are rounded to " + textOf(elementOf(at.value)));
  if (auto dot = dyn_cast<hlo::DotGeneralOp>(op))
    return takeProduct(dot, at.labels);
  if (auto convert = dyn_cast<hlo::ConvertOp>(op))
    return fail("its scores are rounded to " +
                textOf(elementOf(convert.getOperand())));
  if (auto transpose = dyn_cast<hlo::TransposeOp>(op))
    return followScore(
        {transpose.getOperand(), beforeTranspose(transpose, at.labels)});
  if (auto reshape = dyn_cast<hlo::ReshapeOp>(op))
    if (auto labels = acrossUnits(shapeOf(at.value), at.labels,
                                  shapeOf(reshape.getOperand())))
      return followScore({reshape.getOperand(), *labels});
  if (auto scaled = scaling(op)) {
    found.scale *= float(scaled->second);
    return followScore({scaled->first, at.labels});
  }
  if (found.scale != 1)
    return fail("its scores are scaled behind a bias or a mask");
  if (auto select = dyn_cast<hlo::SelectOp>(op)) {
    auto fill = repeatedNumber(select.getOnFalse());
    if (!fill || found.fill || found.bias)
      return fail("its mask does not put one number in the place of scores "
                  "that have their bias");
    found.fill = float(*fill);
    if (!takeMask({select.getPred(), at.labels}))
      return false;
    return followScore({select.getOnTrue(), at.labels});
  }
  if (auto add = dyn_cast<hlo::AddOp>(op)) {
    bool isLeft = comesFromProduct(add.getLhs());
    if (found.bias || isLeft == comesFromProduct(add.getRhs()))
      return fail("more than one sum makes its scores");
    found.bias =
        beforeBroadcasts({isLeft ? add.getRhs() : add.getLhs(), at.labels});
    return followScore({isLeft ? add.getLhs() : add.getRhs(), at.labels});
  }
  return fail("its scores come from " + op->getName().getStringRef());
}

/// The side whose free dimension alone is the keys'.
bool Search::takeProduct(hlo::DotGeneralOp dot, ArrayRef<int64_t> labels) {
  Product product(dot);
  for (bool keysLeft : {false, true}) {
    auto keyLabels = product.sideLabels(keysLeft, labels, step::queryFeatures);
    auto queryLabels =
        product.sideLabels(!keysLeft, labels, step::queryFeatures);
    if (!keyLabels)
      return fail("its scores are sums over several dimensions");
    Labels keyFree = product.realFreeDims(keysLeft);
    Labels queryFree = product.realFreeDims(!keysLeft);
    if (keyFree.size() != 1 || (*keyLabels)[keyFree.front()] != keyDim)
      continue;
    if (queryFree.empty())
      return fail("it has one query per batch");
    found.key = asStored({product.side(keysLeft), *keyLabels});
    found.query = asStored({product.side(!keysLeft), *queryLabels});
    // Queries that share keys come in groups; the groups lie further out.
    for (int64_t dim : queryFree)
      queryDim = std::max(queryDim, (*queryLabels)[dim]);
    return true;
  }
  return fail("its softmax does not run along the keys");
}

/// The dimension that an integer counts along, from 0 in steps of 1.
std::optional<int64_t> Search::countsAlong(LabelledTensor tensor) const {
  tensor = beforeBroadcasts(tensor);
  auto iota = tensor.value.getDefiningOp<hlo::IotaOp>();
  if (!iota)
    return std::nullopt;
  return tensor.labels[iota.getIotaDimension()];
}

/// Whether a mask takes keys up to the query.
bool Search::isCausal(LabelledTensor mask) const {
  mask = beforeBroadcasts(mask);
  auto compare = mask.value.getDefiningOp<hlo::CompareOp>();
  if (!compare)
    return false;
  // A boolean as a number that is not zero.
  if (compare.getComparisonDirection() == hlo::ComparisonDirection::NE &&
      repeats(compare.getRhs(), 0))
    if (auto convert = compare.getLhs().getDefiningOp<hlo::ConvertOp>())
      return getElementTypeOrSelf(convert.getOperand().getType())
                 .isInteger(1) &&
             isCausal({convert.getOperand(), mask.labels});
  auto left = countsAlong({compare.getLhs(), mask.labels});
  auto right = countsAlong({compare.getRhs(), mask.labels});
  if (!left || !right)
    return false;
  auto direction = compare.getComparisonDirection();
  return (direction == hlo::ComparisonDirection::GE && *left == queryDim &&
          *right == keyDim) ||
         (direction == hlo::ComparisonDirection::LE && *left == keyDim &&
          *right == queryDim);
}

bool Search::takeMask(LabelledTensor mask) {
  mask = beforeBroadcasts(mask);
  if (mask.labels.empty())
    return fail("its mask is one boolean");
  found.mask = mask;
  return true;
}

//===----------------------------------------------------------------------===//
// Products with the weights
//===----------------------------------------------------------------------===//

bool Search::takeDropout(const DropoutStep &step,
                         AttentionPattern::Dropout &dropout) {
  dropout.scale *= step.scale;
  if (!step.kept)
    return true;
  if (dropout.kept)
    return fail("dropout on its weights has two masks");
  if (step.kept.labels.empty())
    return fail("dropout on its weights has one boolean for all");
  dropout.kept = step.kept;
  return true;
}

bool Search::hasSameDropout(const AttentionPattern::Dropout &gradient) {
  const AttentionPattern::Dropout &dropout = found.dropout;
  if (bool(gradient.kept) != bool(dropout.kept) ||
      (dropout.kept && !isSameTensor(gradient.kept, dropout.kept)))
    return fail("the gradient of its weights has another dropout mask");
  return float(gradient.scale) == float(dropout.scale) ||
         fail("the gradient of its weights has another factor of dropout");
}

bool Search::findWeightedSum() {
  multiplied = {weights, scoreLabels()};
  // What lies between the weights and their products.
  while (true) {
    SmallVector<Operation *> users(multiplied.value.user_begin(),
                                   multiplied.value.user_end());
    llvm::erase_if(users, [&](Operation *user) {
      // The gradient of a softmax with a rule of its own reads the weights.
      return isa<hlo::DotGeneralOp>(user) ||
             (multiplied.value == weights && isa<hlo::MultiplyOp>(user) &&
              !scaling(user) && sumAlongKeys(user->getResult(0)));
    });
    if (users.empty())
      break;
    Operation *next = nullptr;
    for (Operation *user : users) {
      if (auto convert = dyn_cast<hlo::ConvertOp>(user)) {
        if (roundedWeights)
          return fail("its weights are rounded to " + textOf(roundedWeights) +
                      " but multiplied in " +
                      textOf(elementOf(convert.getResult())));
        roundedWeights = elementOf(convert.getResult());
        multiplied.value = convert.getResult();
        next = user;
        break;
      }
      if (auto transpose = dyn_cast<hlo::TransposeOp>(user)) {
        multiplied = {transpose.getResult(),
                      afterTranspose(transpose, multiplied.labels)};
        next = user;
        break;
      }
      if (auto reshape = dyn_cast<hlo::ReshapeOp>(user))
        if (auto labels =
                acrossUnits(shapeOf(multiplied.value), multiplied.labels,
                            shapeOf(reshape.getResult()))) {
          multiplied = {reshape.getResult(), *labels};
          next = user;
          break;
        }
      // Numbers of 16 bits that are scaled are rounded once more.
      if (roundedWeights ||
          !isa<hlo::MultiplyOp, hlo::DivideOp, hlo::SelectOp>(user) ||
          !reachesProduct(user->getResult(0)))
        continue;
      if (auto step = dropoutStep(user, multiplied.labels);
          step && step->operand == multiplied.value) {
        if (!takeDropout(*step, found.dropout))
          return false;
        multiplied.value = user->getResult(0);
        next = user;
        break;
      }
    }
    if (!next)
      break;
    inside.insert(next);
  }
  if (!found.dropout.kept && found.dropout.scale != 1)
    return fail("its weights are scaled, but by no mask");

  for (Operation *user : multiplied.value.getUsers()) {
    auto dot = dyn_cast<hlo::DotGeneralOp>(user);
    if (!dot)
      continue;
    Product product(dot);
    bool left = product.side(true) == multiplied.value;
    auto others =
        product.othersOf(left, multiplied.labels, step::valueFeatures);
    if (!others)
      continue;
    Labels summed = summedLabels(product, left, multiplied.labels);
    LabelledTensor other = asStored({product.side(!left), others->side});
    LabelledTensor result = behindTranspose({dot.getResult(), others->result});
    if (summed == Labels{keyDim}) {
      if (found.output)
        return fail("its weights are multiplied by two tensors of values");
      found.value = other;
      found.output = result;
    } else if (!llvm::is_contained(summed, keyDim)) {
      if (found.outputGradient)
        return fail("its weights have two gradients");
      found.outputGradient = other;
      found.valueGradient = result;
    } else {
      continue;
    }
    replaced.insert(dot);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The gradient
//===----------------------------------------------------------------------===//

/// Both ways to write the gradient of a softmax, see the head of the file.
bool Search::findSlopes(Value &gradientOfWeights, Value &slopes) {
  /// The row that `value` repeats along the keys.
  auto rowOf = [&](Value value) -> Value {
    auto broadcast = value.getDefiningOp<hlo::BroadcastInDimOp>();
    if (!broadcast)
      return nullptr;
    Value row = beforeReshapes(broadcast.getOperand());
    return repeatsRow(value, row) ? row : Value();
  };
  auto includeRow = [&](Value repeated) {
    for (Value value = repeated; value;) {
      include(value);
      Operation *op = value.getDefiningOp();
      value = op && isa<hlo::BroadcastInDimOp, hlo::ReshapeOp, hlo::AddOp>(op)
                  ? op->getOperand(0)
                  : Value();
    }
  };
  Value e = exponential.getResult();
  for (Operation *user : e.getUsers()) {
    auto last = dyn_cast<hlo::MultiplyOp>(user);
    auto both =
        last ? otherOperand(last, e).getDefiningOp<hlo::AddOp>() : nullptr;
    if (!both)
      continue;
    for (auto [first, second] : {std::pair(both.getLhs(), both.getRhs()),
                                 std::pair(both.getRhs(), both.getLhs())}) {
      auto divided = first.getDefiningOp<hlo::DivideOp>();
      if (!divided || !repeatsRow(divided.getRhs(), sum))
        continue;
      Value row = rowOf(second);
      auto negated = row ? row.getDefiningOp<hlo::NegateOp>() : nullptr;
      if (!negated)
        continue;
      Value total = beforeReshapes(negated.getOperand());
      auto reduce = total.getDefiningOp<hlo::ReduceOp>();
      if (!reduce || !sumsKeys(reduce))
        continue;
      // dP * repeat(1 / (L * L)) * E
      auto outer = reduce.getInputs().front().getDefiningOp<hlo::MultiplyOp>();
      Value scaledGradient = outer ? otherOperand(outer, e) : Value();
      auto inner = scaledGradient
                       ? scaledGradient.getDefiningOp<hlo::MultiplyOp>()
                       : nullptr;
      Value dP = divided.getLhs();
      Value inverse = inner ? otherOperand(inner, dP) : Value();
      Value inverseRow = inverse ? rowOf(inverse) : Value();
      auto reciprocal =
          inverseRow ? inverseRow.getDefiningOp<hlo::DivideOp>() : nullptr;
      auto square = reciprocal && repeats(reciprocal.getLhs(), 1)
                        ? reciprocal.getRhs().getDefiningOp<hlo::MultiplyOp>()
                        : nullptr;
      if (!square || square.getLhs() != sum || square.getRhs() != sum)
        continue;
      for (Operation *op : std::initializer_list<Operation *>{
               last, both, divided, negated, reduce, outer, inner, reciprocal,
               square})
        inside.insert(op);
      includeRow(divided.getRhs());
      includeRow(second);
      includeRow(inverse);
      for (Value value = negated.getOperand(); value != total;
           value = value.getDefiningOp()->getOperand(0))
        include(value);
      gradientOfWeights = dP;
      slopes = last.getResult();
      return true;
    }
  }
  // P (dP - sum P dP)
  for (Operation *user : weights.getUsers()) {
    auto last = dyn_cast<hlo::MultiplyOp>(user);
    auto difference =
        last ? otherOperand(last, weights).getDefiningOp<hlo::SubtractOp>()
             : nullptr;
    if (!difference)
      continue;
    Value row = rowOf(difference.getRhs());
    auto reduce = row ? row.getDefiningOp<hlo::ReduceOp>() : nullptr;
    auto product =
        reduce && sumsKeys(reduce)
            ? reduce.getInputs().front().getDefiningOp<hlo::MultiplyOp>()
            : nullptr;
    if (!product || otherOperand(product, weights) != difference.getLhs())
      continue;
    for (Operation *op :
         std::initializer_list<Operation *>{last, difference, reduce, product})
      inside.insert(op);
    includeRow(difference.getRhs());
    gradientOfWeights = difference.getLhs();
    slopes = last.getResult();
    return true;
  }
  return false;
}

/// Back to the product of the output's gradient and the values.
bool Search::followGradientOfWeights(Value value) {
  LabelledTensor at{value, scoreLabels()};
  AttentionPattern::Dropout dropout;
  while (true) {
    include(at.value);
    if (Type element = elementOf(at.value);
        !element.isF32() && element != roundedWeightGradients) {
      if (roundedWeightGradients)
        return fail("the gradient of its weights is rounded twice");
      roundedWeightGradients = element;
    }
    Operation *op = at.value.getDefiningOp();
    if (auto convert = dyn_cast_or_null<hlo::ConvertOp>(op)) {
      at.value = convert.getOperand();
      continue;
    }
    if (auto transpose = dyn_cast_or_null<hlo::TransposeOp>(op)) {
      at = {transpose.getOperand(), beforeTranspose(transpose, at.labels)};
      continue;
    }
    if (auto reshape = dyn_cast_or_null<hlo::ReshapeOp>(op))
      if (auto labels = acrossUnits(shapeOf(at.value), at.labels,
                                    shapeOf(reshape.getOperand()))) {
        at = {reshape.getOperand(), *labels};
        continue;
      }
    auto step =
        roundedWeightGradients ? std::nullopt : dropoutStep(op, at.labels);
    if (step) {
      if (!takeDropout(*step, dropout))
        return false;
      at.value = step->operand;
      continue;
    }
    auto dot = dyn_cast_or_null<hlo::DotGeneralOp>(op);
    if (!dot)
      return fail(
          "the gradient of its weights comes from " +
          (op ? op->getName().getStringRef() : StringRef("an argument")));
    Product product(dot);
    for (bool valuesLeft : {false, true}) {
      auto valueLabels =
          product.sideLabels(valuesLeft, at.labels, step::valueFeatures);
      auto gradientLabels =
          product.sideLabels(!valuesLeft, at.labels, step::valueFeatures);
      if (!valueLabels)
        return fail("the gradient of its weights is a sum over several "
                    "dimensions");
      Labels free = product.realFreeDims(valuesLeft);
      if (free.size() != 1 || (*valueLabels)[free.front()] != keyDim)
        continue;
      LabelledTensor values =
          asStored({product.side(valuesLeft), *valueLabels});
      LabelledTensor gradient =
          asStored({product.side(!valuesLeft), *gradientLabels});
      if (found.value && !isSameTensor(values, found.value))
        return fail("the gradient of its weights has other values");
      if (found.outputGradient && !isSameTensor(gradient, found.outputGradient))
        return fail("its weights and values have different gradients of the "
                    "output");
      found.value = values;
      found.outputGradient = gradient;
      return hasSameDropout(dropout);
    }
    return fail("the gradient of its weights is no product with the values");
  }
}

/// On to the products of the slopes with keys and queries.
bool Search::followSlopes(Value value) {
  LabelledTensor at{value, scoreLabels()};
  float scale = 1;
  bool isMasked = false;
  while (true) {
    include(at.value);
    SmallVector<Operation *> users(at.value.user_begin(), at.value.user_end());
    if (llvm::all_of(users,
                     [](Operation *op) { return isa<hlo::DotGeneralOp>(op); }))
      break;
    if (users.size() != 1)
      return fail("the gradient of its scores is also read by " +
                  users.back()->getName().getStringRef());
    Operation *user = users.front();
    if (auto scaled = scaling(user)) {
      if (roundedSlopes)
        return fail(
            "the gradient of its scores is rounded before it is scaled");
      scale *= float(scaled->second);
      at.value = user->getResult(0);
    } else if (auto select = dyn_cast<hlo::SelectOp>(user);
               select && select.getOnTrue() == at.value &&
               repeats(select.getOnFalse(), 0)) {
      LabelledTensor mask = beforeBroadcasts({select.getPred(), at.labels});
      if (isMasked || !found.mask || !isSameTensor(mask, found.mask))
        return fail("the gradient of its scores has another mask");
      isMasked = true;
      at.value = select.getResult();
    } else if (auto convert = dyn_cast<hlo::ConvertOp>(user)) {
      if (roundedSlopes)
        return fail("the gradient of its scores is rounded twice");
      at.value = convert.getResult();
      roundedSlopes = elementOf(at.value);
    } else if (auto transpose = dyn_cast<hlo::TransposeOp>(user)) {
      at = {transpose.getResult(), afterTranspose(transpose, at.labels)};
    } else if (auto labels = isa<hlo::ReshapeOp>(user)
                                 ? acrossUnits(shapeOf(at.value), at.labels,
                                               shapeOf(user->getResult(0)))
                                 : std::nullopt) {
      at = {user->getResult(0), *labels};
    } else {
      return fail("the gradient of its scores is read by " +
                  user->getName().getStringRef());
    }
  }
  if (scale != found.scale)
    return fail("the gradient of its scores has another scale");
  if (isMasked != bool(found.mask))
    return fail("the gradient of its scores has no mask");
  for (Operation *user : at.value.getUsers()) {
    auto dot = cast<hlo::DotGeneralOp>(user);
    Product product(dot);
    bool left = product.side(true) == at.value;
    auto others = product.othersOf(left, at.labels, step::queryFeatures);
    if (!others)
      return fail("a product with the gradient of its scores has several free "
                  "dimensions");
    LabelledTensor other = asStored({product.side(!left), others->side});
    LabelledTensor result = behindTranspose({dot.getResult(), others->result});
    bool isOfQueries = summedLabels(product, left, at.labels) == Labels{keyDim};
    LabelledTensor &expected = isOfQueries ? found.key : found.query;
    LabelledTensor &gradient =
        isOfQueries ? found.queryGradient : found.keyGradient;
    if (gradient || !isSameTensor(other, expected))
      return fail("the gradient of its scores is multiplied by neither its "
                  "keys nor its queries");
    gradient = result;
    replaced.insert(dot);
  }
  return true;
}

bool Search::findGradient() {
  Value gradientOfWeights, slopes;
  if (!findSlopes(gradientOfWeights, slopes))
    return !found.outputGradient ||
           fail("the gradient of its softmax is written in another way");
  return followGradientOfWeights(gradientOfWeights) && followSlopes(slopes);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// A softmax whose weights are not multiplied is none of attention. Where they
/// are, but are changed first, scores of a batch tell it from a loss.
std::nullopt_t Search::declineUnmultiplied() {
  hlo::DotGeneralOp product = productBehind(scores);
  if (!product || Product(product).batching(/*left=*/true).empty())
    return std::nullopt;
  for (Operation *user : multiplied.value.getUsers())
    if (isa<hlo::MultiplyOp, hlo::DivideOp, hlo::SelectOp>(user) &&
        reachesProduct(user->getResult(0)))
      return decline("its weights are changed by " +
                     user->getName().getStringRef() +
                     " before they are multiplied");
  return std::nullopt;
}

/// The operations round to the types of what is multiplied.
bool Search::takeRoundings() {
  for (const LabelledTensor *tensor :
       {&found.query, &found.key, &found.value, &found.bias, &found.output,
        &found.outputGradient, &found.queryGradient, &found.keyGradient,
        &found.valueGradient}) {
    if (!*tensor)
      continue;
    Type element = elementOf(tensor->value);
    if (!element.isF32() && !element.isBF16() && !element.isF16())
      return fail("one of its tensors has elements of " + textOf(element));
  }
  auto take = [&](bool &isRounded, Type type, const LabelledTensor &like,
                  const Twine &what) {
    isRounded = bool(type);
    return !type || type == elementOf(like.value) ||
           fail(what + " is rounded to " + textOf(type) +
                " and multiplied with " + textOf(elementOf(like.value)));
  };
  return take(found.roundsWeights, roundedWeights, found.value, "its weight") &&
         take(found.roundsWeightGradients, roundedWeightGradients, found.value,
              "the gradient of its weights") &&
         take(found.roundsSlopes, roundedSlopes, found.key,
              "the gradient of its scores");
}

/// Nothing else may need what is in between.
bool Search::isClosed() {
  for (Operation *op : inside) {
    if (op->getBlock() != exponential->getBlock())
      return fail("parts of it stand in different blocks");
    if (replaced.contains(op))
      continue;
    for (Operation *user : op->getUsers())
      if (!inside.contains(user) && !replaced.contains(user))
        return fail("the result of " + op->getName().getStringRef() +
                    " in it is also read by " + user->getName().getStringRef());
  }
  return true;
}

/// From dimensions of the scores to those of the operations.
void Search::rename() {
  ArrayRef<int64_t> extents = shapeOf(scores);
  Labels names(rank);
  for (int64_t dim = 0; dim < rank; ++dim)
    names[dim] = dim == keyDim       ? int64_t(step::keyPositions)
                 : dim == queryDim   ? int64_t(step::queryPositions)
                 : extents[dim] == 1 ? unitDimension
                                     : found.batches++;
  for (LabelledTensor *tensor :
       {&found.query, &found.key, &found.value, &found.bias, &found.mask,
        &found.dropout.kept, &found.output, &found.outputGradient,
        &found.queryGradient, &found.keyGradient, &found.valueGradient})
    for (int64_t &label : tensor->labels)
      if (label >= 0)
        label = names[label];
}

std::optional<AttentionPattern> Search::run() {
  if (!findSoftmax())
    return std::nullopt;
  Operation *last = scores.getDefiningOp();
  bool isProduct = comesFromProduct(scores);
  bool isNear = isProduct ||
                (last && llvm::any_of(last->getOperands(), [](Value operand) {
                   return comesFromProduct(operand);
                 }));
  if (!isNear || !findWeightedSum())
    return std::nullopt;
  if (!found.output && !found.outputGradient)
    return declineUnmultiplied();
  if (!isProduct)
    return decline("its scores come from " + last->getName().getStringRef());
  if (!elementOf(exponential.getResult()).isF32())
    return decline("its softmax is computed in " +
                   textOf(elementOf(exponential.getResult())));
  if (!findScores() || !whyNot.empty())
    return std::nullopt;
  if (!findGradient())
    return std::nullopt;
  if (found.hasGradient() &&
      (!found.queryGradient || !found.keyGradient || !found.valueGradient))
    return decline("not all of its gradients are computed");
  if (!takeRoundings() || !isClosed())
    return std::nullopt;
  auto batchOf = [&](const LabelledTensor &tensor) {
    Labels batch;
    for (int64_t label : tensor.labels)
      if (label >= 0 && label != keyDim && shapeOf(scores)[label] != 1)
        batch.push_back(label);
    llvm::sort(batch);
    return batch;
  };
  if (batchOf(found.key) != batchOf(found.value))
    return decline("its keys and values have different batch dimensions");
  if (found.mask && isCausal(found.mask) && *found.fill <= -1e30f) {
    found.causal = true;
    found.mask = {};
    found.fill.reset();
  }
  rename();
  return found;
}

/// Whether a value of a block follows from counting alone, and from what.
bool onlyCounts(Value value, Block *block,
                SmallVectorImpl<Operation *> &operations) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || op->hasTrait<OpTrait::ConstantLike>())
    return op && op->hasTrait<OpTrait::ConstantLike>();
  if (!isa<hlo::IotaOp, hlo::BroadcastInDimOp, hlo::CompareOp, hlo::ConvertOp,
           hlo::ReshapeOp, hlo::TransposeOp, hlo::AddOp, hlo::SubtractOp,
           hlo::AndOp, hlo::OrOp, hlo::NotOp>(op))
    return false;
  operations.push_back(op);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return onlyCounts(operand, block, operations);
  });
}

void Search::addScores(llvm::DenseSet<Operation *> &operations) {
  if (!findSoftmax() || !comesFromProduct(scores) || !findScores())
    return;
  // What a softmax without a rule of its own keeps for its gradient.
  for (Operation *user : sum.getUsers())
    if (auto square = dyn_cast<hlo::MultiplyOp>(user))
      for (Operation *inverse : square->getUsers())
        if (isa<hlo::DivideOp>(inverse)) {
          inside.insert(square);
          inside.insert(inverse);
        }
  for (Operation *op : inside) {
    if (op->getBlock() != exponential->getBlock())
      continue;
    operations.insert(op);
    // Masks, and the other shapes of sums.
    if (auto select = dyn_cast<hlo::SelectOp>(op)) {
      SmallVector<Operation *> counting;
      if (onlyCounts(select.getPred(), op->getBlock(), counting))
        operations.insert(counting.begin(), counting.end());
    }
    for (Operation *user : op->getUsers())
      if (isa<hlo::ReshapeOp>(user) ||
          (isa<hlo::BroadcastInDimOp>(user) &&
           cast<RankedTensorType>(user->getResult(0).getType())
                   .getNumElements() ==
               cast<RankedTensorType>(op->getResult(0).getType())
                   .getNumElements()))
        operations.insert(user);
  }
  // The weights as products read them.
  for (Operation *user : weights.getUsers())
    if (isa<hlo::ConvertOp, hlo::TransposeOp>(user))
      operations.insert(user);
  if (findWeightedSum() && found.dropout.kept)
    for (Operation *op : inside)
      if (op->getBlock() == exponential->getBlock())
        operations.insert(op);
}

} // namespace

llvm::DenseSet<Operation *> tenon::attentionScores(Block &block) {
  llvm::DenseSet<Operation *> operations;
  std::string ignored;
  for (Operation &op : block)
    if (auto exponential = dyn_cast<hlo::ExponentialOp>(op))
      Search(exponential, ignored).addScores(operations);
  return operations;
}

std::optional<AttentionPattern>
tenon::findAttention(hlo::ExponentialOp exponential, std::string &whyNot) {
  return Search(exponential, whyNot).run();
}
