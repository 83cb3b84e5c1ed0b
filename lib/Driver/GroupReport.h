//===- GroupReport.h - What each group of a plan asks for -----------------===//
//
// The part of the report that lists the work and bytes of each group in the
// order in which they run, so that a plan can be priced at rates of another
// machine.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_GROUPREPORT_H
#define TENON_LIB_DRIVER_GROUPREPORT_H

#include "tenon/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace tenon::driver {

/// An object per group of a planned step, copies that compute again included.
llvm::json::Array reportGroups(mlir::func::FuncOp planned,
                               const target::Target &machine);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_GROUPREPORT_H
