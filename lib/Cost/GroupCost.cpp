//===- GroupCost.cpp - Seconds and bytes of groups ------------------------===//
//
// See GroupCost.h. The constants are estimates that relate a kernel to the
// rates of a Target; what differs between machines is in the Target.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/GroupCost.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/KernelDescription.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Cost/ExchangeCost.h"
#include "tenon/Cost/KernelCost.h"
#include "tenon/Cost/LapackCost.h"
#include "tenon/Cost/ProductCost.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Libraries/CallOverhead.h"
#include "tenon/Libraries/GpuMatmul.h"
#include "tenon/Libraries/WidenedProducts.h"
#include "tenon/Target/GpuArchitectures.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;

namespace {

/// Elements that a core widens or rounds within a library's call, from and to
/// its caches. Measured on an Intel server without tiles: from 2 to 7 billions.
constexpr double convertedPerSecond = 4e9;

/// Into how many parts the group is cut.
int64_t partsOf(step::GroupOp group, const KernelWork &work,
                const target::Target &target) {
  auto library = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  if (!library)
    return work.parts(target);
  auto pieces = library.getAs<IntegerAttr>("pieces");
  return pieces ? std::max<int64_t>(1, pieces.getInt()) : target.cores;
}

/// The type that a kernel on a GPU multiplies in: tensor cores take dots and
/// attention of 16 bits as they are, also where the kernel widens what it
/// reads.
ElementType typeOnGpu(Operation *product) {
  if (!isa_and_nonnull<stablehlo::DotGeneralOp>(product) &&
      !step::isAttention(product))
    return ElementType::f32;
  Value operand = product->getOperand(0);
  if (auto widened = operand.getDefiningOp<stablehlo::ConvertOp>())
    operand = widened->getOperand(0);
  Type type = getElementTypeOrSelf(operand.getType());
  return type.isBF16()  ? ElementType::bf16
         : type.isF16() ? ElementType::f16
                        : ElementType::f32;
}

/// The type that a group multiplies in: what the description of a library's
/// call says, while kernels for processors widen what they read.
ElementType multipliedType(step::GroupOp group, const KernelDescription &kernel,
                           const target::Target &target) {
  auto library = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  if (!library && target.isGpu())
    return typeOnGpu(kernel.root());
  // On a GPU operands are multiplied as they are.
  auto compute = library ? library.getAs<StringAttr>("compute") : StringAttr();
  if (library && !compute)
    compute = library.getAs<StringAttr>("lhs");
  auto type = compute ? fromName<ElementType>(compute.getValue())
                      : std::optional<ElementType>();
  return type.value_or(ElementType::f32);
}

/// Whether a call for GPUs has matrices of 16 bits with rows that are no whole
/// accesses of 16 bytes.
bool hasUnalignedRows(step::GroupOp group) {
  auto library = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  auto type = library ? library.getAs<StringAttr>("lhs") : StringAttr();
  if (!type || (type != "bf16" && type != "f16"))
    return false;
  constexpr int64_t elementsOfAccess = 8;
  constexpr std::pair<StringLiteral, StringLiteral> matrices[] = {
      {"lhs_stride_m", "lhs_stride_k"},
      {"rhs_stride_k", "rhs_stride_n"},
      {"result_stride_m", "result_stride_n"}};
  return llvm::any_of(matrices, [&](auto &strides) {
    auto one = library.getAs<IntegerAttr>(strides.first),
         other = library.getAs<IntegerAttr>(strides.second);
    return one && other &&
           std::max(one.getInt(), other.getInt()) % elementsOfAccess != 0;
  });
}

/// A word of what a library is asked for; empty if it is not there.
StringRef askedFor(step::GroupOp group, StringRef field) {
  auto library = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  auto word = library ? library.getAs<StringAttr>(field) : StringAttr();
  return word ? word.getValue() : StringRef();
}

/// Whether a library may round factors of f32 to tf32.
bool multipliesTf32(step::GroupOp group) {
  return askedFor(group, "factors") ==
         StringRef(name(libraries::Factors::tf32));
}

/// Whether a library adds up an operand beside a product.
bool sumsOperand(step::GroupOp group) {
  StringRef sums = askedFor(group, "sums");
  return !sums.empty() && sums != StringRef(name(libraries::OperandSums::none));
}

bool endsWithActivation(step::GroupOp group) {
  StringRef activation = askedFor(group, "activation");
  return !activation.empty() &&
         activation != StringRef(name(libraries::Activation::none));
}

/// What an activation at the end of a library's product takes beyond it. GELU
/// is approximated while the product waits for memory. Its gradient is slow:
/// with cuBLASLt 13 on an H200 it takes 0.63 ms for 32,768 x 3,072 elements,
/// twice as long as a kernel of its own, and as long as 420 operations of f32
/// for each.
double secondsOfActivation(step::GroupOp group, const target::Target &target) {
  constexpr double operationsOfGradient = 420;
  if (askedFor(group, "activation") !=
      StringRef(name(libraries::Activation::geluGradient)))
    return 0;
  return operationsOfGradient *
         double(elementCount(shapeOf(group.getResult(0)))) /
         target.computeRate(ElementType::f32).of(target.cores, target.cores);
}

/// The share of the multiply-add rate that code reaches; a product is null
/// where there is none or several.
double shareOf(Operation *product, bool isFallback, step::GroupOp group,
               const target::ProductShares &shares) {
  if (isa_and_nonnull<step::AttentionOp>(product))
    return shares.attention;
  if (isa_and_nonnull<step::AttentionGradientOp>(product))
    return shares.gradient;
  if (isFallback)
    return shares.kernel;
  // The library has no algorithm that cuts such a sum into parts, and reads
  // the operand once more: with cuBLASLt 13 on an H200 gradients of weights
  // take 1.3 to 1.5 times as long.
  constexpr double shareWithSums = 0.7;
  return shares.library * (hasUnalignedRows(group) ? shares.unaligned : 1) *
         (multipliesTf32(group) ? target::tf32Share : 1) *
         (sumsOperand(group) ? shareWithSums : 1);
}

/// The matrix product that a group asks a library for processors for; with
/// `stored` all three tensors are of that type.
std::optional<libraries::MatmulDescription>
matmulOf(step::GroupOp group, std::optional<ElementType> stored) {
  auto library = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  std::string ignored;
  auto described =
      library ? exec::fromAttribute(library, ignored) : std::nullopt;
  auto *matmul = described
                     ? std::get_if<libraries::MatmulDescription>(&*described)
                     : nullptr;
  if (!matmul)
    return std::nullopt;
  if (stored)
    matmul->lhsType = matmul->rhsType = matmul->resultType = *stored;
  return *matmul;
}

/// The same as one that multiplies f32.
std::optional<libraries::MatmulDescription>
matmulInF32(step::GroupOp group, std::optional<ElementType> stored) {
  auto matmul = matmulOf(group, stored);
  if (matmul)
    matmul->computeType = ElementType::f32;
  return matmul;
}

/// What a library's call for processors does once, however many rows it has, in
/// each of its pieces: the share of a core's rate that calls reach is that of
/// many rows. With `multiplied` all three tensors are taken to be of that type.
double secondsPerCall(step::GroupOp group, int64_t pieces,
                      const target::Target &target,
                      std::optional<ElementType> multiplied) {
  auto matmul = target.isGpu() ? std::nullopt : matmulOf(group, multiplied);
  if (!matmul)
    return 0;
  if (multiplied)
    matmul->computeType = target.multipliesNatively(*multiplied, target.isa)
                              ? *multiplied
                              : ElementType::f32;
  return double(libraries::bytesMetByRows(*matmul, target.isa)) *
         double(pieces) / target.memory.cachedCopy.of(pieces, target.cores);
}

/// Elements that the library converts for a product of 16 bits where the
/// processor has no quick ones: it multiplies f32, widens operands of 16 bits
/// and rounds such results. With `multiplied` all three tensors are taken to be
/// of that type. Nothing where no tensor has 16 bits, and for a call without a
/// description, such as one of XLA's.
std::optional<double> convertedElements(step::GroupOp group, Operation *product,
                                        const target::Target &target,
                                        std::optional<ElementType> multiplied) {
  if (!group->hasAttr(exec::libraryAttrName) || target.isGpu() ||
      target.multipliesNatively(ElementType::bf16, target.isa) ||
      !isa_and_nonnull<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(
          product))
    return std::nullopt;
  SmallVector<Value> tensors(product->getOperands());
  tensors.push_back(product->getResult(0));
  double elements = 0;
  for (Value value : tensors) {
    Type stored = getElementTypeOrSelf(value.getType());
    if (multiplied ? *multiplied != ElementType::f32
                   : stablehlo::isFloatOf16Bits(stored))
      elements += double(elementCount(shapeOf(value)));
  }
  if (elements == 0)
    return std::nullopt;
  auto matmul = matmulInF32(group, multiplied);
  return matmul ? double(libraries::elementsConverted(*matmul, target.isa))
                : elements;
}

/// How long attention takes by tiles of bf16, next to the same by vectors of
/// f32: its products take next to no time, all else takes as long
/// (docs/Rationale/Attention.md).
double timeByTiles(const KernelDescription &kernel,
                   const target::Target &target) {
  return !target.isGpu() && target.isa == target::Isa::amxBf16 &&
                 step::multipliesTiles(kernel.root())
             ? 0.7
             : 1;
}

} // namespace

