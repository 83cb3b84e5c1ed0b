//===- MeasureCompute.cpp - FLOP/s from registers -------------------------===//
//
// Twelve independent multiply-adds per round keep every unit busy: two units of
// four or five cycles latency need eight to ten in flight, and twelve with two
// factors still fit the sixteen registers of AVX2. The functions are compiled
// for their instruction set one by one and chosen at run time.
//
//===----------------------------------------------------------------------===//

#include "MeasureCompute.h"

#include "MeasureTeam.h"

#include <immintrin.h>

using namespace tenon;
using namespace tenon::target;

namespace {

constexpr int accumulators = 12;

/// Rounds per window: about half a millisecond, short enough to fall between
/// the interruptions of a busy machine.
constexpr int64_t rounds = 250000;

/// A loop that does `rounds` rounds and the FLOPs of one round.
struct Loop {
  float (*run)(float factor);
  double flopsPerRound;
};

// The factor is an argument so that the loop cannot be evaluated beforehand;
// near one, sums stay finite and no number becomes denormal.

/// Inlined into a function that has the instructions for vectors of `lanes`.
template <int lanes>
[[gnu::always_inline]] inline float multiplyAdd(float factor) {
  using Vector = float __attribute__((ext_vector_type(lanes)));
  Vector x = factor, y = 1 - factor, sums[accumulators];
  for (int i = 0; i < accumulators; ++i)
    sums[i] = float(i);
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int i = 0; i < accumulators; ++i)
      sums[i] = __builtin_elementwise_fma(sums[i], x, y);
  Vector sum = sums[0];
  for (int i = 1; i < accumulators; ++i)
    sum += sums[i];
  return sum[0];
}

__attribute__((target("avx2,fma"))) float multiplyAdd256(float factor) {
  return multiplyAdd<8>(factor);
}

__attribute__((target("avx512f"))) float multiplyAdd512(float factor) {
  return multiplyAdd<16>(factor);
}

__attribute__((target("avx512f,avx512bw,avx512bf16"))) float
dotProduct512(float factor) {
  __m512bh x =
      _mm512_cvtne2ps_pbh(_mm512_set1_ps(factor), _mm512_set1_ps(-factor));
  __m512 sums[accumulators];
  for (int i = 0; i < accumulators; ++i)
    sums[i] = _mm512_set1_ps(float(i));
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int i = 0; i < accumulators; ++i)
      sums[i] = _mm512_dpbf16_ps(sums[i], x, x);
  __m512 sum = sums[0];
  for (int i = 1; i < accumulators; ++i)
    sum = _mm512_add_ps(sum, sums[i]);
  return _mm512_cvtss_f32(sum);
}

/// What TILELOADD and its like are told: the shape of each tile.
struct alignas(64) TileShapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Products of tiles, of 16 cycles each: a sixteenth of the rounds of the other
/// loops take about their time.
constexpr int64_t roundsPerTileRound = 16;

__attribute__((target("amx-tile,amx-bf16"))) float tileProducts(float factor) {
  const TileShapes shapes;
  _tile_loadconfig(&shapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (int64_t round = 0; round < rounds / roundsPerTileRound; ++round) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  _tile_release();
  return factor;
}

Rate measure(const Loop &loop, unsigned threads, double seconds) {
  auto rateOf = [&](unsigned count) {
    double window = shortestWindow(
        count, seconds, [](unsigned) {},
        [&](unsigned) {
          volatile float factor = 0.999f;
          volatile float sink = loop.run(factor);
          (void)sink;
        });
    return loop.flopsPerRound * double(rounds) * count / window;
  };
  Rate rate;
  rate.oneCore = rateOf(1);
  rate.allCores = threads > 1 ? rateOf(threads) : rate.oneCore;
  return rate;
}

} // namespace

ComputeRates target::measureCompute(Isa isa, unsigned threads, double seconds) {
  constexpr Loop narrow = {multiplyAdd256, 2.0 * 8 * accumulators};
  constexpr Loop wide = {multiplyAdd512, 2.0 * 16 * accumulators};
  constexpr Loop bf16 = {dotProduct512, 2.0 * 32 * accumulators};
  // Four products of 16 rows, 16 columns and 32 terms.
  constexpr Loop tiles = {tileProducts,
                          2.0 * 16 * 16 * 32 * 4 / roundsPerTileRound};
  const IsaInfo &info = describe(isa);
  ComputeRates rates;
  rates.f32 = measure(info.vectorBits >= 512 ? wide : narrow, threads, seconds);
  rates.bf16 = isa >= Isa::amxBf16 ? measure(tiles, threads, seconds)
               : info.hasBf16      ? measure(bf16, threads, seconds)
                                   : rates.f32;
  rates.f16 = rates.f32; // no instruction set has an instruction of its own
  return rates;
}
