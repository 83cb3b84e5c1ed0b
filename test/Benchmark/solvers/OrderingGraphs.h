//===- OrderingGraphs.h - whole training steps as ordering problems -------===//
//
// Forward, backward with separate gradients of data and of weights, and one
// update per weight, in the order in which a framework would trace them:
// forward, backward, all updates at the end. Parameters are not counted, they
// are always there. Every problem is a function of its parameters and a seed.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_BENCHMARK_SOLVERS_ORDERINGGRAPHS_H
#define TENON_TEST_BENCHMARK_SOLVERS_ORDERINGGRAPHS_H

#include "tenon/Solver/OperationOrdering.h"

namespace tenon::benchmark {

/// What dominates memory: activations (large batch) or gradients of weights.
enum class Weight { Activations, Balanced, Gradients };

/// Attention and two linear layers per block, with normalisation and residuals.
solver::OrderingProblem transformerStep(int32_t blocks, Weight weight,
                                        uint64_t seed);
/// Blocks of convolution, normalisation and activation with shortcuts.
solver::OrderingProblem convolutionStep(int32_t blocks, Weight weight,
                                        uint64_t seed);
/// An unrolled recurrent network; gradients of its weights are summed over
/// time.
solver::OrderingProblem recurrentStep(int32_t steps, Weight weight,
                                      uint64_t seed);
/// Blocks of parallel branches of different depth.
solver::OrderingProblem branchingStep(int32_t blocks, Weight weight,
                                      uint64_t seed);

/// A small training step of any shape with at most `operations` operations, at
/// least 4.
solver::OrderingProblem anyStep(int32_t operations, uint64_t seed);

/// Operations with random sizes and edges to recent operations; now and then
/// a further result, workspace, side effect, control edge, in-place pair.
solver::OrderingProblem anyOrdering(int32_t operations, bool extras,
                                    uint64_t seed);

} // namespace tenon::benchmark

#endif // TENON_TEST_BENCHMARK_SOLVERS_ORDERINGGRAPHS_H
