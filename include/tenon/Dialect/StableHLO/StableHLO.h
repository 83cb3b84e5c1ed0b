//===- StableHLO.h - The language that frameworks export ------------------===//
//
// The `stablehlo` dialect: its types, attributes, enumerations and all its
// operations, with the names of the public specification. What a step is
// written in from Import to Fusion.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_STABLEHLO_H
#define TENON_DIALECT_STABLEHLO_STABLEHLO_H

#include "tenon/Dialect/StableHLO/ElementKinds.h"
#include "tenon/Dialect/StableHLO/Traits.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "tenon/Dialect/StableHLO/StableHLODialect.h.inc"
#include "tenon/Dialect/StableHLO/StableHLOEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tenon/Dialect/StableHLO/StableHLOTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/StableHLO/StableHLOAttributes.h.inc"

// Control flow comes first: the other subjects' regions end with its `return`.
#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ControlOperations.h.inc"
#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ElementwiseOperations.h.inc"
#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/MathOperations.h.inc"
#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ShapeOperations.h.inc"
#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/IndexingOperations.h.inc"
#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ReductionOperations.h.inc"
#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ContractionOperations.h.inc"
#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/CollectiveOperations.h.inc"

namespace tenon::stablehlo {

/// The type of a tensor whose rank is known, as it is from Import on.
inline mlir::RankedTensorType typeOf(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType());
}

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_STABLEHLO_H
