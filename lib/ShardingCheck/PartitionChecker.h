//===- PartitionChecker.h - Follows a partitioned step --------------------===//
//
// The state of the check of a partitioned step (CheckPartition.cpp), which the
// files share that follow one kind of operation each.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDINGCHECK_PARTITIONCHECKER_H
#define TENON_LIB_SHARDINGCHECK_PARTITIONCHECKER_H

#include "Holding.h"
#include "Labels.h"
#include "Meetings.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Sharding/Propagate.h"
#include "tenon/ShardingCheck/CheckPartition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <map>

namespace tenon::shardingcheck {

/// An operation whose result has the elements of its operand, moved.
inline bool isView(mlir::Operation *op) {
  return llvm::isa<stablehlo::TransposeOp, stablehlo::SliceOp,
                   stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp,
                   stablehlo::OptimizationBarrierOp,
                   step::ShardingConstraintOp>(op);
}

using Holdings = llvm::SmallVector<Holding, 2>;

/// Elements of `from` between two indices of a dimension, which may depend on
/// the device; an identity in front of them and behind.
struct Mask {
  mlir::Value from;
  int64_t dim;
  std::optional<PerDevice> begin, end; // where nothing is masked, none
  unsigned identities;
};

/// Where the dimensions of a label lie.
struct Place {
  std::optional<int64_t> extent;
  std::optional<PerDevice> start;
  int64_t wholeExtent = 1;
  llvm::SmallVector<unsigned> tails;
};

/// A block of a tensor of the whole step of which only some elements are right:
/// those that are so along all dimensions.
struct Fragment {
  /// By device, from which local index on, and in front of which one.
  struct Right {
    PerDevice begin, end;
  };
  mlir::Value whole;
  std::vector<Range> ranges;
  std::vector<Right> right; // by dimension
};

/// Splits of a label that a result does not have: which of the shares each
/// device has.
struct Shares {
  PerDevice share;
  int64_t count = 1;
  std::optional<Combine> combine;
};

/// Indices into a shard: those of the whole tensor less where it starts.
struct LocalIndices {
  mlir::Value from;
  llvm::SmallVector<PerDevice> starts;
};

/// Elements of a local tensor, counted along its rows, and what they hold as
/// a tensor of one dimension. A joined tensor has parts of several tensors,
/// and perhaps elements that hold nothing.
struct Piece {
  int64_t begin, count;
  Holdings held;
};

using Pieces = llvm::SmallVector<Piece, 1>;

/// Rows that the members of groups have sent: row i is the one that member i
/// has for the receiver, or all that it has.
struct Exchange {
  mlir::Value from;
  Groups groups;
  bool isForReceiver = false;
  Combine combine = Combine::sum; // of what is added up
};

using Blocks = llvm::SmallVector<std::vector<Range>, 1>;

/// What an operation says beside its operands, without what is only noted.
llvm::SmallVector<mlir::NamedAttribute>
attributesOf(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> without);

/// Goes through the partitioned step once. What it has found for a value is in
/// the maps at the end; an operation's file adds to them.
class PartitionChecker {
public:
  PartitionChecker(mlir::func::FuncOp whole, mlir::func::FuncOp local,
                   sharding::Mesh mesh)
      : whole(whole), local(local), mesh(std::move(mesh)),
        devices(this->mesh.devices()) {}

  /// The first thing that does not follow from the whole step, if there is one.
  std::optional<PartitionFault> run(bool withConstraints);

private:
  // CheckPartition.cpp

  bool fail(mlir::Location location, const llvm::Twine &message);
  bool readBoundary();
  std::optional<sharding::Layout> readLayout(mlir::DictionaryAttr attributes,
                                             mlir::Type wholeType,
                                             mlir::Type localType,
                                             const llvm::Twine &where);
  std::vector<Range> rangesOf(mlir::Value value,
                              const sharding::Layout &layout);
  bool holds(mlir::Value part, mlir::Value value,
             llvm::ArrayRef<Range> expected);
  /// The first operation on the way to a value of which nothing is known while
  /// something is known of all its operands.
  mlir::Operation *firstLost(mlir::Value value);
  std::function<bool(mlir::Value)> isKnown();
  bool visitBlock(mlir::Block &block);
  bool visit(mlir::Operation *op);

