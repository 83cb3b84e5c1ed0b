//===- RolesFile.h - A user's statement of roles and successors ----------===//
//
// The file given with --roles: a JSON object from an argument's name to its
// role and to the result that replaces it,
//   {"params.w": {"role": "parameter", "result": 3}, "arg7": {"role": "batch"}}
// Read by the inference of roles, which it overrules.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_ROLESFILE_H
#define TENON_IMPORT_ROLESFILE_H

#include "tenon/Dialect/Step/Step.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace tenon::importer {

/// What the file says about one argument.
struct RolesEntry {
  /// As written: a canonical name, a full path, or `arg<i>`.
  std::string argument;
  std::optional<step::Role> role;
  /// Index of the result of @main that becomes the argument in the next step.
  std::optional<int64_t> result;
};

/// Parses the text of a roles file. The error names the entry, what was found
/// and what is allowed there. Entries are in order of their names.
llvm::Expected<std::vector<RolesEntry>> parseRolesFile(llvm::StringRef text);

/// Reads and parses the file at `path`.
llvm::Expected<std::vector<RolesEntry>> readRolesFile(llvm::StringRef path);

} // namespace tenon::importer

#endif // TENON_IMPORT_ROLESFILE_H