double Roofline::seconds(double movedBytes,
                         const target::Target &target) const {
  double memory =
      movedBytes / bandwidthOf(movedBytes, target).of(cores, target.cores);
  return std::max(compute, memory) + start;
}

static Value operandOf(step::GroupOp group, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &group.getBody().front()
             ? group.getInputs()[argument.getArgNumber()]
             : value;
}

static Roofline rooflineOf(step::GroupOp group, const KernelDescription &kernel,
                           const KernelWork &work, const target::Target &target,
                           std::optional<ElementType> multiplied) {
  const int64_t parts = partsOf(group, work, target);
  const int64_t cores = std::min(parts, target.cores);
  const std::optional<double> converted =
      convertedElements(group, kernel.root(), target, multiplied);
  const target::Rate &multiplyAdd =
      target.computeRate(multipliesTf32(group) ? ElementType::bf16
                         : converted           ? ElementType::f32
                         : multiplied          ? *multiplied
                                      : multipliedType(group, kernel, target));
  const bool isFallback = group.getKind() != step::GroupKind::library &&
                          group.getKind() != step::GroupKind::collective &&
                          kernel.isFallback();
  // Where a processor has obvious loops, a GPU has a schedule.
  const bool isSlow = isFallback && !target.isGpu();
  const double share = shareOf(kernel.root(), isFallback, group, target.shares);
  Roofline roofline;
  roofline.compute = work.flops * timeByTiles(kernel, target) /
                         (multiplyAdd.of(cores, target.cores) * share) +
                     (endsWithActivation(group)
                          ? secondsOfActivation(group, target)
                          : arithmeticSeconds(work.operations, cores, target) /
                                (isSlow ? share : 1)) +
                     conversionSeconds(converted.value_or(0), cores) +
                     secondsPerCall(group, parts, target, multiplied);
  if (auto product = isSlow ? productSeconds(kernel.root(), target, target.isa)
                            : std::nullopt)
    roofline.compute = product->generated / double(cores);
  roofline.start = startSeconds(parts, target) + lapackSeconds(group, target);
  roofline.bytes = work.bytes;
  roofline.cores = cores;
  return roofline;
}

