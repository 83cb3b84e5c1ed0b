//===- Mutate.cpp - Partitioned steps with one error ----------------------===//
//
// See Mutate.h.
//
//===----------------------------------------------------------------------===//

#include "Mutate.h"

#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <set>

using namespace mlir;
using namespace tenon;

namespace {

bool isReducing(Operation *op) {
  return isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp,
             stablehlo::ReduceOp>(op);
}

bool isCollective(Operation *op) {
  return isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp,
             stablehlo::AllGatherOp, stablehlo::AllToAllOp,
             stablehlo::CollectivePermuteOp>(op);
}

class Mutation {
public:
  Mutation(ModuleOp module, int64_t devices, random::Random &random)
      : devices(devices), random(random) {
    main = module.lookupSymbol<func::FuncOp>("main");
    // Operations on tensors; those of element regions belong to their parents.
    main.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == main)
        return WalkResult::advance();
      if (!op->hasTrait<OpTrait::IsTerminator>())
        operations.push_back(op);
      return isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op)
                 ? WalkResult::advance()
                 : WalkResult::skip();
    });
  }

  std::string run() {
    for (int tries = 0; tries < 60 && !operations.empty(); ++tries) {
      op = random.oneOf(operations);
      // Collectives are few, and errors in them matter most.
      for (int more = 0; more < 8 && !isCollective(op); ++more)
        if (random.chance(30))
          op = random.oneOf(operations);
      std::string what = change();
      if (!what.empty())
        return what + " '" + op->getName().getStringRef().str() + "'";
    }
    return "";
  }

