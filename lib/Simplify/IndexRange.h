//===- IndexRange.h - Bounds of integer values ----------------------------===//
//
// Smallest and largest element that an integer tensor can hold, as far as its
// definition shows: constants, counting, loop counters and arithmetic on them.
// Exporters guard every index against being negative; where the range says that
// it is not, the guard goes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SIMPLIFY_INDEXRANGE_H
#define TENON_LIB_SIMPLIFY_INDEXRANGE_H

#include "mlir/IR/Value.h"
#include <cstdint>
#include <optional>

namespace tenon::simplify {

/// Both bounds included.
struct IndexRange {
  int64_t low = 0;
  int64_t high = 0;

  bool isPoint() const { return low == high; }
};

/// The range of every element of `value`; nothing if it has no integer elements
/// or nothing is known. A signed type is read as signed.
std::optional<IndexRange> indexRange(mlir::Value value);

/// The truth of a comparison, and of logic on comparisons, where ranges decide
/// it for every element.
std::optional<bool> decidedTruth(mlir::Value predicate);

} // namespace tenon::simplify

#endif // TENON_LIB_SIMPLIFY_INDEXRANGE_H
