//===- StartedCollectives.h - What is under way during a capture ----------===//
//
// Private to this folder. Collectives in queue 1 run beside what follows until
// they are awaited. Before that nothing else touches what one of them writes or
// writes what it reads, and a block awaits what it has started. A file in which
// this is not so is damaged, on whatever device it runs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_STARTEDCOLLECTIVES_H
#define TENON_LIB_RUNTIME_STARTEDCOLLECTIVES_H

#include "Device.h"

namespace tenon::runtime {

class StartedCollectives {
public:
  /// Of a step that is being captured from a file with these callees, both of
  /// which outlive this.
  StartedCollectives(const CapturedStep &step,
                     const std::vector<format::Callee> &callees)
      : step(step), callees(callees) {}

  /// Whether there is such a queue, for a collective or for something else.
  static bool checkQueue(uint32_t queue, bool isForCollective, Error &error);

  /// Whether an operation that is given these pointers may run now.
  bool check(CapturedStep::Pointers pointers, Error &error) const;
  /// A collective runs from now on.
  void start(CapturedStep::Pointers pointers, uint32_t callee);
  /// Those that the block has started are done, but the last `pending`.
  void await(size_t pending);
  bool captureBlock(const Capture::Body &body, Error &error);
  /// Whether none is left when the program ends.
  bool areDone(Error &error) const;
  /// How many were under way at once.
  size_t most() const { return mostUnderWay; }

private:
  struct Collective {
    CapturedStep::Pointers pointers;
    uint32_t callee;
  };

  const CapturedStep &step;
  const std::vector<format::Callee> &callees;
  /// In the order of their start, of which the first `outerUnderWay` were
  /// started around the block that is captured.
  std::vector<Collective> underWay;
  size_t outerUnderWay = 0, mostUnderWay = 0;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_STARTEDCOLLECTIVES_H
