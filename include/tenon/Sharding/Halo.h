//===- Halo.h - What windows read of other devices' shards ----------------===//
//
// Along a dimension that windows run over, one element of a result combines
//
//   operand[(o * stride + k * window dilation - low) / base dilation]
//
// over the places k of the window, as far as this is an index of the operand;
// everything else is padding. If the result is cut, each device needs elements
// of the operand around its own shard, the halo, which it gets from its
// neighbours. The same holds if the window itself is cut, as in the gradient of
// a kernel, with k in the place of o; every device then has a term of a sum.
//
// The devices run one program, so all of them need equally many elements, and
// equally far apart: device i those from i * step + first on. What of these
// lies outside of the operand is filled with the padding.
//
// Example: 8 rows in 2 shards, windows of 3 rows with one row of padding at
// both ends. Device 0 needs the rows -1 to 4 and has 0 to 3, device 1 needs
// the rows 3 to 8 and has 4 to 7: one row comes from in front, one from behind.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_HALO_H
#define TENON_SHARDING_HALO_H

#include "tenon/Analysis/Windows.h"

#include <optional>

namespace tenon::sharding {

/// A dimension of the first operand of an operation that windows run over.
struct WindowedDim {
  int64_t extent = 1;  // of the operand
  int64_t results = 1; // of the result, or of the source
  Window window;
  bool cutsWindow = false;     // and not the result
  bool scattersSource = false; // into a result like the operand: ScatterHalo.h
};

struct Halo {
  int64_t block = 1; // elements of a shard of the operand
  /// How many elements come from devices in front and behind, at most.
  int64_t left = 0, right = 0;
  /// Device i needs `extent` elements from i * step + first on.
  int64_t step = 1, first = 0, extent = 1;
  /// What the operation on these still pads.
  int64_t low = 0, high = 0;
  /// Where windows read anything that is outside of the operand: whether
  /// devices have something in front of it, and behind.
  bool startsOutside = false, endsOutside = false;

  /// Whether a device exchanges or selects anything.
  bool isOwnShard() const {
    return left == 0 && right == 0 && step == block && first == 0 &&
           extent == block;
  }
};

/// What the shards of a dimension need that is cut into `count`. Nothing where
/// one program for all devices does not do; `why` then says so.
std::optional<Halo> haloOf(const WindowedDim &dim, int64_t count,
                           const char **why = nullptr);

/// Whether windows reach beyond the ends of the operand.
bool readsPadding(const WindowedDim &dim);

/// How many elements come from each of the next devices, the nearest first, if
/// a halo reaches so far over shards of `block` elements.
llvm::SmallVector<int64_t> hopsOf(int64_t reach, int64_t block);

} // namespace tenon::sharding

#endif // TENON_SHARDING_HALO_H
