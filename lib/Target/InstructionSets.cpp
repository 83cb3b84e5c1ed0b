//===- InstructionSets.cpp - The processors that code is made for ---------===//
//
// See InstructionSets.h. `-prefer-256-bit` undoes a preference of LLVM's
// generic x86-64-v4 processor that does not apply to explicit 16-lane vectors
// and costs code left to LLVM 45 %.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/InstructionSets.h"

#include <algorithm>

#include <sys/syscall.h>
#include <unistd.h>

using namespace tenon;
using namespace tenon::target;

namespace {

constexpr IsaInfo sets[] = {
    {Isa::avx2, "x86-64-v3", "avx2", "x86-64-v3", "", 256, false},
    {Isa::avx512, "x86-64-v4", "avx512", "x86-64-v4", "-prefer-256-bit", 512,
     false},
    {Isa::avx512Bf16, "x86-64-v4+avx512bf16", "avx512_bf16", "x86-64-v4",
     "-prefer-256-bit,+avx512bf16", 512, true},
    {Isa::amxBf16, "x86-64-v4+amxbf16", "amx_bf16", "x86-64-v4",
     "-prefer-256-bit,+avx512bf16,+amx-tile,+amx-bf16", 512, true},
};

struct Feature {
  std::string_view name; // as /proc/cpuinfo spells it
  Isa firstIn;
  bool (*isPresent)();
};

/// Whether Linux lets this process use the tiles of AMX; asking is allowing.
bool mayUseTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  static const bool may =
      syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return may;
}

// The builtin takes nothing but a literal.
#define TENON_FEATURE(name, firstIn, builtin)                                  \
  Feature {                                                                    \
    name, Isa::firstIn, [] { return bool(__builtin_cpu_supports(builtin)); }   \
  }

const Feature features[] = {
    TENON_FEATURE("avx2", avx2, "avx2"),
    TENON_FEATURE("fma", avx2, "fma"),
    TENON_FEATURE("bmi1", avx2, "bmi"),
    TENON_FEATURE("bmi2", avx2, "bmi2"),
    TENON_FEATURE("f16c", avx2, "f16c"),
    TENON_FEATURE("abm", avx2, "lzcnt"),
    TENON_FEATURE("movbe", avx2, "movbe"),
    TENON_FEATURE("popcnt", avx2, "popcnt"),
    TENON_FEATURE("avx512f", avx512, "avx512f"),
    TENON_FEATURE("avx512bw", avx512, "avx512bw"),
    TENON_FEATURE("avx512cd", avx512, "avx512cd"),
    TENON_FEATURE("avx512dq", avx512, "avx512dq"),
    TENON_FEATURE("avx512vl", avx512, "avx512vl"),
    TENON_FEATURE("avx512_bf16", avx512Bf16, "avx512bf16"),
    TENON_FEATURE("amx_tile", amxBf16, "amx-tile"),
    // oneDNN asks for the tiles of bytes as well.
    TENON_FEATURE("amx_int8", amxBf16, "amx-int8"),
    TENON_FEATURE("amx_bf16", amxBf16, "amx-bf16"),
};

#undef TENON_FEATURE

std::optional<Isa> find(std::string_view spelling,
                        std::string_view IsaInfo::*column) {
  const auto *found = std::ranges::find(sets, spelling, column);
  if (found == std::end(sets))
    return std::nullopt;
  return found->isa;
}

} // namespace

std::span<const IsaInfo> target::instructionSets() { return sets; }

const IsaInfo &target::describe(Isa isa) { return sets[size_t(isa)]; }

std::optional<Isa> target::isaOfFeatureSet(std::string_view featureSet) {
  return find(featureSet, &IsaInfo::featureSet);
}

std::optional<Isa> target::isaOfLibraries(std::string_view spelling) {
  return find(spelling, &IsaInfo::ofLibraries);
}

std::string target::featureSetNames() {
  std::string names;
  for (const IsaInfo &info : sets) {
    bool isLast = &info == std::end(sets) - 1;
    names += names.empty() ? "" : isLast ? " or " : ", ";
    names += info.featureSet;
  }
  return names;
}

std::vector<std::string> target::featuresOf(Isa isa) {
  std::vector<std::string> names;
  for (const Feature &feature : features)
    if (feature.firstIn <= isa)
      names.emplace_back(feature.name);
  return names;
}

bool target::hostHas(std::string_view feature) {
  __builtin_cpu_init();
  const auto *found = std::ranges::find(features, feature, &Feature::name);
  return found != std::end(features) && found->isPresent() &&
         (found->firstIn < Isa::amxBf16 || mayUseTiles());
}

std::optional<Isa> target::hostIsa() {
  std::optional<Isa> largest;
  for (const IsaInfo &info : sets) {
    if (!std::ranges::all_of(featuresOf(info.isa), hostHas))
      break;
    largest = info.isa;
  }
  return largest;
}
