//===- Target.cpp - What a machine can do ---------------------------------===//
//
// See Target.h. The built-in machines.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Target.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::target;

int64_t LaunchLimits::partsFor(int64_t elements) const {
  return std::clamp<int64_t>(elements / elementsPerPart, 1, mostParts);
}

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

Target target::builtInTarget(Isa isa) {
  constexpr int64_t cores = 2, kib = 1024, mib = 1024 * kib;
  constexpr double hertz = 3e9;
  const IsaInfo &info = describe(isa);
  auto everyCore = [](double rate) { return Rate{rate, rate * cores}; };
  Target target;
  target.name = "built-in " + std::string(info.featureSet);
  target.isa = isa;
  target.cores = cores;
  target.caches = {32 * kib, mib, 32 * mib};
  target.compute.f32 = everyCore(info.f32FlopsPerCycle * hertz);
  target.compute.bf16 = everyCore(info.bf16FlopsPerCycle * hertz);
  target.compute.f16 = target.compute.f32;
  // One core nearly saturates a copy and not a read.
  target.memory.copy = {36e9, 40e9};
  target.memory.read = {24e9, 40e9};
  target.memory.cachedCopy = everyCore(60e9);
  target.overheads = {2e-8, 3e-7};
  return target;
}
