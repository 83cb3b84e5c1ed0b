//===- Shardy.td - Operations on shardings --------------------------------===//
//
// The `sdy` dialect's operations: meshes, constraints, regions that run per
// device, collectives along axes, and what propagation leaves behind. Text: the
// public definition of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_SHARDY_SHARDY_TD
#define TENON_DIALECT_SHARDY_SHARDY_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tenon/Dialect/Shardy/Attributes.td"

class Sdy_Op<string mnemonic, list<Trait> traits = []>
    : Op<Sdy_Dialect, mnemonic, traits>;

// An operation that refers to a mesh and checks that it fits.
class Sdy_MeshUserOp<string mnemonic, list<Trait> traits = []>
    : Sdy_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

//===----------------------------------------------------------------------===//
// Meshes and constraints
//===----------------------------------------------------------------------===//

def Sdy_MeshOp : Sdy_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a mesh of devices with a name";
  let description = [{
    Gives a mesh a name for shardings to refer to. All meshes of a module have the
    same number of devices, meshes of one device apart.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

def Sdy_ShardingConstraintOp : Sdy_MeshUserOp<"sharding_constraint", [SameOperandsAndResultType]> {
  let summary = "a tensor with a given sharding";
  let description = [{
    Its operand, split in the given way for the users of the result, or for the
    operand itself if there are none.
  }];
  let arguments = (ins AnyType:$input, Sdy_TensorShardingAttr:$sharding);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Sdy_ReshardOp : Sdy_MeshUserOp<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "a tensor moved to another sharding";
  let description = "Its operand, split in another way; becomes communication.";
  let arguments = (ins AnyType:$input, Sdy_TensorShardingAttr:$sharding);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Sdy_ShardingGroupOp : Sdy_Op<"sharding_group"> {
  let summary = "membership of a tensor in a group";
  let description = "Tensors of one group get one sharding.";
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$group_id);
  let assemblyFormat = [{
    $input `group_id` `` `=` `` $group_id attr-dict `:` type($input)
  }];
}

def Sdy_ConstantOp : Sdy_Op<"constant", [Pure, AllTypesMatch<["value", "output"]>]> {
  let summary = "a constant for one user";
  let description = [{
    The tensor that the attribute holds. Not a constant to folding, so that every
    use can have a copy with a sharding of its own.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeTensor:$output);
  let assemblyFormat = "attr-dict $value";
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

def Sdy_PropagationBarrierOp
    : Sdy_Op<"propagation_barrier", [Pure, SameOperandsAndResultType]> {
  let summary = "a border for shardings";
  let description = "Its operand; shardings pass in the given direction only.";
  let arguments = (ins AnyRankedTensor:$input, Sdy_PropagationDirection:$allowed_direction);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `allowed_direction` `` `=` `` $allowed_direction attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

def Sdy_DataFlowEdgeOp : Sdy_MeshUserOp<"data_flow_edge", [SameOperandsAndResultType]> {
  let summary = "values of a loop or region that share a sharding";
  let description = [{
    Stands for all values that are one inside an operation with regions, such as a
    loop's operand, its block arguments and its result.
  }];
  let arguments = (ins AnyShaped:$input, OptionalAttr<Sdy_TensorShardingAttr>:$sharding);
  let results = (outs AnyShaped:$result);
  let assemblyFormat = [{
    $input (`sharding` `` `=` `` $sharding^)? attr-dict `:` type($result)
  }];
}

def Sdy_FuncDataFlowEdgeOp : Sdy_Op<"func_data_flow_edge", [SameOperandsAndResultType]> {
  let summary = "an argument or result of a call that shares a sharding";
  let description = [{
    The edge between an argument of a function and the operands of its calls, or
    between a result of a call and what the function returns.
  }];
  let arguments = (ins AnyShaped:$operand);
  let results = (outs AnyShaped:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

def Sdy_ReturnOp : Sdy_Op<"return", [Pure, ReturnLike, Terminator]> {
  let summary = "end of a region";
  let description = "Ends a region of an operation of this dialect and hands its values over.";
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
}

def Sdy_ManualComputationOp : Sdy_MeshUserOp<"manual_computation", [
    IsolatedFromAbove, RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "a computation written per device";
  let description = [{
    Inside the region tensors have the shapes that one device sees along the
    manual axes, and communication is explicit. The shardings say how operands are
    cut and how results are put together.
  }];
  let arguments = (ins Variadic<AnyType>:$tensors, Sdy_TensorShardingPerValueAttr:$in_shardings,
                       Sdy_TensorShardingPerValueAttr:$out_shardings,
                       Sdy_ManualAxesAttr:$manual_axes);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` operands `)`
    `in_shardings` `` `=` `` custom<StrippedTensorShardingPerValueAttr>($in_shardings)
    `out_shardings` `` `=` `` custom<StrippedTensorShardingPerValueAttr>($out_shardings)
    `manual_axes` `` `=` `` $manual_axes
    custom<SingleBlockRegionNoBlockId>($body)
    attr-dict `:` functional-type(operands, results)
  }];
}

def Sdy_NamedComputationOp : Sdy_MeshUserOp<"named_computation", [
    IsolatedFromAbove, RecursiveMemoryEffects, RecursivelySpeculatable,
    SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "a part of a program with a name";
  let description = "Runs its region, through which shardings pass as if it were not there.";
  let arguments = (ins Variadic<AnyType>:$operands, StrAttr:$name,
                       OptionalAttr<Sdy_TensorShardingPerValueAttr>:$in_shardings,
                       OptionalAttr<Sdy_TensorShardingPerValueAttr>:$out_shardings);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `<` $name `>` `` `(` $operands `)`
    (`in_shardings` `` `=` `` custom<StrippedTensorShardingPerValueAttr>($in_shardings)^)?
    (`out_shardings` `` `=` `` custom<StrippedTensorShardingPerValueAttr>($out_shardings)^)?
    custom<SingleBlockRegionNoBlockId>($body)
    attr-dict `:` functional-type($operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

// The result's sharding follows from the operand's and the axes; `out_sharding`
// repeats it.
class Sdy_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Sdy_MeshUserOp<mnemonic, !listconcat([SameOperandsAndResultType], traits)> {
  let results = (outs AnyShaped:$result);
}

def Sdy_AllGatherOp : Sdy_CollectiveOp<"all_gather"> {
  let summary = "parts joined along axes";
  let description = "Every dimension is split along its listed axes no more.";
  let arguments = (ins AnyShaped:$tensor, Sdy_ListOfAxisRefListsAttr:$gathering_axes,
                       Sdy_TensorShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $gathering_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_AllSliceOp : Sdy_CollectiveOp<"all_slice"> {
  let summary = "tensor cut along axes";
  let description = "Every dimension is split along its listed axes too.";
  let arguments = (ins AnyShaped:$tensor, Sdy_ListOfAxisRefListsAttr:$slicing_axes,
                       Sdy_TensorShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $slicing_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_AllToAllOp : Sdy_CollectiveOp<"all_to_all"> {
  let summary = "axes moved from dimension to dimension";
  let description = "Each move joins a dimension along axes and cuts another along them.";
  let arguments = (ins AnyShaped:$tensor, Sdy_AllToAllParamListAttr:$params,
                       Sdy_TensorShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $params $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_CollectivePermuteOp : Sdy_CollectiveOp<"collective_permute"> {
  let summary = "parts passed from device to device";
  let description = "Splits along other axes into as many parts as before.";
  let arguments = (ins AnyShaped:$tensor, Sdy_TensorShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_AllReduceOp : Sdy_CollectiveOp<"all_reduce"> {
  let summary = "parts combined along axes";
  let description = "Adds up (or takes the largest or smallest of) what devices along the axes hold.";
  let arguments = (ins AnyShaped:$tensor, Sdy_AxisRefListAttr:$reduction_axes,
                       OptionalAttr<Sdy_ReductionOp>:$reduction_op,
                       Sdy_TensorShardingAttr:$out_sharding);
  let assemblyFormat = [{
    ($reduction_op^)? $reduction_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict
    `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// How parts are combined; a sum where nothing is said.
    ReductionOp getReduction() { return getReductionOp().value_or(ReductionOp::SUM); }
  }];
}

def Sdy_ReduceScatterOp : Sdy_CollectiveOp<"reduce_scatter"> {
  let summary = "parts combined along axes and cut along them";
  let description = "An all_reduce, then an all_slice along the same axes.";
  let arguments = (ins AnyShaped:$tensor, Sdy_ListOfAxisRefListsAttr:$reduce_scatter_axes,
                       OptionalAttr<Sdy_ReductionOp>:$reduction_op,
                       Sdy_TensorShardingAttr:$out_sharding);
  let assemblyFormat = [{
    ($reduction_op^)? $reduce_scatter_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict
    `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// How parts are combined; a sum where nothing is said.
    ReductionOp getReduction() { return getReductionOp().value_or(ReductionOp::SUM); }
  }];
}

def Sdy_ShardedToUnreducedOp : Sdy_CollectiveOp<"sharded_to_unreduced"> {
  let summary = "axes that split become unreduced";
  let description = "Every device holds its part in a tensor of zeros, so that an all_reduce along the axes gives the whole.";
  let arguments = (ins AnyShaped:$tensor, Sdy_ListOfAxisRefListsAttr:$axes,
                       Sdy_TensorShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_ReplicatedToUnreducedOp : Sdy_CollectiveOp<"replicated_to_unreduced"> {
  let summary = "axes that replicate become unreduced";
  let description = "One device along the axes keeps the tensor and the others hold zeros, so that an all_reduce gives it back.";
  let arguments = (ins AnyShaped:$tensor, Sdy_AxisRefListAttr:$axes,
                       Sdy_TensorShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

#endif // TENON_DIALECT_SHARDY_SHARDY_TD
