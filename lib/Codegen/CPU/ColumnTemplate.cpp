//===- ColumnTemplate.cpp - One accumulator per result element ------------===//
//
// Reductions that keep the last dimension (bias and scale gradients, pooling
// over space). Results are stored once all elements of their accumulator are in
// (order (a) of Analysis/ReductionTree.h).
//
// Units of work are blocks of up to 128 neighbouring columns, whose
// accumulators stay in 8 vector registers, times the indices of kept dimensions
// further out. With several reductions a block is narrower.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using Values = KernelBuilder::Values;

class Columns {
public:
  Columns(KernelBuilder &k, const Indices &outer)
      : k(k), space(*k.source.kernel.space()), outer(outer) {
    for (stablehlo::ReduceOp reduce : k.source.kernel.reductions())
      combiners.emplace_back(reduce);
  }

  /// `length` columns from `firstColumn` on.
  void emit(const IndexExpression &firstColumn, int64_t length);

private:
  Indices keptAt(const IndexExpression &column) {
    Indices kept = outer;
    llvm::append_range(kept,
                       k.algebra.delinearize(column, space.trailingKept()));
    return kept;
  }
  IndexExpression columnOf(int64_t vector) const {
    return first + vector * vectorLanes;
  }
  /// For each vector of columns and reduction; `place` is where the reduction's
  /// first accumulator is, the next ones follow at distances of `vectors`.
  void forAccumulators(
      llvm::function_ref<void(const Combiner &, int64_t vector, size_t place)>
          body);
  /// The accumulators after all rows.
  Values sumRows();
  /// The accumulators behind a row, which may be the first of a block.
  Values addRow(const Indices &row, ValueRange accumulators,
                bool isFirst = false);

  KernelBuilder &k;
  const ReductionSpace &space;
  Indices outer;
  IndexExpression first;
  std::optional<MaskedVectors> vectors;
  SmallVector<Combiner> combiners;
};

void Columns::forAccumulators(
    llvm::function_ref<void(const Combiner &, int64_t, size_t)> body) {
  vectors->forEach([&](int64_t vector) {
    size_t place = vector;
    for (const Combiner &combiner : combiners) {
      body(combiner, vector, place);
      place += combiner.inputs.size() * vectors->count();
    }
  });
}

Values Columns::addRow(const Indices &row, ValueRange accumulators,
                       bool isFirst) {
  Values next(accumulators.begin(), accumulators.end());
  forAccumulators([&](const Combiner &combiner, int64_t vector, size_t place) {
    Indices indices = mergeIndices(space, keptAt(columnOf(vector)), row);
    SmallVector<Value> held, elements;
    for (auto [i, input] : llvm::enumerate(combiner.inputs)) {
      held.push_back(next[place + i * vectors->count()]);
      elements.push_back(k.points.asVector(
          k.points.at(input, withUnitDimensions(shapeOf(input), indices))));
    }
    for (auto [i, value] :
         llvm::enumerate(isFirst ? combiner.first(k, elements)
                                 : combiner.combine(k, held, elements)))
      next[place + i * vectors->count()] = value;
  });
  return next;
}

Values Columns::sumRows() {
  Values starts;
  for (const Combiner &combiner : combiners)
    for (Value start : combiner.start(k))
      starts.append(vectors->count(), k.points.asVector({start, 0}));
  SmallVector<int64_t> rows = space.allReduced();
  auto add = [&](const Indices &row, ValueRange sums) {
    return addRow(row, sums);
  };
  std::optional<ReductionBlocks> blocks = ReductionBlocks::of(rows);
  if (!blocks)
    return k.forSpace(rows, starts, add);
  const bool startsAreNeutral = llvm::all_of(
      combiners, [](const Combiner &combiner) { return combiner.isSimple(); });
  return forBlocks(
      k, *blocks, starts, [&](ValueRange sums, const BlockRows &rows) {
        const Values inner =
            startsAreNeutral
                ? rows.forEach(starts, add)
                : rows.fromFirst(
                      [&](const Indices &row) {
                        return addRow(row, starts, /*isFirst=*/true);
                      },
                      add);
        Values joined(sums.size());
        forAccumulators([&](const Combiner &combiner, int64_t, size_t place) {
          SmallVector<Value> before, behind;
          for (size_t i = 0; i < combiner.inputs.size(); ++i) {
            before.push_back(sums[place + i * vectors->count()]);
            behind.push_back(inner[place + i * vectors->count()]);
          }
          for (auto [i, value] :
               llvm::enumerate(combiner.joinAll(k, before, behind)))
            joined[place + i * vectors->count()] = value;
        });
        return joined;
      });
}

void Columns::emit(const IndexExpression &firstColumn, int64_t length) {
  IndexRange range = k.algebra.range(firstColumn);
  first = k.algebra.laneVariable(
      k.algebra.scalar(firstColumn), {range.low, range.high + vectorLanes - 1},
      k.levels.current(), k.source.kernel.columnsPerUnit());
  vectors.emplace(k, length);
  Values sums = sumRows();

  vectors->forEach([&](int64_t vector) {
    size_t base = 0;
    for (const Combiner &combiner : combiners) {
      SmallVector<Value> held;
      for (size_t i = 0; i < combiner.results.size(); ++i)
        held.push_back(sums[(base + i) * vectors->count() + vector]);
      base += held.size();
      combiner.provide(k, held);
    }
    Indices kept = keptAt(columnOf(vector));
    SmallVector<Element> elements;
    for (unsigned i = 0; i < k.results.size(); ++i)
      elements.push_back(k.points.at(
          k.resultValue(i), withUnitDimensions(k.results[i].shape, kept)));
    for (unsigned i = 0; i < k.results.size(); ++i)
      k.storeResult(i, withUnitDimensions(k.results[i].shape, kept),
                    elements[i]);
  });
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

Demand demandOfColumns(const KernelSource &source) {
  return {source.kernel.units(), 0};
}

void emitColumns(KernelBuilder &k, unsigned) {
  const KernelDescription &kernel = k.source.kernel;
  int64_t columns = elementCount(kernel.space()->trailingKept());
  int64_t length = kernel.columnsPerUnit();
  int64_t blocks = (columns + length - 1) / length;
  k.forUnits(kernel.units(), [&](const IndexExpression &unit) {
    IndexExpression block = k.algebra.mod(unit, blocks);
    Indices outer = k.algebra.delinearize(k.algebra.floorDiv(unit, blocks),
                                          kernel.space()->outerKept());
    k.forBlock(block, columns, length,
               [&](const IndexExpression &column, int64_t count) {
                 Columns(k, outer).emit(column, count);
               });
  });
}

} // namespace

extern const Template columnTemplate;
const Template columnTemplate = {.accepts = acceptsClass<KernelClass::column>,
                                 .demand = demandOfColumns,
                                 .emit = emitColumns};

} // namespace tenon::codegen
