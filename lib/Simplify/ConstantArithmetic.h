//===- ConstantArithmetic.h - Element-wise operations on constants --------===//
//
// Computes an element-wise operation whose operands are constants, with the
// bits the compiled operation gives. Used by the rules that fold constants.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SIMPLIFY_CONSTANTARITHMETIC_H
#define TENON_LIB_SIMPLIFY_CONSTANTARITHMETIC_H

#include "tenon/Support/Subnormals.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace tenon::simplify {

/// Constants of up to this many elements that are no splats are computed.
inline constexpr int64_t foldedElements = 64 * 1024;

/// The value of `op` on constant `operands`, one per operand of the operation.
/// Null where the operation is not in the table, the constant would be too
/// large, or the result depends on the implementation: elementary functions,
/// NaN, kept subnormal results, integer division by zero, conversions out of
/// range, shifts beyond the width.
mlir::DenseElementsAttr
foldElementwise(mlir::Operation *op,
                llvm::ArrayRef<mlir::DenseElementsAttr> operands,
                Subnormals subnormals);

/// The names of the operations that foldElementwise knows.
llvm::SmallVector<llvm::StringRef> foldedOperations();

} // namespace tenon::simplify

#endif // TENON_LIB_SIMPLIFY_CONSTANTARITHMETIC_H
