//===- SourceText.h - What users know an operation by ---------------------===//
//
// For reports: the name that the exporter gave an operation and its position.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_SOURCETEXT_H
#define TENON_ANALYSIS_SOURCETEXT_H

#include "mlir/IR/Location.h"

#include <string>

namespace tenon {

/// What a user knows an operation by: its name there, its file and line.
std::string sourceOf(mlir::Location location);

} // namespace tenon

#endif // TENON_ANALYSIS_SOURCETEXT_H
