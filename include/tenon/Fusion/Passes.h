//===- Passes.h - Fusion: operations become groups -----------------------===//
//
// The passes of the stage `group` and its pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_PASSES_H
#define TENON_FUSION_PASSES_H

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <functional>
#include <string>
#include <vector>

namespace tenon::fusion {

#define GEN_PASS_DECL
#include "tenon/Fusion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tenon/Fusion/Passes.h.inc"

/// FormGroups for a machine whose predicted times decide what is merged; as a
/// pass of its own it takes the least built-in one.
std::unique_ptr<mlir::Pass> createFormGroupsPass(FormGroupsPassOptions options,
                                                 const target::Target &machine);

/// As above.
std::unique_ptr<mlir::Pass>
createPadProductsPass(PadProductsPassOptions options,
                      const target::Target &machine);

/// As above.
std::unique_ptr<mlir::Pass> createReadSlicesPass(const target::Target &machine);

/// As above.
std::unique_ptr<mlir::Pass>
createWriteSlicesPass(const target::Target &machine);

/// As above.
std::unique_ptr<mlir::Pass>
createFormLibraryGroupsPass(FormLibraryGroupsPassOptions options,
                            const target::Target &machine);

/// As above.
std::unique_ptr<mlir::Pass>
createAddResidualsPass(const target::Target &machine);

/// As above.
std::unique_ptr<mlir::Pass>
createFuseEpiloguesPass(FuseEpiloguesPassOptions options,
                        const target::Target &machine);

/// As above.
std::unique_ptr<mlir::Pass>
createFinishProductsPass(const target::Target &machine);

/// As above.
std::unique_ptr<mlir::Pass> createSumOperandsPass(const target::Target &machine,
                                                  bool mayRound);

/// As above.
std::unique_ptr<mlir::Pass> createShareReadsPass(ShareReadsPassOptions options,
                                                 const target::Target &machine);

/// Whether the target has a schedule for a kernel.
using MayCompute = std::function<bool(step::GroupOp)>;

/// As above.
std::unique_ptr<mlir::Pass>
createSumGradientsPass(const target::Target &machine, MayCompute mayCompute);

/// As above.
std::unique_ptr<mlir::Pass> createSumBesidePass(const target::Target &machine,
                                                MayCompute mayCompute);

/// As above.
std::unique_ptr<mlir::Pass>
createRegroupCopiesPass(const target::Target &machine);

/// How a pair of loops trades what it stacks for time.
struct LoopChoice {
  /// How much is computed again between its loops rather than stacked: 0 for
  /// what costs next to nothing, up to mostLoopLevel for all there is.
  int64_t level = 0;
  /// How deep it is cut into segments of rounds, which keep what is carried
  /// once.
  int64_t segmentDepth = 0;

  bool operator==(const LoopChoice &) const = default;
};

struct FusionOptions {
  /// Whether operations are merged at all; off is for testing.
  bool merge = true;
  /// Whether libraries are called, and what their calls are planned for.
  bool callLibraries = true;
  /// Also where generated code is predicted to take less time.
  bool callAllLibraries = false;
  target::Isa isa{};
  /// Whether the step runs on GPUs, whose libraries are asked instead.
  bool forGpus = false;
  /// Whether its libraries may round operands of f32 to tf32.
  bool allowTf32 = false;
  /// Whose predicted times decide what is merged.
  target::Target machine = target::builtInTarget();
  /// Of each pair of loops in the order of the program, the last one for all
  /// further pairs.
  std::vector<LoopChoice> loopChoices = {{}};
};

/// Empty if the libraries that may run operations of `module` can be asked in
/// this process what they do on `isa`, otherwise why not.
std::string whyLibrariesNotAskable(mlir::ModuleOp module, target::Isa isa);

/// Reports the operations of `module` that only a library runs.
mlir::LogicalResult verifyNoLibraryIsNeeded(mlir::ModuleOp module);

/// The instruction set that a pass's option `cpu` names. Reports an unknown one
/// and none.
mlir::FailureOr<target::Isa> isaOfOption(mlir::Operation *op,
                                         llvm::StringRef cpu);

constexpr int64_t mostLoopLevel = 5;
constexpr int64_t mostSegmentDepth = 3;

/// What changes loops; leaves what it saves on the function.
void buildLoopPipeline(mlir::OpPassManager &passes,
                       const FusionOptions &options);
/// What follows: step form to grouped form.
void buildGroupPipeline(mlir::OpPassManager &passes,
                        const FusionOptions &options);
/// Both.
void buildFusionPipeline(mlir::OpPassManager &passes,
                         const FusionOptions &options);

} // namespace tenon::fusion

#endif // TENON_FUSION_PASSES_H
