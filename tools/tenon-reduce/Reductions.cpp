//===- Reductions.cpp - Ways to make a module smaller --------------------===//
//
// Results of @main are dropped, operations replaced by an operand or by zero,
// operations without results erased, constants made zero, arguments nobody
// reads and attributes of other dialects taken away.
//
//===----------------------------------------------------------------------===//

#include "Reductions.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reduce;

namespace {

using Places = SmallVector<Operation *>;

/// The operations for which `holds`, in the order of the text.
Places placesOf(ModuleOp module, llvm::function_ref<bool(Operation *)> holds) {
  Places places;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (holds(op))
      places.push_back(op);
  });
  return places;
}

template <bool (*holds)(Operation *)>
int64_t countPlaces(ModuleOp module) {
  return int64_t(placesOf(module, holds).size());
}

/// Applies `change` to a range of places, the last first: what a place holds
/// or reads is still there.
template <bool (*holds)(Operation *), void (*change)(Operation *)>
void changePlaces(ModuleOp module, int64_t first, int64_t last) {
  Places places = placesOf(module, holds);
  for (int64_t i = last; i-- > first;)
    change(places[size_t(i)]);
}

template <bool (*holds)(Operation *), void (*change)(Operation *)>
constexpr Reduction perOperation(llvm::StringLiteral name) {
  return {name, countPlaces<holds>, changePlaces<holds, change>};
}

//===----------------------------------------------------------------------===//
// @main's results and arguments
//===----------------------------------------------------------------------===//

/// Null if there is none with a body of one block.
func::FuncOp mainOf(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  return main && llvm::hasSingleElement(main.getBody()) ? main : nullptr;
}

int64_t countResults(ModuleOp module) {
  func::FuncOp main = mainOf(module);
  return main ? main.getNumResults() : 0;
}

void dropResults(ModuleOp module, int64_t first, int64_t last) {
  func::FuncOp main = mainOf(module);
  BitVector dropped(main.getNumResults());
  dropped.set(unsigned(first), unsigned(last));
  main.getBody().front().getTerminator()->eraseOperands(dropped);
  (void)main.eraseResults(dropped);
}

SmallVector<unsigned> unreadArguments(func::FuncOp main) {
  SmallVector<unsigned> unread;
  for (BlockArgument argument : main.getArguments())
    if (argument.use_empty())
      unread.push_back(argument.getArgNumber());
  return unread;
}

int64_t countUnreadArguments(ModuleOp module) {
  func::FuncOp main = mainOf(module);
  return main ? int64_t(unreadArguments(main).size()) : 0;
}

void dropArguments(ModuleOp module, int64_t first, int64_t last) {
  func::FuncOp main = mainOf(module);
  SmallVector<unsigned> unread = unreadArguments(main);
  BitVector dropped(main.getNumArguments());
  for (int64_t i = first; i < last; ++i)
    dropped.set(unread[size_t(i)]);
  (void)main.eraseArguments(dropped);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool isPlain(Operation *op) {
  return !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa<ModuleOp, SymbolOpInterface>(op);
}

/// The operand of the type of a result; null if there is none.
Value operandLike(Operation *op, Type type) {
  for (Value operand : op->getOperands())
    if (operand.getType() == type)
      return operand;
  return nullptr;
}

bool hasOperandsLikeResults(Operation *op) {
  return isPlain(op) && op->getNumResults() > 0 &&
         llvm::all_of(op->getResultTypes(),
                      [&](Type type) { return operandLike(op, type); });
}

void replaceByOperands(Operation *op) {
  for (Value result : op->getResults())
    result.replaceAllUsesWith(operandLike(op, result.getType()));
  op->erase();
}

/// Null for types that have no zero.
DenseElementsAttr zeroOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return nullptr;
  Type element = tensor.getElementType();
  auto complex = dyn_cast<ComplexType>(element);
  Type part = complex ? complex.getElementType() : element;
  if (!part.isIntOrFloat())
    return nullptr;
  if (tensor.getNumElements() == 0)
    return DenseElementsAttr::get(tensor, ArrayRef<Attribute>());
  SmallVector<char> bytes(llvm::divideCeil(part.getIntOrFloatBitWidth(), 8) *
                          (complex ? 2 : 1));
  return DenseElementsAttr::getFromRawBuffer(tensor, bytes);
}

