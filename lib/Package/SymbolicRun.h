//===- SymbolicRun.h - Runs a step on names of values --------------------===//
//
// Private to this folder: the part of checkPlan() that follows the program.
// Memory here says of each byte which value of the plan it belongs to.
//
//     memory          instruction              afterwards
//     [0, 64) a       reads a, writes b at 64  [0, 64) a  [64, 128) b
//     [0, 64) a ...   reads b, writes c at 0   [0, 64) c  [64, 128) b
//     [0, 64) c ...   reads a: false, c is there
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PACKAGE_SYMBOLICRUN_H
#define TENON_LIB_PACKAGE_SYMBOLICRUN_H

#include "tenon/Format/Index.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace tenon::package {

/// Which value each byte of the segments belongs to, if any.
class SymbolicMemory {
public:
  explicit SymbolicMemory(size_t segments) : ranges(segments) {}

  void set(const format::Slice &slice, int32_t value);
  /// Whether all bytes of the slice, and no more, are this value's.
  bool holds(const format::Slice &slice, int32_t value) const;
  /// Some value in the slice, or -1.
  int32_t anyIn(const format::Slice &slice) const;
  /// Forgets what the other does not know.
  void meet(const SymbolicMemory &other);

  bool operator==(const SymbolicMemory &) const = default;

private:
  struct Range {
    uint64_t end;
    int32_t value;

    bool operator==(const Range &) const = default;
  };
  /// Starts a range at `at` where one contains it.
  static void cut(std::map<uint64_t, Range> &segment, uint64_t at);

  std::vector<std::map<uint64_t, Range>> ranges; // by begin, per segment
};

class SymbolicRun {
public:
  /// The entry point has a plan.
  SymbolicRun(const format::Index &index, const format::EntryPoint &entry)
      : index(index), entry(entry), plan(*entry.plan),
        memory(index.segments.size()) {}

  /// Empty, or the first claim that is false.
  std::string run();
  size_t instructions() const { return plan.operations.size(); }
  /// How many stored tensors it takes or gives a value.
  size_t tensors() const;

private:
  using Arguments = std::vector<format::Slice>;

  void begin();
  void finish();
  /// Runs a block whose first instruction has number `first`; returns the
  /// number behind its last.
  size_t runBlock(const format::Block &block, size_t first);
  size_t runLoop(const format::Instruction &loop, size_t number);
  size_t runBranches(const format::Instruction &branches, size_t number);
  void touch(size_t number, const Arguments &arguments, uint32_t queue);
  bool hasQueue(uint32_t queue) const;
  void checkQueue(size_t number, const format::Instruction &invoke);
  void checkUnderWay(size_t number, const Arguments &arguments);
  void await(size_t number, uint32_t queue, size_t pending);
  void checkCallee(size_t number, const format::Callee &callee);
  void read(size_t number, const format::Slice &slice, int32_t value,
            int64_t moment);
  void handOver(const format::Handovers &handovers, const std::string &where);
  void handOver(size_t number, size_t region);
  void checkMoment(size_t number, int32_t value, int64_t moment);
  format::Slice sliceOf(int32_t value) const;
  bool isIn(const format::Slice &slice, int32_t value) const;
  std::string nameOf(int32_t value) const;
  std::string nameOfStorage(uint32_t storage) const;
  std::string whereIs(size_t number) const;
  void fail(const std::string &claim) {
    if (error.empty())
      error = claim;
  }

  const format::Index &index;
  const format::EntryPoint &entry;
  const format::Plan &plan;
  struct UnderWay {
    size_t number = 0;
    const Arguments *arguments = nullptr;
  };
  /// What runs beside the instructions behind it until it is awaited, in the
  /// order of its start. The first `outer` are of enclosing blocks.
  struct Queue {
    std::vector<UnderWay> underWay;
    size_t outer = 0;
  };

  static constexpr uint32_t collectiveQueue = 1, queueToHost = 2,
                            queueFromHost = 3;
  SymbolicMemory memory;
  std::array<Queue, 4> queues; // nothing is under way in the first
  std::string error;
};

} // namespace tenon::package

#endif // TENON_LIB_PACKAGE_SYMBOLICRUN_H
