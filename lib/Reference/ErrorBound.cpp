//===- ErrorBound.cpp - How far from exact a result may be ---------------===//
//
// Functions are evaluated in long double where the C library has them, else by
// the interpreter in f64. Sums are evaluated by the interpreter itself on a
// copy of the operation with f64 elements, three times: on the operands, on
// their absolute values, which gives the sum of the terms' absolute values, and
// on ones, which gives the number of terms. For terms 3, -3 and 1 in f32 that
// is 1, 7 and 3: results within 3 * 2^-24 * 7 of 1 are right.
//
//===----------------------------------------------------------------------===//

#include "tenon/Reference/ErrorBound.h"

#include "AttentionBound.h"
#include "FloatUnits.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Reference/Interpreter.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct FunctionBound {
  double single = 0, wide = 0; // units in the last place
};

const llvm::StringMap<FunctionBound> &functionBounds() {
  static const llvm::StringMap<FunctionBound> table = {
#define FUNCTION(operation, single, wide, reason) {operation, {single, wide}},
#include "ErrorBounds.inc"
  };
  return table;
}

/// Terms to be added to the number of terms of a sum.
const llvm::StringMap<int64_t> &sumBounds() {
  static const llvm::StringMap<int64_t> table = {
#define SUM(operation, extra) {operation, extra},
#include "ErrorBounds.inc"
  };
  return table;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The real type of a floating-point or complex type; null for others.
FloatType partOf(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  return dyn_cast<FloatType>(type);
}

FloatType partOfResult(Operation *op) {
  for (Type type : op->getResultTypes())
    if (FloatType part = partOf(getElementTypeOrSelf(type)))
      return part;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// What a region that combines two values does.
enum class Combination { exact, sum, product, other };

Combination combinationOf(Region &region) {
  SmallVector<Operation *> rounding;
  for (Operation &op : region.front().without_terminator()) {
    if (exactnessOf(&op) != Exactness::equal)
      return Combination::other;
    if (partOfResult(&op) &&
        isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MultiplyOp,
            stablehlo::DivideOp, stablehlo::SqrtOp, stablehlo::RemainderOp>(op))
      rounding.push_back(&op);
  }
  if (rounding.empty())
    return Combination::exact;
  Operation *only = rounding.front();
  // The operation alone, between the region's two arguments.
  bool alone = region.front().getOperations().size() == 2 &&
               region.getNumArguments() == 2 && only->getNumOperands() == 2 &&
               isa<BlockArgument>(only->getOperand(0)) &&
               isa<BlockArgument>(only->getOperand(1)) &&
               only->getOperand(0) != only->getOperand(1);
  if (!alone)
    return Combination::other;
  return isa<stablehlo::AddOp>(only)        ? Combination::sum
         : isa<stablehlo::MultiplyOp>(only) ? Combination::product
                                            : Combination::other;
}

/// What the region of a reduction does, for operations that have one.
std::optional<Combination> combinationIn(Operation *op) {
  if (isa<stablehlo::ReduceOp, stablehlo::ReduceWindowOp, stablehlo::ScatterOp>(
          op))
    return combinationOf(op->getRegion(0));
  if (auto scatter = dyn_cast<stablehlo::SelectAndScatterOp>(op))
    return combinationOf(scatter.getSelect()) == Combination::exact
               ? combinationOf(scatter.getScatter())
               : Combination::other;
  return std::nullopt;
}

/// Whether operand `index` holds terms of a sum, and not indices or keys.
bool holdsTerms(Operation *op, unsigned index) {
  if (isa<stablehlo::SelectAndScatterOp>(op))
    return index > 0;
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
    return index != scatter.getInputs().size();
  return true;
}

//===----------------------------------------------------------------------===//
// Wider copies
//===----------------------------------------------------------------------===//

Type widened(Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (!shaped || !partOf(shaped.getElementType()))
    return type;
  Type wide = Float64Type::get(type.getContext());
  return shaped.clone(
      isComplex(shaped.getElementType()) ? ComplexType::get(wide) : wide);
}

/// A copy of an operation that computes in f64. Only the types of its results
/// and of what its regions hold are changed: evaluators get operands apart.
class WideCopy {
public:
  explicit WideCopy(Operation *op) : copy(op->clone()) {
    widen(copy);
    copy->walk([&](Operation *inner) { widen(inner); });
  }
  ~WideCopy() { copy->destroy(); }
  WideCopy(const WideCopy &) = delete;
  WideCopy &operator=(const WideCopy &) = delete;

  FailureOr<Tensors> evaluate(ArrayRef<Tensor> operands) {
    Evaluate evaluator = evaluatorFor(copy->getName().getStringRef());
    if (!evaluator)
      return copy->emitError("is not supported by the reference interpreter");
    Interpreter interpreter(Subnormals::keep);
    Tensors wide, results;
    for (const Tensor &operand : operands) {
      wide.push_back(operand);
      wide.back().type = cast<RankedTensorType>(widened(operand.type));
    }
    if (failed(evaluator(copy, interpreter, wide, results)))
      return failure();
    return results;
  }

private:
  static void widen(Operation *op) {
    for (Value result : op->getResults())
      result.setType(widened(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          argument.setType(widened(argument.getType()));
  }

  Operation *copy;
};

/// The operands with `change` applied to their terms.
Tensors changed(Operation *op, ArrayRef<Tensor> operands,
                llvm::function_ref<Element(Element)> change) {
  Tensors result(operands.begin(), operands.end());
  for (auto [index, operand] : llvm::enumerate(result))
    if (holdsTerms(op, index) && partOf(operand.elementType()))
      for (Element &element : operand.elements)
        element = change(element);
  return result;
}

double finite(double x) { return std::isfinite(x) ? x : 0; }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

using Unary = long double (*)(long double);
using Binary = long double (*)(long double, long double);

struct WideFunction {
  Unary unary = nullptr;
  Binary binary = nullptr;
};

long double logistic(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
long double reciprocalSqrt(long double x) { return 1 / std::sqrt(x); }

const llvm::StringMap<WideFunction> &wideFunctions() {
  static const llvm::StringMap<WideFunction> table = {
      {"stablehlo.atan2", {nullptr, std::atan2}},
      {"stablehlo.cbrt", {std::cbrt}},
      {"stablehlo.cosine", {std::cos}},
      {"stablehlo.exponential", {std::exp}},
      {"stablehlo.exponential_minus_one", {std::expm1}},
      {"stablehlo.log", {std::log}},
      {"stablehlo.log_plus_one", {std::log1p}},
      {"stablehlo.logistic", {logistic}},
      {"stablehlo.power", {nullptr, std::pow}},
      {"stablehlo.rsqrt", {reciprocalSqrt}},
      {"stablehlo.sine", {std::sin}},
      {"stablehlo.tan", {std::tan}},
      {"stablehlo.tanh", {std::tanh}},
      {"chlo.acos", {std::acos}},
      {"chlo.acosh", {std::acosh}},
      {"chlo.asin", {std::asin}},
      {"chlo.asinh", {std::asinh}},
      {"chlo.atan", {std::atan}},
      {"chlo.atanh", {std::atanh}},
      {"chlo.cosh", {std::cosh}},
      {"chlo.erf", {std::erf}},
      {"chlo.erfc", {std::erfc}},
      {"chlo.sinh", {std::sinh}},
      {"chlo.tan", {std::tan}},
  };
  return table;
}

double unitsOf(Operation *op) {
  auto bound = functionBounds().find(op->getName().getStringRef());
  if (bound == functionBounds().end() ||
      isComplex(getElementTypeOrSelf(op->getResult(0).getType())))
    return 0;
  return partOfResult(op).isF64() ? bound->second.wide : bound->second.single;
}

/// `units` in the last place around an exact value.
Allowed around(long double exact, double units, FloatType type) {
  if (!std::isfinite(exact))
    return {exact, exact};
  FloatType computed =
      type.getWidth() < 32 ? Float32Type::get(type.getContext()) : type;
  long double error = units * unitAt(exact, computed);
  if (computed != type)
    error += unitAt(exact, type) * 0.5000001L;
  Allowed allowed{exact - error, exact + error};
  if (exact == 0)
    allowed.minusZero = std::signbit(exact);
  return allowed;
}

FailureOr<std::vector<Enclosure>> encloseFunction(Operation *op,
                                                  ArrayRef<Tensor> operands) {
  Enclosure enclosure{
      cast<RankedTensorType>(op->getResult(0).getType()), {}, {}};
  FloatType type = partOfResult(op);
  double units = unitsOf(op);
  WideFunction function = wideFunctions().lookup(op->getName().getStringRef());
  if (!function.unary && !function.binary) {
    auto exact = WideCopy(op).evaluate(operands);
    if (failed(exact))
      return failure();
    for (const Element &element : exact->front().elements)
      enclosure.real.push_back(around(element.real, units, type));
  } else {
    for (int64_t i = 0; i < operands[0].size(); ++i) {
      double x = operands[0].elements[i].real;
      long double exact =
          function.unary ? function.unary(x)
                         : function.binary(x, operands[1].elements[i].real);
      enclosure.real.push_back(around(exact, units, type));
    }
  }
  return std::vector<Enclosure>{enclosure};
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

/// A sum of `terms` terms whose finite ones have `magnitude` in all.
Allowed aroundSum(double exact, double magnitude, double terms,
                  FloatType accumulated, FloatType type) {
  Format format = formatOf(accumulated);
  double unit = std::ldexp(1.0, -format.digits - 1);
  // Beyond the range of the accumulator the order decides.
  if (magnitude * (1 + terms * unit) >= largestOf(accumulated))
    return {0, 0, true};
  if (!std::isfinite(exact))
    return {exact, exact};
  // The evaluation in f64 has an error of its own; products may underflow.
  long double error = terms * magnitude * (unit + 0x1p-53L) +
                      terms * std::ldexp(1.0L, format.smallest - format.digits);
  if (type != accumulated)
    error += unitAt(std::fabs(exact) + error, type) * 0.5L;
  return {exact - error, exact + error};
}

/// The type a sum or product is accumulated in. Scatters add in place.
FloatType accumulatedIn(Operation *op, FloatType type) {
  bool inPlace = isa<stablehlo::ScatterOp, stablehlo::SelectAndScatterOp>(op);
  return type.getWidth() < 32 && !inPlace ? Float32Type::get(op->getContext())
                                          : type;
}

/// Products with an element of the padding: whether they count, which shows
/// when the other factor is infinite or NaN, is left open.
double paddedTerms(Operation *op, ArrayRef<Tensor> operands) {
  auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op);
  if (!convolution || llvm::all_of(operands[1].elements, [](const Element &x) {
        return std::isfinite(x.real) && std::isfinite(x.imaginary);
      }))
    return 0;
  int64_t features =
      operands[1].shape()[convolution.getDimensionNumbers()
                              .getKernelOutputFeatureDimension()];
  return double(operands[1].size() / features);
}

FailureOr<std::vector<Enclosure>> encloseSum(Operation *op,
                                             ArrayRef<Tensor> operands) {
  WideCopy wide(op);
  auto exact = wide.evaluate(operands);
  // A complex factor's parts go into both parts of the product. Their sum is
  // finite as they are: times 0 it is 0.
  auto magnitudes = wide.evaluate(changed(op, operands, [](Element x) {
    return Element{
        std::min(std::fabs(finite(x.real)) + std::fabs(finite(x.imaginary)),
                 std::numeric_limits<double>::max())};
  }));
  auto counts =
      wide.evaluate(changed(op, operands, [](Element) { return Element{1}; }));
  if (failed(exact) || failed(magnitudes) || failed(counts))
    return failure();
  int64_t extra = sumBounds().lookup(op->getName().getStringRef());
  std::vector<Enclosure> enclosures;
  for (auto [index, result] : llvm::enumerate(*exact)) {
    Enclosure enclosure{
        cast<RankedTensorType>(op->getResult(index).getType()), {}, {}};
    Type element = enclosure.type.getElementType();
    FloatType type = partOf(element);
    FloatType accumulated = accumulatedIn(op, type);
    double window = paddedTerms(op, operands);
    for (int64_t i = 0; i < result.size(); ++i) {
      double magnitude = (*magnitudes)[index].elements[i].real;
      double terms = (*counts)[index].elements[i].real + double(extra);
      if ((*counts)[index].elements[i].real < window) {
        enclosure.real.push_back({0, 0, true});
        if (isComplex(element))
          enclosure.imaginary.push_back({0, 0, true});
        continue;
      }
      if (isComplex(element)) {
        terms *= 2;
        enclosure.imaginary.push_back(aroundSum(
            result.elements[i].imaginary, magnitude, terms, accumulated, type));
      }
      enclosure.real.push_back(aroundSum(result.elements[i].real, magnitude,
                                         terms, accumulated, type));
    }
    enclosures.push_back(std::move(enclosure));
  }
  return enclosures;
}

/// A product of factors in any order: every multiplication adds a relative
/// error, unless one of them leaves the range of the type.
FailureOr<std::vector<Enclosure>> encloseProduct(Operation *op,
                                                 ArrayRef<Tensor> operands) {
  WideCopy wide(op);
  auto exact = wide.evaluate(operands);
  auto evaluate = [&](llvm::function_ref<double(double)> change) {
    return wide.evaluate(changed(op, operands, [&](Element x) {
      return Element{change(std::fabs(x.real))};
    }));
  };
  auto largest = evaluate(
      [](double x) { return std::isfinite(x) ? std::max(x, 1.0) : 1.0; });
  auto smallest = evaluate([](double x) {
    return std::isfinite(x) && x != 0 ? std::min(x, 1.0) : 1.0;
  });
  // 2 for every factor counts them.
  auto counts = evaluate([](double) { return 2.0; });
  if (failed(exact) || failed(largest) || failed(smallest) || failed(counts))
    return failure();
  std::vector<Enclosure> enclosures;
  for (auto [index, result] : llvm::enumerate(*exact)) {
    Enclosure enclosure{
        cast<RankedTensorType>(op->getResult(index).getType()), {}, {}};
    FloatType type = partOf(enclosure.type.getElementType());
    FloatType accumulated = accumulatedIn(op, type);
    Format format = formatOf(accumulated);
    for (int64_t i = 0; i < result.size(); ++i) {
      double value = result.elements[i].real;
      double factors = std::log2((*counts)[index].elements[i].real);
      bool leaves =
          (*largest)[index].elements[i].real >= largestOf(accumulated) / 2 ||
          (*smallest)[index].elements[i].real <=
              std::ldexp(1.0, format.smallest + 1);
      if (leaves || !std::isfinite(factors)) {
        enclosure.real.push_back({0, 0, true});
        continue;
      }
      if (!std::isfinite(value) || value == 0) {
        enclosure.real.push_back({value, value});
        continue;
      }
      long double error = factors * std::fabs(value) *
                          (std::ldexp(1.0L, -format.digits - 1) + 0x1p-53L);
      if (type != accumulated)
        error += unitAt(std::fabs(value) + error, type) * 0.5L;
      enclosure.real.push_back({value - error, value + error});
    }
    enclosures.push_back(std::move(enclosure));
  }
  return enclosures;
}

/// Operations that round several times, or whose result nobody promises.
bool isUnjudged(Operation *op) {
  static const llvm::StringSet<> names = {"stablehlo.batch_norm_grad",
                                          "stablehlo.batch_norm_inference",
                                          "stablehlo.batch_norm_training",
                                          "stablehlo.cholesky",
                                          "stablehlo.custom_call",
                                          "stablehlo.fft",
                                          "stablehlo.rng",
                                          "stablehlo.triangular_solve",
                                          "chlo.bessel_i1e",
                                          "chlo.digamma",
                                          "chlo.lgamma",
                                          "chlo.polygamma",
                                          "chlo.ragged_dot",
                                          "chlo.zeta"};
  if (names.contains(op->getName().getStringRef()))
    return true;
  // Its operands are rounded first.
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
      dot && dot.getAlgorithm())
    return true;
  // Functions of complex elements.
  bool complex = llvm::any_of(op->getOperandTypes(), [](Type type) {
    return isComplex(getElementTypeOrSelf(type));
  });
  return complex && !isa<stablehlo::MultiplyOp>(op) &&
         (functionBounds().contains(op->getName().getStringRef()) ||
          isa<stablehlo::AbsOp, stablehlo::DivideOp, stablehlo::SignOp,
              stablehlo::SqrtOp>(op) ||
          op->getName().getStringRef() == "chlo.square");
}

} // namespace

Exactness reference::exactnessOf(Operation *op) {
  if (isUnjudged(op))
    return Exactness::unjudged;
  FloatType part = partOfResult(op);
  if (std::optional<Combination> combination = combinationIn(op)) {
    if (!part || *combination == Combination::exact)
      return Exactness::equal;
    bool complex = isComplex(getElementTypeOrSelf(op->getResult(0).getType()));
    return *combination == Combination::other ||
                   (complex && *combination == Combination::product)
               ? Exactness::unjudged
               : Exactness::bounded;
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        if (exactnessOf(&inner) != Exactness::equal)
          return Exactness::unjudged;
  if (!part)
    return Exactness::equal;
  if (step::isAttention(op))
    return Exactness::bounded;
  if (functionBounds().contains(op->getName().getStringRef()))
    return unitsOf(op) > 0 ? Exactness::bounded : Exactness::unjudged;
  if (isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op) ||
      (isa<stablehlo::MultiplyOp>(op) &&
       isComplex(getElementTypeOrSelf(op->getResult(0).getType()))))
    return Exactness::bounded;
  return Exactness::equal;
}

FailureOr<std::vector<Enclosure>>
reference::enclose(Operation *op, ArrayRef<Tensor> operands) {
  if (step::isAttention(op))
    return encloseAttention(op, operands);
  if (functionBounds().contains(op->getName().getStringRef()))
    return encloseFunction(op, operands);
  return combinationIn(op) == Combination::product
             ? encloseProduct(op, operands)
             : encloseSum(op, operands);
}

/// Whether a number of a type is one of those allowed.
static bool isAllowed(double found, const Allowed &allowed, FloatType type) {
  if (allowed.anything)
    return true;
  if (std::isnan(allowed.least) || std::isnan(found))
    return std::isnan(allowed.least) && std::isnan(found);
  if (allowed.minusZero && found == 0)
    return std::signbit(found) == *allowed.minusZero;
  if (std::isinf(found)) {
    // What rounds to infinity, half a unit beyond the largest number.
    long double edge = largestOf(type) + unitAt(largestOf(type), type) / 2;
    return found > 0 ? allowed.most >= edge : allowed.least <= -edge;
  }
  return found >= allowed.least && found <= allowed.most;
}

bool reference::allows(const Enclosure &enclosure, int64_t index,
                       const Element &found) {
  FloatType type = partOf(enclosure.type.getElementType());
  return isAllowed(found.real, enclosure.real[index], type) &&
         (enclosure.imaginary.empty() ||
          isAllowed(found.imaginary, enclosure.imaginary[index], type));
}

std::optional<std::string> reference::firstOutside(const Tensor &found,
                                                   const Enclosure &allowed) {
  FloatType type = partOf(found.elementType());
  bool complex = isComplex(found.elementType());
  for (int64_t i = 0; i < found.size(); ++i) {
    if (allows(allowed, i, found.elements[i]))
      continue;
    bool real = isAllowed(found.elements[i].real, allowed.real[i], type);
    const Allowed &range = real ? allowed.imaginary[i] : allowed.real[i];
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "element " << i
           << (complex ? real ? ", imaginary" : ", real" : "") << ": found "
           << llvm::format("%.17g", real ? found.elements[i].imaginary
                                         : found.elements[i].real)
           << ", allowed "
           << llvm::format("%.17g to %.17g", double(range.least),
                           double(range.most));
    return text;
  }
  return std::nullopt;
}
