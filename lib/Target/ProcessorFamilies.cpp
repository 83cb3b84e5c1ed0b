//===- ProcessorFamilies.cpp - What kinds of processors do per cycle ------===//
//
// See ProcessorFamilies.h. Two multiply-adds of vectors per cycle are 32 FLOPs
// of f32 with AVX2 and 64 with AVX-512; a product of tiles takes 16 cycles.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/ProcessorFamilies.h"

#include <algorithm>
#include <cpuid.h>
#include <cstring>
#include <iterator>

using namespace tenon;
using namespace tenon::target;

namespace {

constexpr ProcessorFamily families[] = {
    {"x86-64-v3", Isa::avx2, 32, 0, 0},
    {"x86-64-v4", Isa::avx512, 64, 0, 0},
    // Most that have these instructions and no tiles are AMD's, see below.
    {"x86-64-v4+avx512bf16", Isa::avx512Bf16, 64, 128, 0},
    {"x86-64-v4+amxbf16", Isa::amxBf16, 64, 32, 1024},
    // Skylake, Cascade Lake and Ice Lake servers: no bf16.
    {"skylake-server", Isa::avx512, 64, 0, 0},
    // Not measured; LLVM 22's model of it starts as many dot products per cycle
    // as multiply-adds.
    {"cooper-lake", Isa::avx512Bf16, 64, 128, 0},
    // Sapphire, Emerald and Granite Rapids. Measured with registers alone on an
    // Intel server with tiles: 137.4 GFLOP/s of f32 and 66.2 of bf16 in vectors
    // by a core. github.com/libxsmm/tpp-mlir, pull request 1025, says the same
    // of Emerald Rapids. Hypervisors often hide the tiles.
    {"sapphire-rapids", Isa::amxBf16, 64, 32, 1024},
    // Zen 4 runs a vector of 512 bits in two halves. Measured on one with
    // registers alone: 117.5 GFLOP/s of f32 and 234.9 of bf16 by a core.
    {"zen4", Isa::avx512Bf16, 32, 64, 0},
    // Zen 5 has units of 512 bits (numberworld.org, Zen5's AVX512 Teardown) of
    // the same kinds. Measured on one with registers alone: 263.3 GFLOP/s of
    // f32 and 494.4 of bf16 by a core.
    {"zen5", Isa::avx512Bf16, 64, 128, 0},
};

/// Models of a family, as CPUID numbers them.
struct Models {
  std::string_view family, vendor;
  unsigned number, first, last;
};

// The first family with the model and the instructions counts. Intel's models
// are those of the Linux kernel's intel-family.h, AMD's those that its
// cpu/amd.c takes for Zen 4 and Zen 5.
constexpr Models models[] = {
    {"skylake-server", "GenuineIntel", 6, 0x55, 0x55},
    {"skylake-server", "GenuineIntel", 6, 0x6a, 0x6a},
    {"skylake-server", "GenuineIntel", 6, 0x6c, 0x6c},
    {"cooper-lake", "GenuineIntel", 6, 0x55, 0x55},
    // Whatever else of Intel's has instructions for bf16; hypervisors give
    // models of their own.
    {"sapphire-rapids", "GenuineIntel", 6, 0x00, 0xff},
    {"zen4", "AuthenticAMD", 0x19, 0x10, 0x1f},
    {"zen4", "AuthenticAMD", 0x19, 0x60, 0xaf},
    {"zen5", "AuthenticAMD", 0x1a, 0x00, 0x7f},
};

} // namespace

std::span<const ProcessorFamily> target::processorFamilies() {
  return families;
}

const ProcessorFamily &target::familyOf(Isa isa) {
  return families[size_t(isa)];
}

const ProcessorFamily *target::familyNamed(std::string_view name) {
  const auto *found = std::ranges::find(families, name, &ProcessorFamily::name);
  return found == std::end(families) ? nullptr : found;
}

ProcessorModel target::hostModel() {
  static char vendor[12];
  unsigned a = 0, b = 0, c = 0, d = 0;
  __cpuid(0, a, b, c, d);
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &d, 4);
  std::memcpy(vendor + 8, &c, 4);
  __cpuid(1, a, b, c, d);
  // Intel's Software Developer's Manual and AMD's manual on CPUID, function 1.
  unsigned family = (a >> 8) & 0xf, model = (a >> 4) & 0xf;
  if (family == 6 || family == 15)
    model += ((a >> 16) & 0xf) << 4;
  if (family == 15)
    family += (a >> 20) & 0xff;
  return {{vendor, sizeof(vendor)}, family, model};
}

const ProcessorFamily &target::familyOf(const ProcessorModel &model, Isa isa) {
  for (const Models &some : models) {
    if (some.vendor != model.vendor || some.number != model.family ||
        model.model < some.first || model.model > some.last)
      continue;
    const ProcessorFamily &family = *familyNamed(some.family);
    if (isa <= family.isa)
      return family;
  }
  return familyOf(isa);
}

std::string target::familyNames() {
  std::string names;
  for (const ProcessorFamily &family : families)
    names += (names.empty()                       ? ""
              : &family == std::end(families) - 1 ? " or "
                                                  : ", ") +
             std::string(family.name);
  return names;
}
