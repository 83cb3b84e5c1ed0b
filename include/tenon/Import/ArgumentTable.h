//===- ArgumentTable.h - The signature of a step, for people --------------===//
//
// What import found out about every argument of @main, as a table for
// `tenon inspect` and as rows for programs. Reads the attributes of step form.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_ARGUMENTTABLE_H
#define TENON_IMPORT_ARGUMENTTABLE_H

#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace tenon::importer {

struct ArgumentRow {
  int64_t index = 0;
  std::string name;
  std::vector<std::string> otherNames;
  step::Role role = step::Role::unknown;
  std::string reason;
  /// As in program text without `tensor<>`: `784x512xf32`.
  std::string type;
  /// Row-major bytes, a boolean taking one; 0 where elements have no width.
  int64_t bytes = 0;
  /// The result that becomes this argument; only state has one.
  std::optional<int64_t> successor;
  /// The result an exporter paired the buffer with, or -1 for a donated buffer
  /// without such a result.
  std::optional<int64_t> donatedTo;
};

/// One row per argument of `main`, which must be in step form.
std::vector<ArgumentRow> argumentTable(mlir::func::FuncOp main);

/// Prints the rows in aligned columns, with a line of totals per role.
void printArgumentTable(llvm::ArrayRef<ArgumentRow> rows,
                        llvm::raw_ostream &out);

/// The rows as an array of objects with the members' names as keys.
llvm::json::Value argumentTableJSON(llvm::ArrayRef<ArgumentRow> rows);

} // namespace tenon::importer

#endif // TENON_IMPORT_ARGUMENTTABLE_H
