//===- PackingProblem.cpp - Temporaries as a packing problem -------------===//
//
// See PackingProblem.h.
//
//===----------------------------------------------------------------------===//

#include "PackingProblem.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// Widens times to whole runs.
class Widening {
public:
  Widening(const BufferClasses &buffers, ArrayRef<JointRun> runs) {
    for (const JointRun &run : runs)
      spans.push_back(
          {2 * buffers.timeOf(run.first), 2 * buffers.timeOf(run.last) + 1});
  }

  int64_t begin(int64_t time) const {
    const Span *span = spanAt(time);
    return span ? span->begin : time;
  }
  /// What ends before a time is over when it comes.
  int64_t end(int64_t time) const {
    const Span *span = spanAt(time - 1);
    return span ? span->end : time;
  }

private:
  struct Span {
    int64_t begin, end; // half-open
  };
  const Span *spanAt(int64_t time) const {
    const Span *behind =
        llvm::upper_bound(spans, time, [](int64_t t, const Span &span) {
          return t < span.begin;
        });
    if (behind == spans.begin() || time >= behind[-1].end)
      return nullptr;
    return behind - 1;
  }

  SmallVector<Span> spans; // in order, apart
};

} // namespace

PackingProblem::PackingProblem(const BufferClasses &buffers,
                               ArrayRef<JointRun> together,
                               step::Segment segment) {
  const Widening widening(buffers, together);
  auto add = [&](int64_t bytes, ArrayRef<Interval> intervals) {
    solver::OffsetPackingProblem::Buffer buffer;
    buffer.size = placedBytes(bytes);
    buffer.alignment = bufferAlignment;
    // An operation's results must not overlap what it reads, so a value takes
    // its place while the operation that writes it runs: from 2t on.
    for (const Interval &interval : intervals) {
      int64_t begin = widening.begin(std::max<int64_t>(0, interval.begin - 1));
      int64_t end = widening.end(interval.end);
      if (!buffer.windows.empty() && begin <= buffer.windows.back().end)
        buffer.windows.back().end = std::max(buffer.windows.back().end, end);
      else
        buffer.windows.push_back({begin, end});
    }
    problem.buffers.push_back(std::move(buffer));
  };
  for (BufferClasses::Id id : buffers.representatives()) {
    const BufferClass &buffer = buffers[id];
    if (buffer.segment != segment)
      continue;
    classes.push_back(id);
    add(buffer.bytes, buffer.intervals);
  }
  if (segment != step::Segment::temporaries)
    return;
  for (const ScratchBuffer &scratch : buffers.scratch())
    add(scratch.bytes, {scratch.interval});
}

/// Every node of the search looks at every buffer.
static solver::OffsetPackingOptions withVisits(const PackingProblem &packing,
                                               int64_t visits) {
  solver::OffsetPackingOptions options;
  options.nodes =
      visits / std::max<int64_t>(1, int64_t(packing.problem.buffers.size()));
  return options;
}

solver::OffsetPackingOptions
memory::quickPacking(const PackingProblem &packing) {
  return withVisits(packing, 20'000'000);
}

solver::OffsetPackingOptions memory::longPacking(const PackingProblem &packing,
                                                 int64_t arena, int64_t bound) {
  const double beyond = double(arena - bound);
  const double worth =
      std::min(1.0, std::max(10 * beyond / double(arena), beyond / 1e6));
  return withVisits(packing, int64_t(600e6 * worth));
}

solver::OffsetPackingOptions
memory::packingToCapacity(const PackingProblem &packing, bool quick) {
  return withVisits(packing, quick ? 200'000'000 : 600'000'000);
}
