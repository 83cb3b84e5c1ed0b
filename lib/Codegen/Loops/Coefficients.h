//===- Coefficients.h - Polynomials of the mathematical functions --------===//
//
// Written by coefficients.py, not by hand. The error of a fit is its largest
// relative error after rounding, in units of 2^-24 (f32) or 2^-53 (f64).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_LOOPS_COEFFICIENTS_H
#define TENON_LIB_CODEGEN_LOOPS_COEFFICIENTS_H

namespace tenon::codegen::coefficients {

/// exp(r) = 1 + r + r^2 p(r), |r| <= ln(2)/2. Error 0.0536.
inline constexpr float exp[] = {
    0x1.fffffcp-2f, 0x1.55548cp-3f,  0x1.555858p-5f,
    0x1.123da4p-7f, 0x1.6ac114p-10f,
};

/// 2^r = 1 + r p(r), |r| <= 1/2. Error 47.5.
inline constexpr float exp2[] = {
    0x1.62e12cp-1f,
    0x1.ec03aap-3f,
    0x1.c9fcd2p-5f,
    0x1.39f08ep-7f,
};

/// -2^r = -1 + r p(r), 0 <= r <= 1. Error 48.6.
inline constexpr float negativeExp2Fraction[] = {
    -0x1.62d6c6p-1f,
    -0x1.ee2456p-3f,
    -0x1.abf842p-5f,
    -0x1.b7f782p-7f,
};

/// expm1(r) = r + r^2 p(r), |r| <= ln(2)/2. Error 0.00837.
inline constexpr float expm1[] = {
    0x1p-1f,        0x1.555556p-3f, 0x1.5554f8p-5f,
    0x1.111026p-7f, 0x1.6d3bp-10f,  0x1.a1fd6ap-13f,
};

/// log(1+f) = f - f^2/2 + f^3 p(f), |f| <= 1/3. Error 0.0882.
inline constexpr float log[] = {
    0x1.55550cp-2f, -0x1.fffe5ep-3f, 0x1.99ce42p-3f, -0x1.55b7e6p-3f,
    0x1.1ef19cp-3f, -0x1.f03c4ap-4f, 0x1.1df33ap-3f, -0x1.0e2a4ep-3f,
};

/// tanh(x) = x + x^3 p(x^2), x <= 0.625. Error 0.071.
inline constexpr float tanh[] = {
    -0x1.555534p-2f, 0x1.110758p-3f, -0x1.b8418p-5f,
    0x1.5241bap-6f,  -0x1.76432p-8f,
};

/// erf(x) = x + x p(x^2), x <= 0.9275. Error 0.287.
inline constexpr float erfSmall[] = {
    0x1.06eba6p-3f,  -0x1.8126e4p-2f, 0x1.ce19e4p-4f,
    -0x1.b6817cp-6f, 0x1.46fa2cp-8f,  -0x1.38f79ep-11f,
};

/// erf(a) = 1 - exp(-a + a p(a)), 0.9275 <= a <= 4. Error 0.0494.
inline constexpr float erfLarge[] = {
    -0x1.07316p-3f, -0x1.457ddap-1f, -0x1.af1cb8p-4f,
    0x1.76ecfep-6f, -0x1.a521ep-9f,  0x1.c04198p-13f,
};

/// erfc(a) = exp(-a^2) p((a - 2) / (a + 2)) / (a + 2), 0.9275 <= a <= 10.1.
/// Error 0.288.
inline constexpr float erfc[] = {
    0x1.058672p+0f,  -0x1.5fd388p-1f,  0x1.1e2d62p-2f,
    -0x1.2a812ap-5f, -0x1.5fd3cep-6f,  0x1.a3f9eep-8f,
    0x1.80a73p-9f,   -0x1.f04ea8p-12f, -0x1.78a5dap-11f,
};

/// erf_inv(x) = x p(w - 2.5), w = -log(1 - x^2) <= 5. Error 0.7.
inline constexpr float erfInvCentral[] = {
    0x1.805c5ep+0f,  0x1.f91e82p-3f,   -0x1.11cbe2p-8f,  -0x1.485d0ep-10f,
    0x1.cb0196p-13f, -0x1.520fb4p-18f, -0x1.f01daap-19f, 0x1.0264fep-21f,
    0x1.194a78p-24f, -0x1.515fap-27f,  -0x1.6f82dap-29f,
};

/// erf_inv(x) = x p(s - 3), s = sqrt(w), 5 <= w <= 16.64. Error 0.116.
inline constexpr float erfInvTail[] = {
    0x1.6a9efcp+1f,   0x1.006dcap+0f,  0x1.3579aap-7f,   -0x1.f4e6eep-8f,
    0x1.75367cp-8f,   -0x1.d355c8p-9f, 0x1.7d8d88p-10f,  -0x1.fa282ep-14f,
    -0x1.0d87e2p-12f, 0x1.4cc488p-13f, -0x1.27ed98p-15f,
};

/// sin(r) = r + r^3 p(r^2), |r| <= pi/4. Error 0.00273.
inline constexpr float sin[] = {
    -0x1.555556p-3f,
    0x1.111174p-7f,
    -0x1.a05956p-13f,
    0x1.7c2d9ap-19f,
};

/// cos(r) = 1 - r^2/2 + r^4 p(r^2), |r| <= pi/4. Error 0.00197.
inline constexpr float cos[] = {
    0x1.55554ap-5f,
    -0x1.6c0c28p-10f,
    0x1.99e80cp-16f,
};

/// tan(r) = r + r^3 p(r^2), |r| <= pi/4. Error 0.025.
inline constexpr float tan[] = {
    0x1.555562p-2f, 0x1.110d22p-3f,   0x1.baee2ep-5f, 0x1.5bf932p-6f,
    0x1.66a9c2p-7f, -0x1.8328aep-15f, 0x1.231914p-8f,
};

/// atan(q) = q + q^3 p(q^2), |q| <= 1. Error 0.0397.
inline constexpr float atan[] = {
    -0x1.55554p-2f,  0x1.999266p-3f,  -0x1.24262ap-3f,
    0x1.c0c8ep-4f,   -0x1.58bcecp-4f, 0x1.dc97d8p-5f,
    -0x1.012e5ap-5f, 0x1.6963fap-7f,  -0x1.dcc022p-10f,
};

/// log2(1+f) = f p(f), |f| <= 1/3. Error 2.13e+5.
inline constexpr double log2Double[] = {
    0x1.71547652c052fp+0,  -0x1.7154764b34d72p-1, 0x1.ec709d632f697p-2,
    -0x1.715484f910af9p-2, 0x1.2776f48dd0d98p-2,  -0x1.ec687c4525572p-3,
    0x1.a605a42c8d6dp-3,   -0x1.724a66098a302p-3, 0x1.49e11ce6a1bf1p-3,
    -0x1.1985aa8d5485p-3,  0x1.f420d03657b64p-4,  -0x1.542d7f45667c7p-3,
    0x1.4b9f55a71de09p-3,
};

/// 2^r = p(r), |r| <= 1/2. Error 1.67e+7.
inline constexpr double exp2Double[] = {
    0x1.0000000262361p+0,  0x1.62e430c82a037p-1, 0x1.ebfbdadb7194ap-3,
    0x1.c6aed460ddb9ep-5,  0x1.3b2dbc2cb9ffcp-7, 0x1.5f4597489b85ap-10,
    0x1.41d331968e5fep-13,
};

/// ln(2); the first part times an exponent is exact.
inline constexpr float ln2[] = {
    0x1.62e4p-1f,
    0x1.7f7d1cp-20f,
};

/// pi/2 in two parts.
inline constexpr float halfPi[] = {
    0x1.921fb6p+0f,
    -0x1.777a5cp-25f,
};

/// pi/2 in three positive parts: 0 times them leaves a -0 alone.
inline constexpr float halfPiDown[] = {
    0x1.921fb4p+0f,
    0x1.4442dp-24f,
    0x1.846988p-48f,
};

/// pi in two parts.
inline constexpr float pi[] = {
    0x1.921fb6p+1f,
    -0x1.777a5cp-24f,
};

/// 1/(2 pi) in pieces of 28 bits, exact times an f32 in f64.
inline constexpr double turns[] = {
    0x1.45f3068p-3,  0x1.727220ap-29,  0x1.29fc274p-58,
    0x1.7d1f534p-86, 0x1.bb81b68p-115, 0x1.14acc9ep-141,
    0x1.0e4107p-172, 0x1.f28b1d4p-197, 0x1.ef5de2ap-225,
};

} // namespace tenon::codegen::coefficients

#endif // TENON_LIB_CODEGEN_LOOPS_COEFFICIENTS_H
