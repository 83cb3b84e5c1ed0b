//===- Halo.cpp - What windows read of other devices' shards --------------===//
//
// See Halo.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/Halo.h"

#include "tenon/Sharding/Layout.h"

#include "llvm/Support/MathExtras.h"

using namespace tenon;
using namespace tenon::sharding;
using llvm::divideCeilSigned;
using llvm::divideFloorSigned;

/// The first element that windows read; it may be outside.
static int64_t firstOf(const WindowedDim &dim) {
  return divideCeilSigned(-dim.window.low, dim.window.baseDilation);
}

static int64_t lastOf(const WindowedDim &dim) {
  const Window &window = dim.window;
  return divideFloorSigned((dim.results - 1) * window.stride +
                               (window.size - 1) * window.windowDilation -
                               window.low,
                           window.baseDilation);
}

bool tenon::sharding::readsPadding(const WindowedDim &dim) {
  return firstOf(dim) < 0 || lastOf(dim) >= dim.extent;
}

std::optional<Halo> tenon::sharding::haloOf(const WindowedDim &dim,
                                            int64_t count, const char **why) {
  auto decline = [&](const char *reason) {
    if (why)
      *why = reason;
    return std::nullopt;
  };
  const Window &window = dim.window;
  // Steps of what is cut and of what is not, in elements of the dilated
  // operand.
  int64_t cut = dim.results, step = window.stride;
  int64_t kept = window.size, keptStep = window.windowDilation;
  if (dim.cutsWindow) {
    std::swap(cut, kept);
    std::swap(step, keptStep);
  }
  const int64_t own = shardExtent(cut, count), base = window.baseDilation;
  if (own * step % base != 0)
    return decline("shards would begin between two elements of the operand, "
                   "which is dilated");
  const int64_t reach = (own - 1) * step + (kept - 1) * keptStep;
  const int64_t last = divideFloorSigned(reach - window.low, base);
  Halo halo;
  halo.block = shardExtent(dim.extent, count);
  halo.step = own * step / base;
  halo.first = firstOf(dim);
  halo.extent = last - halo.first + 1;
  if (halo.extent <= 0)
    return decline("shards would read nothing but padding");
  halo.low = window.low + halo.first * base;
  halo.high = reach - (halo.extent - 1) * base - halo.low;
  // Where the shards of both tensors drift apart, the outermost devices need
  // most.
  const int64_t drift = (count - 1) * (halo.step - halo.block);
  halo.left = std::max<int64_t>(0, -halo.first - std::min<int64_t>(0, drift));
  halo.right = std::max<int64_t>(0, halo.first + halo.extent - halo.block +
                                        std::max<int64_t>(0, drift));
  if (std::max(halo.left, halo.right) > (count - 1) * halo.block)
    return decline("windows would reach beyond the shards of all devices");
  // Places of the window behind its last one are zero, and multiply what is
  // read there.
  const int64_t behind = (count - 1) * halo.step + last;
  if (firstOf(dim) < 0 ||
      (dim.cutsWindow ? behind : lastOf(dim)) >= dim.extent) {
    halo.startsOutside = halo.first < 0;
    halo.endsOutside = behind >= dim.extent;
  }
  return halo;
}

llvm::SmallVector<int64_t> tenon::sharding::hopsOf(int64_t reach,
                                                   int64_t block) {
  llvm::SmallVector<int64_t> widths;
  for (; reach > 0; reach -= block)
    widths.push_back(std::min(reach, block));
  return widths;
}
