//===- Team.h - The threads that walk a program ---------------------------===//
//
// Private to this folder. A step runs in one parallel region: every thread
// walks the same program, and a barrier made of two counters separates
// instructions, which costs far less than starting a region for each. Regions
// are started through libgomp, which the packaged oneDNN uses too, so there is
// one pool of threads in the process. A machine without libgomp can run
// programs without library calls: each region then starts threads of its own.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_TEAM_H
#define TENON_LIB_RUNTIME_TEAM_H

#include <atomic>
#include <cstdint>
#include <string>

namespace tenon::runtime {

/// Threads wait here until all of them have come; what they wrote before is
/// visible after. Waiting spins first and then gives the processor away, so
/// that a machine with more threads than cores still makes progress.
///
/// A thread that cannot go on says so with stop(), and all threads leave at the
/// same wait, so that none is left waiting for one that has gone. Who comes
/// last decides for all: a thread that looked for itself could see what a
/// faster one has said after this wait.
class Barrier {
public:
  /// Whether the threads go on. `threads` is the same in every call by threads
  /// that wait for each other, and so is what they get.
  bool wait(unsigned threads) {
    if (threads == 1)
      return !stopAsked.load(std::memory_order_relaxed);
    uint32_t before = generation.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
      arrived.store(0, std::memory_order_relaxed);
      isOpen = !stopAsked.load(std::memory_order_relaxed);
      generation.store(before + 1, std::memory_order_release);
      return isOpen;
    }
    waitForOthers(before);
    return isOpen;
  }

  /// Every thread's next wait tells it to leave.
  void stop() { stopAsked.store(true, std::memory_order_relaxed); }

private:
  void waitForOthers(uint32_t before) const;

  // Apart, so that those who wait are not disturbed by those who arrive.
  alignas(64) std::atomic<uint32_t> arrived = 0;
  std::atomic<bool> stopAsked = false;
  alignas(64) std::atomic<uint32_t> generation = 0;
  // Written by who comes last, before the others may go on, and not again
  // before all of them have come to the next wait.
  bool isOpen = true;
};

/// What each thread of a team runs; `threads` is how many there really are,
/// which can be fewer than asked for.
using TeamWork = void (*)(void *context, unsigned thread, unsigned threads);

/// Runs `work` on `threads` threads, thread 0 being the caller, and returns
/// when all are done. Library calls made inside stay on the thread that makes
/// them.
void runTeam(unsigned threads, TeamWork work, void *context);

/// Empty if the system gives this process a team of `threads`, otherwise why
/// not. libgomp ends the process where it cannot start one, so this is asked
/// when a program is loaded.
std::string whyNoTeam(unsigned threads);

/// How many processors this process may use.
unsigned availableThreads();

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_TEAM_H
