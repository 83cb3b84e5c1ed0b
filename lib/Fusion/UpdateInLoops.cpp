//===- UpdateInLoops.cpp - Update a layer where its gradient is ready -----===//
//
// The backward loop over layers stacks their gradients, and the optimizer reads
// the stacks afterwards, element by element. Then every round may as well
// update its own layer, in place, and no stack of gradients is needed. What
// must be known before any update, such as the norm of all gradients, forbids
// it: then the update depends on the loop in another way than by the element.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/CountedLoop.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Dialect/StableHLO/RebuildLoop.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_UPDATEINLOOPSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

namespace {

/// The type with extent 1 in the first dimension.
RankedTensorType sliceType(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = 1;
  return RankedTensorType::get(shape, type.getElementType());
}

/// Element-wise operations between stacks of gradients and new state.
class Update {
public:
  Update(const CountedLoop &counted, const CountedLoop::Stack &stack)
      : counted(counted), loop(counted.loop()), block(*loop->getBlock()),
        index(stack.index()) {
    for (const CountedLoop::Stack &other : counted.stacks())
      if (other.index() == index)
        stacks.push_back(other);
    take(loop->getResult(stack.position));
  }

  /// Empty if all that reads the gradients is such an update, in place; else
  /// what it is not.
  StringRef find();
  /// Moves it; the loop is replaced.
  WhileOp move();
  size_t gradientCount() const { return gradients.size(); }

private:
  /// New state and what it is written over.
  struct Output {
    Value value;
    BlockArgument state;
  };

  void take(Value gradient) { gradients.insert(gradient); }
  const CountedLoop::Stack *stackOf(Value value) const;
  bool isBeforeLoop(Value value) const;
  bool mayHoist(Value value);
  bool collect();
  bool checkOperands();
  bool findOutputs();
  Value sliceOf(Value value, OpBuilder &builder, IRMapping &slices,
                const IRMapping &carried, ValueRange place);

  CountedLoop counted;
  WhileOp loop;
  Block &block;
  Value index;
  SmallVector<CountedLoop::Stack> stacks; // written at that index
  llvm::SetVector<Value> gradients;       // results of the loop
  llvm::SetVector<Operation *> members;
  llvm::SetVector<Operation *> hoisted; // in the order of the program
  SmallVector<Output> outputs;
  llvm::SetVector<DynamicSliceOp> readers; // of old state, in the loop
};

const CountedLoop::Stack *Update::stackOf(Value value) const {
  auto result = dyn_cast<OpResult>(value);
  if (result && result.getOwner() == loop)
    for (const CountedLoop::Stack &stack : stacks)
      if (stack.position == result.getResultNumber())
        return &stack;
  return nullptr;
}

bool Update::isBeforeLoop(Value value) const {
  Operation *op = value.getDefiningOp();
  return !op || (op->getBlock() == &block && op->isBeforeInBlock(loop));
}

/// Whether a scalar can be computed before the loop; notes what to move.
bool Update::mayHoist(Value value) {
  if (isBeforeLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (hoisted.contains(op))
    return true;
  if (op == loop || op->getBlock() != &block || op->getNumRegions() ||
      !isPure(op) || typeOf(value).getNumElements() != 1)
    return false;
  for (Value operand : op->getOperands())
    if (!mayHoist(operand))
      return false;
  hoisted.insert(op);
  return true;
}

/// All element-wise operations behind the loop that are tied to the gradients:
/// readers, readers of those, and what only they read.
bool Update::collect() {
  ArrayRef<int64_t> shape = typeOf(gradients.front()).getShape();
  auto fits = [&](Operation *op) {
    return op && op->getBlock() == &block && op->getNumResults() == 1 &&
           loop->isBeforeInBlock(op) &&
           classify(op) == OperationClass::pointwise &&
           typeOf(op->getResult(0)).getShape() == shape;
  };
  SmallVector<Operation *> work;
  auto add = [&](Operation *op) {
    if (members.insert(op))
      work.push_back(op);
  };
  auto addReaders = [&](Value value) {
    for (Operation *user : value.getUsers()) {
      if (isa<func::ReturnOp>(user))
        continue;
      if (!fits(user))
        return false;
      add(user);
    }
    return true;
  };
  if (!addReaders(gradients.front()))
    return false;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!addReaders(op->getResult(0)))
      return false;
    for (Value operand : op->getOperands()) {
      if (!stackOf(operand)) {
        if (fits(operand.getDefiningOp()))
          add(operand.getDefiningOp());
      } else if (gradients.insert(operand) && !addReaders(operand)) {
        return false;
      }
    }
  }
  return !members.empty();
}

