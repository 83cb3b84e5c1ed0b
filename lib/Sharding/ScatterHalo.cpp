//===- ScatterHalo.cpp - What windows that add read of other shards -------===//
//
// See ScatterHalo.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/ScatterHalo.h"

#include "tenon/Sharding/Layout.h"

#include "llvm/Support/MathExtras.h"

using namespace tenon;
using namespace tenon::sharding;
using llvm::divideCeilSigned;
using llvm::divideFloorSigned;

/// Whether each window stays in the shard whose number its source's shard has.
/// An element of the source that is none must not be added to one that is.
static bool staysInShards(const WindowedDim &dim, const ScatterHalo &halo,
                          int64_t count) {
  const Window &window = dim.window;
  const bool hasTail = halo.source.block * count > dim.results;
  return window.low == 0 && window.high == 0 && window.size <= window.stride &&
         halo.source.block * window.stride == halo.operand.block &&
         !(hasTail && dim.extent > dim.results * window.stride);
}

/// Whether the windows of device i from firstWindow(i) on are all that reach
/// its shard, and read all that they would read in the whole operation.
static bool suffices(const WindowedDim &dim, const ScatterHalo &halo,
                     int64_t count) {
  const Window &window = dim.window;
  for (int64_t device = 0; device < count; ++device) {
    const int64_t first = halo.firstWindow(device);
    // The last windows are as in the whole operation.
    if (first == halo.mostWindows)
      continue;
    const int64_t end = (device + 1) * halo.operand.block;
    const int64_t there = first * window.stride + halo.operand.extent;
    const int64_t last =
        std::min(dim.results - 1,
                 divideFloorSigned(end - 1 + window.low, window.stride));
    if (end > there || last >= first + halo.source.extent ||
        last * window.stride - window.low + window.size > there)
      return false;
  }
  return true;
}

static bool mayReach(const ScatterHalo::Tensor &tensor, int64_t count) {
  return std::max(tensor.left, tensor.right) <= (count - 1) * tensor.block;
}

std::optional<ScatterHalo>
tenon::sharding::scatterHaloOf(const WindowedDim &dim, int64_t count,
                               const char **why) {
  auto decline = [&](const char *reason) {
    if (why)
      *why = reason;
    return std::nullopt;
  };
  const Window &window = dim.window;
  ScatterHalo halo;
  halo.stride = window.stride;
  halo.operand.block = halo.operand.extent = shardExtent(dim.extent, count);
  halo.source.block = halo.source.extent = shardExtent(dim.results, count);
  if (dim.results < 1)
    return decline("there are no windows");
  if (staysInShards(dim, halo, count))
    return halo;
  // In front, so many windows read what is padded, on every device; behind them
  // comes the first window that reaches the shard.
  const int64_t padded =
      std::max<int64_t>(0, divideCeilSigned(window.low, window.stride));
  halo.lead = std::max<int64_t>(0, window.size - window.low +
                                       (padded - 1) * window.stride);
  // The more windows the last device leaves out, the less all have to get.
  halo.mostWindows = std::min((dim.extent - halo.operand.block) / window.stride,
                              dim.results - 1);
  for (;; --halo.mostWindows) {
    if (halo.mostWindows < 1)
      return decline("windows would read the shards of all devices");
    halo.operand.extent = dim.extent - halo.mostWindows * window.stride;
    halo.source.extent = dim.results - halo.mostWindows;
    if (suffices(dim, halo, count))
      break;
  }
  auto extend = [](ScatterHalo::Tensor &tensor, int64_t device, int64_t start) {
    tensor.left = std::max(tensor.left, device * tensor.block - start);
    tensor.right = std::max(tensor.right, start + tensor.extent -
                                              (device + 1) * tensor.block);
  };
  for (int64_t device = 0; device < count; ++device) {
    const int64_t first = halo.firstWindow(device);
    const int64_t start = first * window.stride;
    extend(halo.operand, device, start);
    extend(halo.source, device, first);
    halo.tail = std::max(halo.tail, (device + 1) * halo.operand.block - start -
                                        halo.operand.extent);
  }
  if (!mayReach(halo.operand, count) || !mayReach(halo.source, count))
    return decline("windows would reach beyond the shards of all devices");
  return halo;
}
