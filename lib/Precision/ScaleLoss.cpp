//===- ScaleLoss.cpp - Loss scaling inside a step -------------------------===//
//
// Looks for the values where the scale enters (ScaleExponents.h says what is
// asked of them), multiplies there by a scale that is kept as hidden state, and
// by its reciprocal where the scale leaves. Then it has a step whose gradients
// are not all finite leave all state but the scale as it was, and has the scale
// follow PyTorch's GradScaler.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/Passes.h"

#include "FormatClasses.h"
#include "LossScale.h"
#include "ScaleExponents.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/Gradients.h"
#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Format/Index.h"

#include "mlir/IR/Remarks.h"

namespace tenon::precision {
#define GEN_PASS_DEF_SCALELOSSPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

// The defaults of torch.amp.GradScaler.
constexpr float initialScale = 65536, growthFactor = 2, backoffFactor = 0.5;
constexpr int32_t growthInterval = 2000;
/// The largest scale whose reciprocal has all digits.
constexpr float largestScale = 0x1p126f;

/// The name of the scale behind the prefix of hidden state.
constexpr llvm::StringLiteral scaleName = "loss_scale";

SmallVector<Operation *> operationsOf(func::FuncOp step) {
  SmallVector<Operation *> operations;
  forEachOperation(step.getBody(),
                   [&](Operation *op) { operations.push_back(op); });
  return operations;
}

/// Which values others depend on, loops included.
class Dependence {
public:
  /// What `values` depend on, not looking behind those that `isBorder` holds.
  Dependence(ArrayRef<Operation *> operations, ArrayRef<Value> values,
             function_ref<bool(Value)> isBorder) {
    for (Value value : values)
      need(value, isBorder);
    // A loop may need in a later round what comes first in its body.
    for (bool grew = true; grew;) {
      grew = false;
      for (Operation *op : llvm::reverse(operations)) {
        size_t before = needed.size();
        visit(op, isBorder);
        grew |= needed.size() != before && op->getNumRegions() != 0 &&
                !stablehlo::hasElementRegions(op);
      }
    }
  }

  bool contains(Value value) const { return needed.contains(value); }

private:
  void need(Value value, function_ref<bool(Value)> isBorder) {
    if (!isBorder(value))
      needed.insert(value);
  }

  void visit(Operation *op, function_ref<bool(Value)> isBorder) {
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      Block &condition = loop.getCond().front(), &body = loop.getBody().front();
      bool isNeeded = false;
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        if (contains(op->getResult(i)) || contains(body.getArgument(i)) ||
            contains(condition.getArgument(i))) {
          need(op->getOperand(i), isBorder);
          need(body.getTerminator()->getOperand(i), isBorder);
          isNeeded = true;
        }
      if (isNeeded)
        need(condition.getTerminator()->getOperand(0), isBorder);
      return;
    }
    if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) {
      for (OpResult result : op->getResults())
        if (contains(result)) {
          need(op->getOperand(0), isBorder);
          for (Region &region : op->getRegions())
            need(region.front().getTerminator()->getOperand(
                     result.getResultNumber()),
                 isBorder);
        }
      return;
    }
    if (llvm::any_of(op->getResults(),
                     [&](Value result) { return contains(result); })) {
      for (Value operand : op->getOperands())
        need(operand, isBorder);
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (operand.getParentRegion()->isAncestor(op->getParentRegion()))
            need(operand, isBorder);
      });
    }
  }

  llvm::DenseSet<Value> needed;
};

bool noBorder(Value) { return false; }

/// Where the scale enters.
class EntrySearch {
public:
  explicit EntrySearch(func::FuncOp step)
      : step(step), operations(operationsOf(step)) {
    ScaleExponents unscaled(step, {});
    for (auto [parameter, result] : parameterUpdates(step))
      if (isFloatTensor(result->get()) && unscaled.of(result->get()).isForward)
        learned.push_back(result);
    for (Operation *op : operations)
      for (Value result : op->getResults())
        if (unscaled.of(result).isForward && isF32(result))
          candidates.push_back(result);
  }

  /// Parameters that learn from a batch.
  ArrayRef<OpOperand *> parameters() const { return learned; }

