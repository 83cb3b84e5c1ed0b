//===- Base.td - The stablehlo dialect, its constraints and traits --------===//
//
// What every operation file of the dialect includes: the dialect itself, the
// operand classes of the specification as type constraints, shared traits and
// the base classes of operations. Predicates live in ElementKinds.h.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_BASE_TD
#define TENON_DIALECT_STABLEHLO_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def StableHLO_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::tenon::stablehlo";
  let summary = "the tensor language that frameworks export";
  let description = [{
    Operations on tensors with the names, attributes and text of the public
    StableHLO specification, so that a step exported by JAX or PyTorch parses
    as it is. Tenon works on this dialect until operations are grouped.
  }];
  let dependentDialects = ["::mlir::quant::QuantDialect"];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter &printer) const override;
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override;
    void printType(::mlir::Type type,
                   ::mlir::DialectAsmPrinter &printer) const override;

  private:
    // Each subject registers its own operations, so that no file has to
    // compile all of their definitions.
    void registerAttributes();
    void registerTypes();
    void registerCollectiveOperations();
    void registerContractionOperations();
    void registerControlOperations();
    void registerElementwiseOperations();
    void registerIndexingOperations();
    void registerMathOperations();
    void registerReductionOperations();
    void registerShapeOperations();

  public:
  }];
}

//===----------------------------------------------------------------------===//
// Operand classes
//===----------------------------------------------------------------------===//

class StableHLO_TensorOf<string kinds, string what>
    : Type<CPred<"::tenon::stablehlo::isTensorOf($_self, " # kinds # ")">,
           "ranked tensor of " # what, "::mlir::RankedTensorType">;

class StableHLO_ScalarOf<string kinds, string what>
    : Type<CPred<"::tenon::stablehlo::isScalarOf($_self, " # kinds # ")">,
           "0-dimensional tensor of " # what, "::mlir::RankedTensorType">;

class StableHLO_VectorOf<string kinds, string what>
    : Type<CPred<"::tenon::stablehlo::isVectorOf($_self, " # kinds # ")">,
           "1-dimensional tensor of " # what, "::mlir::RankedTensorType">;

// Any element, quantized per tensor.
def StableHLO_Tensor : StableHLO_TensorOf<
    "kTensor", "boolean, integer, floating-point, complex or per-tensor quantized values">;
// Any element, quantized per tensor or per axis.
def StableHLO_QuantizableTensor : StableHLO_TensorOf<
    "kTensor | kPerAxisQuantized",
    "boolean, integer, floating-point, complex or quantized values">;
def StableHLO_PlainTensor : StableHLO_TensorOf<
    "kPlain", "boolean, integer, floating-point or complex values">;
def StableHLO_NumericTensor : StableHLO_TensorOf<
    "kInteger | kFloat | kComplex | kQuantized",
    "integer, floating-point, complex or per-tensor quantized values">;
def StableHLO_SignedTensor : StableHLO_TensorOf<
    "kSigned | kFloat | kComplex | kQuantized",
    "signed integer, floating-point, complex or per-tensor quantized values">;
def StableHLO_RealTensor : StableHLO_TensorOf<
    "kSigned | kFloat | kQuantized",
    "signed integer, floating-point or per-tensor quantized values">;
def StableHLO_FloatOrComplexTensor : StableHLO_TensorOf<
    "kFloat | kComplex | kQuantized",
    "floating-point, complex or per-tensor quantized values">;
def StableHLO_FloatTensor : StableHLO_TensorOf<
    "kFloat | kQuantized", "floating-point or per-tensor quantized values">;
def StableHLO_PlainFloatTensor : StableHLO_TensorOf<"kFloat", "floating-point values">;
def StableHLO_PlainFloatOrComplexTensor : StableHLO_TensorOf<
    "kFloat | kComplex", "floating-point or complex values">;
def StableHLO_ComplexTensor : StableHLO_TensorOf<"kComplex", "complex values">;
def StableHLO_LogicalTensor : StableHLO_TensorOf<
    "kBoolean | kInteger", "boolean or integer values">;
def StableHLO_IntegerTensor : StableHLO_TensorOf<"kInteger", "integer values">;
def StableHLO_BooleanTensor : StableHLO_TensorOf<"kBoolean", "boolean values">;
def StableHLO_QuantizedTensor : StableHLO_TensorOf<
    "kQuantized | kPerAxisQuantized", "quantized values">;
