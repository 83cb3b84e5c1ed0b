//===- MemoryCheck.h - Every operation alone in poisoned memory -----------===//
//
// Private to this folder: watches a walk by one thread. The true contents of
// the segments are kept aside; the segments themselves hold poison. Before an
// operation the bytes it names are brought in, afterwards everything else must
// still be poison, what it may write is taken over, and its bytes are poisoned
// again. So a result of a checked step shows that no operation needs bytes it
// does not name, and the check that none writes any. The constants, which
// nobody can write, stay in place.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_MEMORYCHECK_H
#define TENON_LIB_RUNTIME_MEMORYCHECK_H

#include "Device.h"

namespace tenon::runtime {

class MemoryCheck final : public OperationObserver {
public:
  struct Breach {
    size_t operation = 0, segment = 0;
    uint64_t byte = 0; // of the segment, or behind its end
  };

  MemoryCheck(const CapturedStep &step,
              const std::vector<format::Segment> &segments,
              const std::vector<std::unique_ptr<DeviceMemory>> &memory);

  /// Forgets what no step keeps: temporaries and results.
  void beginStep();
  /// Puts the true contents back.
  void finish();
  /// The first byte that was written by an operation that does not name it.
  const std::optional<Breach> &breach() const { return found; }

  void begin(size_t operation) override;
  void end(size_t operation) override;

private:
  struct Segment {
    size_t index = 0;
    std::span<std::byte> pages;     // with what lies behind its end
    std::vector<std::byte> content; // the true bytes
    bool kept = false;              // from step to step
  };
  Segment *watched(const format::Slice &slice);
  template <typename Body>
  void forSlices(size_t operation, Body body);

  const CapturedStep &step;
  std::vector<Segment> segments;
  std::optional<Breach> found;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_MEMORYCHECK_H