  /// Values at which the scale enters; empty if there are none such that every
  /// gradient has exponent 1.
  SmallVector<Value> find() {
    while (seeds.size() < mostSeeds) {
      if (addLatest(/*mustCoverAll=*/true)) {
        extend();
        return seeds;
      }
      if (seeds.empty() && hasOneCotangent())
        break;
      // Several losses: the one that most of the rest comes from, first.
      if (!addLatest(/*mustCoverAll=*/false))
        break;
    }
    return {};
  }

  /// If none was found: where the scale leaves too early with the values that
  /// come closest.
  Operation *whereBroken() const { return broken; }

private:
  static constexpr size_t mostSeeds = 8;
  static constexpr int mostTries = 100;

  static bool isF32(Value value) { return getElementTypeOrSelf(value).isF32(); }

  static bool isNumber(Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements() == 1;
  }

  bool covers(const ScaleExponents &exponents) const {
    return llvm::all_of(learned, [&](OpOperand *result) {
      const ScaleFact &fact = exponents.of(result->get());
      return !fact.isForward && !fact.broken;
    });
  }

  /// What all, or some, of the parameters that no seed serves depend on element
  /// by element: behind a single number, as a norm or a rate, all of them meet.
  SmallVector<Value> ancestors(bool ofAll) const {
    ScaleExponents exponents(step, seeds);
    auto isBorder = [&](Value value) {
      return exponents.isScaled(value) || isNumber(value);
    };
    llvm::DenseMap<Value, unsigned> counts;
    unsigned open = 0;
    for (OpOperand *result : learned) {
      if (!exponents.of(result->get()).isForward || isNumber(result->get()))
        continue;
      ++open;
      Dependence dependence(operations, result->get(), isBorder);
      for (Value candidate : candidates)
        counts[candidate] += dependence.contains(candidate);
    }
    SmallVector<Value> found;
    for (Value candidate : llvm::reverse(candidates))
      if (unsigned count = counts.lookup(candidate);
          open == 0 || (count > 0 && (!ofAll || count == open)))
        found.push_back(candidate);
    return found;
  }

  /// Adds the value that comes last of those that make the seeds enough, or
  /// that most products are scaled with.
  bool addLatest(bool mustCoverAll) {
    Value best;
    int64_t most = ScaleExponents(step, seeds).scaledProducts();
    int tries = 0;
    for (Value candidate : ancestors(mustCoverAll)) {
      if (++tries > mostTries)
        break;
      seeds.push_back(candidate);
      ScaleExponents exponents(step, seeds);
      seeds.pop_back();
      if (mustCoverAll) {
        if (!covers(exponents)) {
          noteBroken(exponents);
          continue;
        }
        best = candidate;
        break;
      }
      bool isBroken = llvm::any_of(learned, [&](OpOperand *result) {
        return exponents.of(result->get()).broken;
      });
      if (!isBroken && exponents.scaledProducts() > most) {
        most = exponents.scaledProducts();
        best = candidate;
      }
    }
    if (best)
      seeds.push_back(best);
    return bool(best);
  }

  /// Whether all parameters depend on a value that no metric does: the gradient
  /// of one loss, which then is not used linearly.
  bool hasOneCotangent() {
    Dependence metrics(operations, metricValues(), noBorder);
    return llvm::any_of(ancestors(/*ofAll=*/true), [&](Value candidate) {
      return !metrics.contains(candidate);
    });
  }

  void noteBroken(const ScaleExponents &exponents) {
    if (exponents.scaledProducts() <= mostBroken)
      return;
    for (OpOperand *result : learned)
      if (Operation *op = exponents.of(result->get()).broken) {
        mostBroken = exponents.scaledProducts();
        broken = op;
        return;
      }
  }

