//===- TensorPath.h - Paths of tensors in a caller's data structures -----===//
//
// An exporter names a tensor by its place in nested containers:
// `state['params']['l1']['kernel']`, `result[0].opt[1].mu['w']`. This file
// splits such a path and joins its keys to the names users write. Used by the
// inference of roles and by everything that accepts a tensor's name.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_TENSORPATH_H
#define TENON_IMPORT_TENSORPATH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tenon::importer {

/// One step of a path: the name it starts with, a position, or a key. `['mu']`
/// and `.mu` are the same key.
struct PathKey {
  std::string text;
  bool isIndex = false;

  bool operator==(const PathKey &other) const = default;
};

/// A path split into its keys, root first. Empty for an empty text.
using TensorPath = llvm::SmallVector<PathKey, 6>;

/// Splits `text`. Never fails: what is no subscript becomes part of a key.
TensorPath parseTensorPath(llvm::StringRef text);

/// The keys joined by `.`.
std::string joinKeys(llvm::ArrayRef<PathKey> keys);

/// A result's path without its root `result`: `result[0]['w']` gives `[0]['w']`
/// and `['w']` stays itself.
llvm::ArrayRef<PathKey> withoutResultRoot(llvm::ArrayRef<PathKey> path);

} // namespace tenon::importer

#endif // TENON_IMPORT_TENSORPATH_H
