//===- PackagePlan.h - The plan beside a program -------------------------===//
//
// Private to this folder: turns what LowerToExec left on a program into the
// file's format::Plan.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PACKAGE_PACKAGEPLAN_H
#define TENON_LIB_PACKAGE_PACKAGEPLAN_H

#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Format/Index.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace tenon::package {

/// Nothing if the program has no exec::planAttrName, or an instruction does not
/// say what it is, as after an edit; fails with a diagnostic if what is said is
/// not well formed.
mlir::FailureOr<std::optional<format::Plan>>
packagePlan(exec::ProgramOp program,
            const llvm::StringMap<uint32_t> &segmentIndex);

} // namespace tenon::package

#endif // TENON_LIB_PACKAGE_PACKAGEPLAN_H
