//===- Outlook.cpp - The kernels that a step will have --------------------===//
//
// See Outlook.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/Outlook.h"

#include "FormatClasses.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Precision/PrecisionRules.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

/// A number that an operation carries into copies of the step, an i64.
static constexpr llvm::StringLiteral numberAttrName = "precision_number";

/// On a conversion whose result is a second form of a value, a unit.
static constexpr llvm::StringLiteral copyAttrName = "precision_copy";

static bool isDotOrConvolution(Operation *op) {
  return isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op);
}

void precision::numberOperations(func::FuncOp step) {
  int64_t number = 0;
  Builder builder(step.getContext());
  // Not what has no format of its own: grouping merges operations that are
  // equal, and a number makes them differ.
  auto hasFormat = [](Operation *op) {
    return !op->hasTrait<OpTrait::ConstantLike>() &&
           llvm::any_of(op->getResultTypes(), [](Type type) {
             return getElementTypeOrSelf(type).isF32();
           });
  };
  forEachOperation(step.getBody(), [&](Operation *op) {
    if (hasFormat(op) || isDotOrConvolution(op))
      op->setAttr(numberAttrName, builder.getI64IntegerAttr(number++));
  });
}

void precision::removeNumbers(func::FuncOp step) {
  step.walk([](Operation *op) {
    op->removeAttr(numberAttrName);
    op->removeAttr(copyAttrName);
  });
}

void precision::markCopy(Operation *conversion) {
  conversion->setAttr(copyAttrName, UnitAttr::get(conversion->getContext()));
}

int64_t precision::numberOf(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(numberAttrName);
  return number ? number.getInt() : -1;
}

namespace {

class Reader {
public:
  Reader(const target::Target &machine, NarrowFormat narrow,
         std::vector<PlannedKernel> &kernels)
      : machine(machine), narrow(narrow), kernels(kernels) {}

  void read(Region &region, double runs) {
    for (Operation &op : region.getOps()) {
      if (auto group = dyn_cast<step::GroupOp>(op)) {
        addKernel(group, runs);
      } else if (isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(
                     op)) {
        double inside = runs;
        if (isa<stablehlo::WhileOp>(op))
          inside *= double(tripCount(&op).value_or(1));
        for (Region &inner : op.getRegions())
          read(inner, inside);
      }
    }
  }

private:
  void addKernel(step::GroupOp group, double runs) {
    PlannedKernel kernel;
    kernel.runs = runs;
    kernel.kind = group.getKind();
    kernel.roofline = cost::rooflineOf(group, machine);
    kernel.takesAnyFormat =
        kernel.kind != step::GroupKind::library &&
        llvm::all_of(group.bodyOperations(), [](Operation &op) {
          return classify(&op) != OperationClass::generic ||
                 ruleOf(&op).Operands == moves || canWidenOperands(&op);
        });
    bool multipliesNarrow = false;
    for (Operation &op : group.bodyOperations())
      if (isDotOrConvolution(&op)) {
        kernel.product = numberOf(&op);
        multipliesNarrow = llvm::all_of(op.getOperands(), [](Value operand) {
          return stablehlo::isFloatOf16Bits(getElementTypeOrSelf(operand));
        });
      }
    if (kernel.product >= 0) {
      kernel.wide = cost::rooflineOf(group, machine, ElementType::f32);
      // Some calls widen what is narrow, such as convolutions of few channels.
      kernel.narrow =
          multipliesNarrow
              ? kernel.roofline
              : cost::rooflineOf(group, machine, elementTypeOf(narrow));
      kernel.converting =
          cost::secondsOfConversions(group, machine, elementTypeOf(narrow));
    }
    llvm::SmallDenseSet<Value> seen;
    for (auto [operand, bytes] :
         llvm::zip_equal(group.getInputs(), kernel.roofline.operandBytes))
      if (seen.insert(operand).second)
        if (auto read = origin(operand))
          kernel.reads.push_back(measured(*read, operand, bytes));
    ValueRange yielded = group.getBody().front().getTerminator()->getOperands();
    for (auto [result, bytes] :
         llvm::zip_equal(yielded, kernel.roofline.resultBytes)) {
      bool isCopy = false;
      if (auto written = origin(result, &isCopy))
        (isCopy ? kernel.copies : kernel.writes)
            .push_back(measured(*written, result, bytes));
    }
    kernels.push_back(std::move(kernel));
  }

