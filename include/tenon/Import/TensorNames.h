//===- TensorNames.h - Canonical names of arguments and results ----------===//
//
// One name per tensor of a step's signature, from the paths an exporter left
// and the decided succession. The rules are those of docs/Forms.md; the
// inference of roles writes what is computed here into attributes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_TENSORNAMES_H
#define TENON_IMPORT_TENSORNAMES_H

#include "tenon/Import/Succession.h"

#include <string>
#include <vector>

namespace tenon::importer {

struct TensorNames {
  std::vector<std::string> ofArgument; // unique among arguments
  std::vector<std::string> ofResult;   // unique among results
};

/// Names a signature. A state argument and its successor share one name: the
/// result's path without `result` and without the index that follows, keys
/// joined by `.`; where the result has no path, the argument's. Other arguments
/// take their path without its first key, whole if it has only one, else
/// `arg<i>`; other results their path like state. Where names would be empty or
/// equal, all of them keep the index or first key. A result that is no state
/// and has no key but positions in its path is `loss` if it is the only
/// floating scalar among those that are no state and nothing else has that
/// name, otherwise `result<i>`.
TensorNames nameTensors(llvm::ArrayRef<ArgumentLeaf> arguments,
                        llvm::ArrayRef<ResultLeaf> results,
                        const Succession &succession);

} // namespace tenon::importer

#endif // TENON_IMPORT_TENSORNAMES_H
