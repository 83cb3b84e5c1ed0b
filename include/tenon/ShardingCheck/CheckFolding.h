//===- CheckFolding.h - Do ranks compute what their devices do? -----------===//
//
// Whether a step in which each rank runs several devices of a partitioned one
// computes what they do, bit by bit, with sums over the devices' axis added by
// a binary tree over all devices (tenon/Sharding/FoldDevices.h). It numbers
// what every value on every device and every rank is, by the operations that
// make it (lib/ShardingCheck/Terms.h), and compares the numbers of the results.
// Nothing is taken from the pass that wrote the step.
//
// What is accepted has the same bits for all arguments, whatever the number of
// ranks: both are compared with the same tree. What is refused may be right.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDINGCHECK_CHECKFOLDING_H
#define TENON_SHARDINGCHECK_CHECKFOLDING_H

#include "tenon/ShardingCheck/CheckPartition.h"

namespace tenon::shardingcheck {

/// Nothing if @main of `ranks` computes what @main of `devices` does, a
/// partitioned step whose mesh has the same axes but for the size of `axis`.
std::optional<PartitionFault> checkFolding(mlir::ModuleOp devices,
                                           mlir::ModuleOp ranks,
                                           llvm::StringRef axis);

} // namespace tenon::shardingcheck

#endif // TENON_SHARDINGCHECK_CHECKFOLDING_H
