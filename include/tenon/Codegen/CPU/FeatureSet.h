//===- FeatureSet.h - The processor kernels are compiled for --------------===//
//
// Kernels are compiled for a stated instruction set, never for whatever the
// build machine happens to be: the plan names it, the code generator and the
// libraries are held to it. Vectors have 16 lanes of f32 on every instruction
// set (LLVM splits them in two for 256-bit registers with the same bits), so
// the only thing the emitters ask is which instructions exist.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_FEATURESET_H
#define TENON_CODEGEN_CPU_FEATURESET_H

#include "tenon/Support/Subnormals.h"
#include "tenon/Target/InstructionSets.h"

namespace tenon::codegen {

struct FeatureSet {
  target::Isa isa{};
  /// What kernels do with subnormal numbers; the runtime sets the processor
  /// accordingly.
  Subnormals subnormals = Subnormals::flush;

  const target::IsaInfo &info() const { return target::describe(isa); }
  bool hasAvx512() const { return info().vectorBits == 512; }
  /// Conversion of f32 to bf16 as one instruction.
  bool hasAvx512Bf16() const { return info().hasBf16; }

  bool operator==(const FeatureSet &) const = default;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_FEATURESET_H
