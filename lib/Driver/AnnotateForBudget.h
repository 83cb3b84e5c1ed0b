//===- AnnotateForBudget.h - What planning must know of groups -----------===//
//
// Between the stages `group` and `plan` under a budget: leaves on the groups
// what their kernels take, which Memory may not ask Codegen for.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_ANNOTATEFORBUDGET_H
#define TENON_LIB_DRIVER_ANNOTATEFORBUDGET_H

#include "KernelScratch.h"

#include "tenon/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon::driver {

/// Predicted time and scratch memory of each group in @main and of the parts in
/// which it may be computed again.
void annotateForBudget(mlir::ModuleOp grouped, const KernelScratch &scratch,
                       const target::Target &machine);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_ANNOTATEFORBUDGET_H
