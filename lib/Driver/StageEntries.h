//===- StageEntries.h - Entries that have a file of their own -------------===//
//
// Stages.cpp and XlaStages.cpp put them into walks.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_STAGEENTRIES_H
#define TENON_LIB_DRIVER_STAGEENTRIES_H

#include "tenon/Codegen/LLVM/KeptCode.h"
#include "tenon/Driver/Stages.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Precision/FormatReport.h"
#include "tenon/Precision/LossScalingReport.h"

namespace tenon::driver {

/// Takes the policy file that the options name.
ExitCode readPrecisionPolicy(const CompileOptions &options,
                             ResolvedOptions &resolved);

/// Puts a copy of `step` whose values have the formats that the options ask
/// for, which are not f32, into `chosen`; says what was chosen. If the
/// pipelines of groupingOptions have been run on another copy of it, that is
/// put into `grouped`.
ExitCode chooseFormats(mlir::ModuleOp step, StageRun &run,
                       mlir::OwningOpRef<mlir::ModuleOp> &chosen,
                       precision::FormatReport &report,
                       mlir::OwningOpRef<mlir::ModuleOp> *grouped = nullptr);

/// How operations are put into groups, but for what is done to loops.
fusion::FusionOptions groupingOptions(const StageRun &run);

/// Whether 16 bits are for memory alone: products of them are not quicker.
bool weighsBytes(const StageRun &run);

/// What follows the pipelines of groupingOptions. Not where formats are chosen:
/// there a kernel says what each of its readers wants.
ExitCode finishGroups(mlir::ModuleOp on, const StageRun &run);

/// Bytes that a step takes.
struct PlannedBytes {
  int64_t all = 0; // segments together
  int64_t temporaries = 0;
};
/// Plans a step whose groups are not finished, without a budget, and says what
/// it takes. It is left in scheduled form.
ExitCode planBytes(mlir::ModuleOp grouped, const StageRun &run,
                   PlannedBytes &bytes);

/// Checks that the program is in step form, as several stages leave it.
ExitCode checkStepForm(Program &program, StageRun &run);

/// Scales the loss of a program in step form if its precision asks for that.
ExitCode scaleLoss(mlir::ModuleOp step, StageRun &run,
                   precision::LossScalingReport &report);

/// The word for a policy, in options, texts and reports.
llvm::StringRef nameOf(Precision precision);
Stage precisionStage();
/// --precision and --precision-policy.
std::vector<StageOption> precisionOptions();
/// Gives a program in step form the formats that `run.resolved` asks for. For
/// XLA, arguments and results keep their types.
ExitCode lowerPrecision(Program &program, StageRun &run);
/// From a step for one rank to one that each rank of a mesh runs.
Stage shardStage();
/// The same for an entry point beside a step: its state lies where the step, in
/// exec form, has it.
Stage shardEntryStage(mlir::ModuleOp step, llvm::StringRef entry);
Stage groupStage();
Stage planStage();
/// The same, with --offload: values may wait in the host's memory.
Stage planStageForCuda();
/// From an exporter's module to StableHLO for XLA.
Walk walkToXla();
/// From an exporter's module to a .tenon file for GPUs.
Walk walkToCuda();

/// --kernel-cache, which any stage that makes code of kernels reads.
StageOption kernelCacheOption();
/// In how many threads code of kernels is made, and the folder that keeps it.
codegen::CodeWork codeWork(const CompileOptions &options);

/// Stages of a .tenon file for any device.
Stage importStage();
Stage simplifyStage();
Stage lowerStage();
/// Further entry points, each of which joins the program.
Stage joinStage();
Stage packageStage();
/// Reads the module and settles the options.
ExitCode readInput(Program &program, StageRun &run);
/// --subnormals.
StageOption subnormalsOption();
/// Checks that the program is in exec form.
ExitCode checkExecForm(Program &program, StageRun &run);

/// The options --memory-budget, --roles and --name.
StageOption memoryBudgetOption();
StageOption rolesOption();
StageOption resultNamesOption();

/// Libraries are asked about the processor that code is for. Where they cannot
/// be, kernels in their place would make the file depend on this machine.
ExitCode askLibraries(mlir::ModuleOp module, const StageRun &run);

/// Operations of what was read, for the report.
int64_t countOperationsRead(mlir::ModuleOp module);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_STAGEENTRIES_H
