//===- BlockRowSchedule.cpp - Rows that a block of threads has ------------===//
//
// Long rows, such as the logits of a large vocabulary. All threads of a block
// walk one row together, so that few rows are under way at a time, and later
// passes find them in the caches.
//
// A round is a vector for each thread. What a sum takes of a round goes through
// shared memory (RowStaging.h): one thread per place adds its elements, in
// their order, while the others compute the next round, which is stored in
// another part of shared memory. A maximum is the same in any order, so each
// thread takes that of its own elements; such passes, and those that only
// store, walk the row backward.
//
// Rows end with a round that not all threads have a vector in. It is written
// out apart, so that nothing is asked in whole ones. All results are written in
// the last pass: one of them may overwrite what others are computed from.
//
// Example: bf16 rows of 50,304 are 12 rounds of 4,096 elements and one of
// 1,152. In a whole round 64 threads add 64 elements each.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "RowStaging.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// How many elements of a place are read before one of them is added, and how
/// many vectors of a thread before one of them is combined.
constexpr int64_t elementsAtOnce = 16, vectorsAtOnce = 4;

/// How a row is dealt out to threads.
struct BlockRowTiling {
  int64_t rows, length;
  int64_t lanes; // elements of a vector
  int64_t threads = 512;
  /// Of shared memory: for what sums take, and for results of reductions.
  int64_t stagedBytes = 0, slotBytes = 0;

  explicit BlockRowTiling(const KernelSource &source) {
    const ReductionSpace &space = *source.kernel.space();
    rows = elementCount(space.kept());
    length = elementCount(space.trailingReduced());
    lanes = longestVector(source, elementCount(space.extents));
    while (length % lanes)
      lanes /= 2;
    countBytes(source);
    while (threads > placesOfRow && sharedBytes() > mostStaticSharedBytes) {
      threads /= 2;
      countBytes(source);
    }
  }
  /// Elements of a round.
  int64_t round() const { return threads * lanes; }
  int64_t wholeRounds() const { return length / round(); }
  int64_t rest() const { return length % round(); }
  RowStaging staging(const Combiner &combiner) const {
    return RowStaging(combiner, round(), lanes);
  }
  static int64_t slotBytesOf(const Combiner &combiner) {
    return placesOfRow * bytesOf(combiner.accumulatorType(0));
  }
  int64_t sharedBytes() const { return stagedBytes + slotBytes; }

private:
  void countBytes(const KernelSource &source) {
    stagedBytes = slotBytes = 0;
    for (const auto &reductions : source.kernel.passes().reductions) {
      int64_t ofPass = 0;
      for (stablehlo::ReduceOp reduce : reductions) {
        const Combiner combiner(reduce);
        slotBytes += slotBytesOf(combiner);
        if (!combiner.isOrderFree())
          ofPass += 2 * staging(combiner).bytes();
      }
      stagedBytes = std::max(stagedBytes, ofPass);
    }
  }
};

class BlockRowKernel : RowKernel {
public:
  BlockRowKernel(const KernelSource &source, func::FuncOp function,
                 const LaunchShape &launch, const GpuInstructions &instructions)
      : RowKernel(source, function, launch, instructions), tiling(source) {
    algebra.lanes = tiling.lanes;
    lane = algebra.mod(thread, threadsOfWarp);
    row = algebra.delinearize(block, space.kept());
    shared = tiles.sharedMemory(tiling.sharedBytes());
    hasPlace =
        create<arith::CmpIOp>(arith::CmpIPredicate::ult, algebra.scalar(thread),
                              constantIndex(placesOfRow));
    for (unsigned pass = 0; pass < passes; ++pass)
      emitPass(pass);
    if (!hasResultsOfRow())
      return;
    // Other threads may still read what one of them overwrites.
    awaitBlock();
    ifBelow(thread, 1, [&](const IndexExpression &) { storeOfRow(); });
  }

private:
  /// What a walk over the row does.
  struct Walk {
    SmallVector<Combiner> free; // by any order
    SmallVector<Combiner> placed;
    SmallVector<RowStaging> staging; // of those by place
    SmallVector<unsigned> written;   // results
  };

