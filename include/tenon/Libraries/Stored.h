//===- Stored.h - Library descriptions as the file stores them -----------===//
//
// The bridge between the descriptions Fusion builds and the index of a `.tenon`
// file: Package stores them, the runtime restores and checks them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_STORED_H
#define TENON_LIBRARIES_STORED_H

#include "tenon/Format/Index.h"
#include "tenon/Libraries/Convolution.h"
#include "tenon/Libraries/Lapack.h"
#include "tenon/Libraries/Matmul.h"

#include <optional>
#include <string>
#include <variant>

namespace tenon::libraries {

using Description =
    std::variant<MatmulDescription, ConvolutionDescription, LapackDescription>;

/// The entry for a call planned for `isa` with this machine's library version.
format::LibraryCallEntry store(const Description &description, Isa isa,
                               uint64_t workspaceBytes);

/// Inverse of store; nothing with a message in `error` if lengths, enumerators
/// or sizes are none that store writes.
std::optional<Description> restore(const format::LibraryCallEntry &entry,
                                   std::string &error);

/// Empty if `description` makes sense on its own (sizes positive, strides and
/// extents in range, pieces positive), otherwise what is wrong.
std::string whyInvalid(const MatmulDescription &description);
std::string whyInvalid(const ConvolutionDescription &description);
std::string whyInvalid(const LapackDescription &description);

/// oneDNN's version, `2.6.3`.
std::string libraryVersion();
/// The version of the library that runs an entry's call, in this process.
std::string libraryVersion(const format::LibraryCallEntry &entry);

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_STORED_H