/// Whether every operand has a slice that is there in the loop.
bool Update::checkOperands() {
  ArrayRef<int64_t> shape = typeOf(gradients.front()).getShape();
  for (Operation *op : members)
    for (Value operand : op->getOperands()) {
      Operation *writer = operand.getDefiningOp();
      if (gradients.contains(operand) || (writer && members.contains(writer)))
        continue;
      DenseElementsAttr constant;
      if (matchPattern(operand, m_Constant(&constant)) &&
          (constant.isSplat() || typeOf(operand).getRank() == 0))
        continue;
      if (typeOf(operand).getRank() == 0) {
        if (!mayHoist(operand))
          return false;
        continue;
      }
      if (typeOf(operand).getShape() != shape)
        return false;
      if (auto broadcast = dyn_cast_or_null<BroadcastInDimOp>(writer);
          broadcast && typeOf(broadcast.getOperand()).getRank() == 0) {
        if (!mayHoist(broadcast.getOperand()))
          return false;
        continue;
      }
      if (!isa<BlockArgument>(operand))
        return false;
    }
  return true;
}

/// Finds the new state, and makes sure that nobody needs the old one later.
bool Update::findOutputs() {
  auto main = dyn_cast<func::FuncOp>(block.getParentOp());
  if (!main)
    return false;
  Operation *ret = block.getTerminator();
  for (Operation *op : members)
    for (OpOperand &use : op->getResult(0).getUses()) {
      if (use.getOwner() != ret)
        continue;
      BlockArgument state;
      for (BlockArgument argument : block.getArguments())
        if (auto successor = main.getArgAttrOfType<IntegerAttr>(
                argument.getArgNumber(), step::successorAttrName))
          if (successor.getInt() == use.getOperandNumber())
            state = argument;
      if (!state || state.getType() != op->getResult(0).getType() ||
          llvm::any_of(outputs, [&](const Output &output) {
            return output.value == op->getResult(0) || output.state == state;
          }))
        return false;
      outputs.push_back({op->getResult(0), state});
    }
  for (Value gradient : gradients)
    if (llvm::is_contained(gradient.getUsers(), ret))
      return false;
  for (const Output &output : outputs)
    for (Operation *user : output.state.getUsers()) {
      if (members.contains(user))
        continue;
      Operation *top = block.findAncestorOpInBlock(*user);
      if (top->isBeforeInBlock(loop))
        continue;
      // A round may read its own layer before it is updated.
      auto slice = dyn_cast<DynamicSliceOp>(user);
      if (top != loop || !slice || slice->getBlock() != &counted.body() ||
          slice.getOperand() != output.state || !takesOneOfFirst(slice) ||
          slice.getStartIndices().front() != index)
        return false;
      readers.insert(slice);
    }
  return !outputs.empty();
}

StringRef Update::find() {
  if (!collect())
    return "not only an element-wise update reads the stack";
  if (!checkOperands())
    return "the update reads what is not there before the loop";
  if (!findOutputs())
    return "the update is no new state, or the old one is read later";
  return "";
}

