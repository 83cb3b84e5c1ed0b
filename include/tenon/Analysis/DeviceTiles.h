//===- DeviceTiles.h - The text of mhlo.sharding --------------------------===//
//
// `{devices=[2,1,2]<=[4] last_tile_dim_replicate}`, `{replicated}`, `{manual}`:
// how steps say where tensors lie that were exported without Shardy. Such a
// text has a table of devices, in row-major order of the tiles, and names no
// axes. Behind the dimensions of the tensor it may have some of devices that
// have the same tile: copies, or devices whose own program is written (manual).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_DEVICETILES_H
#define TENON_ANALYSIS_DEVICETILES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

/// On functions' arguments and results, and on operations, a string.
inline constexpr llvm::StringLiteral deviceTilesAttrName = "mhlo.sharding";

struct DeviceTiles {
  /// How many devices there are; 0 if the text is for any number of them.
  int64_t devices = 0;
  /// By dimension and device, which tile the device has. Empty for one that is
  /// for any number of devices.
  std::vector<llvm::SmallVector<int64_t>> tileOf;
  /// Whether all devices have parts of which only their own program knows.
  bool isManual = false;
  /// By device, its place among those with the same tile whose own program is
  /// written; empty if it is of none of the devices, or of all.
  llvm::SmallVector<int64_t> manualOf;
  /// How many devices follow each other in the digits of their numbers that the
  /// text tells apart, in no order: 1 and 2 for rows of two.
  llvm::SmallVector<int64_t> strides;
};

/// What the text says of a tensor with `rank` dimensions. Nothing, and why in
/// `error`, for other text.
std::optional<DeviceTiles> readDeviceTiles(llvm::StringRef text, int64_t rank,
                                           std::string &error);

} // namespace tenon

#endif // TENON_ANALYSIS_DEVICETILES_H
