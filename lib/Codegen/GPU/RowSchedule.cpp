//===- RowSchedule.cpp - Rows with reductions along them ------------------===//
//
// The passes of Analysis/KernelDescription.h over rows, in order (b) of
// Analysis/ReductionTree.h. That order has up to 64 places, each of which sums
// every 64th element: element p belongs to place p mod 64. A group of lanes of
// one warp has a row, and each lane the places of one or two vectors, so that
// neighbouring lanes read neighbouring vectors and the sums of a place never
// leave their lane. At the end the places are combined as the order says: first
// those 16, then 32 apart, then 8, 4, 2 and 1, by shuffles where they are in
// different lanes.
//
// Short rows are written out: what a pass has computed at an element is still
// in a register in the next one. Longer rows are walked by a loop per pass,
// which reads and computes again. There all results are written in the last
// pass: one of them may overwrite an operand from which others are computed.
//
// Regions that are no single operation have order (a): lanes sum its blocks
// side by side and leave the sums in shared memory, where all of them read them
// and add them up. With nothing but such reductions there are no places, and a
// row may have as many lanes as a block has threads.
//
// Example: f32 rows of 768. A vector is 4 elements, 16 lanes have 64 places, a
// warp has two rows, a lane reads 12 vectors.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "RowKernel.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t mostThreads = 256;
/// Elements of a row that a lane holds in registers, per tensor.
constexpr int64_t mostElementsInRegisters = 64;
/// Lanes that have a row of regions even if there are rows enough: each of them
/// adds up all blocks' sums.
constexpr int64_t fewestLanesOfRegions = 8;
/// Threads that keep a GPU busy.
constexpr int64_t manyThreads = 1 << 17;

/// How a row is dealt out to lanes.
struct RowTiling {
  int64_t rows, length; // the reduced dimensions at the end
  int64_t places;       // accumulators times elements of a chunk
  int64_t lanes;        // elements of a vector
  int64_t group;        // lanes that have a row, of a warp or whole warps
  int64_t vectors;      // of a lane, for all places
  bool isOneRun;        // no dimension further out is reduced, too
  bool hasRegions = false;               // that are no single operation
  std::optional<ReductionBlocks> blocks; // of their order
  int64_t threads = mostThreads;
  int64_t sharedBytes = 0;

  explicit RowTiling(const KernelSource &source) {
    const ReductionSpace &space = *source.kernel.space();
    rows = elementCount(space.kept());
    length = elementCount(space.trailingReduced());
    lanes = longestVector(source, elementCount(space.extents));
    while (length % lanes)
      lanes /= 2;
    isOneRun = space.outerReduced().empty();
    int64_t bytesOfBlock = 0;
    bool hasPlaces = false;
    for (stablehlo::ReduceOp reduce : source.kernel.reductions()) {
      const Combiner combiner(reduce);
      (combiner.isSimple() ? hasPlaces : hasRegions) = true;
      if (!combiner.isSimple())
        bytesOfBlock += combiner.accumulatorBytes();
    }
    if (hasRegions)
      blocks = ReductionBlocks::of(space.allReduced());
    if (hasPlaces)
      dealOutPlaces();
    else
      dealOutBlocks();
    if (blocks)
      shareSums(bytesOfBlock);
  }

  /// Whether every lane has as many whole vectors as the others, few enough to
  /// be held.
  bool fitsRegisters() const {
    return places == group * lanes * vectors && length % places == 0 &&
           length / group <= mostElementsInRegisters;
  }
  /// Whether all that is read or computed stays in registers. What regions take
  /// is read in another order.
  bool holdsRow() const { return fitsRegisters() && isOneRun && !hasRegions; }
  int64_t rowsOfBlock() const { return threads / group; }

private:
  /// Warps are whole: shuffles and barriers are for all of their lanes.
  bool hasWholeWarps() const {
    return group >= threadsOfWarp || rows % (threadsOfWarp / group) == 0;
  }

  void dealOutPlaces() {
    places = reductionAccumulators(length) * reductionChunk;
    auto groupFor = [&](int64_t lanes) {
      return std::min<int64_t>(llvm::PowerOf2Ceil(places / lanes),
                               threadsOfWarp);
    };
    group = groupFor(lanes);
    while (!hasWholeWarps()) {
      lanes = std::max<int64_t>(lanes / 2, 1);
      group = lanes > 1 ? groupFor(lanes) : threadsOfWarp;
    }
    vectors = llvm::divideCeil(places, group * lanes);
  }

  void dealOutBlocks() {
    group = 1;
    if (blocks) {
      const int64_t most =
          std::min<int64_t>(llvm::PowerOf2Ceil(blocks->count()), mostThreads);
      while (group < most &&
             (group < fewestLanesOfRegions || rows * group < manyThreads))
        group *= 2;
      while (!hasWholeWarps())
        group *= 2;
    }
    vectors = 1;
    places = group * lanes;
  }

