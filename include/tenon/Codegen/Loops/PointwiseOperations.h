//===- PointwiseOperations.h - Element-wise operations on SSA values ------===//
//
// Code for the operations whose result element is a function of one element of
// each operand, on scalars or on vectors of any length: the arithmetic inside
// every kernel, and inside the regions of reductions, scatters and sorts.
//
// A value of element type bf16 or f16 is held in that type between operations;
// each operation extends to f32, computes, and rounds. Integers are signless;
// the operation's tensor types say whether they are signed. Where the language
// leaves a choice: integer division by zero gives -1 (all bits set), the
// remainder by zero is the left operand, the smallest signed integer divided by
// -1 is itself; a float outside the range of an integer type converts to the
// nearest value of that type and NaN to 0; a float or integer converts to `i1`
// as whether it differs from zero.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_POINTWISEOPERATIONS_H
#define TENON_CODEGEN_LOOPS_POINTWISEOPERATIONS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "tenon/Codegen/Loops/MathExpansions.h"

namespace tenon::codegen {

/// Whether `op` is one of the operations of this file.
bool isPointwise(mlir::Operation *op);

/// Reports element types the operation has no code for.
mlir::LogicalResult checkPointwise(mlir::Operation *op);

/// What a tensor of element type `type` holds as an SSA value: unsigned
/// integers become signless.
mlir::Type valueType(mlir::Type elementType);
/// What it holds in memory: as above, and i1 takes a byte.
mlir::Type storageType(mlir::Type elementType);
/// f32 for bf16 and f16, the type itself otherwise.
mlir::Type computeType(mlir::Type elementType);

/// `type` with the vector shape of `like`, if it has one.
mlir::Type withLanesOf(mlir::Type type, mlir::Type like);
/// A floating-point number or an integer, of type `type` (scalar or vector).
mlir::Value numberOfType(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Type type, double value);
/// Float to float of another width, exactly or rounded once.
mlir::Value convertFloat(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value value, mlir::Type elementType);

/// An operand of `op`, converted to the type in which it is computed.
mlir::Value widenOperand(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Operation *op, mlir::Value value,
                         mlir::Type computeType,
                         const Instructions &instructions);
/// `value`, of f32, f64 or bf16, with zeros of the same sign for subnormal
/// numbers, by their bits. The processor flushes what is computed; this is for
/// an operation that would leave its operand alone otherwise (x * 1), since the
/// code generator takes such operations away, and for calls into libm.
mlir::Value flushSubnormals(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value value);

/// The result element(s) of `op`; operands are all scalars or all vectors of
/// one length.
mlir::Value emitPointwise(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Operation *op, mlir::ValueRange operands,
                          const Instructions &instructions);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_POINTWISEOPERATIONS_H
