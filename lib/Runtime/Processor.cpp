//===- Processor.cpp - What this processor can run ------------------------===//
//
// Names of processor features.
//
//===----------------------------------------------------------------------===//

#include "Processor.h"

#include <algorithm>
#include <array>

using namespace tenon;
using namespace tenon::runtime;

namespace {

struct Feature {
  std::string_view name; // without separators
  bool (*present)();
};

#define TENON_FEATURE(text, builtin)                                           \
  Feature {                                                                    \
    text, [] { return bool(__builtin_cpu_supports(builtin)); }                 \
  }

// What x86-64-v3, x86-64-v4 and the extensions Codegen uses are made of.
const Feature features[] = {
    TENON_FEATURE("sse3", "sse3"),
    TENON_FEATURE("ssse3", "ssse3"),
    TENON_FEATURE("sse41", "sse4.1"),
    TENON_FEATURE("sse42", "sse4.2"),
    TENON_FEATURE("popcnt", "popcnt"),
    TENON_FEATURE("avx", "avx"),
    TENON_FEATURE("avx2", "avx2"),
    TENON_FEATURE("bmi", "bmi"),
    TENON_FEATURE("bmi1", "bmi"),
    TENON_FEATURE("bmi2", "bmi2"),
    TENON_FEATURE("fma", "fma"),
    TENON_FEATURE("f16c", "f16c"),
    TENON_FEATURE("lzcnt", "lzcnt"),
    TENON_FEATURE("abm", "lzcnt"),
    TENON_FEATURE("movbe", "movbe"),
    TENON_FEATURE("avx512f", "avx512f"),
    TENON_FEATURE("avx512bw", "avx512bw"),
    TENON_FEATURE("avx512cd", "avx512cd"),
    TENON_FEATURE("avx512dq", "avx512dq"),
    TENON_FEATURE("avx512vl", "avx512vl"),
    TENON_FEATURE("avx512vnni", "avx512vnni"),
    TENON_FEATURE("avx512vbmi", "avx512vbmi"),
    TENON_FEATURE("avx512ifma", "avx512ifma"),
    TENON_FEATURE("avx512bf16", "avx512bf16"),
};

#undef TENON_FEATURE

/// `avx512_bf16`, `avx512bf16` and `+avx512bf16` are the same feature.
std::string canonical(const std::string &spelling) {
  std::string result;
  for (char c : spelling)
    if (c != '_' && c != '.' && c != '+')
      result += c;
  return result;
}

} // namespace

std::string tenon::runtime::whyNotRunnable(const format::Index &index) {
  __builtin_cpu_init();
  std::string missing;
  if (index.deviceClasses.size() != 1 || index.deviceClasses[0].name != "cpu")
    return "the file is not compiled for a CPU alone; this runtime has no "
           "other "
           "device";
  const format::DeviceClass &cpu = index.deviceClasses[0];
  for (const std::string &spelling : cpu.features) {
    const auto *feature =
        std::find_if(std::begin(features), std::end(features),
                     [name = canonical(spelling)](const Feature &f) {
                       return f.name == name;
                     });
    if (feature != std::end(features) && feature->present())
      continue;
    missing += missing.empty() ? spelling : ", " + spelling;
  }
  if (missing.empty())
    return "";
  return "the file is compiled for " + cpu.architecture +
         ", this processor lacks " + missing +
         "; compile the step again with a --cpu it has";
}
