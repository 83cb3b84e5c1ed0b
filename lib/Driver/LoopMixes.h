//===- LoopMixes.h - Different choices for the pairs of a step ------------===//
//
// A step is grouped with the same choice for all its pairs of loops, a few
// times. What each pair then stacks and how long its loops take is the table of
// the pair, and what all pairs stack and take under different choices is the
// sum of rows, so that only mixtures worth a look have to be grouped:
//
//                  stacks less  takes longer      pair 0   pair 1   less longer
//     pair 0, deep    8 MiB        5 ms            deep     flat      8      5
//     pair 1, deep    3 MiB        1 ms            flat     deep      3      1
//                                                  deep     deep     11      6
//
// The sums forget what is beside the loops: they say what to try, not what is.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_LOOPMIXES_H
#define TENON_LIB_DRIVER_LOOPMIXES_H

#include "tenon/Fusion/Passes.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace tenon::driver {

/// Of loops under one choice, or against another one.
struct LoopFigures {
  int64_t savedBytes = 0;  // that are not stacked
  int64_t nanoseconds = 0; // of all rounds

  LoopFigures &operator+=(const LoopFigures &other) {
    savedBytes += other.savedBytes;
    nanoseconds += other.nanoseconds;
    return *this;
  }
  LoopFigures operator-(const LoopFigures &other) const {
    return {savedBytes - other.savedBytes, nanoseconds - other.nanoseconds};
  }
};

/// A row of the table of each pair: what one choice for all pairs makes of it.
struct LoopRows {
  fusion::LoopChoice choice;
  std::vector<LoopFigures> rows; // by pair

  LoopFigures sum() const {
    LoopFigures all;
    for (const LoopFigures &row : rows)
      all += row;
    return all;
  }
};

/// `grouped` carries times; no rows if it has no pairs.
LoopRows loopRowsOf(mlir::ModuleOp grouped, fusion::LoopChoice choice);

struct LoopMix {
  std::vector<fusion::LoopChoice> choices; // by pair
  LoopFigures predicted;                   // against the first choice for all
};

/// Mixtures of different choices that no other choices beat in both bytes and
/// time, by rising savings; none for fewer than two pairs.
std::vector<LoopMix> mixesOf(llvm::ArrayRef<LoopRows> tables);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_LOOPMIXES_H
