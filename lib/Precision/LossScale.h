//===- LossScale.h - The scale of a step's loss ---------------------------===//
//
// The hidden state that ScaleLoss gives a step, for who chooses formats behind
// it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_LOSSSCALE_H
#define TENON_LIB_PRECISION_LOSSSCALE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::precision {

/// The argument that is the scale; null if the step's loss is not scaled.
mlir::BlockArgument lossScaleOf(mlir::func::FuncOp step);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_LOSSSCALE_H