  // Constraints.cpp

  /// By dimension where a local tensor begins on each device, unless all
  /// elements of the whole are alike there, and its extent.
  using Lying = std::vector<std::pair<std::optional<PerDevice>, int64_t>>;

  bool checkConstraints();
  /// The ways in which some local tensor holds a value of the whole step.
  std::vector<Lying> waysToLie(mlir::Value value);
  bool isAllowed(const Lying &way, const sharding::AskedLayout &asked,
                 llvm::ArrayRef<int64_t> shape);
  /// Values of other extents are alike if each device has the same shards.
  static bool areAlike(const Lying &a, const Lying &b);
  /// Which shard of a dimension each device has.
  static PerDevice shardsOf(PerDevice start, int64_t extent);

  // KnownHoldings.cpp

  void add(mlir::Value part, Holding held);
  /// All elements along a dimension of one element are alike.
  static void forgetOnlyPlaces(Holding &held);
  void addIfNew(mlir::Value value, Holding held);
  static bool isAlike(const Holding &a, const Holding &b);
  /// All that is known of a local value as one of `value`.
  Holdings holdingsOn(mlir::Value part, mlir::Value value);
  /// What a holding of the operand of an operation that moves elements says of
  /// result `at`.
  /// Ways in which the devices may have one of `parts` parts each.
  llvm::ArrayRef<PerDevice> spreadsOver(int64_t parts);
  std::optional<Holding> through(mlir::Operation *op, unsigned at,
                                 const Holding &held);
  void addMasked(const Mask &mask, mlir::Value value, Holdings &found);
  /// What is held, and what is it with its elements moved.
  static llvm::SmallVector<mlir::Value> viewsOf(llvm::ArrayRef<Holding> held);
  /// Operations of the whole step by this name that read something of which a
  /// local operand holds parts.
  llvm::SmallVector<mlir::Operation *> candidatesFor(mlir::Operation *op);

  // Movement.cpp

  void visitMovement(mlir::Operation *op);
  /// Adds what `move`, which is what an operation does to elements, makes of
  /// each holding of its operand, or where no holding describes that, of the
  /// same one as a holding of views.
  void
  addMoved(mlir::Operation *op,
           llvm::function_ref<std::optional<Holding>(const Holding &)> move);
  /// What an operation that moves elements makes of one holding.
  std::optional<Holding> moved(mlir::Operation *op, const Holding &held);
  /// Shapes without common factors: elements keep their order, here and in a
  /// reshape of the whole step.
  void reshapeInOrder(mlir::Operation *op, mlir::Value from);

  // Computation.cpp

  void visitComputation(mlir::Operation *op);
  /// Whether two regions on elements compute the same.
  bool sameRegions(mlir::Operation *part, mlir::Operation *op);
  /// A slice is as large as the whole one, or all of what the device has of a
  /// dimension of which the whole one takes everything.
  bool sameSliceSizes(mlir::Operation *part, mlir::Operation *op,
                      const Labels &labels);
  bool relate(mlir::Operation *local, mlir::Operation *op, const Labels &labels,
              std::vector<Holding> &results);
  bool place(std::vector<Place> &places, const TensorLabels &labels,
             mlir::Value part, mlir::Value value, llvm::ArrayRef<Range> ranges);
  bool placeOperand(std::vector<Place> &places, const TensorLabels &labels,
                    mlir::Value part, mlir::Value value);
  /// What a result holds, from where the labels lie.
  bool placeResult(const std::vector<Place> &places, const Labels &labels,
                   unsigned at, mlir::Value part, mlir::Value value,
                   Holding &held);
  bool addShares(const Label &label, const Place &place, Shares &shares);
  /// A splat initial value that may be combined with by every device.
  static bool isNeutral(mlir::Value init, Combine combine);

