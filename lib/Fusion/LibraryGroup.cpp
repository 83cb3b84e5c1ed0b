//===- LibraryGroup.cpp - Whether a group is the call it describes --------===//
//
// A library group has its operations twice: as a body, for whoever wants to
// know what it computes, and as a description, which is all that the library
// gets. Text may have been edited, so the body is described again and compared.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/LibraryGroup.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/LapackCalls.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Fusion/ActivationPattern.h"
#include "tenon/Fusion/NarrowConversions.h"
#include "tenon/Fusion/RoundSums.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using libraries::MatmulDescription;

MatmulDescription *fusion::matmulOf(libraries::Description &description) {
  if (auto *matmul = std::get_if<libraries::GpuMatmulDescription>(&description))
    return matmul;
  if (auto *packed =
          std::get_if<libraries::PackedMatmulDescription>(&description))
    return packed;
  return std::get_if<MatmulDescription>(&description);
}

SmallVector<step::GroupOp> fusion::libraryGroups(Operation *function) {
  SmallVector<step::GroupOp> calls;
  function->walk([&](step::GroupOp group) {
    if (group.getKind() == step::GroupKind::library)
      calls.push_back(group);
  });
  return calls;
}

std::optional<libraries::GpuMatmulDescription>
fusion::plainGpuMatmul(step::GroupOp group) {
  std::string wrong;
  auto attribute = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  auto call = attribute ? exec::fromAttribute(attribute, wrong) : std::nullopt;
  auto *matmul =
      call ? std::get_if<libraries::GpuMatmulDescription>(&*call) : nullptr;
  if (!matmul || libraries::hasEpilogue(*matmul) ||
      matmul->addend != libraries::Addend::none)
    return std::nullopt;
  return *matmul;
}

Value fusion::cloneProduct(OpBuilder &builder, step::GroupOp call,
                           IRMapping &mapping) {
  bool isBehind = false;
  for (Operation &op : call.bodyOperations()) {
    Operation *copy = builder.clone(op, mapping);
    isBehind |= isa<stablehlo::DotGeneralOp>(op);
    if (isBehind)
      copy->getResult(0).setType(
          cast<RankedTensorType>(copy->getResult(0).getType())
              .clone(builder.getF32Type()));
  }
  return mapping.lookup(call.getBody().front().getTerminator()->getOperand(0));
}

std::optional<BiasAddition> fusion::biasAddition(Value result) {
  BiasAddition found;
  if (auto convert = result.getDefiningOp<stablehlo::ConvertOp>()) {
    if (!rounds(convert))
      return std::nullopt;
    found.rounding = convert;
    result = convert.getOperand();
  }
  found.add = result.getDefiningOp<stablehlo::AddOp>();
  if (!found.add)
    return std::nullopt;
  stablehlo::AddOp add = found.add;
  for (auto [sum, other] : {std::pair(add.getLhs(), add.getRhs()),
                            std::pair(add.getRhs(), add.getLhs())})
    if (auto broadcast = sum.getDefiningOp<stablehlo::BroadcastInDimOp>();
        broadcast && !found.broadcast) {
      found.broadcast = broadcast;
      found.product = other;
    }
  if (!found.broadcast)
    return std::nullopt;
  found.bias = found.broadcast.getOperand();
  if (auto widened = found.bias.getDefiningOp<stablehlo::ConvertOp>())
    if (stablehlo::isFloatOf16Bits(getElementTypeOrSelf(widened.getOperand())))
      found.bias = widened.getOperand();
  // The bias has the last dimensions of the result.
  ArrayRef<int64_t> kept =
      cast<RankedTensorType>(found.bias.getType()).getShape();
  ArrayRef<int64_t> whole = cast<RankedTensorType>(add.getType()).getShape();
  if (found.bias == found.product || kept.empty() ||
      whole.take_back(kept.size()) != kept)
    return std::nullopt;
  for (auto [i, dim] :
       llvm::enumerate(found.broadcast.getBroadcastDimensions()))
    if (dim != int64_t(whole.size() - kept.size() + i))
      return std::nullopt;
  for (int64_t extent : kept)
    found.columns *= extent;
  return found;
}

bool fusion::addsPerColumn(const MatmulDescription &matmul,
                           const BiasAddition &addition) {
  int64_t columns = addition.columns;
  return matmul.n == columns && matmul.resultStrideN == 1 &&
         (matmul.m == 1 || matmul.resultStrideM % columns == 0) &&
         llvm::all_of(matmul.batch, [&](const auto &dimension) {
           return dimension.resultStride % columns == 0;
         });
}

