//===- ProcessorFamilies.h - What kinds of processors do per cycle --------===//
//
// Processors with the same instructions differ in how fast they run them: the
// dot product of AVX512-BF16 does twice as many FLOPs as an f32 multiply-add on
// some and half as many on others. This is the committed table of families; the
// built-in machines and whether products of bf16 run as such follow from it. A
// new family is a line in ProcessorFamilies.cpp with the source of its figures.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_PROCESSORFAMILIES_H
#define TENON_TARGET_PROCESSORFAMILIES_H

#include "tenon/Target/InstructionSets.h"

#include <span>
#include <string>
#include <string_view>

namespace tenon::target {

struct ProcessorFamily {
  std::string_view name; // in options
  Isa isa;               // the largest that its processors have
  /// FLOPs per cycle of a core: of multiply-adds of f32, of dot products of
  /// bf16 in vectors and in tiles; 0 without the instruction.
  double f32, dotBf16, tileBf16;

  /// Of products of bf16 by the instructions of `isa`; 0 if it has none.
  double bf16(Isa isa) const {
    return isa >= Isa::amxBf16 ? tileBf16 : describe(isa).hasBf16 ? dotBf16 : 0;
  }
};

/// First one for each instruction set, in the order of Isa and under its name,
/// then those that are told apart by vendor and model.
std::span<const ProcessorFamily> processorFamilies();

/// What is assumed of a processor of which only the instruction set is known.
const ProcessorFamily &familyOf(Isa isa);

/// Null for a name that is not in the table.
const ProcessorFamily *familyNamed(std::string_view name);

/// What a processor says of itself: leaves 0 and 1 of CPUID, extended family
/// and model added in.
struct ProcessorModel {
  std::string_view vendor; // `GenuineIntel`
  unsigned family = 0, model = 0;
};
ProcessorModel hostModel();

/// The family of a processor of that model which has `isa`; familyOf(isa) for a
/// model that is not in the table.
const ProcessorFamily &familyOf(const ProcessorModel &model, Isa isa);

/// `x86-64-v3, x86-64-v4, ..., zen4 or zen5`, for messages.
std::string familyNames();

} // namespace tenon::target

#endif // TENON_TARGET_PROCESSORFAMILIES_H
