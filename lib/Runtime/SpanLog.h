//===- SpanLog.h - What one thread did in a traced step -------------------===//
//
// Private to this folder. A thread writes its spans where nobody else writes,
// into memory that was taken before the step.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_SPANLOG_H
#define TENON_LIB_RUNTIME_SPANLOG_H

#include "tenon/Runtime/Trace.h"

#include <chrono>
#include <new>

namespace tenon::runtime {

class alignas(64) SpanLog {
public:
  explicit SpanLog(uint32_t thread, bool isCollective = false)
      : thread(thread), isCollective(isCollective) {
    // Of this only what is written takes memory of the machine.
    try {
      spans.reserve(most);
    } catch (const std::bad_alloc &) {
      // Then all spans are left out, which the trace says.
    }
  }

  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void add(size_t operation, bool isWait, int64_t begin) {
    add(operation, isWait, begin, now());
  }
  void add(size_t operation, bool isWait, int64_t begin, int64_t end) {
    if (spans.size() == spans.capacity())
      ++leftOut;
    else
      spans.push_back({.operation = uint32_t(operation),
                       .rank = 0,
                       .thread = thread,
                       .isWait = isWait,
                       .isCollective = isCollective,
                       .begin = begin,
                       .end = end});
  }
  /// Appends what was noted to the trace.
  void addTo(StepTrace &trace) const {
    trace.spans.insert(trace.spans.end(), spans.begin(), spans.end());
    trace.leftOut += leftOut;
  }

private:
  static constexpr size_t most = size_t(1) << 18;

  uint32_t thread;
  bool isCollective;
  std::vector<TracedSpan> spans;
  uint64_t leftOut = 0;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_SPANLOG_H
