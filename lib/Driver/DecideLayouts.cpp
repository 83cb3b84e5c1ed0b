//===- DecideLayouts.cpp - How the tensors of a step lie on a mesh --------===//
//
// See DecideLayouts.h.
//
//===----------------------------------------------------------------------===//

#include "DecideLayouts.h"

#include "OptionEntries.h"
#include "RunStages.h"

#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {

/// `solve`, `propagate`, FILE or `solve:FILE`.
struct ShardingWish {
  bool isChosen = false; // what nothing binds
  std::string file;      // of layouts that bind; empty for none
};

} // namespace

static ShardingWish wishOf(StringRef option) {
  if (option.empty() || option == "solve")
    return {.isChosen = true};
  if (option == "propagate")
    return {};
  const bool isChosen = option.consume_front("solve:");
  return {isChosen, option.str()};
}

/// With logical shards and no other axis nothing is left to be chosen.
static ShardingWish wishOf(const CompileOptions &options) {
  const bool isBatchAlone = options.logicalShards && options.sharding.empty() &&
                            options.mesh.find(',') == std::string::npos;
  return isBatchAlone ? ShardingWish() : wishOf(StringRef(options.sharding));
}

/// The text of the file of layouts; empty for those of the step alone.
static ExitCode readLayouts(const ShardingWish &wish, std::string &text) {
  if (wish.file.empty())
    return exitOk;
  auto file = llvm::MemoryBuffer::getFile(wish.file);
  if (!file)
    return fail(exitUserError,
                "cannot read '" + wish.file +
                    "' of --sharding: " + file.getError().message());
  text = (*file)->getBuffer().str();
  return exitOk;
}

/// What a file of layouts says of an entry point, whose names there begin with
/// its own, or without a name of the step. Lines of others are blank.
static std::string linesFor(StringRef text, StringRef entry,
                            ArrayRef<EntryOption> entries) {
  std::string lines;
  SmallVector<StringRef> each;
  text.split(each, '\n');
  for (StringRef line : each) {
    StringRef name = line.ltrim();
    auto isOf = [&](StringRef other) {
      return name.starts_with((other + ".").str());
    };
    if (!entry.empty() && isOf(entry))
      lines += name.drop_front(entry.size() + 1);
    else if (entry.empty() && llvm::none_of(entries, [&](const auto &other) {
               return isOf(other.name);
             }))
      lines += line;
    lines += '\n';
  }
  return lines;
}

static bool asksForNothing(const sharding::AskedLayouts &asked) {
  auto isOpen = [](const auto &layout) { return !layout; };
  return asked.constraints.empty() && llvm::all_of(asked.arguments, isOpen) &&
         llvm::all_of(asked.results, isOpen);
}

/// Empty if the machine has a link for each axis, or none at all.
static std::string whyOtherLinks(const target::Target &machine,
                                 const sharding::Mesh &mesh) {
  if (machine.links.empty() || machine.links.size() == mesh.axes.size())
    return "";
  return "the machine description '" + machine.name + "' has links for " +
         std::to_string(machine.links.size()) + " axes, and the mesh " +
         mesh.text() + " has " + std::to_string(mesh.axes.size()) +
         "; give one link per axis, the major one first, or none";
}

ExitCode driver::dumpLayoutProblem(const DecidedLayouts &decided,
                                   const StageRun &run) {
  if (!decided.choice || run.options.dumpProblems.empty())
    return exitOk;
  const std::string file = run.options.dumpProblems + "/sharding.txt";
  std::error_code error;
  llvm::raw_fd_ostream out(file, error);
  if (error)
    return fail(exitUserError,
                "cannot write '" + file + "': " + error.message());
  out << solver::printShardingProblem(decided.choice->problem);
  return exitOk;
}

bool driver::choosesLayouts(const CompileOptions &options) {
  return !options.mesh.empty() && wishOf(options).isChosen;
}

/// Takes `count` devices along the axis of the batch: `data`, or the first. It
/// is apart from others, so that ranks can run several of its devices.
static ExitCode takeLogicalShards(int64_t count, bool isPerRank,
                                  sharding::Mesh &mesh,
                                  std::optional<LogicalShards> &logical) {
  const unsigned number = mesh.find("data").value_or(0);
  sharding::Axis &axis = mesh.axes[number];
  if (!llvm::has_single_bit(uint64_t(count)) || count % axis.size != 0)
    return fail(exitBadUsage,
                "--logical-shards=" + std::to_string(count) +
                    ": expected a power of two that the " +
                    std::to_string(axis.size) + " ranks along '" + axis.name +
                    "' divide, so that each has a subtree of the sums");
  logical = LogicalShards{axis.name, axis.size};
  if (!isPerRank) {
    axis.size = count;
    mesh.apart = number;
  }
  if (mesh.devices() > format::mostRanks)
    return fail(exitBadUsage,
                "--logical-shards=" + std::to_string(count) + " makes a mesh " +
                    mesh.text() + ", expected at most " +
                    std::to_string(format::mostRanks) + " devices in all");
  return exitOk;
}

