//===- GraphGenerators.h - seeded problems for the solver benchmarks ------===//
//
// Recomputation problems of many shapes, each a function of its parameters and
// a seed, the same on every machine. Training steps are written as a forward
// part; `withBackward` adds the way back.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_BENCHMARK_SOLVERS_GRAPHGENERATORS_H
#define TENON_TEST_BENCHMARK_SOLVERS_GRAPHGENERATORS_H

#include "tenon/Solver/RecomputeChoice.h"

namespace tenon::benchmark {

using solver::RecomputeProblem;

/// A seeded generator with the same numbers everywhere (SplitMix64).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// From low to high, both included.
  int64_t between(int64_t low, int64_t high);
  bool chance(double probability);

private:
  uint64_t state;
};

/// Nodes in layers of `width`. Every node reads one node of the layer before
/// and every other earlier node with `edgeProbability`, times `decay` for each
/// layer of distance beyond the first. Costs and sizes are uniform in
/// [1, maxCost] and [1, maxBytes].
struct LayeredShape {
  int32_t layers = 25;
  int32_t width = 4;
  double edgeProbability = 0.2;
  double decay = 0.7;
  int64_t maxCost = 100;
  int64_t maxBytes = 100;
};
RecomputeProblem layered(const LayeredShape &shape, uint64_t seed);

/// `nodes` nodes, each pair an edge with `edgeProbability`; small numbers, some
/// zero; now and then a workspace, also a negative one, a pinned node, a second
/// output, a view.
RecomputeProblem anyGraph(int32_t nodes, double edgeProbability, bool extras,
                          uint64_t seed);

/// anyGraph() with what there is to choose: up to two loops with up to three
/// rows, up to two variants, collectives.
RecomputeProblem anyGraphWithChoices(int32_t nodes, double edgeProbability,
                                     uint64_t seed);

/// A chain of `steps` forward nodes and its way back: backward node i reads the
/// gradient and the forward value before it.
RecomputeProblem chain(const std::vector<int64_t> &costs,
                       const std::vector<int64_t> &bytes,
                       int64_t gradientBytes);

/// Transformer layers of 12 forward nodes.
RecomputeProblem transformer(int32_t layers, uint64_t seed);
/// Convolution, normalisation, activation in residual blocks, four stages with
/// halving sizes.
RecomputeProblem residual(int32_t blocks, uint64_t seed);
/// Blocks of four parallel branches of different depth, joined.
RecomputeProblem inception(int32_t blocks, uint64_t seed);

} // namespace tenon::benchmark

#endif // TENON_TEST_BENCHMARK_SOLVERS_GRAPHGENERATORS_H