  /// Moves the seed that was added last towards the loss, for as long as more
  /// products are scaled, or as many and it is smaller; never into what the
  /// loss and other metrics are computed from.
  void extend() {
    Value last = seeds.pop_back_val();
    auto with = [&](Value value) {
      seeds.push_back(value);
      ScaleExponents exponents(step, seeds);
      seeds.pop_back();
      return exponents;
    };
    ScaleExponents best = with(last);
    Dependence metrics(operations, metricValues(),
                       [&](Value value) { return best.isScaled(value); });
    Dependence behind(operations, last, noBorder);
    int tries = 0;
    for (Value candidate : llvm::reverse(candidates)) {
      if (!behind.contains(candidate) || metrics.contains(candidate) ||
          candidate == last)
        continue;
      if (++tries > mostTries)
        break;
      ScaleExponents exponents = with(candidate);
      if (!covers(exponents) ||
          exponents.enters().size() > best.enters().size())
        continue;
      auto rank = [](const ScaleExponents &exponents, Value value) {
        return std::pair(-exponents.scaledProducts(),
                         storedBytes(value.getType()));
      };
      if (rank(exponents, candidate) < rank(best, last)) {
        best = std::move(exponents);
        last = candidate;
      }
    }
    seeds.push_back(last);
  }

  /// Results that are no state.
  SmallVector<Value> metricValues() {
    Operation *end = step.getBody().front().getTerminator();
    llvm::DenseSet<int64_t> states;
    for (unsigned index = 0; index < step.getNumArguments(); ++index)
      if (auto successor = step.getArgAttrOfType<IntegerAttr>(
              index, step::successorAttrName))
        states.insert(successor.getInt());
    SmallVector<Value> metrics;
    for (OpOperand &operand : end->getOpOperands())
      if (!states.contains(operand.getOperandNumber()))
        metrics.push_back(operand.get());
    return metrics;
  }

  func::FuncOp step;
  SmallVector<Operation *> operations;
  SmallVector<Value> candidates;
  SmallVector<OpOperand *> learned;
  SmallVector<Value> seeds;
  Operation *broken = nullptr;
  int64_t mostBroken = -1;
};

/// Writes the scale into the step.
class ScaleWriter {
public:
  ScaleWriter(func::FuncOp step, ArrayRef<Value> seeds)
      : step(step), seeds(seeds), exponents(step, seeds),
        builder(step.getContext()) {
    end = step.getBody().front().getTerminator();
    states = end->getNumOperands();
  }

  /// The operation in a loop at which the scale would leave, which no finite
  /// gradient could be asked for; null if there is none.
  Operation *leavesInLoop() const {
    for (OpOperand *operand : exponents.leaves())
      if (operand->getOwner()->getBlock() != end->getBlock() &&
          !llvm::is_contained(seeds, operand->get()))
        return operand->getOwner();
    return nullptr;
  }

  void run() {
    SmallVector<Value> checked = gradients();
    SmallVector<Use> enters = usesOf(exponents.enters()),
                     leaves = usesOf(exponents.leaves());
    auto f32 = RankedTensorType::get({}, builder.getF32Type());
    scale = step::addHiddenState(
        step, scaleName,
        cast<SplatElementsAttr>(
            DenseElementsAttr::get(f32, builder.getF32FloatAttr(initialScale))),
        step::Role::optimizer_state, "the scale of the loss");
    growth = step::addHiddenState(
        step, "loss_scale_growth",
        cast<SplatElementsAttr>(DenseElementsAttr::get(
            RankedTensorType::get({}, builder.getI32Type()), int32_t(0))),
        step::Role::counter, "finite steps since the scale changed");
    builder.setInsertionPointToStart(end->getBlock());
    reciprocal = stablehlo::DivideOp::create(builder, step.getLoc(),
                                             number(1.0f), scale);
    for (const Use &use : enters)
      use.set(scaled(use.get(), scale));
    for (Value seed : seeds)
      enter(seed, leaves, checked);
    for (const Use &use : leaves)
      if (!llvm::is_contained(seeds, use.get()))
        use.set(scaled(use.get(), reciprocal));
    if (reciprocal.use_empty()) // the scale leaves where it enters
      reciprocal.getDefiningOp()->erase();
    builder.setInsertionPoint(end);
    keepState(checked);
  }

private:
  /// An operand, also of an operation that gets more of them.
  struct Use {
    Operation *op;
    unsigned number;

