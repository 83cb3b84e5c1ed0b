//===- Isa.h - Instruction sets a library call is planned for ------------===//
//
// A library picks its code by the processor it runs on; Tenon plans for a
// stated instruction set and caps the library to it, so that what was planned
// on one machine runs with the same bits on another.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_ISA_H
#define TENON_LIBRARIES_ISA_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon::libraries {

/// Each includes those before it.
enum class Isa : uint8_t {
  avx2 = 0,       // x86-64-v3: AVX2 and FMA
  avx512 = 1,     // x86-64-v4: AVX-512 F, BW, DQ, VL
  avx512Bf16 = 2, // with the bf16 dot product instructions (AVX512_BF16)
};

/// `avx2`, `avx512`, `avx512_bf16`: the spelling in files and options.
std::string_view name(Isa isa);
std::optional<Isa> isaFromName(std::string_view spelling);

/// The largest of them that this processor has, nothing if it lacks AVX2.
std::optional<Isa> hostIsa();

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_ISA_H
