//===- Control.td - Control flow, calls, tuples and tokens ----------------===//
//
// Branches and loops, operations that another program implements, and values
// that bundle or order others.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_CONTROL_TD
#define TENON_DIALECT_STABLEHLO_CONTROL_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "tenon/Dialect/StableHLO/Attributes.td"
include "tenon/Dialect/StableHLO/Enums.td"

def StableHLO_ReturnOp : StableHLO_Op<"return", [Pure, ReturnLike, Terminator]> {
  let summary = "end of a region";
  let description = "Ends a region of an operation of this dialect and hands its values over.";
  let arguments = (ins Variadic<StableHLO_Value>:$results);
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

def StableHLO_IfOp : StableHLO_Op<"if", [
    StableHLO_RegionEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "one of two regions";
  let description = "Runs the first region if the predicate holds and the second otherwise; they may use values from outside.";
  let arguments = (ins StableHLO_ScalarBoolean:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let results = (outs Variadic<StableHLO_Value>:$results);
  let hasVerifier = 1;
}

def StableHLO_CaseOp : StableHLO_Op<"case", [
    StableHLO_RegionEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "one of many regions";
  let description = [{
    Runs the region that the index names, the last one if there is none of that
    number; regions may use values from outside.
  }];
  let arguments = (ins StableHLO_ScalarI32:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let results = (outs Variadic<StableHLO_Value>:$results);
  let hasVerifier = 1;
}

def StableHLO_WhileOp : StableHLO_Op<"while", [
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "loop";
  let description = [{
    Runs the body on the loop's values as long as the condition holds for them;
    regions may use values from outside.
  }];
  let arguments = (ins Variadic<StableHLO_Value>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_Value>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

def StableHLO_CustomCallOp : StableHLO_Op<"custom_call", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "an operation that the implementation defines";
  let description = [{
    Calls something outside the language by name. It may be merged, moved and
    removed unless `has_side_effect` says that it does more than compute.
  }];
  let arguments = (ins
      Variadic<StableHLO_Value>:$inputs, StrAttr:$call_target_name,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$has_side_effect,
      OptionalAttr<AnyAttrOf<[StrAttr, DictionaryAttr]>>:$backend_config,
      DefaultValuedOptionalAttr<
          StableHLO_CustomCallApiVersionAttr,
          "::tenon::stablehlo::CustomCallApiVersion::API_VERSION_ORIGINAL">:$api_version,
      DefaultValuedOptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "functions">, "{}">:$called_computations,
      StableHLO_Layouts:$operand_layouts, StableHLO_Layouts:$result_layouts,
      OptionalAttr<ArrayAttr>:$result_tilings,
      DefaultValuedOptionalAttr<
          TypedArrayAttrBase<
              Attr<CPred<"::llvm::isa<::tenon::stablehlo::OutputOperandAliasAttr>($_self)">,
                   "output operand alias">,
              "aliases of outputs and operands">, "{}">:$output_operand_aliases);
  let results = (outs Variadic<StableHLO_Value>:$results);
  let assemblyFormat = [{
    custom<CustomCallTarget>($call_target_name) `(` $inputs `)` attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_CompositeOp : StableHLO_Op<"composite", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a named operation made of others";
  let description = [{
    An operation with a name and attributes of its own whose meaning is that of
    the function `decomposition`. Regions are there for names that have bodies;
    the decomposition does not use them.
  }];
  let arguments = (ins Variadic<StableHLO_Value>:$inputs, StrAttr:$name,
                       OptionalAttr<DictionaryAttr>:$composite_attributes,
                       FlatSymbolRefAttr:$decomposition,
                       DefaultValuedOptionalAttr<I32Attr, "0">:$version);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let results = (outs Variadic<StableHLO_Value>:$results);
  let assemblyFormat = [{
    $name $inputs (` ` `(` $composite_regions^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Barriers, tuples and tokens
//===----------------------------------------------------------------------===//

def StableHLO_OptimizationBarrierOp : StableHLO_Op<"optimization_barrier", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a border that no rewrite crosses";
  let description = [{
    Returns its operands. No rewrite looks through it and two of them are never
    merged: what a user wraps to be computed again stays apart from what it
    copies. One whose results nobody reads may be erased.
  }];
  let arguments = (ins Variadic<StableHLO_Value>:$operand);
  let results = (outs Variadic<StableHLO_Value>:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$operand), [{
    build($_builder, $_state, operand.getTypes(), operand);
  }]>];
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseOpType>(type($operand), type($result))):(`(` `)`)?
  }];
  let hasVerifier = 1;
}

def StableHLO_TupleOp : StableHLO_Op<"tuple", [Pure]> {
  let summary = "values as one";
  let description = "A tuple of its operands. Exporters use results and operands instead.";
  let arguments = (ins Variadic<StableHLO_Value>:$val);
  let results = (outs StableHLO_Tuple:$result);
  let assemblyFormat = [{
    $val attr-dict `:` custom<TupleOpType>(type($val), type($result))
  }];
  let hasVerifier = 1;
}

def StableHLO_GetTupleElementOp : StableHLO_Op<"get_tuple_element", [Pure]> {
  let summary = "one value of a tuple";
  let description = "The value at a position of a tuple.";
  let arguments = (ins StableHLO_Tuple:$operand, I32Attr:$index);
  let results = (outs StableHLO_Value:$result);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_AfterAllOp : StableHLO_Op<"after_all", [Pure]> {
  let summary = "a token after others";
  let description = "A token that stands for everything its operands stand for.";
  let arguments = (ins Variadic<StableHLO_Token>:$inputs);
  let results = (outs StableHLO_Token:$result);
  let assemblyFormat = [{
    $inputs attr-dict
    `:` custom<VariadicSameOperandsAndResultType>(ref($inputs), type($inputs), type($result))
  }];
}

def StableHLO_CreateTokenOp : StableHLO_Op<"create_token", [Pure]> {
  let summary = "a token to start with";
  let description = "A token that stands for nothing. Deprecated in favour of an empty `after_all`.";
  let results = (outs StableHLO_Token:$output);
  let assemblyFormat = "attr-dict `:` type(results)";
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

def StableHLO_AsyncStartOp : StableHLO_Op<"async_start", [
    IsolatedFromAbove, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "start of an operation that runs beside others";
  let description = [{
    Starts the one operation in its region, a collective or a slice, and returns
    at once with a future of its results.
  }];
  let arguments = (ins Variadic<StableHLO_QuantizableTensor>:$operands);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs StableHLO_Future:$result);
}

def StableHLO_AsyncDoneOp : StableHLO_Op<"async_done"> {
  let summary = "end of an operation that ran beside others";
  let description = "Waits for a future and returns its values.";
  let arguments = (ins StableHLO_Future:$operand);
  let results = (outs Variadic<StableHLO_QuantizableTensor>:$results);
}

#endif // TENON_DIALECT_STABLEHLO_CONTROL_TD
