//===- IgnoreShardings.cpp - Many-device programs on one device -----------===//
//
// What may be dropped and what must be refused is a table from operation names
// to actions. Names instead of classes, because the sharding dialect grows with
// its producers and an operation that only carries a sharding needs no more
// than its operand. How many devices a program is for is counted from
// everything that says it (Analysis/DeviceCount.h), not from the module's
// attributes alone.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"

#include "tenon/Analysis/DeviceCount.h"
#include "tenon/Analysis/DeviceTiles.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Support/CheckedArithmetic.h"

#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

namespace tenon::importer {
#define GEN_PASS_DEF_IGNORESHARDINGSPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;

namespace {

enum class Action {
  keep,       // says nothing about devices
  forward,    // results are the operands
  erase,      // carries a sharding and has no result
  collective, // results are the operands where a group is one device
  zero,       // the device's own number
  inlineBody, // a body that sees whole tensors
  perDevice,  // a body per device
};

Action actionFor(Operation *op) {
  if (auto call = dyn_cast<tenon::stablehlo::CustomCallOp>(op))
    return llvm::StringSwitch<Action>(call.getCallTargetName())
        .Cases({"Sharding", "xla.sdy.FuncResultSharding"}, Action::forward)
        .Cases({"SPMDFullToShardShape", "SPMDShardToFullShape",
                "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"},
               Action::collective)
        .Default(Action::keep);
  return llvm::StringSwitch<Action>(op->getName().getStringRef())
      .Cases({"sdy.sharding_constraint", "sdy.reshard",
              "sdy.propagation_barrier", "sdy.data_flow_edge",
              "sdy.func_data_flow_edge", "sdy.replicated_to_unreduced",
              "sdy.sharded_to_unreduced", "sdy.all_slice", "sdy.all_gather",
              "sdy.all_reduce", "sdy.reduce_scatter", "sdy.all_to_all"},
             Action::forward)
      .Cases({"sdy.collective_permute"}, Action::forward)
      .Case("sdy.sharding_group", Action::erase)
      .Cases({"stablehlo.all_reduce", "stablehlo.all_gather",
              "stablehlo.reduce_scatter", "stablehlo.all_to_all",
              "stablehlo.collective_permute", "stablehlo.collective_broadcast",
              "stablehlo.collective_reduce", "stablehlo.cross-replica-sum"},
             Action::collective)
      .Cases({"stablehlo.partition_id", "stablehlo.replica_id"}, Action::zero)
      .Case("sdy.named_computation", Action::inlineBody)
      .Case("sdy.manual_computation", Action::perDevice)
      .Default(Action::keep);
}

/// Whether it says how a value is to lie.
bool constrains(Operation *op) {
  auto call = dyn_cast<tenon::stablehlo::CustomCallOp>(op);
  return isa<tenon::sdy::ShardingConstraintOp, tenon::sdy::ReshardOp,
             tenon::sdy::ShardingGroupOp>(op) ||
         (call && call.getCallTargetName() == "Sharding");
}

/// Whether a collective hands the one device anything: its groups or pairs name
/// device 0, or there are no groups, which stand for one of all devices.
bool reachesDevice(Operation *op) {
  if (auto pairs =
          op->getAttrOfType<DenseIntElementsAttr>("source_target_pairs"))
    return !pairs.empty();
  auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  return !groups || groups.empty() ||
         llvm::any_of(groups.getValues<APInt>(),
                      [](const APInt &id) { return id.isZero(); });
}

/// Whether a device that nothing reaches has zeros as the results.
bool isZeroUnreached(Operation *op) {
  return isa<tenon::stablehlo::CollectiveBroadcastOp,
             tenon::stablehlo::CollectivePermuteOp,
             tenon::stablehlo::CollectiveReduceOp>(op) &&
         llvm::all_of(op->getResultTypes(), [](Type type) {
           Type element = getElementTypeOrSelf(type);
           return element.isIntOrFloat() || isa<ComplexType>(element);
         });
}

DenseElementsAttr zeros(RankedTensorType type) {
  Builder builder(type.getContext());
  auto complex = dyn_cast<ComplexType>(type.getElementType());
  if (!complex)
    return DenseElementsAttr::get(type,
                                  builder.getZeroAttr(type.getElementType()));
  llvm::APFloat zero(
      cast<FloatType>(complex.getElementType()).getFloatSemantics());
  return DenseElementsAttr::get(
      type, ArrayRef(std::complex<llvm::APFloat>(zero, zero)));
}

/// How often the body of a manual computation runs: along its manual axes.
int64_t runsOf(tenon::sdy::ManualComputationOp op) {
  tenon::sdy::MeshAttr mesh;
  for (auto shardings : {op.getInShardings(), op.getOutShardings()})
    for (tenon::sdy::TensorShardingAttr sharding : shardings.getShardings())
      mesh = sharding.getMesh(op);
  std::optional<int64_t> runs = 1;
  for (StringAttr axis : op.getManualAxes().getValue())
    if (std::optional<int64_t> size = mesh ? mesh.getAxisSize(axis) : 1)
      runs = runs ? tenon::mulChecked(*runs, *size) : runs;
  return runs.value_or(std::numeric_limits<int64_t>::max());
}

class IgnoreShardings
    : public tenon::importer::impl::IgnoreShardingsPassBase<IgnoreShardings> {
public:
  using IgnoreShardingsPassBase::IgnoreShardingsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkStatedCounts()))
      return signalPassFailure();
    program = tenon::countDevices(module);
    refused.clear();
    removable.clear();
    dropped = 0;
    module.walk([&](Operation *op) {
      Action action = actionFor(op);
      if (action == Action::keep)
        return;
      if (std::string reason = whyRefused(op, action); !reason.empty())
        refused[op->getName().getStringRef()].push_back(
            {op, std::move(reason)});
      else
        removable.push_back(op);
    });
    if (!refused.empty()) {
      report();
      module->setAttr(unsupportedAttrName, UnitAttr::get(&getContext()));
      return signalPassFailure();
    }
    for (Operation *op : removable)
      remove(op);
    dropOperationAttributes();
    if (kept)
      return;
    if (dropped > 0)
      module->setAttr(tenon::step::droppedConstraintsAttrName,
                      Builder(&getContext()).getI64IntegerAttr(dropped));
    if (program.devices > 1)
      remark::missed(module.getLoc(), remark::RemarkOpts::name("shardings")
                                          .category("import-ignore-shardings"))
          << remark::add("shardings ignored: a program for {0} devices is "
                         "compiled for one",
                         program.devices)
          << remark::metric("devices", program.devices);
  }

