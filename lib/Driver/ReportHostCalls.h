//===- ReportHostCalls.h - What the host of a GPU computes ----------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_REPORTHOSTCALLS_H
#define TENON_LIB_DRIVER_REPORTHOSTCALLS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace tenon::driver {

/// Of a module in exec form: `on_host`, for each invocation of a library call
/// that the host runs its {place, call, bytes}, those that are copied in a run;
/// and `host_bytes`, of pinned memory that a run takes for them.
void reportHostCalls(mlir::ModuleOp module, llvm::json::Object &details);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_REPORTHOSTCALLS_H