private:
  std::string change() {
    switch (random.below(11)) {
    case 0:
      return drop() ? "left out" : "";
    case 1:
      return repeat() ? "done twice" : "";
    case 2:
      return otherDevices() ? "other devices in" : "";
    case 3:
      return otherDimension() ? "other dimension of" : "";
    case 4:
      return otherNumber() ? "other number in" : "";
    case 5:
      return otherReduction() ? "other reduction in" : "";
    case 6:
      return scale() ? "scaled" : "";
    case 7:
      return otherOperand() ? "other operand of" : "";
    case 8:
      return branch() ? "on the first device alone" : "";
    case 9:
      return unread() ? "not on all devices, beside the read" : "";
    default:
      return otherOperation() ? "other operation for" : "";
    }
  }

  bool drop() {
    if (op->getNumResults() != 1)
      return false;
    SmallVector<Value> same;
    for (Value operand : op->getOperands())
      if (operand.getType() == op->getResult(0).getType())
        same.push_back(operand);
    if (same.empty())
      return false;
    op->getResult(0).replaceAllUsesWith(
        same[size_t(random.below(int64_t(same.size())))]);
    return true;
  }

  bool repeat() {
    if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
        op->getOperand(0).getType() != op->getResult(0).getType())
      return false;
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Operation *again = builder.clone(*op);
    op->getResult(0).replaceAllUsesExcept(again->getResult(0), again);
    again->setOperand(0, op->getResult(0));
    return true;
  }

  bool otherDevices() {
    if (auto permute = dyn_cast<stablehlo::CollectivePermuteOp>(op)) {
      auto pairs = permute.getSourceTargetPairs();
      SmallVector<int64_t> values;
      for (const APInt &value : pairs.getValues<APInt>())
        values.push_back(value.getSExtValue());
      if (values.size() < 4)
        return false;
      int64_t count = int64_t(values.size()) / 2;
      int64_t a = random.below(count), b = random.below(count);
      if (a == b)
        return false;
      std::swap(values[size_t(2 * a)], values[size_t(2 * b)]);
      permute.setSourceTargetPairsAttr(
          DenseIntElementsAttr::get(cast<ShapedType>(pairs.getType()), values));
      return true;
    }
    auto table = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
    if (!table)
      return false;
    std::vector<int64_t> values;
    for (const APInt &value : table.getValues<APInt>())
      values.push_back(value.getSExtValue());
    std::vector<int64_t> before = values;
    random.shuffle(values);
    if (values == before)
      return false;
    op->setAttr("replica_groups",
                DenseIntElementsAttr::get(cast<ShapedType>(table.getType()),
                                          ArrayRef<int64_t>(values)));
    return true;
  }

  bool otherDimension() {
    for (StringRef name :
         {"all_gather_dim", "scatter_dimension", "split_dimension",
          "concat_dimension", "iota_dimension", "dimension"})
      if (auto dim = op->getAttrOfType<IntegerAttr>(name)) {
        auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
        if (!type || type.getRank() < 2)
          return false;
        int64_t other = random.below(type.getRank());
        if (other == dim.getInt())
          return false;
        op->setAttr(name, IntegerAttr::get(dim.getType(), other));
        return true;
      }
    for (StringRef name : {"permutation", "dimensions", "broadcast_dimensions"})
      if (auto list = op->getAttrOfType<DenseI64ArrayAttr>(name)) {
        SmallVector<int64_t> dims(list.asArrayRef());
        if (dims.empty())
          return false;
        if (dims.size() == 1) {
          dims[0] += dims[0] > 0 ? -1 : 1;
        } else {
          size_t at = size_t(random.below(int64_t(dims.size()) - 1));
          std::swap(dims[at], dims[at + 1]);
        }
        op->setAttr(name, DenseI64ArrayAttr::get(op->getContext(), dims));
        return true;
      }
    return false;
  }

  bool otherNumber() {
    int64_t by = random.chance(50) ? 1 : -1;
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!dense || !dense.isSplat())
        return false;
      Attribute other;
      if (auto integer =
              dyn_cast<IntegerAttr>(dense.getSplatValue<Attribute>())) {
        if (integer.getType().isInteger(1))
          other = IntegerAttr::get(integer.getType(), ~integer.getValue());
        else
          other = IntegerAttr::get(integer.getType(), integer.getValue() + by);
      } else if (auto floating =
                     dyn_cast<FloatAttr>(dense.getSplatValue<Attribute>())) {
        other = FloatAttr::get(floating.getType(),
                               floating.getValueAsDouble() + double(by));
      }
      if (!other)
        return false;
      constant.setValueAttr(
          cast<ElementsAttr>(DenseElementsAttr::get(dense.getType(), other)));
      return true;
    }
    if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
      SmallVector<int64_t> starts(slice.getStartIndices()),
          limits(slice.getLimitIndices());
      if (starts.empty())
        return false;
      size_t dim = size_t(random.below(int64_t(starts.size())));
      starts[dim] += by;
      limits[dim] += by;
      slice.setStartIndices(starts);
      slice.setLimitIndices(limits);
      return true;
    }
    if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
      SmallVector<int64_t> low(pad.getEdgePaddingLow()),
          high(pad.getEdgePaddingHigh());
      if (low.empty())
        return false;
      size_t dim = size_t(random.below(int64_t(low.size())));
      low[dim] += by;
      high[dim] -= by;
      pad.setEdgePaddingLow(low);
      pad.setEdgePaddingHigh(high);
      return true;
    }
    if (auto table = op->getAttrOfType<DenseIntElementsAttr>("padding")) {
      // By as much at one end as less at the other.
      SmallVector<int64_t> padding(table.getValues<int64_t>());
      if (padding.empty())
        return false;
      size_t at = 2 * size_t(random.below(int64_t(padding.size() / 2)));
      padding[at] += by;
      padding[at + 1] -= by;
      op->setAttr("padding",
                  DenseIntElementsAttr::get(table.getType(), padding));
      return true;
    }
    return false;
  }

  bool otherReduction() {
    if (!isReducing(op))
      return false;
    Operation &inner = op->getRegion(0).front().front();
    return replace(&inner);
  }

  bool otherOperation() { return replace(op); }

  /// Another operation of two operands and one type.
  bool replace(Operation *of) {
    static constexpr StringRef names[] = {
        "stablehlo.add", "stablehlo.subtract", "stablehlo.maximum",
        "stablehlo.minimum", "stablehlo.multiply"};
    if (!llvm::is_contained(names, of->getName().getStringRef()))
      return false;
    StringRef name = names[random.below(std::size(names))];
    if (name == of->getName().getStringRef())
      return false;
    OpBuilder builder(of);
    OperationState state(of->getLoc(), name);
    state.addOperands(of->getOperands());
    state.addTypes(of->getResultTypes());
    Operation *other = builder.create(state);
    of->replaceAllUsesWith(other);
    if (of == op) {
      op = other;
      of->erase();
    } else {
      of->erase();
    }
    return true;
  }

  bool scale() {
    if (op->getNumResults() != 1)
      return false;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return false;
    ImplicitLocOpBuilder builder(op->getLoc(), op->getContext());
    builder.setInsertionPointAfter(op);
    double by = random.chance(50) ? double(devices) : 1.0 / double(devices);
    Value factor = stablehlo::ConstantOp::create(
        builder,
        cast<ElementsAttr>(DenseElementsAttr::get(
            type, Attribute(FloatAttr::get(type.getElementType(), by)))));
    Operation *product =
        stablehlo::MultiplyOp::create(builder, op->getResult(0), factor);
    op->getResult(0).replaceAllUsesExcept(product->getResult(0), product);
    return true;
  }

  bool otherOperand() {
    if (op->getNumOperands() == 0)
      return false;
    unsigned at = unsigned(random.below(op->getNumOperands()));
    DominanceInfo dominance(main);
    std::vector<Value> others;
    for (Operation *other : operations)
      for (Value value : other->getResults())
        if (value.getType() == op->getOperand(at).getType() &&
            value != op->getOperand(at) &&
            dominance.properlyDominates(value, op))
          others.push_back(value);
    for (Value value : main.getArguments())
      if (value.getType() == op->getOperand(at).getType() &&
          value != op->getOperand(at))
        others.push_back(value);
    if (others.empty())
      return false;
    op->setOperand(at, random.oneOf(others));
    return true;
  }

  /// The first device keeps what it has, or takes its turn in another order
  /// than the others do.
  bool branch() {
    if (!isCollective(op) || op->getNumResults() != 1)
      return false;
    ImplicitLocOpBuilder builder(op->getLoc(), op->getContext());
    builder.setInsertionPoint(op);
    auto id = stablehlo::PartitionIdOp::create(
        builder, RankedTensorType::get({}, builder.getIntegerType(32, false)));
    Value number = stablehlo::ConvertOp::create(
        builder, RankedTensorType::get({}, builder.getI32Type()), id);
    Value isFirst = stablehlo::CompareOp::create(
        builder, number, stablehlo::scalarConstant(builder, 0),
        stablehlo::ComparisonDirection::EQ, stablehlo::ComparisonType::SIGNED);
    OperationState state(op->getLoc(), "stablehlo.if");
    state.addOperands(isFirst);
    state.addTypes(op->getResultTypes());
    state.addRegion();
    state.addRegion();
    Operation *branch = builder.create(state);
    for (unsigned at : {0u, 1u}) {
      builder.createBlock(&branch->getRegion(at));
      Value result = builder.clone(*op)->getResult(0);
      // Behind another collective on the first device alone.
      if (at == 0)
        result = result.getType() == op->getOperand(0).getType()
                     ? op->getOperand(0)
                     : builder.clone(*op)->getResult(0);
      stablehlo::ReturnOp::create(builder, result);
    }
    op->replaceAllUsesWith(branch);
    return true;
  }

  /// A collective whose result nobody reads, to which not all devices come: the
  /// last group is missing, or the collective stands under a branch.
  bool unread() {
    if (!isCollective(op))
      return false;
    OpBuilder builder(op);
    Operation *read = op;
    op = builder.clone(*op);
    auto table = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
    if (random.chance(50) || !table || table.getType().getShape()[0] < 2) {
      bool isDone = branch();
      op->erase();
      op = read;
      return isDone;
    }
    SmallVector<int64_t> values;
    for (const APInt &value : table.getValues<APInt>())
      values.push_back(value.getSExtValue());
    SmallVector<int64_t> shape(table.getType().getShape());
    values.resize(size_t(--shape[0] * shape[1]));
    op->setAttr("replica_groups",
                DenseIntElementsAttr::get(
                    RankedTensorType::get(shape, builder.getI64Type()),
                    ArrayRef<int64_t>(values)));
    op = read;
    return true;
  }

  int64_t devices;
  random::Random &random;
  func::FuncOp main;
  std::vector<Operation *> operations;
  Operation *op = nullptr;
};

} // namespace

std::string tenon::sharding::mutate(ModuleOp module, int64_t devices,
                                    random::Random &random) {
  return Mutation(module, devices, random).run();
}
