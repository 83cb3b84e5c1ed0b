//===- AttentionElements.cpp - What attention reads, by place -------------===//
//
// See AttentionElements.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionElements.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

Index AttentionPlace::indexOf(ArrayRef<int64_t> dims) const {
  Index index;
  for (int64_t dimension : dims)
    index.push_back(dimension >= 0                      ? batch[dimension]
                    : dimension == step::queryPositions ? query
                    : dimension == step::keyPositions   ? key
                                                        : feature);
  return index;
}

Index AttentionPlace::row() const {
  Index index = batch;
  index.push_back(query);
  return index;
}

AttentionElements::AttentionElements(step::AttentionProblem problem,
                                     ArrayRef<Tensor> operands)
    : problem(std::move(problem)), query(operands[0]), key(operands[1]),
      value(operands[2]) {
  others = operands.drop_front(3);
  auto take = [&](Value operand, const Tensor *&tensor) {
    if (!operand)
      return;
    tensor = &others.front();
    others = others.drop_front();
  };
  take(this->problem.bias, bias);
  take(this->problem.mask, mask);
  take(this->problem.factor, factor);
}

void AttentionElements::forQueries(
    llvm::function_ref<void(const Place &)> body) const {
  Index extents(problem.batch.begin(), problem.batch.end());
  extents.push_back(problem.queries);
  if (llvm::is_contained(extents, 0))
    return;
  Index index(extents.size(), 0);
  do {
    Place at;
    at.batch.assign(index.begin(), index.end() - 1);
    at.query = index.back();
    body(at);
  } while (next(index, extents));
}

void AttentionElements::forKeys(
    Place at, llvm::function_ref<void(const Place &)> body) const {
  for (at.key = 0; at.key < problem.keys; ++at.key)
    if (!problem.causal || at.key <= at.query)
      body(at);
}
