//===- TiledSharding.h - The text of mhlo.sharding ------------------------===//
//
// `{devices=[2,1,2]<=[4] last_tile_dim_replicate}` and `{replicated}`: how
// steps say where tensors lie that were exported without Shardy. Such a text
// numbers devices and names no axes.
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
