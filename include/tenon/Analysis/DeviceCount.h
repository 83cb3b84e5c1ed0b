//===- DeviceCount.h - For how many devices a program is written ----------===//
//
// A module may say it in several places: `mhlo.num_replicas` and
// `mhlo.num_partitions`, meshes, the groups of its collectives and the pairs of
// its permutations. Exporters leave the attributes out, or write 1 where the
// devices are not known yet, so the largest number that is said anywhere
// counts: an all_reduce over groups [[0, 1]] is for 2 devices at least.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_DEVICECOUNT_H
#define TENON_ANALYSIS_DEVICECOUNT_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>

namespace tenon {

struct DeviceCount {
  int64_t devices = 1;
  /// What says so, for diagnostics: "mesh @mesh has 8 devices". Empty for 1.
  std::string reason;
  /// The operation that says so; null for 1.
  mlir::Operation *source = nullptr;
};

/// What one operation alone says by its attributes.
DeviceCount devicesNamedBy(mlir::Operation *op);

/// What the module and all its operations say; the first of equals.
DeviceCount countDevices(mlir::ModuleOp module);

} // namespace tenon

#endif // TENON_ANALYSIS_DEVICECOUNT_H
