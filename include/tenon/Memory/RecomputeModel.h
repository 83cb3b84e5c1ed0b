//===- RecomputeModel.h - A scheduled step as a recomputation problem ----===//
//
// Between the IR and Solver/RecomputeChoice.h: makes the problem, and carries a
// plan back by copying groups (ApplyRecomputation.cpp).
//
// A node of the problem is a group with its predicted time, or several that run
// one after the other and share one buffer: an element-wise group that
// overwrites the result of the group before it adds no bytes, so the two are
// one choice. A loop or a conditional is a node as well, with all its rounds,
// and may run again unless it updates state. A loop with step::loopRowsAttrName
// is run in one of these ways, each with its own peak and time
// (TabulateLoops.cpp), the same each time. The block may be the body of a loop:
// what the loop carries or captures then has its place outside.
// Bytes are counted as they are placed when everything is kept (BufferClasses):
// a value that is written straight into state or results takes none, and one
// that is written over an operand is counted once. Where a plan reads the
// operand later, or old state when the new one is there already, an overwrite
// or a late read of the problem counts what that takes in addition. So it is
// with an operand that is kept for later: a plan that drops it there can have
// it overwritten. Reshapes and barriers are other names of what they read.
//
//     %d = group library(%x, %w)        one node: the time of both,
//     %a = group elementwise(%d, %b)    the bytes of %a
//
// %x need not be there any more when the second of the two makes more than it
// writes over %d; where somebody reads it later, that counts as an overwrite,
// too.
//
// A group with step::partsAttrName can be computed again in parts
// (Analysis/GroupParts.h). It becomes several nodes: one that is the group,
// runs once and leaves nothing, and behind it one per part with that part's
// results, time and operands; the first time they need no scratch. What the
// group takes less than its parts together is a negative cost of the first, so
// that running everything once costs what it does.
//
// On a device with memory of its own, values may wait in the host's memory
// instead of being computed again (addVariants). A plan then has groups
// `save`, whose result is the copy there, and `load`, whose result is read from
// then on, and the transfers run beside what follows:
//
//     %c = group save(%a)    beside %b
//     %b = group ...
//     %d = group load(%c)    beside what comes before the next reader of %a
//
//===----------------------------------------------------------------------===//

#ifndef TENON_MEMORY_RECOMPUTEMODEL_H
#define TENON_MEMORY_RECOMPUTEMODEL_H

#include "tenon/Analysis/GroupParts.h"
#include "tenon/Memory/BufferClasses.h"
#include "tenon/Solver/RecomputeChoice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon::memory {

/// The way to the host's memory and back.
struct HostLink {
  double bytesPerSecond = 0; // in each direction
  double seconds = 0;        // of computing to start a transfer
};

class RecomputeModel {
public:
  /// `block` is that of @main, or the body of a loop in it; @main is in grouped
  /// form, ordered, with separate results; groups carry
  /// step::nanosecondsAttrName.
  explicit RecomputeModel(mlir::Block &block);

  /// Lets values wait in the host's memory: those that surely lie among the
  /// temporaries, are read again and are no small part of all. Only for the
  /// block of @main, after keepWhole().
  void addVariants(const HostLink &link);
  /// Has the groups of the block be computed again as a whole: transfers are
  /// held against a clock, which parts of groups would turn back. Those in
  /// loops keep their parts, of which the loops' tables speak.
  static void keepWhole(mlir::Block &block);

  /// Costs in nanoseconds, sizes in bytes.
  const solver::RecomputeProblem &problem() const { return model; }
  /// Bytes of values whose operation cannot be run again.
  int64_t pinnedBytes() const;
  /// Bytes of all values, each once, and of what a round of a loop holds that
  /// can compute values again within it.
  int64_t valueBytes() const;
  /// An operation that cannot be run again, and the bytes of its values.
  struct Exclusion {
    mlir::Operation *operation;
    int64_t bytes;
    llvm::StringRef reason;
  };
  /// Those with bytes, in order.
  std::vector<Exclusion> exclusions() const;

  /// The most bytes that are live at once inside the loop whose body the block
  /// is, and nowhere outside.
  int64_t bytesInside() const;

