//===- PackagePlan.h - The plan beside a program -------------------------===//
//
// Private to this folder: turns what LowerToExec left on a module into the
// file's format::Plan.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PACKAGE_PACKAGEPLAN_H
#define TENON_LIB_PACKAGE_PACKAGEPLAN_H

#include "tenon/Format/Index.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace tenon::package {

/// `attribute` is the module's exec::planAttrName. Nothing if an instruction of
/// the program does not say what it is, as after an edit; fails with a
/// diagnostic if what is said is not well formed.
mlir::FailureOr<std::optional<format::Plan>>
packagePlan(mlir::ModuleOp module, mlir::DictionaryAttr attribute,
            const llvm::StringMap<uint32_t> &segmentIndex);

} // namespace tenon::package

#endif // TENON_LIB_PACKAGE_PACKAGEPLAN_H
