//===- Isa.cpp - Instruction sets a library call is planned for ----------===//
//
// Names of instruction sets and which of them this processor has.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Isa.h"

#include <array>

using namespace tenon::libraries;

static constexpr std::array<std::string_view, 3> spellings{"avx2", "avx512",
                                                           "avx512_bf16"};

std::string_view tenon::libraries::name(Isa isa) {
  return spellings[size_t(isa)];
}

std::optional<Isa> tenon::libraries::isaFromName(std::string_view spelling) {
  for (size_t i = 0; i < spellings.size(); ++i)
    if (spellings[i] == spelling)
      return Isa(i);
  return std::nullopt;
}

std::optional<Isa> tenon::libraries::hostIsa() {
  // The builtin also asks whether the operating system saves the registers.
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return std::nullopt;
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl"))
    return Isa::avx2;
  return __builtin_cpu_supports("avx512bf16") ? Isa::avx512Bf16 : Isa::avx512;
}
