//===- PrecisionRules.td - Number formats of operations -------------------===//
//
// One line per operation that a step may hold: what it does with operands of
// f32, and whether its result may be stored in 16 bits. A Layout test compares
// the lines with the operations of the dialects. docs/Rationale/Precision.md
// says what follows from a line.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_PRECISIONRULES_TD
#define TENON_PRECISION_PRECISIONRULES_TD

include "llvm/TableGen/SearchableTable.td"

class OperandFormat;
/// Read in any format, computed with in f32.
def computes : OperandFormat;
/// A product: multiplies 16-bit operands as they are, if all of them are.
def multiplies : OperandFormat;
/// The result has the elements, and so the format, of the operands.
def moves : OperandFormat;
/// Rounding an operand could change a truth value: operands stay f32, but not
/// for a comparison with zero, which rounding never changes.
def compares : OperandFormat;
/// Operands stay as they are: bit patterns, keys, whole numbers, what goes to a
/// library of linear algebra.
def keeps : OperandFormat;

class ResultFormat;
/// May be rounded to 16 bits where it leaves a kernel.
def stored : ResultFormat;
/// f32: sums, statistics, what is exact.
def wide : ResultFormat;
/// The first one may be rounded, the others are statistics.
def storedFirst : ResultFormat;

def OperandRule : GenericEnum { let FilterClass = "OperandFormat"; }
def ResultRule : GenericEnum { let FilterClass = "ResultFormat"; }

class Rule<string operation, OperandFormat operands, ResultFormat result> {
  string Operation = operation;
  OperandFormat Operands = operands;
  ResultFormat Result = result;
}

def PrecisionRules : GenericTable {
  let FilterClass = "Rule";
  let CppTypeName = "PrecisionRule";
  let Fields = ["Operation", "Operands", "Result"];
  string TypeOf_Operands = "OperandRule";
  string TypeOf_Result = "ResultRule";
}

// Arithmetic.
def : Rule<"stablehlo.abs", computes, stored>;
def : Rule<"stablehlo.add", computes, stored>;
def : Rule<"stablehlo.atan2", computes, stored>;
def : Rule<"stablehlo.cbrt", computes, stored>;
def : Rule<"stablehlo.clamp", computes, stored>;
def : Rule<"stablehlo.convert", computes, stored>;
def : Rule<"stablehlo.cosine", computes, stored>;
def : Rule<"stablehlo.divide", computes, stored>;
def : Rule<"stablehlo.exponential", computes, stored>;
def : Rule<"stablehlo.exponential_minus_one", computes, stored>;
def : Rule<"stablehlo.is_finite", computes, stored>;
def : Rule<"stablehlo.log", computes, stored>;
def : Rule<"stablehlo.log_plus_one", computes, stored>;
def : Rule<"stablehlo.logistic", computes, stored>;
def : Rule<"stablehlo.maximum", computes, stored>;
def : Rule<"stablehlo.minimum", computes, stored>;
def : Rule<"stablehlo.multiply", computes, stored>;
def : Rule<"stablehlo.negate", computes, stored>;
def : Rule<"stablehlo.power", computes, stored>;
def : Rule<"stablehlo.reduce_precision", computes, stored>;
def : Rule<"stablehlo.rsqrt", computes, stored>;
def : Rule<"stablehlo.select", computes, stored>;
def : Rule<"stablehlo.sign", computes, stored>;
def : Rule<"stablehlo.sine", computes, stored>;
def : Rule<"stablehlo.sqrt", computes, stored>;
def : Rule<"stablehlo.subtract", computes, stored>;
def : Rule<"stablehlo.tan", computes, stored>;
def : Rule<"stablehlo.tanh", computes, stored>;
def : Rule<"chlo.erf", computes, stored>;
def : Rule<"chlo.erfc", computes, stored>;
def : Rule<"chlo.erf_inv", computes, stored>;

// Truth values.
def : Rule<"stablehlo.compare", compares, wide>;

// Products.
def : Rule<"stablehlo.convolution", multiplies, stored>;
def : Rule<"stablehlo.dot_general", multiplies, stored>;

// Attention computes in f32; its statistics are sums.
def : Rule<"step.attention", computes, storedFirst>;
def : Rule<"step.attention_gradient", computes, stored>;

// Sums, and maxima beside them: added up in f32. The two of windows move
// elements where they add none up (Analysis/Windows.h).
def : Rule<"stablehlo.reduce", computes, wide>;
def : Rule<"stablehlo.reduce_window", computes, wide>;
def : Rule<"stablehlo.scatter", computes, wide>;
def : Rule<"stablehlo.select_and_scatter", computes, wide>;

// Movements of elements, and what carries values around.
def : Rule<"stablehlo.broadcast_in_dim", moves, stored>;
def : Rule<"stablehlo.case", moves, stored>;
def : Rule<"stablehlo.concatenate", moves, stored>;
def : Rule<"stablehlo.dynamic_slice", moves, stored>;
def : Rule<"stablehlo.dynamic_update_slice", moves, stored>;
def : Rule<"stablehlo.gather", moves, stored>;
def : Rule<"stablehlo.if", moves, stored>;
def : Rule<"stablehlo.optimization_barrier", moves, stored>;
def : Rule<"stablehlo.pad", moves, stored>;
def : Rule<"stablehlo.reshape", moves, stored>;
def : Rule<"stablehlo.return", moves, stored>;
def : Rule<"stablehlo.reverse", moves, stored>;
def : Rule<"stablehlo.slice", moves, stored>;
def : Rule<"stablehlo.transpose", moves, stored>;
def : Rule<"stablehlo.while", moves, stored>;
def : Rule<"step.sharding_constraint", moves, stored>;