bool hasZeroResults(Operation *op) {
  return isPlain(op) && op->getNumResults() > 0 &&
         !isa<stablehlo::ConstantOp>(op) &&
         llvm::all_of(op->getResultTypes(),
                      [](Type type) { return bool(zeroOf(type)); });
}

void replaceByZero(Operation *op) {
  OpBuilder builder(op);
  for (Value result : op->getResults())
    result.replaceAllUsesWith(stablehlo::ConstantOp::create(
        builder, op->getLoc(), cast<ElementsAttr>(zeroOf(result.getType()))));
  op->erase();
}

bool isOtherConstant(Operation *op) {
  auto constant = dyn_cast<stablehlo::ConstantOp>(op);
  DenseElementsAttr zero = constant ? zeroOf(constant.getType()) : nullptr;
  return zero && constant.getValue() != zero;
}

void makeZero(Operation *op) {
  auto constant = cast<stablehlo::ConstantOp>(op);
  constant.setValueAttr(cast<ElementsAttr>(zeroOf(constant.getType())));
}

/// Of constants whose elements differ, the first for all.
bool isManyValued(Operation *op) {
  auto constant = dyn_cast<stablehlo::ConstantOp>(op);
  auto value = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                        : DenseElementsAttr();
  return value && !value.isSplat() && value.getNumElements() > 0 &&
         zeroOf(constant.getType());
}

void makeSplat(Operation *op) {
  auto constant = cast<stablehlo::ConstantOp>(op);
  auto value = cast<DenseElementsAttr>(constant.getValue());
  Attribute first = *value.getValues<Attribute>().begin();
  constant.setValueAttr(
      cast<ElementsAttr>(DenseElementsAttr::get(value.getType(), first)));
}

bool hasNoResults(Operation *op) {
  return isPlain(op) && op->getNumResults() == 0;
}

void erase(Operation *op) { op->erase(); }

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

bool hasForeignAttributes(Operation *op) {
  auto function = dyn_cast<func::FuncOp>(op);
  return !op->getDiscardableAttrDictionary().empty() ||
         (function &&
          (function.getArgAttrsAttr() || function.getResAttrsAttr()));
}

void dropForeignAttributes(Operation *op) {
  op->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  if (auto function = dyn_cast<func::FuncOp>(op)) {
    function.removeArgAttrsAttr();
    function.removeResAttrsAttr();
  }
}

} // namespace

ArrayRef<Reduction> reduce::reductions() {
  static const Reduction table[] = {
      {"results", countResults, dropResults},
      perOperation<hasNoResults, erase>("operations without results"),
      perOperation<hasZeroResults, replaceByZero>("operations to zero"),
      perOperation<hasOperandsLikeResults, replaceByOperands>(
          "operations to operands"),
      perOperation<isOtherConstant, makeZero>("constants to zero"),
      perOperation<isManyValued, makeSplat>("constants to splats"),
      {"arguments", countUnreadArguments, dropArguments},
      perOperation<hasForeignAttributes, dropForeignAttributes>("attributes"),
  };
  return table;
}

void reduce::eraseUnread(ModuleOp module) {
  for (bool changed = true; changed;) {
    changed = false;
    module.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (!isPlain(op) || op->getNumResults() == 0 || !op->use_empty())
        return;
      op->erase();
      changed = true;
    });
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function.isPrivate() &&
          SymbolTable::symbolKnownUseEmpty(function, module)) {
        function.erase();
        changed = true;
      }
  }
}
