//===- OverflowWatch.h - The f16 tensors of a run that overflow -----------===//
//
// Which tensors that a step stores in f16 were too large for it, in which step
// that was seen first, and how many elements there were in this run.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_OVERFLOWWATCH_H
#define TENON_TOOLS_TENON_OVERFLOWWATCH_H

#include "tenon/Runtime/Executor.h"

namespace tenon::tool {

class OverflowWatch {
public:
  /// Whether the step counts anything.
  bool hasCounters() const { return !counters.empty(); }

  /// Before the first step, behind `step` steps: what was counted in those is
  /// not this run's. False with `error` filled in if the device has failed, as
  /// for look().
  bool open(const runtime::Executor &executor, int64_t step,
            runtime::Error &error);
  /// Reads the counters after a step, by its number. `overflowed` gets the
  /// first tensor of the step with infinite elements that no earlier look saw;
  /// empty for none.
  bool look(const runtime::Executor &executor, int64_t step,
            std::string &overflowed, runtime::Error &error);
  /// A line per tensor that overflowed.
  void print() const;

private:
  struct Counter {
    size_t tensor = 0;     // that counts, by number in the index
    std::string name;      // of what is counted
    int64_t before = 0;    // counted before this run
    int64_t now = 0;       // by the last look
    int64_t lastClean = 0; // the last step after which there were none
    int64_t firstSeen = 0; // the first look that saw one; 0 for none
  };
  std::vector<Counter> counters;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_OVERFLOWWATCH_H
