//===- GpuArchitectures.cpp - The NVIDIA GPUs that code is made for -------===//
//
// See GpuArchitectures.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/GpuArchitectures.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::target;

// PTX 8.0 is CUDA 12.0's, the first that knows sm_90 well; sm_100 came with 8.6
// and sm_120 with 8.7, which CUDA 12.8 reads.
static constexpr GpuArchitecture architectures[] = {
    {"sm_80", 8, 0, 80, 525, 12000},   {"sm_86", 8, 6, 80, 525, 12000},
    {"sm_89", 8, 9, 80, 525, 12000},   {"sm_90", 9, 0, 80, 525, 12000},
    {"sm_100", 10, 0, 86, 570, 12080}, {"sm_120", 12, 0, 87, 570, 12080},
};

std::span<const GpuArchitecture> target::gpuArchitectures() {
  return architectures;
}

const GpuArchitecture *target::gpuArchitectureNamed(std::string_view name) {
  const auto *found =
      std::ranges::find(architectures, name, &GpuArchitecture::name);
  return found == std::end(architectures) ? nullptr : found;
}

std::vector<const GpuArchitecture *>
target::gpuArchitecturesOf(std::string_view list, std::string &error) {
  std::vector<const GpuArchitecture *> found;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    std::string_view name = list.substr(begin, end - begin);
    begin = end + 1;
    const GpuArchitecture *one = gpuArchitectureNamed(name);
    if (!one) {
      error = "unknown GPU architecture '" + std::string(name) +
              "', expected " + gpuArchitectureNames();
      return {};
    }
    found.push_back(one);
  }
  // The table is sorted.
  std::ranges::sort(found);
  auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

std::string target::gpuArchitectureNames() {
  std::string names;
  for (const GpuArchitecture &one : architectures)
    names += (names.empty()                         ? ""
              : &one == std::end(architectures) - 1 ? " or "
                                                    : ", ") +
             std::string(one.name);
  return names;
}
