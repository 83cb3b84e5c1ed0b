//===- RoleWords.h - What names say about state --------------------------===//
//
// The keys that frameworks use in the trees of a training state (`params`,
// `opt_state`, `mu`, `batch_stats`, `rng`) and the role each of them means. A
// table; the inference of roles reads it after succession is decided.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_ROLEWORDS_H
#define TENON_IMPORT_ROLEWORDS_H

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Import/TensorPath.h"

#include "mlir/IR/BuiltinTypes.h"
#include <string>

namespace tenon::importer {

/// A role and the words that explain it to a user.
struct RoleGuess {
  step::Role role = step::Role::unknown;
  std::string reason;
};

/// The role of an argument that is carried from step to step.
RoleGuess roleOfState(llvm::ArrayRef<PathKey> path, mlir::ShapedType type);

/// The role of an argument that is fed in every step.
RoleGuess roleOfInput(llvm::ArrayRef<PathKey> path, mlir::ShapedType type);

} // namespace tenon::importer

#endif // TENON_IMPORT_ROLEWORDS_H