  // SlidingWindows.cpp

  /// Whether what a local operation makes of its windows is what the whole one
  /// makes of those at some place, which is then that of the result.
  bool placeWindows(mlir::Operation *local, mlir::Operation *op,
                    const Labels &labels, std::vector<Place> &places);
  bool placeWindow(const SlidingWindow &local, const SlidingWindow &window,
                   unsigned identities, int64_t resultExtent,
                   int64_t wholeResultExtent, const Place &operand,
                   const Place *kernel, Place &result);
  /// Tensors that follow each other along a dimension make up a larger one.
  void visitConcatenation(stablehlo::ConcatenateOp op);

  // ScatteredWindows.cpp

  void scatterWindows(stablehlo::SelectAndScatterOp part,
                      stablehlo::SelectAndScatterOp op, const Labels &labels);
  /// The elements that windows along a dimension add to as in the whole step,
  /// and where they lie; nothing if devices run other windows.
  std::optional<Fragment::Right>
  placeScatter(const Window &window, Place &operand, const Place &source);
  Fragment everyElement(mlir::Value whole, mlir::Value part,
                        std::vector<Range> ranges);
  /// A holding, if nothing is wrong of what there is of the whole tensor.
  void addFragment(mlir::Value part, Fragment fragment);
  /// What is cut out of fragments.
  void visitFragments(mlir::Operation *op);

  // ShardIndices.cpp

  bool relateScatter(stablehlo::ScatterOp part, stablehlo::ScatterOp op,
                     bool isShifted, std::vector<Holding> &results);
  /// select(index is here, gather(indices - start), 0).
  void visitMaskedGather(stablehlo::SelectOp select);
  std::optional<LocalIndices> localIndices(mlir::Value indices,
                                           int64_t vectorDim, int64_t count);
  /// A known number per component of index vectors, and device.
  std::optional<llvm::SmallVector<PerDevice>>
  components(mlir::Value value, int64_t vectorDim, int64_t count);
  /// The known elements of a small tensor of integers.
  std::optional<llvm::SmallVector<PerDevice>> elementsOf(mlir::Value value);
  /// Widening conversions keep every index.
  static mlir::Value narrowed(mlir::Value value);

  // DeviceNumbers.cpp

  void visitNumbers(mlir::Operation *op);
  void setNumber(mlir::Value value, Holding number);
  /// The known value of a scalar on every device.
  std::optional<PerDevice> scalarOf(mlir::Value value);
  static bool isUniform(const Holding &number);
  /// Whether a type holds these numbers exactly.
  static bool fits(llvm::ArrayRef<int64_t> values, mlir::Type type);
  void visitSelect(stablehlo::SelectOp select);
  /// What the first of several devices has, and others have zeros for.
  void visitFirst(stablehlo::SelectOp select, unsigned identities);
  /// By how much the right side, one number, is above the left one's first.
  std::optional<PerDevice> differenceOf(stablehlo::CompareOp compare);
  /// A comparison of indices along a dimension with a number; both that a mask
  /// may have, joined by "and".
  bool addBound(mlir::Value predicate, std::optional<int64_t> &dim, Mask &mask);

  // Meetings.cpp

  /// A collective that not all devices come to in the same order never ends,
  /// whether its result is read or not. One program runs on all of them, and
  /// visitControl() refuses loops and branches in which they could part. What
  /// is left is that each collective stands where this is known and has groups
  /// that hold each device once; its verifier compares sizes with the groups.
  bool checkMeetings();
  bool meets(mlir::Operation *op);
  /// Who sends to each device; nothing unless each one receives and sends once.
  /// All have that behind checkMeetings(), and so it is with groupsOf().
  std::optional<llvm::SmallVector<int64_t>>
  sourcesOf(stablehlo::CollectivePermuteOp op);

