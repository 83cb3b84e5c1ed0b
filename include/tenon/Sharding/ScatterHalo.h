//===- ScatterHalo.h - What windows that add read of other shards ---------===//
//
// select_and_scatter, the gradient of a pool, has a window for each element of
// its source. Window o chooses one of the elements of the operand from
// o * stride - low on, as many as it is long, and adds its element of the
// source there. The result has the shards of the operand.
//
// Where windows reach into another shard, a device runs all windows that may
// choose an element of its own shard, on the elements that these windows read.
// It takes as many windows as all others do, one after the other, and all of
// them are windows of the whole operation, on elements of the whole operand. So
// nothing is masked, whatever the operation compares and adds; what the
// operation pads at both ends is padded at the ends of all devices. In the
// middle of the operand windows at these ends choose among too few elements.
// They are windows that reach no element of the own shard, which is then cut
// out of the result. Every element of it has what the same windows add, in the
// same order, so its bits are those of one device.
//
// Example: 16 rows in 2 shards, 8 windows of 3 rows, 2 apart, with one row of
// padding in front. Row 7 may be chosen by the windows 3 and 4, which read the
// rows 5 to 9. Device 0 runs the windows 0 to 4 on the rows 0 to 9, device 1
// the windows 3 to 7 on the rows 6 to 15. Its window 3 reads no row 5, and is
// only wrong about row 7, which is of the other shard.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_SCATTERHALO_H
#define TENON_SHARDING_SCATTERHALO_H

#include "tenon/Sharding/Halo.h"

namespace tenon::sharding {

struct ScatterHalo {
  /// Along the dimension, in elements of the operand or of the source.
  struct Tensor {
    int64_t block = 1;           // of a shard
    int64_t left = 0, right = 0; // that come from other devices, at most
    int64_t extent = 1;          // that a device runs the operation on
  };
  Tensor operand, source;
  /// How many windows device i leaves out in front: see firstWindow().
  int64_t lead = 0, stride = 1, mostWindows = 0;
  /// How many elements the last shards have behind the end of the operand.
  int64_t tail = 0;

  /// Whether each device runs the windows of its own shards and no others.
  bool isOwnShard() const {
    return operand.extent == operand.block && source.extent == source.block &&
           operand.left == 0 && operand.right == 0 && source.left == 0 &&
           source.right == 0;
  }

  int64_t firstWindow(int64_t device) const {
    const int64_t most = std::max(device * operand.block, lead) - lead;
    return std::min(most / stride, mostWindows);
  }
};

/// What the shards of a dimension need that is cut into `count` and whose
/// windows add. Nothing where one program for all devices does not do; `why`
/// then says so.
std::optional<ScatterHalo> scatterHaloOf(const WindowedDim &dim, int64_t count,
                                         const char **why = nullptr);

} // namespace tenon::sharding

#endif // TENON_SHARDING_SCATTERHALO_H
