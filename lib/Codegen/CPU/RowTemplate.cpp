//===- RowTemplate.cpp - Rows with reductions along them ------------------===//
//
// Emits the passes of Analysis/KernelDescription.h, in the order of combination
// of Analysis/ReductionTree.h. Units of work are rows. A result is written in
// the first pass that can, also over an operand: no later pass reads that one
// (KernelDescription::mayReplace).
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// Where a part keeps values that no result has room for.
struct ScratchRows {
  SmallVector<std::pair<Value, int64_t>> offsets;
  int64_t bytes = 0;

  ScratchRows(const ReductionSpace &space, const RowPasses &plan) {
    for (const KeptValue &kept : plan.kept) {
      if (kept.result >= 0)
        continue;
      offsets.emplace_back(kept.value, bytes);
      bytes += llvm::alignTo(elementCount(space.allReduced()) *
                                 bytesOf(elementOf(kept.value)),
                             64);
    }
  }
};

class Row {
public:
  using Values = KernelBuilder::Values;

  Row(KernelBuilder &k, const RowPasses &plan,
      const llvm::DenseMap<Value, Buffer> &scratch, const Indices &row)
      : k(k), plan(plan), space(*k.source.kernel.space()), scratch(scratch),
        row(row) {}

  void emit() {
    unsigned count = plan.reductions.size();
    for (unsigned i = 0; i < k.results.size(); ++i)
      if (isFull(i))
        count = std::max(count, passOf(i) + 1);
    for (unsigned pass = 0; pass < count; ++pass)
      emitPass(pass);
    for (unsigned i = 0; i < k.results.size(); ++i) {
      if (isFull(i))
        continue;
      Indices indices = withUnitDimensions(k.results[i].shape, row);
      k.storeResult(i, indices, k.points.at(k.resultValue(i), indices));
    }
  }

private:
  /// The index of `value`, which has the space's shape, at a point of the row.
  Indices indicesIn(Value value, ArrayRef<IndexExpression> reduced) {
    return withUnitDimensions(shapeOf(value),
                              mergeIndices(space, row, reduced));
  }
  Element at(Value value, ArrayRef<IndexExpression> reduced) {
    return k.points.at(value, indicesIn(value, reduced));
  }

  void emitPass(unsigned pass);
  Values emitRun(unsigned pass, ArrayRef<IndexExpression> outer,
                 ArrayRef<Combiner> combiners, ValueRange accumulators);
  void emitChunk(unsigned pass, ArrayRef<IndexExpression> reduced,
                 ArrayRef<Combiner> combiners, size_t accumulator,
                 Values &accumulators);
  /// What a region takes at a point of the row, or at one in each lane.
  Values elementsAt(const Combiner &combiner,
                    ArrayRef<IndexExpression> reduced);
  /// The accumulators behind them.
  Values addAt(const Combiner &combiner, ArrayRef<IndexExpression> reduced,
               ValueRange sums);
  Values sumOf(const BlockRows &block, const Combiner &combiner);
  void reduceByRegion(const Combiner &combiner);
  Values reduceBlocksInLanes(const Combiner &combiner,
                             const ReductionBlocks &blocks, ValueRange starts);
  bool isFull(unsigned result) const {
    return k.source.kernel.isFull(k.resultValue(result));
  }
  /// The pass in which a full result is written.
  unsigned passOf(unsigned result) const {
    return k.source.kernel.level(k.resultValue(result));
  }

  size_t accumulatorCount() const {
    return reductionAccumulators(elementCount(space.trailingReduced()));
  }

  KernelBuilder &k;
  const RowPasses &plan;
  const ReductionSpace &space;
  const llvm::DenseMap<Value, Buffer> &scratch;
  Indices row;
};

/// All that happens at 16 points. Everything is read before anything is stored.
void Row::emitChunk(unsigned pass, ArrayRef<IndexExpression> reduced,
                    ArrayRef<Combiner> combiners, size_t accumulator,
                    Values &accumulators) {
  SmallVector<Element> inputs, outputs, keeps;
  for (const Combiner &combiner : combiners)
    inputs.push_back(at(combiner.inputs.front(), reduced));
  auto isWritten = [&](unsigned i) { return isFull(i) && passOf(i) == pass; };
  for (unsigned i = 0; i < k.results.size(); ++i)
    outputs.push_back(isWritten(i) ? at(k.resultValue(i), reduced) : Element());
  for (const KeptValue &kept : plan.kept)
    keeps.push_back(kept.pass == pass ? at(kept.value, reduced) : Element());

  for (unsigned i = 0; i < k.results.size(); ++i)
    if (isWritten(i))
      k.storeResult(i, indicesIn(k.resultValue(i), reduced), outputs[i]);
  for (auto [kept, element] : llvm::zip(plan.kept, keeps)) {
    if (kept.pass != pass)
      continue;
    if (kept.result >= 0) {
      Indices indices = withUnitDimensions(k.results[kept.result].shape,
                                           mergeIndices(space, row, reduced));
      k.storeResult(kept.result, indices, element);
      continue;
    }
    const Buffer &buffer = scratch.at(kept.value);
    k.points.store(buffer, k.algebra.linearize(reduced, buffer.shape), element);
  }
  for (auto [i, combiner] : llvm::enumerate(combiners)) {
    Value &sum = accumulators[i * accumulatorCount() + accumulator];
    Value element = k.points.asVector(inputs[i]);
    Value combined = combiner.combine(k, {sum}, {element}).front();
    sum = k.points.mask
              ? Value(k.create<arith::SelectOp>(k.points.mask, combined, sum))
              : combined;
  }
}

