//===- GpuArchitectures.h - The NVIDIA GPUs that code is made for ---------===//
//
// The one table of GPU architectures: what LLVM is told, which version of PTX
// the code is written in, and from which driver on it can be loaded. Code for
// one architecture also runs on every later one, compiled by its driver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_GPUARCHITECTURES_H
#define TENON_TARGET_GPUARCHITECTURES_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::target {

/// A GPU as its maker publishes it: peaks, which no program reaches.
struct PublishedGpu {
  std::string_view name;
  double memory;   // bytes/s between it and its memory
  double f32;      // FLOP/s of multiply-add without tensor cores
  double f16;      // and of bf16 and f16 with them, dense, summed in f32
  double hostLink; // bytes/s to the host and from it, each way
  int64_t cache;   // bytes of the cache that all of it shares
};

/// The rate of products of tf32 on tensor cores, which NVIDIA publishes beside
/// that of 16 bits (the data sheets and papers that GpuArchitectures.cpp
/// names), relative to it: half, of all of these GPUs.
inline constexpr double tf32Share = 0.5;

struct GpuArchitecture {
  std::string_view name; // in options and files: `sm_90`
  /// The compute capability.
  unsigned major, minor;
  /// The version of PTX, ten times: 80 is 8.0.
  unsigned ptxVersion;
  /// The least driver that takes it (major version; CUDA's release notes,
  /// table "CUDA Toolkit and Minimum Required Driver Version").
  unsigned driver;
  /// What that driver answers as its version of CUDA: 12080 is 12.8.
  unsigned cuda;
  /// The one that steps for this architecture are planned for.
  PublishedGpu planned;

  /// As one number: 90 is 9.0.
  unsigned capability() const { return 10 * major + minor; }
};

/// All of them, by compute capability.
std::span<const GpuArchitecture> gpuArchitectures();

/// Null for a name that is not in the table.
const GpuArchitecture *gpuArchitectureNamed(std::string_view name);

/// Those of a list as options spell it, `sm_90,sm_80`, each once, by compute
/// capability. Empty, with `error` filled in, if one is not in the table.
std::vector<const GpuArchitecture *> gpuArchitecturesOf(std::string_view list,
                                                        std::string &error);

/// `sm_80, sm_86, ... or sm_120`, for messages.
std::string gpuArchitectureNames();

} // namespace tenon::target

#endif // TENON_TARGET_GPUARCHITECTURES_H
