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
// Example: f32 rows of 768. A vector is 4 elements, 16 lanes have 64 places, a
// warp has two rows, a lane reads 12 vectors.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "RowKernel.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 256;
/// Elements of a row that a lane holds in registers, per tensor.
constexpr int64_t mostElementsInRegisters = 64;

/// How a row is dealt out to lanes.
struct RowTiling {
  int64_t rows, length; // the reduced dimensions at the end
  int64_t places;       // accumulators times elements of a chunk
  int64_t lanes;        // elements of a vector
  int64_t group;        // lanes of the warp that have a row
  int64_t vectors;      // of a lane, for all places
  bool isOneRun;        // no dimension further out is reduced, too

  explicit RowTiling(const KernelSource &source) {
    const ReductionSpace &space = *source.kernel.space();
    rows = elementCount(space.kept());
    length = elementCount(space.trailingReduced());
    places = reductionAccumulators(length) * reductionChunk;
    lanes = longestVector(source, elementCount(space.extents));
    while (length % lanes)
      lanes /= 2;
    group = groupFor(lanes);
    // Warps are whole: shuffles are for all of their lanes.
    while (rows % (threadsOfWarp / group)) {
      lanes = std::max<int64_t>(lanes / 2, 1);
      group = lanes > 1 ? groupFor(lanes) : threadsOfWarp;
    }
    vectors = llvm::divideCeil(places, group * lanes);
    isOneRun = space.outerReduced().empty();
  }

  /// Whether every lane has as many whole vectors as the others, few enough to
  /// be held.
  bool fitsRegisters() const {
    return places == group * lanes * vectors && length % places == 0 &&
           length / group <= mostElementsInRegisters;
  }
  /// Whether all that is read or computed stays in registers.
  bool holdsRow() const { return fitsRegisters() && isOneRun; }
  int64_t rowsOfBlock() const { return threadsPerBlock / group; }

private:
  int64_t groupFor(int64_t lanes) const {
    return std::min<int64_t>(llvm::PowerOf2Ceil(places / lanes), threadsOfWarp);
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
    // Other lanes may still read what one of them overwrites.
    if (llvm::any_of(llvm::seq(source.body->getNumArguments()),
                     [&](unsigned operand) { return isWritten(operand); }))
      awaitWarp();
    ifBelow(lane, 1, [&](const IndexExpression &) { storeOfRow(); });
  }

  void emitPass(unsigned pass) {
    SmallVector<Combiner> combiners = combinersOf(pass);
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
  return isRowKernel(source);
}

LaunchShape RowSchedule::launchShape(const KernelSource &source) const {
  RowTiling tiling(source);
  return {.parts = int64_t(llvm::divideCeil(tiling.rows, tiling.rowsOfBlock())),
          .threads = threadsPerBlock};
}

EmittedLoops RowSchedule::emit(const KernelSource &source, ModuleOp module,
                               StringRef name, unsigned) const {
  return emitAs<GroupRowKernel>(source, module, name);
}

} // namespace tenon::codegen
