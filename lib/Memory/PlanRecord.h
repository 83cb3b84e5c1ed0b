//===- PlanRecord.h - What the exec program means, for its checkers ------===//
//
// Private to this folder. Scheduled form knows which value lies where and when;
// the exec program only has slices. While the one is lowered to the other, this
// keeps what was known: every value with its buffer and its lifetimes, and for
// every instruction which values its slices are. It ends up in the file as
// format::Plan, where package::checkPlan() holds the program against it.
//
// A value here is a piece of storage: views are their base, the values a loop
// carries are one, and a result of the step is one that exists at its end.
// Where a value takes over the place of another without an instruction (a
// yielded value that lies where the carried one does), that is a handover.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_PLANRECORD_H
#define TENON_LIB_MEMORY_PLANRECORD_H

#include "tenon/Analysis/SourceText.h"
#include "tenon/Memory/BufferClasses.h"

#include "mlir/IR/Builders.h"

namespace tenon::memory {

class PlanRecord {
public:
  using Id = int64_t;
  static constexpr Id none = -1;

  /// `main` is in scheduled form.
  explicit PlanRecord(mlir::func::FuncOp main);

  Id valueOf(mlir::Value value) const;
  /// Result `index` of the step, where it must be at the end.
  Id resultOf(unsigned index) const { return results[index]; }
  Id scratchOf(mlir::Operation *group) const { return scratch.lookup(group); }

  /// `instruction` does what `origin` did, from `begin` to `end` on; per
  /// argument the value it reads and the one it writes, or `none`.
  void describe(mlir::Operation *instruction, mlir::Operation *origin,
                int64_t begin, int64_t end, llvm::ArrayRef<Id> reads,
                llvm::ArrayRef<Id> writes);
  /// From here on the bytes of `from` are `to`.
  void handOver(Id from, Id to) { handovers.append({from, to}); }
  /// What is handed over at the end of a region of `parent`; regions in order.
  void endRegion(mlir::Operation *parent);
  /// Leaves values and buffers on the exec program.
  void write(mlir::Operation *program);

  int64_t timeOf(mlir::Operation *op) const { return buffers.timeOf(op); }
  int64_t endTimeOf(mlir::Operation *op) const { return buffers.endTimeOf(op); }

private:
  Id add(BufferClasses::Id buffer, int64_t bytes, llvm::StringRef type,
         llvm::StringRef source);
  int64_t textOf(llvm::StringRef text);
  void addValues();
  void addLifetimes();

  struct Entry {
    BufferClasses::Id buffer;
    int64_t bytes, type, source;
    bool recomputed = false;
    int64_t problemValue = -1;
    llvm::SmallVector<Interval, 1> lifetimes;
  };

  mlir::func::FuncOp main;
  BufferClasses buffers;
  mlir::Builder builder;
  std::vector<Entry> entries;
  llvm::DenseMap<mlir::Value, Id> ids; // of what is no view
  llvm::SmallVector<Id> results, initial;
  llvm::DenseMap<mlir::Operation *, Id> scratch;
  llvm::SmallVector<Id> handovers; // pairs, before the next instruction
  llvm::MapVector<llvm::StringRef, int64_t> texts;
};

/// Where a result of an operation comes from: in a group, what computes it.
mlir::Location locationOf(mlir::Operation *op, unsigned result);

using tenon::sourceOf;
/// The same for what computes a value, inside a group.
std::string sourceOf(mlir::Value value);
/// `8x64xf32`
std::string typeText(mlir::Type type);

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_PLANRECORD_H
