//===- Passes.td - The check of partitioned steps -------------------------===//
//
// Whether a step that was cut over a mesh computes what the whole one does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDINGCHECK_PASSES_TD
#define TENON_SHARDINGCHECK_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckPartitionPass : Pass<"check-partition", "::mlir::ModuleOp"> {
  let summary = "check that a partitioned step computes the whole one";
  let description = [{
    Reads the step that a partitioned one was made from, follows both, and fails
    with an error where the results of the partitioned step do not follow from
    those of the whole one. Changes nothing. It shares no rules with `partition`
    (docs/Rationale/Sharding.md).

    `tenon-opt step.mlir --partition=mesh=data=2 -o parts.mlir`, then
    `tenon-opt parts.mlir --check-partition=whole=step.mlir`.
  }];
  let options = [
    Option<"whole", "whole", "std::string", "\"\"",
           "the file with the step that was partitioned">,
  ];
}

#endif // TENON_SHARDINGCHECK_PASSES_TD
