//===- Skyline.h - range maximum with growing ranges ----------------------===//
//
// Of each section the highest occupied byte, as a segment tree: `raise` lifts a
// range of sections to a height, `top` returns the largest height in a range,
// both in logarithmic time. Heights only grow, so the heights given to whole
// subtrees stay where they are and never need to be pushed down. Used by the
// packing dive.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SKYLINE_H
#define TENON_LIB_SOLVER_SKYLINE_H

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace tenon::solver::packing {

class Skyline {
public:
  /// All heights are zero.
  explicit Skyline(int32_t numSections)
      : leaves(std::bit_ceil(static_cast<uint32_t>(std::max(numSections, 1)))),
        nodes(2 * leaves, {0, 0}) {}

  void reset() { std::fill(nodes.begin(), nodes.end(), Node{0, 0}); }

  /// The largest height in the sections [begin, end), which is not empty.
  int64_t top(int32_t begin, int32_t end) const {
    int64_t result = 0;
    uint32_t left = begin + leaves, right = end - 1 + leaves;
    // Whole subtrees inside the range ...
    uint32_t l = left, r = right + 1;
    for (; l < r; l >>= 1, r >>= 1) {
      if (l & 1)
        result = std::max(result, nodes[l++].highest);
      if (r & 1)
        result = std::max(result, nodes[--r].highest);
    }
    // ... and what was given to subtrees that contain part of it.
    for (uint32_t node = left; node != 0; node >>= 1)
      result = std::max(result, nodes[node].everywhere);
    for (uint32_t node = right; node != 0; node >>= 1)
      result = std::max(result, nodes[node].everywhere);
    return result;
  }

  /// Lifts the sections [begin, end), not empty, to at least `height`.
  void raise(int32_t begin, int32_t end, int64_t height) {
    uint32_t left = begin + leaves, right = end - 1 + leaves;
    uint32_t l = left, r = right + 1;
    for (; l < r; l >>= 1, r >>= 1) {
      if (l & 1)
        lift(l++, height);
      if (r & 1)
        lift(--r, height);
    }
    for (uint32_t node = left >> 1; node != 0; node >>= 1)
      nodes[node].highest = std::max(nodes[node].highest, height);
    for (uint32_t node = right >> 1; node != 0; node >>= 1)
      nodes[node].highest = std::max(nodes[node].highest, height);
  }

private:
  struct Node {
    int64_t highest;    ///< somewhere in the subtree
    int64_t everywhere; ///< at least, in the whole subtree
  };
  void lift(uint32_t node, int64_t height) {
    nodes[node].highest = std::max(nodes[node].highest, height);
    nodes[node].everywhere = std::max(nodes[node].everywhere, height);
  }

  uint32_t leaves;
  std::vector<Node> nodes;
};

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_SKYLINE_H
