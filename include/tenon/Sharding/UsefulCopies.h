//===- UsefulCopies.h - The copies of a value that can be worth it --------===//
//
// A value that lies in one layout may be held in a second one, too, so that its
// readers need not move it each for itself. Most of the copies that there could
// be are never part of a cheapest plan, and every one that is left out makes
// the problem smaller. Which can be left out follows from numbers of the value
// and of its readers alone.
//
// A way to hold the value costs `own` (making the copy) and, per reader, what
// that reader's way to be cut takes to read it. Readers decide by themselves,
// so a way is not needed if for everything that they can decide together
// another way that is kept costs no more and takes no more bytes. A plan with a
// way that is not needed becomes no dearer with the other one, since nothing
// else of the plan depends on the copy. So the least cost of a plan stays as it
// is, and so do the plans within any limit of bytes.
//
// Example: two readers, each of which wants the value whole or in its parts. A
// gathered copy takes 10 to make and saves 10 for each reader that wants it
// whole, so it is needed where both do. With one reader, or if gathering took
// 20 at once, it would not be.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_USEFULCOPIES_H
#define TENON_SHARDING_USEFULCOPIES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::sharding {

/// Ways to hold a value in one layout; the first is the one without a copy.
struct WaysToHold {
  /// Per way.
  std::vector<int64_t> own;
  std::vector<int64_t> bytes;
  /// Per reader, per way to cut it, per way to hold the value.
  std::vector<std::vector<std::vector<int64_t>>> reading;
};

/// Numbers of the ways that are needed, in their order.
std::vector<size_t> neededWays(const WaysToHold &ways);

} // namespace tenon::sharding

#endif // TENON_SHARDING_USEFULCOPIES_H
