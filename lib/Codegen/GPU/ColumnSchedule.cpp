//===- ColumnSchedule.cpp - One accumulator per result element ------------===//
//
// Reductions that keep the last dimension (bias and scale gradients), in order
// (a) of Analysis/ReductionTree.h. A block of threads has a few vectors of
// neighbouring columns. Its threads sum the blocks of that order side by side,
// each of them in the order of its rows, and leave the sums in shared memory;
// then one thread per vector adds these up one after another, as the order
// says, and computes the results.
//
// Few elements have no blocks: one thread per vector sums them in order.
//
// The same of sums beside elements (Analysis/SummingKernel.h): a thread stores
// what it computes of an element where it takes it into a sum.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Analysis/SummingKernel.h"
#include "tenon/Codegen/Loops/ReduceTree.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t mostThreads = 512;
constexpr int64_t mostSharedBytes = 48 << 10;
/// Vectors of columns that a block of threads has. One of them is half a sector
/// of memory, so two are the least.
constexpr int64_t mostVectors = 8, fewestVectors = 2;
/// The same where elements are stored: as in element-wise kernels there are
/// many columns, and blocks are to have many threads.
constexpr int64_t mostStoringVectors = 64;
/// Blocks that keep a GPU busy.
constexpr int64_t manyBlocks = 256;

/// The reductions over columns, and whether elements are stored beside them.
struct ColumnSums {
  SmallVector<stablehlo::ReduceOp, 2> reductions;
  bool areBeside = false;

  explicit ColumnSums(const KernelSource &source) {
    if (source.kernelClass == KernelClass::column) {
      reductions.assign(source.kernel.reductions().begin(),
                        source.kernel.reductions().end());
    } else if (auto summing = SummingKernel::of(source.kernel);
               summing && !summing->isInRows()) {
      reductions = std::move(summing->sums);
      areBeside = true;
    }
  }
  ReductionSpace space() const { return ReductionSpace(reductions.front()); }
  bool contains(Operation *op) const {
    return llvm::is_contained(reductions, op);
  }
};

/// How the columns are dealt out.
struct ColumnTiling {
  int64_t columns;     // neighbouring ones
  int64_t lanes;       // columns of a vector
  int64_t vectors = 1; // of a block of threads
  int64_t sums = 1;    // threads that sum blocks of rows side by side
  int64_t rowBlocks = 1;
  int64_t outer; // indices of kept dimensions further out
  int64_t sharedBytes = 0;
  std::optional<ReductionBlocks> blocks;

  explicit ColumnTiling(const KernelSource &source)
      : ColumnTiling(source, ColumnSums(source)) {}
  ColumnTiling(const KernelSource &source, const ColumnSums &found) {
    const ReductionSpace space = found.space();
    columns = elementCount(space.trailingKept());
    outer = elementCount(space.outerKept());
    lanes = longestVector(source, elementCount(space.extents));
    while (columns % lanes)
      lanes /= 2;
    blocks = ReductionBlocks::of(space.allReduced());
    int64_t whole = columns / lanes;
    if (!blocks) {
      vectors = threadsOfWarp;
      return;
    }
    rowBlocks = blocks->count();
    int64_t bytes = 0;
    for (stablehlo::ReduceOp reduce : found.reductions)
      bytes += Combiner(reduce).accumulatorBytes();
    auto shared = [&] { return rowBlocks * vectors * lanes * bytes; };
    vectors = found.areBeside ? mostStoringVectors : mostVectors;
    while (vectors > fewestVectors &&
           (shared() > mostSharedBytes ||
            outer * llvm::divideCeil(whole, vectors) < manyBlocks))
      vectors /= 2;
    sharedBytes = shared();
    sums = std::clamp<int64_t>(llvm::PowerOf2Ceil(rowBlocks),
                               std::max<int64_t>(threadsOfWarp / vectors, 1),
                               mostThreads / vectors);
  }

  int64_t threads() const { return vectors * sums; }
  int64_t blocksOfColumns() const {
    return llvm::divideCeil(columns / lanes, vectors);
  }
  int64_t outerBlocks() const { return outer * blocksOfColumns(); }
};

