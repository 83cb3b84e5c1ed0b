//===- AskedLayouts.cpp - What users ask of a partitioned step ------------===//
//
// From the attributes of the step, its constraints, and the lines of a file,
// which go before.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/Passes.h"

#include "TiledSharding.h"

#include "tenon/Analysis/DeviceTiles.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

namespace {

class AskedReader {
public:
  AskedReader(ModuleOp module, Mesh &mesh) : module(module), mesh(mesh) {}

  FailureOr<AskedLayouts> read(StringRef text, StringRef fileName) {
    main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal())
      return module.emitError("a step has a function @main with a body");
    for (Type type : main.getFunctionType().getInputs())
      if (failed(checkType(type)))
        return failure();
    for (Type type : main.getFunctionType().getResults())
      if (failed(checkType(type)))
        return failure();
    asked.arguments.resize(main.getNumArguments());
    asked.results.resize(main.getNumResults());
    if (failed(readAttributes()) || failed(readConstraints()))
      return failure();
    if (mesh.axes.empty())
      return module.emitError("there is no mesh of devices: give one, as in "
                              "mesh=data=2, or shardings in the step");
    if (failed(readLines(text, fileName)) || failed(checkSuccessors()))
      return failure();
    // What users name are whole tensors; all parts of one lie where it does.
    for (auto [first, later] : step::laterParts(main))
      asked.arguments[later] = asked.arguments[first];
    return std::move(asked);
  }

private:
  LogicalResult checkType(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.hasStaticShape())
      return success();
    return main.emitError() << "@main takes and gives tensors of static shape, "
                               "found the type "
                            << type;
  }

  /// Begins an error about what is read: where it stands, and what it is.
  using Fail = llvm::function_ref<InFlightDiagnostic()>;

  LogicalResult readAttributes() {
    auto read = [&](DictionaryAttr attributes, const Twine &where, Type type,
                    std::optional<AskedLayout> &to) {
      auto fail = [&] { return main.emitError() << where << " "; };
      auto sharding =
          attributes
              ? attributes.getAs<sdy::TensorShardingAttr>(sdy::shardingAttrName)
              : sdy::TensorShardingAttr();
      const int64_t rank = cast<RankedTensorType>(type).getRank();
      if (sharding)
        return readSharding(sharding, main, rank, fail, to);
      auto text = attributes ? attributes.getAs<StringAttr>(deviceTilesAttrName)
                             : StringAttr();
      return text ? readTiles(text, rank, fail, to) : success();
    };
    for (unsigned at = 0; at < main.getNumArguments(); ++at)
      if (failed(read(main.getArgAttrDict(at), "argument " + Twine(at),
                      main.getArgument(at).getType(), asked.arguments[at])))
        return failure();
    for (unsigned at = 0; at < main.getNumResults(); ++at)
      if (failed(read(main.getResultAttrDict(at), "result " + Twine(at),
                      main.getResultTypes()[at], asked.results[at])))
        return failure();
    return success();
  }

  LogicalResult readConstraints() {
    llvm::MapVector<int64_t, std::vector<Value>> groups;
    auto walked = main.walk([&](step::ShardingConstraintOp op) {
      return WalkResult(readConstraint(op, groups));
    });
    if (walked.wasInterrupted())
      return failure();
    for (auto &[number, members] : groups)
      asked.groups.push_back(std::move(members));
    return success();
  }

  LogicalResult
  readConstraint(step::ShardingConstraintOp op,
                 llvm::MapVector<int64_t, std::vector<Value>> &groups) {
    auto fail = [&] { return op.emitOpError(); };
    const int64_t rank = cast<RankedTensorType>(op.getType()).getRank();
    if (auto number = op.getGroup()) {
      std::vector<Value> &members = groups[int64_t(*number)];
      if (!members.empty() &&
          int64_t(shapeOf(members.front()).size()) != rank) {
        InFlightDiagnostic error = fail() << "puts a tensor of " << rank
                                          << " dimensions into the group "
                                          << *number << ", whose others have "
                                          << shapeOf(members.front()).size();
        error.attachNote(members.front().getLoc()) << "the first one is here";
        return error;
      }
      members.push_back(op.getResult());
    }
    std::optional<AskedLayout> read;
    Attribute sharding = op.getShardingAttr();
    if (auto named = dyn_cast_or_null<sdy::TensorShardingAttr>(sharding)) {
      if (failed(readSharding(named, op, rank, fail, read)))
        return failure();
    } else if (auto text = dyn_cast_or_null<StringAttr>(sharding)) {
      if (failed(readTiles(text, rank, fail, read)))
        return failure();
      for (int64_t dim : op.getOpenDims().value_or(ArrayRef<int64_t>())) {
        read->open.resize(rank);
        read->open[dim] = true;
      }
    } else if (sharding) {
      return fail() << "has a sharding of another kind: " << sharding;
    }
    if (read)
      asked.constraints[op.getResult()] = std::move(*read);
    return success();
  }

  LogicalResult readSharding(sdy::TensorShardingAttr sharding, Operation *from,
                             int64_t rank, Fail fail,
                             std::optional<AskedLayout> &to) {
    sdy::MeshAttr own = sharding.getMesh(from);
    if (!own || !own.getDeviceIds().empty())
      return fail() << "has a sharding "
                    << (own ? "on devices in an order of their own"
                            : "without a mesh")
                    << ", which is not partitioned";
    if (mesh.axes.empty()) {
      for (sdy::MeshAxisAttr axis : own.getAxes())
        mesh.axes.push_back({axis.getName().str(), axis.getSize()});
      std::string error;
      if (!mesh.axes.empty() && !Mesh::parse(mesh.text(), error))
        return fail() << "is on a mesh that cannot be: " << error;
    }
    if (!sharding.getUnreducedAxes().empty())
      return fail() << "has a pending reduction, expected whole values";
    if (int64_t(sharding.getDimShardings().size()) != rank)
      return fail() << "has a sharding of " << sharding.getDimShardings().size()
                    << " dimensions, and the tensor has " << rank;
    auto readAxes = [&](ArrayRef<sdy::AxisRefAttr> axes, StringRef what,
                        AxisParts &parts) -> LogicalResult {
      for (sdy::AxisRefAttr axis : axes) {
        auto number = mesh.find(axis.getName());
        std::optional<int64_t> size = own.getAxisSize(axis.getName());
        if (!number || mesh.axes[*number].size != size.value_or(1))
          return fail() << "is " << what << " along axis '" << axis.getName()
                        << "' of size " << size.value_or(1)
                        << ", and the mesh is " << mesh.text();
        sdy::SubAxisInfoAttr part = axis.getSubAxisInfo();
        AxisPart cut{*number, part ? part.getPreSize() : 1,
                     part ? part.getSize() : mesh.axes[*number].size};
        if (cut.size > 1)
          parts.push_back(cut);
      }
      parts = joined(parts);
      return success();
    };
    AskedLayout read(Layout::replicated(rank));
    // Dimensions that are open and not cut say nothing.
    bool says = rank == 0 || !sharding.getReplicatedAxes().empty();
    bool hasPriorities = false;
    for (auto [dim, parts] :
         llvm::zip_equal(sharding.getDimShardings(), read.layout.dims)) {
      says |= dim.getIsClosed() || !dim.getAxes().empty();
      hasPriorities |= dim.getPriority().has_value();
      read.open.push_back(!dim.getIsClosed());
      read.priorities.push_back(dim.getPriority().value_or(0));
      if (failed(readAxes(dim.getAxes(), "cut", parts)))
        return failure();
    }
    if (failed(readAxes(sharding.getReplicatedAxes(), "replicated",
                        read.replicated)))
      return failure();
    if (!hasPriorities)
      read.priorities.clear();
    if (says)
      to = std::move(read);
    return success();
  }

  LogicalResult readTiles(StringAttr text, int64_t rank, Fail fail,
                          std::optional<AskedLayout> &to) {
    if (mesh.axes.empty())
      return fail() << "has 'mhlo.sharding', which names no axes: give the "
                       "mesh, as in mesh=data=2";
    std::string error;
    auto layout = readTiledSharding(text.getValue(), rank, mesh, error);
    if (!layout)
      return fail() << "cannot be cut so: " << error;
    to = std::move(*layout);
    return success();
  }

  /// `NAME = LAYOUT`; what is behind `#` is a comment.
  LogicalResult readLines(StringRef text, StringRef fileName) {
    SmallVector<StringRef> lines;
    text.split(lines, '\n');
    for (auto [number, line] : llvm::enumerate(lines)) {
      line = line.split('#').first.trim();
      if (line.empty())
        continue;
      auto fail = [&, number = number]() {
        return emitError(
            FileLineColLoc::get(module.getContext(), fileName, number + 1, 1));
      };
      auto [name, layout] = line.split('=');
      name = name.trim();
      std::string error;
      std::optional<Layout> read = Layout::parse(layout, mesh, error);
      if (!read)
        return fail() << error;
      if (!read->pending.empty())
        return fail() << "arguments and results have no pending reduction";
      bool isKnown = false;
      auto give = [&](DictionaryAttr attributes, const std::string &plain,
                      Type type,
                      std::optional<AskedLayout> &to) -> LogicalResult {
        auto known = attributes
                         ? attributes.getAs<StringAttr>(step::nameAttrName)
                         : StringAttr();
        if (name != plain && (!known || known != name))
          return success();
        isKnown = true;
        int64_t rank = cast<RankedTensorType>(type).getRank();
        if (int64_t(read->dims.size()) != rank)
          return fail() << "'" << name << "' has " << rank
                        << " dimensions, and its layout " << read->dims.size();
        to = *read;
        return success();
      };
      for (unsigned at = 0; at < main.getNumArguments(); ++at)
        if (failed(give(main.getArgAttrDict(at), "arg" + std::to_string(at),
                        main.getArgument(at).getType(), asked.arguments[at])))
          return failure();
      for (unsigned at = 0; at < main.getNumResults(); ++at)
        if (failed(give(main.getResultAttrDict(at),
                        "result" + std::to_string(at),
                        main.getResultTypes()[at], asked.results[at])))
          return failure();
      if (!isKnown)
        return fail() << "the step has no argument and no result '" << name
                      << "'";
    }
    return success();
  }

  /// What replaces a state argument lies where that does.
  LogicalResult checkSuccessors() {
    for (unsigned at = 0; at < main.getNumArguments(); ++at) {
      auto successor =
          main.getArgAttrOfType<IntegerAttr>(at, step::successorAttrName);
      if (!successor)
        continue;
      auto &result = asked.results[successor.getInt()];
      if (result && asked.arguments[at] &&
          !(result->layout == asked.arguments[at]->layout))
        return main.emitError()
               << "argument " << at << " has the layout "
               << asked.arguments[at]->layout.text(mesh) << ", and result "
               << successor.getInt() << ", which replaces it, "
               << result->layout.text(mesh);
      if (result && !asked.arguments[at])
        asked.arguments[at] = result;
    }
    return success();
  }

  ModuleOp module;
  func::FuncOp main;
  Mesh &mesh;
  AskedLayouts asked;
};

} // namespace

FailureOr<AskedLayouts> tenon::sharding::readAskedLayouts(ModuleOp module,
                                                          Mesh &mesh,
                                                          StringRef text,
                                                          StringRef fileName) {
  return AskedReader(module, mesh).read(text, fileName);
}
