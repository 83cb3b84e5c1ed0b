//===- ShardingRules.td - How operations are split over devices ----------===//
//
// One line per operation: the structure that says which dimensions of its
// operands and results are cut together. The factors of an operation follow from
// its structure and its attributes (Rules.cpp). A Layout test compares the
// lines with the operations of the dialects, and test/Sharding runs every
// structure under all splits of small shapes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_SHARDINGRULES_TD
#define TENON_SHARDING_SHARDINGRULES_TD

include "llvm/TableGen/SearchableTable.td"

class Structure;
/// Every dimension, the same in all operands and results; scalars apart.
def pointwise : Structure;
/// Batch and free dimensions; contracted ones leave a sum pending.
def contracts : Structure;
/// Batch and features; input features leave a sum pending. Along space the
/// windows, which read more than their own shard (Halo.h): where results run
/// along the operand, these; where the places of the window do, as in the
/// gradient of a kernel, those, which leave a sum pending.
def convolves : Structure;
/// Batch dimensions, queries, features of values; keys are whole.
def attends : Structure;
/// Kept dimensions; reduced ones leave a reduction pending where the region is
/// one and the initial value is neutral.
def reduces : Structure;
/// Dimensions whose windows hold one element, and those of reduce_window along
/// which windows read more than their own shard, if what they are padded with is
/// neutral; those of select_and_scatter, whose windows add to their own shard and
/// to others (ScatterHalo.h).
def pools : Structure;
/// Dimensions that come from the operand, and new ones.
def broadcasts : Structure;
/// All dimensions, in another order.
def transposes : Structure;
/// The common factors of both shapes.
def reshapes : Structure;
/// Dimensions in which every element keeps its index; those that are padded with
/// the identity of a reduction, as windows of one element.
def moves : Structure;
/// Batch and offset dimensions; indexed ones leave a sum pending.
def gathers : Structure;
/// Window, batch and indexed dimensions; those of the updates alone leave a sum
/// pending where the region adds.
def scatters : Structure;
/// Dimensions that are not sorted.
def sorts : Structure;
/// Dimensions in front of those that it works on; none of an unknown call.
def batches : Structure;
/// Every dimension of the result.
def generates : Structure;
/// Values keep their layouts.
def flows : Structure;
/// Every dimension where the indices of the elements are an operand
/// (sharding-place-roundings), none where they are not.
def rounds : Structure;
/// No dimension: operands are gathered, results replicated.
def gathered : Structure;
/// No step holds it behind its import.
def absent : Structure;

def StructureKind : GenericEnum { let FilterClass = "Structure"; }

class Rule<string operation, Structure structure> {
  string Operation = operation;
  Structure Kind = structure;
}

def ShardingRules : GenericTable {
  let FilterClass = "Rule";
  let CppTypeName = "ShardingRule";
  let Fields = ["Operation", "Kind"];
  string TypeOf_Kind = "StructureKind";
}

// Elements at the same index.
def : Rule<"stablehlo.abs", pointwise>;
def : Rule<"stablehlo.add", pointwise>;
def : Rule<"stablehlo.atan2", pointwise>;
def : Rule<"stablehlo.cbrt", pointwise>;
def : Rule<"stablehlo.clamp", pointwise>;
def : Rule<"stablehlo.convert", pointwise>;
def : Rule<"stablehlo.cosine", pointwise>;
def : Rule<"stablehlo.divide", pointwise>;
def : Rule<"stablehlo.exponential", pointwise>;
def : Rule<"stablehlo.exponential_minus_one", pointwise>;
def : Rule<"stablehlo.is_finite", pointwise>;
def : Rule<"stablehlo.log", pointwise>;
def : Rule<"stablehlo.log_plus_one", pointwise>;
def : Rule<"stablehlo.logistic", pointwise>;
def : Rule<"stablehlo.maximum", pointwise>;
def : Rule<"stablehlo.minimum", pointwise>;
def : Rule<"stablehlo.multiply", pointwise>;
def : Rule<"stablehlo.negate", pointwise>;
def : Rule<"stablehlo.power", pointwise>;
def : Rule<"stablehlo.reduce_precision", pointwise>;
def : Rule<"stablehlo.rsqrt", pointwise>;
def : Rule<"stablehlo.select", pointwise>;
def : Rule<"stablehlo.sign", pointwise>;
def : Rule<"stablehlo.sine", pointwise>;
def : Rule<"stablehlo.sqrt", pointwise>;
def : Rule<"stablehlo.subtract", pointwise>;
def : Rule<"stablehlo.tan", pointwise>;
def : Rule<"stablehlo.tanh", pointwise>;
def : Rule<"chlo.erf", pointwise>;
def : Rule<"chlo.erfc", pointwise>;
def : Rule<"chlo.erf_inv", pointwise>;
def : Rule<"stablehlo.compare", pointwise>;
def : Rule<"stablehlo.and", pointwise>;
def : Rule<"stablehlo.bitcast_convert", pointwise>;
def : Rule<"stablehlo.ceil", pointwise>;
def : Rule<"stablehlo.count_leading_zeros", pointwise>;
def : Rule<"stablehlo.floor", pointwise>;
def : Rule<"stablehlo.not", pointwise>;
def : Rule<"stablehlo.or", pointwise>;
def : Rule<"stablehlo.popcnt", pointwise>;
def : Rule<"stablehlo.remainder", pointwise>;
def : Rule<"stablehlo.round_nearest_afz", pointwise>;
def : Rule<"stablehlo.round_nearest_even", pointwise>;
def : Rule<"stablehlo.shift_left", pointwise>;
def : Rule<"stablehlo.shift_right_arithmetic", pointwise>;
def : Rule<"stablehlo.shift_right_logical", pointwise>;
def : Rule<"stablehlo.xor", pointwise>;

