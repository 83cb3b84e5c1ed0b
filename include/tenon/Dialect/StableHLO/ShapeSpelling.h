//===- ShapeSpelling.h - One spelling for operations that move elements --===//
//
// Rewrites of broadcasts, reshapes and transposes to the form in which each
// idea has one spelling. Used by the import stage to reach that form and by the
// simplify stage to stay in it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_SHAPESPELLING_H
#define TENON_DIALECT_STABLEHLO_SHAPESPELLING_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tenon::stablehlo {

/// Adds the rewrites. Afterwards
///  - chains of broadcasts, of reshapes and of transposes are one operation,
///    and those that change nothing are gone;
///  - a broadcast keeps the order of its operand's dimensions, and one that
///    only adds unit dimensions is a reshape, as is such a transpose;
///  - a broadcast, reshape or transpose of a splat constant is a constant.
/// All of them move elements without looking at them, so every bit stays.
void populateShapeSpelling(mlir::RewritePatternSet &patterns);

/// For a reshape from `from` to `to` that only adds and removes unit
/// dimensions: the dimension of `to` that each dimension of `from` becomes, -1
/// for unit dimensions. Nothing for other reshapes.
std::optional<llvm::SmallVector<int64_t>>
unitReshapeMap(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_SHAPESPELLING_H
