//===- Candidates.h - Ways to write one step ------------------------------===//
//
// What the search under a budget chooses from, between the stages `group` and
// `plan`: the same step, grouped, with different recomputation between its
// loops, with times and scratch sizes on its groups. Forming one is what these
// cost, so they come as a stream, when a budget needs them: first the step as
// it is, then with what more may be computed again between loops, then with
// loops cut into segments, deeper and deeper. Where the pairs of loops may do
// with different choices, what they stack and take in these says which mixtures
// to form (LoopMixes.h).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_CANDIDATES_H
#define TENON_LIB_DRIVER_CANDIDATES_H

#include "KernelScratch.h"
#include "LoopMixes.h"

#include "tenon/Fusion/Passes.h"
#include "tenon/Support/ExitCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <vector>

namespace tenon::driver {

struct Candidate {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// What its loops are predicted to stack less than those of the first
  /// candidate, and to take longer.
  LoopFigures predicted;
};

class CandidateStream {
public:
  /// Of the stage `group`: what changes loops, and what follows.
  enum class Part { loops, groups };
  using Group = std::function<ExitCode(
      mlir::ModuleOp, const fusion::FusionOptions &loops, Part)>;

  /// Begins with `grouped`. If it came from `step`, `group` forms further ones.
  CandidateStream(KernelScratch scratch, const target::Target &machine,
                  mlir::OwningOpRef<mlir::ModuleOp> grouped,
                  mlir::OwningOpRef<mlir::ModuleOp> step = nullptr,
                  Group group = nullptr);

  /// Those that were formed.
  llvm::ArrayRef<Candidate> formed() const { return candidates; }
  mlir::OwningOpRef<mlir::ModuleOp> take(size_t index) {
    return std::move(candidates[index].module);
  }

  /// Whether there may be more than were formed.
  bool mayFormMore() const { return step && !formedAll; }
  /// Forms the next ones with one choice for all pairs of loops; false if there
  /// are none, or after a failure.
  bool formMore();
  /// Forms one with different choices for the pairs that is predicted to stack
  /// `wanted.savedBytes` less than the first, in less than `wanted.nanoseconds`
  /// more: of those, the least costly or the next after that; false if they are
  /// there, or after a failure.
  bool formMixture(LoopFigures wanted);
  /// What went wrong while more were formed.
  ExitCode failure() const { return code; }

private:
  void add(mlir::OwningOpRef<mlir::ModuleOp> grouped,
           llvm::ArrayRef<fusion::LoopChoice> choices,
           std::optional<LoopFigures> predicted);
  /// The step with its loops changed, or null after a failure.
  mlir::OwningOpRef<mlir::ModuleOp> changed(const fusion::FusionOptions &loops);
  bool finish(mlir::OwningOpRef<mlir::ModuleOp> changed,
              const fusion::FusionOptions &loops,
              std::optional<LoopFigures> predicted = std::nullopt);
  bool formLevels();
  bool formSegments();

  KernelScratch scratch;
  const target::Target &machine;
  std::vector<Candidate> candidates;
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

#endif // TENON_LIB_DRIVER_CANDIDATES_H
