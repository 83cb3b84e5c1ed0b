//===- Succession.h - Which result becomes which argument ----------------===//
//
// A training step returns its state; which result replaces which argument in
// the next step decides whether training is right. Donation does not say it: an
// exporter pairs donated buffers with results of equal type, not leaves with
// their successors. This file decides from a user's statement, from names, or
// from an exact match of positions, and otherwise says what is missing. A pure
// algorithm on paths and types, called by the inference of roles.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_SUCCESSION_H
#define TENON_IMPORT_SUCCESSION_H

#include "tenon/Import/TensorPath.h"

#include "mlir/IR/Types.h"
#include <optional>
#include <string>
#include <vector>

namespace tenon::importer {

/// An argument of @main as far as succession is concerned.
struct ArgumentLeaf {
  /// Its path in the caller's arguments; empty when the text has no names.
  TensorPath path;
  mlir::Type type;
  bool donated = false;
  /// The user said that it is fed in every step, or what replaces it.
  bool excluded = false;
  std::optional<int64_t> stated;
};

/// A result of @main. The path still has its root `result`.
struct ResultLeaf {
  TensorPath path;
  mlir::Type type;
};

enum class SuccessionEvidence { statement, names, position };

struct Successor {
  int64_t result = 0;
  SuccessionEvidence evidence = SuccessionEvidence::statement;
};

struct Succession {
  /// Per argument its successor; nothing for what is fed in every step.
  std::vector<std::optional<Successor>> ofArgument;
  /// Arguments that must have a successor which could not be found. Empty when
  /// everything is decided.
  std::vector<int64_t> undecided;
  /// Why, for the first line of a diagnostic; empty when all is decided.
  std::string reason;
};

/// Decides successors. In order:
///  1. what `stated` says;
///  2. names: all leaves below an argument's root have results of the same path
///     and type below one result group (`state['w']`, `result[0]['w']`), or the
///     argument's whole path is a result's (`w`, `result['w']`); only where one
///     group fits. A root without keys (`x` against `result[1]`) proves
///     nothing;
///  3. position: the donated arguments left over, in order, have exactly the
///     types of the leaves of some groups of results, in order, and there is
///     one such choice of groups.
/// An argument that is not donated, in a program that donates others, is not
/// taken for state by its name alone; it becomes undecided.
Succession decideSuccession(llvm::ArrayRef<ArgumentLeaf> arguments,
                            llvm::ArrayRef<ResultLeaf> results);

/// The key that groups results: the text after `result` (`[0]` gives `0`), or
/// `#<index>` for a result without a path.
std::string resultGroup(const ResultLeaf &result, int64_t index);

} // namespace tenon::importer

#endif // TENON_IMPORT_SUCCESSION_H