/// The run of reduced dimensions at the end, in groups of as many chunks as
/// there are accumulators.
Row::Values Row::emitRun(unsigned pass, ArrayRef<IndexExpression> outer,
                         ArrayRef<Combiner> combiners,
                         ValueRange accumulators) {
  SmallVector<int64_t> shape = space.trailingReduced();
  int64_t length = elementCount(shape);
  int64_t chunks = length / vectorLanes;
  int64_t group = combiners.empty() ? 1 : accumulatorCount();
  int64_t groups = chunks / group;
  Values sums(accumulators.begin(), accumulators.end());

  auto emitAt = [&](const IndexExpression &position, size_t accumulator,
                    Values &values) {
    Indices reduced(outer.begin(), outer.end());
    llvm::append_range(reduced, k.algebra.delinearize(position, shape));
    emitChunk(pass, reduced, combiners, accumulator, values);
  };
  auto emitGroup = [&](const IndexExpression &first, Values &values) {
    for (int64_t i = 0; i < group; ++i)
      emitAt(first + i * vectorLanes, i, values);
  };
  auto fixedPosition = [&](int64_t first) {
    return k.algebra.laneVariable(
        k.constantIndex(first), {first, first + vectorLanes - 1},
        k.levels.current(), first ? first : vectorLanes);
  };
  int64_t done = groups > 1 ? groups * group : 0;
  if (done) {
    int64_t step = group * vectorLanes;
    int64_t end = done * vectorLanes;
    sums = k.forLoop(k.constantIndex(0), k.constantIndex(end), step,
                     {0, end - step + vectorLanes - 1}, step, true, sums,
                     [&](const IndexExpression &first, ValueRange carried) {
                       Values values(carried.begin(), carried.end());
                       emitGroup(first, values);
                       return values;
                     });
  }
  for (; done < chunks; ++done)
    emitAt(fixedPosition(done * vectorLanes), done % group, sums);
  if (length % vectorLanes)
    sums = k.carryingTail(chunks * vectorLanes, length,
                          [&](const IndexExpression &position) {
                            emitAt(position, chunks % group, sums);
                            return sums;
                          });
  return sums;
}

void Row::emitPass(unsigned pass) {
  SmallVector<Combiner> simple;
  if (pass < plan.reductions.size())
    for (stablehlo::ReduceOp reduce : plan.reductions[pass]) {
      Combiner combiner(reduce);
      if (combiner.isSimple())
        simple.push_back(combiner);
      else
        reduceByRegion(combiner);
    }
  bool hasOther = llvm::any_of(
      plan.kept, [&](const KeptValue &kept) { return kept.pass == pass; });
  for (unsigned i = 0; i < k.results.size(); ++i)
    hasOther |= isFull(i) && passOf(i) == pass;
  if (simple.empty() && !hasOther)
    return;

  size_t count = accumulatorCount();
  Values sums;
  for (const Combiner &combiner : simple) {
    Value start = combiner.start(k).front();
    sums.append(count, k.points.asVector({start, 0}));
  }
  sums = k.forSpace(space.outerReduced(), sums,
                    [&](const Indices &outer, ValueRange carried) {
                      return emitRun(pass, outer, simple, carried);
                    });
  for (auto [i, combiner] : llvm::enumerate(simple)) {
    ArrayRef<Value> own = ArrayRef(sums).slice(i * count, count);
    combiner.provide(k, {combiner.collapse(k, own)});
  }
  for (const KeptValue &kept : plan.kept) {
    if (kept.pass != pass)
      continue;
    if (kept.result >= 0) {
      Buffer buffer = k.results[kept.result];
      k.points.bind(kept.value, buffer);
      continue;
    }
    Buffer buffer = scratch.at(kept.value);
    k.points.provide(kept.value, [&, buffer](ArrayRef<IndexExpression> full) {
      Indices reduced;
      size_t dim = 0;
      for (auto [index, extent] : llvm::zip(full, shapeOf(kept.value)))
        if (extent != 1 && space.reduced[dim++])
          reduced.push_back(index);
      return k.points.load(buffer, k.algebra.linearize(reduced, buffer.shape));
    });
  }
}

