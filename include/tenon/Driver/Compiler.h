//===- Compiler.h - From an exported module to a .tenon file --------------===//
//
// Runs the stages in order, or part of them, and reports what each did.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DRIVER_COMPILER_H
#define TENON_DRIVER_COMPILER_H

#include "tenon/Driver/Stages.h"
#include "tenon/Import/Expectations.h"
#include "tenon/Package/PackageModule.h"
#include "tenon/Support/ExitCode.h"
#include "tenon/Support/Subnormals.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace tenon::driver {

/// A further entry point of a file.
struct EntryOption {
  std::string name; // see whyNoEntryName()
  std::string file; // a module that reads the step's state
};

/// A budget that asks for the smallest one for which a plan is found.
constexpr int64_t smallestBudget = 0;

struct CompileOptions {
  std::string input;  // a file, or - for standard input
  std::string output; // a file, or - for standard output
  OutputTarget target = OutputTarget::cpu;
  /// With OutputTarget::cuda: what GPUs code is for, `sm_90,sm_80`.
  std::string architectures;
  /// With OutputTarget::cuda: the file of NVIDIA's assembler, empty for the one
  /// that is installed, and whether machine code is left out.
  std::string ptxas;
  bool noCubins = false;
  /// A folder that keeps the code of kernels for later compilations, `none` for
  /// none; empty for the usual one, which is empty for none.
  std::string kernelCache;
  std::string usualKernelCache;
  bool generic = false; // StableHLO in the form that depends least on versions
  /// host, x86-64-v3, x86-64-v4, x86-64-v4+avx512bf16, x86-64-v4+amxbf16; empty
  /// for what the text between stages says, else the machine description, else
  /// the host.
  std::string cpu;
  std::string machineFile; // a Target description; empty for built-in
  std::string rolesFile;   // empty for none
  /// Names of results that are no state: the result, `=`, its name.
  std::vector<std::string> resultNames;
  /// Entry points beside the step.
  std::vector<EntryOption> entries;
  std::string function = "main"; // which function of a module is the step
  std::string reportFile;        // JSON; empty for none
  /// Bytes that all segments together may take, or smallestBudget; without a
  /// budget nothing is recomputed for memory.
  std::optional<int64_t> memoryBudget;
  /// With `memoryBudget`, for GPUs: values may wait in the host's memory, and
  /// the budget is one of the GPU's memory alone.
  bool offload = false;
  /// Decide anew what a checkpoint in the program recomputes; nothing for what
  /// the text between stages says, else false.
  std::optional<bool> replanRecomputation;
  /// What is done with subnormal numbers; nothing for what the text between
  /// stages says, else flush.
  std::optional<Subnormals> subnormals;
  /// Nothing for what the text between stages says, else f32.
  std::optional<Precision> precision;
  std::string precisionPolicyFile; // JSON; empty for none
  /// What stochastic rounding draws from; nothing for what the text between
  /// stages says, else 0.
  std::optional<uint64_t> roundingSeed;
  /// The ranks that run the step: axes with sizes, data=2,model=2; empty for
  /// one rank, unless the text between stages is of several.
  std::string mesh;
  /// With `mesh`: `solve`, or empty, for layouts that are chosen by what the
  /// step takes, `propagate` for those that follow from what the step itself
  /// asks for, or a file with lines NAME = LAYOUT.
  std::string sharding;
  /// With `mesh`: elements are combined by what carries them, MPI or NCCL, in
  /// an order of its own.
  bool fastCollectives = false;
  /// With `mesh`: how many shards of the batch are computed alone and summed by
  /// a binary tree, so that bits do not depend on the ranks; 0 for none.
  int64_t logicalShards = 0;
  std::string dumpProblems; // folder for solver instances; empty for none
  std::string from, to;     // stages to resume after, stop after; or empty
  /// Whose remarks are printed and reported, a regular expression over the
  /// flags of passes. By default only what a user must know.
  std::string remarks = "import-ignore-shardings|import-keep-unknown";
  /// Take the expectations of a self-checking program into the result.
  bool separateExpectations = false;
  /// Merge operations into groups; nothing for what the text between stages
  /// says, else true.
  std::optional<bool> fuse;
  /// Call no libraries; if false, what the text between stages says.
  bool noLibraries = false;
  /// Call them wherever they run an operation, also where generated code is
  /// predicted to take less time. For measurements of both.
  bool allLibraries = false;
  bool verifyForms = false; // check the contract after every stage
  unsigned threads = 0;     // for planning and kernels; 0 for all
};

/// One line of the compilation's progress, for people.
struct StageReport {
  std::string name;
  double seconds = 0;
  llvm::json::Object details;
};

struct CompileResult {
  ExitCode code = exitInternal;
  /// What code is for; empty if the compilation ended before that was decided.
  std::string featureSet;
  /// The file, if all stages ran.
  std::vector<std::byte> file;
  /// The module's text, if `to` stopped the compilation or the target is text.
  std::string text;
  std::vector<importer::SeparatedExpectation> expectations;
  std::vector<StageReport> stages;
  /// What --logical-shards costs, a line for people.
  std::string shardSummary;
  /// What was planned under a budget, a line for people.
  std::string planSummary;
  /// What the entry points beside the step are, lines for people.
  std::string entrySummary;
  llvm::json::Array remarks;
};

/// Registers all dialects of Tenon and those it lowers through.
/// Why no entry point may be called so; empty if one may.
std::string whyNoEntryName(llvm::StringRef name);

void registerDialects(mlir::DialectRegistry &registry);

/// Compiles options.input. Diagnostics go to the context of the call and are
/// printed on standard error.
CompileResult compile(const CompileOptions &options);
/// The same, through other stages.
CompileResult compile(const CompileOptions &options, const Walk &walk);

/// Plans options.input under `count` budgets, evenly spaced from the smallest
/// with a plan to keeping everything, and prints a table of what each costs.
ExitCode planFrontier(const CompileOptions &options, int64_t count,
                      llvm::raw_ostream &out);

/// Decides how the tensors of options.input lie on options.mesh and prints
/// that, with reasons and what the step takes, in seconds and bytes.
ExitCode planLayouts(const CompileOptions &options, llvm::raw_ostream &out);

/// Plans options.input for a machine with a link to a host's memory, where
/// values may wait, and prints what that costs under `count` sizes of
/// temporaries.
ExitCode planOffload(const CompileOptions &options, int64_t count,
                     llvm::raw_ostream &out);

/// Plans options.input and `other`, an export of the same step with another
/// batch size, and prints what both need and the largest batch that would fit
/// options.memoryBudget, if that is given.
ExitCode planBatches(const CompileOptions &options, const std::string &other,
                     llvm::raw_ostream &out);

/// Prints what format each value and product of options.input has, and why.
ExitCode printFormats(const CompileOptions &options, llvm::raw_ostream &out);

/// compile(), then writes the output and the report; returns the exit code.
ExitCode compileToFile(const CompileOptions &options,
                       llvm::raw_ostream &progress);

} // namespace tenon::driver

#endif // TENON_DRIVER_COMPILER_H
