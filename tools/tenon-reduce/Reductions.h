//===- Reductions.h - Ways to make a module smaller ----------------------===//
//
// Each kind of reduction has places in a module where it can be applied, in a
// fixed order. The search applies it to ranges of places.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_REDUCE_REDUCTIONS_H
#define TENON_TOOLS_TENON_REDUCE_REDUCTIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tenon::reduce {

struct Reduction {
  llvm::StringLiteral name;
  /// How many places `module` has.
  int64_t (*count)(mlir::ModuleOp module);
  /// Applies to the places from `first` to before `last`.
  void (*apply)(mlir::ModuleOp module, int64_t first, int64_t last);
};

/// In the order they are worth trying.
llvm::ArrayRef<Reduction> reductions();

/// Erases operations whose results nobody reads, and private functions that
/// nobody names.
void eraseUnread(mlir::ModuleOp module);

} // namespace tenon::reduce

#endif // TENON_TOOLS_TENON_REDUCE_REDUCTIONS_H
