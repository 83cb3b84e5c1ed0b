//===- StartedWork.h - What is under way during a capture -----------------===//
//
// Private to this folder. What is in another queue than 0 runs beside what
// follows until it is awaited: collectives in queue 1, and on GPUs copies to
// pinned memory of the host in queue 2 and copies back in queue 3. Before that
// nothing else touches what it writes or writes what it reads, and a block
// awaits what it has started. A file in which this is not so is damaged, on
// whatever device it runs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_STARTEDWORK_H
#define TENON_LIB_RUNTIME_STARTEDWORK_H

#include "Device.h"

#include <array>

namespace tenon::runtime {

class StartedWork {
public:
  enum Queue : uint32_t { main, collectives, toHost, fromHost };
  static constexpr size_t queueCount = 4;

  /// Of a step that is being captured from a file with these callees, both of
  /// which outlive this.
  StartedWork(const CapturedStep &step,
              const std::vector<format::Callee> &callees, bool copiesBeside)
      : step(step), callees(callees), copiesBeside(copiesBeside) {}

  /// Whether there is such a queue, for such a callee.
  bool checkQueue(uint32_t queue, format::CalleeKind kind, Error &error) const;
  /// Whether there is such a queue for anything.
  bool checkQueue(uint32_t queue, Error &error) const;

  /// Whether an operation that is given these pointers may run now.
  bool check(CapturedStep::Pointers pointers, Error &error) const;
  /// A callee runs from now on.
  void start(uint32_t queue, CapturedStep::Pointers pointers, uint32_t callee);
  /// Those that the block has started in a queue are done, but the last
  /// `pending`.
  void await(uint32_t queue, size_t pending);
  bool captureBlock(const Capture::Body &body, Error &error);
  /// Whether nothing is left when the program ends.
  bool areDone(Error &error) const;
  /// How many collectives were under way at once.
  size_t mostCollectives() const { return queues[collectives].most; }

private:
  struct Work {
    CapturedStep::Pointers pointers;
    uint32_t callee;
  };
  /// In the order of their start, of which the first `outer` were started
  /// around the block that is captured.
  struct UnderWay {
    std::vector<Work> list;
    size_t outer = 0, most = 0;
  };

  /// "a collective, all_reduce sum of 4 f32 by 2," or "a copy".
  std::string nameOf(const Work &work) const;

  const CapturedStep &step;
  const std::vector<format::Callee> &callees;
  const bool copiesBeside;
  std::array<UnderWay, queueCount> queues;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_STARTEDWORK_H
