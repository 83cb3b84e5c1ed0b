//===- GpuArchitectures.cpp - The NVIDIA GPUs that code is made for -------===//
//
// See GpuArchitectures.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/GpuArchitectures.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::target;

// NVIDIA's figures: the data sheets of A100 80 GB SXM, H100 SXM and HGX B200
// (one of its eight GPUs; of what they say "with sparsity", half), the papers
// on the architectures of GA102, Ada and RTX Blackwell, and the tuning guide
// for Blackwell. A link by PCI Express with 16 lanes moves 32 GB/s each way in
// version 4 and 64 GB/s in version 5.
static constexpr double pcie4 = 32e9, pcie5 = 64e9;
static constexpr int64_t mebibyte = 1024 * 1024;
static constexpr PublishedGpu
    a100 = {"A100 SXM", 2039e9, 19.5e12, 312e12, pcie4, 40 * mebibyte},
    rtx3090 = {"GeForce RTX 3090", 936e9, 35.6e12, 71e12, pcie4, 6 * mebibyte},
    rtx4090 = {"GeForce RTX 4090", 1008e9, 82.6e12,
               165.2e12,           pcie4,  72 * mebibyte},
    h100 = {"H100 SXM", 3350e9, 67e12, 989e12, pcie5, 50 * mebibyte},
    b200 = {"B200", 7700e9, 75e12, 2250e12, pcie5, 126 * mebibyte},
    rtx5090 = {"GeForce RTX 5090", 1792e9, 104.8e12,
               209.5e12,           pcie5,  96 * mebibyte};

// PTX 8.0 is CUDA 12.0's, the first that knows sm_90 well; sm_100 came with 8.6
// and sm_120 with 8.7, which CUDA 12.8 reads.
static constexpr GpuArchitecture architectures[] = {
    {"sm_80", 8, 0, 80, 525, 12000, a100},
    {"sm_86", 8, 6, 80, 525, 12000, rtx3090},
    {"sm_89", 8, 9, 80, 525, 12000, rtx4090},
    {"sm_90", 9, 0, 80, 525, 12000, h100},
    {"sm_100", 10, 0, 86, 570, 12080, b200},
    {"sm_120", 12, 0, 87, 570, 12080, rtx5090},
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
