//===- GraphNodes.h - What the nodes of a CUDA graph are ------------------===//
//
// Kernels that have nothing to do with each other are one node. A loop whose
// trip count is known can be written out in a graph, round after round, so that
// nothing happens between its rounds. That is done as long as the step stays
// small. The runtime decides by this rule, and the compiler reports by it what
// the runtime will do.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_GRAPHNODES_H
#define TENON_TARGET_GRAPHNODES_H

#include <cstdint>

namespace tenon::target {

/// One launch that does several runs of kernels is given at most so many
/// addresses. A GPU takes 512 (4,096 bytes before CUDA 12.1); but each thread
/// picks those of its run, which takes registers and the compiler's time.
inline constexpr unsigned mostJointAddresses = 480;

/// The copies of a library call's arguments to the host and back, and the call.
constexpr int64_t nodesOfHostCall(int64_t arguments) { return arguments + 1; }

/// The nodes of a step's graphs, counted in the order of the program.
class GraphNodes {
public:
  /// No loop is repeated beyond so many nodes in a step: making a node ready
  /// takes time and memory, and what a long loop saves between its rounds is
  /// little beside the rounds.
  static constexpr int64_t most = 4096;

  void add(int64_t nodes = 1) { count += nodes; }
  /// Whether a loop is repeated, and then counts its rounds. Its body is one
  /// graph of `inBody` nodes that have been counted once.
  bool repeats(int64_t inBody, int64_t trips) {
    if (inBody > 0 && trips > 1) {
      if (trips - 1 > (most - count) / inBody)
        return false;
      count += (trips - 1) * inBody;
    }
    return true;
  }

private:
  int64_t count = 0;
};

} // namespace tenon::target

#endif // TENON_TARGET_GRAPHNODES_H
