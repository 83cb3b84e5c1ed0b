//===- ElementwiseClasses.td - Shapes of element-wise operations ----------===//
//
// The base classes that Elementwise.td and Math.td fill in: one or two operands
// of the result's type, in the short assembly that names this type once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_ELEMENTWISECLASSES_TD
#define TENON_DIALECT_STABLEHLO_ELEMENTWISECLASSES_TD

include "tenon/Dialect/StableHLO/Attributes.td"
include "tenon/Dialect/StableHLO/Enums.td"

class StableHLO_UnaryOp<string mnemonic, Type operandType, Type resultType,
                        list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([Pure], traits, [Elementwise])> {
  let arguments = (ins operandType:$operand);
  let results = (outs resultType:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

// One operand, and a result of its type.
class StableHLO_UnarySameOp<string mnemonic, Type operandType>
    : StableHLO_UnaryOp<mnemonic, operandType, operandType, [StableHLO_CompatibleTypes]> {
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{
    build($_builder, $_state, operand.getType(), operand);
  }]>];
}

class StableHLO_BinaryOp<string mnemonic, Type type, list<Trait> traits = []>
    : StableHLO_Op<mnemonic,
                   !listconcat([Pure, StableHLO_CompatibleTypes, Elementwise], traits)> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, lhs.getType(), lhs, rhs);
  }]>];
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict
    `:` custom<SameOperandsAndResultType>(type($lhs), type($rhs), type($result))
  }];
}

// A function that may say how accurate it has to be.
class StableHLO_FunctionOp<string mnemonic>
    : StableHLO_Op<mnemonic, [Pure, StableHLO_CompatibleTypes, Elementwise]> {
  let arguments = (ins StableHLO_FloatOrComplexTensor:$operand,
                       OptionalAttr<StableHLO_ResultAccuracyAttr>:$result_accuracy);
  let results = (outs StableHLO_FloatOrComplexTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{
    build($_builder, $_state, operand.getType(), operand, ResultAccuracyAttr());
  }]>];
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

#endif // TENON_DIALECT_STABLEHLO_ELEMENTWISECLASSES_TD