class ColumnKernel : GpuKernelBuilder {
public:
  ColumnKernel(const KernelSource &source, func::FuncOp function,
               const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions), found(source),
        tiling(source, found), space(found.space()) {
    for (stablehlo::ReduceOp reduce : found.reductions)
      combiners.emplace_back(reduce);
    for (unsigned i = 0; i < results.size(); ++i) {
      const bool isOfColumns =
          !found.areBeside || found.contains(resultValue(i).getDefiningOp());
      (isOfColumns ? ofColumns : ofElements).push_back(i);
    }
    emit();
  }

private:
  void emit() {
    algebra.lanes = tiling.lanes;
    const int64_t blocksOfColumns = tiling.blocksOfColumns();
    outer = algebra.delinearize(algebra.floorDiv(block, blocksOfColumns),
                                space.outerKept());
    IndexExpression inBlock = algebra.mod(thread, tiling.vectors);
    IndexExpression vector =
        algebra.mod(block, blocksOfColumns) * tiling.vectors + inBlock;
    IndexExpression summer = algebra.floorDiv(thread, tiling.vectors);
    const int64_t vectors = tiling.columns / tiling.lanes;
    if (!tiling.blocks) {
      ifBelow(vector, vectors, [&](const IndexExpression &own) {
        emitResults(kept(own),
                    forSpace(space.allReduced(), starts(),
                             [&](const Indices &row, ValueRange sums) {
                               return addRow(kept(own), row, sums);
                             }));
      });
      return;
    }
    for (const Combiner &combiner : combiners)
      for (unsigned i = 0; i < combiner.inputs.size(); ++i)
        partial.push_back(
            sharedMemory(elementsOfPartial(), combiner.accumulatorType(i)));
    ifBelow(vector, vectors, [&](const IndexExpression &own) {
      forLoop(
          algebra.scalar(summer), constantIndex(tiling.rowBlocks), tiling.sums,
          {0, tiling.rowBlocks - 1}, 1, /*isLane=*/false,
          [&](const IndexExpression &rowBlock) {
            Values sums = sumBlock(kept(own), rowBlock);
            for (auto [buffer, sum] : llvm::zip(partial, sums))
              storePartial(buffer, rowBlock, inBlock, sum);
          },
          double(llvm::divideCeil(tiling.rowBlocks, tiling.sums)));
    });
    awaitBlock();
    ifBelow(summer, 1, [&](const IndexExpression &) {
      ifBelow(vector, vectors, [&](const IndexExpression &own) {
        emitResults(
            kept(own),
            forRange(tiling.rowBlocks, starts(),
                     [&](const IndexExpression &rowBlock, ValueRange sums) {
                       Values behind;
                       for (const Buffer &buffer : partial)
                         behind.push_back(
                             loadPartial(buffer, rowBlock, inBlock));
                       Values next;
                       forCombiners([&](const Combiner &combiner, size_t first,
                                        size_t count) {
                         llvm::append_range(
                             next, combiner.joinAll(
                                       *this, Values(sums.slice(first, count)),
                                       ArrayRef(behind).slice(first, count)));
                       });
                       return next;
                     }));
      });
    });
  }

  int64_t elementsOfPartial() const {
    return tiling.rowBlocks * tiling.vectors * tiling.lanes;
  }
  /// Calls `body` for the pieces of a vector of sums that fill an access, with
  /// where a piece begins in the vector and in shared memory, while that many
  /// lanes are emitted. Neighbouring threads have neighbouring pieces, so that
  /// none of them meet in a bank.
  void
  forPieces(const Buffer &buffer, const IndexExpression &rowBlock,
            const IndexExpression &vector,
            llvm::function_ref<void(int64_t, const IndexExpression &)> body) {
    algebra.lanes =
        std::min(tiling.lanes, bytesOfAccess / bytesOf(buffer.elementType));
    const int64_t count = tiling.lanes / algebra.lanes;
    for (int64_t piece = 0; piece < count; ++piece)
      body(piece * algebra.lanes,
           vectorAt((rowBlock * tiling.vectors + vector +
                     piece * tiling.rowBlocks * tiling.vectors) *
                        algebra.lanes,
                    elementsOfPartial()));
    algebra.lanes = tiling.lanes;
  }

  void storePartial(const Buffer &buffer, const IndexExpression &rowBlock,
                    const IndexExpression &vector, Value sum) {
    forPieces(buffer, rowBlock, vector,
              [&](int64_t first, const IndexExpression &place) {
                Value piece = sum;
                if (algebra.lanes > 1)
                  piece = create<vector::ExtractStridedSliceOp>(
                      sum, ArrayRef<int64_t>{first},
                      ArrayRef<int64_t>{algebra.lanes}, ArrayRef<int64_t>{1});
                else if (tiling.lanes > 1)
                  piece = create<vector::ExtractOp>(sum, first);
                points.store(buffer, place, {piece, levels.current()});
              });
  }

