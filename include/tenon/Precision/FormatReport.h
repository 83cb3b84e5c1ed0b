//===- FormatReport.h - What was decided about formats --------------------===//
//
// A line per value that lies in memory: its format, and why it has that.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_FORMATREPORT_H
#define TENON_PRECISION_FORMATREPORT_H

#include "tenon/Precision/NarrowFormat.h"
#include "tenon/Solver/FormatChoice.h"

#include "mlir/IR/Location.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenon::precision {

/// Formats that are not in question any more: whether a line of the report is
/// narrow, by its number.
using SettledFormats = std::map<size_t, bool>;

struct FormatReport {
  struct Line {
    llvm::StringRef operation; // its name, or "argument"
    mlir::Location where;
    bool isProduct = false;
    bool isNarrow = false;
    int64_t bytes = 0; // as stored; of a product 0
    std::string why;   // the rule, the policy or the choice
    /// Whether it is a value of the forward pass in f16 that nothing keeps
    /// below the largest number of f16.
    bool mayOverflow = false;

    /// The operation or the argument, and its place. Printing places takes so
    /// long that it is not done for choices that nobody reads of.
    std::string what() const;
  };
  /// Whether something is narrow because the policy permits it.
  bool isWished = false;
  NarrowFormat format = NarrowFormat::bf16; // of what is narrow
  std::vector<Line> lines;
  int64_t narrowValues = 0, wideValues = 0, mayOverflow = 0;
  int64_t narrowProducts = 0, wideProducts = 0;
  /// Seconds of the step as it is, and as it was chosen, by the model.
  double wideSeconds = 0, chosenSeconds = 0;
  solver::FormatProblem problem;
  solver::FormatSolution solution;
};

} // namespace tenon::precision

#endif // TENON_PRECISION_FORMATREPORT_H
