//===- Base.td - The sdy dialect ------------------------------------------===//
//
// The dialect itself and its enumerations, for the definitions of attributes and
// operations.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_SHARDY_BASE_TD
#define TENON_DIALECT_SHARDY_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::tenon::sdy";
  let summary = "how tensors are spread over a mesh of devices";
  let description = [{
    A mesh names the axes of a grid of devices. A sharding says, for every
    dimension of a tensor, along which axes it is split, from major to minor;
    along all other axes it is replicated. Shardings sit on arguments, results
    and operations as `sdy.sharding`, and the operations here constrain them or
    move data between them.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Sdy_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tenon::sdy";
}

def Sdy_PropagationDirection : Sdy_Enum<"PropagationDirection",
    "which way shardings may pass", [
    I32EnumAttrCase<"NONE", 0>, I32EnumAttrCase<"FORWARD", 1>,
    I32EnumAttrCase<"BACKWARD", 2>, I32EnumAttrCase<"BOTH", 3>]>;

def Sdy_ReductionOp : Sdy_Enum<"ReductionOp", "how parts of a tensor are combined", [
    I32EnumAttrCase<"SUM", 0, "sum">, I32EnumAttrCase<"MAX", 1, "max">,
    I32EnumAttrCase<"MIN", 2, "min">]>;

def Sdy_EdgeNodeType : Sdy_Enum<"EdgeNodeType", "end of an edge between values", [
    I32EnumAttrCase<"OPERAND", 0, "operand">, I32EnumAttrCase<"RESULT", 1, "result">]>;

#endif // TENON_DIALECT_SHARDY_BASE_TD
