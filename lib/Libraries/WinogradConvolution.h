//===- WinogradConvolution.h - 3 x 3 with fewer multiplications -----------===//
//
// Private to this folder: convolutions of 3 x 3 and their gradients by
// Winograd's algorithm F(2 x 2, 3 x 3), which needs 16 multiplications where
// the definition has 36.
//
// S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S.
// Gray, Fast Algorithms for Convolutional Neural Networks, 2015.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_WINOGRADCONVOLUTION_H
#define TENON_LIB_LIBRARIES_WINOGRADCONVOLUTION_H

#include "PrimitiveCall.h"

namespace tenon::libraries {

/// Whether a convolution runs by this algorithm: the program allows it, f32 is
/// what is multiplied, on a processor with AVX-512, windows of 3 x 3 that move
/// by one, channels last, and enough of them.
bool runsInWinograd(const ConvolutionDescription &description, Isa isa);

/// Adds the phases of such a convolution to `call`, which has no work yet.
void appendWinogradConvolution(const ConvolutionDescription &description,
                               PrimitiveCall &call);

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_WINOGRADCONVOLUTION_H
