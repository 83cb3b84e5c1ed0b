//===- SourceText.h - What users know an operation by ---------------------===//
//
// For reports: the name that the exporter gave an operation and its position.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_SOURCETEXT_H
#define TENON_ANALYSIS_SOURCETEXT_H

#include "mlir/IR/Location.h"

#include <optional>
#include <string>

namespace tenon {

/// What a user knows an operation by: its name there, its file and line.
std::string sourceOf(mlir::Location location);

/// The file, without its folder, and the line of that; nothing if there is no
/// position. One in an exported text is in a file of no name.
struct SourcePlace {
  std::string file;
  unsigned line = 0;
};
std::optional<SourcePlace> placeOf(mlir::Location location);

} // namespace tenon

#endif // TENON_ANALYSIS_SOURCETEXT_H
