//===- Stages.h - The stages of a compilation -----------------------------===//
//
// A compilation walks through stages, and everything that is special about a
// stage stands in its one entry here: how it is called, what it does, the form
// it leaves and how a text is held against that, its options and how a text
// records them, its passes. `--compile-to`, `--compile-from`, `--help`, the
// report, the text between stages and tenon-opt are made from the entries.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DRIVER_STAGES_H
#define TENON_DRIVER_STAGES_H

#include "tenon/Codegen/CPU/FeatureSet.h"
#include "tenon/Support/ExitCode.h"
#include "tenon/Target/GpuArchitectures.h"
#include "tenon/Target/Target.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenon::driver {

struct CompileOptions;
struct CompileResult;
struct Stage;
class BudgetSearch;
class CandidateStream;
struct GroupedAhead;

/// Stages in execution order; the first one reads the input.
using Walk = std::vector<Stage>;

/// What leaves the compiler: a .tenon file for a processor or for GPUs of
/// NVIDIA's, or StableHLO text for XLA.
enum class OutputTarget { cpu, cuda, stablehlo };

/// The format that values may be stored in, and products multiply, beside f32;
/// with bf16State also that of state. With f16 the loss is scaled. With tf32
/// nothing but what products of f32 multiply may have fewer bits.
enum class Precision { f32, tf32, bf16, bf16State, f16 };

/// Whether values may be stored in 16 bits.
inline bool mayStoreNarrow(Precision precision) {
  return precision != Precision::f32 && precision != Precision::tf32;
}

/// What the command, the text of an earlier stage and defaults settle together.
struct ResolvedOptions {
  OutputTarget target = OutputTarget::cpu;
  /// What code is for: a feature set as files spell it, or architectures of
  /// GPUs, `sm_80,sm_90`.
  std::string featureSet;
  codegen::FeatureSet features; // of a processor
  /// Of GPUs, by compute capability; empty for another target.
  std::vector<const target::GpuArchitecture *> gpus;
  target::Target machine;  // what is planned for
  std::string machineText; // its JSON; empty for a built-in one
  bool fuse = true;
  bool noLibraries = false;
  /// In bytes; smallestBudget until the search has found which one that is.
  std::optional<int64_t> memoryBudget;
  bool offload = false; // values may wait in the host's memory
  bool replanRecomputation = false;
  Precision precision = Precision::f32;
  std::string precisionPolicy; // JSON; empty for none
  uint64_t roundingSeed = 0;   // of stochastic rounding
  /// The hash of all constants of the program that came, for runs that go on
  /// with another file; import fills it in.
  std::string constants;
  /// Whether batch tensors may be held in 16 bits. Where they are f32, who
  /// reads one finds all its digits.
  bool holdBatches = true;
  /// Whether the program is a step, and not an entry point beside one.
  bool isStep = true;
};

/// A module as the passes of `group` that merge operations will leave it, where
/// `precision` had to know. It is that of the step with this fingerprint: what
/// comes in between may change the step.
struct PartlyGrouped {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OperationFingerPrint step;
};

/// What a stage leaves for the next one.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// After `group`, where budgets are planned for: further ways to write the
  /// step, of which `module` is the first. A text has none.
  std::shared_ptr<CandidateStream> candidates;
  /// What has looked for plans among these, once something has.
  std::shared_ptr<BudgetSearch> search;
  std::optional<PartlyGrouped> partlyGrouped;
  /// What `group` will leave, where a stage before it had to know.
  std::shared_ptr<GroupedAhead> ahead;
};

/// A program in grouped form, and what its stage has to report.
struct GroupedAhead {
  Program program;
  llvm::json::Object details;
};

/// One walk through stages: what each of them is told, and what it says to
/// others than the next stage.
struct StageRun {
  const CompileOptions &options;
  const Walk &walk;
  mlir::MLIRContext *context;
  CompileResult &result;
  /// The stage that reads settles them.
  ResolvedOptions resolved = {};
  /// Whether plans for budgets follow that the options do not name.
  bool forBudgets = false;
  /// Of the stage that is running, for the report.
  llvm::json::Object details = {};
  /// Whose fault a failure of its passes is.
  ExitCode blame = exitInternal;

  ExitCode runPasses(mlir::ModuleOp on,
                     llvm::function_ref<void(mlir::OpPassManager &)> add) const;
};

/// An option that a stage reads.
struct StageOption {
  /// As commands spell it, such as `--fuse`; empty if no command gives it.
  llvm::StringRef flag = {};
  std::function<bool(const CompileOptions &)> isGiven = {};

  /// Its entry in the options that a text records, and what that has to be;
  /// empty for what no later stage depends on. Once its stage has run, an
  /// option of a text cannot be given anew.
  llvm::StringRef key = {}, expected = {};
  bool isRequired = false;
  /// Takes it from a text; false if it is not as expected.
  std::function<bool(mlir::Attribute, ResolvedOptions &)> read = {};
  /// Null if a text need not say it.
  std::function<mlir::Attribute(const ResolvedOptions &, mlir::Builder &)>
      write = {};
  /// Takes it from a command, if that gives it.
  std::function<void(const CompileOptions &, ResolvedOptions &)> give = {};
  /// How it reads in a command: `--fuse=false`.
  std::function<std::string(const ResolvedOptions &)> spell = {};
};

struct Stage {
  using Work = std::function<ExitCode(Program &, StageRun &)>;

  llvm::StringRef name;
  /// What the module is in afterwards, and what happened; empty where no text
  /// is written.
  llvm::StringRef form = {}, summary = {};
  std::vector<StageOption> options = {};
  Work run = {};
  /// Holds the module, which somebody may have edited, against the form.
  Work checkForm = {};
  /// Settles what the text has to say that is otherwise left to later stages.
  Work beforeText = {};
  /// Registers its passes and its pipeline under the stage's name.
  void (*registerPasses)() = nullptr;
};

/// What leads to the target.
const Walk &walkTo(OutputTarget target);

/// The stage of this name that leaves a form, or null.
const Stage *findForm(const Walk &walk, llvm::StringRef name);
/// The names of all such stages: "import, simplify".
std::string formNames(const Walk &walk);

} // namespace tenon::driver

#endif // TENON_DRIVER_STAGES_H
