//===- IgnoreShardings.cpp - Many-device programs on one device -----------===//
//
// What may be dropped and what must be refused is a table from operation names
// to actions. Names instead of classes, because the sharding dialect grows with
// its producers and an operation that only carries a sharding needs no more
// than its operand.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

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
  inlineBody, // a body per device
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
      .Cases({"sdy.manual_computation", "sdy.named_computation"},
             Action::inlineBody)
      .Default(Action::keep);
}

class IgnoreShardings
    : public tenon::importer::impl::IgnoreShardingsPassBase<IgnoreShardings> {
public:
  using IgnoreShardingsPassBase::IgnoreShardingsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    devices = count("mhlo.num_partitions") * count("mhlo.num_replicas");
    module.walk([&](Operation *op) {
      Action action = actionFor(op);
      if (action == Action::keep)
        return;
      if (mustRefuse(op, action))
        refused[op->getName().getStringRef()].push_back(op);
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
    if (devices > 1)
      remark::missed(module.getLoc(), remark::RemarkOpts::name("shardings")
                                          .category("import-ignore-shardings"))
          << remark::add("shardings ignored: a program for {0} devices is "
                         "compiled for one",
                         devices)
          << remark::metric("devices", devices);
  }

private:
  int64_t count(StringRef attribute) {
    auto value = getOperation()->getAttrOfType<IntegerAttr>(attribute);
    return value ? std::max<int64_t>(value.getInt(), 1) : 1;
  }

  /// Nothing is left to do for one device only where types agree.
  bool mustRefuse(Operation *op, Action action) {
    switch (action) {
    case Action::inlineBody:
      // With one device, its part of a tensor is the tensor.
      return devices > 1 || !op->getRegion(0).hasOneBlock() ||
             op->getOperandTypes() != op->getRegion(0).getArgumentTypes();
    case Action::collective:
      return devices > 1 || op->getOperandTypes() != op->getResultTypes();
    case Action::forward:
      return op->getOperandTypes() != op->getResultTypes();
    case Action::zero:
      return devices > 1;
    case Action::keep:
    case Action::erase:
      return false;
    }
    return false;
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
    for (auto &[name, ops] : refused) {
      InFlightDiagnostic error = ops.front()->emitError()
                                 << "'" << name << "' computes per device"
                                 << mesh << ", which cannot run on one device";
      if (ops.size() > 1)
        error << "; found " << ops.size();
      error << "; export the step for one device, or without shard_map";
    }
  }

  void remove(Operation *op) {
    OpBuilder builder(op);
    Action action = actionFor(op);
    if (action == Action::inlineBody) {
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
    } else if (action == Action::zero) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      auto zero = tenon::stablehlo::ConstantOp::create(
          builder, op->getLoc(),
          DenseElementsAttr::get(type,
                                 builder.getZeroAttr(type.getElementType())));
      op->getResult(0).replaceAllUsesWith(zero);
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
      for (StringRef name : {"sdy.sharding", "mhlo.sharding"})
        op->removeDiscardableAttr(name);
    });
  }

  int64_t devices = 1;
  llvm::MapVector<StringRef, SmallVector<Operation *>> refused;
  SmallVector<Operation *> removable;
};

} // namespace
