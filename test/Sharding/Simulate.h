//===- Simulate.h - Partitioned steps against whole ones ------------------===//
//
// Runs a step as it is and partitioned, both in the reference interpreter, the
// latter on as many simulated devices as the mesh has, and compares. Tails of
// shards are filled with NaN and with large numbers, so that whatever takes
// them for elements shows.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_SHARDING_SIMULATE_H
#define TENON_TEST_SHARDING_SIMULATE_H

#include "tenon/Reference/Interpreter.h"
#include "tenon/Sharding/Passes.h"

#include <map>
#include <string>

namespace tenon::sharding {

struct Inputs {
  uint64_t seed = 0;
  int64_t leastInteger = -3, mostInteger = 12;
};

/// Arguments for a step: floats around 0, above 0 for the state of an
/// optimizer.
reference::Tensors makeInputs(mlir::func::FuncOp main, const Inputs &inputs);

/// What a device holds of a tensor.
reference::Tensor shardOf(const reference::Tensor &whole, const Layout &layout,
                          const Mesh &mesh, int64_t device);

/// The tensor of which devices hold these shards, the results of that number;
/// `like` has its type.
reference::Tensor wholeOf(llvm::ArrayRef<reference::Tensors> returned,
                          size_t result, const reference::Tensor &like,
                          const Layout &layout, const Mesh &mesh);

struct Comparison {
  /// Empty if the partitioned step does what the whole one does.
  std::string failure;
  /// The largest difference, relative to the largest element of its tensor.
  double farthest = 0;
  std::map<std::string, int64_t> collectives; // by name
};

/// The passes behind the partitioner.
enum class Behind { none, collectives, expanded };

/// Runs them on what the partitioner made of a step and has the checker look at
/// it behind each: empty, or what it refuses.
std::string schedule(mlir::ModuleOp whole, mlir::ModuleOp parts, Behind behind);

/// Partitions a copy of the module, has the checker look at it, and compares
/// what both return for the arguments; `expected` is what the whole one does.
Comparison compare(mlir::ModuleOp module, const Mesh &mesh,
                   const AskedLayouts &asked,
                   llvm::ArrayRef<reference::Tensor> arguments,
                   llvm::ArrayRef<reference::Tensor> expected,
                   Behind behind = Behind::none);

/// How the results of a partitioned step differ from those expected; empty if
/// they do not but for the order of sums. A device that evaluates more than
/// `mostOperations` is one that does not end.
std::string differenceOf(mlir::func::FuncOp main, const Mesh &mesh,
                         llvm::ArrayRef<reference::Tensor> arguments,
                         llvm::ArrayRef<reference::Tensor> expected,
                         double &farthest,
                         int64_t mostOperations = 1'000'000'000);

/// All ways to cut a tensor of a rank on a mesh; axes of size 4 also by halves.
std::vector<Layout> allLayouts(const Mesh &mesh, int64_t rank);

} // namespace tenon::sharding

#endif // TENON_TEST_SHARDING_SIMULATE_H
