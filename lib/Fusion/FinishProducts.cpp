//===- FinishProducts.cpp - What cuBLASLt does behind a product -----------===//
//
// Of products of 16 bits on a GPU. Runs after groups were formed, on their
// element-wise groups:
//
//   p = x w        library           g, h = gelu(x w + b), x w + b   library
//   h = p + b  \   element-wise
//   g = gelu(h) /
//   ...
//   q = dy v       library           dh = (dy v) * gelu'(h)          library
//   dh = q * gelu'(h)  element-wise
//
// The gradient of GELU reads values that the forward part computed on its way,
// such as the hyperbolic tangent. The library computes them again from h alone,
// so gradients come first: what nobody reads any more is dropped from the
// groups of the forward part.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/ActivationPattern.h"
#include "tenon/Fusion/LibraryGroup.h"
#include "tenon/Libraries/Library.h"
#include "tenon/Target/GpuArchitectures.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_FINISHPRODUCTSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using libraries::Activation;
using libraries::GpuMatmulDescription;

namespace {

Type elementTypeOf(Value value) {
  return getElementTypeOrSelf(value.getType());
}

RankedTensorType withElements(Value value, Type element) {
  return cast<RankedTensorType>(value.getType()).clone(element);
}

/// The value of a group's body that it yields as `result`.
Value yieldOf(Value result) {
  auto group = result.getDefiningOp<step::GroupOp>();
  return group.getBody().front().getTerminator()->getOperand(
      cast<OpResult>(result).getResultNumber());
}

bool isElementwise(Value value) {
  auto group = value.getDefiningOp<step::GroupOp>();
  return group && group.getKind() == step::GroupKind::elementwise;
}

/// Writes a group piece by piece: a body that computes values of other groups,
/// and what it is given.
class GroupWriter {
public:
  /// With `inlines`, what other element-wise groups yield is computed as well,
  /// rather than read.
  explicit GroupWriter(Operation *before, bool inlines = false)
      : outside(before), inside(before->getContext()), body(new Block),
        inlines(inlines) {
    inside.setInsertionPointToEnd(body.get());
  }

  OpBuilder &builder() { return inside; }
  /// What the body reads of `value` of the program.
  Value argument(Value value) {
    auto [entry, isNew] = arguments.insert({value, Value()});
    if (isNew) {
      entry->second = body->addArgument(value.getType(), value.getLoc());
      inputs.push_back(value);
    }
    return entry->second;
  }
  bool isGiven(Value value) const { return arguments.contains(value); }
  /// Lets `inner`, a value of the body, be the elements of `value` in all that
  /// is written from here on.
  void let(Value value, Value inner) { known[elementsOf(value)] = inner; }
  /// The value of another group's body, or of the program, in this body.
  Value write(Value value);
  Value converted(Value inner, RankedTensorType type);

