//===- CountOverflows.cpp - Count what f16 was too small for --------------===//
//
// What is counted is read off the value where it is made, row by row, so that
// the kernel that makes it counts as well. In a loop every round adds to what
// the loop carries of each row. Whole numbers have the same sum in any order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/Passes.h"

#include "FormatClasses.h"
#include "LossScale.h"
#include "OverflowRisk.h"

#include "tenon/Analysis/SourceText.h"
#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/RebuildLoop.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Format/Index.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"

namespace tenon::precision {
#define GEN_PASS_DEF_COUNTOVERFLOWSPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

/// A value that is stored in f16.
struct Stored {
  Value narrow;
  /// What it was rounded from; null if it was computed in 16 bits.
  Value wide;
};

bool isF16Tensor(Value value) { return getElementTypeOrSelf(value).isF16(); }

/// Whether a product reads or gives 16 bits by the choice of formats, and not
/// because the user wrote it so.
bool isLowered(Operation *product) {
  auto isRounded = [](Value operand) {
    Operation *writer = rootOfMovement(operand).getDefiningOp();
    return writer && step::isCompilerCast(writer);
  };
  return llvm::any_of(product->getOperands(), isRounded) ||
         llvm::any_of(product->getUsers(), step::isCompilerCast);
}

std::optional<Stored> storedBy(Operation *op, const OverflowRisk &risk) {
  if (op->getNumResults() != 1 || !isF16Tensor(op->getResult(0)))
    return std::nullopt;
  Value narrow = op->getResult(0);
  if (step::isCompilerCast(op)) {
    Value wide = op->getOperand(0);
    return risk.mayOverflow(wide) ? std::optional(Stored{narrow, wide})
                                  : std::nullopt;
  }
  bool isProduct = isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op);
  return isProduct && isLowered(op) && risk.mayOverflow(narrow)
             ? std::optional(Stored{narrow, Value()})
             : std::nullopt;
}

/// Whether what decides about a loop's next round computes it.
bool isInCondition(Operation *op) {
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion())
    if (isa_and_nonnull<stablehlo::WhileOp>(region->getParentOp()) &&
        region->getRegionNumber() == 0)
      return true;
  return false;
}

class CounterWriter {
public:
  explicit CounterWriter(func::FuncOp step)
      : step(step), builder(step.getLoc(), step.getContext()),
        end(step.getBody().front().getTerminator()) {}

