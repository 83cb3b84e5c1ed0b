//===- ApplyFormats.cpp - Write formats into a step -----------------------===//
//
// See ApplyFormats.h.
//
//===----------------------------------------------------------------------===//

#include "ApplyFormats.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Precision/Outlook.h"
#include "tenon/Precision/PrecisionRules.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

class Rewriter {
public:
  Rewriter(const FormatClasses &classes, const ChosenFormats &chosen)
      : classes(classes), chosen(chosen),
        builder(classes.classes().empty()
                    ? nullptr
                    : classes.classes().front().members.front().getContext()) {}

  void run() {
    for (auto [product, isNarrow] :
         llvm::zip_equal(classes.products(), chosen.isNarrowProduct))
      if (isNarrow)
        narrowProducts.insert(product.op);
    SmallVector<Value> narrow;
    for (auto [each, isNarrow] :
         llvm::zip_equal(classes.classes(), chosen.isNarrowClass))
      if (isNarrow)
        llvm::append_range(narrow, each.members);
    // Who reads what, before anything changes.
    SmallVector<std::pair<OpOperand *, Value>> reads;
    for (Value value : narrow)
      for (OpOperand &use : value.getUses())
        reads.push_back({&use, value});
    // Operands of what only moves elements, and of products, that are wide
    // themselves.
    SmallVector<OpOperand *> wanted;
    for (Operation *product : narrowProducts)
      for (OpOperand &operand : product->getOpOperands())
        if (!isNarrow(operand.get()))
          wanted.push_back(&operand);
    for (Value value : narrow)
      if (isRetyped(value)) {
        retyped.insert(value);
        forEachMoved(value, [&](OpOperand &operand) {
          if (!isNarrow(operand.get()))
            wanted.push_back(&operand);
        });
      }
    for (Value value : narrow)
      store(value);
    SmallVector<Operation *> done;
    for (auto [use, value] : reads) {
      Value handle = handles.lookup(value);
      Operation *reader = use->getOwner();
      if (takesNarrow(*use)) {
        use->set(handle);
      } else if (isa<stablehlo::ConvertOp>(reader) &&
                 reader->getResult(0).getType() == handle.getType()) {
        // The program rounds it in the same way.
        reader->getResult(0).replaceAllUsesWith(handle);
        done.push_back(reader);
      } else {
        use->set(widened(handle, reader));
      }
    }
    for (Operation *conversion : done)
      conversion->erase();
    llvm::SetVector<Value> left;
    for (OpOperand *operand : wanted) {
      left.insert(operand->get());
      operand->set(narrowForm(operand->get()));
    }
    for (Value value : left)
      eraseUnread(value.getDefiningOp());
  }

private:
  bool isNarrow(Value value) const {
    int index = classes.classOf(value);
    return index >= 0 && chosen.isNarrowClass[index];
  }

  bool takesNarrow(OpOperand &operand) const {
    if (narrowProducts.contains(operand.getOwner()))
      return true;
    Value to = FormatClasses::movedTo(operand);
    return to && isNarrow(to);
  }

