//===- AttentionElements.h - What attention reads, by place ---------------===//
//
// The elements of the operands of step.attention and its gradient, by what
// their dimensions run over, for whoever evaluates the formulas of
// Dialect/Step/Attention.td a query and a key at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_REFERENCE_ATTENTIONELEMENTS_H
#define TENON_LIB_REFERENCE_ATTENTIONELEMENTS_H

#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Reference/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tenon::reference {

/// An index by dimension: batch dimensions by number, and the others.
struct AttentionPlace {
  Index batch;
  int64_t query = 0, key = 0, feature = 0;

  AttentionPlace withFeature(int64_t other) const {
    AttentionPlace place = *this;
    place.feature = other;
    return place;
  }
  Index indexOf(llvm::ArrayRef<int64_t> dims) const;
  /// That of maxima and sums.
  Index row() const;
};

class AttentionElements {
public:
  using Place = AttentionPlace;

  /// `operands` are all of the operation's.
  AttentionElements(step::AttentionProblem problem,
                    llvm::ArrayRef<Tensor> operands);

  step::AttentionProblem problem;
  const Tensor &query, &key, &value;
  /// Behind those of the problem.
  llvm::ArrayRef<Tensor> others;

  static double read(const Tensor &tensor, llvm::ArrayRef<int64_t> dims,
                     const Place &at) {
    return tensor.at(at.indexOf(dims)).real;
  }
  double queryAt(const Place &at, int64_t feature) const {
    return read(query, problem.queryDims, at.withFeature(feature));
  }
  double keyAt(const Place &at, int64_t feature) const {
    return read(key, problem.keyDims, at.withFeature(feature));
  }
  double valueAt(const Place &at, int64_t feature) const {
    return read(value, problem.valueDims, at.withFeature(feature));
  }
  double biasAt(const Place &at) const {
    return bias ? read(*bias, problem.biasDims, at) : 0;
  }
  double factorAt(const Place &at) const {
    return factor ? read(*factor, problem.factorDims, at) : 1;
  }
  bool isMasked(const Place &at) const {
    return mask && !mask->at(at.indexOf(problem.maskDims)).integer;
  }

  /// All queries.
  void forQueries(llvm::function_ref<void(const Place &)> body) const;
  /// The keys that `causal` does not leave out for a query.
  void forKeys(Place at, llvm::function_ref<void(const Place &)> body) const;

protected:
  const Tensor *bias = nullptr, *mask = nullptr, *factor = nullptr;
};

} // namespace tenon::reference

#endif // TENON_LIB_REFERENCE_ATTENTIONELEMENTS_H
