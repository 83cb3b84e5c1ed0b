//===- MathKernels.h - A kernel per mathematical function, for tests ------===//
//
// out[i] = function(in[i]...) over `size` elements, `lanes` at a time; compiled
// and loaded.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_CODEGEN_MATHKERNELS_H
#define TENON_TEST_UNIT_CODEGEN_MATHKERNELS_H

#include "LoadedKernels.h"
#include "tenon/Codegen/CPU/CpuInstructions.h"
#include "tenon/Codegen/Loops/MathExpansions.h"
#include <memory>

class MathKernels {
public:
  static constexpr int64_t size = 8192;

  /// `lanes` 0: scalars. `isDouble`: f64 instead of f32, and then maybe as for
  /// a target without C's functions.
  MathKernels(const tenon::codegen::FeatureSet &features, int64_t lanes,
              bool isDouble = false, bool hasMathLibrary = true);

  /// `out` and `in` hold `size` elements at multiples of 64 bytes.
  void run(tenon::codegen::MathFunction function, void *out, const void *in,
           const void *second = nullptr) const;
  /// emitCoarseExp2, of f32.
  void runCoarseExp2(void *out, const void *in) const;

private:
  std::unique_ptr<LoadedKernels> kernels;
  Kernel *entries[tenon::codegen::mathFunctionCount];
  Kernel *coarseExp2;
};

#endif // TENON_TEST_UNIT_CODEGEN_MATHKERNELS_H
