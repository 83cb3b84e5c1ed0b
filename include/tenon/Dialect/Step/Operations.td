//===- Operations.td - All operations of the step dialect -----------------===//
//
// What the reference describes on one page.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_OPERATIONS_TD
#define TENON_DIALECT_STEP_OPERATIONS_TD

include "tenon/Dialect/Step/Attention.td"
include "tenon/Dialect/Step/ShardingConstraint.td"
include "tenon/Dialect/Step/StochasticRounding.td"

#endif // TENON_DIALECT_STEP_OPERATIONS_TD
