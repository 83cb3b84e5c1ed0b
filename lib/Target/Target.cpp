//===- Target.cpp - What a machine can do ---------------------------------===//
//
// See Target.h. The built-in machines, and the feature sets of processors.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Target.h"

#include <algorithm>
#include <array>

using namespace tenon;
using namespace tenon::target;

namespace {

constexpr std::array<std::string_view, 3> featureSetNames = {
    "x86-64-v3", "x86-64-v4", "x86-64-v4+avx512bf16"};

constexpr int64_t kib = 1024, mib = 1024 * kib;

/// FLOP/s of one core for each feature set: two multiply-adds of a register per
/// cycle at 3 GHz, bf16 twice that where it has an instruction.
struct CoreRates {
  double f32, bf16;
};
constexpr std::array<CoreRates, featureSetNames.size()> coreRates = {
    {{96e9, 96e9}, {192e9, 192e9}, {192e9, 384e9}}};

} // namespace

double Rate::of(int64_t count, int64_t cores) const {
  if (count <= 1 || cores <= 1)
    return oneCore;
  if (count >= cores)
    return allCores;
  // Cores add up until what they share is exhausted.
  return std::min(oneCore * double(count), std::max(oneCore, allCores));
}

int64_t Caches::last() const { return std::max({level1, level2, level3}); }

const Rate &Target::computeRate(ElementType type) const {
  switch (type) {
  case ElementType::bf16:
    return compute.bf16;
  case ElementType::f16:
    return compute.f16;
  default:
    return compute.f32;
  }
}

std::span<const std::string_view> target::featureSets() {
  return featureSetNames;
}

std::optional<size_t> target::featureSetRank(std::string_view featureSet) {
  auto found = std::ranges::find(featureSetNames, featureSet);
  if (found == featureSetNames.end())
    return std::nullopt;
  return size_t(found - featureSetNames.begin());
}

std::optional<std::string_view> target::hostFeatureSet() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2"))
    return std::nullopt;
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl"))
    return featureSetNames[0];
  return featureSetNames[__builtin_cpu_supports("avx512bf16") ? 2 : 1];
}

std::optional<Target> target::builtInTarget(std::string_view featureSet) {
  auto rank = featureSetRank(featureSet);
  if (!rank)
    return std::nullopt;
  constexpr int64_t cores = 2;
  auto everyCore = [](double rate) { return Rate{rate, rate * cores}; };
  Target target;
  target.name = "built-in " + std::string(featureSet);
  target.featureSet = featureSet;
  target.cores = cores;
  target.caches = {32 * kib, mib, 32 * mib};
  target.compute.f32 = everyCore(coreRates[*rank].f32);
  target.compute.bf16 = everyCore(coreRates[*rank].bf16);
  target.compute.f16 = target.compute.f32;
  // One core nearly saturates a copy and not a read.
  target.memory.copy = {36e9, 40e9};
  target.memory.read = {24e9, 40e9};
  target.memory.cachedCopy = everyCore(60e9);
  target.overheads = {2e-8, 3e-7};
  return target;
}
