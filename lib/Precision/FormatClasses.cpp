//===- FormatClasses.cpp - Values that share a number format --------------===//
//
// See FormatClasses.h. Classes are sets that are only joined; what speaks
// against 16 bits is noted for a value and holds for its whole class.
//
//===----------------------------------------------------------------------===//

#include "FormatClasses.h"

#include "HeldSums.h"
#include "LossScale.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Precision/PrecisionRules.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

/// Smaller values cost nothing.
constexpr int64_t leastBytes = 64 << 10;

int64_t bytesInF32(Value value) { return 4 * elementCount(shapeOf(value)); }

bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

/// Whether a value repeats the elements of a smaller one.
bool isSpread(Value value) {
  for (Operation *op = value.getDefiningOp(); op;
       op = op->getOperand(0).getDefiningOp()) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      return true;
    if (isa<stablehlo::BroadcastInDimOp>(op)) {
      if (elementCount(shapeOf(op->getOperand(0))) <
          elementCount(shapeOf(op->getResult(0))))
        return true;
    } else if (!isa<stablehlo::ReshapeOp, stablehlo::TransposeOp>(op)) {
      return false;
    }
  }
  return false;
}

bool isZero(Value value) {
  while (auto spread = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    value = spread.getOperand();
  DenseElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
         isa<FloatType>(elements.getElementType()) &&
         elements.getSplatValue<APFloat>().isZero();
}

/// Notes of each value the first value that is computed by the same expression.
class EqualExpressions {
public:
  void add(Operation *op) {
    if (isa<stablehlo::OptimizationBarrierOp, step::ShardingConstraintOp>(op)) {
      for (auto [operand, result] :
           llvm::zip_equal(op->getOperands(), op->getResults()))
        first[result] = firstOf(operand);
      return;
    }
    if (op->getNumResults() == 0 ||
        isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
      return;
    size_t hash = OperationEquivalence::computeHash(
        op,
        [&](Value operand) {
          return llvm::hash_value(firstOf(operand).getAsOpaquePointer());
        },
        OperationEquivalence::ignoreHashValue, flags);
    for (Operation *other : known[hash])
      if (OperationEquivalence::isEquivalentTo(
              other, op,
              [&](Value a, Value b) {
                return success(firstOf(a) == firstOf(b));
              },
              nullptr, flags)) {
        for (auto [before, result] :
             llvm::zip_equal(other->getResults(), op->getResults()))
          first[result] = before;
        return;
      }
    known[hash].push_back(op);
  }
  Value firstOf(Value value) const {
    auto found = first.find(value);
    return found == first.end() ? value : found->second;
  }

private:
  /// Attributes that change nothing, such as numbers, do not count.
  static constexpr auto flags = OperationEquivalence::Flags(
      unsigned(OperationEquivalence::IgnoreLocations) |
      unsigned(OperationEquivalence::IgnoreDiscardableAttrs));

  llvm::DenseMap<Value, Value> first;
  llvm::DenseMap<size_t, SmallVector<Operation *, 1>> known;
};

/// Whether it repeats or moves a constant with finite elements that are
/// infinite in the format.
bool holdsBeyond(NarrowFormat format, Value value) {
  value = rootOfMovement(value);
  while (auto spread = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    value = rootOfMovement(spread.getOperand());
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) ||
      !isa<FloatType>(elements.getElementType()))
    return false;
  auto isBeyond = [&](const APFloat &number) {
    return number.isFinite() && nearestIn(format, number).isInfinity();
  };
  if (elements.isSplat())
    return isBeyond(elements.getSplatValue<APFloat>());
  return llvm::any_of(elements.getValues<APFloat>(), isBeyond);
}

/// Of each value the products that it is proportional to, element by element.
/// Terms that share one are parts of one contribution, such as those of an
/// activation's derivative, of which each has the gradient as a factor.
class SharedFactors {
public:
  void add(Operation *op) {
    if (op->getNumResults() != 1 || !isF32Tensor(op->getResult(0)))
      return;
    Set &made = factors[op->getResult(0)];
    if (ruleOf(op).Operands == multiplies)
      made.insert(op->getResult(0));
    else if (isa<stablehlo::MultiplyOp>(op))
      for (Value operand : op->getOperands())
        made.insert_range(of(operand));
    else if (isa<stablehlo::AddOp, stablehlo::SubtractOp>(op))
      made = shared(op);
    else if (isa<stablehlo::NegateOp, stablehlo::DivideOp,
                 stablehlo::ReshapeOp>(op))
      made = of(op->getOperand(0));
  }

  /// Whether both operands have a factor in common.
  bool areIn(Operation *sum) const { return !shared(sum).empty(); }

private:
  using Set = llvm::SmallSetVector<Value, 4>;

  Set of(Value value) const { return factors.lookup(value); }
  Set shared(Operation *sum) const {
    Set both = of(sum->getOperand(0));
    const Set other = of(sum->getOperand(1));
    both.remove_if([&](Value each) { return !other.contains(each); });
    return both;
  }

  llvm::DenseMap<Value, Set> factors;
};

class Classifier {
public:
  Classifier(func::FuncOp step, FormatPolicy &policy, NarrowFormat narrow)
      : step(step), policy(policy), narrow(narrow), scale(lossScaleOf(step)) {}

  void run() {
    for (BlockArgument argument : step.getArguments()) {
      enter(argument);
      if (known(argument))
        arguments.insert(argument);
      // So that a pattern that names one has matched.
      if (auto name = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        step::nameAttrName))
        policy.ofArgument(name.getValue());
      auto role = step.getArgAttrOfType<step::RoleAttr>(argument.getArgNumber(),
                                                        step::roleAttrName);
      if (role && role.getValue() == step::Role::optimizer_state &&
          argument != scale)
        updates.insert(argument);
    }
    forEachOperation(step.getBody(), [&](Operation *op) {
      for (Region &region : op->getRegions())
        if (!stablehlo::hasElementRegions(op))
          for (BlockArgument argument : region.getArguments())
            enter(argument);
      for (Value result : op->getResults())
        if (!isConstant(result))
          enter(result);
    });
    forEachOperation(step.getBody(), [&](Operation *op) { relate(op); });
    forEachOperation(step.getBody(), [&](Operation *op) { judge(op); });
    for (Value argument : arguments)
      keepWide(argument, "an argument has the type that users see");
  }

  SmallVector<Value> values; // in program order
  llvm::EquivalenceClasses<void *> sets;
  llvm::DenseMap<Value, std::string> whyWide;
  llvm::DenseSet<Value> wished;
  SmallVector<Product, 0> products;

private:
  void enter(Value value) {
    if (!isF32Tensor(value))
      return;
    values.push_back(value);
    sets.insert(value.getAsOpaquePointer());
  }
  bool known(Value value) const {
    return sets.contains(value.getAsOpaquePointer());
  }
  void join(Value a, Value b) {
    if (known(a) && known(b))
      sets.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }
  void keepWide(Value value, StringRef why) {
    if (known(value))
      whyWide.try_emplace(value, why.str());
  }

  /// Joins what the operation moves, and equal expressions.
  void relate(Operation *op) {
    equal.add(op);
    for (Value result : op->getResults())
      join(result, equal.firstOf(result));
    for (OpOperand &operand : op->getOpOperands()) {
      Value to = FormatClasses::movedTo(operand);
      if (!to || !isF32Tensor(to) || !isF32Tensor(operand.get()))
        continue;
      if (isConstant(operand.get())) {
        if (!isExactIn(narrow, operand.get()))
          keepWide(
              to,
              ("a constant in it is not a number of " + nameOf(narrow)).str());
        continue;
      }
      // What is picked from a parameter, or carried from one, is a value of its
      // own; in other views the parameter itself is read.
      if (arguments.contains(operand.get()) &&
          isa<stablehlo::GatherOp, stablehlo::WhileOp, stablehlo::ConcatenateOp,
              stablehlo::DynamicUpdateSliceOp>(op))
        continue;
      join(operand.get(), to);
      // The other places of a value that a loop carries.
      if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
        unsigned index = operand.getOperandNumber();
        for (Region &region : loop->getRegions())
          join(region.getArgument(index), to);
      }
    }
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
      for (Region &region : loop->getRegions())
        for (auto [argument, result] :
             llvm::zip_equal(region.getArguments(), loop->getResults()))
          join(argument, result);
  }

  void judge(Operation *op) {
    const PrecisionRule &rule = ruleOf(op);
    followUpdates(op);
    sharedFactors.add(op);
    Wish wish = policy.of(op);
    for (Value sum : heldSums(op))
      keepWide(sum, "a sum is held in f32 until its last term is added");
    for (Value result : op->getResults()) {
      if (!known(result))
        continue;
      if (wish == Wish::f32)
        keepWide(result, "the policy keeps it f32");
      else if (wish == Wish::narrow)
        wished.insert(result);
      else
        judgeResult(op, result, rule);
    }
    for (OpOperand &operand : op->getOpOperands())
      judgeOperand(op, operand, rule);
    if (rule.Operands == multiplies && isF32Tensor(op->getOperand(0)) &&
        isF32Tensor(op->getOperand(1)))
      products.push_back({op, whyProductIsWide(op, wish)});
  }

  void judgeResult(Operation *op, Value result, const PrecisionRule &rule) {
    if (rule.Result == wide ||
        (rule.Result == storedFirst && result != op->getResult(0)))
      return keepWide(result, ("the rule of " + op->getName().getStringRef() +
                               " keeps it f32")
                                  .str());
    if (updates.contains(result))
      return keepWide(result, "it belongs to the optimizer's arithmetic");
    if (statistics.contains(result))
      return keepWide(result, "it follows from sums alone");
    if (isa<stablehlo::AddOp, stablehlo::SubtractOp>(op) &&
        !isSpread(op->getOperand(0)) && !isSpread(op->getOperand(1)) &&
        !sharedFactors.areIn(op))
      return keepWide(result, "it is a sum of tensors");
    // The numbers that stand for minus infinity in masks fit into bf16.
    if (narrow == NarrowFormat::f16 &&
        isa<stablehlo::SelectOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
            stablehlo::ClampOp>(op) &&
        llvm::any_of(op->getOperands(), [&](Value operand) {
          return holdsBeyond(narrow, operand);
        }))
      return keepWide(result, "a constant in it is beyond the range of f16");
    if (isa<stablehlo::ConvertOp>(op)) {
      Type from = elementOf(op->getOperand(0));
      if (isa<IntegerType>(from) && !from.isInteger(1))
        keepWide(result, "whole numbers need all their digits");
    }
  }

  void judgeOperand(Operation *op, OpOperand &operand,
                    const PrecisionRule &rule) {
    Value value = operand.get();
    if (isa<func::ReturnOp>(op))
      return keepWide(value, "a result has the type that users see");
    // Rounded to f16, the magnitude of a finite gradient may be infinite.
    if (auto largest = value.getDefiningOp<stablehlo::ReduceOp>();
        scale && largest && isa<stablehlo::IsFiniteOp>(op))
      keepWide(largest->getOperand(0), "it says whether a gradient is finite");
    if (isScaled(op))
      return keepWide(value, "the loss's scale is not in it yet");
    StringRef name = op->getName().getStringRef();
    bool picksByValue = isa<stablehlo::ReduceOp>(op) && op->getNumResults() > 1;
    if (rule.Operands == keeps || picksByValue)
      return keepWide(value, (name + " reads it").str());
    if (rule.Operands == compares && !isZero(op->getOperand(0)) &&
        !isZero(op->getOperand(1)))
      return keepWide(value, "it is compared with another number than zero");
    if (isa<stablehlo::ConvertOp>(op) &&
        isa<IntegerType>(elementOf(op->getResult(0))))
      return keepWide(value, "a whole number is made of it");
  }

  /// Whether the scale of the loss enters here.
  bool isScaled(Operation *op) const {
    return scale && isa<stablehlo::MultiplyOp>(op) &&
           llvm::any_of(op->getOperands(), [&](Value operand) {
             auto spread = operand.getDefiningOp<stablehlo::BroadcastInDimOp>();
             return (spread ? spread.getOperand() : operand) == scale;
           });
  }

  /// Whether it is the factor by which the scale of the loss leaves.
  bool isReciprocalOfScale(Operation *op) const {
    return scale && isa<stablehlo::DivideOp>(op) && op->getOperand(1) == scale;
  }

  /// Notes what follows from sums alone, and what follows from the optimizer's
  /// state. What the scale has left belongs to the optimizer, too: it would be
  /// too small for the format that gradients are scaled for.
  void followUpdates(Operation *op) {
    auto in = [&](const llvm::DenseSet<Value> &set) {
      return [&set](Value value) { return set.contains(value); };
    };
    bool isUpdate =
        isReciprocalOfScale(op) || llvm::any_of(op->getOperands(), in(updates));
    bool isStatistic =
        isa<stablehlo::ReduceOp>(op) ||
        ((ruleOf(op).Operands == computes || ruleOf(op).Operands == moves) &&
         llvm::any_of(op->getOperands(), in(statistics)) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return statistics.contains(operand) || isSpread(operand) ||
                  !isF32Tensor(operand);
         }));
    for (Value result : op->getResults()) {
      if (isUpdate)
        updates.insert(result);
      if (isStatistic)
        statistics.insert(result);
    }
  }

  std::string whyProductIsWide(Operation *op, Wish wish) {
    if (wish == Wish::f32)
      return "the policy keeps it f32";
    for (Value operand : op->getOperands()) {
      if (wish != Wish::narrow && updates.contains(operand))
        return "it belongs to the optimizer's arithmetic";
      if (holdsBeyond(narrow, operand))
        return ("a constant in it is beyond the range of " + nameOf(narrow))
            .str();
      Value root = rootOfMovement(operand);
      if (auto argument = dyn_cast<BlockArgument>(root);
          argument && arguments.contains(root))
        if (auto name = step.getArgAttrOfType<StringAttr>(
                argument.getArgNumber(), step::nameAttrName))
          if (policy.ofArgument(name.getValue()) == Wish::f32)
            return ("the policy keeps " + name.getValue() + " f32").str();
    }
    return "";
  }

  func::FuncOp step;
  FormatPolicy &policy;
  NarrowFormat narrow;
  Value scale; // of the loss; null if it is not scaled
  EqualExpressions equal;
  SharedFactors sharedFactors;
  llvm::SetVector<Value> arguments;
  llvm::DenseSet<Value> updates, statistics;
};

} // namespace

