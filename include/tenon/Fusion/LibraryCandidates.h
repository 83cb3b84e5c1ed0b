//===- LibraryCandidates.h - Dots and convolutions as library calls ------===//
//
// Describes a `dot_general` or a `convolution`, with the transposes around it,
// as a call a library may run. The description reads operands through strides,
// so the transposes cost nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_LIBRARYCANDIDATES_H
#define TENON_FUSION_LIBRARYCANDIDATES_H

#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace tenon::fusion {

struct LibraryCandidate {
  libraries::Description description;
  /// Operations the call replaces, in program order; the dot or convolution is
  /// among them, the last one's result is the call's result.
  llvm::SmallVector<mlir::Operation *> operations;
  /// Values the call reads, in the order of the library's operands.
  llvm::SmallVector<mlir::Value> operands;
};

/// What a call does beside a dot.
struct DotSurroundings {
  /// It computes the transpose that alone reads the dot.
  bool transpose = false;
  /// It reads operands of 16 bits that conversions widen for the dot, and
  /// rounds the result if a conversion to 16 bits alone reads that.
  bool conversions = false;
};

/// The call that computes `op` and, of its surroundings, what is asked for:
/// conversions as far as there are some. Nothing, with the reason, if it has no
/// description.
std::optional<LibraryCandidate> describeDot(mlir::Operation *op,
                                            DotSurroundings surroundings,
                                            std::string &whyNot);
std::optional<LibraryCandidate> describeConvolution(mlir::Operation *op,
                                                    std::string &whyNot);

} // namespace tenon::fusion

#endif // TENON_FUSION_LIBRARYCANDIDATES_H
