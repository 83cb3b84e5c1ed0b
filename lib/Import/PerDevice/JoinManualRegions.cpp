//===- JoinManualRegions.cpp - Bodies per device in the older spelling ----===//
//
// Last year's exporters have no region for a body that is written per device.
// A call @SPMDFullToShardShape hands a value to it, @SPMDShardToFullShape takes
// one from it, and what lies between them sees the parts of one device. The
// calls' `mhlo.sharding` says by numbers of devices how whole tensors are cut.
// Here what lies between becomes the region of an `sdy.manual_computation`,
// with axes of a mesh for numbers.
//
// Without a mesh of the user's the axes are those that the step's own texts
// tell apart: devices in rows of two, as `<=[2,2]T(1,0)` has them, and of which
// groups of a collective have every second one, are a mesh of 2 by 2.
//
//===----------------------------------------------------------------------===//

#include "DeviceAxes.h"

#include "tenon/Analysis/DeviceCount.h"
#include "tenon/Analysis/DeviceTiles.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Format/Mesh.h"
#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>
#include <set>

namespace tenon::importer {
#define GEN_PASS_DEF_JOINMANUALREGIONSPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon;
using namespace tenon::importer;

namespace {

stablehlo::CustomCallOp callOf(Operation *op, StringRef target) {
  auto call = dyn_cast_or_null<stablehlo::CustomCallOp>(op);
  return call && call.getCallTargetName() == target &&
                 call->getNumOperands() == 1 && call->getNumResults() == 1
             ? call
             : nullptr;
}

stablehlo::CustomCallOp handsIn(Operation *op) {
  return callOf(op, "SPMDFullToShardShape");
}

stablehlo::CustomCallOp takesOut(Operation *op) {
  return callOf(op, "SPMDShardToFullShape");
}

StringRef textOf(Operation *op) {
  auto text = op->getAttrOfType<StringAttr>(deviceTilesAttrName);
  return text ? text.getValue() : StringRef("{replicated}");
}

bool isOfBody(Attribute text) {
  auto words = dyn_cast_or_null<StringAttr>(text);
  return words && words.getValue().contains("manual");
}

/// The dimensions that a call says nothing about.
llvm::SmallDenseSet<int64_t> openDimsOf(Operation *op) {
  llvm::SmallDenseSet<int64_t> dims;
  auto config = op->getAttrOfType<StringAttr>("backend_config");
  StringRef list = config ? config.getValue() : StringRef();
  if (!list.consume_front("unspecified_dims=[") || !list.consume_back("]"))
    return dims;
  SmallVector<StringRef> words;
  list.split(words, ',');
  for (StringRef word : words)
    if (int64_t dim = 0; !word.trim().getAsInteger(10, dim))
      dims.insert(dim);
  return dims;
}

/// How many devices follow each other in the digits of their numbers that a
/// step tells apart.
class Strides {
public:
  explicit Strides(int64_t devices) : devices(devices), found{1, devices} {}

  void add(int64_t stride) {
    if (stride > 0 && devices % stride == 0)
      found.insert(stride);
  }

  /// Of devices in groups, or in pairs: what lies between two of them, and the
  /// smallest block that holds all that belong together.
  void addTogether(DenseIntElementsAttr table) {
    if (table.getType().getRank() != 2 || table.empty())
      return;
    const int64_t width = table.getType().getDimSize(1);
    SmallVector<int64_t> ids = llvm::to_vector(table.getValues<int64_t>());
    int64_t apart = 0, block = 1;
    for (auto [at, id] : llvm::enumerate(ids)) {
      const int64_t first = ids[at / width * width];
      if (id < 0 || first < 0 || id >= devices || first >= devices)
        return;
      apart = std::gcd(apart, std::abs(id - first));
      while (devices % block != 0 || id / block != first / block)
        ++block;
    }
    add(apart);
    add(block);
  }