  void count(const Stored &stored) {
    std::string name = nameOf(stored);
    builder.setLoc(stored.narrow.getLoc());
    Value total = sumOfAll(exported(countOfRows(stored)));
    auto type = RankedTensorType::get({}, builder.getI64Type());
    BlockArgument before = step::addHiddenState(
        step, (StringRef(format::overflowName) + name).str(),
        cast<SplatElementsAttr>(DenseElementsAttr::get(type, int64_t(0))),
        step::Role::counter, "elements that were infinite in f16");
    builder.setInsertionPoint(end);
    Value more = stablehlo::ConvertOp::create(builder, type, total);
    end->setOperand(end->getNumOperands() - 1,
                    stablehlo::AddOp::create(builder, before, more));
  }

private:
  static RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }

  /// What users know the tensor by. Two of the same name get numbers.
  std::string nameOf(const Stored &stored) {
    Value made = stored.wide ? stored.wide : stored.narrow;
    std::string text;
    if (Operation *op = made.getDefiningOp()) {
      text = op->getName().stripDialect().str();
      if (std::string source = sourceOf(op->getLoc()); !source.empty())
        text += " " + source;
    } else {
      auto argument = cast<BlockArgument>(made);
      auto name = argument.getOwner() == &step.getBody().front()
                      ? step.getArgAttrOfType<StringAttr>(
                            argument.getArgNumber(), step::nameAttrName)
                      : StringAttr();
      text = name ? name.str() : "carried " + sourceOf(argument.getLoc());
    }
    int number = ++names[text];
    return number == 1 ? text : text + " (" + std::to_string(number) + ")";
  }

  Value infinity(RankedTensorType type) {
    return stablehlo::ConstantOp::create(
        builder,
        DenseElementsAttr::get(type, APFloat::getInf(APFloat::IEEEsingle())));
  }

  Value compareWithInfinity(Value value,
                            stablehlo::ComparisonDirection direction) {
    Value size = stablehlo::AbsOp::create(builder, value);
    return stablehlo::CompareOp::create(builder, size, infinity(typeOf(value)),
                                        direction);
  }

  /// Whether elements are infinite because the program wants them so, as those
  /// of a mask are.
  static bool mayBeInfiniteAnyway(Value wide) {
    Operation *op = wide ? wide.getDefiningOp() : nullptr;
    return op && llvm::any_of(op->getOperands(), [](Value operand) {
             return repeatsInfinity(operand);
           });
  }

  /// Per row along the last dimension, an i32. Where the value is all that is
  /// known, and where the library that computes it writes it, its infinite
  /// elements count; what was infinite before it was rounded does not count
  /// where that is expected.
  Value countOfRows(const Stored &stored) {
    builder.setInsertionPointAfterValue(stored.narrow);
    using stablehlo::ComparisonDirection;
    RankedTensorType type = typeOf(stored.narrow);
    auto widened = stablehlo::ConvertOp::create(
        builder, type.clone(builder.getF32Type()), stored.narrow);
    widened->setAttr(step::castAttrName, builder.getUnitAttr());
    Value counts = compareWithInfinity(widened, ComparisonDirection::EQ);
    if (mayBeInfiniteAnyway(stored.wide))
      counts = stablehlo::AndOp::create(
          builder, counts,
          compareWithInfinity(stored.wide, ComparisonDirection::LT));
    Value ones = stablehlo::ConvertOp::create(
        builder, type.clone(builder.getI32Type()), counts);
    if (type.getRank() == 0)
      return ones;
    Value narrow = stored.narrow;
    bool isInLoop = narrow.getParentBlock() != end->getBlock();
    return isInLoop ? sumOver(ones, {type.getRank() - 1}) : sumOfAll(ones);
  }

  Value sumOfAll(Value value) {
    int64_t rank = typeOf(value).getRank();
    return rank == 0 ? value : sumOver(value, llvm::to_vector(llvm::seq(rank)));
  }

  Value sumOver(Value value, ArrayRef<int64_t> dimensions) {
    SmallVector<int64_t> kept;
    for (auto [dimension, extent] : llvm::enumerate(typeOf(value).getShape()))
      if (!llvm::is_contained(dimensions, int64_t(dimension)))
        kept.push_back(extent);
    Type element = builder.getI32Type();
    auto number = RankedTensorType::get({}, element);
    auto reduce = stablehlo::ReduceOp::create(
        builder, RankedTensorType::get(kept, element), value,
        stablehlo::zeros(builder, number),
        builder.getDenseI64ArrayAttr(dimensions));
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&reduce.getBody());
    Value a = body->addArgument(number, builder.getLoc()),
          b = body->addArgument(number, builder.getLoc());
    Value sum = stablehlo::AddOp::create(builder, a, b);
    stablehlo::ReturnOp::create(builder, sum);
    return reduce->getResult(0);
  }

  /// A count of the step's own block: over all rounds of the loops around it,
  /// and none of a branch that was not taken.
  Value exported(Value count) {
    while (count.getParentBlock() != end->getBlock()) {
      Operation *around = count.getParentBlock()->getParentOp();
      builder.setInsertionPoint(around);
      auto loop = dyn_cast<stablehlo::WhileOp>(around);
      count = loop ? overRounds(loop, count) : ofBranches(around, count);
      around->erase();
    }
    builder.setInsertionPointAfterValue(count);
    return count;
  }

  Value overRounds(stablehlo::WhileOp loop, Value count) {
    Value start = stablehlo::zeros(builder, typeOf(count));
    llvm::BitVector dropped(loop->getNumOperands());
    auto rebuilt = stablehlo::rebuildLoop(
        loop, dropped, start,
        [&](ValueRange carried, OpBuilder &inside) -> SmallVector<Value> {
          return {stablehlo::AddOp::create(inside, builder.getLoc(),
                                           carried.front(), count)};
        });
    return rebuilt->getResults().back();
  }

  /// Has the conditional give a further result.
  Value ofBranches(Operation *conditional, Value count) {
    SmallVector<Type> types(conditional->getResultTypes());
    types.push_back(count.getType());
    for (Region &region : conditional->getRegions()) {
      Operation *last = region.front().getTerminator();
      Value given = count;
      if (&region != count.getParentRegion()) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(last);
        given = stablehlo::zeros(builder, typeOf(count));
      }
      last->insertOperands(last->getNumOperands(), given);
    }
    OperationState state(conditional->getLoc(), conditional->getName(),
                         conditional->getOperands(), types,
                         conditional->getAttrs());
    for (unsigned i = 0; i < conditional->getNumRegions(); ++i)
      state.addRegion();
    Operation *made = builder.create(state);
    for (auto [to, from] :
         llvm::zip_equal(made->getRegions(), conditional->getRegions()))
      to.takeBody(from);
    conditional->replaceAllUsesWith(made->getResults().drop_back());
    return made->getResults().back();
  }

  func::FuncOp step;
  ImplicitLocOpBuilder builder;
  Operation *end;
  llvm::StringMap<int> names;
};

struct CountOverflows
    : public precision::impl::CountOverflowsPassBase<CountOverflows> {
  using CountOverflowsPassBase::CountOverflowsPassBase;

  void runOnOperation() override {
    func::FuncOp step = getOperation();
    if (step.isDeclaration())
      return;
    SmallVector<Stored> found;
    OverflowRisk risk(step);
    forEachOperation(step.getBody(), [&](Operation *op) {
      if (auto stored = storedBy(op, risk); stored && !isInCondition(op))
        found.push_back(*stored);
    });
    CounterWriter writer(step);
    for (const Stored &stored : found) {
      writer.count(stored);
      remark::passed(stored.narrow.getLoc(),
                     remark::RemarkOpts::name("Counted").category(
                         "precision-count-overflows"))
          << remark::add("{0}", "infinite elements are counted");
    }
  }
};

} // namespace

std::vector<std::string> precision::countedTensors(func::FuncOp step) {
  const std::string prefix =
      std::string(format::hiddenPrefix) + std::string(format::overflowName);
  std::vector<std::string> tensors;
  for (unsigned index = 0; index < step.getNumArguments(); ++index)
    if (auto name =
            step.getArgAttrOfType<StringAttr>(index, step::nameAttrName))
      if (StringRef tensor = name; tensor.consume_front(prefix))
        tensors.push_back(tensor.str());
  return tensors;
}