std::optional<BiasAddition> fusion::addendAddition(Value result,
                                                   Value product) {
  BiasAddition found;
  found.add = result.getDefiningOp<stablehlo::AddOp>();
  if (!found.add || found.add.getLhs() == found.add.getRhs())
    return std::nullopt;
  for (auto [sum, other] : {std::pair(found.add.getLhs(), found.add.getRhs()),
                            std::pair(found.add.getRhs(), found.add.getLhs())})
    if (sum == product) {
      found.product = sum;
      found.bias = other;
      return found;
    }
  return std::nullopt;
}

bool fusion::addEpilogue(libraries::Description &call,
                         const BiasAddition &addition, std::string &whyNot) {
  if (!addition.broadcast) {
    auto *onGpu = std::get_if<libraries::GpuMatmulDescription>(&call);
    if (!onGpu) {
      whyNot = "the library adds a bias alone";
      return false;
    }
    if (onGpu->resultType != ElementType::f32) {
      whyNot = "the product is rounded before the sum";
      return false;
    }
    onGpu->addend = libraries::Addend::operand;
    return true;
  }
  MatmulDescription &matmul = *matmulOf(call);
  if (matmul.resultType != ElementType::f32) {
    whyNot = "the product is rounded before the bias is added";
    return false;
  }
  if (auto *onGpu = std::get_if<libraries::GpuMatmulDescription>(&call);
      onGpu && addition.rounding && onGpu->addend != libraries::Addend::none) {
    whyNot = "the other value that is added is not of the type that the sum is "
             "rounded to";
    return false;
  }
  if (!addsPerColumn(matmul, addition)) {
    whyNot = "the bias is not one value per column of the product as it lies "
             "in memory";
    return false;
  }
  if (stablehlo::ConvertOp rounding = addition.rounding)
    matmul.resultType =
        *elementTypeOf(getElementTypeOrSelf(rounding.getType()));
  const ElementType taken =
      std::holds_alternative<libraries::GpuMatmulDescription>(call)
          ? matmul.resultType
          : ElementType::f32;
  if (elementTypeOf(getElementTypeOrSelf(addition.bias)) != taken) {
    whyNot = "the library adds a bias of " + std::string(name(taken)) +
             " to these products";
    return false;
  }
  matmul.epilogue = libraries::Epilogue::bias;
  return true;
}

/// The operation of the body that a library runs; null if there is not one.
static Operation *callOf(step::GroupOp group) {
  Operation *found = nullptr;
  for (Operation &op : group.bodyOperations())
    if (isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp,
            stablehlo::CustomCallOp>(op)) {
      if (found)
        return nullptr;
      found = &op;
    }
  return found;
}

std::optional<OperandSum> fusion::operandSum(Value sum) {
  auto reduce = sum.getDefiningOp<stablehlo::ReduceOp>();
  if (!reduce || !addsUp(reduce) || !getElementTypeOrSelf(sum).isF32())
    return std::nullopt;
  for (auto [index, dim] : llvm::enumerate(reduce.getDimensions()))
    if (dim != int64_t(index))
      return std::nullopt;
  Value terms = reduce.getInputs()[0];
  if (auto widened = terms.getDefiningOp<stablehlo::ConvertOp>())
    terms = widened.getOperand();
  auto operand = dyn_cast<BlockArgument>(terms);
  return operand ? std::optional(OperandSum{reduce, operand}) : std::nullopt;
}

ArrayRef<int64_t> fusion::contractedFirst(step::GroupOp call,
                                          BlockArgument operand) {
  auto dot = dyn_cast_or_null<stablehlo::DotGeneralOp>(callOf(call));
  if (!dot || (dot.getLhs() == operand) == (dot.getRhs() == operand))
    return {};
  auto numbers = dot.getDotDimensionNumbers();
  ArrayRef<int64_t> contracted = dot.getLhs() == operand
                                     ? numbers.getLhsContractingDimensions()
                                     : numbers.getRhsContractingDimensions();
  if (!numbers.getLhsBatchingDimensions().empty() ||
      int64_t(contracted.size()) ==
          cast<RankedTensorType>(operand.getType()).getRank())
    return {};
  for (auto [index, dim] : llvm::enumerate(contracted))
    if (dim != int64_t(index))
      return {};
  return contracted;
}

