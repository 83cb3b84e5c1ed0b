//===- Mesh.h - How a mesh of ranks is written ----------------------------===//
//
// Options, modules and messages name the ranks that run a step by the axes of
// their mesh with sizes, the major one first: `data=2,model=4`.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_MESH_H
#define TENON_FORMAT_MESH_H

#include "tenon/Format/Index.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::format {

/// Of a mesh: a simulated run starts a thread for each.
inline constexpr int64_t mostRanks = 4096;

/// `data=2,model=4`; empty without axes.
std::string meshText(std::span<const MeshAxis> axes);

/// Nothing, and what is wrong in `error`, for other text, for axes that are
/// empty or called alike, and for more than `mostRanks` ranks.
std::optional<std::vector<MeshAxis>> parseMesh(std::string_view text,
                                               std::string &error);

} // namespace tenon::format

#endif // TENON_FORMAT_MESH_H
