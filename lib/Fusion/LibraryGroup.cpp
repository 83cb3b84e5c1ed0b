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

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using libraries::MatmulDescription;

MatmulDescription *fusion::matmulOf(libraries::Description &description) {
  if (auto *matmul = std::get_if<libraries::GpuMatmulDescription>(&description))
    return matmul;
  return std::get_if<MatmulDescription>(&description);
}

std::optional<BiasAddition> fusion::biasAddition(Value result) {
  BiasAddition found;
  if (auto convert = result.getDefiningOp<stablehlo::ConvertOp>()) {
    Type from = getElementTypeOrSelf(convert.getOperand());
    Type to = getElementTypeOrSelf(result);
    if (!from.isF32() || !(to.isBF16() || to.isF16()))
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

/// Column j is what lies at offsets j, n + j, 2 n + j, ... of the result.
static bool addsPerColumn(const MatmulDescription &matmul,
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
  if (!addsPerColumn(matmul, addition)) {
    whyNot = "the bias is not one value per column of the product as it lies "
             "in memory";
    return false;
  }
  if (stablehlo::ConvertOp rounding = addition.rounding)
    matmul.resultType =
        *elementTypeOf(getElementTypeOrSelf(rounding.getType()));
  matmul.epilogue = libraries::Epilogue::bias;
  return true;
}

namespace {

/// The operation of the body that a library runs; null if there is not one.
Operation *callOf(step::GroupOp group) {
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

/// The call that computes `op` and, of a dot, the transpose behind it.
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
  auto candidate = describeDot(op, /*throughResult=*/true, whyNot);
  if (!candidate)
    candidate = describeDot(op, /*throughResult=*/false, whyNot);
  if (candidate && onGpus)
    candidate->description = libraries::GpuMatmulDescription(
        std::get<MatmulDescription>(candidate->description));
  return candidate;
}

/// Makes what is added to a matrix product part of its call; false,
/// with the reason, if `yielded` is something else.
bool takeEpilogue(LibraryCandidate &candidate, Value yielded,
                  std::string &whyNot) {
  Value product = candidate.operations.back()->getResult(0);
  auto isProduct = [&](Value value) {
    if (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
      value = reshape.getOperand();
    return value == product;
  };
  auto addition = fusion::biasAddition(yielded);
  if (auto add = yielded.getDefiningOp<stablehlo::AddOp>(); add && !addition)
    addition = addendAddition(yielded, isProduct(add.getLhs()) ? add.getLhs()
                                                               : add.getRhs());
  std::string why;
  if (!matmulOf(candidate.description) || !addition ||
      !isProduct(addition->product) ||
      !addEpilogue(candidate.description, *addition, why)) {
    whyNot = "it does not end with the product, or with a bias added to it";
    return false;
  }
  candidate.operands.push_back(addition->bias);
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
  if (yielded != ValueRange(candidate->operations.back()->getResults()) &&
      (yielded.size() != 1 ||
       !takeEpilogue(*candidate, yielded.front(), whyNot)))
    return std::nullopt;
  return candidate;
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