Roofline cost::rooflineOf(step::GroupOp group, const target::Target &target,
                          std::optional<ElementType> multiplied) {
  KernelDescription kernel(group.getBody().front());
  auto sameAs = [&](Value value) { return operandOf(group, value); };
  Roofline roofline =
      ::rooflineOf(group, kernel, workOf(kernel, sameAs), target, multiplied);
  KernelBytes bytes = bytesOf(kernel, sameAs);
  for (Value operand : group.getInputs())
    roofline.operandBytes.push_back(bytes.operands.lookup(operand));
  roofline.resultBytes = std::move(bytes.results);
  return roofline;
}

double cost::conversionSeconds(double elements, int64_t cores) {
  return elements / (convertedPerSecond * double(cores));
}

std::optional<double> cost::secondsOfConversions(step::GroupOp group,
                                                 const target::Target &target,
                                                 ElementType type) {
  auto matmul = matmulInF32(group, type);
  if (!matmul || target.isGpu() ||
      target.multipliesNatively(type, target.isa) ||
      !libraries::widensInCopies(*matmul, target.isa))
    return std::nullopt;
  return conversionSeconds(
      double(libraries::elementsConverted(*matmul, target.isa)), target.cores);
}

Cost cost::costOf(step::GroupOp group, const target::Target &target) {
  // Its bytes move beside other groups, over a link of their own.
  if (group.isTransfer())
    return {.seconds = target.overheads.launch};
  KernelDescription kernel(group.getBody().front());
  KernelWork work =
      workOf(kernel, [&](Value value) { return operandOf(group, value); });
  Roofline roofline = ::rooflineOf(group, kernel, work, target, std::nullopt);
  auto exchange = exchangeOf(&group.getBody().front().front(), target);
  return {work.flops, work.operations, work.bytes,
          exchange ? exchange->seconds : roofline.seconds(work.bytes, target)};
}

void cost::annotateTimes(Region &region, const target::Target &target) {
  region.walk([&](step::GroupOp group) {
    group->setAttr(step::nanosecondsAttrName,
                   Builder(group.getContext())
                       .getI64IntegerAttr(
                           std::llround(costOf(group, target).seconds * 1e9)));
  });
}

StepCost cost::predictStep(Region &region, const target::Target &target) {
  // Of several branches the dearest counts, so each figure is a sum of its own:
  // those of all groups, then those of each kind.
  constexpr double Cost::*figures[] = {&Cost::flops, &Cost::operations,
                                       &Cost::bytes, &Cost::seconds};
  constexpr size_t kinds = step::getMaxEnumValForGroupKind() + 1;
  SmallVector<double> sums =
      sumsOverRuns(region, (1 + kinds) * std::size(figures),
                   [&](Operation *op, MutableArrayRef<double> amounts) {
                     auto group = dyn_cast<step::GroupOp>(op);
                     if (!group)
                       return;
                     const Cost cost = costOf(group, target);
                     const size_t kind = 1 + size_t(group.getKind());
                     for (auto [index, figure] : llvm::enumerate(figures))
                       amounts[index] =
                           amounts[kind * std::size(figures) + index] =
                               cost.*figure;
                   });
  auto costAt = [&](size_t place) {
    Cost cost;
    for (auto [index, figure] : llvm::enumerate(figures))
      cost.*figure = sums[place * std::size(figures) + index];
    return cost;
  };
  StepCost step;
  step.total = costAt(0);
  for (size_t kind = 0; kind < kinds; ++kind)
    if (Cost cost = costAt(1 + kind); cost.seconds > 0)
      step.kinds.push_back({step::GroupKind(kind), cost});
  return step;
}
