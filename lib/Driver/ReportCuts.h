//===- ReportCuts.h - Where a step for GPUs leaves its graphs -------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_REPORTCUTS_H
#define TENON_LIB_DRIVER_REPORTCUTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace tenon::driver {

/// The loops and conditionals at which the runtime will cut the programs of a
/// module in exec form, as it decides with tenon/Target/GraphNodes.h: each
/// {place, why}, and a remark (category `codegen-cut-graphs`).
llvm::json::Array reportCuts(mlir::ModuleOp module);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_REPORTCUTS_H
