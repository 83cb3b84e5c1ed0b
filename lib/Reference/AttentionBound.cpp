//===- AttentionBound.cpp - How exact attention has to be -----------------===//
//
// Evaluates the formulas of Dialect/Step/Attention.td in f64, each number with
// a bound of the error that f32 may make of it. With u half a unit of 1 in f32:
//
//   a sum of n products   n u sum|terms|, and the errors of the factors
//   an exponential        the error of its argument, 4 u, and what it is
//                         divided by
//   what the program      half a unit of that type
//   rounds to 16 bits
//
// in any order of the sums, fused or not. A score of 1000 from 64 features thus
// makes weights uncertain by about 64 * 1000 u, which is 0.4 %. Where a number
// is not finite or an error is as large as the number, anything is allowed.
//
//===----------------------------------------------------------------------===//

#include "AttentionBound.h"

#include "AttentionElements.h"
#include "FloatUnits.h"

#include <limits>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;
using step::AttentionProblem;

namespace {

using Place = AttentionPlace;

constexpr double unit = 0x1p-24 + 0x1p-50; // with what f64 itself loses
constexpr double tiny = 0x1p-126;          // what is lost to subnormal numbers
constexpr double infinite = std::numeric_limits<double>::infinity();
/// Sums of more may overflow.
constexpr double large = 0x1p120;
/// A larger relative error says nothing.
constexpr double vague = 0.25;

/// A number, and how far what is computed may be from it.
struct Bounded {
  double value = 0, error = 0;

  double most() const { return std::fabs(value) + error; }
};

/// A sum of products in any order.
struct Sum {
  double value = 0, magnitude = 0, error = 0;
  int64_t terms = 0;

  void add(const Bounded &factor, double other) {
    value += factor.value * other;
    magnitude += factor.most() * std::fabs(other);
    error += factor.error * std::fabs(other);
    ++terms;
  }
  Bounded total() const {
    double all = error + double(terms + 2) * (unit * magnitude + tiny);
    return {value, magnitude < large ? all : infinite};
  }
};

Bounded times(const Bounded &x, double factor) {
  double value = x.value * factor;
  return {value, x.error * std::fabs(factor) +
                     unit * x.most() * std::fabs(factor) + tiny};
}

Bounded roundedTo(const Bounded &x, bool isRounded, Type element) {
  auto type = cast<FloatType>(element);
  if (!isRounded || type.isF32() || !std::isfinite(x.error))
    return x;
  return {x.value, x.error + double(unitAt(x.most(), type)) / 2};
}

Allowed allowedFor(const Bounded &x, FloatType type) {
  if (!std::isfinite(x.value) || !std::isfinite(x.error) ||
      x.most() >= double(largestOf(type)) / 2)
    return {0, 0, true};
  long double error = x.error;
  if (!type.isF32())
    error += unitAt(x.most(), type) / 2;
  return {x.value - error, x.value + error};
}

class AttentionBounds : public AttentionElements {
public:
  using AttentionElements::AttentionElements;

  Bounded score(const Place &at) const {
    if (isMasked(at))
      return {*problem.fill, 0};
    Sum sum;
    for (int64_t d = 0; d < problem.features; ++d)
      sum.add({queryAt(at, d)}, keyAt(at, d));
    Bounded score = times(sum.total(), problem.scale);
    if (!bias)
      return score;
    double value = score.value + biasAt(at);
    return {value, score.error + unit * (score.most() + std::fabs(biasAt(at)))};
  }

  /// exp(score - maximum), with relative errors `shared` by a row.
  static Bounded weight(const Bounded &score, double maximum, double shared) {
    if (std::isinf(score.value) && score.value < 0)
      return {};
    double difference = score.value - maximum;
    double relative = std::expm1(score.error + unit * std::fabs(difference)) +
                      4 * unit + shared;
    double value = std::exp(difference);
    // What may vanish vanishes in absolute terms.
    if (difference < -110)
      return {value, std::exp(difference + score.error) + tiny};
    return {value, relative < vague ? value * relative + tiny : infinite};
  }