  void emitPass(unsigned pass) {
    Walk walk;
    for (const Combiner &combiner : combinersOf(pass))
      (combiner.isOrderFree() ? walk.free : walk.placed).push_back(combiner);
    for (const Combiner &combiner : walk.placed)
      walk.staging.push_back(tiling.staging(combiner));
    if (pass + 1 == passes)
      for (unsigned i = 0; i < results.size(); ++i)
        if (isFull(i))
          walk.written.push_back(i);
    // Sums by place behind those of the thread's own elements.
    Values sums;
    for (const Combiner &combiner : walk.free)
      sums.push_back(points.asVector({combiner.start(*this).front(), 0}));
    for (const Combiner &combiner : walk.placed)
      sums.push_back(combiner.start(*this).front());
    if (sums.empty() && walk.written.empty())
      return;
    // Backward where any order will do: what was read last is in the caches.
    const bool isBackward = walk.placed.empty();
    if (isBackward && tiling.rest())
      sums = emitRest(walk, sums);
    // Several rounds at once if nothing is stored between them.
    const bool onlyReads = isBackward && walk.written.empty();
    int64_t done = 0;
    for (int64_t some : {onlyReads ? vectorsAtOnce : 1, int64_t(1)}) {
      const int64_t count = (tiling.wholeRounds() - done) / some;
      if (count == 0)
        continue;
      sums = forRange(
          count, sums, [&](const IndexExpression &i, ValueRange carried) {
            IndexExpression first = i * some + done;
            if (isBackward)
              first = IndexExpression(tiling.wholeRounds() - some) - first;
            return emitRounds(walk, first, some, carried);
          });
      done += count * some;
    }
    if (!isBackward && tiling.rest())
      sums = emitRest(walk, sums);
    for (auto [combiner, sum] : llvm::zip(walk.free, sums))
      combiner.provide(*this, {joinOfBlock(combiner, sum)});
    for (auto [combiner, sum] :
         llvm::zip(walk.placed, ArrayRef(sums).drop_front(walk.free.size())))
      combiner.provide(*this, {collapseOfBlock(combiner, sum)});
  }

  /// Rounds in which all threads have a vector.
  Values emitRounds(const Walk &walk, const IndexExpression &round,
                    int64_t count, ValueRange carried) {
    Values sums(carried);
    SmallVector<SmallVector<Value>> inputs;
    for (int64_t i = 0; i < count; ++i)
      inputs.push_back(emitVector(
          walk, thread, round,
          vectorAt((round + i) * tiling.round() + thread * tiling.lanes,
                   tiling.wholeRounds() * tiling.round())));
    for (ArrayRef<Value> own : inputs)
      combineOwn(walk, own, sums);
    addPlaces(walk, round, tiling.round() / placesOfRow, sums);
    return sums;
  }

  /// The round in which some threads have none.
  Values emitRest(const Walk &walk, Values sums) {
    const int64_t vectors = tiling.rest() / tiling.lanes,
                  round = tiling.wholeRounds();
    Value hasVector =
        create<arith::CmpIOp>(arith::CmpIPredicate::ult, algebra.scalar(thread),
                              constantIndex(vectors));
    MutableArrayRef<Value> own =
        MutableArrayRef(sums).take_front(walk.free.size());
    auto emit = [&] {
      IndexExpression vector = algebra.uniform(
          algebra.scalar(thread), {0, vectors - 1}, levels.current());
      Values next(own);
      combineOwn(walk,
                 emitVector(walk, vector, round,
                            vectorAt(vector * tiling.lanes, tiling.rest()) +
                                round * tiling.round()),
                 next);
      return next;
    };
    if (own.empty())
      ifThen(hasVector, [&] { emit(); });
    else
      llvm::copy(ifThen(hasVector, Values(own), emit), own.begin());
    addPlaces(walk, round, tiling.rest() / placesOfRow, sums);
    return sums;
  }

  /// Reads a vector, the thread's in a round, stores results and what sums by
  /// place take, and gives what the others take.
  SmallVector<Value> emitVector(const Walk &walk, const IndexExpression &vector,
                                const IndexExpression &round,
                                const IndexExpression &position) {
    const Indices reduced =
        algebra.delinearize(position, space.trailingReduced());
    auto inputsOf = [&](ArrayRef<Combiner> combiners) {
      Values inputs;
      for (const Combiner &combiner : combiners)
        inputs.push_back(points.asVector(at(combiner.inputs.front(), reduced)));
      return inputs;
    };
    Values own = inputsOf(walk.free), staged = inputsOf(walk.placed);
    storeFull(walk.written, reduced);
    for (size_t i = 0; i < staged.size(); ++i)
      walk.staging[i].store(tiles, *this, partOf(walk, i, round), vector,
                            staged[i]);
    return own;
  }

  void combineOwn(const Walk &walk, ArrayRef<Value> inputs,
                  MutableArrayRef<Value> sums) {
    for (auto [combiner, input, sum] : llvm::zip(walk.free, inputs, sums))
      sum = combiner.combine(*this, {sum}, {input}).front();
  }

  /// Where what reduction `i` takes of a round is. Rounds have the two parts in
  /// turn, so that threads may store one while another is added.
  Value partOf(const Walk &walk, size_t i, const IndexExpression &round) {
    int64_t begin = 0;
    for (size_t before = 0; before < i; ++before)
      begin += 2 * walk.staging[before].bytes();
    return tiles.addressAt(
        shared, algebra.mod(round, 2) * walk.staging[i].bytes() + begin);
  }

