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

#include "KernelLibrary.h"
#include "Team.h"

#include "tenon/Libraries/Call.h"
#include "tenon/Runtime/Executor.h"

#include <memory>
#include <span>
#include <vector>

namespace tenon::runtime {

struct Operation {
  enum Kind : uint8_t {
    launch,
    libraryCall,
    copy,
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
    uint32_t call;           // libraryCall: index into calls
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

/// The first library call that failed in a walk, whichever thread ran it.
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

/// Sees a walk from thread 0, between barriers.
class OperationObserver {
public:
  virtual ~OperationObserver() = default;
  virtual void begin(size_t operation) = 0;
  virtual void end(size_t operation) = 0;
};

class Program {
public:
  /// `kernels` and `calls` have an entry per callee of the index, null for
  /// those of another kind. False with `error` filled in if the program and its
  /// calls do not fit together.
  bool build(const format::Index &index, const format::EntryPoint &entry,
             std::span<const KernelFunction> kernels,
             std::span<const std::unique_ptr<libraries::Call>> calls,
             Error &error);

  /// The place in a segment of every pointer.
  const std::vector<format::Slice> &slices() const { return places; }
  /// Whether an operation may write through the pointer.
  bool isWritten(size_t slot) const { return written[slot]; }
  void setPointer(size_t slot, void *address) { pointers[slot] = address; }
  /// Hands changed pointers to the library calls; `operations` names them.
  void rebindCalls(std::span<const uint32_t> operations);
  void rebindAllCalls();
  /// The library call that uses pointer `slot`, or nothing.
  std::optional<uint32_t> callUsing(size_t slot) const;

  const std::vector<Operation> &operations() const { return list; }
  const std::string &name() const { return entryName; }

  /// How many threads have work in the widest operation: a program of small
  /// operations alone needs no team.
  unsigned widestOperation() const;

  /// What one thread of a team does: the whole walk, its share of the work. All
  /// threads of the team call it. After a library call has failed they all
  /// leave at the next barrier, which one follows at the latest at the end:
  /// `failure` has it, and every thread gets false. With an observer, which may
  /// be null, every operation waits for all threads.
  bool walk(unsigned thread, unsigned threads, Barrier &barrier,
            CallFailure &failure, OperationObserver *observer) const;

private:
  class Builder;

  template <bool observed>
  bool walkOperations(unsigned thread, unsigned threads, Barrier &barrier,
                      CallFailure &failure, OperationObserver *observer) const;
  bool runCall(size_t operation, unsigned thread, unsigned threads,
               Barrier &barrier, CallFailure &failure) const;

  std::string entryName;
  std::vector<Operation> list;
  std::vector<uint32_t> targets;
  std::vector<void *> pointers;
  std::vector<format::Slice> places;
  std::vector<bool> written; // per pointer
  std::vector<CallSite> sites;
  std::vector<uint32_t> siteOfSlot; // operation + 1, 0 for none
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_PROGRAM_H
