//===- WarpRowSchedule.cpp - Rows that a warp holds in registers ----------===//
//
// Rows too long for the few lanes that have the places of a sum side by side
// (RowSchedule.cpp), but not for the registers of a whole warp: what is read or
// computed at an element stays there for all passes, and memory is read once.
//
// A lane has every 32nd vector of the row, so the elements of one place are
// spread over lanes. What a sum takes goes through shared memory: each lane
// stores its vectors there, and then sums two places, each in its order. A
// maximum is the same in any order, so lanes take theirs of their own elements.
//
// Where a kernel sums over leading dimensions, too (Analysis/SummingKernel.h),
// a block has all rows that are summed to one, and each of its warps a block of
// the order (a) of Analysis/ReductionTree.h: it walks these rows one after
// another and adds up its elements in registers. At the end the warps' sums go
// through shared memory, and a thread adds up those of its columns.
//
// Example: bf16 rows of 768. A vector is 8 elements, a lane has 3; what is
// summed are f32, two pieces per vector, and a place is 12 elements.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "RowStaging.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 256;
constexpr int64_t warpsOfBlock = threadsPerBlock / threadsOfWarp;
/// Elements of a lane, and registers for those of all tensors that it holds.
constexpr int64_t mostElements = 48, mostRegisters = 96;

/// Registers for an element of each value that a pass computes or reads and a
/// later one needs.
int64_t heldRegisters(const KernelDescription &kernel) {
  llvm::SmallDenseMap<Value, unsigned> firstPass;
  llvm::SmallDenseSet<Value> held;
  std::function<void(Value, unsigned)> need = [&](Value value, unsigned pass) {
    Operation *op = value.getDefiningOp();
    // One number for the row, or none to keep.
    if (!kernel.isFull(value) || (op && op->hasTrait<OpTrait::ConstantLike>()))
      return;
    auto [first, isNew] = firstPass.try_emplace(value, pass);
    if (!isNew) {
      if (first->second < pass)
        held.insert(value);
      return;
    }
    if (op)
      for (Value operand : op->getOperands())
        need(operand, pass);
  };
  const RowPasses plan = kernel.passes();
  for (unsigned pass = 0; pass <= plan.reductions.size(); ++pass) {
    if (pass < plan.reductions.size())
      for (stablehlo::ReduceOp reduce : plan.reductions[pass])
        need(reduce.getInputs().front(), pass);
    for (Value result : kernel.results())
      if (kernel.level(result) == pass)
        need(result, pass);
  }
  int64_t registers = 0;
  for (Value value : held) {
    auto spread = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
    if (!spread || !kernel.isKept(spread.getOperand()))
      registers += llvm::divideCeil(bytesOf(elementOf(value)), 4);
  }
  return registers;
}

/// With sums: warps of a block, registers of a lane for what is held and summed
/// up, and blocks that keep a GPU busy.
constexpr int64_t mostSummingWarps = 8, mostSummingRegisters = 160,
                  fewestSummingBlocks = 128;

/// How rows are dealt out to warps.
struct WarpRowTiling {
  int64_t rows, length;
  int64_t lanes;           // elements of a vector
  int64_t vectors = 0;     // of a lane; 0 if they are not the same for all
  int64_t stagedBytes = 0; // for a row

  explicit WarpRowTiling(const KernelSource &source)
      : WarpRowTiling(source, SummingKernel::of(source.kernel)) {}
  WarpRowTiling(const KernelSource &source,
                const std::optional<SummingKernel> &summing) {
    const KernelDescription &kernel = summing ? summing->inner : source.kernel;
    const ReductionSpace &space = *kernel.space();
    rows = elementCount(space.kept());
    length = elementCount(space.trailingReduced());
    lanes = longestVector(source, elementCount(space.extents));
    if (length % (threadsOfWarp * lanes) == 0 && length % placesOfRow == 0)
      vectors = length / (threadsOfWarp * lanes);
    for (stablehlo::ReduceOp reduce : kernel.reductions())
      if (Combiner combiner(reduce); !combiner.isOrderFree())
        stagedBytes =
            std::max(stagedBytes, RowStaging(combiner, length, lanes).bytes());
    if (summing) {
      for (stablehlo::ReduceOp sum : summing->sums)
        stagedBytes = std::max(
            stagedBytes, RowStaging(Combiner(sum), length, lanes).bytes());
      findSummedRows(ReductionSpace(summing->sums.front()));
    }
    stagedBytes = llvm::alignTo(stagedBytes, bytesOfAccess);
  }

  int64_t warps() const { return summed ? summedWarps : warpsOfBlock; }
  int64_t blocks() const {
    return summed ? elementCount(keptRows)
                  : int64_t(llvm::divideCeil(rows, warpsOfBlock));
  }
  int64_t sharedBytes() const { return stagedBytes * warps(); }