namespace {

/// The call that computes `op` and, of a dot, what is around it.
std::optional<LibraryCandidate> describeCall(Operation *op, bool onGpus,
                                             std::string &whyNot) {
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op)) {
    auto description = describeLapack(call, whyNot);
    if (!description)
      return std::nullopt;
    return LibraryCandidate{*description, {op}, op->getOperands()};
  }
  if (isa<stablehlo::ConvolutionOp>(op))
    return describeConvolution(op, whyNot);
  // A body has the conversions that its call does.
  DotSurroundings around{.transpose = true, .conversions = !onGpus};
  auto candidate = describeDot(op, around, whyNot);
  around.transpose = false;
  if (!candidate)
    candidate = describeDot(op, around, whyNot);
  if (candidate && onGpus)
    candidate->description =
        libraries::GpuMatmulDescription(*matmulOf(candidate->description));
  return candidate;
}

/// Whether a value of the candidate's body is its product.
bool isProductOf(const LibraryCandidate &candidate, Value value) {
  if (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = reshape.getOperand();
  return value == candidate.operations.back()->getResult(0);
}

/// The addition that is `value` of something of the product's shape to it.
std::optional<BiasAddition> addendOf(const LibraryCandidate &candidate,
                                     Value value) {
  auto add = value.getDefiningOp<stablehlo::AddOp>();
  if (!add)
    return std::nullopt;
  for (Value term : {add.getLhs(), add.getRhs()})
    if (isProductOf(candidate, term))
      return fusion::addendAddition(value, term);
  return std::nullopt;
}

/// Makes what is added to a matrix product part of its call; false,
/// with the reason, if `yielded` is something else.
bool takeEpilogue(LibraryCandidate &candidate, Value yielded,
                  std::string &whyNot) {
  const auto bias = fusion::biasAddition(yielded);
  Value sum = bias ? bias->product : yielded;
  const auto addend = addendOf(candidate, sum);
  if (addend)
    sum = addend->product;
  std::string why;
  if (!matmulOf(candidate.description) || (!bias && !addend) ||
      !isProductOf(candidate, sum) ||
      (addend && !addEpilogue(candidate.description, *addend, why)) ||
      (bias && !addEpilogue(candidate.description, *bias, why))) {
    whyNot = "it does not end with the product, or with what is added to it";
    return false;
  }
  for (const auto &addition : {addend, bias})
    if (addition)
      candidate.operands.push_back(addition->bias);
  return true;
}

/// Makes what an activation is applied to part of a call on a GPU: the product,
/// or that and a bias, rounded to the type of the result.
bool takeInput(LibraryCandidate &candidate, Value input) {
  auto &call = std::get<libraries::GpuMatmulDescription>(candidate.description);
  if (auto rounding = input.getDefiningOp<stablehlo::ConvertOp>();
      rounding && isProductOf(candidate, rounding.getOperand())) {
    if (call.resultType != ElementType::f32)
      return false;
    call.resultType = *elementTypeOf(getElementTypeOrSelf(input.getType()));
    return true;
  }
  std::string ignored;
  return isProductOf(candidate, input) ||
         takeEpilogue(candidate, input, ignored);
}

/// Makes an activation part of a call on a GPU; false if the body yields none.
bool takeActivation(step::GroupOp group, LibraryCandidate &candidate,
                    ValueRange yielded) {
  auto *call =
      std::get_if<libraries::GpuMatmulDescription>(&candidate.description);
  if (!call || yielded.empty() || yielded.size() > 2)
    return false;
  const Value result = yielded.front(),
              product = candidate.operations.back()->getResult(0);
  const auto type = elementTypeOf(getElementTypeOrSelf(result.getType()));
  if (yielded.size() == 2) {
    if (yielded[1].getType() != result.getType() ||
        !isGelu(result, yielded[1]) || !takeInput(candidate, yielded[1]))
      return false;
    call->activation = libraries::Activation::geluKeeping;
    return true;
  }
  for (BlockArgument argument : group.getBody().front().getArguments()) {
    if (argument.getType() != result.getType() ||
        llvm::is_contained(candidate.operands, argument) ||
        !isGeluGradient(result, product, argument))
      continue;
    candidate.operands.push_back(argument);
    call->activation = libraries::Activation::geluGradient;
    call->resultType = *type;
    return true;
  }
  for (Operation &op : group.bodyOperations()) {
    if (op.getNumResults() != 1 ||
        op.getResult(0).getType() != result.getType())
      continue;
    LibraryCandidate attempt = candidate;
    if (isGelu(result, op.getResult(0)) &&
        takeInput(attempt, op.getResult(0))) {
      candidate = std::move(attempt);
      call = &std::get<libraries::GpuMatmulDescription>(candidate.description);
      call->activation = libraries::Activation::gelu;
      return true;
    }
  }
  return false;
}

/// Makes the sums of an operand part of a call on a GPU; false if the body has
/// none as its second result.
bool takeSums(step::GroupOp group, LibraryCandidate &candidate,
              ValueRange yielded) {
  auto *call =
      std::get_if<libraries::GpuMatmulDescription>(&candidate.description);
  if (!call || yielded.size() != 2 ||
      yielded[0] != candidate.operations.back()->getResult(0) ||
      getElementTypeOrSelf(yielded[0]) != getElementTypeOrSelf(yielded[1]))
    return false;
  Value sums = yielded[1];
  if (auto rounding = sums.getDefiningOp<stablehlo::ConvertOp>())
    sums = rounding.getOperand();
  auto sum = operandSum(sums);
  if (!sum ||
      contractedFirst(group, sum->operand) != sum->reduce.getDimensions())
    return false;
  call->sums = sum->operand == candidate.operands[0]
                   ? libraries::OperandSums::lhs
                   : libraries::OperandSums::rhs;
  return true;
}

/// As a call on a GPU if `onGpus`; the body does not say where it runs.
std::optional<LibraryCandidate> describeBody(step::GroupOp group, bool onGpus,
                                             std::string &whyNot) {
  Operation *op = callOf(group);
  if (!op) {
    whyNot = "it has not exactly one dot_general, convolution or custom_call";
    return std::nullopt;
  }
  auto candidate = describeCall(op, onGpus, whyNot);
  if (!candidate)
    return std::nullopt;
  ValueRange yielded = group.getBody().front().getTerminator()->getOperands();
  if (yielded == ValueRange(candidate->operations.back()->getResults()) ||
      takeActivation(group, *candidate, yielded) ||
      takeSums(group, *candidate, yielded))
    return candidate;
  if (yielded.size() == 1 && takeEpilogue(*candidate, yielded.front(), whyNot))
    return candidate;
  return std::nullopt;
}

/// Whether the library is given what its operands are.
bool passesOperands(step::GroupOp group, const LibraryCandidate &candidate) {
  auto given = [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument ? group.getInputs()[argument.getArgNumber()] : Value();
  };
  return group.getInputs().size() == candidate.operands.size() &&
         llvm::equal(group.getInputs(),
                     llvm::map_range(candidate.operands, given));
}

} // namespace

