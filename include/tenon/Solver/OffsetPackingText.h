//===- OffsetPackingText.h - packing problems and plans as text -----------===//
//
// The CSV form of problems and plans and the form of claims, as
// docs/SolverForms.md describes them. A bug report about a plan is such a file.
// Readers name the line of what they refuse.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_OFFSETPACKINGTEXT_H
#define TENON_SOLVER_OFFSETPACKINGTEXT_H

#include "tenon/Solver/OffsetPacking.h"

#include <string_view>
#include <vector>

namespace tenon::solver {

/// Why a text was refused: "line 3: size '12x' is not an integer".
struct TextError {
  int64_t line = 0;
  std::string message;
  std::string text() const {
    return "line " + std::to_string(line) + ": " + message;
  }
};

/// A problem and what of its text a plan repeats. The views point into the text
/// that was read.
struct OffsetPackingFile {
  OffsetPackingProblem problem;
  std::string_view header;
  /// One per buffer, in the problem's order.
  std::vector<std::string_view> lines;
  /// The column that a plan rewrites, if the problem has it.
  std::optional<size_t> offsetColumn;

  std::string_view id(size_t buffer) const;
};

/// Reads a problem; with `asPlan`, the column `offset` must be there and goes
/// to `offsets` instead of fixing the buffers.
std::optional<TextError> readOffsetPacking(std::string_view text,
                                           OffsetPackingFile &file, bool asPlan,
                                           std::vector<int64_t> *offsets);

/// The problem's columns and one more, `offset`.
std::string writeOffsetPlan(const OffsetPackingFile &file,
                            const std::vector<int64_t> &offsets);

/// What a claims file says besides the offsets.
struct OffsetPackingClaims {
  std::optional<int64_t> capacity;
  int64_t arena = 0;
  OffsetPackingCertificate certificate;
};

std::string writeOffsetClaims(const OffsetPackingClaims &claims);
std::optional<TextError> readOffsetClaims(std::string_view text,
                                          OffsetPackingClaims &claims);

} // namespace tenon::solver

#endif // TENON_SOLVER_OFFSETPACKINGTEXT_H