    Value get() const { return op->getOperand(number); }
    void set(Value value) const { op->setOperand(number, value); }
    bool operator==(const Use &) const = default;
  };

  static SmallVector<Use> usesOf(const llvm::SetVector<OpOperand *> &operands) {
    return llvm::map_to_vector(operands, [](OpOperand *operand) {
      return Use{operand->getOwner(), operand->getOperandNumber()};
    });
  }

  /// Has the uses of a seed read it scaled, but for those where it leaves.
  void enter(Value seed, ArrayRef<Use> leaves,
             SmallVectorImpl<Value> &checked) {
    SmallVector<Use> reading;
    for (OpOperand &operand : seed.getUses())
      if (Use use{operand.getOwner(), operand.getOperandNumber()};
          !llvm::is_contained(leaves, use))
        reading.push_back(use);
    Value entered = scaled(seed, scale);
    for (const Use &use : reading)
      use.set(entered);
    llvm::replace(checked, seed, entered);
  }

  /// The value times a factor, once for all who ask.
  Value scaled(Value value, Value factor) {
    Value &known = made[{value, factor}];
    if (known)
      return known;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    if (builder.getInsertionBlock() == end->getBlock() &&
        isa<BlockArgument>(value))
      builder.setInsertionPointAfterValue(reciprocal);
    Location loc = value.getLoc();
    auto type = cast<RankedTensorType>(value.getType());
    Type f32 = builder.getF32Type();
    // In f16 the scale may be infinite, and its reciprocal 0.
    auto computed =
        type.clone(type.getElementType().isF64() ? type.getElementType() : f32);
    Value from = value, by = factor;
    if (computed != type)
      from = stablehlo::ConvertOp::create(builder, loc, computed, from);
    if (!computed.getElementType().isF32())
      by = stablehlo::ConvertOp::create(
          builder, loc, RankedTensorType::get({}, computed.getElementType()),
          by);
    Value product =
        stablehlo::MultiplyOp::create(builder, loc, from, spread(by, computed));
    if (computed != type)
      product = stablehlo::ConvertOp::create(builder, loc, type, product);
    return known = product;
  }

  Value spread(Value value, RankedTensorType type) {
    return type.getRank() == 0 ? value
                               : Value(stablehlo::BroadcastInDimOp::create(
                                     builder, value.getLoc(),
                                     type.clone(getElementTypeOrSelf(value)),
                                     value, builder.getDenseI64ArrayAttr({})));
  }

  Value number(float value) {
    return stablehlo::ConstantOp::create(
        builder, step.getLoc(),
        DenseElementsAttr::get(RankedTensorType::get({}, builder.getF32Type()),
                               builder.getF32FloatAttr(value)));
  }
  Value number(int32_t value) {
    return stablehlo::ConstantOp::create(
        builder, step.getLoc(),
        DenseElementsAttr::get(RankedTensorType::get({}, builder.getI32Type()),
                               value));
  }

  /// The gradients: what leaves, before what is done element by element to one
  /// of them alone.
  SmallVector<Value> gradients() const {
    llvm::SetVector<Value> found;
    for (OpOperand *operand : exponents.leaves()) {
      Value value = operand->get();
      while (Operation *op = value.getDefiningOp()) {
        if (llvm::is_contained(seeds, value) ||
            !isa<stablehlo::MultiplyOp, stablehlo::DivideOp,
                 stablehlo::NegateOp, stablehlo::ReshapeOp,
                 stablehlo::TransposeOp, stablehlo::BroadcastInDimOp>(op))
          break;
        auto source = llvm::find_if(op->getOperands(), [&](Value operand) {
          return exponents.isScaled(operand);
        });
        if (source == op->operand_end())
          break;
        value = *source;
      }
      if (value.getParentBlock() == end->getBlock())
        found.insert(value);
    }
    return found.takeVector();
  }

