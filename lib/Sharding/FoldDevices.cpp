//===- FoldDevices.cpp - Several devices on one rank ----------------------===//
//
// See FoldDevices.h. First it finds which values differ between the devices of
// an axis (Differences.h), then it writes the program of a rank
// (RankProgram.h). Here stand arguments, results and the mesh.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/FoldDevices.h"

#include "RankProgram.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/Layout.h"
#include "tenon/Sharding/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/bit.h"

namespace tenon::sharding {
#define GEN_PASS_DEF_FOLDDEVICESPASS
#include "tenon/Sharding/Passes.h.inc"
} // namespace tenon::sharding

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

/// The dimension along which a tensor is cut along the axis, -1 if none is;
/// fails if devices that are neighbours along the axis do not hold neighbours.
static FailureOr<int64_t> cutDimension(func::FuncOp main,
                                       DictionaryAttr attributes, Type type,
                                       const Fold &fold, const Twine &where) {
  auto text = attributes ? attributes.getAs<StringAttr>(step::layoutAttrName)
                         : StringAttr();
  auto whole =
      attributes ? attributes.getAs<TypeAttr>(step::wholeAttrName) : TypeAttr();
  std::string error = "there is none";
  auto layout =
      text ? Layout::parse(text.getValue(), fold.devices, error) : std::nullopt;
  if (!layout || !whole)
    return main.emitError() << where << " has no layout: " << error;
  for (auto [dim, parts] : llvm::enumerate(layout->dims)) {
    auto isOfAxis = [&](const AxisPart &part) {
      return part.axis == fold.axis.axis;
    };
    if (llvm::none_of(parts, isOfAxis))
      continue;
    const auto refuse = [&](const Twine &why) {
      return main.emitError()
             << where << " has the layout " << text.getValue() << ": " << why;
    };
    if (parts.back() != fold.axis || llvm::count_if(parts, isOfAxis) != 1)
      return refuse("logical shards need the whole axis '" + fold.name() +
                    "', behind all others, to cut dimension " + Twine(dim));
    const int64_t extent =
        cast<RankedTensorType>(whole.getValue()).getDimSize(dim);
    if (extent != countOf(parts) * cast<RankedTensorType>(type).getDimSize(dim))
      return refuse("its dimension " + Twine(dim) + " of " + Twine(extent) +
                    " elements is not divisible by " + Twine(countOf(parts)) +
                    " logical shards");
    return int64_t(dim);
  }
  return -1;
}

static DictionaryAttr withoutLayout(DictionaryAttr attributes) {
  NamedAttrList list(attributes);
  for (StringRef name :
       {StringRef(step::layoutAttrName), StringRef(step::wholeAttrName),
        StringRef(step::cutsAttrName)})
    list.erase(name);
  return list.getDictionary(attributes.getContext());
}

static LogicalResult readFold(ModuleOp module, StringRef axis, int64_t ranks,
                              Fold &fold) {
  std::string error;
  auto mesh = Mesh::of(module, step::meshAttrName, error);
  if (!mesh)
    return module.emitError() << "the step is not partitioned: " << error;
  auto found = mesh->find(axis);
  if (!found)
    return module.emitError()
           << "the mesh " << mesh->text() << " has no axis '" << axis << "'";
  const int64_t devices = mesh->axes[*found].size;
  if (!llvm::has_single_bit(uint64_t(devices)))
    return module.emitError()
           << devices << " logical shards are no power of two, so no binary "
           << "tree has those of a rank in one subtree for every number of "
              "ranks";
  if (ranks < 1 || devices % ranks != 0)
    return module.emitError() << ranks << " ranks do not divide " << devices
                              << " logical shards along '" << axis << "'";
  fold = {*mesh, *mesh, {*found, 1, devices}, devices / ranks};
  fold.ranks.axes[*found].size = ranks;
  return success();
}

