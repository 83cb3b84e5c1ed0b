//===- Attention.cpp - step.attention and its gradient --------------------===//
//
// The formulas of Dialect/Step/Attention.td, a query at a time, every step
// rounded to f32.
//
//===----------------------------------------------------------------------===//

#include "AttentionElements.h"
#include "Evaluators.h"

#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;
using step::AttentionProblem;

namespace {

double rounded(double x) { return double(float(x)); }

class Attention : public AttentionElements {
public:
  using AttentionElements::AttentionElements;

  double score(const Place &at) const {
    if (isMasked(at))
      return *problem.fill;
    double sum = 0;
    for (int64_t d = 0; d < problem.features; ++d)
      sum = rounded(sum + rounded(queryAt(at, d) * keyAt(at, d)));
    sum = rounded(sum * double(problem.scale));
    return bias ? rounded(sum + biasAt(at)) : sum;
  }
  /// What the program rounds to the type of an operand.
  double narrowed(double x, bool isNarrowed, const Tensor &like) const {
    return isNarrowed ? round({x}, like.elementType()).real : x;
  }
  /// What the values, or the output's gradient, are multiplied by.
  double multiplied(double weight, const Place &at) const {
    return narrowed(rounded(weight * factorAt(at)), problem.roundsWeights,
                    value);
  }
};

LogicalResult evaluateAttention(Operation *op, Interpreter &,
                                ArrayRef<Tensor> operands, Tensors &results) {
  auto attention = cast<step::AttentionOp>(op);
  Attention a(AttentionProblem(attention), operands);
  Tensor output(resultType(op, 0)), maxima(resultType(op, 1)),
      sums(resultType(op, 2));
  ArrayRef<int64_t> dims = attention.getOutputDims();
  a.forQueries([&](const AttentionPlace &at) {
    std::vector<double> scores(a.problem.keys);
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    a.forKeys(at, [&](const AttentionPlace &pair) {
      double score = scores[pair.key] = a.score(pair);
      // Whatever is no number makes the sum none.
      maximum = score > maximum ? score : maximum;
    });
    double reference = std::isinf(maximum) && maximum < 0 ? 0 : maximum;
    a.forKeys(at, [&](const AttentionPlace &pair) {
      double &weight = scores[pair.key];
      weight = rounded(std::exp(rounded(weight - reference)));
      sum = rounded(sum + weight);
    });
    double reciprocal = rounded(1 / sum);
    // Sums of products are divided in the end, where weights are not rounded.
    bool isDividedFirst = a.problem.roundsWeights;
    a.forKeys(at, [&](const AttentionPlace &pair) {
      double &weight = scores[pair.key];
      if (isDividedFirst)
        weight = rounded(weight * reciprocal);
      weight = a.multiplied(weight, pair);
    });
    for (int64_t v = 0; v < a.problem.valueFeatures; ++v) {
      double total = 0;
      a.forKeys(at, [&](const AttentionPlace &pair) {
        total = rounded(total + rounded(scores[pair.key] * a.valueAt(pair, v)));
      });
      if (!isDividedFirst)
        total = rounded(total * reciprocal);
      output.at(at.withFeature(v).indexOf(dims)) =
          round({total}, output.elementType());
    }
    Index row = at.row();
    maxima.at(row) = {maximum};
    sums.at(row) = {sum};
  });
  results.push_back(std::move(output));
  results.push_back(std::move(maxima));
  results.push_back(std::move(sums));
  return success();
}

LogicalResult evaluateGradient(Operation *op, Interpreter &,
                               ArrayRef<Tensor> operands, Tensors &results) {
  auto gradient = cast<step::AttentionGradientOp>(op);
  Attention a(AttentionProblem(gradient), operands);
  const Tensor &maxima = a.others[0];
  const Tensor &sums = a.others[1];
  const Tensor &outputGradient = a.others[2];
  // Sums of f32 before they are rounded to the results' type.
  Tensor queryGradient(resultType(op, 0)), keyGradient(resultType(op, 1)),
      valueGradient(resultType(op, 2));
  auto addTo = [&](Tensor &sums, ArrayRef<int64_t> dims,
                   const AttentionPlace &at, int64_t feature, double term) {
    double &sum = sums.at(at.withFeature(feature).indexOf(dims)).real;
    sum = rounded(sum + rounded(term));
  };
  ArrayRef<int64_t> queryDims = gradient.getQueryGradientDims(),
                    keyDims = gradient.getKeyGradientDims(),
                    valueDims = gradient.getValueGradientDims();
  a.forQueries([&](const AttentionPlace &at) {
    auto outputGradientAt = [&](int64_t v) {
      return Attention::read(outputGradient, gradient.getOutputGradientDims(),
                             at.withFeature(v));
    };
    Index row = at.row();
    double maximum = maxima.at(row).real;
    double reciprocal = rounded(1 / sums.at(row).real);
    std::vector<double> weights(a.problem.keys), gradients(a.problem.keys);
    // The mean of the gradients, by weight, is that of the keys with the
    // largest weight and what the others are from it: next to that of a key
    // with nearly all weight, a mean in one number would be rounded away.
    double largest = 0, largestGradients = 0, otherWeights = 0,
           otherProducts = 0;
    a.forKeys(at, [&](const AttentionPlace &pair) {
      double weight = rounded(std::exp(rounded(a.score(pair) - maximum)));
      weight = rounded(weight * reciprocal);
      double product = 0;
      for (int64_t v = 0; v < a.problem.valueFeatures; ++v)
        product = rounded(product +
                          rounded(outputGradientAt(v) * a.valueAt(pair, v)));
      product = a.narrowed(product, a.problem.roundsWeightGradients, a.value);
      product = rounded(product * a.factorAt(pair));
      weights[pair.key] = weight;
      gradients[pair.key] = product;
      if (weight == reciprocal && reciprocal > 0) {
        ++largest;
        largestGradients = rounded(largestGradients + product);
      } else {
        otherWeights = rounded(otherWeights + weight);
        otherProducts = rounded(otherProducts + rounded(weight * product));
      }
    });
    double pivot = rounded(largestGradients / std::max(largest, 1.0));
    double rest = rounded(otherProducts - rounded(pivot * otherWeights));
    a.forKeys(at, [&](const AttentionPlace &pair) {
      double weight = weights[pair.key];
      double fromMean = rounded(rounded(gradients[pair.key] - pivot) - rest);
      double slope = rounded(weight * fromMean);
      slope = a.narrowed(rounded(slope * double(a.problem.scale)),
                         a.problem.roundsSlopes, a.key);
      if (a.isMasked(pair))
        slope = 0;
      double multiplied = a.multiplied(weight, pair);
      for (int64_t d = 0; d < a.problem.features; ++d) {
        addTo(queryGradient, queryDims, pair, d, slope * a.keyAt(pair, d));
        addTo(keyGradient, keyDims, pair, d, slope * a.queryAt(pair, d));
      }
      for (int64_t v = 0; v < a.problem.valueFeatures; ++v)
        addTo(valueGradient, valueDims, pair, v,
              multiplied * outputGradientAt(v));
    });
  });
  for (Tensor *tensor : {&queryGradient, &keyGradient, &valueGradient}) {
    for (Element &element : tensor->elements)
      element = round(element, tensor->elementType());
    results.push_back(std::move(*tensor));
  }
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::attentionEvaluators() {
  static const Evaluator table[] = {
      {"step.attention", evaluateAttention},
      {"step.attention_gradient", evaluateGradient},
  };
  return table;
}