  /// A number that is finite if all elements are: the largest magnitude.
  Value largest(Value value) {
    Location loc = value.getLoc();
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() != 0) {
      Value size = stablehlo::AbsOp::create(builder, loc, value);
      Value zero = stablehlo::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(
              RankedTensorType::get({}, type.getElementType()),
              builder.getFloatAttr(type.getElementType(), 0)));
      auto dimensions = llvm::to_vector(llvm::seq(type.getRank()));
      auto reduce =
          stablehlo::ReduceOp::create(builder, loc, zero.getType(), size, zero,
                                      builder.getDenseI64ArrayAttr(dimensions));
      OpBuilder::InsertionGuard guard(builder);
      Block *body = builder.createBlock(&reduce.getBody());
      Value a = body->addArgument(zero.getType(), loc),
            b = body->addArgument(zero.getType(), loc);
      Value larger = stablehlo::MaximumOp::create(builder, loc, a, b);
      stablehlo::ReturnOp::create(builder, loc, larger);
      return reduce->getResult(0);
    }
    return value;
  }

  /// Selects between old and new state, and counts.
  void keepState(ArrayRef<Value> checked) {
    Location loc = step.getLoc();
    Value finite;
    for (Value gradient : checked) {
      Value each =
          stablehlo::IsFiniteOp::create(builder, loc, largest(gradient));
      finite = finite
                   ? Value(stablehlo::AndOp::create(builder, loc, finite, each))
                   : each;
    }
    auto select = [&](Value ifFinite, Value otherwise) -> Value {
      return stablehlo::SelectOp::create(
          builder, loc,
          spread(finite, cast<RankedTensorType>(ifFinite.getType())), ifFinite,
          otherwise);
    };
    for (BlockArgument argument : step.getArguments().drop_back(2))
      if (auto successor = step.getArgAttrOfType<IntegerAttr>(
              argument.getArgNumber(), step::successorAttrName)) {
        OpOperand &next = end->getOpOperand(unsigned(successor.getInt()));
        if (next.get() != argument)
          next.set(select(next.get(), argument));
      }
    using namespace stablehlo;
    Value counted = AddOp::create(builder, loc, growth, number(int32_t(1)));
    Value isFull = CompareOp::create(
        builder, loc, counted, number(growthInterval), ComparisonDirection::EQ);
    Value doubled =
        MultiplyOp::create(builder, loc, scale, number(growthFactor));
    Value fits = CompareOp::create(builder, loc, doubled, number(largestScale),
                                   ComparisonDirection::LE);
    Value grows = AndOp::create(builder, loc, isFull, fits);
    Value grown = SelectOp::create(builder, loc, grows, doubled, scale);
    Value smaller =
        MultiplyOp::create(builder, loc, scale, number(backoffFactor));
    Value zero = number(int32_t(0));
    Value count = SelectOp::create(builder, loc, isFull, zero, counted);
    end->setOperand(states, select(grown, smaller));
    end->setOperand(states + 1, select(count, zero));
  }

  func::FuncOp step;
  ArrayRef<Value> seeds;
  ScaleExponents exponents;
  OpBuilder builder;
  Operation *end;
  unsigned states; // results before the scale
  Value scale, growth, reciprocal;
  llvm::DenseMap<std::pair<Value, Value>, Value> made;
};

/// The name of a state that the step scales its loss with itself; null if there
/// is none: a scalar that follows whether something is finite, and that what
/// parameters learn is computed with.
StringAttr ownScale(func::FuncOp step, ArrayRef<OpOperand *> learned) {
  SmallVector<Operation *> operations = operationsOf(step);
  SmallVector<Value> parameters;
  for (OpOperand *result : learned)
    parameters.push_back(result->get());
  Dependence ofParameters(operations, parameters, noBorder);
  Operation *end = step.getBody().front().getTerminator();
  for (BlockArgument argument : step.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto successor =
        step.getArgAttrOfType<IntegerAttr>(index, step::successorAttrName);
    if (!successor || !isFloatTensor(argument) ||
        cast<RankedTensorType>(argument.getType()).getRank() != 0 ||
        !ofParameters.contains(argument))
      continue;
    Dependence ofNext(operations, end->getOperand(unsigned(successor.getInt())),
                      noBorder);
    bool followsFinite = llvm::any_of(operations, [&](Operation *op) {
      return isa<stablehlo::IsFiniteOp>(op) &&
             ofNext.contains(op->getResult(0));
    });
    if (followsFinite && ofNext.contains(argument))
      return step.getArgAttrOfType<StringAttr>(index, step::nameAttrName);
  }
  return nullptr;
}