/// One layer of an operand of the update.
Value Update::sliceOf(Value value, OpBuilder &builder, IRMapping &slices,
                      const IRMapping &carried, ValueRange place) {
  if (Value known = slices.lookupOrNull(value))
    return known;
  RankedTensorType type = typeOf(value);
  DenseElementsAttr constant;
  Value slice;
  if (matchPattern(value, m_Constant(&constant))) {
    if (type.getRank() > 0)
      constant = constant.resizeSplat(sliceType(type));
    slice = ConstantOp::create(builder, value.getLoc(), constant);
  } else if (type.getRank() == 0) {
    slice = value;
  } else if (Operation *broadcast = value.getDefiningOp()) {
    slice = builder.clone(*broadcast)->getResult(0);
    slice.setType(sliceType(type));
  } else {
    slice = DynamicSliceOp::create(builder, value.getLoc(),
                                   carried.lookupOrDefault(value), place,
                                   sliceType(type).getShape());
  }
  slices.map(value, slice);
  return slice;
}

WhileOp Update::move() {
  for (Operation *op : hoisted)
    op->moveBefore(loop);
  // What is carried: no gradients, but the state that is updated.
  llvm::BitVector dropped(loop->getNumOperands());
  IRMapping slices;
  SmallVector<Value> starts, place;
  for (Value gradient : gradients) {
    const CountedLoop::Stack *stack = stackOf(gradient);
    dropped.set(stack->position);
    slices.map(gradient, stack->update());
    place = stack->write.getStartIndices();
  }
  for (const Output &output : outputs)
    starts.push_back(output.state);
  SmallVector<Operation *> ordered = members.takeVector();
  llvm::sort(ordered, [](Operation *first, Operation *second) {
    return first->isBeforeInBlock(second);
  });

  auto update = [&](ValueRange arguments, OpBuilder &builder) {
    IRMapping carried;
    for (auto [output, argument] : llvm::zip_equal(outputs, arguments))
      carried.map(output.state, argument);
    for (DynamicSliceOp reader : readers)
      reader->setOperand(0, carried.lookup(reader.getOperand()));
    for (Operation *op : ordered) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(sliceOf(operand, builder, slices, carried, place));
      Operation *copy = builder.clone(*op);
      copy->setOperands(operands);
      copy->getResult(0).setType(sliceType(typeOf(op->getResult(0))));
      slices.map(op->getResult(0), copy->getResult(0));
    }
    SmallVector<Value> following;
    for (const Output &output : outputs)
      following.push_back(DynamicUpdateSliceOp::create(
          builder, output.value.getLoc(), carried.lookup(output.state),
          slices.lookup(output.value), place));
    return following;
  };
  unsigned firstNew = loop->getNumOperands() - dropped.count();
  WhileOp updating = stablehlo::rebuildLoop(loop, dropped, starts, update);
  for (auto [number, output] : llvm::enumerate(outputs))
    output.value.replaceAllUsesWith(updating->getResult(firstNew + number));
  for (Operation *op : llvm::reverse(ordered)) {
    op->dropAllUses();
    op->erase();
  }
  loop->erase();
  return updating;
}

struct UpdateInLoops
    : public fusion::impl::UpdateInLoopsPassBase<UpdateInLoops> {
  using UpdateInLoopsPassBase::UpdateInLoopsPassBase;

  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    SmallVector<WhileOp> loops(
        getOperation().getBody().front().getOps<WhileOp>());
    for (WhileOp loop : loops)
      while (WhileOp updating = updateIn(loop))
        loop = updating;
  }

  /// Moves one update into the loop; nothing if there is none.
  WhileOp updateIn(WhileOp loop) {
    std::optional<CountedLoop> counted = CountedLoop::recognize(loop);
    if (!counted)
      return nullptr;
    for (const CountedLoop::Stack &stack : counted->stacks()) {
      Update update(*counted, stack);
      if (StringRef reason = update.find(); !reason.empty()) {
        remark::missed(stack.write.getLoc(),
                       remark::RemarkOpts::name("NotMoved")
                           .category("fusion-update-in-loops"))
            << reason.str();
        continue;
      }
      remark::passed(loop.getLoc(), remark::RemarkOpts::name("Moved").category(
                                        "fusion-update-in-loops"))
          << remark::metric("Gradients", update.gradientCount());
      return update.move();
    }
    return nullptr;
  }
};

} // namespace