def StableHLO_FloatOrQuantizedTensor : StableHLO_TensorOf<
    "kFloat | kQuantized | kPerAxisQuantized", "floating-point or quantized values">;

def StableHLO_ScalarTensor : StableHLO_ScalarOf<
    "kTensor | kPerAxisQuantized", "any element">;
def StableHLO_ScalarInteger : StableHLO_ScalarOf<"kInteger", "integer values">;
def StableHLO_ScalarBoolean : StableHLO_ScalarOf<"kBoolean", "boolean values">;
def StableHLO_ScalarI32 : Type<
    CPred<"::tenon::stablehlo::isScalarOfWidth($_self, 32)">,
    "0-dimensional tensor of 32-bit integer values", "::mlir::RankedTensorType">;
def StableHLO_ScalarUI32 : Type<
    CPred<"::tenon::stablehlo::isScalarOfUnsignedWidth($_self, 32)">,
    "0-dimensional tensor of 32-bit unsigned integer values", "::mlir::RankedTensorType">;
// Sizes that operations of the dynamic family take as operands.
def StableHLO_DimensionTensor : StableHLO_VectorOf<
    "kInteger | kIndex", "integer or index values">;
def StableHLO_PaddingTensor : StableHLO_TensorOf<
    "kInteger | kIndex", "integer or index values">;

def StableHLO_Token : Type<CPred<"::llvm::isa<::tenon::stablehlo::TokenType>($_self)">,
                           "token", "::tenon::stablehlo::TokenType">,
                      BuildableType<"::tenon::stablehlo::TokenType::get($_builder.getContext())">;
def StableHLO_Future : Type<CPred<"::llvm::isa<::tenon::stablehlo::FutureType>($_self)">,
                            "future", "::tenon::stablehlo::FutureType">;
def StableHLO_Tuple : Type<CPred<"::llvm::isa<::mlir::TupleType>($_self)">,
                           "tuple", "::mlir::TupleType">;
def StableHLO_TensorOrToken : AnyTypeOf<[StableHLO_QuantizableTensor, StableHLO_Token]>;
// A first-class value of the language: tensor, token, tuple, future or buffer.
def StableHLO_Value : Type<CPred<"::tenon::stablehlo::isValueType($_self)">,
                           "tensor, token, tuple, future or buffer">;

//===----------------------------------------------------------------------===//
// Traits
//===----------------------------------------------------------------------===//

class StableHLO_Trait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::tenon::stablehlo";
}

// Tensors have sizes that fit in 64 bits, and quantized ones their axis.
def StableHLO_TensorTypes : StableHLO_Trait<"TensorTypes">;
// Operands and results have one type, up to dynamic extents and encodings.
def StableHLO_CompatibleTypes : StableHLO_Trait<"CompatibleTypes">;
// As above without the element type.
def StableHLO_CompatibleShapes : StableHLO_Trait<"CompatibleShapes">;
// Operands may be exchanged. A trait of this dialect, because MLIR's own makes
// canonicalization reorder operands, which would change exported text.
def StableHLO_Commutative : StableHLO_Trait<"Commutative">;

// An operation with regions whose effects are those of its regions.
def StableHLO_RegionEffects
    : TraitList<[RecursiveMemoryEffects, RecursivelySpeculatable]>;

//===----------------------------------------------------------------------===//
// Attribute constraints
//===----------------------------------------------------------------------===//

def StableHLO_Precisions : OptionalAttr<
    TypedArrayAttrBase<Attr<CPred<"::llvm::isa<::tenon::stablehlo::PrecisionAttr>($_self)">,
                            "precision">,
                       "one precision per operand">>;
def StableHLO_Layouts : OptionalAttr<
    TypedArrayAttrBase<IndexElementsAttr, "minor-to-major layouts">>;
// Groups as a table of device ids, or as axes of a mesh.
def StableHLO_ReplicaGroups : Attr<
    CPred<"::tenon::stablehlo::isReplicaGroups($_self)">,
    "2-dimensional table of 64-bit device ids or mesh axes"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}

//===----------------------------------------------------------------------===//
// Base class
//===----------------------------------------------------------------------===//

class StableHLO_Op<string mnemonic, list<Trait> traits = []>
    : Op<StableHLO_Dialect, mnemonic, !listconcat(traits, [StableHLO_TensorTypes])>;

#endif // TENON_DIALECT_STABLEHLO_BASE_TD