  Value loadPartial(const Buffer &buffer, const IndexExpression &rowBlock,
                    const IndexExpression &vector) {
    Values elements;
    forPieces(buffer, rowBlock, vector,
              [&](int64_t, const IndexExpression &place) {
                Value piece = points.load(buffer, place).value;
                for (int64_t i = 0; i < algebra.lanes; ++i)
                  elements.push_back(
                      algebra.lanes == 1
                          ? piece
                          : Value(create<vector::ExtractOp>(piece, i)));
              });
    if (tiling.lanes == 1)
      return elements.front();
    return create<vector::FromElementsOp>(
        VectorType::get({tiling.lanes}, elements.front().getType()), elements);
  }

  Indices kept(const IndexExpression &vector) {
    Indices indices = outer;
    llvm::append_range(
        indices,
        algebra.delinearize(vectorAt(vector * tiling.lanes, tiling.columns),
                            space.trailingKept()));
    return indices;
  }

  /// For each reduction, with where its accumulators are and how many.
  void forCombiners(
      llvm::function_ref<void(const Combiner &, size_t, size_t)> body) const {
    size_t first = 0;
    for (const Combiner &combiner : combiners) {
      body(combiner, first, combiner.inputs.size());
      first += combiner.inputs.size();
    }
  }

  Values starts() {
    Values values;
    for (const Combiner &combiner : combiners)
      for (Value start : combiner.start(*this))
        values.push_back(points.asVector({start, 0}));
    return values;
  }

  /// The accumulators behind a row, which may be the first of a block.
  Values addRow(const Indices &kept, const Indices &row, ValueRange sums,
                bool isFirst = false) {
    Values next;
    Indices indices = mergeIndices(space, kept, row);
    forCombiners([&](const Combiner &combiner, size_t first, size_t count) {
      Values elements;
      for (Value input : combiner.inputs)
        elements.push_back(points.asVector(
            points.at(input, withUnitDimensions(shapeOf(input), indices))));
      llvm::append_range(
          next, isFirst
                    ? combiner.first(*this, elements)
                    : combiner.combine(*this, Values(sums.slice(first, count)),
                                       elements));
    });
    store(ofElements, indices);
    return next;
  }

  /// All rows of a block of the order, one after another.
  Values sumBlock(const Indices &kept, const IndexExpression &rowBlock) {
    const BlockRows rows(*this, *tiling.blocks, rowBlock);
    auto add = [&](const Indices &row, ValueRange sums) {
      return addRow(kept, row, sums);
    };
    if (areSimple(found.reductions))
      return rows.forEach(starts(), add);
    return rows.fromFirst(
        [&](const Indices &row) {
          return addRow(kept, row, {}, /*isFirst=*/true);
        },
        add);
  }

  void emitResults(const Indices &kept, ValueRange sums) {
    forCombiners([&](const Combiner &combiner, size_t first, size_t count) {
      combiner.provide(*this, Values(sums.slice(first, count)));
    });
    store(ofColumns, kept);
  }

  /// Computes these results at the indices before storing any.
  void store(ArrayRef<unsigned> written, const Indices &indices) {
    SmallVector<Indices, 4> places;
    SmallVector<Element> elements;
    for (unsigned i : written) {
      places.push_back(withUnitDimensions(results[i].shape, indices));
      elements.push_back(points.at(resultValue(i), places.back()));
    }
    for (auto [i, place, element] : llvm::zip(written, places, elements))
      storeResult(i, place, element);
  }

  const ColumnSums found;
  const ColumnTiling tiling;
  const ReductionSpace space;
  SmallVector<Combiner> combiners;
  /// The numbers of results per column, and of those per element.
  SmallVector<unsigned> ofColumns, ofElements;
  SmallVector<Buffer> partial; // of each accumulator
  Indices outer;
};

} // namespace

bool ColumnSchedule::accepts(const KernelSource &source) const {
  const ColumnSums found(source);
  if (found.reductions.empty())
    return false;
  const ColumnTiling tiling(source, found);
  return tiling.sharedBytes <= mostSharedBytes &&
         (!found.areBeside || tiling.outerBlocks() >= manyBlocks);
}

LaunchShape ColumnSchedule::launchShape(const KernelSource &source) const {
  ColumnTiling tiling(source);
  return {.parts = tiling.outerBlocks(),
          .threads = tiling.threads(),
          .sharedBytes = tiling.sharedBytes,
          .threadsAreApart = !tiling.blocks};
}

EmittedLoops ColumnSchedule::emit(const KernelSource &source, ModuleOp module,
                                  StringRef name, unsigned) const {
  return emitAs<ColumnKernel>(source, module, name);
}

} // namespace tenon::codegen
