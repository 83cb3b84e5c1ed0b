//===- PackingProblem.cpp - Temporaries as a packing problem -------------===//
//
// See PackingProblem.h.
//
//===----------------------------------------------------------------------===//

#include "PackingProblem.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

PackingProblem::PackingProblem(const BufferClasses &buffers) {
  auto add = [&](int64_t bytes, ArrayRef<Interval> intervals) {
    solver::OffsetPackingProblem::Buffer buffer;
    buffer.size = placedBytes(bytes);
    buffer.alignment = bufferAlignment;
    // An operation's results must not overlap what it reads, so a value takes
    // its place while the operation that writes it runs: from 2t on.
    for (const Interval &interval : intervals) {
      int64_t begin = std::max<int64_t>(0, interval.begin - 1);
      if (!buffer.windows.empty() && begin <= buffer.windows.back().end)
        buffer.windows.back().end =
            std::max(buffer.windows.back().end, interval.end);
      else
        buffer.windows.push_back({begin, interval.end});
    }
    problem.buffers.push_back(std::move(buffer));
  };
  for (BufferClasses::Id id : buffers.representatives()) {
    const BufferClass &buffer = buffers[id];
    if (buffer.segment != step::Segment::temporaries)
      continue;
    classes.push_back(id);
    add(buffer.bytes, buffer.intervals);
  }
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

solver::OffsetPackingOptions
memory::packingToCapacity(const PackingProblem &packing, bool quick) {
  return withVisits(packing, quick ? 200'000'000 : 600'000'000);
}
