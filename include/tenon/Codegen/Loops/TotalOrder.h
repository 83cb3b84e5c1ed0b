//===- TotalOrder.h - Which of two elements is larger ---------------------===//
//
// The order in which top_k looks for the largest elements: floats in total
// order (-0 below 0, NaN above infinity), integers as their type says.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_TOTALORDER_H
#define TENON_CODEGEN_LOOPS_TOTALORDER_H

#include "tenon/Codegen/Loops/LoopNest.h"

namespace tenon::codegen {

/// Whether `x` is larger than `y`, scalars of a tensor's element type: an i1.
mlir::Value emitIsLarger(LoopNest &k, mlir::Type element, mlir::Value x,
                         mlir::Value y);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_TOTALORDER_H
