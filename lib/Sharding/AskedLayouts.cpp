//===- AskedLayouts.cpp - What users ask of a partitioned step ------------===//
//
// From the attributes of the step and from the lines of a file, which go
// before.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/Passes.h"

#include "TiledSharding.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Step.h"

#include "llvm/ADT/StringMap.h"

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
    asked.openArguments.resize(main.getNumArguments());
    asked.openResults.resize(main.getNumResults());
    if (failed(readAttributes()))
      return failure();
    if (mesh.axes.empty())
      return module.emitError("there is no mesh of devices: give one, as in "
                              "mesh=data=2, or shardings in the step");
    if (failed(readLines(text, fileName)) || failed(checkSuccessors()))
      return failure();
    // What users name are whole tensors; all parts of one lie where it does.
    for (auto [first, later] : step::laterParts(main)) {
      asked.arguments[later] = asked.arguments[first];
      asked.openArguments[later] = asked.openArguments[first];
    }
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

  LogicalResult readAttributes() {
    for (unsigned at = 0; at < main.getNumArguments(); ++at)
      if (failed(readAttribute(main.getArgAttrDict(at), "argument " + Twine(at),
                               main.getArgument(at).getType(),
                               asked.arguments[at], asked.openArguments[at])))
        return failure();
    for (unsigned at = 0; at < main.getNumResults(); ++at)
      if (failed(readAttribute(main.getResultAttrDict(at),
                               "result " + Twine(at), main.getResultTypes()[at],
                               asked.results[at], asked.openResults[at])))
        return failure();
    return success();
  }

  LogicalResult readAttribute(DictionaryAttr attributes, const Twine &where,
                              Type type, std::optional<Layout> &layout,
                              SmallVector<bool> &open) {
    auto sharding =
        attributes
            ? attributes.getAs<sdy::TensorShardingAttr>(sdy::shardingAttrName)
            : sdy::TensorShardingAttr();
    if (!sharding)
      return readTiles(attributes, where, type, layout);
    sdy::MeshAttr own = sharding.getMesh(main);
    if (!own || !own.getDeviceIds().empty())
      return main.emitError()
             << where << " has a sharding "
             << (own ? "on devices in an order of their own" : "without a mesh")
             << ", which is not partitioned";
    if (mesh.axes.empty()) {
      for (sdy::MeshAxisAttr axis : own.getAxes())
        mesh.axes.push_back({axis.getName().str(), axis.getSize()});
      std::string error;
      if (!mesh.axes.empty() && !Mesh::parse(mesh.text(), error))
        return main.emitError() << "the mesh of " << where << ": " << error;
    }
    if (!sharding.getUnreducedAxes().empty())
      return main.emitError() << where
                              << " has a pending reduction, expected "
                                 "whole values";
    Layout read = Layout::replicated(cast<RankedTensorType>(type).getRank());
    bool says = false; // dimensions that are open and not cut say nothing
    for (auto [dim, parts] :
         llvm::zip_equal(sharding.getDimShardings(), read.dims)) {
      says |= dim.getIsClosed();
      open.push_back(!dim.getIsClosed());
      for (sdy::AxisRefAttr axis : dim.getAxes()) {
        auto number = mesh.find(axis.getName());
        std::optional<int64_t> size = own.getAxisSize(axis.getName());
        if (!number || mesh.axes[*number].size != size.value_or(1))
          return main.emitError()
                 << where << " is cut along axis '" << axis.getName()
                 << "' of size " << size.value_or(1) << ", and the mesh is "
                 << mesh.text();
        sdy::SubAxisInfoAttr part = axis.getSubAxisInfo();
        AxisPart cut{*number, part ? part.getPreSize() : 1,
                     part ? part.getSize() : mesh.axes[*number].size};
        if (cut.size > 1)
          parts.push_back(cut);
        says = true;
      }
      parts = joined(parts);
    }
    if (says || read.dims.empty())
      layout = read;
    return success();
  }

  LogicalResult readTiles(DictionaryAttr attributes, const Twine &where,
                          Type type, std::optional<Layout> &layout) {
    auto text = attributes ? attributes.getAs<StringAttr>("mhlo.sharding")
                           : StringAttr();
    if (!text)
      return success();
    if (mesh.axes.empty())
      return main.emitError() << where
                              << " has 'mhlo.sharding', which names no axes: "
                                 "give the mesh, as in mesh=data=2";
    std::string error;
    layout = readTiledSharding(
        text.getValue(), cast<RankedTensorType>(type).getRank(), mesh, error);
    if (!layout)
      return main.emitError() << where << ": " << error;
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
                      Type type, std::optional<Layout> &to,
                      SmallVector<bool> &open) -> LogicalResult {
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
        to = read;
        open.clear();
        return success();
      };
      for (unsigned at = 0; at < main.getNumArguments(); ++at)
        if (failed(give(main.getArgAttrDict(at), "arg" + std::to_string(at),
                        main.getArgument(at).getType(), asked.arguments[at],
                        asked.openArguments[at])))
          return failure();
      for (unsigned at = 0; at < main.getNumResults(); ++at)
        if (failed(give(main.getResultAttrDict(at),
                        "result" + std::to_string(at),
                        main.getResultTypes()[at], asked.results[at],
                        asked.openResults[at])))
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
      if (result && asked.arguments[at] && !(*result == *asked.arguments[at]))
        return main.emitError()
               << "argument " << at << " has the layout "
               << asked.arguments[at]->text(mesh) << ", and result "
               << successor.getInt() << ", which replaces it, "
               << result->text(mesh);
      if (result && !asked.arguments[at]) {
        asked.arguments[at] = result;
        asked.openArguments[at] = asked.openResults[successor.getInt()];
      }
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