  /// The sizes of axes, the major one first; empty if they do not nest.
  SmallVector<int64_t> sizes() const {
    SmallVector<int64_t> sizes;
    for (auto at = found.begin(); std::next(at) != found.end(); ++at) {
      if (*std::next(at) % *at != 0)
        return {};
      sizes.insert(sizes.begin(), *std::next(at) / *at);
    }
    return sizes;
  }

private:
  int64_t devices;
  std::set<int64_t> found;
};

/// How a tensor is cut.
struct Cut {
  SmallVector<AxisList> dims;
  AxisSet manual = 0; // along which its parts are those of a body
};

class JoinManualRegions
    : public tenon::importer::impl::JoinManualRegionsPassBase<
          JoinManualRegions> {
public:
  using JoinManualRegionsPassBase::JoinManualRegionsPassBase;

  void runOnOperation() override {
    llvm::SetVector<Block *> blocks;
    getOperation().walk([&](Operation *op) {
      if (handsIn(op) || takesOut(op))
        blocks.insert(op->getBlock());
    });
    if (blocks.empty() || countDevices(getOperation()).devices == 1)
      return; // one device sees whole tensors
    joined = 0;
    if (failed(nameAxes()) || failed(readInside()) ||
        !llvm::all_of(blocks,
                      [&](Block *block) { return succeeded(join(*block)); })) {
      getOperation()->setAttr(unsupportedAttrName,
                              UnitAttr::get(&getContext()));
      return signalPassFailure();
    }
    remark::passed(getOperation().getLoc(),
                   remark::RemarkOpts::name("joined").category(
                       "import-join-manual-regions"))
        << remark::add("{0} bodies per device were written between calls",
                       joined)
        << remark::metric("bodies", joined);
  }

private:
  LogicalResult nameAxes();
  SmallVector<sdy::MeshAxisAttr> axesOfTexts(int64_t count);
  FailureOr<Cut> cutOf(Operation *op, StringRef text, int64_t rank);
  LogicalResult readInside();
  LogicalResult join(Block &block);
  LogicalResult joinOne(ArrayRef<Operation *> operations);
  sdy::TensorShardingAttr shardingOf(const Cut &cut, Operation *open);

  std::optional<DeviceAxes> devices;
  FlatSymbolRefAttr meshName;
  int64_t joined = 0;
};

} // namespace

SmallVector<sdy::MeshAxisAttr> JoinManualRegions::axesOfTexts(int64_t count) {
  Strides strides(count);
  std::string error;
  getOperation().walk([&](Operation *op) {
    auto text = op->getAttrOfType<StringAttr>(deviceTilesAttrName);
    auto type = text && op->getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                    : RankedTensorType();
    if (type)
      if (auto tiles = readDeviceTiles(text.getValue(), type.getRank(), error);
          tiles && tiles->devices == count)
        llvm::for_each(tiles->strides, [&](int64_t s) { strides.add(s); });
    for (StringRef name : {"replica_groups", "source_target_pairs"})
      if (auto table = op->getAttrOfType<DenseIntElementsAttr>(name))
        strides.addTogether(table);
  });
  SmallVector<sdy::MeshAxisAttr> axes;
  for (auto [at, size] : llvm::enumerate(strides.sizes()))
    axes.push_back(sdy::MeshAxisAttr::get(&getContext(),
                                          ("axis" + Twine(at)).str(), size));
  return axes;
}

/// Adds the mesh to the module.
LogicalResult JoinManualRegions::nameAxes() {
  ModuleOp module = getOperation();
  const int64_t count = countDevices(module).devices;
  SmallVector<sdy::MeshAxisAttr> axes;
  if (mesh.empty()) {
    axes = axesOfTexts(count);
  } else {
    std::string error;
    auto given = format::parseMesh(mesh, error);
    if (!given)
      return module.emitError() << "mesh '" << mesh << "': " << error;
    for (const format::MeshAxis &axis : *given)
      axes.push_back(
          sdy::MeshAxisAttr::get(&getContext(), axis.name, axis.size));
  }
  auto named = sdy::MeshAttr::get(&getContext(), axes, {});
  devices = DeviceAxes::of(named);
  if (!devices)
    return module.emitError()
           << "the step has bodies per device, and its " << count
           << " devices are in no rows that follow from its shardings; give "
              "their axes as --mesh=data=2,model=2, or export the step without "
              "shard_map";
  if (devices->devices() != count)
    return module.emitError() << "the step has bodies per device for " << count
                              << " devices, and the mesh " << mesh << " has "
                              << devices->devices();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto op = sdy::MeshOp::create(builder, module.getLoc(), "mesh", named);
  meshName = FlatSymbolRefAttr::get(
      SymbolTable(module).insert(op, module.getBody()->begin()));
  return success();
}

FailureOr<Cut> JoinManualRegions::cutOf(Operation *op, StringRef text,
                                        int64_t rank) {
  std::string error;
  auto tiles = readDeviceTiles(text, rank, error);
  if (!tiles)
    return op->emitError(error);
  Cut cut;
  cut.dims.resize(rank);
  if (tiles->isManual)
    cut.manual = devices->all();
  if (tiles->devices == 0)
    return cut;
  if (tiles->devices != devices->devices())
    return op->emitError() << "'mhlo.sharding' is for " << tiles->devices
                           << " devices, and the step is for "
                           << devices->devices();
  auto refuse = [&] {
    return op->emitError() << "'mhlo.sharding' is \"" << text
                           << "\", which cuts along no axes of the mesh "
                           << devices->mesh();
  };
  for (auto [axes, tile] : llvm::zip_equal(cut.dims, tiles->tileOf))
    if (auto found = devices->ofTiles(tile))
      axes = std::move(*found);
    else
      return refuse();
  if (!tiles->manualOf.empty()) {
    auto found = devices->ofTiles(tiles->manualOf);
    if (!found)
      return refuse();
    cut.manual = setOf(*found);
  }
  return cut;
}

sdy::TensorShardingAttr JoinManualRegions::shardingOf(const Cut &cut,
                                                      Operation *op) {
  MLIRContext *context = &getContext();
  const llvm::SmallDenseSet<int64_t> open = openDimsOf(op);
  SmallVector<sdy::DimensionShardingAttr> dims;
  for (auto [dim, axes] : llvm::enumerate(cut.dims)) {
    SmallVector<sdy::AxisRefAttr> names;
    for (unsigned axis : axes)
      names.push_back(sdy::AxisRefAttr::get(context, devices->name(axis), {}));
    dims.push_back(sdy::DimensionShardingAttr::get(
        context, names, !open.contains(dim), std::nullopt));
  }
  return sdy::TensorShardingAttr::get(context, meshName, dims, {}, {},
                                      sdy::ReductionOp::SUM);
}

/// What is said inside of bodies: along the axes that they leave to the
/// compiler by name, and of those along which they are per device nothing.
LogicalResult JoinManualRegions::readInside() {
  SmallVector<stablehlo::CustomCallOp> said;
  getOperation().walk([&](Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      for (unsigned at = 0; at < function.getNumArguments(); ++at)
        if (isOfBody(function.getArgAttr(at, deviceTilesAttrName)))
          function.removeArgAttr(at, deviceTilesAttrName);
      for (unsigned at = 0; at < function.getNumResults(); ++at)
        if (isOfBody(function.getResultAttr(at, deviceTilesAttrName)))
          function.removeResultAttr(
              at, StringAttr::get(&getContext(), deviceTilesAttrName));
      return;
    }
    // The calls themselves are read where they are joined, and so is what says
    // how a whole tensor is cut that is handed in.
    if (!isOfBody(op->getAttr(deviceTilesAttrName)) || handsIn(op) ||
        takesOut(op) || llvm::any_of(op->getUsers(), handsIn))
      return;
    if (auto call = callOf(op, "Sharding"))
      said.push_back(call);
    else
      op->removeAttr(deviceTilesAttrName);
  });
  for (stablehlo::CustomCallOp call : said) {
    Value value = call->getOperand(0);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type) {
      FailureOr<Cut> cut = cutOf(call, textOf(call), type.getRank());
      if (failed(cut))
        return failure();
      const bool isCut =
          llvm::any_of(cut->dims, [](auto &axes) { return !axes.empty(); });
      if (isCut) {
        OpBuilder builder(call);
        value = sdy::ShardingConstraintOp::create(
            builder, call.getLoc(), type, value, shardingOf(*cut, call));
      }
    }
    call->getResult(0).replaceAllUsesWith(value);
    call->erase();
  }
  return success();
}

