//===- CheckPartition.h - Does a partitioned step compute the step? -------===//
//
// Relates the values of a partitioned step to those of the step that it was
// made from, and accepts what follows: each local value is a block, a piece or
// a term of a whole value, by what lies where on which device
// (lib/ShardingCheck/Holding.h). It takes nothing from the partitioner but the
// layouts of arguments and results, and knows no rules of it.
//
// What is accepted is right for all values of the arguments, up to the order in
// which sums are added. What is not accepted may be right, too: a partitioned
// step is refused unless every result follows.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDINGCHECK_CHECKPARTITION_H
#define TENON_SHARDINGCHECK_CHECKPARTITION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <optional>
#include <string>

namespace tenon::shardingcheck {

struct PartitionFault {
  /// Where the partitioned step can no longer be followed.
  mlir::Location location;
  std::string message;
};

/// Nothing if @main of `local`, a step in device form, computes what @main of
/// `whole` does, and if what its constraints speak of lies as they say. Passes
/// behind the partitioner may leave values out that had a place: they are
/// checked without constraints.
std::optional<PartitionFault> checkPartition(mlir::ModuleOp whole,
                                             mlir::ModuleOp local,
                                             bool withConstraints = true);

#define GEN_PASS_DECL
#include "tenon/ShardingCheck/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tenon/ShardingCheck/Passes.h.inc"

} // namespace tenon::shardingcheck

#endif // TENON_SHARDINGCHECK_CHECKPARTITION_H
