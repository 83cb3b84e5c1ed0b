//===- TiledSharding.h - The text of mhlo.sharding ------------------------===//
//
// The layout that such a text (Analysis/DeviceTiles.h) means on a mesh.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_TILEDSHARDING_H
#define TENON_SHARDING_TILEDSHARDING_H

#include "tenon/Sharding/Layout.h"

#include <optional>
#include <string>

namespace tenon::sharding {

/// The layout on `mesh` of a tensor with `rank` dimensions. Nothing, and what
/// is not understood in `error`, for other text and for what no axes of the
/// mesh, nor parts of them, say.
std::optional<Layout> readTiledSharding(llvm::StringRef text, int64_t rank,
                                        const Mesh &mesh, std::string &error);

} // namespace tenon::sharding

#endif // TENON_SHARDING_TILEDSHARDING_H
