//===- Groupings.h - One step grouped in several ways --------------------===//
//
// Between the stages `group` and `plan` under a budget: the same step with
// different recomputation between its loops, with times and scratch sizes on
// its groups. Grouping is what these cost, so they are formed when a budget
// needs them: first as they are, then with what more may be computed again
// between loops, then with loops cut into segments, deeper and deeper. Where
// the pairs of loops may do with different choices, what they stack and take in
// these says which mixtures to form (LoopMixes.h).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_GROUPINGS_H
#define TENON_LIB_DRIVER_GROUPINGS_H

#include "LoopMixes.h"

#include "tenon/Codegen/CPU/FeatureSet.h"
#include "tenon/Driver/Compiler.h"
#include "tenon/Fusion/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <vector>

namespace tenon::driver {

class Groupings {
public:
  /// Of the stage `group`: what changes loops, and what follows.
  enum class Part { loops, groups };
  using Group = std::function<ExitCode(
      mlir::ModuleOp, const fusion::FusionOptions &loops, Part)>;

  Groupings(const codegen::FeatureSet &features, const target::Target &machine)
      : features(features), machine(machine) {}

  /// Begins with `grouped`. If it came from `step`, `group` forms further ones.
  void begin(mlir::OwningOpRef<mlir::ModuleOp> grouped,
             mlir::OwningOpRef<mlir::ModuleOp> step = nullptr,
             Group group = nullptr);
  size_t size() const { return modules.size(); }
  mlir::ModuleOp operator[](size_t index) { return *modules[index]; }
  mlir::OwningOpRef<mlir::ModuleOp> take(size_t index) {
    return std::move(modules[index]);
  }

  /// Whether there may be more than were formed.
  bool mayFormMore() const { return step && !formedAll; }
  /// Forms the next ones; false if there are none, or after a failure.
  bool formMore();
  /// Forms one with different choices for the pairs of loops that should need
  /// `savedBytes` less than the first, for less than `nanoseconds` more: of
  /// those, the least costly or the next after that; false if they are there,
  /// or after a failure.
  bool formMixed(int64_t savedBytes, int64_t nanoseconds);
  /// What went wrong while more were formed.
  ExitCode failure() const { return code; }

private:
  void add(mlir::OwningOpRef<mlir::ModuleOp> grouped,
           llvm::ArrayRef<fusion::LoopChoice> choices);
  /// The step with its loops changed, or null after a failure.
  mlir::OwningOpRef<mlir::ModuleOp> changed(const fusion::FusionOptions &loops);
  bool finish(mlir::OwningOpRef<mlir::ModuleOp> changed,
              const fusion::FusionOptions &loops);
  bool formLevels();
  bool formSegments();

  const codegen::FeatureSet &features;
  const target::Target &machine;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  mlir::OwningOpRef<mlir::ModuleOp> step; // if it has pairs of loops
  bool formedAll = false;                 // with one choice for all pairs
  std::vector<LoopRows> loopRows;         // of these
  std::vector<std::vector<fusion::LoopChoice>> mixed; // that were tried
  Group group;
  ExitCode code = exitOk;
  /// The lowest level and the highest one that stacks less, once formed.
  std::vector<int64_t> levels;
  /// Which of these is cut into segments next, and how deep.
  size_t level = 0;
  int64_t depth = 1;
};

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_GROUPINGS_H
