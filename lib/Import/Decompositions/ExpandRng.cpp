//===- ExpandRng.cpp - Random numbers as functions of their place ---------===//
//
// `rng` names no state, and the specification leaves open what it draws. Here
// it draws bits of THREE_FRY whose key is the operation's number among the
// module's `rng`, so that interpreter and compiled code, planned in any way,
// draw the same. Numbers are made of the bits as follows, with `u` the upper 24
// bits (53 for f64) read as a fraction:
//
//   UNIFORM, floating point:  a + u (b - a); a where that rounds to b
//   UNIFORM, integers:        a + bits mod (b - a)
//   NORMAL:                   a + b sqrt(2) erf_inv(2 u - 1 + half a step)
//
//===----------------------------------------------------------------------===//

#include "ElementMath.h"

#include "tenon/Import/Passes.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include <cmath>

namespace tenon::importer {
#define GEN_PASS_DEF_EXPANDRNGPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::stablehlo;
namespace chlo = tenon::chlo;

namespace {

class RngExpansion {
public:
  RngExpansion(RngOp op, int64_t number)
      : op(op), number(number), builder(op.getLoc(), op),
        type(cast<RankedTensorType>(op.getType())) {}

  Value expand() {
    if (isa<IntegerType>(type.getElementType()))
      return integers();
    bool isNormal = op.getRngDistribution() == RngDistribution::NORMAL;
    return isNormal ? normal() : uniform();
  }

private:
  /// Bits of 32 or 64 to an element, as unsigned integers.
  Value bits(bool wide) {
    Type word = IntegerType::get(op.getContext(), 64, IntegerType::Unsigned);
    auto stateType = RankedTensorType::get({2}, word);
    auto state = ConstantOp::create(
        builder, cast<ElementsAttr>(DenseElementsAttr::get(
                     stateType, {APInt(64, number), APInt(64, 0)})));
    Type element = IntegerType::get(op.getContext(), wide ? 64 : 32,
                                    IntegerType::Unsigned);
    return RngBitGeneratorOp::create(builder,
                                     TypeRange{stateType, type.clone(element)},
                                     RngAlgorithm::THREE_FRY, state)
        .getOutput();
  }

  /// A scalar, with other elements, in the result's shape.
  Value spread(Value scalar, Type element) {
    if (getElementTypeOrSelf(scalar.getType()) != element)
      scalar = ConvertOp::create(builder, scalar, element);
    return BroadcastInDimOp::create(builder, type.clone(element), scalar,
                                    ArrayRef<int64_t>());
  }

  /// What floating-point numbers are computed in.
  ElementMath wideMath() {
    bool isWide = type.getElementType().isF64();
    return ElementMath(
        builder,
        type.clone(isWide ? builder.getF64Type() : Type(builder.getF32Type())));
  }

  /// The unit of the fractions: 2^-53 or 2^-24.
  double step() { return type.getElementType().isF64() ? 0x1p-53 : 0x1p-24; }

  /// Multiples of the unit from 0 to 1, without 1.
  Value fraction(const ElementMath &math) {
    bool isWide = math.type.getElementType().isF64();
    Value words = bits(isWide);
    ElementMath integers(builder, cast<RankedTensorType>(words.getType()));
    Value upper = ShiftRightLogicalOp::create(
        builder, words, integers.integer(isWide ? 11 : 8));
    return math.mul(math.convert(upper), step());
  }

  Value uniform() {
    ElementMath math = wideMath(), narrow(builder, type);
    Type wide = math.type.getElementType();
    Value a = spread(op.getA(), wide), b = spread(op.getB(), wide);
    Value drawn =
        narrow.convert(math.add(a, math.mul(fraction(math), math.sub(b, a))));
    Value low = spread(op.getA(), type.getElementType());
    Value high = spread(op.getB(), type.getElementType());
    return narrow.select(narrow.lt(drawn, high), drawn, low);
  }

  Value normal() {
    ElementMath math = wideMath(), narrow(builder, type);
    Type wide = math.type.getElementType();
    // Symmetric about 0, and never -1 or 1.
    Value v = math.add(math.add(math.mul(fraction(math), 2.0), -1.0), step());
    Value z =
        math.mul(chlo::ErfInvOp::create(builder, math.type, v), std::sqrt(2.0));
    return narrow.convert(math.add(spread(op.getA(), wide),
                                   math.mul(spread(op.getB(), wide), z)));
  }

  Value integers() {
    auto element = cast<IntegerType>(type.getElementType());
    bool isWide = element.getWidth() > 32;
    bool isSigned = !element.isUnsigned() && element.getWidth() > 1;
    Value words = bits(isWide);
    ElementMath math(builder, cast<RankedTensorType>(words.getType()));
    Type unsignedWord = math.type.getElementType();
    Type word =
        isSigned ? builder.getIntegerType(isWide ? 64 : 32) : unsignedWord;
    auto end = [&](Value scalar) {
      Value value = spread(scalar, word);
      return isSigned ? math.bitcast(value) : value;
    };
    Value a = end(op.getA());
    // An empty interval, for which nothing is said, is one number.
    Value range = MaximumOp::create(builder, math.sub(end(op.getB()), a),
                                    math.integer(1));
    Value drawn = math.add(a, RemainderOp::create(builder, words, range));
    if (isSigned)
      drawn = math.on(word).bitcast(drawn);
    return ElementMath(builder, type).convert(drawn);
  }

  RngOp op;
  int64_t number;
  ImplicitLocOpBuilder builder;
  RankedTensorType type;
};

struct ExpandRng : public tenon::importer::impl::ExpandRngPassBase<ExpandRng> {
  void runOnOperation() override {
    SmallVector<RngOp> draws;
    getOperation().walk([&](RngOp op) { draws.push_back(op); });
    for (auto [number, op] : llvm::enumerate(draws)) {
      auto type = dyn_cast<RankedTensorType>(op.getType());
      if (!type || !type.hasStaticShape())
        continue; // refused later
      emitWarning(op.getLoc())
          << "'stablehlo.rng' draws the same numbers whenever it is executed; "
             "rng_bit_generator with a state that the step returns draws new "
             "ones";
      op.replaceAllUsesWith(RngExpansion(op, int64_t(number)).expand());
      op.erase();
    }
  }
};

} // namespace