  /// With sums: the blocks of their order, of which each warp has one, and the
  /// dimensions of rows that are not summed over.
  std::optional<ReductionBlocks> summed;
  int64_t summedWarps = 0;
  SmallVector<int64_t> keptRows;

private:
  void findSummedRows(const ReductionSpace &space) {
    const SmallVector<int64_t> reduced = space.allReduced();
    summed = ReductionBlocks::of(reduced);
    if (summed)
      summedWarps = summed->count();
    int64_t columns = 1;
    ArrayRef<int64_t> kept = space.extents;
    kept = kept.drop_front(reduced.size());
    while (columns < length) {
      columns *= kept.back();
      kept = kept.drop_back();
    }
    keptRows.assign(kept.begin(), kept.end());
  }
};

/// A sum over leading dimensions, and which result it is.
struct ColumnSum {
  unsigned result;
  unsigned pass; // of a row, in which it takes the row's elements
  Combiner combiner;
};

class WarpRowKernel : RowKernel {
public:
  WarpRowKernel(const KernelSource &source, func::FuncOp function,
                const LaunchShape &launch, const GpuInstructions &instructions)
      : RowKernel(source, function, launch, instructions), tiling(source) {
    algebra.lanes = tiling.lanes;
    lane = algebra.mod(thread, threadsOfWarp);
    warp = algebra.floorDiv(thread, threadsOfWarp);
    if (tiling.stagedBytes)
      staged = shared = tiles.sharedMemory(tiling.sharedBytes());
    if (tiling.summed)
      emitSummed();
    else
      ifBelow(block * warpsOfBlock + warp, tiling.rows,
              [&](const IndexExpression &own) {
                findStaged();
                emitRow(algebra.delinearize(own, space.kept()));
              });
  }

private:
  void findStaged() {
    if (tiling.stagedBytes)
      staged = tiles.addressAt(shared, warp * tiling.stagedBytes);
  }

  void emitRow(const Indices &own) {
    row = own;
    first = vectorAt(lane * tiling.lanes, threadsOfWarp * tiling.lanes);
    for (unsigned pass = 0; pass < passes; ++pass)
      emitPass(pass);
    if (!hasResultsOfRow())
      return;
    // Other lanes may still read what one of them overwrites.
    awaitWarp();
    ifBelow(lane, 1, [&](const IndexExpression &) { storeOfRow(); });
  }

  /// The rows of a block of the order, and what the block has summed up.
  void emitSummed() {
    for (unsigned i = 0; i < results.size(); ++i)
      if (summing->isSum(resultValue(i))) {
        auto sum = cast<stablehlo::ReduceOp>(resultValue(i).getDefiningOp());
        sums.push_back({i, summing->passOf(sum), Combiner(sum)});
      }
    findStaged();
    const Indices kept = algebra.delinearize(block, tiling.keptRows);
    Values starts;
    for (const ColumnSum &sum : sums)
      starts.append(tiling.vectors, startOf(sum));
    const Values own = sumRows(kept, starts);
    for (auto [number, sum] : llvm::enumerate(sums))
      joinWarps(sum, kept,
                ArrayRef(own).slice(number * tiling.vectors, tiling.vectors));
  }

  Value startOf(const ColumnSum &sum) {
    return points.asVector({sum.combiner.start(*this).front(), 0});
  }

  Values sumRows(const Indices &kept, const Values &starts) {
    const BlockRows rows(*this, *tiling.summed, warp);
    return rows.forEach(starts, [&](const Indices &row, ValueRange carried) {
      Indices own = row;
      llvm::append_range(own, kept);
      soFar.assign(carried.begin(), carried.end());
      // The row before may still be there.
      isUsed = true;
      emitRow(own);
      return soFar;
    });
  }

  /// Adds up the warps' sums, in the order of the warps.
  void joinWarps(const ColumnSum &sum, const Indices &kept,
                 ArrayRef<Value> own) {
    const RowStaging staging(sum.combiner, tiling.length, tiling.lanes);
    awaitBlock();
    for (auto [vector, value] : llvm::enumerate(own))
      staging.store(tiles, *this, staged,
                    lane + int64_t(vector) * threadsOfWarp, value);
    awaitBlock();
    const int64_t vectors = tiling.length / tiling.lanes;
    for (int64_t done = 0; done < vectors; done += launch.threads)
      ifBelow(thread + done, vectors, [&](const IndexExpression &vector) {
        Value all = startOf(sum);
        for (int64_t each = 0; each < tiling.summedWarps; ++each)
          all = sum.combiner.join(
              *this, all,
              staging.load(
                  tiles, *this,
                  tiles.addressAt(shared,
                                  IndexExpression(each * tiling.stagedBytes)),
                  vector));
        sum.combiner.provide(*this, {all});
        Indices indices = kept;
        llvm::append_range(
            indices,
            algebra.delinearize(vectorAt(vector * tiling.lanes, tiling.length),
                                space.trailingReduced()));
        indices = withUnitDimensions(results[sum.result].shape, indices);
        storeResult(sum.result, indices,
                    points.at(resultValue(sum.result), indices));
      });
  }

  Indices reducedAt(int64_t vector) {
    return algebra.delinearize(first + vector * threadsOfWarp * tiling.lanes,
                               space.trailingReduced());
  }

