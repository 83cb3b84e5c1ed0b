//===- PackedFloats.cpp - Arithmetic of f16 and bf16, one or two at a time ===//

#include "FloatFormat.h"
#include "Forms.h"
#include "Lanes.h"

using namespace tenon::emulated;

namespace {

struct Half {
  static constexpr FloatFormat format = f16Format;
};
struct Brain {
  static constexpr FloatFormat format = bf16Format;
};

using Number = uint16_t;

template <typename F>
Number finish(const Instruction &i, Number x) {
  const uint32_t magnitude = x & 0x7FFF;
  const uint32_t infinity =
      F::format.nan & ~((1u << (F::format.precision - 1)) - 1) & 0x7FFF;
  const uint32_t one = F::format.precision == 11 ? 0x3C00 : 0x3F80;
  bool isNaN = magnitude > infinity;
  if (i.saturate)
    x = isNaN || (x & 0x8000) ? 0 : std::min<uint32_t>(x, one);
  else if (i.relu && !isNaN && (x & 0x8000))
    x = 0;
  if (i.flush && (x & infinity) == 0)
    x &= 0x8000;
  return x;
}
template <typename F>
double input(const Instruction &i, Number x) {
  const uint32_t exponent =
      F::format.nan & ~((1u << (F::format.precision - 1)) - 1) & 0x7FFF;
  if (i.flush && !(x & exponent))
    x &= 0x8000;
  return decode(x, F::format);
}

template <typename F>
Number add(const Instruction &i, Number a, Number b) {
  return finish<F>(i, addRounded(input<F>(i, a), input<F>(i, b), F::format,
                                 Rounding::Nearest));
}
template <typename F>
Number subtract(const Instruction &i, Number a, Number b) {
  return finish<F>(i, addRounded(input<F>(i, a), -input<F>(i, b), F::format,
                                 Rounding::Nearest));
}
template <typename F>
Number multiply(const Instruction &i, Number a, Number b) {
  return finish<F>(
      i, encode(input<F>(i, a) * input<F>(i, b), F::format, Rounding::Nearest));
}
template <typename F>
Number fusedMultiplyAdd(const Instruction &i, Number a, Number b, Number c) {
  return finish<F>(i, addRounded(input<F>(i, a) * input<F>(i, b),
                                 input<F>(i, c), F::format, Rounding::Nearest));
}
template <typename F, bool larger>
Number extreme(const Instruction &i, Number a, Number b) {
  double x = input<F>(i, a), y = input<F>(i, b);
  double result;
  if (x != x || y != y)
    result = i.propagateNaN || (x != x && y != y) ? NAN : x != x ? y : x;
  else if (x == y)
    result = std::signbit(x) == larger ? y : x;
  else
    result = (x > y) == larger ? x : y;
  return encode(result, F::format, Rounding::Nearest);
}
template <typename F>
Number negate(const Instruction &i, Number a) {
  return finish<F>(i, a ^ 0x8000);
}
template <typename F>
Number absolute(const Instruction &i, Number a) {
  return finish<F>(i, a & 0x7FFF);
}

/// The function on both halves of 32 bits.
template <auto F>
uint32_t twice(const Instruction &i, uint32_t a) {
  return F(i, a) | uint32_t(F(i, a >> 16)) << 16;
}
template <auto F>
uint32_t twice2(const Instruction &i, uint32_t a, uint32_t b) {
  return F(i, a, b) | uint32_t(F(i, a >> 16, b >> 16)) << 16;
}
template <auto F>
uint32_t twice3(const Instruction &i, uint32_t a, uint32_t b, uint32_t c) {
  return F(i, a, b, c) | uint32_t(F(i, a >> 16, b >> 16, c >> 16)) << 16;
}

/// ex2 and tanh: correctly rounded, or within `relative` and `absolute` of the
/// exact value.
template <typename F, double (*function)(double), bool isTanh>
void approximate(Warp &warp, const Instruction &instruction, Mask active) {
  const uint64_t seed = warp.block->grid->settings->approximateSeed;
  const bool half = F::format.precision == 11;
  const double relative = isTanh ? 0 : half ? 1.046e-3 /* 2^-9.9 */ : 0x1p-7;
  const double absolute = !isTanh ? 0
                          : half  ? 4.926e-4 /* 2^-10.987 */
                                  : 0x1p-8;
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  auto one = [&](Number x) {
    double exact = function(input<F>(instruction, x));
    if (seed && exact != 0 && std::isfinite(exact)) {
      double unit =
          std::ldexp(1.0, std::max(std::ilogb(exact), F::format.lowest) -
                              F::format.precision + 1);
      double most = std::max(relative * std::fabs(exact), absolute) - unit / 2;
      if (most > 0)
        exact += most * (double(scramble(seed, x) >> 11) * 0x1p-52 - 1);
    }
    return finish<F>(instruction, encode(exact, F::format, Rounding::Nearest));
  };
  forLanes(active, [&](unsigned lane) {
    uint64_t x = readLane(warp, from, lane);
    uint64_t result = one(x);
    if (from.bits == 32)
      result |= uint64_t(one(x >> 16)) << 16;
    writeLane(warp, to, lane, result);
  });
}

#define ONE(FUNCTION) each<FUNCTION, Number, Number>
#define TWO(FUNCTION) each<FUNCTION, Number, Number, Number>
#define THREE(FUNCTION) each<FUNCTION, Number, Number, Number, Number>
#define ONE_X2(FUNCTION) each<twice<FUNCTION>, uint32_t, uint32_t>
#define TWO_X2(FUNCTION) each<twice2<FUNCTION>, uint32_t, uint32_t, uint32_t>
#define THREE_X2(FUNCTION)                                                     \
  each<twice3<FUNCTION>, uint32_t, uint32_t, uint32_t, uint32_t>
constexpr auto straight = Instruction::Straight;

const Form packedFloatForms[] = {
    {"add.rn{,.ftz}{,.sat}.f16", "d16 s16 s16", TWO(add<Half>)},
    {"sub.rn{,.ftz}{,.sat}.f16", "d16 s16 s16", TWO(subtract<Half>)},
    {"mul.rn{,.ftz}{,.sat}.f16", "d16 s16 s16", TWO(multiply<Half>)},
    {"fma.rn{,.ftz}{,.sat,.relu}.f16", "d16 s16 s16 s16",
     THREE(fusedMultiplyAdd<Half>)},
    {"add.rn{,.ftz}{,.sat}.f16x2", "d32 s32 s32", TWO_X2(add<Half>)},
    {"sub.rn{,.ftz}{,.sat}.f16x2", "d32 s32 s32", TWO_X2(subtract<Half>)},
    {"mul.rn{,.ftz}{,.sat}.f16x2", "d32 s32 s32", TWO_X2(multiply<Half>)},
    {"fma.rn{,.ftz}{,.sat,.relu}.f16x2", "d32 s32 s32 s32",
     THREE_X2(fusedMultiplyAdd<Half>)},
    {"min{,.ftz}{,.NaN}.f16", "d16 s16 s16", TWO((extreme<Half, false>))},
    {"max{,.ftz}{,.NaN}.f16", "d16 s16 s16", TWO((extreme<Half, true>))},
    {"min{,.ftz}{,.NaN}.f16x2", "d32 s32 s32", TWO_X2((extreme<Half, false>))},
    {"max{,.ftz}{,.NaN}.f16x2", "d32 s32 s32", TWO_X2((extreme<Half, true>))},
    {"neg{,.ftz}.f16", "d16 s16", ONE(negate<Half>)},
    {"neg{,.ftz}.f16x2", "d32 s32", ONE_X2(negate<Half>)},
    {"abs{,.ftz}.f16", "d16 s16", ONE(absolute<Half>)},
    {"abs{,.ftz}.f16x2", "d32 s32", ONE_X2(absolute<Half>)},
    {"ex2.approx{,.ftz}.f16", "d16 s16", approximate<Half, std::exp2, false>},
    {"ex2.approx{,.ftz}.f16x2", "d32 s32", approximate<Half, std::exp2, false>},
    {"tanh.approx.f16", "d16 s16", approximate<Half, std::tanh, true>},
    {"tanh.approx.f16x2", "d32 s32", approximate<Half, std::tanh, true>},

    {"add.rn.bf16", "d16 s16 s16", TWO(add<Brain>), straight, false, 90},
    {"sub.rn.bf16", "d16 s16 s16", TWO(subtract<Brain>), straight, false, 90},
    {"mul.rn.bf16", "d16 s16 s16", TWO(multiply<Brain>), straight, false, 90},
    {"fma.rn{,.relu}.bf16", "d16 s16 s16 s16", THREE(fusedMultiplyAdd<Brain>)},
    {"add.rn.bf16x2", "d32 s32 s32", TWO_X2(add<Brain>), straight, false, 90},
    {"sub.rn.bf16x2", "d32 s32 s32", TWO_X2(subtract<Brain>), straight, false,
     90},
    {"mul.rn.bf16x2", "d32 s32 s32", TWO_X2(multiply<Brain>), straight, false,
     90},
    {"fma.rn{,.relu}.bf16x2", "d32 s32 s32 s32",
     THREE_X2(fusedMultiplyAdd<Brain>)},
    {"min{,.NaN}.bf16", "d16 s16 s16", TWO((extreme<Brain, false>))},
    {"max{,.NaN}.bf16", "d16 s16 s16", TWO((extreme<Brain, true>))},
    {"min{,.NaN}.bf16x2", "d32 s32 s32", TWO_X2((extreme<Brain, false>))},
    {"max{,.NaN}.bf16x2", "d32 s32 s32", TWO_X2((extreme<Brain, true>))},
    {"neg.bf16", "d16 s16", ONE(negate<Brain>)},
    {"neg.bf16x2", "d32 s32", ONE_X2(negate<Brain>)},
    {"abs.bf16", "d16 s16", ONE(absolute<Brain>)},
    {"abs.bf16x2", "d32 s32", ONE_X2(absolute<Brain>)},
    {"ex2.approx.ftz.bf16", "d16 s16", approximate<Brain, std::exp2, false>,
     straight, false, 90},
    {"ex2.approx.ftz.bf16x2", "d32 s32", approximate<Brain, std::exp2, false>,
     straight, false, 90},
    {"tanh.approx.bf16", "d16 s16", approximate<Brain, std::tanh, true>,
     straight, false, 90},
    {"tanh.approx.bf16x2", "d32 s32", approximate<Brain, std::tanh, true>,
     straight, false, 90},
};

} // namespace

void tenon::emulated::addPackedFloatForms(FormTable &table) {
  table.add(packedFloatForms);
}
