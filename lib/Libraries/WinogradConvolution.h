//===- WinogradConvolution.h - Fewer multiplications ----------------------===//
//
// Private to this folder: convolutions and their gradients by Winograd's
// algorithm F(2 x 2, 3 x 3), which needs 16 multiplications where the
// definition has 36. Larger windows are sums of such ones: 5 x 5 need 49
// instead of 100.
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
/// what is multiplied, on a processor with AVX-512, windows of 3 x 3 and more
/// that move by one, enough channels, and channels or columns side by side.
bool runsInWinograd(const ConvolutionDescription &description, Isa isa);

/// Adds the phases of such a convolution to `call`, which has no work yet.
void appendWinogradConvolution(const ConvolutionDescription &description,
                               PrimitiveCall &call);

namespace winograd {

/// The phases of a convolution or its data gradient.
void appendDataProduct(const ConvolutionDescription &description,
                       PrimitiveCall &call);
void appendWeightGradient(const ConvolutionDescription &description,
                          PrimitiveCall &call);

} // namespace winograd
} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_WINOGRADCONVOLUTION_H
