//===- KeepShardings.cpp - What authors say of values inside a step -------===//
//
// Every way in which exporters say how a value is to lie becomes one operation,
// `step.sharding_constraint`. What a text means on a mesh is read where there
// is one (lib/Sharding/AskedLayouts.cpp), so nothing is judged here.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Passes.h"

#include "tenon/Analysis/DeviceTiles.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace tenon::importer {
#define GEN_PASS_DEF_KEEPSHARDINGSPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon;

namespace {

/// What is said of one value.
struct Annotation {
  Attribute sharding;
  DenseI64ArrayAttr openDims;
  IntegerAttr group;
  StringAttr passes; // where propagation does not pass both ways

  explicit operator bool() const { return sharding || group || passes; }
};

/// Whether a sharding leaves all to others.
bool saysNothing(sdy::TensorShardingAttr sharding) {
  return !sharding.getDimShardings().empty() &&
         sharding.getReplicatedAxes().empty() &&
         sharding.getUnreducedAxes().empty() &&
         llvm::all_of(sharding.getDimShardings(), [](auto dim) {
           return !dim.getIsClosed() && dim.getAxes().empty();
         });
}

Annotation annotationOf(sdy::TensorShardingAttr sharding) {
  return sharding && !saysNothing(sharding) ? Annotation{sharding, {}, {}, {}}
                                            : Annotation();
}

/// Of the text of an `mhlo.sharding`: `{unknown shard_as 3}` is a group.
Annotation annotationOf(StringAttr text) {
  if (!text)
    return {};
  StringRef rest = text.getValue().trim();
  if (rest == "{unknown}" || rest == "{}")
    return {};
  int64_t number = 0;
  if (rest.consume_front("{unknown shard_") && rest.consume_back("}") &&
      (rest.consume_front("as ") || rest.consume_front("like ")) &&
      !rest.getAsInteger(10, number))
    return {{}, {}, Builder(text.getContext()).getI64IntegerAttr(number), {}};
  return {text, {}, {}, {}};
}

/// Of a custom call @Sharding, which says beside it which dimensions are open:
/// `unspecified_dims=[0,2]`.
Annotation annotationOf(stablehlo::CustomCallOp call) {
  Annotation found =
      annotationOf(call->getAttrOfType<StringAttr>(deviceTilesAttrName));
  auto config = call->getAttrOfType<StringAttr>("backend_config");
  StringRef list = config ? config.getValue() : StringRef();
  if (!found.sharding || !list.consume_front("unspecified_dims=[") ||
      !list.consume_back("]"))
    return found;
  SmallVector<StringRef> words;
  list.split(words, ',');
  SmallVector<int64_t> dims;
  for (StringRef word : words)
    if (int64_t dim = 0; !word.trim().getAsInteger(10, dim))
      dims.push_back(dim);
  found.openDims = DenseI64ArrayAttr::get(call.getContext(), dims);
  return found;
}

/// Of a barrier for propagation.
Annotation annotationOf(sdy::PropagationDirection direction,
                        MLIRContext *context) {
  Annotation found;
  found.passes = StringAttr::get(
      context, stringifyPropagationDirection(direction).lower());
  return found;
}

/// What is said of each result of an operation, or of each value of a
/// signature, by the attributes of either spelling.
Annotation annotationOf(DictionaryAttr attributes) {
  if (!attributes)
    return {};
  if (auto own =
          attributes.getAs<sdy::TensorShardingAttr>(sdy::shardingAttrName))
    return annotationOf(own);
  return annotationOf(attributes.getAs<StringAttr>(deviceTilesAttrName));
}

/// `{{replicated}, {devices=[2]<=[2]}}`: those of several results.
SmallVector<StringAttr> annotationsOfTuple(StringAttr text) {
  StringRef rest = text.getValue().trim();
  SmallVector<StringAttr> found;
  if (!rest.starts_with("{{") || !rest.consume_front("{") ||
      !rest.consume_back("}"))
    return {text};
  while (true) {
    const size_t end = rest.find('}');
    if (end == StringRef::npos)
      return found;
    found.push_back(
        StringAttr::get(text.getContext(), rest.take_front(end + 1).trim()));
    rest = rest.drop_front(end + 1).ltrim();
    rest.consume_front(",");
    rest = rest.ltrim();
  }
}

class KeepShardings
    : public tenon::importer::impl::KeepShardingsPassBase<KeepShardings> {
public:
  using KeepShardingsPassBase::KeepShardingsPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> operations;
    getOperation().walk([&](Operation *op) { operations.push_back(op); });
    for (Operation *op : operations)
      keep(op);
    if (count > 0)
      remark::passed(
          getOperation().getLoc(),
          remark::RemarkOpts::name("kept").category("import-keep-shardings"))
          << remark::add("{0} values lie as their author wrote", count)
          << remark::metric("constraints", count);
  }

private:
  void keep(Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op))
      return keepSignature(function);
    if (isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op))
      return replace(
          op,
          annotationOf(op->getAttrOfType<sdy::TensorShardingAttr>("sharding")));
    if (auto edge = dyn_cast<sdy::DataFlowEdgeOp>(op))
      return replace(op, annotationOf(edge.getShardingAttr()));
    if (auto out = op->getAttrOfType<sdy::TensorShardingAttr>("out_sharding"))
      return replace(op, annotationOf(out));
    if (auto group = dyn_cast<sdy::ShardingGroupOp>(op)) {
      constrain(group.getInput(), op->getLoc(),
                {{}, {}, group.getGroupIdAttr(), {}});
      op->erase();
      return;
    }
    if (auto barrier = dyn_cast<sdy::PropagationBarrierOp>(op))
      return replace(
          op, annotationOf(barrier.getAllowedDirection(), op->getContext()));
    if (isa<sdy::ManualComputationOp, sdy::NamedComputationOp>(op))
      return keepBoundary(op);
    if (auto call = dyn_cast<stablehlo::CustomCallOp>(op);
        call && call.getCallTargetName() == "Sharding" &&
        op->getOperandTypes() == op->getResultTypes() &&
        op->getNumResults() == 1)
      return replace(op, annotationOf(call));
    keepAttributes(op);
  }

  /// An operation that hands its operand on.
  void replace(Operation *op, const Annotation &said) {
    Value from = op->getOperand(0), to = op->getResult(0);
    // What nobody reads speaks of what it was made from.
    if (to.use_empty())
      constrain(from, op->getLoc(), said);
    else
      constrain(to, op->getLoc(), said);
    to.replaceAllUsesWith(from);
    op->erase();
  }

  /// Whoever reads the value, reads it where it lies as was said.
  void constrain(Value value, Location location, const Annotation &said) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!said || !type)
      return;
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto op = step::ShardingConstraintOp::create(builder, location, type, value,
                                                 said.sharding, said.openDims,
                                                 said.group, said.passes);
    value.replaceAllUsesExcept(op.getResult(), op);
    ++count;
  }

  void keepAttributes(Operation *op) {
    if (op->getNumResults() == 0)
      return;
    if (auto each = op->getAttrOfType<sdy::TensorShardingPerValueAttr>(
            sdy::shardingAttrName)) {
      for (auto [value, sharding] :
           llvm::zip(op->getResults(), each.getShardings()))
        constrain(value, op->getLoc(), annotationOf(sharding));
    } else if (auto text = op->getAttrOfType<StringAttr>(deviceTilesAttrName)) {
      for (auto [value, one] :
           llvm::zip(op->getResults(), annotationsOfTuple(text)))
        constrain(value, op->getLoc(), annotationOf(one));
    }
  }

  /// The step's own signature is read as it is; those of other functions are
  /// gone when these are inlined.
  void keepSignature(func::FuncOp function) {
    if (function.isExternal() || function.getSymName() == entry)
      return;
    for (auto [at, argument] : llvm::enumerate(function.getArguments()))
      constrain(argument, function.getLoc(),
                annotationOf(function.getArgAttrDict(at)));
    for (Block &block : function.getBody()) {
      Operation *end = block.getTerminator();
      for (OpOperand &operand : end->getOpOperands())
        keepOperand(operand, annotationOf(function.getResultAttrDict(
                                 operand.getOperandNumber())));
    }
  }

  /// Another reader may have the value as it likes.
  void keepOperand(OpOperand &operand, const Annotation &said) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!said || !type)
      return;
    OpBuilder builder(operand.getOwner());
    operand.set(step::ShardingConstraintOp::create(
        builder, operand.getOwner()->getLoc(), type, operand.get(),
        said.sharding, said.openDims, said.group, said.passes));
    ++count;
  }

  void keepBoundary(Operation *op) {
    auto shardingsOf = [&](StringRef name) {
      auto found = op->getAttrOfType<sdy::TensorShardingPerValueAttr>(name);
      return found ? found.getShardings() : ArrayRef<sdy::TensorShardingAttr>();
    };
    for (auto [operand, sharding] :
         llvm::zip(op->getOpOperands(), shardingsOf("in_shardings")))
      keepOperand(operand, annotationOf(sharding));
    for (auto [result, sharding] :
         llvm::zip(op->getResults(), shardingsOf("out_shardings")))
      constrain(result, op->getLoc(), annotationOf(sharding));
  }

  int64_t count = 0;
};

} // namespace
