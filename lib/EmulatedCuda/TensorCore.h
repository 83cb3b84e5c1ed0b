//===- TensorCore.h - The arithmetic of matrix instructions ---------------===//

#ifndef TENON_LIB_EMULATEDCUDA_TENSORCORE_H
#define TENON_LIB_EMULATEDCUDA_TENSORCORE_H

#include <cstdint>

namespace tenon::emulated {

enum class TensorFormat { F16, BF16, TF32 };

/// c + sum of a[i] * b[i], count products, as the tensor cores of sm_`target`
/// compute it; the elements are bit patterns of the format (tf32: of f32, whose
/// low 13 bits count not). Returns the bits of an f32, or of an f16 with
/// `toHalf`; c is of the same format.
///
/// Measured on GPUs (recorded rows in test/Unit/EmulatedCuda/TensorCore):
/// blocks of products in order; within a block the exact products and the sum
/// so far are aligned to the largest exponent, cut off toward zero F bits below
/// its leading place, added exactly, and the sum is rounded toward zero (an f16
/// result to nearest). sm_80, 86 and 89 take blocks of 8 (tf32: 4) and F = 24,
/// sm_90 and 100 of 16 (8) and F = 25. For sm_120 the latter is assumed: no
/// recording of one is known.
uint32_t tensorDot(TensorFormat format, unsigned target, const uint32_t *a,
                   const uint32_t *b, unsigned count, uint32_t c, bool toHalf);

} // namespace tenon::emulated

#endif // TENON_LIB_EMULATEDCUDA_TENSORCORE_H
