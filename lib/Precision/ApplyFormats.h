//===- ApplyFormats.h - Write formats into a step -------------------------===//
//
// Stores values of classes in the narrow format of their policy and has
// products multiply numbers of it. What only moves elements is retyped; every
// other narrow value is rounded where it is made, and widened for whoever
// computes with it, each by a conversion with the attribute `step.cast`.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_APPLYFORMATS_H
#define TENON_LIB_PRECISION_APPLYFORMATS_H

#include "FormatClasses.h"

namespace tenon::precision {

struct ChosenFormats {
  std::vector<bool> isNarrowClass, isNarrowProduct;
};

void applyFormats(const FormatClasses &classes, const ChosenFormats &chosen);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_APPLYFORMATS_H