bool precision::isF32Tensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32();
}

bool precision::isExactIn(NarrowFormat format, Value constant) {
  DenseElementsAttr elements;
  if (!matchPattern(constant, m_Constant(&elements)) ||
      !isa<FloatType>(elements.getElementType()))
    return false;
  auto isExact = [&](const APFloat &number) {
    APFloat again = nearestIn(format, number);
    bool losesInfo;
    again.convert(number.getSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    return again.bitwiseIsEqual(number);
  };
  if (elements.isSplat())
    return isExact(elements.getSplatValue<APFloat>());
  return llvm::all_of(elements.getValues<APFloat>(), isExact);
}

Value precision::rootOfMovement(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<stablehlo::TransposeOp, stablehlo::ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

void precision::forEachOperation(Region &region,
                                 function_ref<void(Operation *)> visit) {
  for (Block &block : region)
    for (Operation &op : block) {
      visit(&op);
      if (!stablehlo::hasElementRegions(&op))
        for (Region &inner : op.getRegions())
          forEachOperation(inner, visit);
    }
}

Value FormatClasses::movedTo(OpOperand &operand) {
  Operation *op = operand.getOwner();
  unsigned index = operand.getOperandNumber();
  if (isa<stablehlo::WhileOp, stablehlo::OptimizationBarrierOp>(op))
    return op->getResult(index);
  if (isa<stablehlo::ReturnOp>(op)) {
    Operation *parent = op->getParentOp();
    bool isCondition = isa<stablehlo::WhileOp>(parent) &&
                       op->getParentRegion()->getRegionNumber() == 0;
    return stablehlo::hasElementRegions(parent) || isCondition
               ? Value()
               : parent->getResult(index);
  }
  if (auto spread = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    if (!isConstant(operand.get()) && isSpread(spread))
      return Value();
  bool hasBlocks =
      op->getNumRegions() != 0 && !stablehlo::hasElementRegions(op);
  if (ruleOf(op).Operands != moves || op->getNumResults() != 1 || hasBlocks)
    return Value();
  return op->getResult(0);
}

FormatClasses::FormatClasses(func::FuncOp step, FormatPolicy &policy,
                             NarrowFormat narrow)
    : narrowFormat(narrow) {
  Classifier classifier(step, policy, narrow);
  classifier.run();
  multiplications = std::move(classifier.products);
  llvm::DenseMap<void *, int> numbers;
  for (Value value : classifier.values) {
    void *leader = classifier.sets.getLeaderValue(value.getAsOpaquePointer());
    auto [entry, isNew] = numbers.try_emplace(leader, int(all.size()));
    if (isNew)
      all.emplace_back();
    FormatClass &owner = all[entry->second];
    classes_[value] = entry->second;
    owner.members.push_back(value);
    owner.bytes = std::max(owner.bytes, bytesInF32(value));
    owner.isWished |= classifier.wished.contains(value);
    if (auto why = classifier.whyWide.find(value);
        why != classifier.whyWide.end() && owner.whyWide.empty())
      owner.whyWide = why->second;
  }
  for (FormatClass &each : all)
    if (each.whyWide.empty() && !each.isWished && each.bytes < leastBytes)
      each.whyWide = "it is smaller than 64 KiB";
}

void FormatClasses::keepAllWide(StringRef why) {
  for (FormatClass &each : all)
    if (each.whyWide.empty())
      each.whyWide = why.str();
  for (Product &product : multiplications)
    if (product.whyWide.empty())
      product.whyWide = why.str();
}
