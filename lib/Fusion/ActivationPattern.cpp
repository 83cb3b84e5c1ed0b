//===- ActivationPattern.cpp - Whether element-wise code is an activation -===//
//
// See ActivationPattern.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/ActivationPattern.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Support/PortableMath.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <cmath>
#include <optional>

using namespace mlir;
using namespace tenon;

namespace {

constexpr size_t points = 33;
using Samples = std::array<double, points>;

/// From -8 to 8, where both ends of the activation are reached.
double pointOf(size_t index) { return -8 + 0.5 * double(index); }

/// Of no order, and none of them zero.
double factorOf(size_t index) {
  return index % 2 ? -1.5 - 0.25 * double(index % 7)
                   : 0.75 + 0.5 * double(index % 5);
}

/// More operations than this are none of an activation's.
constexpr size_t mostOperations = 96;

template <typename Function>
Samples samplesOf(Function function) {
  Samples samples;
  for (size_t i = 0; i < points; ++i)
    samples[i] = function(i);
  return samples;
}

double tanhOf(double x) {
  // exp(-2 |x|) neither overflows nor loses the sign.
  const double e = portableExponential(-2 * std::abs(x));
  return std::copysign((1 - e) / (1 + e), x);
}

constexpr double cubic = 0.044715, scale = 0.79788456080286535588;

double geluOf(double x) {
  return 0.5 * x * (1 + tanhOf(scale * (x + cubic * x * x * x)));
}

double derivativeOf(double x) {
  const double t = tanhOf(scale * (x + cubic * x * x * x));
  return 0.5 * (1 + t) +
         0.5 * x * (1 - t * t) * scale * (1 + 3 * cubic * x * x);
}

class Sampler {
public:
  void let(Value value, const Samples &samples) {
    known[fusion::elementsOf(value)] = samples;
  }
  /// Nothing for what is none of the operations that it executes, or reads
  /// other elements.
  std::optional<Samples> sample(Value value);

private:
  std::optional<Samples> execute(Operation *op);

  llvm::DenseMap<Value, std::optional<Samples>> known;
};

std::optional<Samples> Sampler::sample(Value value) {
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (!constant.isSplat() || !isa<FloatType>(constant.getElementType()))
      return std::nullopt;
    APFloat number = constant.getSplatValue<APFloat>();
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return samplesOf([&](size_t) { return number.convertToDouble(); });
  }
  value = fusion::elementsOf(value);
  if (auto entry = known.find(value); entry != known.end())
    return entry->second;
  Operation *op = value.getDefiningOp();
  std::optional<Samples> samples;
  if (op && known.size() < mostOperations)
    samples = execute(op);
  known[value] = samples;
  return samples;
}

std::optional<Samples> Sampler::execute(Operation *op) {
  auto unary = [&](double (*function)(double)) -> std::optional<Samples> {
    auto operand = sample(op->getOperand(0));
    if (!operand)
      return std::nullopt;
    return samplesOf([&](size_t i) { return function((*operand)[i]); });
  };
  auto binary =
      [&](double (*function)(double, double)) -> std::optional<Samples> {
    auto lhs = sample(op->getOperand(0)), rhs = sample(op->getOperand(1));
    if (!lhs || !rhs)
      return std::nullopt;
    return samplesOf([&](size_t i) { return function((*lhs)[i], (*rhs)[i]); });
  };
  return llvm::TypeSwitch<Operation *, std::optional<Samples>>(op)
      .Case([&](stablehlo::AddOp) {
        return binary([](double a, double b) { return a + b; });
      })
      .Case([&](stablehlo::SubtractOp) {
        return binary([](double a, double b) { return a - b; });
      })
      .Case([&](stablehlo::MultiplyOp) {
        return binary([](double a, double b) { return a * b; });
      })
      .Case([&](stablehlo::DivideOp) {
        return binary([](double a, double b) { return a / b; });
      })
      .Case([&](stablehlo::NegateOp) {
        return unary([](double a) { return -a; });
      })
      .Case([&](stablehlo::TanhOp) { return unary(tanhOf); })
      .Case(
          [&](stablehlo::ExponentialOp) { return unary(portableExponential); })
      .Case([&](stablehlo::LogisticOp) {
        return unary([](double a) { return 0.5 + 0.5 * tanhOf(0.5 * a); });
      })
      // Of one number, which is the same everywhere.
      .Case([&](stablehlo::BroadcastInDimOp broadcast) {
        DenseElementsAttr constant;
        return matchPattern(broadcast.getOperand(), m_Constant(&constant))
                   ? sample(broadcast.getOperand())
                   : std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Whether they differ by no more than the constants in the code, which are
/// numbers of f32.
bool agree(const std::optional<Samples> &found, const Samples &expected) {
  if (!found)
    return false;
  for (size_t i = 0; i < points; ++i)
    if (!(std::abs((*found)[i] - expected[i]) <=
          1e-6 * (1 + std::abs(expected[i]))))
      return false;
  return true;
}

bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

} // namespace

Value fusion::elementsOf(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto group = dyn_cast<step::GroupOp>(argument.getOwner()->getParentOp());
      if (!group)
        return value;
      value = group.getInputs()[argument.getArgNumber()];
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto group = dyn_cast<step::GroupOp>(op)) {
      if (group.getKind() == step::GroupKind::library)
        return value;
      value = group.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(value).getResultNumber());
      continue;
    }
    const bool isSame = isa<stablehlo::ReshapeOp>(op) ||
                        (isa<stablehlo::ConvertOp>(op) && isFloat(value) &&
                         isFloat(op->getOperand(0)));
    if (!isSame)
      return value;
    value = op->getOperand(0);
  }
}

bool fusion::isGelu(Value result, Value input) {
  Sampler sampler;
  sampler.let(input, samplesOf(pointOf));
  return agree(sampler.sample(result),
               samplesOf([](size_t i) { return geluOf(pointOf(i)); }));
}

bool fusion::isGeluGradient(Value result, Value factor, Value input) {
  Sampler sampler;
  sampler.let(factor, samplesOf(factorOf));
  sampler.let(input, samplesOf(pointOf));
  return agree(sampler.sample(result), samplesOf([](size_t i) {
                 return factorOf(i) * derivativeOf(pointOf(i));
               }));
}

bool fusion::dependsOn(Value result, Value value) {
  const Value elements = elementsOf(value);
  llvm::DenseSet<Value> seen;
  SmallVector<Value> look = {result};
  while (!look.empty()) {
    Value next = elementsOf(look.pop_back_val());
    if (next == elements)
      return true;
    Operation *op = next.getDefiningOp();
    if (op && !isa<step::GroupOp>(op) && seen.insert(next).second)
      llvm::append_range(look, op->getOperands());
  }
  return false;
}
