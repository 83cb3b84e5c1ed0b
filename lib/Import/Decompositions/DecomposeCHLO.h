//===- DecomposeCHLO.h - CHLO operations that become loops ----------------===//
//
// Expansions that have a file of their own; DecomposeCHLO.cpp calls them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_DECOMPOSECHLO_H
#define TENON_LIB_IMPORT_DECOMPOSECHLO_H

#include "tenon/Dialect/CHLO/CHLO.h"

namespace tenon::importer {

/// Replaces a scan by a loop over its dimension.
void expandScan(chlo::ScanOp op);

/// Replaces a product of groups by a loop over the groups, each round computing
/// one group's product and keeping what belongs to the group. Every element of
/// the result has the bits of the plain product it comes from.
void expandRaggedDot(chlo::RaggedDotOp op);

} // namespace tenon::importer

#endif // TENON_LIB_IMPORT_DECOMPOSECHLO_H
