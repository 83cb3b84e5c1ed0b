//===- EmulatedKernel.h - A kernel's PTX on the emulated driver -----------===//
//
// Runs the first kernel of a text of PTX, which a test may have changed, and
// what is launched after it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_CODEGEN_EMULATEDKERNEL_H
#define TENON_TEST_UNIT_CODEGEN_EMULATEDKERNEL_H

#include "EmittedKernel.h"

#include "tenon/Codegen/GPU/EmitPtx.h"
#include "tenon/EmulatedCuda/EmulatedCuda.h"

#include <string>
#include <vector>

using Bytes = Array<char>;

/// What the emulated driver is told (EmulatedCuda.h).
struct EmulatedSettings {
  const char *order = "forward", *capability = "90", *copies = "late";
};

struct EmulatedRun {
  /// What lies behind the kernel in all its memory; empty if it failed.
  std::vector<Bytes> values;
  /// The fault, or empty.
  std::string error;
  TenonEmulatedCounters counters{};
};

/// `values` are the memory of the parameters, of which the first `operands` are
/// written before the kernel runs.
EmulatedRun runEmulated(const tenon::codegen::PtxModule &ptx,
                        const std::vector<Bytes> &values, size_t operands,
                        const EmulatedSettings &settings = {});

#endif // TENON_TEST_UNIT_CODEGEN_EMULATEDKERNEL_H
