//===- Gradients.h - Which values of a step are gradients -----------------===//
//
// A step computes gradients, but nothing in it says so. They are found from the
// parameters' successors. The update of a parameter is element by element: it
// combines the parameter, the optimizer's state, numbers that are spread over
// the whole tensor, and the gradient, which alone has the parameter's shape,
// depends on the batch and is made by something else than arithmetic on
// elements. With clipping and momentum, for example,
//
//   %g = dot_general %x, %e        : 784x512, depends on the batch
//   %c = multiply %g, spread(%s)   : clipped
//   %m = add (multiply %moment, spread(0.9)), %c
//   %w' = subtract %w, (multiply %m, spread(0.1))
//
// the walk from %w' back through operations on elements ends at %w, %moment,
// what is spread, and %g. Where it ends at several such values (a weight that
// is read twice), the gradient is the first value that everything from them to
// the successor passes through, their sum.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_GRADIENTS_H
#define TENON_ANALYSIS_GRADIENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon {

/// What replaces a parameter: an operand of the end of the step.
struct ParameterUpdate {
  unsigned parameter; // the argument
  mlir::OpOperand *result;
};

/// Of all parameters that have a successor, in the order of the arguments.
llvm::SmallVector<ParameterUpdate> parameterUpdates(mlir::func::FuncOp step);

struct Gradient {
  unsigned parameter; // the argument
  mlir::Value value;  // an operation's result in the body of the step
};

/// The gradients of a step in step form, in the order of its arguments. A
/// parameter has none here if it is not of floats, if no value is as above, or
/// if its whole update happens in a loop or a branch.
llvm::SmallVector<Gradient> gradientsOf(mlir::func::FuncOp step);

} // namespace tenon

#endif // TENON_ANALYSIS_GRADIENTS_H
