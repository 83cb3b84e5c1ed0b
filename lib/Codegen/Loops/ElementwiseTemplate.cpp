//===- ElementwiseTemplate.cpp - One pass over the results' elements
//-------===//
//
// All results have one shape; for each index every result is computed and then
// stored. The last dimensions are walked as one, 16 elements at a time, as many
// of them as keep the operands' accesses contiguous: with all of them merged
// there are no short rows, but an operand that is broadcast along some needs
// indices divided out again. Variant v keeps the first v dimensions as loops of
// their own, and the cheapest variant is kept.
//
// Units of work are blocks of the merged dimensions times the indices of the
// first loops.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// Kept loops of a variant and how they are cut into units.
struct LoopShape {
  SmallVector<int64_t> outer; // extents of the loops kept
  int64_t inner = 1;          // points of the merged dimensions
  size_t unitDims = 0;        // loops that make up the units
  int64_t blocks = 1;         // blocks per row of merged points
  int64_t blockLength = 1;

  int64_t units() const {
    return elementCount(ArrayRef(outer).take_front(unitDims)) * blocks;
  }
};

SmallVector<int64_t> withoutUnits(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> extents;
  for (int64_t extent : shape)
    if (extent != 1)
      extents.push_back(extent);
  return extents;
}

/// Enough units for every part to get several, so that an uneven machine does
/// not wait for one of them.
constexpr int64_t enoughUnits = 2 * 64;
/// Below this many points a unit is not cut further.
constexpr int64_t smallestBlock = 2048;

LoopShape shapeOfVariant(ArrayRef<int64_t> shape, unsigned variant) {
  SmallVector<int64_t> extents = withoutUnits(shape);
  LoopShape loops;
  variant =
      std::min<unsigned>(variant, extents.empty() ? 0 : extents.size() - 1);
  loops.outer.assign(extents.begin(), extents.begin() + variant);
  loops.inner = elementCount(ArrayRef(extents).drop_front(variant));
  int64_t rows = 1;
  while (loops.unitDims < loops.outer.size() && rows < enoughUnits)
    rows *= loops.outer[loops.unitDims++];
  loops.blockLength = loops.inner;
  if (loops.unitDims == loops.outer.size() && rows < enoughUnits) {
    int64_t wanted =
        std::min((enoughUnits + rows - 1) / rows,
                 std::max<int64_t>(loops.inner / smallestBlock, 1));
    int64_t length = (loops.inner + wanted - 1) / wanted;
    loops.blockLength = (length + 63) / 64 * 64;
    loops.blocks = (loops.inner + loops.blockLength - 1) / loops.blockLength;
  }
  return loops;
}

bool accepts(const KernelSource &source) {
  SmallVector<Value> results = source.results();
  if (results.empty())
    return false;
  for (Value result : results)
    if (shapeOf(result) != shapeOf(results.front()))
      return false;
  for (Operation &op : source.function.front().without_terminator())
    if (!isPointOperation(&op))
      return false;
  return true;
}

LogicalResult check(const KernelSource &source) {
  for (Operation &op : source.function.front().without_terminator())
    if (failed(checkPointOperation(&op)))
      return failure();
  return success();
}

Demand demand(const KernelSource &source) {
  Demand demand;
  demand.units = shapeOfVariant(shapeOf(source.results().front()), 0).units();
  return demand;
}

unsigned variants(const KernelSource &source) {
  size_t dims = withoutUnits(shapeOf(source.results().front())).size();
  return std::max<size_t>(dims, 1);
}

/// Computes all results before storing any: a result may overwrite an operand
/// that another one reads.
void emitPoint(KernelBuilder &k, const IndexExpression &position) {
  ArrayRef<int64_t> shape = k.results.front().shape;
  Indices indices = k.algebra.delinearize(position, shape);
  SmallVector<Element> elements;
  for (unsigned i = 0; i < k.results.size(); ++i)
    elements.push_back(k.points.at(k.resultValue(i), indices));
  for (unsigned i = 0; i < k.results.size(); ++i)
    k.points.store(k.results[i], position, elements[i]);
}

void emit(KernelBuilder &k, unsigned variant) {
  LoopShape loops = shapeOfVariant(k.results.front().shape, variant);
  if (loops.inner == 1)
    k.algebra.lanes = 1;
  k.forUnits(loops.units(), [&](const IndexExpression &unit) {
    IndexExpression block = k.algebra.mod(unit, loops.blocks);
    IndexExpression row = k.algebra.floorDiv(unit, loops.blocks);
    ArrayRef<int64_t> rest = ArrayRef(loops.outer).drop_front(loops.unitDims);
    k.forSpace(rest, [&](const Indices &indices) {
      IndexExpression first =
          (row * elementCount(rest) + k.algebra.linearize(indices, rest)) *
          loops.inner;
      if (k.algebra.lanes == 1)
        return emitPoint(k, first);
      k.forLanes(
          loops.inner, block, loops.blockLength,
          [&](const IndexExpression &point) { emitPoint(k, first + point); });
    });
  });
}

} // namespace

extern const Template elementwiseTemplate;
const Template elementwiseTemplate = {accepts, check, demand, emit, variants};

} // namespace tenon::codegen
