//===- DecideLayouts.h - How the tensors of a step lie on a mesh ----------===//
//
// From --mesh and --sharding to layouts for all values of a step: chosen by
// what the step takes, or following from layouts of a file or of the step. The
// stages that write parts for ranks and annotations for XLA share it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_DECIDELAYOUTS_H
#define TENON_LIB_DRIVER_DECIDELAYOUTS_H

#include "tenon/Driver/Stages.h"
#include "tenon/Sharding/ChooseLayouts.h"

namespace tenon::driver {

/// Adds what is asked for besides, and says whether that contradicts nothing.
using AskMore = llvm::function_ref<bool(
    mlir::func::FuncOp, const sharding::Mesh &, sharding::AskedLayouts &)>;

/// What --logical-shards asks for: along an axis, ranks run so many of the
/// devices for which the step is cut.
struct LogicalShards {
  std::string axis;
  int64_t ranks = 1; // along it
};

struct DecidedLayouts {
  /// With logical shards, a device for each of them.
  sharding::Mesh mesh;
  std::optional<LogicalShards> logical;
  sharding::LayoutPlan plan;
  /// Nothing where layouts follow from others; its plan is the one above.
  std::optional<sharding::LayoutChoice> choice;
};

/// For a program in step form, the entry point of that name if it has one.
/// Layouts are chosen so that the estimated bytes of a rank are within `limit`.
/// With `isPerRank`, logical shards are as many as ranks.
ExitCode decideLayouts(Program &program, StageRun &run, llvm::StringRef entry,
                       AskMore askMore,
                       std::optional<sharding::ByteLimit> limit,
                       DecidedLayouts &decided, bool isPerRank = false);

/// Whether some layouts of the step are left to Tenon.
bool choosesLayouts(const CompileOptions &options);

/// Writes the problem of which layouts are the choice, for --dump-problems.
ExitCode dumpLayoutProblem(const DecidedLayouts &decided, const StageRun &run);

/// Of a step without a mesh: an error if layouts are asked for.
ExitCode refuseLayoutsWithoutMesh(const CompileOptions &options);

/// --mesh and --sharding.
std::vector<StageOption> layoutOptions();

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_DECIDELAYOUTS_H