  static Traffic measured(Traffic traffic, Value value, double bytes) {
    traffic.bytes = bytes;
    traffic.wholeBytes = double(storedBytes(value.getType()));
    traffic.isNarrow = stablehlo::isFloatOf16Bits(getElementTypeOrSelf(value));
    return traffic;
  }

  /// What was numbered, behind groups, views, loops and conversions; `isCopy`
  /// is set if a conversion made a second form of it.
  static std::optional<Traffic> origin(Value value, bool *isCopy = nullptr) {
    llvm::SmallDenseSet<Value> passed;
    while (passed.insert(value).second) {
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        Operation *owner = argument.getOwner()->getParentOp();
        if (isa<func::FuncOp>(owner))
          return Traffic{-1, argument.getArgNumber(), 0};
        if (auto loop = dyn_cast<stablehlo::WhileOp>(owner)) {
          value = yieldedBy(loop, argument.getArgNumber());
          continue;
        }
        return std::nullopt;
      }
      auto result = cast<OpResult>(value);
      Operation *op = result.getOwner();
      if (auto group = dyn_cast<step::GroupOp>(op)) {
        value = group.getBody().front().getTerminator()->getOperand(
            result.getResultNumber());
      } else if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
        value = yieldedBy(loop, result.getResultNumber());
      } else if (isa<stablehlo::OptimizationBarrierOp>(op)) {
        value = op->getOperand(result.getResultNumber());
      } else if (step::isCompilerCast(op)) {
        if (isCopy)
          *isCopy |= op->hasAttr(copyAttrName);
        value = op->getOperand(0);
      } else if (int64_t number = numberOf(op); number >= 0) {
        return Traffic{number, result.getResultNumber(), 0};
      } else if (isa<stablehlo::ReshapeOp, stablehlo::TransposeOp>(op)) {
        value = op->getOperand(0);
      } else {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  static Value yieldedBy(stablehlo::WhileOp loop, unsigned index) {
    return loop.getBody().front().getTerminator()->getOperand(index);
  }

  const target::Target &machine;
  NarrowFormat narrow;
  std::vector<PlannedKernel> &kernels;
};

} // namespace

std::vector<PlannedKernel> precision::kernelsOf(func::FuncOp grouped,
                                                const target::Target &machine,
                                                NarrowFormat narrow) {
  std::vector<PlannedKernel> kernels;
  Reader(machine, narrow, kernels).read(grouped.getBody(), 1);
  return kernels;
}

/// The kind of the group that holds this operation alone.
static step::GroupKind kindAlone(Operation *op) {
  using step::GroupKind;
  if (isDotOrConvolution(op))
    return GroupKind::library;
  if (auto reduced = reducedDimensions(op))
    return reduced->trailing ? GroupKind::row : GroupKind::column;
  return classify(op) == OperationClass::generic ? GroupKind::generic
                                                 : GroupKind::elementwise;
}

/// Puts each operation that is wanted into a group of its own.
static void groupEach(func::FuncOp step,
                      llvm::function_ref<bool(Operation *)> isWanted) {
  SmallVector<Operation *> operations;
  forEachOperation(step.getBody(), [&](Operation *op) {
    if (isWanted(op))
      operations.push_back(op);
  });
  for (Operation *op : operations) {
    llvm::SetVector<Value> inputs(op->operand_begin(), op->operand_end());
    visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *operand) {
      inputs.insert(operand->get());
    });
    OpBuilder builder(op);
    auto group =
        step::GroupOp::create(builder, op->getLoc(), op->getResultTypes(),
                              inputs.getArrayRef(), kindAlone(op));
    op->replaceAllUsesWith(group.getOutputs());
    Block *body = builder.createBlock(&group.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    Operation *copy = builder.clone(*op, mapping);
    step::YieldOp::create(builder, op->getLoc(), copy->getResults());
    op->erase();
  }
}

void precision::groupOneByOne(func::FuncOp step) {
  groupEach(step, [](Operation *op) {
    OperationClass which = classify(op);
    return which != OperationClass::view &&
           which != OperationClass::ungrouped &&
           !op->hasTrait<OpTrait::IsTerminator>();
  });
}

void precision::groupProducts(func::FuncOp step) {
  groupEach(step, isDotOrConvolution);
}
