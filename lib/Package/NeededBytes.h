//===- NeededBytes.h - What a program needs at its fullest moment --------===//
//
// Private to this folder. A bound on the temporaries is the bytes that are
// needed at one moment. The lifetimes in a file only say where a value may be
// touched; what is needed follows from the instructions alone: from a value's
// write to its last read. Walking backwards,
//
//     instruction          needed before it    at it
//     reads a, writes b    a, c                a, b, c
//     reads b, c           b, c                b, c
//
// Instructions of one time (the copies with which a loop begins) are one
// moment, and what a loop reads from before it, its predicate too, is needed
// until it ends.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PACKAGE_NEEDEDBYTES_H
#define TENON_LIB_PACKAGE_NEEDEDBYTES_H

#include "ProgramOrder.h"

#include <algorithm>
#include <set>

namespace tenon::package {

/// Bytes that a place for so many takes: lines of 64, at least one.
inline int64_t placedBytes(uint64_t bytes) {
  return bytes ? int64_t((bytes + 63) / 64 * 64) : 64;
}

/// The bytes of the temporaries that an entry point uses: all, unless another
/// one does. Of entry points without a plan, all.
inline int64_t arenaOf(const format::Index &index, uint32_t temporaries,
                       const format::EntryPoint &entry) {
  auto endOf = [&](const format::EntryPoint &which) {
    int64_t end = 0;
    if (which.plan)
      for (const format::Slice &buffer : which.plan->buffers)
        if (buffer.segment == temporaries)
          end =
              std::max(end, int64_t(buffer.offset) + placedBytes(buffer.bytes));
    return end;
  };
  auto all = int64_t(index.segments[temporaries].bytes);
  if (!entry.plan)
    return all;
  for (const format::EntryPoint &other : index.entryPoints)
    if (&other != &entry && endOf(other) >= all)
      return endOf(entry);
  return all;
}

class NeededBytes {
public:
  /// The index has a plan, which SymbolicRun has found true of the program.
  NeededBytes(const format::Index &index, const ProgramOrder &program);

  /// The most bytes of temporaries that these instructions, which follow each
  /// other in one block, need at a moment, if the values `after` are needed
  /// when they have run. What only the values `without` take does not count.
  int64_t most(const ProgramOrder::Numbers &instructions,
               const std::set<int32_t> &after,
               const std::set<int32_t> &without = {});

private:
  /// What is needed at a moment while the walk goes backwards.
  struct Needed {
    // `now`: written, not before; `never`: does not count.
    enum State : char { no, before, now, never };
    std::vector<char> states;   // of values
    std::vector<int32_t> users; // of buffers: values that take it
    std::vector<int32_t> written;
    int64_t bytes = 0, time = -1;
  };
  void add(Needed &needed, int32_t value) const;
  void remove(Needed &needed, int32_t value) const;
  void unite(Needed &into, const Needed &from) const;
  void goTo(Needed &needed, int64_t time) const;
  void note(const Needed &needed) { fullest = std::max(fullest, needed.bytes); }
  void walk(const ProgramOrder::Numbers &numbers, Needed &needed);
  void walkLoop(size_t number, Needed &needed);
  void walkBranches(size_t number, Needed &needed);
  void handOver(const format::Handovers &handovers, Needed &needed) const;
  void handOver(size_t number, size_t block, Needed &needed) const;

  const format::Plan &plan;
  const ProgramOrder &program;
  std::vector<int64_t> bufferBytes; // of temporaries; 0 for others
  int64_t fullest = 0;
};

} // namespace tenon::package

#endif // TENON_LIB_PACKAGE_NEEDEDBYTES_H
