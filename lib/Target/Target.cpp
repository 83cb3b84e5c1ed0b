//===- Target.cpp - What a machine can do ---------------------------------===//
//
// See Target.h. The built-in machines.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Target.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::target;

int64_t LaunchLimits::partsFor(int64_t elements) const {
  return std::clamp<int64_t>(elements / elementsPerPart, 1, mostParts);
}

double Rate::of(int64_t count, int64_t cores) const {
  if (count <= 1 || cores <= 1)
    return oneCore;
  if (count >= cores)
    return allCores;
  // Cores add up until what they share is exhausted.
  return std::min(oneCore * double(count), std::max(oneCore, allCores));
}

int64_t Caches::last() const { return std::max({level1, level2, level3}); }

const Rate &Target::computeRate(ElementType type) const {
  switch (type) {
  case ElementType::bf16:
    return compute.bf16;
  case ElementType::f16:
    return compute.f16;
  default:
    return compute.f32;
  }
}

bool Target::multipliesNatively(ElementType type, Isa code) const {
  if (type != ElementType::bf16 || !describe(code).hasBf16)
    return false;
  // The rate is that of the best instructions. Processors that have tiles take
  // longer for bf16 without them than for f32.
  return (code == isa || isa < Isa::amxBf16) &&
         compute.bf16.allCores >= compute.f32.allCores;
}

Target target::builtInTarget(Isa isa) {
  return builtInTarget(familyOf(isa), isa);
}

Target target::builtInTarget(const ProcessorFamily &family, Isa isa) {
  constexpr int64_t cores = 2, kib = 1024, mib = 1024 * kib;
  constexpr double hertz = 3e9;
  auto everyCore = [](double rate) { return Rate{rate, rate * cores}; };
  Target target;
  target.name = "built-in " + std::string(family.name);
  target.isa = isa;
  target.cores = cores;
  target.caches = {32 * kib, mib, 32 * mib};
  target.compute.f32 = everyCore(family.f32 * hertz);
  target.compute.bf16 = describe(isa).hasBf16
                            ? everyCore(family.bf16(isa) * hertz)
                            : target.compute.f32;
  target.compute.f16 = target.compute.f32;
  // One core nearly saturates a copy and not a read.
  target.memory.copy = {36e9, 40e9};
  target.memory.read = {24e9, 40e9};
  target.memory.cachedCopy = everyCore(60e9);
  target.overheads = {2e-8, 3e-7};
  return target;
}

/// Of H100's 989 TFLOP/s in 16 bits, FlashAttention-2, which uses the
/// instructions that own attention uses, reaches 306 forward and 238 backward
/// with 64 features and 1,024 positions (Shah et al. 2024, figures 5 and 6).
/// What the library and own products reach is assumed: 680 and some 300 TFLOP/s
/// of the same. Rows that are no multiple of 16 bytes took cuBLASLt 13.1 five
/// to seven times as long on an H200 (docs/Benchmarks/Gpu.md).
static constexpr ProductShares gpuShares = {.library = 0.69,
                                            .unaligned = 0.17,
                                            .kernel = 0.3,
                                            .attention = 0.31,
                                            .gradient = 0.24};

Target target::builtInTarget(const GpuArchitecture &gpu) {
  const PublishedGpu &published = gpu.planned;
  auto whole = [](double rate) { return Rate{rate, rate}; };
  Target target;
  target.name = "built-in " + std::string(published.name);
  target.caches.level3 = published.cache;
  target.compute = {whole(published.f32), whole(published.f16),
                    whole(published.f16)};
  target.shares = gpuShares;
  // What its cache delivers is not published for all of them, so it is assumed
  // to be no quicker than memory.
  target.memory = {whole(published.memory), whole(published.memory),
                   whole(published.memory)};
  // A kernel of a graph takes 0.5 us more than it runs (NVIDIA's "Getting
  // Started with CUDA Graphs", 3.4 us instead of 2.9). Nobody waits for parts.
  target.overheads = {5e-7, 0};
  target.launches.mostParts = 1;
  target.hostLink = published.hostLink;
  target.gpu = true;
  return target;
}

/// OpenMPI 4.1 between 16 processes on two cores gathered 16 MiB in 43 ms and
/// summed them in 187 ms, so messages through memory share 3 to 6 GB/s.
static constexpr double hostLatency = 5e-6, hostBandwidth = 5e9;

/// NVLink 4 of H100 gives 450 GB/s each way, of which NCCL reaches 394 when
/// eight GPUs gather, after 4 us per message; NDR InfiniBand gives 50 GB/s to
/// each GPU. All of them are published figures. Kernels run beside that with
/// what it leaves of the GPU: bytes that come and go take 788 of the memory's
/// 3,350 GB/s through NVLink, and NCCL's blocks, 32 at most, as large a part of
/// 132 multiprocessors; through InfiniBand they take 100 GB/s.
static constexpr int64_t gpusPerNode = 8;
static constexpr Link nodeLink{4e-6, 394e9, 1, 0.75},
    networkLink{1e-5, 50e9, 1, 0.95};

std::vector<Link> target::builtInLinks(const Target &target,
                                       std::span<const int64_t> axes) {
  int64_t ranks = 1;
  for (int64_t size : axes)
    ranks *= size;
  if (!target.isGpu())
    return std::vector<Link>(axes.size(),
                             {hostLatency, hostBandwidth, ranks, 0});
  std::vector<Link> links;
  for (int64_t size : axes) {
    // `ranks` of this axis and of those behind it.
    links.push_back(ranks <= gpusPerNode ? nodeLink : networkLink);
    ranks /= size;
  }
  return links;
}

Target target::ofRank(const Target &machine, std::span<const int64_t> axes) {
  Target rank = machine;
  if (axes.empty() || !machine.links.empty())
    return rank;
  rank.links = builtInLinks(machine, axes);
  int64_t ranks = 1;
  for (int64_t size : axes)
    ranks *= size;
  if (machine.isGpu())
    return rank;
  rank.cores = std::max<int64_t>(1, machine.cores / ranks);
  for (Rate *rate :
       {&rank.compute.f32, &rank.compute.bf16, &rank.compute.f16,
        &rank.memory.copy, &rank.memory.read, &rank.memory.cachedCopy})
    rate->allCores = rate->of(rank.cores, machine.cores);
  return rank;
}