  /// Puts the operations into the order of a plan, with copies marked
  /// step::recomputedAttrName where a node is repeated, saves and loads where
  /// values wait, and runs loop i of the problem as its row rows[i] says. Fails
  /// with a diagnostic if the plan runs what the problem does not have. The
  /// model is stale afterwards.
  mlir::LogicalResult apply(llvm::ArrayRef<int32_t> order,
                            llvm::ArrayRef<int32_t> rows);

  /// The same for a block of which only the plan is known, the body of a loop.
  static mlir::LogicalResult applyPlan(mlir::Block &block,
                                       llvm::ArrayRef<int32_t> order,
                                       llvm::ArrayRef<int32_t> rows);

private:
  enum class Extent { nodesOnly };
  RecomputeModel(mlir::Block &block, Extent);

  struct Node {
    /// They run one after the other; of a part, what it shares with its group's
    /// node.
    llvm::SmallVector<mlir::Operation *, 2> operations;
    /// The group of which the node is a part.
    step::GroupOp whole;
    GroupPart part = {};
    int64_t nanoseconds = 0, scratchBytes = 0; // of the part alone
  };

  bool isMain() const;
  /// The value of the program that a value of the problem is, or null.
  mlir::Value valueOf(int32_t number) const;
  void hoistNames();
  void formNodes();
  void formParts();
  void addValues();
  bool isDivided(int32_t node) const;
  bool mayRunAgain(mlir::Operation *op) const;
  solver::RecomputeProblem::Node partEntry(int32_t node) const;
  /// Gives the nodes that are loops their rows.
  void addLoops();
  int32_t nodeToJoin(mlir::Operation *op) const;
  /// What the value takes among the temporaries.
  int64_t bytesOf(mlir::Value value) const;
  using ValueBytes = std::pair<mlir::Value, int64_t>;
  llvm::DenseSet<mlir::Value> readWithin(mlir::Operation *op) const;
  llvm::SmallVector<ValueBytes> overwritten(mlir::Operation *op) const;
  llvm::SmallVector<ValueBytes>
  overwritable(mlir::Operation *op, mlir::ValueRange results,
               llvm::ArrayRef<ValueBytes> written) const;
  llvm::SmallVector<ValueBytes> startsOf(mlir::Operation *op) const;
  llvm::SmallVector<ValueBytes> capturedBy(int32_t node) const;
  llvm::SmallVector<ValueBytes>
  lastReadBy(mlir::Operation *op,
             llvm::ArrayRef<mlir::Operation *> chain) const;
  llvm::SmallVector<ValueBytes> overwrittenByPart(int32_t node) const;
  llvm::SmallVector<ValueBytes> overwrittenBefore(int32_t node) const;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int32_t>>
  nodesThatRead(llvm::ArrayRef<mlir::Value> values) const;
  void limitParts();
  void addReplacedState();
  std::vector<int64_t> bytesOfNodes() const;
  /// The value of which this one is another name.
  mlir::Value storageOf(mlir::Value value) const;
  /// What the node reads from other nodes, by storage.
  llvm::SmallVector<mlir::Value> readsOf(int32_t node) const;

  mlir::Block &block;
  std::optional<BufferClasses> buffers; // when everything is kept
  /// Those with a value of an enclosing block, or that the loop carries.
  llvm::DenseSet<BufferClasses::Id> outside;
  solver::RecomputeProblem model;
  llvm::DenseMap<mlir::Value, int32_t> numbers; // of the problem's values
  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Operation *, int32_t> nodeOf;
  llvm::DenseMap<mlir::Value, mlir::Value> aliases; // to what they name
  llvm::DenseSet<mlir::Value>
      leaves; // lie in the segments of state and results
  /// Results of the block that have places among the temporaries until it ends.
  llvm::DenseSet<unsigned> waiting;
};

/// How the problem of a step is solved.
solver::RecomputeOptions recomputeOptions();

/// Writes a solution of the problem of `main` into it: its order and copies, if
/// it has a plan, and onto it as step::recomputationAttrName what it costs and
/// proves, with what nothing may compute again. Fails as apply() does. The
/// model is stale afterwards.
mlir::LogicalResult
writeRecomputation(mlir::func::FuncOp main, RecomputeModel &model,
                   const solver::RecomputeSolution &solution);

/// Replaces what writeRecomputation() left of a proof by that of `solution`,
/// which has the same plan.
void writeProof(mlir::func::FuncOp main,
                const solver::RecomputeSolution &solution);

} // namespace tenon::memory

#endif // TENON_MEMORY_RECOMPUTEMODEL_H
