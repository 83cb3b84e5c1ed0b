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
// Example: bf16 rows of 768. A vector is 8 elements, a lane has 3; what is
// summed are f32, two pieces per vector, and a place is 12 elements.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "RowStaging.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 256;
constexpr int64_t warpsOfBlock = threadsPerBlock / threadsOfWarp;
/// Elements of a lane, and registers for those of all tensors that it holds.
constexpr int64_t mostElements = 48, mostRegisters = 96;

/// Registers for an element of each value that a pass computes or reads and a
/// later one needs.
int64_t heldRegisters(const KernelSource &source) {
  const KernelDescription &kernel = source.kernel;
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
    for (Value result : source.results())
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

/// How rows are dealt out to warps.
struct WarpRowTiling {
  int64_t rows, length;
  int64_t lanes;           // elements of a vector
  int64_t vectors = 0;     // of a lane; 0 if they are not the same for all
  int64_t stagedBytes = 0; // for a row

  explicit WarpRowTiling(const KernelSource &source) {
    const ReductionSpace &space = *source.kernel.space();
    rows = elementCount(space.kept());
    length = elementCount(space.trailingReduced());
    lanes = longestVector(source, elementCount(space.extents));
    if (length % (threadsOfWarp * lanes) == 0 && length % placesOfRow == 0)
      vectors = length / (threadsOfWarp * lanes);
    for (stablehlo::ReduceOp reduce : source.kernel.reductions())
      if (Combiner combiner(reduce); !combiner.isOrderFree())
        stagedBytes =
            std::max(stagedBytes, RowStaging(combiner, length, lanes).bytes());
    stagedBytes = llvm::alignTo(stagedBytes, bytesOfAccess);
  }
  int64_t sharedBytes() const { return stagedBytes * warpsOfBlock; }
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
      staged = tiles.sharedMemory(tiling.sharedBytes());
    ifBelow(block * warpsOfBlock + warp, tiling.rows,
            [&](const IndexExpression &own) {
              row = algebra.delinearize(own, space.kept());
              if (tiling.stagedBytes)
                staged = tiles.addressAt(staged, warp * tiling.stagedBytes);
              first =
                  vectorAt(lane * tiling.lanes, threadsOfWarp * tiling.lanes);
              for (unsigned pass = 0; pass < passes; ++pass)
                emitPass(pass);
              if (areAllFull())
                return;
              // Other lanes may still read what one of them overwrites.
              awaitWarp();
              ifBelow(lane, 1, [&](const IndexExpression &) { storeOfRow(); });
            });
  }

private:
  Indices reducedAt(int64_t vector) {
    return algebra.delinearize(first + vector * threadsOfWarp * tiling.lanes,
                               space.trailingReduced());
  }

  void emitPass(unsigned pass) {
    SmallVector<Combiner> combiners = combinersOf(pass);
    SmallVector<unsigned> written;
    for (unsigned i = 0; i < results.size(); ++i)
      if (isFull(i) && source.kernel.level(resultValue(i)) == pass)
        written.push_back(i);
    SmallVector<Values> inputs(combiners.size());
    for (int64_t vector = 0; vector < tiling.vectors; ++vector) {
      const Indices reduced = reducedAt(vector);
      // Everything is read before anything is stored.
      for (auto [combiner, own] : llvm::zip(combiners, inputs))
        own.push_back(points.asVector(at(combiner.inputs.front(), reduced)));
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
  /// The warp's part of shared memory, and whether it has been used.
  Value staged;
  bool isUsed = false;
};

} // namespace

bool WarpRowSchedule::accepts(const KernelSource &source) const {
  if (!hasLongRows(source))
    return false;
  const WarpRowTiling tiling(source);
  return tiling.vectors > 0 && tiling.vectors * tiling.lanes <= mostElements &&
         tiling.sharedBytes() <= mostStaticSharedBytes &&
         heldRegisters(source) * tiling.vectors * tiling.lanes <= mostRegisters;
}

LaunchShape WarpRowSchedule::launchShape(const KernelSource &source) const {
  const WarpRowTiling tiling(source);
  return {.parts = int64_t(llvm::divideCeil(tiling.rows, warpsOfBlock)),
          .threads = threadsPerBlock,
          .sharedBytes = tiling.sharedBytes()};
}

EmittedLoops WarpRowSchedule::emit(const KernelSource &source, ModuleOp module,
                                   StringRef name, unsigned) const {
  return emitAs<WarpRowKernel>(source, module, name);
}

} // namespace tenon::codegen
