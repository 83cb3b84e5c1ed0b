//===- Step.td - What a training step adds to StableHLO ------------------===//
//
// The `step` dialect: roles of the arguments of @main, and groups. See
// docs/Forms.md for the attributes that stages put on functions and arguments.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_STEP_TD
#define TENON_DIALECT_STEP_STEP_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Step_Dialect : Dialect {
  let name = "step";
  let cppNamespace = "::tenon::step";
  let summary = "what a training step adds to StableHLO";
  let description = [{
    A training step is `@main` of a module of StableHLO operations. This dialect
    says what each argument is (`#step.role<parameter>`), and holds the groups
    that Fusion forms: sets of operations that become one kernel or one library
    call.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

def Step_Role : I32EnumAttr<"Role", "what an argument of a training step is", [
    I32EnumAttrCase<"state", 0>,
    I32EnumAttrCase<"parameter", 1>,
    I32EnumAttrCase<"optimizer_state", 2>,
    I32EnumAttrCase<"buffer", 3>,
    I32EnumAttrCase<"rng", 4>,
    I32EnumAttrCase<"counter", 5>,
    I32EnumAttrCase<"metric", 6>,
    I32EnumAttrCase<"batch", 7>,
    I32EnumAttrCase<"hyper_parameter", 8>,
    I32EnumAttrCase<"unknown", 9>,
  ]> {
  let cppNamespace = "::tenon::step";
  let genSpecializedAttr = 0;
}

def Step_RoleAttr : EnumAttr<Step_Dialect, Step_Role, "role"> {
  let assemblyFormat = "`<` $value `>`";
}

def Step_GroupKind : I32EnumAttr<"GroupKind", "how a group is turned into code", [
    I32EnumAttrCase<"elementwise", 0>,
    I32EnumAttrCase<"row", 1>,
    I32EnumAttrCase<"column", 2>,
    I32EnumAttrCase<"library", 3>,
    I32EnumAttrCase<"generic", 4>,
    I32EnumAttrCase<"collective", 5>,
    I32EnumAttrCase<"save", 6>,
    I32EnumAttrCase<"load", 7>,
  ]> {
  let cppNamespace = "::tenon::step";
  let genSpecializedAttr = 0;
}

def Step_GroupKindAttr : EnumAttr<Step_Dialect, Step_GroupKind, "group_kind"> {
  let assemblyFormat = "$value";
}

def Step_Segment : I32EnumAttr<"Segment", "a range of memory of the step", [
    I32EnumAttrCase<"state", 0>,
    I32EnumAttrCase<"batch", 1>,
    I32EnumAttrCase<"results", 2>,
    I32EnumAttrCase<"temporaries", 3>,
    I32EnumAttrCase<"constants", 4>,
    I32EnumAttrCase<"host", 5>,
  ]> {
  let cppNamespace = "::tenon::step";
  let genSpecializedAttr = 0;
}

def Step_PlaceAttr : AttrDef<Step_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "where a value lies in memory";
  let description = [{
    A segment and an offset in bytes, written by the Memory stage. The size
    follows from the value's type. `host` is memory of a GPU's host, where copies
    of values wait.

    ```mlir
    #step.place<temporaries, 4096>
    ```
  }];
  let parameters = (ins EnumParameter<Step_Segment>:$segment, "int64_t":$offset);
  let assemblyFormat = "`<` $segment `,` $offset `>`";
}

class Step_Op<string mnemonic, list<Trait> traits = []>
    : Op<Step_Dialect, mnemonic, traits>;

def Step_GroupOp : Step_Op<"group", [
    IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "operations that become one kernel or one library call";
  let description = [{
    The body computes the group's results from the group's operands, which enter
    as block arguments of the same types; nothing else is visible inside except
    constants, which are cloned in. `kind` selects the template of the code
    generator, docs/Forms.md says what each may contain. Created by Fusion,
    outlined into a kernel function by the Memory stage; none remains in exec
    form. Groups of the kinds `save` and `load` hand on their operand: a save
    copies it to memory of a GPU's host, a load copies it back.

    ```mlir
    %1:2 = step.group elementwise(%a, %b) : (tensor<8xf32>, tensor<8xf32>)
        -> (tensor<8xf32>, tensor<8xi1>) {
    ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
      %s = stablehlo.add %x, %y : tensor<8xf32>
      %c = stablehlo.compare GT, %s, %y, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
      step.yield %s, %c : tensor<8xf32>, tensor<8xi1>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Step_GroupKindAttr:$kind);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind `(` $inputs `)` attr-dict-with-keyword `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operations of the body, terminator excluded.
    ::llvm::iterator_range<::mlir::Block::iterator> bodyOperations() {
      return getBody().front().without_terminator();
    }
    /// Whether it moves a value to memory of the host or back.
    bool isTransfer() {
      return getKind() == GroupKind::save || getKind() == GroupKind::load;
    }
  }];
}

def Step_YieldOp : Step_Op<"yield", [Pure, Terminator, ReturnLike,
    HasParent<"GroupOp">]> {
  let summary = "the results of a group";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // TENON_DIALECT_STEP_STEP_TD