  /// Calls `visit` for every f32 operand whose elements the value has.
  static void forEachMoved(Value value, function_ref<void(OpOperand &)> visit) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return;
    auto visitOf = [&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (FormatClasses::movedTo(operand) == value &&
            isF32Tensor(operand.get()))
          visit(operand);
    };
    Operation *op = result.getOwner();
    visitOf(op);
    if (carries(op))
      for (Region &region : op->getRegions())
        visitOf(region.front().getTerminator());
  }

  static bool carries(Operation *op) {
    return isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op);
  }

  /// Whether the value is narrow by being of another type, and not rounded
  /// behind its operation: a product that multiplies 16 bits, what loops carry,
  /// and what moves narrow elements. What picks from a wide value is rounded.
  bool isRetyped(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op || carries(op) || narrowProducts.contains(op))
      return true;
    if (ruleOf(op).Operands == multiplies)
      return !isF32Tensor(op->getOperand(0));
    if (ruleOf(op).Operands != moves)
      return false;
    bool isAnyNarrow = false, areAllConstant = true;
    forEachMoved(value, [&](OpOperand &operand) {
      isAnyNarrow |= isNarrow(operand.get());
      Operation *writer = operand.get().getDefiningOp();
      areAllConstant &= writer && writer->hasTrait<OpTrait::ConstantLike>();
    });
    // Of an operand that is repeated nothing is visited.
    bool isRepeated = isa<stablehlo::BroadcastInDimOp>(op) &&
                      !FormatClasses::movedTo(op->getOpOperand(0));
    return isAnyNarrow || (areAllConstant && !isRepeated);
  }

  /// Erases what only moved a value to a product that reads a copy by now.
  static void eraseUnread(Operation *op) {
    while (op && isOpTriviallyDead(op)) {
      Operation *next =
          op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
      op->erase();
      op = next;
    }
  }

  RankedTensorType narrowType(Value value) const {
    auto type = mlir::cast<RankedTensorType>(value.getType());
    return type.clone(typeOf(classes.narrow(), type.getContext()));
  }

  Value cast(Value value, Type element) {
    auto type = mlir::cast<RankedTensorType>(value.getType());
    auto made = stablehlo::ConvertOp::create(builder, value.getLoc(),
                                             type.clone(element), value);
    made->setAttr(step::castAttrName, builder.getUnitAttr());
    return made;
  }

  /// Makes the value narrow where it is made.
  void store(Value value) {
    if (retyped.contains(value)) {
      value.setType(narrowType(value));
      retypeElements(value.getDefiningOp());
      handles[value] = value;
      return;
    }
    builder.setInsertionPointAfter(value.getDefiningOp());
    handles[value] =
        cast(value, typeOf(classes.narrow(), builder.getContext()));
  }

  /// Makes the regions of what moves elements work on elements of 16 bits.
  void retypeElements(Operation *op) const {
    if (!op || !stablehlo::hasElementRegions(op))
      return;
    auto retype = [this](Value value) {
      if (isF32Tensor(value))
        value.setType(narrowType(value));
    };
    op->walk([&](Block *block) {
      llvm::for_each(block->getArguments(), retype);
      for (Operation &inner : *block)
        llvm::for_each(inner.getResults(), retype);
    });
  }

  Value widened(Value narrow, Operation *reader) {
    builder.setInsertionPoint(reader);
    Value made = cast(narrow, builder.getF32Type());
    markCopy(made.getDefiningOp());
    return made;
  }

  /// A 16-bit copy of a wide value, made once where the value is, behind what
  /// moves it only.
  Value narrowForm(Value value) {
    if (!isF32Tensor(value))
      return value;
    Value &known = copies[value];
    if (known)
      return known;
    Operation *op = value.getDefiningOp();
    Value made;
    if (op && op->hasTrait<OpTrait::ConstantLike>()) {
      made = narrowConstant(value);
    } else if (isa_and_nonnull<stablehlo::TransposeOp, stablehlo::ReshapeOp>(
                   op)) {
      Value moved = narrowForm(op->getOperand(0));
      builder.setInsertionPointAfter(op);
      Operation *copy = builder.clone(*op);
      copy->setOperand(0, moved);
      copy->getResult(0).setType(narrowType(value));
      made = copy->getResult(0);
    } else {
      if (op)
        builder.setInsertionPointAfter(op);
      else
        builder.setInsertionPointToStart(value.getParentBlock());
      made = cast(value, typeOf(classes.narrow(), builder.getContext()));
      markCopy(made.getDefiningOp());
    }
    return copies[value] = made;
  }

  Value narrowConstant(Value value) {
    DenseElementsAttr elements;
    matchPattern(value, m_Constant(&elements));
    SmallVector<APFloat> rounded;
    if (elements.isSplat())
      rounded.push_back(
          nearestIn(classes.narrow(), elements.getSplatValue<APFloat>()));
    else
      for (const APFloat &number : elements.getValues<APFloat>())
        rounded.push_back(nearestIn(classes.narrow(), number));
    builder.setInsertionPointAfter(value.getDefiningOp());
    return stablehlo::ConstantOp::create(
        builder, value.getLoc(),
        DenseElementsAttr::get(narrowType(value), rounded));
  }

  const FormatClasses &classes;
  const ChosenFormats &chosen;
  OpBuilder builder;
  llvm::SetVector<Operation *> narrowProducts;
  llvm::DenseSet<Value> retyped;
  llvm::DenseMap<Value, Value> handles, copies;
};

} // namespace

void precision::applyFormats(const FormatClasses &classes,
                             const ChosenFormats &chosen) {
  if (!classes.classes().empty())
    Rewriter(classes, chosen).run();
}