Row::Values Row::elementsAt(const Combiner &combiner,
                            ArrayRef<IndexExpression> reduced) {
  Values elements;
  for (Value input : combiner.inputs) {
    Element element = at(input, reduced);
    elements.push_back(k.algebra.lanes == 1 ? element.value
                                            : k.points.asVector(element));
  }
  return elements;
}

Row::Values Row::addAt(const Combiner &combiner,
                       ArrayRef<IndexExpression> reduced, ValueRange sums) {
  return combiner.combine(k, Values(sums), elementsAt(combiner, reduced));
}

Row::Values Row::sumOf(const BlockRows &block, const Combiner &combiner) {
  return block.fromFirst(
      [&](const Indices &reduced) { return elementsAt(combiner, reduced); },
      [&](const Indices &reduced, ValueRange sums) {
        return addAt(combiner, reduced, sums);
      });
}

/// Order (a), for regions that are no single operation: one element after the
/// other, or of many blocks as many elements as there are lanes.
void Row::reduceByRegion(const Combiner &combiner) {
  int64_t lanes = std::exchange(k.algebra.lanes, 1);
  const SmallVector<int64_t> reduced = space.allReduced();
  Values sums = combiner.start(k);
  auto blocks = ReductionBlocks::of(reduced);
  if (!blocks)
    sums =
        k.forSpace(reduced, sums, [&](const Indices &reduced, ValueRange sums) {
          return addAt(combiner, reduced, sums);
        });
  else if (reduced.size() == 1 && reduced.front() / blocks->run >= vectorLanes)
    sums = reduceBlocksInLanes(combiner, *blocks, sums);
  else
    sums = forBlocks(
        k, *blocks, sums, [&](ValueRange sums, const BlockRows &block) {
          return combiner.joinAll(k, Values(sums), sumOf(block, combiner));
        });
  k.algebra.lanes = lanes;
  combiner.provide(k, sums);
}

/// A lane has a block. The last of the blocks that have all elements are summed
/// by all lanes again, some of them for nothing.
Row::Values Row::reduceBlocksInLanes(const Combiner &combiner,
                                     const ReductionBlocks &blocks,
                                     ValueRange starts) {
  const int64_t run = blocks.run, whole = blocks.extent / run,
                rest = whole % vectorLanes;
  auto addLanes = [&](const IndexExpression &block, int64_t firstLane,
                      ValueRange carried) {
    k.algebra.lanes = vectorLanes;
    const IndexExpression begin =
        k.algebra.laneVariable(k.algebra.scalar(block), {0, whole - 1},
                               k.levels.current(), 1) *
        run;
    const Values own =
        k.forLoop(k.constantIndex(1), k.constantIndex(run), 1, {1, run - 1}, 1,
                  /*isLane=*/false, elementsAt(combiner, begin),
                  [&](const IndexExpression &position, ValueRange sums) {
                    return addAt(combiner, begin + position, sums);
                  });
    k.algebra.lanes = 1;
    Values sums(carried);
    for (int64_t lane = firstLane; lane < vectorLanes; ++lane) {
      Values ofLane;
      for (Value each : own)
        ofLane.push_back(k.create<vector::ExtractOp>(each, lane));
      sums = combiner.joinAll(k, sums, ofLane);
    }
    return sums;
  };
  Values sums =
      k.forRange(whole / vectorLanes, starts,
                 [&](const IndexExpression &group, ValueRange carried) {
                   return addLanes(group * vectorLanes, 0, carried);
                 });
  if (rest)
    sums = addLanes(whole - vectorLanes, vectorLanes - rest, sums);
  if (blocks.extent % run)
    sums =
        combiner.joinAll(k, sums, sumOf(BlockRows(k, blocks, whole), combiner));
  return sums;
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

Demand demandOfRows(const KernelSource &source) {
  ScratchRows scratch(*source.kernel.space(), source.kernel.passes());
  return {source.kernel.units(), scratch.bytes};
}

void emitRows(KernelBuilder &k, unsigned) {
  const ReductionSpace &space = *k.source.kernel.space();
  RowPasses plan = k.source.kernel.passes();
  ScratchRows rows(space, plan);
  llvm::DenseMap<Value, Buffer> scratch;
  for (auto [value, place] : rows.offsets) {
    Value start = k.create<arith::MulIOp>(k.part, k.constantIndex(rows.bytes));
    Value offset = k.create<arith::AddIOp>(start, k.constantIndex(place));
    scratch[value] =
        k.scratchBuffer(offset, space.allReduced(), elementOf(value));
  }
  k.forUnits(k.source.kernel.units(), [&](const IndexExpression &unit) {
    Row(k, plan, scratch, k.algebra.delinearize(unit, space.kept())).emit();
  });
}

} // namespace

extern const Template rowTemplate;
const Template rowTemplate = {.accepts = acceptsClass<KernelClass::row>,
                              .demand = demandOfRows,
                              .emit = emitRows};

} // namespace tenon::codegen
