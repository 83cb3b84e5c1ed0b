//===- Mutate.h - Partitioned steps with one error ------------------------===//
//
// Errors that a partitioner could make: an operation left out or done twice, a
// collective among other devices, along another dimension or with another
// reduction, other offsets, scales and operands, a collective under a branch on
// the number of the device, and one that nobody reads and that not all devices
// come to.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_SHARDING_MUTATE_H
#define TENON_TEST_SHARDING_MUTATE_H

#include "../Random/Random.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tenon::sharding {

/// Makes one error in @main of a partitioned step and says which; empty if none
/// of those drawn fits the step. The result may not verify.
std::string mutate(mlir::ModuleOp module, int64_t devices,
                   random::Random &random);

} // namespace tenon::sharding

#endif // TENON_TEST_SHARDING_MUTATE_H
