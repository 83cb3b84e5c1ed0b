//===- BufferClasses.h - Which values share a buffer, and when they live --===//
//
// Time is the order of operations: the operation with number t reads at 2t and
// writes at 2t + 1, so a value occupies its buffer during [write, last read +
// 1). A loop is walked once: its start values are copied in when it begins, its
// yielded values are copied back when it ends, and what it captures from
// outside lives until it ends.
//
//   t  operation                          intervals
//   0  %a = group(%x)                     a: [1, 6)     read at t = 2
//   1  %b = group(%a)                     b: [3, 6)
//   2  %c = group(%a, %b)  c over a       c: [5, 8)     a and c may share: the
//   3  return %c                                        group reads a at an
//   index
//                                                       before it writes c
//                                                       there
//
// A collective with `step.beside` works on its operand, result and workspace
// while as many operations behind it run, and so do a save and a load on their
// operand and result. What a save makes lies in the segment `host`, in a class
// of its own.
//
// A *class* is a set of values in one buffer. Views belong to the class of what
// they view, carried values of a loop to one class each. coalesce() then merges
// classes whose intervals do not meet.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_MEMORY_BUFFERCLASSES_H
#define TENON_MEMORY_BUFFERCLASSES_H

#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace tenon::memory {

/// Every buffer starts at a multiple of this many bytes: a cache line, and the
/// widest vector.
constexpr int64_t bufferAlignment = 64;

/// What a buffer of `bytes` takes in its segment: whole cache lines, at least
/// one.
inline int64_t placedBytes(int64_t bytes) {
  return (std::max<int64_t>(bytes, 1) + bufferAlignment - 1) / bufferAlignment *
         bufferAlignment;
}

struct Interval {
  int64_t begin = 0, end = 0; // half-open
  /// Whose it is; null for what the step's beginning and end need.
  mlir::Value value = {};
};

struct BufferClass {
  std::vector<Interval> intervals; // sorted by begin
  int64_t bytes = 0;
  /// The segment of an argument, a constant or a result, and `host` for what a
  /// save makes; temporaries otherwise.
  step::Segment segment = step::Segment::temporaries;
  /// Values of one class in one segment other than temporaries belong to the
  /// same argument, constant or result; its number among them.
  int64_t slot = -1;
  /// Whether a plan under a budget counts it among the temporaries: then its
  /// bound on the time is not true of a place elsewhere.
  bool isCounted = false;
};

/// Scratch memory of one group, alive while it runs.
struct ScratchBuffer {
  mlir::Operation *group;
  int64_t bytes;
  Interval interval;
};

/// What mayOverwrite() says of groups, which is asked again and again and stays
/// true as long as they are only put into another order.
class KnownOverwrites {
public:
  bool mayOverwrite(step::GroupOp group, unsigned operand, unsigned result);

private:
  llvm::DenseMap<std::tuple<mlir::Operation *, unsigned, unsigned>, bool> known;
};

class BufferClasses {
public:
  using Id = unsigned;

  /// `function` must be @main in grouped form after SeparateResults.
  explicit BufferClasses(mlir::func::FuncOp function);
  BufferClasses(mlir::func::FuncOp function, KnownOverwrites &overwrites);

  Id classOf(mlir::Value value) const;
  const BufferClass &operator[](Id id) const { return classes[find(id)]; }
  Id representative(Id id) const { return find(id); }
  /// Representatives of all classes in order of their first value.
  llvm::SmallVector<Id> representatives() const;
  llvm::ArrayRef<ScratchBuffer> scratch() const { return scratchBuffers; }
  /// Where result `index` of @main must lie at the end: the class of the state
  /// argument it succeeds, or a class of the results segment.
  Id resultClass(unsigned index) const { return resultClasses[index]; }
  /// When an operation begins, and when a loop or conditional ends; a group
  /// takes no time.
  int64_t timeOf(mlir::Operation *op) const { return times.lookup(op); }
  int64_t endTimeOf(mlir::Operation *op) const {
    auto end = endTimes.find(op);
    return end == endTimes.end() || mlir::isa<step::GroupOp>(op) ? timeOf(op)
                                                                 : end->second;
  }
  /// The end of what an operation touches: 2t + 1 for what is only read. What a
  /// collective, save or load works on lives until it is awaited.
  int64_t endOfUse(mlir::Operation *op) const;
  /// Behind the last interval.
  int64_t endOfStep() const { return 2 * now + 2; }

private:
  void find(KnownOverwrites &overwrites);
  void number(mlir::Block &block);
  void collect();
  void coalesce(KnownOverwrites &overwrites);
  bool mayTouch(int64_t time, Id read, Id written,
                KnownOverwrites &overwrites) const;
  bool areNeededAtOnce(Id first, Id second) const;
  bool tryMerge(Id first, Id second, KnownOverwrites &overwrites);
  Id find(Id id) const;
  Id add(mlir::Value value, Id id);
  Id create(mlir::Value value);
  Id unite(Id first, Id second);
  void live(mlir::Value value);

  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Operation *, int64_t> times;    // when an op begins
  llvm::DenseMap<mlir::Operation *, int64_t> endTimes; // when a loop ends
  /// What happens at a time: an operation begins, or a loop or branch ends.
  struct Moment {
    mlir::Operation *op;
    bool ends;
  };
  std::vector<Moment> moments;
  int64_t now = 0;
  std::vector<BufferClass> classes;
  mutable std::vector<Id> parents;
  llvm::MapVector<mlir::Value, Id> ids;
  std::vector<ScratchBuffer> scratchBuffers;
  llvm::SmallVector<Id> resultClasses;
  llvm::SmallVector<Id> returnedIds; // of what @main returns
};

/// Whether the group may write result `result` over operand `operand`: both
/// have the same number of bytes per element and every element is read only
/// where it is written.
bool mayOverwrite(step::GroupOp group, unsigned operand, unsigned result);

/// Whether the group only hands on its operand, within the device's memory.
bool isCopy(step::GroupOp group);

/// The last operation that runs beside the group, if it is a collective, save
/// or load that any run beside, otherwise the group.
mlir::Operation *lastBeside(step::GroupOp group);

} // namespace tenon::memory

#endif // TENON_MEMORY_BUFFERCLASSES_H
