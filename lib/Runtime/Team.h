//===- Team.h - The threads that walk a program ---------------------------===//
//
// Private to this folder. A step runs in one parallel region: every thread
// walks the same program, and a barrier made of two counters separates
// instructions, which costs far less than starting a region for each. Regions
// are started through libgomp, which the packaged oneDNN uses too, so there is
// one pool of threads in the process.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_TEAM_H
#define TENON_LIB_RUNTIME_TEAM_H

#include <atomic>
#include <cstdint>

namespace tenon::runtime {

/// Threads wait here until all of them have come; what they wrote before is
/// visible after. Waiting spins first and then gives the processor away, so
/// that a machine with more threads than cores still makes progress.
class Barrier {
public:
  /// `threads` is the same in every call by threads that wait for each other.
  void wait(unsigned threads) {
    if (threads == 1)
      return;
    uint32_t before = generation.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
      arrived.store(0, std::memory_order_relaxed);
      generation.store(before + 1, std::memory_order_release);
      return;
    }
    waitForOthers(before);
  }

private:
  void waitForOthers(uint32_t before) const;

  // Apart, so that those who wait are not disturbed by those who arrive.
  alignas(64) std::atomic<uint32_t> arrived = 0;
  alignas(64) std::atomic<uint32_t> generation = 0;
};

/// What each thread of a team runs; `threads` is how many there really are,
/// which can be fewer than asked for.
using TeamWork = void (*)(void *context, unsigned thread, unsigned threads);

/// Runs `work` on `threads` threads, thread 0 being the caller, and returns
/// when all are done. Library calls made inside stay on the thread that makes
/// them.
void runTeam(unsigned threads, TeamWork work, void *context);

/// How many processors this process may use.
unsigned availableThreads();

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_TEAM_H