  void shareSums(int64_t bytesOfBlock) {
    if (group > threadsOfWarp)
      threads = group;
    auto bytes = [&] { return rowsOfBlock() * blocks->count() * bytesOfBlock; };
    while (bytes() > mostStaticSharedBytes &&
           threads > std::max(group, threadsOfWarp))
      threads /= 2;
    sharedBytes = bytes();
  }
};

class GroupRowKernel : RowKernel {
public:
  GroupRowKernel(const KernelSource &source, func::FuncOp function,
                 const LaunchShape &launch, const GpuInstructions &instructions)
      : RowKernel(source, function, launch, instructions), tiling(source) {
    algebra.lanes = tiling.lanes;
    lane = algebra.mod(thread, tiling.group);
    IndexExpression number =
        block * tiling.rowsOfBlock() + algebra.floorDiv(thread, tiling.group);
    ifBelow(number, tiling.rows, [&](const IndexExpression &own) {
      row = algebra.delinearize(own, space.kept());
      first = vectorAt(lane * tiling.lanes, tiling.group * tiling.lanes);
      emitRow();
    });
  }

private:
  /// The pass in which a result of the space is written.
  unsigned passOf(unsigned result) {
    return tiling.holdsRow() ? source.kernel.level(resultValue(result))
                             : passes - 1;
  }

  void emitRow() {
    for (unsigned pass = 0; pass < passes; ++pass)
      emitPass(pass);
    if (!hasResultsOfRow())
      return;
    awaitReaders();
    ifBelow(lane, 1, [&](const IndexExpression &) { storeOfRow(); });
  }

  /// What other lanes of the row have written is there behind it.
  void awaitRow() {
    if (tiling.group > threadsOfWarp)
      awaitBlock();
    else if (tiling.group > 1)
      awaitWarp();
  }
  /// Other lanes may still read what one of them overwrites.
  void awaitReaders() {
    if (llvm::any_of(llvm::seq(source.body->getNumArguments()),
                     [&](unsigned operand) { return isWritten(operand); }))
      awaitRow();
  }

  void emitPass(unsigned pass) {
    SmallVector<Combiner> combiners;
    for (const Combiner &combiner : combinersOf(pass))
      if (combiner.isSimple())
        combiners.push_back(combiner);
      else
        reduceByRegion(combiner);
    SmallVector<unsigned> written;
    for (unsigned i = 0; i < results.size(); ++i)
      if (isFull(i) && passOf(i) == pass)
        written.push_back(i);
    if (combiners.empty() && written.empty())
      return;
    Values sums;
    for (const Combiner &combiner : combiners)
      sums.append(tiling.vectors,
                  points.asVector({combiner.start(*this).front(), 0}));
    sums = forSpace(space.outerReduced(), sums,
                    [&](const Indices &outer, ValueRange carried) {
                      return emitRun(written, outer, combiners, carried);
                    });
    for (auto [i, combiner] : llvm::enumerate(combiners))
      combiner.provide(
          *this,
          {collapse(combiner,
                    ArrayRef(sums).slice(i * tiling.vectors, tiling.vectors),
                    tiling.lanes, tiling.group, tiling.places)});
  }

  /// The run of reduced dimensions at the end. Sums are by reduction, then by
  /// vector.
  Values emitRun(ArrayRef<unsigned> written, ArrayRef<IndexExpression> outer,
                 ArrayRef<Combiner> combiners, ValueRange carried) {
    Values sums(carried);
    auto emitVector = [&](const IndexExpression &position,
                          MutableArrayRef<Value> own) {
      Indices reduced(outer.begin(), outer.end());
      llvm::append_range(
          reduced, algebra.delinearize(position, space.trailingReduced()));
      emitVectorAt(written, reduced, combiners, own);
    };
    for (int64_t vector = 0; vector < tiling.vectors; ++vector) {
      Values own;
      for (size_t i = 0; i < combiners.size(); ++i)
        own.push_back(sums[i * tiling.vectors + vector]);
      IndexExpression place = (lane + vector * tiling.group) * tiling.lanes;
      if (tiling.fitsRegisters()) {
        for (int64_t done = 0; done < tiling.length; done += tiling.places)
          emitVector(first + (done + vector * tiling.group * tiling.lanes),
                     own);
      } else {
        // Lanes without a place start behind the end.
        Value low = algebra.scalar(place);
        if (tiling.places % (tiling.group * tiling.lanes)) {
          Value exists = create<arith::CmpIOp>(arith::CmpIPredicate::ult, low,
                                               constantIndex(tiling.places));
          low = create<arith::SelectOp>(exists, low,
                                        constantIndex(tiling.length));
        }
        own = forLoop(
            low, constantIndex(tiling.length), tiling.places,
            {0, tiling.length - 1}, tiling.lanes,
            /*isLane=*/tiling.lanes > 1, own,
            [&](const IndexExpression &position, ValueRange held) {
              Values next(held);
              emitVector(position, next);
              return next;
            },
            double(llvm::divideCeil(tiling.length, tiling.places)));
      }
      for (size_t i = 0; i < combiners.size(); ++i)
        sums[i * tiling.vectors + vector] = own[i];
    }
    return sums;
  }

