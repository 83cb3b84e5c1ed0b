//===- Identity.h - What changes nothing it is combined with --------------===//
//
// Collectives and reductions over ranks start from it, and masks put it in the
// place of what is no element: zeros of a sum, the least number of a maximum.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_IDENTITY_H
#define TENON_ANALYSIS_IDENTITY_H

#include "tenon/Libraries/Collective.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tenon {

/// The identity of a combination of floats, integers or booleans.
mlir::Attribute identityElement(mlir::Type element,
                                libraries::Combination combination);

/// A tensor that repeats the identity of the combination.
mlir::Value identityOf(mlir::ImplicitLocOpBuilder &builder,
                       mlir::RankedTensorType type,
                       libraries::Combination combination);

} // namespace tenon

#endif // TENON_ANALYSIS_IDENTITY_H