// Whole numbers, bits, keys, linear algebra.
def : Rule<"stablehlo.and", keeps, wide>;
def : Rule<"stablehlo.bitcast_convert", keeps, wide>;
def : Rule<"stablehlo.ceil", keeps, wide>;
def : Rule<"stablehlo.cholesky", keeps, wide>;
def : Rule<"stablehlo.constant", keeps, wide>;
def : Rule<"stablehlo.count_leading_zeros", keeps, wide>;
def : Rule<"stablehlo.custom_call", keeps, wide>;
def : Rule<"stablehlo.fft", keeps, wide>;
def : Rule<"stablehlo.floor", keeps, wide>;
def : Rule<"stablehlo.iota", keeps, wide>;
def : Rule<"stablehlo.not", keeps, wide>;
def : Rule<"stablehlo.or", keeps, wide>;
def : Rule<"stablehlo.popcnt", keeps, wide>;
def : Rule<"stablehlo.remainder", keeps, wide>;
def : Rule<"stablehlo.rng_bit_generator", keeps, wide>;
def : Rule<"stablehlo.round_nearest_afz", keeps, wide>;
def : Rule<"stablehlo.round_nearest_even", keeps, wide>;
def : Rule<"stablehlo.shift_left", keeps, wide>;
def : Rule<"stablehlo.shift_right_arithmetic", keeps, wide>;
def : Rule<"stablehlo.shift_right_logical", keeps, wide>;
def : Rule<"stablehlo.sort", keeps, wide>;
def : Rule<"stablehlo.triangular_solve", keeps, wide>;
def : Rule<"stablehlo.xor", keeps, wide>;
def : Rule<"step.stochastic_round", keeps, wide>;
def : Rule<"chlo.top_k", keeps, wide>;

// What no step holds behind its import.
def : Rule<"stablehlo.after_all", keeps, wide>;
def : Rule<"stablehlo.all_gather", keeps, wide>;
def : Rule<"stablehlo.all_reduce", keeps, wide>;
def : Rule<"stablehlo.all_to_all", keeps, wide>;
def : Rule<"stablehlo.async_done", keeps, wide>;
def : Rule<"stablehlo.async_start", keeps, wide>;
def : Rule<"stablehlo.batch_norm_grad", keeps, wide>;
def : Rule<"stablehlo.batch_norm_inference", keeps, wide>;
def : Rule<"stablehlo.batch_norm_training", keeps, wide>;
def : Rule<"stablehlo.broadcast", keeps, wide>;
def : Rule<"stablehlo.collective_broadcast", keeps, wide>;
def : Rule<"stablehlo.collective_permute", keeps, wide>;
def : Rule<"stablehlo.collective_reduce", keeps, wide>;
def : Rule<"stablehlo.complex", keeps, wide>;
def : Rule<"stablehlo.composite", keeps, wide>;
def : Rule<"stablehlo.create_token", keeps, wide>;
def : Rule<"stablehlo.cross-replica-sum", keeps, wide>;
def : Rule<"stablehlo.dot", keeps, wide>;
def : Rule<"stablehlo.dynamic_broadcast_in_dim", keeps, wide>;
def : Rule<"stablehlo.dynamic_conv", keeps, wide>;
def : Rule<"stablehlo.dynamic_gather", keeps, wide>;
def : Rule<"stablehlo.dynamic_iota", keeps, wide>;
def : Rule<"stablehlo.dynamic_pad", keeps, wide>;
def : Rule<"stablehlo.dynamic_reshape", keeps, wide>;
def : Rule<"stablehlo.einsum", keeps, wide>;
def : Rule<"stablehlo.get_dimension_size", keeps, wide>;
def : Rule<"stablehlo.get_tuple_element", keeps, wide>;
def : Rule<"stablehlo.imag", keeps, wide>;
def : Rule<"stablehlo.infeed", keeps, wide>;
def : Rule<"stablehlo.map", keeps, wide>;
def : Rule<"stablehlo.outfeed", keeps, wide>;
def : Rule<"stablehlo.partition_id", keeps, wide>;
def : Rule<"stablehlo.real", keeps, wide>;
def : Rule<"stablehlo.real_dynamic_slice", keeps, wide>;
def : Rule<"stablehlo.recv", keeps, wide>;
def : Rule<"stablehlo.reduce_scatter", keeps, wide>;
def : Rule<"stablehlo.replica_id", keeps, wide>;
def : Rule<"stablehlo.rng", keeps, wide>;
def : Rule<"stablehlo.send", keeps, wide>;
def : Rule<"stablehlo.set_dimension_size", keeps, wide>;
def : Rule<"stablehlo.torch_index_select", keeps, wide>;
def : Rule<"stablehlo.tuple", keeps, wide>;
def : Rule<"stablehlo.unary_einsum", keeps, wide>;
def : Rule<"stablehlo.uniform_dequantize", keeps, wide>;
def : Rule<"stablehlo.uniform_quantize", keeps, wide>;

#endif // TENON_PRECISION_PRECISIONRULES_TD