  /// All that happens at a vector. Everything is read before anything is
  /// stored.
  void emitVectorAt(ArrayRef<unsigned> written,
                    ArrayRef<IndexExpression> reduced,
                    ArrayRef<Combiner> combiners, MutableArrayRef<Value> sums) {
    SmallVector<Element> inputs;
    for (const Combiner &combiner : combiners)
      inputs.push_back(at(combiner.inputs.front(), reduced));
    storeFull(written, reduced);
    for (auto [combiner, input, sum] : llvm::zip(combiners, inputs, sums))
      sum = combiner.combine(*this, {sum}, {points.asVector(input)}).front();
  }

  /// The elements that a region takes: one, or those of a vector.
  SmallVector<Values> elementsAt(const Combiner &combiner,
                                 const Indices &reduced) {
    SmallVector<Values> elements(algebra.lanes);
    for (Value input : combiner.inputs) {
      Value all = points.asVector(at(input, reduced));
      for (auto [i, own] : llvm::enumerate(elements))
        own.push_back(algebra.lanes == 1
                          ? all
                          : Value(create<vector::ExtractOp>(all, i)));
    }
    return elements;
  }

  /// Adds them up, one behind the other.
  Values addUp(const Combiner &combiner, ArrayRef<Values> elements,
               Values sums) {
    const int64_t lanes = std::exchange(algebra.lanes, 1);
    for (const Values &element : elements)
      sums = combiner.combine(*this, sums, element);
    algebra.lanes = lanes;
    return sums;
  }

  void reduceByRegion(const Combiner &combiner) {
    const int64_t lanes = std::exchange(algebra.lanes, 1);
    const Values starts = combiner.start(*this);
    if (tiling.blocks) {
      combiner.provide(*this, addUpBlocks(combiner, starts));
    } else {
      combiner.provide(*this,
                       forSpace(space.allReduced(), starts,
                                [&](const Indices &reduced, ValueRange sums) {
                                  return addUp(combiner,
                                               elementsAt(combiner, reduced),
                                               Values(sums));
                                }));
      awaitReaders();
    }
    algebra.lanes = lanes;
  }

  Values addUpBlocks(const Combiner &combiner, const Values &starts) {
    const ReductionBlocks &blocks = *tiling.blocks;
    const int64_t count = blocks.count();
    SmallVector<Buffer> shared;
    for (unsigned i = 0; i < combiner.inputs.size(); ++i)
      shared.push_back(sharedMemory(tiling.rowsOfBlock() * count,
                                    combiner.accumulatorType(i)));
    const IndexExpression firstOfRow =
        algebra.floorDiv(thread, tiling.group) * count;
    forLoop(
        algebra.scalar(lane), constantIndex(count), tiling.group,
        {0, count - 1}, 1, /*isLane=*/false,
        [&](const IndexExpression &number) {
          const Values sums = sumOfBlock(combiner, number);
          for (auto [buffer, sum] : llvm::zip(shared, sums))
            points.store(buffer, firstOfRow + number, {sum, levels.current()});
        },
        double(llvm::divideCeil(count, tiling.group)));
    awaitRow();
    return forRange(
        count, starts, [&](const IndexExpression &number, ValueRange sums) {
          Values own;
          for (const Buffer &buffer : shared)
            own.push_back(points.load(buffer, firstOfRow + number).value);
          return combiner.joinAll(*this, Values(sums), own);
        });
  }

  Values sumOfBlock(const Combiner &combiner, const IndexExpression &number) {
    const ReductionBlocks &blocks = *tiling.blocks;
    const BlockRows rows(*this, blocks, number);
    algebra.lanes =
        blocks.within.empty() ? std::min(tiling.lanes, blocks.run) : 1;
    const Values sums = rows.fromFirst(
        [&](const Indices &row) {
          SmallVector<Values> elements = elementsAt(combiner, row);
          return addUp(combiner, ArrayRef(elements).drop_front(),
                       elements.front());
        },
        [&](const Indices &row, ValueRange sums) {
          return addUp(combiner, elementsAt(combiner, row), Values(sums));
        },
        algebra.lanes);
    algebra.lanes = 1;
    return sums;
  }

  const RowTiling tiling;
  IndexExpression lane;
  /// The lane's first vector, one variable for all passes: what is computed at
  /// an index is known by it.
  IndexExpression first;
};

} // namespace

bool areHeldByLanes(const KernelSource &source) {
  return RowTiling(source).holdsRow();
}

bool RowSchedule::accepts(const KernelSource &source) const {
  return source.kernelClass == KernelClass::row &&
         RowTiling(source).sharedBytes <= mostStaticSharedBytes;
}

LaunchShape RowSchedule::launchShape(const KernelSource &source) const {
  RowTiling tiling(source);
  return {.parts = int64_t(llvm::divideCeil(tiling.rows, tiling.rowsOfBlock())),
          .threads = tiling.threads,
          .sharedBytes = tiling.sharedBytes};
}

EmittedLoops RowSchedule::emit(const KernelSource &source, ModuleOp module,
                               StringRef name, unsigned) const {
  return emitAs<GroupRowKernel>(source, module, name);
}

} // namespace tenon::codegen