private:
  LogicalResult checkStatedCounts() {
    for (StringRef name : {"mhlo.num_replicas", "mhlo.num_partitions"}) {
      Attribute stated = getOperation()->getAttr(name);
      auto count = dyn_cast_or_null<IntegerAttr>(stated);
      if (stated && (!count || !count.getValue().isStrictlyPositive()))
        return getOperation().emitError() << "'" << name << "' is " << stated
                                          << ", expected a positive integer";
    }
    return success();
  }

  /// Why one device cannot do what an operation says; empty if it can.
  std::string whyRefused(Operation *op, Action action) {
    auto differ = [](TypeRange given, TypeRange expected) -> std::string {
      return given == expected ? "" : "the types of its tensors change";
    };
    switch (action) {
    case Action::perDevice:
      if (int64_t runs = runsOf(cast<tenon::sdy::ManualComputationOp>(op));
          runs > 1)
        return "it runs once on each of " + std::to_string(runs) + " devices";
      [[fallthrough]];
    case Action::inlineBody:
      return op->getRegion(0).hasOneBlock()
                 ? differ(op->getOperandTypes(),
                          op->getRegion(0).getArgumentTypes())
                 : "its body has several blocks";
    case Action::collective: {
      // What it says itself explains more than what is said elsewhere.
      tenon::DeviceCount own = tenon::devicesNamedBy(op);
      if (own.devices > 1 || program.devices > 1)
        return own.devices > 1 ? own.reason : program.reason;
      if (!reachesDevice(op) && !isZeroUnreached(op))
        return "device 0 is in none of its groups";
      // The root of a group of one needs no looking up.
      OperandRange given = op->getOperands();
      return given.size() < op->getNumResults()
                 ? "it has too few operands"
                 : differ(given.take_front(op->getNumResults()).getTypes(),
                          op->getResultTypes());
    }
    case Action::forward:
      return differ(op->getOperandTypes(), op->getResultTypes());
    case Action::zero:
      return program.reason;
    case Action::keep:
    case Action::erase:
      return "";
    }
    return "";
  }

  /// One error per kind of operation, each at its first occurrence.
  void report() {
    std::string mesh;
    for (Operation &op : getOperation().getBody()->getOperations())
      if (op.getName().getStringRef() == "sdy.mesh") {
        llvm::raw_string_ostream out(mesh);
        out << (mesh.empty() ? " over mesh @" : ", @")
            << SymbolTable::getSymbolName(&op).getValue();
        if (Attribute shape = op.getAttr("mesh"))
          out << " " << shape;
      }
    for (auto &[name, found] : refused) {
      auto &[first, reason] = found.front();
      InFlightDiagnostic error =
          first->emitError() << "'" << name << "' computes per device" << mesh
                             << ", which cannot run on one device: " << reason;
      if (found.size() > 1)
        error << "; found " << found.size();
      error << "; export the step for one device, or without shard_map";
      if (reason == program.reason && program.source != getOperation() &&
          tenon::devicesNamedBy(first).devices == 1)
        error.attachNote(program.source->getLoc()) << "which is said here";
    }
  }

  void remove(Operation *op) {
    OpBuilder builder(op);
    Action action = actionFor(op);
    dropped += constrains(op);
    if (action == Action::inlineBody || action == Action::perDevice) {
      Block &body = op->getRegion(0).front();
      Operation *end = body.getTerminator();
      for (auto [argument, operand] :
           llvm::zip_equal(body.getArguments(), op->getOperands()))
        argument.replaceAllUsesWith(operand);
      for (auto [result, value] :
           llvm::zip_equal(op->getResults(), end->getOperands()))
        result.replaceAllUsesWith(value);
      end->erase();
      op->getBlock()->getOperations().splice(op->getIterator(),
                                             body.getOperations());
    } else if (action == Action::zero ||
               (action == Action::collective && !reachesDevice(op))) {
      for (Value result : op->getResults())
        result.replaceAllUsesWith(tenon::stablehlo::ConstantOp::create(
            builder, op->getLoc(),
            zeros(cast<RankedTensorType>(result.getType()))));
    } else {
      for (auto [result, operand] :
           llvm::zip(op->getResults(), op->getOperands()))
        result.replaceAllUsesWith(operand);
    }
    op->erase();
  }

  /// Shardings on operations inside functions; those of signatures stay.
  void dropOperationAttributes() {
    getOperation().walk([&](Operation *op) {
      if (isa<ModuleOp, func::FuncOp>(op))
        return;
      for (StringRef name : {StringRef(tenon::sdy::shardingAttrName),
                             StringRef(tenon::deviceTilesAttrName)})
        dropped += op->removeDiscardableAttr(name) && op->getNumResults() > 0;
    });
  }

  tenon::DeviceCount program;
  /// By name, with the reasons.
  llvm::MapVector<StringRef,
                  SmallVector<std::pair<Operation *, std::string>, 1>>
      refused;
  SmallVector<Operation *> removable;
  int64_t dropped = 0; // constraints
};

} // namespace