LogicalResult fusion::verifyLibraryGroup(step::GroupOp group) {
  auto written = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  if (!written)
    return group.emitOpError("a library group needs the attribute '")
           << exec::libraryAttrName << "'";
  std::string whyNot;
  auto call = written.getAs<StringAttr>("call");
  auto candidate = describeBody(
      group, call && call == StringRef(libraries::GpuMatmulDescription::call),
      whyNot);
  if (!candidate)
    return group.emitOpError("no library call computes this group: ") << whyNot;
  auto needed = exec::toAttribute(group.getContext(), candidate->description);
  auto compare = [&](StringRef key) -> LogicalResult {
    // How the work is cut, in which type it is multiplied, and whether its
    // factors are rounded, is for the description alone to say.
    if (written.get(key) == needed.get(key) || key == "pieces" ||
        key == "compute" || key == "factors")
      return success();
    return group.emitOpError("has '")
           << exec::libraryAttrName << "' with " << key << " = "
           << written.get(key) << ", but its operations need " << key << " = "
           << needed.get(key) << "; correct the entry or the operations";
  };
  // The entries of another kind of call have other names.
  if (failed(compare("call")))
    return failure();
  for (NamedAttribute entry : needed)
    if (failed(compare(entry.getName())))
      return failure();
  if (!passesOperands(group, *candidate))
    return group.emitOpError("is not given the ")
           << candidate->operands.size()
           << " operands of its library call in their order; pass what the "
              "operations in it read, first operand first";
  return success();
}
