//===- TileConvolution.h - Convolutions of bf16 in tiles ------------------===//
//
// Private to this folder: convolutions and their gradients by kernels of our
// own, where the processor has tiles and oneDNN's code leaves most of them
// empty.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_TILECONVOLUTION_H
#define TENON_LIB_LIBRARIES_TILECONVOLUTION_H

#include "PrimitiveCall.h"

namespace tenon::libraries {

/// Whether a convolution runs by our own code: bf16 that is multiplied as
/// such on a processor with tiles, channels last, and enough of them.
bool runsInTiles(const ConvolutionDescription &description, Isa isa);

/// Adds the phases of such a convolution to `call`, which has no work yet.
void appendTileConvolution(const ConvolutionDescription &description,
                           PrimitiveCall &call);

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_TILECONVOLUTION_H
