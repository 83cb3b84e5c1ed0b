//===- StochasticRounding.cpp - step.stochastic_round in kernels ----------===//
//
// The only element-wise operation whose result depends on where the element is.
// What depends on the step and the tensor alone is emitted once per kernel.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/PointEmitter.h"

#include "Lanes.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Step/StochasticRounding.h"

using namespace mlir;

namespace tenon::codegen {

namespace {

/// Arithmetic on the words that decide about a rounding.
class RoundingWords : public Lanes {
public:
  using Lanes::Lanes;

  Value word(uint32_t value) const { return i32(int32_t(value)); }
  Value shiftedDown(Value x, uint32_t by) const {
    return arith::ShRUIOp::create(builder, loc, x, word(by));
  }
  /// x ^ x >> by.
  Value folded(Value x, uint32_t by) const {
    return exclusiveOr(x, shiftedDown(x, by));
  }
  Value exclusiveOr(Value x, Value y) const {
    return arith::XOrIOp::create(builder, loc, x, y);
  }
  Value plus(Value x, Value y) const {
    return arith::AddIOp::create(builder, loc, x, y);
  }
  Value times(Value x, uint32_t factor) const {
    return arith::MulIOp::create(builder, loc, x, word(factor));
  }
  Value isAbove(Value x, uint32_t limit) const {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, x,
                                 word(limit));
  }

  /// As the functions of Dialect/Step/StochasticRounding.h.
  Value mixingRound(Value x, int round) const {
    return times(folded(x, step::roundingShifts[round]),
                 step::roundingMultipliers[round]);
  }
  Value mixed(Value x) const {
    for (int round : {0, 1, 2})
      x = mixingRound(x, round);
    return folded(x, step::roundingShifts[3]);
  }
  Value randomBits(Value element, Value first, Value second) const {
    Value x = plus(mixingRound(exclusiveOr(element, first), 0), second);
    return shiftedDown(mixingRound(mixingRound(x, 1), 2), 16);
  }

  /// As step::roundStochastically(), of an f32 to a bf16.
  Value rounded(Value x, Value random) const {
    Value all = bits(x);
    Value magnitude =
        arith::AndIOp::create(builder, loc, all, word(0x7fffffff));
    Value added = arith::SelectOp::create(
        builder, loc, isAbove(magnitude, 0x7f7f0000), word(0x8000), random);
    Value quiet = arith::OrIOp::create(builder, loc, all, word(0x00400000));
    Value sum = arith::SelectOp::create(
        builder, loc, isAbove(magnitude, 0x7f800000), quiet, plus(all, added));
    Value upper = arith::TruncIOp::create(
        builder, loc, typeOf(builder.getI16Type()), shiftedDown(sum, 16));
    return arith::BitcastOp::create(builder, loc, typeOf(builder.getBF16Type()),
                                    upper);
  }
};

} // namespace

Element PointEmitter::placeOf(const IndexExpression &place) {
  bool isUniform = algebra.laneForm(place).isUniform();
  Element position{isUniform ? algebra.scalar(place) : algebra.vector(place),
                   levels.placed(algebra.level(place))};
  position.value = levels.emitAt(position.level, [&](OpBuilder &b) -> Value {
    Type from = position.value.getType(),
         to = withLanesOf(b.getI32Type(), from);
    if (isa<IndexType>(from))
      return arith::IndexCastOp::create(b, loc, to, position.value);
    return from == to ? position.value
                      : arith::TruncIOp::create(b, loc, to, position.value)
                            .getResult();
  });
  return position;
}

Element PointEmitter::stochasticRound(Operation *op, const Indices &indices) {
  auto round = cast<step::StochasticRoundOp>(op);
  Element value = at(round.getValue(), indices);
  Element counter = at(round.getStep(), {});
  Element key[2] = {at(round.getKey(), {IndexExpression(0)}),
                    at(round.getKey(), {IndexExpression(1)})};
  unsigned keyLevel = std::max({counter.level, key[0].level, key[1].level});
  Value words[2];
  words[0] = levels.emitAt(keyLevel, [&](OpBuilder &b) {
    RoundingWords w(b, loc, b.getI32Type(), instructions);
    return w.mixed(w.exclusiveOr(key[0].value, counter.value));
  });
  words[1] = levels.emitAt(keyLevel, [&](OpBuilder &b) {
    RoundingWords w(b, loc, b.getI32Type(), instructions);
    return w.mixed(w.exclusiveOr(key[1].value, words[0]));
  });

  Element position =
      round.getIndices()
          ? at(round.getIndices(), indices)
          : placeOf(algebra.linearize(indices, shapeOf(round.getResult())));
  bool isVector =
      algebra.lanes > 1 && (position.isVector() || value.isVector());
  auto inLanes = [&](Element element) {
    return isVector ? asVector(element) : element.value;
  };
  Value x = inLanes(value), element = inLanes(position),
        first = inLanes({words[0], keyLevel}),
        second = inLanes({words[1], keyLevel});
  unsigned level = std::max({value.level, position.level, keyLevel});
  Value result = levels.emitAt(level, [&](OpBuilder &b) {
    if (instructions.subnormals == Subnormals::flush)
      x = flushSubnormals(b, loc, x);
    RoundingWords w(b, loc, x.getType(), instructions);
    return w.rounded(x, w.randomBits(element, first, second));
  });
  return {result, level};
}

} // namespace tenon::codegen
