//===- Shardy.h - How tensors are spread over devices ---------------------===//
//
// The `sdy` dialect: meshes, shardings, and the operations on them. Read by
// Import for one device with a remark, by Sharding for many.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_SHARDY_SHARDY_H
#define TENON_DIALECT_SHARDY_SHARDY_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "tenon/Dialect/Shardy/ShardyDialect.h.inc"
#include "tenon/Dialect/Shardy/ShardyEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Shardy/ShardyAttributes.h.inc"

#define GET_OP_CLASSES
#include "tenon/Dialect/Shardy/ShardyOps.h.inc"

namespace tenon::sdy {

/// Attribute of arguments, results and operations: #sdy.sharding on the first
/// two, #sdy.sharding_per_value on operations.
inline constexpr llvm::StringLiteral shardingAttrName = "sdy.sharding";
/// Attribute of an operation: #sdy.op_sharding_rule.
inline constexpr llvm::StringLiteral shardingRuleAttrName = "sdy.sharding_rule";

/// Whether `sharding` may be attached to a value of type `type`: its mesh
/// exists, its axes are axes of that mesh and used once, and it has an entry
/// per dimension. `emitError` starts the message, `op` is where symbols are
/// looked up from.
mlir::LogicalResult
verifySharding(TensorShardingAttr sharding, mlir::Type type,
               mlir::Operation *op,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Whether `axes` are axes of `mesh`, without overlap, and in the order of the
/// mesh if `isSorted`.
mlir::LogicalResult
verifyAxes(llvm::ArrayRef<AxisRefAttr> axes, MeshAttr mesh, bool isSorted,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace tenon::sdy

#endif // TENON_DIALECT_SHARDY_SHARDY_H