  void emitPass(unsigned pass) {
    SmallVector<Combiner> combiners = combinersOf(pass);
    SmallVector<unsigned> written;
    for (unsigned i = 0; i < results.size(); ++i)
      if (isFull(i) && kernel.level(resultValue(i)) == pass)
        written.push_back(i);
    SmallVector<Values> inputs(combiners.size());
    for (int64_t vector = 0; vector < tiling.vectors; ++vector) {
      const Indices reduced = reducedAt(vector);
      // Everything is read before anything is stored.
      for (auto [combiner, own] : llvm::zip(combiners, inputs))
        own.push_back(points.asVector(at(combiner.inputs.front(), reduced)));
      for (auto [number, sum] : llvm::enumerate(sums)) {
        if (sum.pass != pass)
          continue;
        Value &all = soFar[number * tiling.vectors + vector];
        Value element =
            points.asVector(at(sum.combiner.inputs.front(), reduced));
        all = sum.combiner.combine(*this, {all}, {element}).front();
      }
      storeFull(written, reduced);
    }
    for (auto [combiner, own] : llvm::zip(combiners, inputs))
      combiner.provide(*this,
                       {combiner.isOrderFree() ? combineOwn(combiner, own)
                                               : sumPlaces(combiner, own)});
  }

  /// In any order.
  Value combineOwn(const Combiner &combiner, ArrayRef<Value> inputs) {
    Value all = points.asVector({combiner.start(*this).front(), 0});
    for (Value input : inputs)
      all = combiner.combine(*this, {all}, {input}).front();
    return joinOfWarp(combiner, joinOfVector(combiner, all));
  }

  /// Through shared memory.
  Value sumPlaces(const Combiner &combiner, ArrayRef<Value> inputs) {
    const RowStaging staging(combiner, tiling.length, tiling.lanes);
    if (isUsed)
      awaitWarp();
    isUsed = true;
    for (auto [vector, input] : llvm::enumerate(inputs))
      staging.store(tiles, *this, staged,
                    lane + int64_t(vector) * threadsOfWarp, input);
    awaitWarp();
    Values sums;
    for (int64_t first = 0; first < placesOfRow; first += threadsOfWarp)
      sums.push_back(staging.add(
          tiles, *this, staging.addressOf(tiles, *this, staged, lane + first),
          0, tiling.length / placesOfRow, combiner.start(*this).front()));
    return collapse(combiner, sums, 1, threadsOfWarp, placesOfRow);
  }

  const WarpRowTiling tiling;
  IndexExpression lane, warp;
  /// The lane's first vector, one variable for all passes.
  IndexExpression first;
  SharedTiles tiles{*this};
  /// Shared memory, the warp's part of it, and whether that has been used.
  Value shared, staged;
  bool isUsed = false;
  /// Sums over leading dimensions, and those of the rows so far: the lane's
  /// vectors of each.
  SmallVector<ColumnSum> sums;
  Values soFar;
};

} // namespace

/// Whether the lanes hold what they sum up, too, and there are enough blocks.
static bool maySum(const SummingKernel &summing, const WarpRowTiling &tiling,
                   int64_t held) {
  if (!tiling.summed || tiling.summedWarps > mostSummingWarps ||
      tiling.blocks() < fewestSummingBlocks || !areSimple(summing.sums))
    return false;
  int64_t registers = held;
  for (stablehlo::ReduceOp sum : summing.sums) {
    const Combiner combiner(sum);
    Type accumulated = combiner.accumulatorType(0);
    // They go the way of what sums of rows take.
    if (accumulated != elementOf(combiner.inputs.front()))
      return false;
    registers += tiling.vectors * tiling.lanes *
                 llvm::divideCeil(bytesOf(accumulated), 4);
  }
  return registers <= mostSummingRegisters;
}

bool WarpRowSchedule::accepts(const KernelSource &source) const {
  const auto summing = SummingKernel::of(source.kernel);
  if (summing ? !summing->isInRows() || !areSimple(summing->inner.reductions())
              : !hasLongRows(source))
    return false;
  const WarpRowTiling tiling(source, summing);
  const int64_t elements = tiling.vectors * tiling.lanes,
                held = elements *
                       heldRegisters(summing ? summing->inner : source.kernel);
  return tiling.vectors > 0 && elements <= mostElements &&
         tiling.sharedBytes() <= mostStaticSharedBytes &&
         held <= mostRegisters && (!summing || maySum(*summing, tiling, held));
}

LaunchShape WarpRowSchedule::launchShape(const KernelSource &source) const {
  const WarpRowTiling tiling(source);
  return {.parts = tiling.blocks(),
          .threads = tiling.warps() * threadsOfWarp,
          .sharedBytes = tiling.sharedBytes()};
}

EmittedLoops WarpRowSchedule::emit(const KernelSource &source, ModuleOp module,
                                   StringRef name, unsigned) const {
  return emitAs<WarpRowKernel>(source, module, name);
}

} // namespace tenon::codegen