/// Finds what lies between the calls of a block, and joins what belongs
/// together.
LogicalResult JoinManualRegions::join(Block &block) {
  llvm::EquivalenceClasses<Operation *> together;
  llvm::DenseSet<Operation *> inside;
  for (Operation &op : block) {
    SmallVector<Operation *> writers;
    auto use = [&](Value value) {
      if (Operation *writer = value.getDefiningOp();
          writer && inside.contains(writer) && !takesOut(writer))
        writers.push_back(writer);
    };
    llvm::for_each(op.getOperands(), use);
    visitUsedValuesDefinedAbove(
        op.getRegions(), [&](OpOperand *operand) { use(operand->get()); });
    // A body may begin with nothing handed in.
    Operation *maker =
        op.getNumOperands() == 1 ? op.getOperand(0).getDefiningOp() : nullptr;
    if (takesOut(&op) && writers.empty() && maker &&
        maker->getBlock() == &block) {
      inside.insert(maker);
      writers.push_back(maker);
    }
    if (takesOut(&op) && writers.empty())
      return op.emitError()
             << "takes from a body per device what none has made; export the "
                "step without shard_map";
    if (writers.empty() && !handsIn(&op) &&
        !isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op))
      continue;
    if (op.hasTrait<OpTrait::IsTerminator>())
      return op.emitError() << "returns what one device has of a tensor, in a "
                               "block of whole tensors";
    inside.insert(&op);
    together.insert(&op);
    for (Operation *writer : writers)
      together.unionSets(&op, writer);
  }
  llvm::MapVector<Operation *, SmallVector<Operation *>> bodies;
  for (Operation &op : block)
    if (inside.contains(&op))
      bodies[together.getLeaderValue(&op)].push_back(&op);
  for (auto &[leader, operations] : bodies)
    if (failed(joinOne(operations)))
      return failure();
  if (!sortTopologically(&block))
    return block.getParentOp()->emitError()
           << "has a body per device that reads what follows from its own "
              "results";
  return success();
}

