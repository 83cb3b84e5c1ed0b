//===- Floats.cpp - Arithmetic of f32 and f64 -----------------------------===//
//
// Rounded instructions are exact. Approximate ones give the correctly rounded
// value, or, with a seed, one that errs within the bound of the PTX ISA's
// tables: the same for equal operands, as on a GPU.
//
//===----------------------------------------------------------------------===//

#include "FloatFormat.h"
#include "Forms.h"
#include "Lanes.h"

using namespace tenon::emulated;

namespace {

const float quietNaN = std::bit_cast<float>(0x7FFFFFFF);

float finish(const Instruction &instruction, float x) {
  if (instruction.saturate) // a NaN becomes +0
    x = x > 0 ? std::min(x, 1.0f) : 0.0f;
  return flushedIf(instruction.flush, x);
}
float input(const Instruction &instruction, float x) {
  return flushedIf(instruction.flush, x);
}
/// A GPU's arithmetic gives one NaN, whatever came in.
float oneNaN(float x) { return x != x ? quietNaN : x; }

float add(const Instruction &i, float a, float b) {
  a = input(i, a), b = input(i, b);
  if (i.rounding == Rounding::Nearest)
    return finish(i, oneNaN(a + b));
  return finish(i,
                std::bit_cast<float>(addRounded(a, b, f32Format, i.rounding)));
}
float subtract(const Instruction &i, float a, float b) { return add(i, a, -b); }
float multiply(const Instruction &i, float a, float b) {
  a = input(i, a), b = input(i, b);
  if (i.rounding == Rounding::Nearest)
    return finish(i, oneNaN(a * b));
  return finish(
      i, std::bit_cast<float>(encode(double(a) * b, f32Format, i.rounding)));
}
float fusedMultiplyAdd(const Instruction &i, float a, float b, float c) {
  a = input(i, a), b = input(i, b), c = input(i, c);
  if (i.rounding == Rounding::Nearest)
    return finish(i, oneNaN(std::fma(a, b, c)));
  // The product of floats is exact as a double.
  return finish(i, std::bit_cast<float>(
                       addRounded(double(a) * b, c, f32Format, i.rounding)));
}
/// Arithmetic of f32 whose operands but the last are narrower floats.
template <auto F, FloatFormat format, std::same_as<uint16_t>... Narrow>
float widened(const Instruction &i, Narrow... operands, float last) {
  return F(i, float(decode(operands, format))..., last);
}
/// The function on both numbers of 64 bits.
template <auto F, std::same_as<uint64_t>... Pairs>
uint64_t onPairs(const Instruction &i, Pairs... pairs) {
  auto of = [&](unsigned at) -> uint64_t {
    return std::bit_cast<uint32_t>(
        F(i, std::bit_cast<float>(uint32_t(pairs >> at))...));
  };
  return of(0) | of(32) << 32;
}
float divide(const Instruction &i, float a, float b) {
  return finish(i, oneNaN(input(i, a) / input(i, b)));
}
float reciprocal(const Instruction &i, float a) {
  return finish(i, oneNaN(1 / input(i, a)));
}
float root(const Instruction &i, float a) {
  return finish(i, oneNaN(std::sqrt(input(i, a))));
}

template <bool larger>
float extreme(const Instruction &i, float a, float b) {
  a = input(i, a), b = input(i, b);
  if (a != a || b != b) {
    if (i.propagateNaN || (a != a && b != b))
      return quietNaN;
    return a != a ? b : a;
  }
  if (a == b) // -0 is less than +0
    return std::signbit(a) == larger ? b : a;
  return (a > b) == larger ? a : b;
}
template <bool larger>
double extremeDouble(double a, double b) {
  if (a != a || b != b)
    return a != a ? b : a;
  if (a == b)
    return std::signbit(a) == larger ? b : a;
  return (a > b) == larger ? a : b;
}
float absolute(const Instruction &i, float a) { return input(i, std::fabs(a)); }
float negate(const Instruction &i, float a) { return input(i, -a); }

// --- Approximate functions.

/// How far the result may be from the exact value: `relative` times it,
/// `absolute`, or `ulps` units of its last place.
struct Bound {
  double relative = 0, absolute = 0, ulps = 0;
};

/// Moves the exact value within its bound, less the half unit that rounding
/// adds.
double perturbed(uint64_t seed, const Bound &bound, double exact, uint64_t a,
                 uint64_t b) {
  if (!seed || exact == 0 || !std::isfinite(exact) ||
      std::fabs(exact) < 0x1p-126)
    return exact;
  double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
  double most = std::max(bound.relative * std::fabs(exact), bound.absolute);
  most = std::max(most, bound.ulps * unit) - unit / 2;
  if (most <= 0)
    return exact;
  double share = double(scramble(seed, a, b) >> 11) * 0x1p-52 - 1; // in [-1, 1)
  return exact + share * most;
}

template <auto F, Bound (*bound)(double, double)>
void approximate(Warp &warp, const Instruction &instruction, Mask active) {
  const uint64_t seed = warp.block->grid->settings->approximateSeed;
  auto *to = warp.lanesOf<float>(instruction.operands[0]);
  auto *from = warp.lanesOf<float>(instruction.operands[1]);
  forLanes(active, [&](unsigned lane) {
    float x = input(instruction, from[lane]);
    double exact = F(double(x));
    exact =
        perturbed(seed, bound(x, exact), exact, std::bit_cast<uint32_t>(x), 0);
    to[lane] = finish(instruction, std::bit_cast<float>(encode(
                                       exact, f32Format, Rounding::Nearest)));
  });
}

/// div.approx is a * (1 / b): outside 2^±126 of the divisor it gives 0 (NaN of
/// infinity).
template <bool full>
void divideApproximately(Warp &warp, const Instruction &instruction,
                         Mask active) {
  const uint64_t seed = warp.block->grid->settings->approximateSeed;
  auto *to = warp.lanesOf<float>(instruction.operands[0]);
  auto *a = warp.lanesOf<float>(instruction.operands[1]);
  auto *b = warp.lanesOf<float>(instruction.operands[2]);
  forLanes(active, [&](unsigned lane) {
    float x = input(instruction, a[lane]), y = input(instruction, b[lane]);
    double exact = double(x) / y;
    if (!full && std::fabs(y) > 0x1p126f && std::fabs(y) <= 0x1.fffffep127f)
      exact = std::isinf(x) ? NAN : std::copysign(0.0, exact);
    exact = perturbed(seed, {0, 0, 2}, exact, std::bit_cast<uint32_t>(x),
                      std::bit_cast<uint32_t>(y));
    to[lane] = finish(instruction, std::bit_cast<float>(encode(
                                       exact, f32Format, Rounding::Nearest)));
  });
}

Bound twoUlps(double, double) { return {0, 0, 2}; }
Bound oneUlp(double, double) { return {0, 0, 1}; }
Bound ofRoot(double, double) { return {0x1p-23}; }
Bound ofInverseRoot(double, double) { return {1.276e-7}; } // 2^-22.9
Bound ofTanh(double, double) { return {0x1p-11}; }
Bound ofLogarithm(double x, double) {
  return x > 0.5 && x < 2 ? Bound{0, 0x1p-22} : Bound{0x1p-22};
}
Bound ofSine(double x, double) {
  // Absolute 2^-20.5 within one turn, 2^-14.7 within 50 turns.
  return {0, std::fabs(x) <= 6.2831853 ? 6.74e-7 : 3.756e-5};
}

constexpr auto exp2Of = [](double x) { return std::exp2(x); };
constexpr auto log2Of = [](double x) { return std::log2(x); };
constexpr auto inverseOf = [](double x) { return 1 / x; };
constexpr auto rootOf = [](double x) { return std::sqrt(x); };
constexpr auto inverseRootOf = [](double x) { return 1 / std::sqrt(x); };
constexpr auto tanhOf = [](double x) { return std::tanh(x); };
constexpr auto sinOf = [](double x) { return std::sin(x); };
constexpr auto cosOf = [](double x) { return std::cos(x); };

/// Nearly all instructions round to nearest and do not saturate; that much is
/// decided for all lanes at once. `General` decides it lane by lane.
template <auto Plain, auto General, std::same_as<float>... Operands>
void nearest(Warp &warp, const Instruction &instruction, Mask active) {
  constexpr auto keeping = [](Operands... x) { return oneNaN(Plain(x...)); };
  constexpr auto flushing = [](Operands... x) {
    return flushed(oneNaN(Plain(flushed(x)...)));
  };
  if (instruction.rounding != Rounding::Nearest || instruction.saturate)
    return each<General, float, Operands...>(warp, instruction, active);
  return instruction.flush
             ? each<flushing, float, Operands...>(warp, instruction, active)
             : each<keeping, float, Operands...>(warp, instruction, active);
}
constexpr auto plainSum = [](float a, float b) { return a + b; };
constexpr auto plainDifference = [](float a, float b) { return a - b; };
constexpr auto plainProduct = [](float a, float b) { return a * b; };
constexpr auto plainQuotient = [](float a, float b) { return a / b; };
constexpr auto plainInverse = [](float a) { return 1 / a; };
constexpr auto plainRoot = [](float a) { return std::sqrt(a); };
constexpr auto plainFma = [](float a, float b, float c) {
  return std::fma(a, b, c);
};

#define UNARY(FUNCTION) each<FUNCTION, float, float>
#define BINARY(FUNCTION) each<FUNCTION, float, float, float>
#define BINARY_X2(FUNCTION)                                                    \
  each<onPairs<FUNCTION, uint64_t, uint64_t>, uint64_t, uint64_t, uint64_t>
#define WIDENED(FUNCTION, FORMAT)                                              \
  each<widened<FUNCTION, FORMAT, uint16_t>, float, uint16_t, float>
#define WIDENED_FMA(FORMAT)                                                    \
  each<widened<fusedMultiplyAdd, FORMAT, uint16_t, uint16_t>, float, uint16_t, \
       uint16_t, float>
constexpr auto straight = Instruction::Straight;
constexpr auto addDoubles = [](double a, double b) { return a + b; };
constexpr auto subtractDoubles = [](double a, double b) { return a - b; };
constexpr auto multiplyDoubles = [](double a, double b) { return a * b; };
constexpr auto divideDoubles = [](double a, double b) { return a / b; };
constexpr auto fmaDoubles = [](double a, double b, double c) {
  return std::fma(a, b, c);
};

const Form floatForms[] = {
    {"add{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "d32 s32 s32",
     nearest<plainSum, add, float, float>},
    {"sub{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "d32 s32 s32",
     nearest<plainDifference, subtract, float, float>},
    {"mul{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "d32 s32 s32",
     nearest<plainProduct, multiply, float, float>},
    {"fma{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "d32 s32 s32 s32",
     nearest<plainFma, fusedMultiplyAdd, float, float, float>},
    {"mad{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "d32 s32 s32 s32",
     nearest<plainFma, fusedMultiplyAdd, float, float, float>},
    {"div.rn{,.ftz}.f32", "d32 s32 s32",
     nearest<plainQuotient, divide, float, float>},
    {"rcp.rn{,.ftz}.f32", "d32 s32", nearest<plainInverse, reciprocal, float>},
    {"sqrt.rn{,.ftz}.f32", "d32 s32", nearest<plainRoot, root, float>},
    {"min{,.ftz}{,.NaN}.f32", "d32 s32 s32", BINARY(extreme<false>)},
    {"max{,.ftz}{,.NaN}.f32", "d32 s32 s32", BINARY(extreme<true>)},
    {"abs{,.ftz}.f32", "d32 s32", UNARY(absolute)},
    {"neg{,.ftz}.f32", "d32 s32", UNARY(negate)},
    {"copysign.f32", "d32 s32 s32",
     each<[](float a, float b) { return std::copysign(b, a); }, float, float,
          float>},

    {"add{.rn,.rz,.rm,.rp}{,.sat}.f32.f16", "d32 s16 s32",
     WIDENED(add, f16Format), straight, false, 100},
    {"add{.rn,.rz,.rm,.rp}{,.sat}.f32.bf16", "d32 s16 s32",
     WIDENED(add, bf16Format), straight, false, 100},
    {"sub{.rn,.rz,.rm,.rp}{,.sat}.f32.f16", "d32 s16 s32",
     WIDENED(subtract, f16Format), straight, false, 100},
    {"sub{.rn,.rz,.rm,.rp}{,.sat}.f32.bf16", "d32 s16 s32",
     WIDENED(subtract, bf16Format), straight, false, 100},
    {"fma{.rn,.rz,.rm,.rp}{,.sat}.f32.f16", "d32 s16 s16 s32",
     WIDENED_FMA(f16Format), straight, false, 100},
    {"fma{.rn,.rz,.rm,.rp}{,.sat}.f32.bf16", "d32 s16 s16 s32",
     WIDENED_FMA(bf16Format), straight, false, 100},

    {"add.rn{,.ftz}.f32x2", "d64 s64 s64", BINARY_X2(add), straight, false,
     100},
    {"sub.rn{,.ftz}.f32x2", "d64 s64 s64", BINARY_X2(subtract), straight, false,
     100},
    {"mul.rn{,.ftz}.f32x2", "d64 s64 s64", BINARY_X2(multiply), straight, false,
     100},
    {"fma.rn{,.ftz}.f32x2", "d64 s64 s64 s64",
     each<onPairs<fusedMultiplyAdd, uint64_t, uint64_t, uint64_t>, uint64_t,
          uint64_t, uint64_t, uint64_t>,
     straight, false, 100},

    {"add.rn.f64", "d64 s64 s64", each<addDoubles, double, double, double>},
    {"sub.rn.f64", "d64 s64 s64",
     each<subtractDoubles, double, double, double>},
    {"mul.rn.f64", "d64 s64 s64",
     each<multiplyDoubles, double, double, double>},
    {"{fma,mad}.rn.f64", "d64 s64 s64 s64",
     each<fmaDoubles, double, double, double, double>},
    {"div.rn.f64", "d64 s64 s64", each<divideDoubles, double, double, double>},
    {"rcp.rn.f64", "d64 s64", each<inverseOf, double, double>},
    {"sqrt.rn.f64", "d64 s64", each<rootOf, double, double>},
    {"min.f64", "d64 s64 s64",
     each<extremeDouble<false>, double, double, double>},
    {"max.f64", "d64 s64 s64",
     each<extremeDouble<true>, double, double, double>},
    {"abs.f64", "d64 s64",
     each<[](double a) { return std::fabs(a); }, double, double>},
    {"neg.f64", "d64 s64", each<[](double a) { return -a; }, double, double>},
    {"copysign.f64", "d64 s64 s64",
     each<[](double a, double b) { return std::copysign(b, a); }, double,
          double, double>},

    {"ex2.approx{,.ftz}.f32", "d32 s32", approximate<exp2Of, twoUlps>},
    {"lg2.approx{,.ftz}.f32", "d32 s32", approximate<log2Of, ofLogarithm>},
    {"rcp.approx{,.ftz}.f32", "d32 s32", approximate<inverseOf, oneUlp>},
    {"rsqrt.approx{,.ftz}.f32", "d32 s32",
     approximate<inverseRootOf, ofInverseRoot>},
    {"sqrt.approx{,.ftz}.f32", "d32 s32", approximate<rootOf, ofRoot>},
    {"tanh.approx.f32", "d32 s32", approximate<tanhOf, ofTanh>},
    {"sin.approx{,.ftz}.f32", "d32 s32", approximate<sinOf, ofSine>},
    {"cos.approx{,.ftz}.f32", "d32 s32", approximate<cosOf, ofSine>},
    {"div.approx{,.ftz}.f32", "d32 s32 s32", divideApproximately<false>},
    {"div.full{,.ftz}.f32", "d32 s32 s32", divideApproximately<true>},
};

} // namespace

void tenon::emulated::addFloatForms(FormTable &table) { table.add(floatForms); }