  // CollectiveHoldings.cpp

  /// A collective that brings elements to other devices and combines none.
  static bool movesOnly(mlir::Operation *op);
  /// What the devices have behind such a collective.
  std::optional<Holding> movedBetween(mlir::Operation *op, const Holding &held);
  void visitCollective(mlir::Operation *op);
  /// A sum may be written as an exchange of rows, their sum in the order of the
  /// members, and a gathering of the sums.
  void visitExchangeOfRows(mlir::Operation *op);
  void visitSumOfRows(stablehlo::ReduceOp op);
  /// Terms of two sums over the same devices are, added up, those of a third.
  /// What was missing may be added when nothing is pending any more.
  void visitSumOfTerms(stablehlo::AddOp op);
  static bool isZero(mlir::Value value);

  // JoinedTensors.cpp

  /// What operations that keep the order of elements make of pieces.
  void visitJoined(mlir::Operation *op);
  Pieces piecesOf(mlir::Value value);
  void setPieces(mlir::Value value, Pieces pieces);
  Pieces slicedPieces(const Pieces &pieces, int64_t begin, int64_t end);
  static Pieces reducedPieces(Pieces pieces, const Groups &groups,
                              Combine combine);

  // LoopsAndBranches.cpp

  /// Every device takes the way of the whole step, so all meet in the same
  /// collectives: nothing else is accepted even where results do not depend on
  /// it.
  bool visitControl(mlir::Operation *op);
  /// Assumes of carried values what holds before the loop, and goes through the
  /// body until it holds behind it as well.
  bool relateLoop(stablehlo::WhileOp part, stablehlo::WhileOp op);
  /// What a carried value may hold that starts from zeros and to which each
  /// round adds terms of what the whole step adds. Where that starts from
  /// something else, this is missing.
  std::optional<Holding> termsOfRounds(stablehlo::WhileOp part,
                                       stablehlo::WhileOp op, unsigned at);
  bool relateBranches(mlir::Operation *part, mlir::Operation *op);
  bool holdsScalar(mlir::Value part, mlir::Value value);
  Blocks blocksOn(mlir::Value part, mlir::Value value);
  /// What both say, where either may say less; nothing if they differ.
  static std::optional<std::vector<Range>> both(llvm::ArrayRef<Range> a,
                                                llvm::ArrayRef<Range> b);
  static bool isEqual(llvm::ArrayRef<Range> a, llvm::ArrayRef<Range> b);

  mlir::func::FuncOp whole, local;
  sharding::Mesh mesh;
  /// What spreadsOver() has found, by number of parts.
  std::map<int64_t, std::vector<PerDevice>> spreads;
  int64_t devices;
  std::vector<sharding::Layout> resultLayouts;
  std::optional<PartitionFault> fault;
  llvm::DenseMap<mlir::OperationName, llvm::SmallVector<mlir::Operation *>>
      byName;
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<mlir::Value, 1>> constants;
  llvm::DenseMap<mlir::Value, Holdings> known;
  /// The local tensors of which something is known, by what they hold.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> partsOf;
  /// Integers that the device and the place alone decide, as holdings of the
  /// numbers from 0 on.
  llvm::DenseMap<mlir::Value, Holding> numbers;
  llvm::DenseMap<mlir::Value, Mask> masks;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Fragment, 1>> fragments;
  llvm::DenseMap<mlir::Value, Pieces> joined;
  llvm::DenseMap<mlir::Value, Exchange> sentRows;
  /// Sums of the rows that members of groups have for the device.
  llvm::DenseMap<mlir::Value, Exchange> ownSums;
  /// What some devices have and others have zeros for.
  llvm::DenseMap<mlir::Value, std::pair<mlir::Value, PerDevice>> firsts;
};

} // namespace tenon::shardingcheck

#endif // TENON_LIB_SHARDINGCHECK_PARTITIONCHECKER_H