LogicalResult tenon::sharding::foldDevices(ModuleOp module, StringRef axis,
                                           int64_t ranks) {
  Fold fold;
  if (failed(readFold(module, axis, ranks, fold)))
    return failure();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Block &body = main.getBody().front();
  Differences differences(fold);
  SmallVector<int64_t> cuts, resultCuts;
  for (BlockArgument argument : main.getArguments()) {
    const unsigned at = argument.getArgNumber();
    auto cut = cutDimension(main, main.getArgAttrDict(at), argument.getType(),
                            fold, "argument " + Twine(at));
    if (failed(cut))
      return failure();
    cuts.push_back(*cut);
    if (*cut >= 0)
      differences.add(argument);
  }
  if (failed(differences.visit(body)))
    return failure();
  for (auto [at, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    auto cut = cutDimension(main, main.getResultAttrDict(at), value.getType(),
                            fold, "result " + Twine(at));
    if (failed(cut))
      return failure();
    if (*cut < 0 && differences.contains(value))
      return main.emitError()
             << "result " << at << " is not known to be equal on all logical "
             << "shards of the axis '" << axis << "', and its layout does not "
             << "cut it there";
    resultCuts.push_back(*cut);
  }

  auto typeOfRank = [&](Type type, int64_t cut) -> Type {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    if (cut >= 0)
      shape[cut] *= fold.each;
    return tensor.clone(shape);
  };
  SmallVector<Type> inputs, outputs;
  for (auto [type, cut] : llvm::zip_equal(main.getArgumentTypes(), cuts))
    inputs.push_back(typeOfRank(type, cut));
  for (auto [type, cut] : llvm::zip_equal(main.getResultTypes(), resultCuts))
    outputs.push_back(typeOfRank(type, cut));
  const bool isOne = fold.ranks.devices() == 1;
  SmallVector<DictionaryAttr> ofInputs, ofOutputs;
  for (unsigned at = 0; at < main.getNumArguments(); ++at)
    ofInputs.push_back(isOne ? withoutLayout(main.getArgAttrDict(at))
                             : main.getArgAttrDict(at));
  for (unsigned at = 0; at < main.getNumResults(); ++at)
    ofOutputs.push_back(isOne ? withoutLayout(main.getResultAttrDict(at))
                              : main.getResultAttrDict(at));
  OpBuilder builder(main);
  auto made = func::FuncOp::create(
      builder, main.getLoc(), main.getSymName(),
      FunctionType::get(module.getContext(), inputs, outputs));
  made->setDiscardableAttrs(main->getDiscardableAttrDictionary());
  made.setVisibility(main.getVisibility());
  made.setAllArgAttrs(ofInputs);
  made.setAllResultAttrs(ofOutputs);

  Block &entry = *made.addEntryBlock();
  RankProgram program(fold, differences, module.getContext());
  program.setInsertionPointToEnd(entry);
  for (auto [from, to, cut] :
       llvm::zip_equal(main.getArguments(), entry.getArguments(), cuts)) {
    to.setLoc(from.getLoc());
    program.map(from, cut < 0 ? SmallVector<Value>{to}
                              : program.cut(from.getLoc(), to, cut));
  }
  program.write(body);
  Operation *end = body.getTerminator();
  SmallVector<Value> results;
  for (auto [value, cut] : llvm::zip_equal(end->getOperands(), resultCuts))
    results.push_back(cut < 0 ? program.on(value, 0)
                              : program.joined(end->getLoc(), value, cut));
  builder.setInsertionPointToEnd(&entry);
  func::ReturnOp::create(builder, end->getLoc(), results);
  main.erase();

  module->setAttr(step::logicalShardsAttrName,
                  builder.getStringAttr(fold.devices.text()));
  module->setAttr("mhlo.num_partitions",
                  builder.getI32IntegerAttr(int32_t(fold.ranks.devices())));
  if (isOne)
    module->removeAttr(step::meshAttrName);
  else
    module->setAttr(step::meshAttrName,
                    builder.getStringAttr(fold.ranks.text()));
  return success();
}

namespace {

struct FoldDevices : public sharding::impl::FoldDevicesPassBase<FoldDevices> {
  using FoldDevicesPassBase::FoldDevicesPassBase;

  void runOnOperation() override {
    if (failed(foldDevices(getOperation(), axis, ranks)))
      signalPassFailure();
  }
};

} // namespace
