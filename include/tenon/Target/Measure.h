//===- Measure.h - The rates of the machine at hand -----------------------===//
//
// Fills a Target with what this machine reaches: register multiply-add loops
// for every type, copies and reads that do not fit a cache, the cost of meeting
// at a barrier. Each figure is the best of many short windows, because other
// work on the machine only ever makes a window slower. Runs on threads of its
// own, as many as asked for.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_MEASURE_H
#define TENON_TARGET_MEASURE_H

#include "tenon/Target/Target.h"

namespace tenon::target {

struct MeasureOptions {
  /// How many threads stand for all cores; 0 for as many processors as the
  /// process may use.
  unsigned threads = 0;
  /// Seconds spent on each figure, of which there are about a dozen.
  double secondsPerFigure = 1.0;
  /// Of each of the two buffers that memory is measured with; 0 for as many as
  /// no cache holds, which is what the figures are for.
  int64_t bufferBytes = 0;
};

/// How many processors this process may use.
unsigned availableProcessors();

/// Caches of this machine as it reports them; 0 for those it does not.
Caches hostCaches();

/// Nothing with `error` filled in on a processor below x86-64-v3, or without
/// memory for buffers of several times the last-level cache.
std::optional<Target> measureTarget(const MeasureOptions &options,
                                    std::string &error);

} // namespace tenon::target

#endif // TENON_TARGET_MEASURE_H
