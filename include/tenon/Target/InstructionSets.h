//===- InstructionSets.h - The processors that code is made for -----------===//
//
// The one table of the instruction sets that kernels are compiled and library
// calls are planned for, and of the processor features they are made of. Code
// is for a stated instruction set, never for the machine that compiles, so
// everything that depends on one asks here: the code generator, the
// measurements, the libraries, and the runtime before it runs a file. How fast
// a processor runs them is in ProcessorFamilies.h. A new instruction set is a
// line in InstructionSets.cpp and in ProcessorFamilies.cpp, and one for each
// feature that it adds.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_INSTRUCTIONSETS_H
#define TENON_TARGET_INSTRUCTIONSETS_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::target {

/// Instruction set architectures; each includes those before it.
enum class Isa : uint8_t { avx2, avx512, avx512Bf16, amxBf16 };

struct IsaInfo {
  Isa isa;
  /// In options, machine descriptions and files.
  std::string_view featureSet;
  /// In what a file says about its library calls.
  std::string_view ofLibraries;
  /// What LLVM is told: the name of a processor and changes to its features.
  std::string_view llvmProcessor, llvmFeatures;
  int64_t vectorBits; // of a register
  /// Whether it converts and multiplies bf16, by instructions that flush
  /// subnormal numbers whatever the processor is told.
  bool hasBf16;
};

/// All of them, in the order of Isa.
std::span<const IsaInfo> instructionSets();
const IsaInfo &describe(Isa isa);

std::optional<Isa> isaOfFeatureSet(std::string_view featureSet);
std::optional<Isa> isaOfLibraries(std::string_view spelling);

/// `x86-64-v3, x86-64-v4 or ...`, for messages.
std::string featureSetNames();

/// The features that code for `isa` needs, as /proc/cpuinfo spells them.
std::vector<std::string> featuresOf(Isa isa);

/// Whether this processor has a feature of the table, and the operating system
/// saves its registers; false for a name that is not in the table. Linux saves
/// the registers of AMX only for processes that ask, so a question about one of
/// its features asks (arch_prctl, "Using XSTATE features in user space
/// applications" of the kernel's documentation).
bool hostHas(std::string_view feature);

/// The largest instruction set that this processor has, nothing if it has none.
std::optional<Isa> hostIsa();

} // namespace tenon::target

#endif // TENON_TARGET_INSTRUCTIONSETS_H
