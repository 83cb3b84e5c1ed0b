//===- Types.td - Types of the stablehlo dialect --------------------------===//
//
// Values that are no tensors: tokens order effects, futures stand for results
// of operations still under way.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_TYPES_TD
#define TENON_DIALECT_STABLEHLO_TYPES_TD

include "tenon/Dialect/StableHLO/Base.td"

def StableHLO_TokenType : TypeDef<StableHLO_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "an opaque value that orders operations with effects";
}

def StableHLO_FutureType : TypeDef<StableHLO_Dialect, "Future"> {
  let mnemonic = "future";
  let summary = "values that an asynchronous operation will deliver";
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
}

#endif // TENON_DIALECT_STABLEHLO_TYPES_TD