  /// The group where the writer began.
  step::GroupOp finish(Location loc, step::GroupKind kind,
                       ArrayRef<Value> yielded) {
    step::YieldOp::create(inside, loc, yielded);
    auto group = step::GroupOp::create(
        outside, loc, TypeRange(ValueRange(yielded)), inputs, kind);
    group.getBody().push_back(body.release());
    return group;
  }

private:
  OpBuilder outside, inside;
  std::unique_ptr<Block> body;
  bool inlines;
  SmallVector<Value> inputs;
  llvm::MapVector<Value, Value> arguments;
  llvm::DenseMap<Value, Value> known; // by what computes their elements
  llvm::DenseMap<Value, Value> written;
};

Value GroupWriter::converted(Value inner, RankedTensorType type) {
  if (getElementTypeOrSelf(inner.getType()) != type.getElementType())
    inner = stablehlo::ConvertOp::create(
        inside, inner.getLoc(), withElements(inner, type.getElementType()),
        inner);
  if (inner.getType() != type)
    inner = stablehlo::ReshapeOp::create(inside, inner.getLoc(), type, inner);
  return inner;
}

Value GroupWriter::write(Value value) {
  if (Value done = written.lookup(value))
    return done;
  Value inner;
  auto argumentOfGroup = dyn_cast<BlockArgument>(value);
  auto group =
      argumentOfGroup
          ? dyn_cast<step::GroupOp>(argumentOfGroup.getOwner()->getParentOp())
          : value.getDefiningOp()->getParentOfType<step::GroupOp>();
  if (auto found = known.find(elementsOf(value)); found != known.end()) {
    inner = converted(found->second, cast<RankedTensorType>(value.getType()));
  } else if (group && argumentOfGroup) {
    inner = write(group.getInputs()[argumentOfGroup.getArgNumber()]);
  } else if (group) {
    IRMapping mapping;
    for (Value operand : value.getDefiningOp()->getOperands())
      mapping.map(operand, write(operand));
    inner = inside.clone(*value.getDefiningOp(), mapping)
                ->getResult(cast<OpResult>(value).getResultNumber());
  } else if (inlines && isElementwise(value)) {
    inner = write(yieldOf(value));
  } else {
    inner = argument(value);
  }
  return written[value] = inner;
}

/// A product of the library that one element-wise group reads and nobody else.
struct Product {
  Value value; // as that group reads it
  step::GroupOp call;
  GpuMatmulDescription description;
  Type narrow; // of the factors
};

/// The results of an element-wise group by what they are of its product.
struct Finished {
  Activation activation = Activation::none;
  Type type; // of the results of the call
  /// What the activation is applied to: the product, or its sum with the bias,
  /// in the group's body; of a gradient, a value of the program.
  Value input;
  std::optional<BiasAddition> bias; // values of the group's body
  SmallVector<Value> activated, inputs, others;

