//===- FeatureSet.h - The instruction set kernels are compiled for --------===//
//
// Kernels are compiled for a stated instruction set, never for whatever the
// build machine happens to be: the plan names it, the code generator and the
// libraries are held to it. Vectors have 16 lanes of f32 on every feature set
// (LLVM splits them in two for 256-bit registers with the same bits), so the
// only thing the emitters ask is which instructions exist.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_FEATURESET_H
#define TENON_CODEGEN_CPU_FEATURESET_H

#include "tenon/Libraries/Isa.h"
#include "tenon/Support/Subnormals.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace tenon::codegen {

struct FeatureSet {
  libraries::Isa isa = libraries::Isa::avx2;
  /// What kernels do with subnormal numbers; the runtime sets the processor
  /// accordingly.
  Subnormals subnormals = Subnormals::flush;

  /// 512-bit registers and AVX-512 F, BW, CD, DQ, VL.
  bool hasAvx512() const { return isa >= libraries::Isa::avx512; }
  /// Conversion of f32 to bf16 as one instruction.
  bool hasAvx512Bf16() const { return isa >= libraries::Isa::avx512Bf16; }

  /// The spelling of options and files: `x86-64-v3`, `x86-64-v4`,
  /// `x86-64-v4+avx512bf16`.
  llvm::StringRef spelling() const;

  /// What LLVM is told: the processor name and the feature string.
  llvm::StringRef processor() const;
  llvm::StringRef features() const;

  /// The set of that spelling; `host` is resolved on the spot to the largest
  /// one this processor has. Nothing for an unknown spelling, or for `host` on
  /// a processor below x86-64-v3.
  static std::optional<FeatureSet> parse(llvm::StringRef spelling);
  static std::optional<FeatureSet> host();

  bool operator==(const FeatureSet &) const = default;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_FEATURESET_H
