//===- Collective.td - Communication between devices and with the host ----===//
//
// Every operation here meets its counterpart on other devices, or the host. A
// collective computes a value, so that unread ones may be removed and equal
// ones merged, but it stays where it is; send, receive and the feeds have
// effects.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_COLLECTIVE_TD
#define TENON_DIALECT_STABLEHLO_COLLECTIVE_TD

include "tenon/Dialect/StableHLO/Attributes.td"
include "tenon/Dialect/StableHLO/Enums.td"

//===----------------------------------------------------------------------===//
// Who am I
//===----------------------------------------------------------------------===//

def StableHLO_PartitionIdOp : StableHLO_Op<"partition_id", [Pure]> {
  let summary = "number of this partition";
  let description = "The number of the partition that runs the program.";
  let results = (outs StableHLO_ScalarUI32:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}

def StableHLO_ReplicaIdOp : StableHLO_Op<"replica_id", [Pure]> {
  let summary = "number of this replica";
  let description = "The number of the replica that runs the program.";
  let results = (outs StableHLO_ScalarUI32:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

def StableHLO_AllGatherOp : StableHLO_Op<"all_gather", [NoMemoryEffect]> {
  let summary = "the tensors of a group, joined";
  let description = "Joins the operands of all devices of a group along one dimension, on each of them.";
  let arguments = (ins Variadic<StableHLO_QuantizableTensor>:$operands, I64Attr:$all_gather_dim,
                       StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<StableHLO_QuantizableTensor>:$results);
  let hasVerifier = 1;
}

def StableHLO_AllReduceOp : StableHLO_Op<"all_reduce", [
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "the tensors of a group, combined";
  let description = "Combines the operands of all devices of a group element by element by the region, on each of them.";
  let arguments = (ins Variadic<StableHLO_QuantizableTensor>:$operands,
                       StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<StableHLO_QuantizableTensor>:$results);
  let hasVerifier = 1;
}

def StableHLO_AllToAllOp : StableHLO_Op<"all_to_all", [NoMemoryEffect]> {
  let summary = "parts exchanged within a group";
  let description = [{
    Cuts the operand into as many parts as the group has devices, sends one to
    each, and joins what arrives along another dimension.
  }];
  let arguments = (ins Variadic<StableHLO_QuantizableTensor>:$operands, I64Attr:$split_dimension,
                       I64Attr:$concat_dimension, I64Attr:$split_count,
                       StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle);
  let results = (outs Variadic<StableHLO_QuantizableTensor>:$results);
  let hasVerifier = 1;
}

def StableHLO_ReduceScatterOp : StableHLO_Op<"reduce_scatter", [
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "the tensors of a group, combined and shared out";
  let description = [{
    Combines the operands of all devices of a group and leaves each device one
    part of the result along `scatter_dimension`.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$operand, I64Attr:$scatter_dimension,
                       StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let hasVerifier = 1;
}

def StableHLO_CollectiveBroadcastOp : StableHLO_Op<"collective_broadcast", [NoMemoryEffect]> {
  let summary = "one device's tensors, for its group";
  let description = [{
    Every device of a group gets the operands of its first one, or of the one
    that the last operand names if `has_dynamic_root` is set; a device in no
    group gets zeros.
  }];
  let arguments = (ins Variadic<StableHLO_QuantizableTensor>:$operands,
                       StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$has_dynamic_root);
  let results = (outs Variadic<StableHLO_QuantizableTensor>:$results);
  let hasVerifier = 1;
}

def StableHLO_CollectiveReduceOp : StableHLO_Op<"collective_reduce", [
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "the tensors of a group, combined on one device";
  let description = [{
    Combines the operands of all devices of a group on its first one, or on the
    one that the last operand names if `has_dynamic_root` is set.
  }];
  let arguments = (ins Variadic<StableHLO_QuantizableTensor>:$operands,
                       StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$has_dynamic_root);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<StableHLO_QuantizableTensor>:$results);
}

def StableHLO_CollectivePermuteOp : StableHLO_Op<"collective_permute", [NoMemoryEffect]> {
  let summary = "tensors passed from device to device";
  let description = "Each pair sends the operand from its first to its second device; who gets nothing has zeros.";
  let arguments = (ins StableHLO_QuantizableTensor:$operand, I64ElementsAttr:$source_target_pairs,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let hasVerifier = 1;
}

def StableHLO_CrossReplicaSumOp : StableHLO_Op<"cross-replica-sum", [
    NoMemoryEffect, StableHLO_CompatibleTypes]> {
  let summary = "sum over replicas";
  let description = "The sum of the operands of a group of replicas. Deprecated in favour of `all_reduce`.";
  let arguments = (ins StableHLO_Tensor:$operand, I64ElementsAttr:$replica_groups);
  let results = (outs StableHLO_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Channels and feeds
//===----------------------------------------------------------------------===//

def StableHLO_SendOp : StableHLO_Op<"send", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "tensors to another device or the host";
  let description = "Sends its inputs over a channel; the token says when.";
  let arguments = (ins Variadic<StableHLO_QuantizableTensor>:$inputs, StableHLO_Token:$token,
                       StableHLO_ChannelHandleAttr:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs StableHLO_Token:$result);
}

def StableHLO_RecvOp : StableHLO_Op<"recv", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "tensors from another device or the host";
  let description = "Receives tensors from a channel; its last result is the token after it.";
  let arguments = (ins StableHLO_Token:$token, StableHLO_ChannelHandleAttr:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Variadic<StableHLO_TensorOrToken>:$results);
}

def StableHLO_InfeedOp : StableHLO_Op<"infeed", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "tensors from the host's feed";
  let description = "Takes the next tensors from the feed into the device; its last result is the token after it.";
  let arguments = (ins StableHLO_Token:$token,
                       OptionalAttr<StrAttr>:$infeed_config,
                       OptionalAttr<ArrayAttr>:$layout);
  let results = (outs Variadic<StableHLO_TensorOrToken>:$results);
}

def StableHLO_OutfeedOp : StableHLO_Op<"outfeed", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "tensors into the host's feed";
  let description = "Puts its inputs into the feed out of the device; the token says when.";
  let arguments = (ins Variadic<StableHLO_QuantizableTensor>:$inputs, StableHLO_Token:$token,
                       OptionalAttr<StrAttr>:$outfeed_config);
  let results = (outs StableHLO_Token:$result);
}

#endif // TENON_DIALECT_STABLEHLO_COLLECTIVE_TD
