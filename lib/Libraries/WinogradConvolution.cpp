//===- WinogradConvolution.cpp - Fewer multiplications --------------------===//
//
// When a convolution runs by Winograd's algorithm. WinogradData.cpp and
// WinogradGradient.cpp have the work. How operands are cut, and so the order
// of every sum, follows from the description alone.
//
//===----------------------------------------------------------------------===//

#include "WinogradConvolution.h"

#include "WinogradShape.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::libraries;
using namespace tenon::libraries::winograd;

bool tenon::libraries::runsInWinograd(const ConvolutionDescription &d,
                                      Isa isa) {
  constexpr int64_t fewestChannels = 32;
  constexpr double smallestWork = 4e6; // multiplications of the definition
  constexpr double smallestGain = 1.5; // its multiplications by ours
  if (!d.mayTransform || isa < Isa::avx512 ||
      d.computeType != ElementType::f32 || d.groups != 1 ||
      d.spatial.size() != 2 ||
      std::min(d.inputChannels, d.outputChannels) < fewestChannels)
    return false;
  for (const Images &images : {inputImages(d), outputImages(d)})
    if (!images.hasChannelsLast() && images.columnStride != 1)
      return false;
  double positions = double(d.batch), squares = double(d.batch), taps = 1;
  for (const auto &s : d.spatial) {
    if (s.kernel < windowSide || s.stride != 1 || s.dilation != 1)
      return false;
    const int64_t extent =
        d.kind == ConvolutionKind::dataGradient ? s.input : s.output;
    positions *= double(extent);
    squares *= double(ceilDivide(extent, resultSide));
    taps *= double(s.kernel);
  }
  const double ours = squares * double(componentsOf(partsOf(d, d.type, 1, 1)));
  const double products = double(d.inputChannels) * double(d.outputChannels);
  return positions * taps >= smallestGain * ours &&
         positions * taps * products >= smallestWork;
}

void tenon::libraries::appendWinogradConvolution(
    const ConvolutionDescription &d, PrimitiveCall &call) {
  if (d.kind == ConvolutionKind::weightGradient)
    appendWeightGradient(d, call);
  else
    appendDataProduct(d, call);
  call.code = "winograd:avx512";
}
