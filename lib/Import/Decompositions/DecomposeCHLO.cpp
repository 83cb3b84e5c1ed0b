//===- DecomposeCHLO.cpp - Client operations in terms of StableHLO --------===//
//
// Looks each operation of the dialect up in the tables of expansions. What has
// no row and is not kept is reported, all of it, as unsupported.
//
//===----------------------------------------------------------------------===//

#include "DecomposeCHLO.h"
#include "ElementMath.h"

#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringMap.h"

namespace tenon::importer {
#define GEN_PASS_DEF_DECOMPOSECHLOPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::stablehlo;
namespace chlo = tenon::chlo;

namespace {

/// `value` in `shape`: its dimensions are `dims` of the result, or the last
/// ones where nothing else is said.
Value broadcastTo(ImplicitLocOpBuilder &builder, Value value,
                  ArrayRef<int64_t> shape,
                  std::optional<ArrayRef<int64_t>> dims = std::nullopt) {
  RankedTensorType type = typeOf(value);
  if (type.getShape() == shape)
    return value;
  auto rank = int64_t(shape.size());
  SmallVector<int64_t> trailing;
  if (!dims || int64_t(dims->size()) != type.getRank()) {
    trailing = llvm::to_vector(llvm::seq<int64_t>(rank - type.getRank(), rank));
    dims = trailing;
  }
  return BroadcastInDimOp::create(builder, type.clone(shape), value, *dims);
}

/// An operation that broadcasts: the same operation, in StableHLO or in this
/// dialect, on operands that have been broadcast.
Value expandBroadcast(ImplicitLocOpBuilder &builder, Operation *op,
                      StringRef base) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  ArrayRef<int64_t> shape = result.getShape();
  std::optional<ArrayRef<int64_t>> dims;
  if (auto given = op->getAttrOfType<DenseI64ArrayAttr>("broadcast_dimensions"))
    dims = given.asArrayRef();
  if (auto select = dyn_cast<chlo::BroadcastSelectOp>(op)) {
    Value predicate = select.getPred();
    if (typeOf(predicate).getRank() > 0)
      predicate = broadcastTo(builder, predicate, shape);
    return SelectOp::create(builder, predicate,
                            broadcastTo(builder, select.getOnTrue(), shape),
                            broadcastTo(builder, select.getOnFalse(), shape));
  }
  // The dimensions are those of the operand of lower rank.
  auto operand = [&](unsigned index) {
    Value value = op->getOperand(index);
    bool lower = typeOf(value).getRank() < result.getRank();
    return broadcastTo(builder, value, shape, lower ? dims : std::nullopt);
  };
  Value lhs = operand(0), rhs = operand(1);
  if (auto compare = dyn_cast<chlo::BroadcastCompareOp>(op)) {
    auto direction = symbolizeComparisonDirection(
        chlo::stringifyComparisonDirection(compare.getComparisonDirection()));
    std::optional<ComparisonType> type;
    if (compare.getCompareType())
      type = symbolizeComparisonType(
          chlo::stringifyComparisonType(*compare.getCompareType()));
    return CompareOp::create(builder, lhs, rhs, *direction, type);
  }
  for (StringRef dialect : {"stablehlo.", "chlo."}) {
    std::string name = (dialect + base).str();
    if (!RegisteredOperationName::lookup(name, op->getContext()))
      continue;
    OperationState state(op->getLoc(), name, ValueRange{lhs, rhs}, {result});
    return builder.create(state)->getResult(0);
  }
  return nullptr;
}

class DecomposeCHLO
    : public tenon::importer::impl::DecomposeCHLOPassBase<DecomposeCHLO> {
public:
  using DecomposeCHLOPassBase::DecomposeCHLOPassBase;

private:
  LogicalResult initialize(MLIRContext *) override {
    for (ArrayRef<ExpansionRow> rows :
         {elementaryExpansions(), specialExpansions(), exactExpansions()})
      for (const ExpansionRow &row : rows)
        table[row.operation] = &row;
    return success();
  }

  void runOnOperation() override {
    SmallVector<Operation *> worklist;
    getOperation().walk([&](Operation *op) {
      if (isa<chlo::CHLODialect>(op->getDialect()))
        worklist.push_back(op);
    });
    llvm::MapVector<StringRef, SmallVector<Operation *>> unsupported;
    int64_t expanded = 0;
    // Operations inside a region come before the operation that has it.
    for (Operation *op : worklist) {
      if (isa<chlo::TopKOp, chlo::ErfOp, chlo::ErfcOp, chlo::ErfInvOp>(op))
        continue;
      if (isKept(op))
        continue;
      ++expanded;
      if (auto scan = dyn_cast<chlo::ScanOp>(op)) {
        expandScan(scan);
        continue;
      }
      if (auto dot = dyn_cast<chlo::RaggedDotOp>(op)) {
        expandRaggedDot(dot);
        continue;
      }
      // An expansion may be an operation of the dialect again.
      while (op) {
        ImplicitLocOpBuilder builder(op->getLoc(), op);
        Value value = expand(builder, op);
        if (!value && isLeftToSplit(op))
          break;
        if (!value) {
          unsupported[op->getName().getStringRef()].push_back(op);
          break;
        }
        op->getResult(0).replaceAllUsesWith(value);
        bool isOperand = llvm::is_contained(op->getOperands(), value);
        op->erase();
        Operation *made = isOperand ? nullptr : value.getDefiningOp();
        op =
            made && isa<chlo::CHLODialect>(made->getDialect()) ? made : nullptr;
        if (op && isKept(op))
          break;
      }
    }
    for (auto &[name, ops] : unsupported) {
      InFlightDiagnostic error = ops.front()->emitError()
                                 << "'" << name << "' on "
                                 << ops.front()->getOperandTypes()
                                 << " has no expansion in StableHLO";
      if (ops.size() > 1)
        error << "; found " << ops.size();
    }
    if (!unsupported.empty()) {
      getOperation()->setAttr(unsupportedAttrName,
                              UnitAttr::get(&getContext()));
      return signalPassFailure();
    }
    if (expanded)
      remark::passed(getOperation().getLoc(),
                     remark::RemarkOpts::name("decomposed")
                         .category("import-decompose-chlo")
                         .function(getOperation().getSymName()))
          << remark::add("{0} operations written out in StableHLO", expanded);
  }

  /// Functions of elements that the interpreter computes itself.
  bool isKept(Operation *op) {
    return keepFunctions && table.contains(op->getName().getStringRef());
  }

  /// Functions of complex elements without a formula here: SplitComplex makes
  /// functions of real elements of them.
  bool isLeftToSplit(Operation *op) {
    return table.contains(op->getName().getStringRef()) &&
           isa<ComplexType>(getElementTypeOrSelf(op->getOperand(0)));
  }

  Value expand(ImplicitLocOpBuilder &builder, Operation *op) {
    if (auto constant = dyn_cast<chlo::ConstantOp>(op))
      return ConstantOp::create(builder, constant.getValue());
    if (auto constant = dyn_cast<chlo::ConstantLikeOp>(op))
      return ConstantOp::create(builder,
                                cast<ElementsAttr>(DenseElementsAttr::get(
                                    cast<RankedTensorType>(constant.getType()),
                                    Attribute(constant.getValue()))));
    StringRef name = op->getName().stripDialect();
    if (name.consume_front("broadcast_"))
      return expandBroadcast(builder, op, name);
    auto row = table.find(op->getName().getStringRef());
    if (row == table.end())
      return nullptr;
    return expandByTable(builder, op, *row->second);
  }

  Value expandByTable(ImplicitLocOpBuilder &builder, Operation *op,
                      const ExpansionRow &row) {
    ElementMath math(builder,
                     cast<RankedTensorType>(op->getResult(0).getType()));
    SmallVector<Value> operands(op->getOperands());
    if (!row.widen)
      return row.expand(math, operands);
    auto element = dyn_cast<FloatType>(math.type.getElementType());
    if (!element)
      return nullptr;
    if (element.getWidth() >= 32)
      return row.expand(math, operands);
    ElementMath wide = math.on(builder.getF32Type());
    for (Value &operand : operands)
      operand = wide.convert(operand);
    return math.convert(row.expand(wide, operands));
  }

  llvm::StringMap<const ExpansionRow *> table;
};

} // namespace