  /// A weight times its factor, as products read it.
  Bounded multiplied(const Bounded &weight, const Place &at) const {
    return roundedTo(factor ? times(weight, factorAt(at)) : weight,
                     problem.roundsWeights, value.elementType());
  }
};

/// Enclosures that allow anything until they are filled.
std::vector<Enclosure> enclosuresOf(Operation *op) {
  std::vector<Enclosure> enclosures;
  for (Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    enclosures.push_back({tensor, {}, {}});
    enclosures.back().real.resize(tensor.getNumElements(), {0, 0, true});
  }
  return enclosures;
}

FloatType elementOf(const Enclosure &enclosure) {
  return cast<FloatType>(enclosure.type.getElementType());
}

int64_t placeIn(const Enclosure &enclosure, const Index &index) {
  Tensor shape;
  shape.type = enclosure.type;
  return shape.offsetOf(index);
}

Allowed &at(Enclosure &enclosure, const Index &index) {
  return enclosure.real[placeIn(enclosure, index)];
}

void encloseForward(step::AttentionOp op, ArrayRef<Tensor> operands,
                    std::vector<Enclosure> &enclosures) {
  AttentionBounds a((AttentionProblem(op)), operands);
  // Corrections when a block of keys has a larger maximum than those before.
  double blocks = double(a.problem.keys) / double(a.problem.keysPerBlock());
  double shared =
      (double(a.problem.keys) + 8 + (blocks > 1 ? 120 * (blocks + 1) : 0)) *
      unit;
  a.forQueries([&](const Place &query) {
    std::vector<std::pair<Place, Bounded>> scores;
    Bounded maximum{-infinite, 0};
    a.forKeys(query, [&](const Place &pair) {
      Bounded score = a.score(pair);
      scores.push_back({pair, score});
      maximum.error = std::max(maximum.error, score.error);
      maximum.value = std::max(maximum.value, score.value);
    });
    if (!std::isfinite(maximum.value) || !std::isfinite(maximum.error))
      return;
    Index row = query.row();
    at(enclosures[1], row) = allowedFor(maximum, elementOf(enclosures[1]));
    // All weights are relative to the same maximum, which may be off.
    double offset = std::expm1(maximum.error);
    Bounded sum;
    for (auto &[pair, score] : scores) {
      Bounded weight = a.weight(score, maximum.value, shared);
      sum.value += weight.value;
      sum.error += weight.error;
    }
    Bounded found{sum.value, sum.error + offset * (sum.value + sum.error)};
    at(enclosures[2], row) =
        allowedFor(offset < vague ? found : Bounded{0, infinite},
                   elementOf(enclosures[2]));
    double ofSum = sum.error / sum.value;
    if (!(ofSum < vague))
      return;
    std::vector<std::pair<Place, Bounded>> weights;
    for (auto &[pair, score] : scores) {
      Bounded weight = a.weight(score, maximum.value, shared);
      Bounded part{weight.value / sum.value,
                   (weight.error + 2 * ofSum * weight.most()) / sum.value +
                       4 * unit * weight.most() / sum.value};
      weights.push_back({pair, a.multiplied(part, pair)});
    }
    for (int64_t v = 0; v < a.problem.valueFeatures; ++v) {
      Sum total;
      for (auto &[pair, weight] : weights)
        total.add(weight, a.valueAt(pair, v));
      total.terms += int64_t(blocks) + 2;
      at(enclosures[0], query.withFeature(v).indexOf(op.getOutputDims())) =
          allowedFor(total.total(), elementOf(enclosures[0]));
    }
  });
}

void encloseGradient(step::AttentionGradientOp op, ArrayRef<Tensor> operands,
                     std::vector<Enclosure> &enclosures) {
  AttentionBounds a((AttentionProblem(op)), operands);
  const Tensor &maxima = a.others[0], &sums = a.others[1],
               &outputGradient = a.others[2];
  ArrayRef<int64_t> dims[] = {op.getQueryGradientDims(),
                              op.getKeyGradientDims(),
                              op.getValueGradientDims()};
  std::vector<Sum> totals[3];
  for (int i = 0; i < 3; ++i)
    totals[i].resize(enclosures[i].real.size());
  auto addTo = [&](int i, const Place &pair, int64_t feature,
                   const Bounded &factor, double other) {
    int64_t place =
        placeIn(enclosures[i], pair.withFeature(feature).indexOf(dims[i]));
    totals[i][place].add(factor, other);
  };
  a.forQueries([&](const Place &query) {
    auto gradientAt = [&](int64_t v) {
      return a.read(outputGradient, op.getOutputGradientDims(),
                    query.withFeature(v));
    };
    double maximum = maxima.at(query.row()).real;
    double sum = sums.at(query.row()).real;
    struct Pair {
      Place place;
      Bounded weight, gradient;
    };
    std::vector<Pair> pairs;
    Bounded mean, total; // of gradients by weight, and of weights
    double magnitude = 0, farthest = 0;
    a.forKeys(query, [&](const Place &pair) {
      Bounded weight = a.weight(a.score(pair), maximum, 4 * unit);
      weight = {weight.value / sum, weight.error / std::fabs(sum)};
      if (!std::isfinite(weight.value) || !std::isfinite(weight.error))
        weight = {0, infinite};
      Sum product;
      for (int64_t v = 0; v < a.problem.valueFeatures; ++v)
        product.add({gradientAt(v)}, a.valueAt(pair, v));
      Bounded gradient =
          roundedTo(product.total(), a.problem.roundsWeightGradients,
                    a.value.elementType());
      gradient = times(gradient, a.factorAt(pair));
      mean.value += weight.value * gradient.value;
      mean.error += weight.most() * gradient.error +
                    weight.error * std::fabs(gradient.value);
      magnitude += weight.most() * gradient.most();
      total.value += weight.value;
      total.error += weight.error;
      farthest = std::max(farthest, gradient.most());
      pairs.push_back({pair, weight, gradient});
    });
    mean.error += double(a.problem.keys + 2) * (unit * magnitude + tiny);
    // Gradients are measured from one of them, which adds to the mean what the
    // weights lack of 1.
    mean.error += farthest * (std::fabs(total.value - 1) + total.error +
                              double(a.problem.keys + 4) * unit * total.most());
    double scale = std::fabs(a.problem.scale);
    for (const Pair &pair : pairs) {
      Bounded slope;
      if (!a.isMasked(pair.place)) {
        double difference = pair.gradient.value - mean.value;
        double error = pair.gradient.error + mean.error +
                       unit * (pair.gradient.most() + mean.most());
        slope.value = double(a.problem.scale) * pair.weight.value * difference;
        slope.error = scale * (pair.weight.most() * error +
                               pair.weight.error * std::fabs(difference)) +
                      3 * unit * scale * pair.weight.most() *
                          (std::fabs(difference) + error) +
                      tiny;
        slope = roundedTo(slope, a.problem.roundsSlopes, a.key.elementType());
      }
      for (int64_t d = 0; d < a.problem.features; ++d) {
        addTo(0, pair.place, d, slope, a.keyAt(pair.place, d));
        addTo(1, pair.place, d, slope, a.queryAt(pair.place, d));
      }
      Bounded multiplied = a.multiplied(pair.weight, pair.place);
      for (int64_t v = 0; v < a.problem.valueFeatures; ++v)
        addTo(2, pair.place, v, multiplied, gradientAt(v));
    }
  });
  for (int i = 0; i < 3; ++i)
    for (auto [sum, allowed] : llvm::zip_equal(totals[i], enclosures[i].real))
      allowed = allowedFor(sum.total(), elementOf(enclosures[i]));
}

} // namespace

std::vector<Enclosure> reference::encloseAttention(Operation *op,
                                                   ArrayRef<Tensor> operands) {
  std::vector<Enclosure> enclosures = enclosuresOf(op);
  // What is not finite shows or not by the groups that keys are taken in.
  for (const Tensor &tensor : operands)
    for (const Element &element : tensor.elements)
      if (isa<FloatType>(tensor.elementType()) &&
          !(std::fabs(element.real) < large))
        return enclosures;
  if (auto attention = dyn_cast<step::AttentionOp>(op))
    encloseForward(attention, operands, enclosures);
  else
    encloseGradient(cast<step::AttentionGradientOp>(op), operands, enclosures);
  return enclosures;
}
