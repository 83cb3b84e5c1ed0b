//===- Check.td - Programs that test themselves ---------------------------===//
//
// The `check` dialect, with which a test program states what its values have to
// be, and the `interpreter` dialect, with which it runs functions on simulated
// devices. Text as other implementations write it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_CHECK_CHECK_TD
#define TENON_DIALECT_CHECK_CHECK_TD

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "tenon/Dialect/StableHLO/Base.td"

def Check_Dialect : Dialect {
  let name = "check";
  let cppNamespace = "::tenon::check";
  let summary = "programs that test themselves";
  let description = [{
    Every operation compares two tensors, or a tensor with a constant, and ends
    the run with an error that shows the first element that differs.
  }];
}

class Check_Op<string mnemonic> : Op<Check_Dialect, mnemonic> {
  let hasVerifier = 1;
}

class Check_ConstOp<string mnemonic, string what> : Check_Op<mnemonic> {
  let summary = "compares a tensor with a constant: " # what;
  let description = "Fails unless all elements of its operand are " # what # ".";
  let hasCustomAssemblyFormat = 1;
}

def Check_ExpectEqOp : Check_Op<"expect_eq"> {
  let summary = "compares two tensors: equal";
  let description = [{
    Fails unless all elements are equal. NaN equals NaN, and a zero equals only
    the zero of its sign.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, StableHLO_QuantizableTensor:$rhs);
  let hasCustomAssemblyFormat = 1;
}

def Check_ExpectEqConstOp : Check_ConstOp<"expect_eq_const", "equal"> {
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, ElementsAttr:$value);
}

def Check_ExpectAlmostEqOp : Check_Op<"expect_almost_eq"> {
  let summary = "compares two tensors: almost equal";
  let description = [{
    Fails unless all elements differ by at most `tolerance`, or are not finite
    and equal.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, StableHLO_QuantizableTensor:$rhs,
                       DefaultValuedOptionalAttr<F64Attr, "0.0001">:$tolerance);
  let hasCustomAssemblyFormat = 1;
}

def Check_ExpectAlmostEqConstOp : Check_ConstOp<"expect_almost_eq_const", "almost equal"> {
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, ElementsAttr:$value,
                       DefaultValuedOptionalAttr<F64Attr, "0.0001">:$tolerance);
}

def Check_ExpectCloseOp : Check_Op<"expect_close"> {
  let summary = "compares two tensors: a few units in the last place apart";
  let description = [{
    Fails unless the number of floating-point values from one element to the
    other lies between `min_ulp_difference` and `max_ulp_difference`; without
    them at most one.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, StableHLO_QuantizableTensor:$rhs,
                       DefaultValuedOptionalAttr<UI64Attr, "1">:$max_ulp_difference,
                       DefaultValuedOptionalAttr<UI64Attr, "0">:$min_ulp_difference);
  let hasCustomAssemblyFormat = 1;
}

def Check_ExpectCloseConstOp : Check_ConstOp<"expect_close_const",
                                             "a few units in the last place apart"> {
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, ElementsAttr:$value,
                       DefaultValuedOptionalAttr<UI64Attr, "1">:$max_ulp_difference,
                       DefaultValuedOptionalAttr<UI64Attr, "0">:$min_ulp_difference);
}

def Interpreter_Dialect : Dialect {
  let name = "interpreter";
  let cppNamespace = "::tenon::check";
  let summary = "functions on simulated devices";
  let description = "Lets a test program run functions on devices that exist only in the interpreter.";
}

def Interpreter_RunParallelOp : Op<Interpreter_Dialect, "run_parallel",
                                   [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs functions on many devices at once";
  let description = [{
    `programs` has a row per replica with a function per partition. The inputs
    are the arguments of the functions one after the other, row by row, and the
    results are theirs in the same order. `infeed` names functions without
    arguments: each `infeed` operation gets the results of the next one.
  }];
  let arguments = (ins Variadic<StableHLO_Value>:$inputs, ArrayAttr:$programs,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$infeed);
  let results = (outs Variadic<StableHLO_Value>:$results);
}

#endif // TENON_DIALECT_CHECK_CHECK_TD
