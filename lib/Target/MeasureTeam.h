//===- MeasureTeam.h - Threads that start together ------------------------===//
//
// Private to this folder. A figure for all cores is only true if all of them
// work at the same time, so the threads of a measurement live as long as it
// does and start every window from a spinning barrier.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_TARGET_MEASURETEAM_H
#define TENON_LIB_TARGET_MEASURETEAM_H

#include <atomic>
#include <cstdint>
#include <functional>

namespace tenon::target {

/// All of `threads` threads wait until the last has come.
class SpinBarrier {
public:
  explicit SpinBarrier(unsigned threads) : threads(threads) {}
  void wait();

private:
  unsigned threads;
  alignas(64) std::atomic<uint32_t> arrived = 0;
  alignas(64) std::atomic<uint32_t> generation = 0;
};

/// Runs work(thread) on `threads` new threads, each on a processor of its own
/// if there are as many, and returns when all are done.
void onThreads(unsigned threads, const std::function<void(unsigned)> &work);

/// The shortest time in seconds that window(thread) took on all of `threads`
/// threads together, over windows started for `seconds` seconds (at least
/// five). setUp(thread) runs first, once.
double shortestWindow(unsigned threads, double seconds,
                      const std::function<void(unsigned)> &setUp,
                      const std::function<void(unsigned)> &window);

/// Seconds on a clock that only goes forward.
double now();

} // namespace tenon::target

#endif // TENON_LIB_TARGET_MEASURETEAM_H