  bool keepsInput() const { return activation == Activation::geluKeeping; }
};

struct FinishProducts
    : public fusion::impl::FinishProductsPassBase<FinishProducts> {
  using FinishProductsPassBase::FinishProductsPassBase;
  FinishProducts(const target::Target &machine) : machine(machine) {}

  void runOnOperation() override {
    SmallVector<step::GroupOp> groups = elementwiseGroups();
    for (step::GroupOp group : llvm::reverse(groups))
      for (const Product &product : productsOf(group))
        if (finishGradient(group, product))
          break;
    groups = elementwiseGroups();
    for (step::GroupOp group : llvm::reverse(groups))
      dropUnread(group);
    groups = elementwiseGroups();
    for (step::GroupOp group : groups)
      for (const Product &product : productsOf(group))
        if (finishForward(group, product))
          break;
    for (auto &[bias, rounded] : biases)
      if (rounded.use_empty())
        rounded.getDefiningOp()->erase();
    biases.clear();
  }

private:
  SmallVector<step::GroupOp> elementwiseGroups() {
    SmallVector<step::GroupOp> groups;
    getOperation().walk([&](step::GroupOp group) {
      if (group.getKind() == step::GroupKind::elementwise)
        groups.push_back(group);
    });
    return groups;
  }
  SmallVector<Product> productsOf(step::GroupOp group);
  bool finishGradient(step::GroupOp group, const Product &product);
  bool finishForward(step::GroupOp group, const Product &product);
  void dropUnread(step::GroupOp group);
  Value inputOfGradient(step::GroupOp group, const Product &product,
                        Value result);
  Value typed(Value bias, Type type);
  bool isRoundedBias(Value value) const {
    return llvm::any_of(
        biases, [&](const auto &entry) { return entry.second == value; });
  }
  bool replace(step::GroupOp group, const Product &product,
               const Finished &parts);
  step::GroupOp callOf(step::GroupOp group, const Product &product,
                       const Finished &parts);
  step::GroupOp restOf(step::GroupOp group, const Finished &parts,
                       step::GroupOp call);

  /// By default one whose times resemble those of other GPUs.
  target::Target machine =
      target::builtInTarget(*target::gpuArchitectureNamed("sm_90"));
  remark::RemarkOpts remarks = remark::RemarkOpts::name("FinishedProduct")
                                   .category("fusion-finish-products");
  llvm::DenseMap<std::pair<Value, Type>, Value> biases;
};

SmallVector<Product> FinishProducts::productsOf(step::GroupOp group) {
  SmallVector<Product> found;
  for (Value input : group.getInputs()) {
    Value product = input;
    while (auto reshape = product.getDefiningOp<stablehlo::ReshapeOp>()) {
      if (!product.hasOneUse())
        break;
      product = reshape.getOperand();
    }
    auto call = product.getDefiningOp<step::GroupOp>();
    if (!call || call.getKind() != step::GroupKind::library ||
        call->getBlock() != group->getBlock() || !product.hasOneUse() ||
        !input.hasOneUse())
      continue;
    auto description = plainGpuMatmul(call);
    const Type narrow = elementTypeOf(call.getInputs()[0]);
    if (description && stablehlo::isFloatOf16Bits(narrow))
      found.push_back({input, call, *description, narrow});
  }
  return found;
}

/// Whether all who read the value may read it in 16 bits; they read no other
/// result of its group, which would be the same value twice.
bool canBeNarrow(Value result) {
  return stablehlo::isFloatOf16Bits(elementTypeOf(result)) ||
         llvm::all_of(result.getUsers(), [&](Operation *user) {
           auto group = dyn_cast<step::GroupOp>(user);
           return group && group.getKind() != step::GroupKind::library &&
                  group.getKind() != step::GroupKind::collective &&
                  llvm::count_if(group.getInputs(), [&](Value input) {
                    return input.getDefiningOp() == result.getDefiningOp();
                  }) == 1;
         });
}

/// Lets those who read `from` read `to`, which is the same in 16 bits.
void readNarrow(Value from, Value to) {
  if (from.getType() == to.getType())
    return from.replaceAllUsesWith(to);
  for (OpOperand &use : llvm::make_early_inc_range(from.getUses())) {
    auto group = cast<step::GroupOp>(use.getOwner());
    BlockArgument argument =
        group.getBody().front().getArgument(use.getOperandNumber());
    const Type wide = argument.getType();
    argument.setType(to.getType());
    OpBuilder builder(group.getContext());
    builder.setInsertionPointToStart(&group.getBody().front());
    auto widened = stablehlo::ConvertOp::create(builder, argument.getLoc(),
                                                wide, argument);
    argument.replaceAllUsesExcept(widened, widened);
    use.set(to);
  }
}

/// What is read in front of the activation whose gradient `result` is: a value
/// of 16 bits that is in memory. Null if it is none.
Value FinishProducts::inputOfGradient(step::GroupOp group,
                                      const Product &product, Value result) {
  llvm::SmallSetVector<Value, 8> candidates;
  for (Value input : group.getInputs()) {
    if (input == product.value)
      continue;
    candidates.insert(input);
    if (auto writer = input.getDefiningOp<step::GroupOp>())
      candidates.insert_range(writer.getOutputs());
  }
  for (Value candidate : candidates)
    if (candidate.getType() == withElements(result, product.narrow) &&
        isGeluGradient(result, product.value, candidate))
      return candidate;
  return Value();
}

bool FinishProducts::finishGradient(step::GroupOp group,
                                    const Product &product) {
  Finished parts;
  parts.activation = Activation::geluGradient;
  parts.type = product.narrow;
  for (Value result : group.getOutputs()) {
    if (!dependsOn(result, product.value)) {
      parts.others.push_back(result);
      continue;
    }
    Value input = inputOfGradient(group, product, result);
    if (!input || (parts.input && input != parts.input) || !canBeNarrow(result))
      return false;
    parts.input = input;
    parts.activated.push_back(result);
  }
  return parts.input && replace(group, product, parts);
}

bool FinishProducts::finishForward(step::GroupOp group,
                                   const Product &product) {
  Finished parts;
  parts.input = product.value;
  for (Operation &op : group.bodyOperations())
    if (auto add = dyn_cast<stablehlo::AddOp>(op))
      if (auto bias = biasAddition(add.getResult());
          bias && elementsOf(bias->product) == elementsOf(product.value)) {
        parts.bias = bias;
        parts.input = add.getResult();
      }
  for (Value result : group.getOutputs()) {
    if (elementsOf(result) == elementsOf(parts.input))
      parts.inputs.push_back(result);
    else if (isGelu(result, parts.input))
      parts.activated.push_back(result);
    else
      parts.others.push_back(result);
  }
  const bool isActivated = !parts.activated.empty();
  if (!isActivated && (!parts.bias || parts.inputs.empty()))
    return false;
  // What is in memory in f32 stays so.
  parts.type = isActivated ? product.narrow : elementTypeOf(parts.inputs[0]);
  for (ArrayRef<Value> results :
       {ArrayRef(parts.activated), ArrayRef(parts.inputs)})
    for (Value result : results)
      if (elementTypeOf(result) != parts.type)
        return false;
  if (isActivated) // others are computed from the input
    parts.activation = parts.inputs.empty() && parts.others.empty()
                           ? Activation::gelu
                           : Activation::geluKeeping;
  return replace(group, product, parts);
}

/// The bias in the type of the results.
Value FinishProducts::typed(Value bias, Type type) {
  if (elementTypeOf(bias) == type)
    return bias;
  Value &found = biases[{bias, type}];
  if (!found) {
    Operation *before = bias.getDefiningOp()
                            ? bias.getDefiningOp()->getNextNode()
                            : &bias.getParentBlock()->front();
    GroupWriter writer(before);
    Value rounded =
        writer.converted(writer.argument(bias),
                         cast<RankedTensorType>(bias.getType()).clone(type));
    found = writer.finish(bias.getLoc(), step::GroupKind::elementwise, rounded)
                .getResult(0);
  }
  return found;
}

/// The call with what is behind the product; null, with a remark, if there is
/// none.
step::GroupOp FinishProducts::callOf(step::GroupOp group,
                                     const Product &product,
                                     const Finished &parts) {
  GpuMatmulDescription description = product.description;
  description.resultType = *tenon::elementTypeOf(parts.type);
  description.activation = parts.activation;
  if (parts.bias)
    description.epilogue = libraries::Epilogue::bias;
  std::string wrong = libraries::whyNotSupported(description, {});
  if (wrong.empty() && parts.bias && !addsPerColumn(description, *parts.bias))
    wrong = "the bias is not one value per column of the product as it lies in "
            "memory";
  if (!wrong.empty()) {
    remark::missed(group.getLoc(), remarks) << remark::reason("{0}", wrong);
    return nullptr;
  }

  const bool isGradient = parts.activation == Activation::geluGradient;
  step::GroupOp plain = product.call;
  GroupWriter writer(group, /*inlines=*/isGradient);
  IRMapping mapping;
  for (auto [operand, argument] : llvm::zip_equal(
           plain.getInputs(), plain.getBody().front().getArguments()))
    mapping.map(argument, writer.argument(operand));
  writer.let(product.value, cloneProduct(writer.builder(), plain, mapping));
  if (parts.bias) {
    Value bias = parts.bias->bias;
    if (auto argument = dyn_cast<BlockArgument>(bias))
      bias = group.getInputs()[argument.getArgNumber()];
    writer.let(bias, writer.argument(typed(bias, parts.type)));
  }
  if (isGradient)
    writer.let(parts.input, writer.argument(parts.input));
  auto write = [&](Value value, Value as) {
    return writer.converted(
        writer.write(value),
        cast<RankedTensorType>(as.getType()).clone(parts.type));
  };
  SmallVector<Value> yielded;
  Value input;
  if (!isGradient && !parts.activated.empty()) {
    input = write(parts.input, parts.activated.front());
    writer.let(parts.input, input);
  }
  const Value result =
      parts.activated.empty() ? parts.inputs.front() : parts.activated.front();
  yielded.push_back(write(yieldOf(result), result));
  if (parts.keepsInput())
    yielded.push_back(input);
  step::GroupOp call = writer.finish(
      FusedLoc::get(&getContext(), {plain.getLoc(), group.getLoc()}),
      step::GroupKind::library, yielded);
  call->setAttr(
      exec::libraryAttrName,
      exec::toAttribute(&getContext(), libraries::Description(description)));
  // Code that rounds on its way, for one, is none of what the library does.
  ScopedDiagnosticHandler quiet(&getContext(), [](Diagnostic &) {});
  if (succeeded(verifyLibraryGroup(call)))
    return call;
  call.erase();
  remark::missed(group.getLoc(), remarks)
      << remark::reason("the group computes it in another way");
  return nullptr;
}

/// What else the group computes; null if nothing.
step::GroupOp FinishProducts::restOf(step::GroupOp group, const Finished &parts,
                                     step::GroupOp call) {
  if (parts.others.empty())
    return nullptr;
  GroupWriter writer(group);
  if (parts.activation != Activation::geluGradient)
    writer.let(parts.input,
               writer.argument(call.getResult(parts.keepsInput() ? 1 : 0)));
  SmallVector<Value> values;
  for (Value each : parts.others)
    values.push_back(writer.write(yieldOf(each)));
  return writer.finish(group.getLoc(), step::GroupKind::elementwise, values);
}

/// Makes what is finished part of the call if that is predicted to take less
/// time.
bool FinishProducts::replace(step::GroupOp group, const Product &product,
                             const Finished &parts) {
  step::GroupOp call = callOf(group, product, parts);
  if (!call)
    return false;
  step::GroupOp rest = restOf(group, parts, call);
  auto secondsOf = [&](step::GroupOp each) {
    return each ? cost::costOf(each, machine).seconds : 0;
  };
  const double apart = secondsOf(product.call) + secondsOf(group);
  double together = secondsOf(call) + secondsOf(rest);
  for (Value input : call.getInputs())
    if (input.hasOneUse() && isRoundedBias(input))
      together += secondsOf(input.getDefiningOp<step::GroupOp>());
  std::string prediction =
      llvm::formatv("predicted to take {0:f2} us in one call, {1:f2} us in a "
                    "call and a kernel",
                    together * 1e6, apart * 1e6)
          .str();
  // The rest may read the product itself.
  const bool needsProduct =
      rest && llvm::is_contained(rest.getInputs(), product.value);
  if (needsProduct || together >= apart) {
    if (rest)
      rest.erase();
    call.erase();
    remark::missed(group.getLoc(), remarks) << remark::reason(
        "{0}", needsProduct ? "the product is read without the sum as "
                              "well"
                            : prediction);
    return false;
  }
  for (Value result : parts.inputs)
    readNarrow(result, call.getResult(parts.keepsInput() ? 1 : 0));
  for (Value result : parts.activated)
    readNarrow(result, call.getResult(0));
  if (rest)
    for (auto [index, from] : llvm::enumerate(parts.others))
      Value(from).replaceAllUsesWith(rest.getResult(unsigned(index)));
  group.erase();
  Operation *unread = product.value.getDefiningOp();
  while (unread) {
    Operation *next = unread == product.call
                          ? nullptr
                          : unread->getOperand(0).getDefiningOp();
    unread->erase();
    unread = next;
  }
  remark::passed(call.getLoc(), remarks)
      << remark::add("the library {0}: {1}",
                     parts.activation == Activation::geluGradient
                         ? "multiplies with the gradient of GELU"
                     : parts.activation == Activation::none ? "adds the bias"
                                                            : "applies GELU",
                     prediction);
  return true;
}

void FinishProducts::dropUnread(step::GroupOp group) {
  SmallVector<Value> read;
  for (Value result : group.getOutputs())
    if (!result.use_empty())
      read.push_back(result);
  if (read.size() == group.getNumResults())
    return;
  if (!read.empty()) {
    GroupWriter writer(group);
    SmallVector<Value> values;
    for (Value each : read)
      values.push_back(writer.write(yieldOf(each)));
    step::GroupOp left =
        writer.finish(group.getLoc(), step::GroupKind::elementwise, values);
    for (auto [from, to] : llvm::zip_equal(read, left.getOutputs()))
      from.replaceAllUsesWith(to);
  }
  group.erase();
}

} // namespace

std::unique_ptr<Pass>
fusion::createFinishProductsPass(const target::Target &machine) {
  return std::make_unique<FinishProducts>(machine);
}