struct ScaleLoss : public precision::impl::ScaleLossPassBase<ScaleLoss> {
  ScaleLoss() = default;
  explicit ScaleLoss(LossScalingReport &report) : filled(&report) {}

  void runOnOperation() override {
    func::FuncOp step = getOperation();
    if (step.isDeclaration())
      return;
    EntrySearch search(step);
    if (search.parameters().empty())
      return say("NoGradients", "no parameter learns from a batch, so there "
                                "are no gradients to scale");
    if (StringAttr own = ownScale(step, search.parameters())) {
      if (filled)
        filled->scalesItself = true;
      return say("ScalesItself",
                 "the step scales its loss itself, by '" + own.str() + "'");
    }
    SmallVector<Value> seeds = search.find();
    if (seeds.empty())
      return refuse(search.whereBroken());
    ScaleWriter writer(step, seeds);
    if (Operation *op = writer.leavesInLoop())
      return refuse(op);
    writer.run();
    for (Value seed : seeds) {
      if (filled)
        filled->entries.push_back(seed.getLoc());
      remark::passed(
          seed.getLoc(),
          remark::RemarkOpts::name("Entered").category("precision-scale-loss"))
          << remark::add("{0}", "the scale of the loss enters here");
    }
  }

private:
  void say(StringRef name, const std::string &text) {
    if (filled)
      filled->whyNot = text;
    remark::missed(
        getOperation().getLoc(),
        remark::RemarkOpts::name(name).category("precision-scale-loss"))
        << remark::add("{0}", text);
  }

  void refuse(Operation *op) {
    Operation *at = op ? op : getOperation().getOperation();
    at->emitError() << "'" << at->getName()
                    << "' is not linear in the loss's gradient, which "
                       "parameters learn from, so the loss cannot be scaled";
    signalPassFailure();
  }

  LossScalingReport *filled = nullptr;
};

} // namespace

std::unique_ptr<Pass>
precision::createScaleLossPass(LossScalingReport &report) {
  return std::make_unique<ScaleLoss>(report);
}

BlockArgument precision::lossScaleOf(func::FuncOp step) {
  for (BlockArgument argument : llvm::reverse(step.getArguments())) {
    auto name = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  step::nameAttrName);
    StringRef rest = name ? name.getValue() : "";
    if (rest.consume_front(format::hiddenPrefix) && rest == scaleName)
      return argument;
  }
  return {};
}

void precision::countGradients(func::FuncOp step, LossScalingReport &report) {
  BlockArgument scale = lossScaleOf(step);
  if (!scale)
    return;
  auto successor = step.getArgAttrOfType<IntegerAttr>(scale.getArgNumber(),
                                                      step::successorAttrName);
  Operation *end = step.getBody().front().getTerminator();
  SmallVector<Operation *> operations = operationsOf(step);
  Dependence dependence(
      operations, end->getOperand(unsigned(successor.getInt())), noBorder);
  for (Operation *op : operations) {
    if (!isa<stablehlo::IsFiniteOp>(op) ||
        !dependence.contains(op->getResult(0)))
      continue;
    // The largest magnitude of a gradient, which is widened for it.
    Value gradient = op->getOperand(0);
    if (Operation *reduce = gradient.getDefiningOp<stablehlo::ReduceOp>())
      gradient = reduce->getOperand(0).getDefiningOp()->getOperand(0);
    if (Operation *cast = gradient.getDefiningOp();
        cast && step::isCompilerCast(cast))
      gradient = cast->getOperand(0);
    ++report.gradients;
    report.gradientBytes += storedBytes(gradient.getType());
  }
  remark::analysis(step.getLoc(), remark::RemarkOpts::name("Waits").category(
                                      "precision-scale-loss"))
      << remark::add(
             "{0} gradients of {1} bytes are all known before any state "
             "is replaced, since a step with one that is not finite "
             "keeps its state",
             report.gradients, report.gradientBytes);
}