// Products.
def : Rule<"stablehlo.dot_general", contracts>;
def : Rule<"stablehlo.convolution", convolves>;
def : Rule<"step.attention", attends>;
def : Rule<"step.attention_gradient", attends>;

// Sums and their like.
def : Rule<"stablehlo.reduce", reduces>;
def : Rule<"stablehlo.reduce_window", pools>;
def : Rule<"stablehlo.select_and_scatter", pools>;

// Movements of elements.
def : Rule<"stablehlo.broadcast_in_dim", broadcasts>;
def : Rule<"stablehlo.transpose", transposes>;
def : Rule<"stablehlo.reshape", reshapes>;
def : Rule<"stablehlo.concatenate", moves>;
def : Rule<"stablehlo.dynamic_slice", moves>;
def : Rule<"stablehlo.dynamic_update_slice", moves>;
def : Rule<"stablehlo.pad", moves>;
def : Rule<"stablehlo.reverse", moves>;
def : Rule<"stablehlo.slice", moves>;

// Indices that are data.
def : Rule<"stablehlo.gather", gathers>;
def : Rule<"stablehlo.scatter", scatters>;

// What works on some dimensions.
def : Rule<"stablehlo.sort", sorts>;
def : Rule<"chlo.top_k", sorts>;
def : Rule<"stablehlo.cholesky", batches>;
def : Rule<"stablehlo.custom_call", batches>;
def : Rule<"stablehlo.fft", batches>;
def : Rule<"stablehlo.triangular_solve", batches>;

// Out of nothing.
def : Rule<"stablehlo.constant", generates>;
def : Rule<"stablehlo.iota", generates>;

// What carries values around.
def : Rule<"stablehlo.case", flows>;
def : Rule<"stablehlo.if", flows>;
def : Rule<"stablehlo.optimization_barrier", flows>;
def : Rule<"step.sharding_constraint", flows>;
def : Rule<"stablehlo.return", flows>;
def : Rule<"stablehlo.while", flows>;

// Roundings, whose bits depend on the index of an element.
def : Rule<"step.stochastic_round", rounds>;

// Replicated: bits that depend on all elements before.
def : Rule<"stablehlo.rng_bit_generator", gathered>;


// What no step holds behind its import.
def : Rule<"stablehlo.after_all", absent>;
def : Rule<"stablehlo.all_gather", absent>;
def : Rule<"stablehlo.all_reduce", absent>;
def : Rule<"stablehlo.all_to_all", absent>;
def : Rule<"stablehlo.async_done", absent>;
def : Rule<"stablehlo.async_start", absent>;
def : Rule<"stablehlo.batch_norm_grad", absent>;
def : Rule<"stablehlo.batch_norm_inference", absent>;
def : Rule<"stablehlo.batch_norm_training", absent>;
def : Rule<"stablehlo.broadcast", absent>;
def : Rule<"stablehlo.collective_broadcast", absent>;
def : Rule<"stablehlo.collective_permute", absent>;
def : Rule<"stablehlo.collective_reduce", absent>;
def : Rule<"stablehlo.complex", absent>;
def : Rule<"stablehlo.composite", absent>;
def : Rule<"stablehlo.create_token", absent>;
def : Rule<"stablehlo.cross-replica-sum", absent>;
def : Rule<"stablehlo.dot", absent>;
def : Rule<"stablehlo.dynamic_broadcast_in_dim", absent>;
def : Rule<"stablehlo.dynamic_conv", absent>;
def : Rule<"stablehlo.dynamic_gather", absent>;
def : Rule<"stablehlo.dynamic_iota", absent>;
def : Rule<"stablehlo.dynamic_pad", absent>;
def : Rule<"stablehlo.dynamic_reshape", absent>;
def : Rule<"stablehlo.einsum", absent>;
def : Rule<"stablehlo.get_dimension_size", absent>;
def : Rule<"stablehlo.get_tuple_element", absent>;
def : Rule<"stablehlo.imag", absent>;
def : Rule<"stablehlo.infeed", absent>;
def : Rule<"stablehlo.map", absent>;
def : Rule<"stablehlo.outfeed", absent>;
def : Rule<"stablehlo.partition_id", absent>;
def : Rule<"stablehlo.real", absent>;
def : Rule<"stablehlo.real_dynamic_slice", absent>;
def : Rule<"stablehlo.recv", absent>;
def : Rule<"stablehlo.reduce_scatter", absent>;
def : Rule<"stablehlo.replica_id", absent>;
def : Rule<"stablehlo.rng", absent>;
def : Rule<"stablehlo.send", absent>;
def : Rule<"stablehlo.set_dimension_size", absent>;
def : Rule<"stablehlo.torch_index_select", absent>;
def : Rule<"stablehlo.tuple", absent>;
def : Rule<"stablehlo.unary_einsum", absent>;
def : Rule<"stablehlo.uniform_dequantize", absent>;
def : Rule<"stablehlo.uniform_quantize", absent>;

#endif // TENON_SHARDING_SHARDINGRULES_TD