LogicalResult JoinManualRegions::joinOne(ArrayRef<Operation *> operations) {
  MLIRContext *context = &getContext();
  Operation *last = operations.back();
  SmallVector<Value> operands, inside, returned, results;
  SmallVector<sdy::TensorShardingAttr> inputs, outputs;
  std::optional<AxisSet> manual;
  auto rankOf = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? type.getRank() : 0;
  };
  for (Operation *op : operations) {
    if (!handsIn(op))
      continue;
    // What says how the whole tensor is cut stands in front.
    Value whole = op->getOperand(0);
    auto said = callOf(whole.getDefiningOp(), "Sharding");
    if (said)
      whole = said->getOperand(0);
    else if (whole.getType() != op->getResult(0).getType())
      return op->emitError() << "nothing says how its operand is cut; export "
                                "the step without shard_map";
    StringRef text = said ? textOf(said) : "{replicated}";
    FailureOr<Cut> before = cutOf(op, text, rankOf(whole));
    FailureOr<Cut> after = cutOf(op, textOf(op), rankOf(whole));
    if (failed(before) || failed(after))
      return failure();
    const AxisSet own = after->manual & ~before->manual;
    if (manual.value_or(own) != own)
      return op->emitError()
             << "begins a body along other axes than its neighbour does";
    manual = own;
    operands.push_back(whole);
    inside.push_back(op->getResult(0));
    inputs.push_back(shardingOf(*before, said ? said : op));
  }
  for (Operation *op : operations) {
    if (!takesOut(op))
      continue;
    FailureOr<Cut> cut = cutOf(op, textOf(op), rankOf(op->getResult(0)));
    if (failed(cut))
      return failure();
    returned.push_back(op->getOperand(0));
    results.push_back(op->getResult(0));
    outputs.push_back(shardingOf(*cut, op));
  }
  if (operands.empty() && results.empty())
    return success(); // a number of the device that is none of a body's
  llvm::SmallDenseSet<Operation *> members(operations.begin(),
                                           operations.end());
  // What else is read is whole on every device, or a constant.
  llvm::SmallSetVector<Value, 4> others, constants;
  auto use = [&](Value value) {
    Operation *around = value.getParentBlock()->getParentOp();
    for (Operation *op = value.getDefiningOp() ? value.getDefiningOp() : around;
         op; op = op->getParentOp())
      if (members.contains(op))
        return;
    (value.getDefiningOp<stablehlo::ConstantOp>() ? constants : others)
        .insert(value);
  };
  for (Operation *op : operations) {
    if (handsIn(op))
      continue;
    llvm::for_each(op->getOperands(), use);
    visitUsedValuesDefinedAbove(
        op->getRegions(), [&](OpOperand *operand) { use(operand->get()); });
  }
  for (Value value : others) {
    Cut cut;
    cut.dims.resize(rankOf(value));
    operands.push_back(value);
    inside.push_back(value);
    inputs.push_back(shardingOf(cut, last));
  }

  OpBuilder builder(last);
  SmallVector<StringAttr> names;
  for (unsigned axis : axesOf(manual.value_or(devices->all())))
    names.push_back(builder.getStringAttr(devices->name(axis)));
  auto op = sdy::ManualComputationOp::create(
      builder, last->getLoc(), ValueRange(results).getTypes(), operands,
      sdy::TensorShardingPerValueAttr::get(context, inputs),
      sdy::TensorShardingPerValueAttr::get(context, outputs),
      sdy::ManualAxesAttr::get(context, names));
  Block *body = builder.createBlock(&op.getBody());
  for (Value value : inside)
    body->addArgument(value.getType(), value.getLoc());
  builder.setInsertionPointToEnd(body);
  SmallVector<Value> replacing(body->getArguments());
  for (Value value : constants) {
    inside.push_back(value);
    replacing.push_back(builder.clone(*value.getDefiningOp())->getResult(0));
  }
  Operation *end = sdy::ReturnOp::create(builder, last->getLoc(), returned);
  for (Operation *member : operations)
    if (!handsIn(member) && !takesOut(member))
      member->moveBefore(end);
  for (auto [value, own] : llvm::zip_equal(inside, replacing))
    value.replaceUsesWithIf(own, [&](OpOperand &operand) {
      return op->isProperAncestor(operand.getOwner());
    });
  for (auto [result, value] : llvm::zip_equal(results, op->getResults()))
    result.replaceAllUsesWith(value);
  for (Operation *member : operations)
    if (handsIn(member) || takesOut(member)) {
      Operation *said =
          callOf(member->getOperand(0).getDefiningOp(), "Sharding");
      member->erase();
      if (said && said->use_empty())
        said->erase();
    }
  ++joined;
  return success();
}