  /// The threads that have a place add the elements of a round to it.
  void addPlaces(const Walk &walk, const IndexExpression &round, int64_t count,
                 MutableArrayRef<Value> sums) {
    if (walk.placed.empty())
      return;
    awaitBlock();
    MutableArrayRef<Value> placed = sums.drop_front(walk.free.size());
    llvm::copy(ifThen(hasPlace, Values(placed),
                      [&] {
                        Values next;
                        for (size_t i = 0; i < placed.size(); ++i)
                          next.push_back(addPlace(walk.staging[i],
                                                  partOf(walk, i, round), count,
                                                  placed[i]));
                        return next;
                      }),
               placed.begin());
  }

  Value addPlace(const RowStaging &staging, Value part, int64_t count,
                 Value sum) {
    Value place = staging.addressOf(tiles, *this, part,
                                    algebra.uniform(algebra.scalar(thread),
                                                    {0, placesOfRow - 1},
                                                    levels.current()));
    const int64_t times = count / elementsAtOnce;
    if (times)
      sum = forRange(times, sum,
                     [&](const IndexExpression &i, ValueRange carried) {
                       Value from = tiles.addressAt(
                           place, i * (elementsAtOnce * staging.stepBytes()));
                       return Values{staging.add(tiles, *this, from, 0,
                                                 elementsAtOnce,
                                                 carried.front())};
                     })
                .front();
    return staging.add(tiles, *this, place, times * elementsAtOnce,
                       count % elementsAtOnce, sum);
  }

  /// The next slots for what threads tell each other.
  Value slotsFor(const Combiner &combiner) {
    const int64_t begin = tiling.stagedBytes + usedSlots;
    usedSlots += BlockRowTiling::slotBytesOf(combiner);
    return tiles.addressAt(shared, IndexExpression(begin));
  }

  /// All threads' own to one value in all of them.
  Value joinOfBlock(const Combiner &combiner, Value sum) {
    const Type type = valueType(combiner.accumulatorType(0));
    const int64_t bytes = bytesOf(type), warps = tiling.threads / threadsOfWarp;
    Value slots = slotsFor(combiner);
    Value ofWarp = joinOfWarp(combiner, joinOfVector(combiner, sum));
    ifBelow(lane, 1, [&](const IndexExpression &) {
      tiles.store(tiles.addressAt(
                      slots, algebra.floorDiv(thread, threadsOfWarp) * bytes),
                  ofWarp);
    });
    awaitBlock();
    Value all = tiles.load(
        tiles.addressAt(slots, algebra.mod(lane, warps) * bytes), type);
    return joinOfWarp(combiner, all, warps);
  }

  /// The sums of all places to one value in all threads.
  Value collapseOfBlock(const Combiner &combiner, Value sum) {
    const Type type = valueType(combiner.accumulatorType(0));
    const int64_t bytes = bytesOf(type);
    Value slots = slotsFor(combiner);
    ifThen(hasPlace,
           [&] { tiles.store(tiles.addressAt(slots, thread * bytes), sum); });
    awaitBlock();
    Values sums;
    for (int64_t first = 0; first < placesOfRow; first += threadsOfWarp)
      sums.push_back(
          tiles.load(tiles.addressAt(slots, (lane + first) * bytes), type));
    return collapse(combiner, sums, 1, threadsOfWarp, placesOfRow);
  }

  const BlockRowTiling tiling;
  SharedTiles tiles{*this};
  IndexExpression lane;
  Value shared;
  Value hasPlace; // of those of sums
  int64_t usedSlots = 0;
};

} // namespace

bool BlockRowSchedule::accepts(const KernelSource &source) const {
  if (!hasLongRows(source))
    return false;
  const BlockRowTiling tiling(source);
  return tiling.length % placesOfRow == 0 && tiling.wholeRounds() > 0 &&
         tiling.sharedBytes() <= mostStaticSharedBytes &&
         llvm::none_of(
             source.kernel.reductions(), [](stablehlo::ReduceOp reduce) {
               return Combiner(reduce).accumulatorType(0).isInteger(1);
             });
}

LaunchShape BlockRowSchedule::launchShape(const KernelSource &source) const {
  const BlockRowTiling tiling(source);
  return {.parts = tiling.rows,
          .threads = tiling.threads,
          .sharedBytes = tiling.sharedBytes()};
}

EmittedLoops BlockRowSchedule::emit(const KernelSource &source, ModuleOp module,
                                    StringRef name, unsigned) const {
  return emitAs<BlockRowKernel>(source, module, name);
}

} // namespace tenon::codegen
