//===- Program.h - An entry point, flattened and resolved ----------------===//
//
// Private to this folder. The blocks of an entry point become one array of
// operations with jumps, and every slice an address in one array of pointers.
// Walking it needs nothing else.
//
//   While(p, C, B)    L: C; unless p goto E; B; goto L; E:
//   Case(s, B0, B1)   select s -> T0, T1; T0: B0; goto E; T1: B1; E:
//
// Threads wait for each other only where they must: a barrier stands in front
// of an operation that writes what an earlier one since the last barrier uses,
// or uses what it writes, unless thread 0 runs both alone (PlaceBarriers.h).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_PROGRAM_H
#define TENON_LIB_RUNTIME_PROGRAM_H

#include "CollectiveQueue.h"
#include "CpuDevice.h"
#include "Team.h"

namespace tenon::runtime {

struct Operation {
  enum Kind : uint8_t {
    launch,
    libraryCall,
    copy,
    collective,   // by thread 0
    start,        // of a collective, in the queue of collectives, by thread 0
    await,        // by thread 0, until all but the last `target` started are
                  // done
    branchUnless, // to `target` if the byte at the first pointer is 0
    jump,         // to `target`
    select,       // to targets[target + selector]
    wait,
  };
  Kind kind = launch;
  bool barrierAfter = true;
  uint32_t firstPointer = 0, pointerCount = 0;
  uint32_t target = 0;
  uint32_t parts = 1; // of a launch or a copy; the branches of a select
  union {
    KernelFunction function; // launch
    uint32_t call;           // libraryCall: index into calls; collective and
                             // start: into the callees
    uint64_t bytes;          // copy, and the size of a selector
  };
  uint32_t callee = 0; // index into format::Index::callees

  Operation() : bytes(0) {}
};

/// A bound call and how its work is laid out.
struct CallSite {
  std::unique_ptr<libraries::BoundCall> bound;
  std::vector<int64_t> tasks; // per phase
  bool serial = false;        // one task in every phase
};

/// The first library call or collective that failed in a walk, whichever thread
/// ran it.
class CallFailure {
public:
  void report(size_t failed, int said) {
    if (isReported.exchange(true, std::memory_order_relaxed))
      return;
    operation = failed;
    status = said;
  }

  // For when all threads have left the walk.
  size_t operation = 0;
  int status = 0; // the library's, 0 if none failed

private:
  std::atomic<bool> isReported = false;
};

class Program final : public CapturedStep {
public:
  /// The callees outlive the program.
  Program(const CpuCallees &callees, Subnormals subnormals)
      : callees(callees), subnormals(subnormals) {}

  std::pair<size_t, size_t> slotsOf(size_t operation) const override {
    return {list[operation].firstPointer, list[operation].pointerCount};
  }
  size_t operationCount() const override { return list.size(); }
  InstructionTime describe(size_t operation) const override;
  void setPointer(size_t slot, void *address) override;
  /// Hands changed pointers to the library calls.
  bool update(Error &) override;
  RunOutcome run(int64_t steps, unsigned threads,
                 OperationObserver *observer) override;
  RunOutcome trace(unsigned threads, StepTrace &trace) override;

  const std::vector<Operation> &operations() const { return list; }

  /// How many threads have work in the widest operation: a program of small
  /// operations alone needs no team.
  unsigned widestOperation() const;

private:
  friend class ProgramBuilder;
  struct Run;

  static void walkSteps(void *run, unsigned thread, unsigned threads);
  RunOutcome runTeamOn(Run &work, unsigned threads) const;
  /// What one thread of a team does: the whole walk, its share of the work. All
  /// threads of the team call it. After a library call has failed they all
  /// leave at the next barrier, which one follows at the latest at the end:
  /// `failure` has it, and every thread gets false. Watcher is one of those in
  /// Program.cpp.
  template <typename Watcher>
  bool walk(unsigned thread, unsigned threads, Barrier &barrier,
            CallFailure &failure, Watcher watcher) const;
  template <typename Watcher>
  bool runCollective(size_t operation, CallFailure &failure,
                     Watcher watcher) const;
  template <typename Watcher>
  bool runCall(size_t operation, unsigned thread, unsigned threads,
               Barrier &barrier, CallFailure &failure, Watcher watcher) const;

  const CpuCallees &callees;
  Subnormals subnormals;
  std::vector<Operation> list;
  std::vector<uint32_t> targets;
  std::vector<void *> pointers;
  std::vector<CallSite> sites;
  std::vector<uint32_t> siteOfSlot; // operation + 1, 0 for none
  std::vector<uint32_t> toRebind;   // operations with changed pointers
  /// Null if nothing runs beside the walk.
  std::unique_ptr<CollectiveQueue> queue;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_PROGRAM_H
