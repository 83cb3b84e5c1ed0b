//===- ExpandPools.h - Gradients of pools without places in memory --------===//
//
// XLA computes the gradient of a maximum pool by numbering all elements of the
// pool's operand, in every dimension, and it does so at the start of the step,
// since the numbers depend on nothing. Where windows do not overlap the
// gradient is element-wise, so before a step is planned it is written as that.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_STABLEHLO_EXPANDPOOLS_H
#define TENON_LIB_CODEGEN_STABLEHLO_EXPANDPOOLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::codegen {

/// Rewrites every stablehlo.select_and_scatter that compares and adds, and
/// whose windows lie beside each other, cover the operand and have at most 64
/// elements.
void expandPools(mlir::func::FuncOp main);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_STABLEHLO_EXPANDPOOLS_H
