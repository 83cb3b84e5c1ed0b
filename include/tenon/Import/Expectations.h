//===- Expectations.h - What a program expects, beside it -----------------===//
//
// What `import-separate-expectations` took out of a self-checking program, for
// whoever runs it compiled.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_EXPECTATIONS_H
#define TENON_IMPORT_EXPECTATIONS_H

#include "tenon/Dialect/Check/Check.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tenon::importer {

/// Two results of @main and how close they have to be; see check::Expectation.
struct SeparatedExpectation {
  int64_t found = 0, expected = 0; // indices of results
  check::Closeness closeness = check::Closeness::equal;
  double tolerance = 0;
  uint64_t maxUnits = 0, minUnits = 0;
  std::string location; // file:line:column, empty if unknown
};

/// Reads what the pass left on the module, and removes it.
std::vector<SeparatedExpectation> takeExpectations(mlir::ModuleOp module);

} // namespace tenon::importer

#endif // TENON_IMPORT_EXPECTATIONS_H
