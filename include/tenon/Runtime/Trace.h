//===- Trace.h - What the threads of a step did, and when -----------------===//
//
// A traced step runs as any other: threads wait for each other only where they
// must. Every thread notes when it began and ended its share of an operation,
// and when it waited for the others. On a GPU operations follow each other
// without graphs; a span is as long as the GPU's clock says, and begins where
// the one before ended.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_TRACE_H
#define TENON_RUNTIME_TRACE_H

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::runtime {

/// Something that a step runs.
struct TracedOperation {
  std::string name;     // of the kernel or call; empty for a mere wait
  std::string what;     // what it computes
  std::string source;   // where it comes from in the user's program, if known
  bool library = false; // a library call
};

/// What a thread did from `begin` to `end`, nanoseconds of the steady clock.
struct TracedSpan {
  uint32_t operation = 0; // index into StepTrace::operations
  uint32_t rank = 0, thread = 0;
  bool isWait = false; // for the other threads, behind its share
  /// Of the thread that carries out collectives beside the others.
  bool isCollective = false;
  int64_t begin = 0, end = 0;
};

struct StepTrace {
  std::vector<TracedOperation> operations;
  /// Those of a thread one after the other, in the order of time.
  std::vector<TracedSpan> spans;
  /// Of each rank's thread only so many are kept; how many more there were.
  uint64_t leftOut = 0;
  /// Whether a device ran them one after the other, and not threads.
  bool isOneByOne = false;
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_TRACE_H