/// Has the leading dimension of what a batch gives be cut along the axis, as
/// far as nothing else is asked for.
static ExitCode askForShards(func::FuncOp main, StringRef axis,
                             const sharding::Mesh &mesh,
                             sharding::AskedLayouts &asked) {
  const unsigned number = *mesh.find(axis);
  const int64_t count = mesh.axes[number].size;
  const sharding::AxisPart along{number, 1, count};
  std::string others;
  bool isCut = false;
  for (BlockArgument argument : main.getArguments()) {
    const unsigned at = argument.getArgNumber();
    auto role = main.getArgAttrOfType<step::RoleAttr>(at, step::roleAttrName);
    auto type = cast<RankedTensorType>(argument.getType());
    auto &layout = asked.arguments[at];
    if (layout)
      isCut |= layout->layout.uses(along);
    if (layout || !role || role.getValue() != step::Role::batch ||
        type.getRank() == 0)
      continue;
    if (type.getDimSize(0) % count != 0) {
      auto name = main.getArgAttrOfType<StringAttr>(at, step::nameAttrName);
      others += (others.empty() ? "'" : ", '") +
                (name ? name.str() : "arg" + std::to_string(at)) + "' has " +
                std::to_string(type.getDimSize(0));
      continue;
    }
    layout = sharding::Layout::replicated(type.getRank());
    // An axis of one device cuts nothing.
    if (count > 1)
      layout->layout.dims[0] = {along};
    isCut = true;
  }
  if (isCut)
    return exitOk;
  return fail(exitUserError,
              "--logical-shards=" + std::to_string(count) +
                  ": the step has no batch of which it divides the first "
                  "dimension" +
                  (others.empty() ? "" : ": " + others) +
                  "; give --sharding=FILE with layouts along '" + axis + "'");
}

ExitCode driver::decideLayouts(Program &program, StageRun &run, StringRef entry,
                               AskMore askMore,
                               std::optional<sharding::ByteLimit> limit,
                               DecidedLayouts &decided, bool isPerRank) {
  const CompileOptions &options = run.options;
  if (options.sharding == "solve:")
    return fail(exitBadUsage, "--sharding=solve: names no file of layouts");
  std::string error, text;
  auto mesh = sharding::Mesh::parse(options.mesh, error);
  if (!mesh)
    return fail(exitBadUsage, "--mesh=" + options.mesh + ": " + error);
  if (std::string wrong = whyOtherLinks(run.resolved.machine, *mesh);
      !wrong.empty())
    return fail(exitUserError, wrong);
  if (options.logicalShards)
    if (ExitCode code = takeLogicalShards(options.logicalShards, isPerRank,
                                          *mesh, decided.logical);
        code != exitOk)
      return code;
  const ShardingWish wish = wishOf(options);
  if (ExitCode code = readLayouts(wish, text); code != exitOk)
    return code;
  if (auto dropped =
          (*program.module)
              ->getAttrOfType<IntegerAttr>(step::droppedConstraintsAttrName))
    return fail(exitUserError,
                "the step had " + std::to_string(dropped.getInt()) +
                    " sharding constraints inside, which the stage import "
                    "dropped since there was no mesh; start from what was "
                    "imported, with --mesh");
  auto asked = sharding::readAskedLayouts(
      *program.module, *mesh, linesFor(text, entry, options.entries),
      wish.file);
  auto main = program.module->lookupSymbol<func::FuncOp>("main");
  if (failed(asked) || !askMore(main, *mesh, *asked))
    return exitUserError;
  if (decided.logical)
    if (ExitCode code =
            askForShards(main, decided.logical->axis, *mesh, *asked);
        code != exitOk)
      return code;
  decided.mesh = *mesh;
  if (wish.isChosen) {
    decided.choice = sharding::chooseLayouts(
        main, *mesh, *asked, sharding::Prices(*mesh, run.resolved.machine),
        limit);
    if (!decided.choice)
      return run.blame;
    decided.plan = std::move(decided.choice->plan);
    return exitOk;
  }
  if (asksForNothing(*asked) && entry.empty())
    return fail(exitUserError,
                wish.file.empty()
                    ? "the step has no shardings, neither on its arguments and "
                      "results nor inside; give --sharding=FILE with layouts"
                    : "'" + wish.file +
                          "' has no layout, so nothing would be cut");
  decided.plan.layouts = sharding::propagate(main, *asked);
  run.details["peak_bytes"] =
      sharding::leastPeakBytes(main, decided.plan.layouts.values);
  return exitOk;
}

ExitCode driver::refuseLayoutsWithoutMesh(const CompileOptions &options) {
  const bool asks = !options.sharding.empty() || options.fastCollectives;
  return asks ? fail(exitBadUsage,
                     std::string(options.sharding.empty() ? "--fast-collectives"
                                                          : "--sharding") +
                         " needs the ranks, give them as --mesh=data=2")
              : exitOk;
}

std::vector<StageOption> driver::layoutOptions() {
  StageOption mesh{.flag = "--mesh", .isGiven = [](const CompileOptions &o) {
                     return !o.mesh.empty();
                   }};
  StageOption layouts{
      .flag = "--sharding",
      .isGiven = [](const CompileOptions &o) { return !o.sharding.empty(); }};
  return {mesh, layouts};
}
