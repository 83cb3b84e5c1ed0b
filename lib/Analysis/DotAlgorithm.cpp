//===- DotAlgorithm.cpp - The arithmetic that a dot_general asks for ------===//
//
// See DotAlgorithm.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/DotAlgorithm.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;

static std::string spelled(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Why an operand of `element` cannot be rounded to `precision`; empty if it
/// can.
static std::string whyNotRounded(Type element, Type precision) {
  if (element == precision)
    return "";
  if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element))
    return "elements of type " + spelled(element);
  if (!isa<Float16Type, BFloat16Type, FloatTF32Type, Float32Type, Float64Type>(
          precision))
    return "a precision type of " + spelled(precision);
  if (element.isF64() && isa<FloatTF32Type>(precision))
    return "f64 rounded to tf32";
  return "";
}

/// Components that so many products stand for, where the count of components is
/// left at 1.
static int64_t componentsOf(int64_t products) {
  return products == 1 ? 1 : products == 3 ? 2 : 3;
}

/// All products of components whose places add up to less than some number,
/// which has to make exactly `count` of them; smallest first.
static bool findProducts(int64_t lhs, int64_t rhs, int64_t count,
                         SmallVector<std::pair<int64_t, int64_t>> &products) {
  for (int64_t order = 0; order <= lhs + rhs - 2; ++order) {
    for (int64_t i = 0; i < lhs; ++i)
      if (order - i >= 0 && order - i < rhs)
        products.emplace_back(i, order - i);
    if (int64_t(products.size()) >= count)
      break;
  }
  std::reverse(products.begin(), products.end());
  return int64_t(products.size()) == count;
}

std::optional<DotAlgorithm> DotAlgorithm::of(stablehlo::DotGeneralOp dot,
                                             std::string &whyNot) {
  auto given = dot.getAlgorithmAttr();
  auto no = [&](const std::string &why) {
    whyNot = why;
    return std::nullopt;
  };
  DotAlgorithm algorithm;
  algorithm.lhs = dyn_cast<FloatType>(given.getLhsPrecisionType());
  algorithm.rhs = dyn_cast<FloatType>(given.getRhsPrecisionType());
  algorithm.accumulation = dyn_cast<FloatType>(given.getAccumulationType());
  Type lhs = getElementTypeOrSelf(dot.getLhs().getType()),
       rhs = getElementTypeOrSelf(dot.getRhs().getType()),
       result = getElementTypeOrSelf(dot.getType());
  if (!algorithm.lhs || !algorithm.rhs || !algorithm.accumulation ||
      !isa<FloatType>(result))
    return no("types that are no floating-point ones");
  for (auto [element, precision] : {std::pair<Type, Type>(lhs, algorithm.lhs),
                                    std::pair<Type, Type>(rhs, algorithm.rhs)})
    if (std::string why = whyNotRounded(element, precision); !why.empty())
      return no(why);
  if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(
          algorithm.accumulation))
    return no("an accumulation type of " + spelled(algorithm.accumulation));

  Builder builder(dot.getContext());
  algorithm.sum = algorithm.accumulation.isF64() ? builder.getF64Type()
                                                 : builder.getF32Type();
  unsigned width = std::min(algorithm.accumulation.getWidth(), 32u);
  if (algorithm.accumulation.isF64())
    width = 64;
  for (FloatType precision : {algorithm.lhs, algorithm.rhs})
    if (precision.getWidth() > width)
      return no("products of " + spelled(precision) + " summed in " +
                spelled(algorithm.accumulation));

  int64_t count = given.getNumPrimitiveOperations();
  algorithm.lhsComponents = given.getLhsComponentCount();
  algorithm.rhsComponents = given.getRhsComponentCount();
  // Exporters leave the counts at 1 and mean what the products say.
  if (algorithm.lhsComponents == 1 && algorithm.rhsComponents == 1)
    algorithm.lhsComponents = algorithm.rhsComponents = componentsOf(count);
  constexpr int64_t most = 3;
  if (algorithm.lhsComponents > most || algorithm.rhsComponents > most ||
      !findProducts(algorithm.lhsComponents, algorithm.rhsComponents, count,
                    algorithm.products))
    return no(std::to_string(count) + " products of " +
              std::to_string(algorithm.lhsComponents) + " and " +
              std::to_string(algorithm.rhsComponents) + " components");
  if (count > 1 && !(algorithm.sum.isF32() && lhs.isF32() && rhs.isF32()))
    return no("components of " + spelled(lhs) + " and " + spelled(rhs) +
              " summed in " + spelled(algorithm.sum));
  return algorithm;
}
