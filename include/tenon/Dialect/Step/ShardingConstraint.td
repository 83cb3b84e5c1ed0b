//===- ShardingConstraint.td - Where an author wants a value to lie -------===//
//
// What is left of annotations inside a step until layouts are decided
// (docs/Rationale/Sharding.md).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_SHARDINGCONSTRAINT_TD
#define TENON_DIALECT_STEP_SHARDINGCONSTRAINT_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "tenon/Dialect/Step/Step.td"

def Step_ShardingConstraintOp : Step_Op<"sharding_constraint", [
    Pure, SameOperandsAndResultType]> {
  let summary = "a value that lies on the mesh as its author wrote";
  let description = [{
    Its operand, cut over the devices of a mesh in the given way. A `sharding`
    is one of the `sdy` dialect, which names axes, or the text of an
    `mhlo.sharding`, which numbers devices; dimensions in `open_dims` may be cut
    further than such a text says. All values of one `group` lie alike. What
    `passes` names, `none`, `forward` or `backward`, is how propagation may go
    from the operand to the result; both ways if it is not there. Without a mesh
    there is nothing to decide, and none of these is left.

    ```mlir
    %1 = step.sharding_constraint %0 {sharding = #sdy.sharding<@mesh, [{"data"}, {?} ]>}
        : tensor<8x4xf32>
    %3 = step.sharding_constraint %2 {open_dims = array<i64: 1>, sharding = "{devices=[2,1]<=[2]}"}
        : tensor<8x4xf32>
    %5 = step.sharding_constraint %4 {group = 0 : i64} : tensor<8x4xf32>
    %6 = step.sharding_constraint %5 {passes = "forward"} : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input,
                       OptionalAttr<AnyAttr>:$sharding,
                       OptionalAttr<DenseI64ArrayAttr>:$open_dims,
                       OptionalAttr<I64Attr>:$group,
                       OptionalAttr<StrAttr>:$passes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool passesForward() { return getPasses().value_or("forward") == "forward"; }
    bool passesBackward() { return getPasses().value_or("backward") == "backward"; }
  }];
}

#endif // TENON_DIALECT_STEP_SHARDINGCONSTRAINT_TD
