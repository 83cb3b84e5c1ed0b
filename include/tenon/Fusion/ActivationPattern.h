//===- ActivationPattern.h - Whether element-wise code is an activation ---===//
//
// GELU and its gradient come as a dozen element-wise operations whose order and
// grouping depend on who wrote them: derived by JAX, by PyTorch, simplified by
// us, cut into groups. So what is looked at is not how they are written but
// what they compute: the operations are executed in double at a few dozen
// points, and are the activation if they give its values there. They are sums,
// products, quotients and exponentials, which do not agree with another such
// function of that size at all these points without being it. Roundings to
// other types are left out.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_ACTIVATIONPATTERN_H
#define TENON_FUSION_ACTIVATIONPATTERN_H

#include "mlir/IR/Value.h"

namespace tenon::fusion {

/// What computes the elements of a value: behind roundings and reshapes, and
/// through groups, to the operation whose value a group is given or yields.
mlir::Value elementsOf(mlir::Value value);

/// Whether the elements of `result` are gelu(x), in its form with a hyperbolic
/// tangent, of the elements x of `input`.
bool isGelu(mlir::Value result, mlir::Value input);

/// Whether they are g * gelu'(x) of the elements g of `factor` and x of
/// `input`.
bool isGeluGradient(mlir::Value result, mlir::Value factor, mlir::Value input);

/// Whether they are computed from elements of `value`, among others.
bool dependsOn(mlir::Value result, mlir::Value value);

} // namespace tenon::fusion

#endif // TENON_FUSION_ACTIVATIONPATTERN_H
