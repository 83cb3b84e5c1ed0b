//===- CHLO.h - Operations that frameworks compose ------------------------===//
//
// The `chlo` dialect: what exporters write beside `stablehlo`. Parsed and
// verified here, decomposed by Import.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_CHLO_CHLO_H
#define TENON_DIALECT_CHLO_CHLO_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tenon/Dialect/CHLO/CHLODialect.h.inc"
#include "tenon/Dialect/CHLO/CHLOEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/CHLO/CHLOAttributes.h.inc"

#define GET_OP_CLASSES
#include "tenon/Dialect/CHLO/CHLOOps.h.inc"

#endif // TENON_DIALECT_CHLO_CHLO_H
