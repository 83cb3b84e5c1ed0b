//===- ElementwiseTemplate.cpp - One pass over the results' elements ------===//
//
// All results have one shape; for each index every result is computed and then
// stored. What is stored into a slice of a result, in place, has that shape,
// too. The last dimensions are walked as one, 16 elements at a time, as many
// of them as keep the operands' accesses contiguous: with all of them merged
// there are no short rows, but an operand that is broadcast along some needs
// indices divided out again. Variant v keeps the first v dimensions as loops of
// their own, and the cheapest variant is kept.
//
// Where pads and concatenations ask whether an index is inside of an operand,
// the index space is cut at the answer: each box of it has loops of its own in
// which no question is left (a guard in the loop costs about as much as the
// rest of a simple kernel). The cuts are found by emitting one element for a
// box as a trial and looking at the conditions it had to test.
//
// Units of work are, per box, blocks of the merged dimensions times the indices
// of the first loops.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// Enough units for every part to get several, so that an uneven machine does
/// not wait for one of them.
constexpr int64_t enoughUnits = 2 * 64;
/// Below this many points a unit is not cut further.
constexpr int64_t smallestBlock = 2048;
/// Boxes a kernel is cut into at most, and the points it must have to be cut.
constexpr size_t mostBoxes = 9;
constexpr int64_t pointsWorthCutting = 2048;

/// A part of the results' index space, dimensions of extent 1 left out.
struct Box {
  SmallVector<int64_t> low, extents;

  explicit Box(ArrayRef<int64_t> shape) : extents(withoutUnits(shape)) {
    low.assign(extents.size(), 0);
  }
  int64_t points() const { return elementCount(extents); }
};

/// The loops of a box: some dimensions of their own, the rest merged.
struct LoopShape {
  SmallVector<int64_t> outer; // extents of the loops kept
  int64_t inner = 1;          // points of the merged dimensions
  int64_t innerStart = 0;     // where they begin among all of that row
  size_t unitDims = 0;        // loops that make up the units
  int64_t blocks = 1;         // blocks per row of merged points
  int64_t blockLength = 1;

  LoopShape(ArrayRef<int64_t> shape, const Box &box, size_t kept) {
    SmallVector<int64_t> whole = withoutUnits(shape);
    size_t rank = whole.size();
    kept = std::min(kept, rank ? rank - 1 : 0);
    // Only the first merged dimension may be cut.
    for (size_t dim = kept + 1; dim < rank; ++dim)
      if (box.extents[dim] != whole[dim])
        kept = dim;
    outer.assign(box.extents.begin(), box.extents.begin() + kept);
    inner = elementCount(ArrayRef(box.extents).drop_front(kept));
    if (kept < rank)
      innerStart =
          box.low[kept] * elementCount(ArrayRef(whole).drop_front(kept + 1));
    int64_t rows = 1;
    while (unitDims < outer.size() && rows < enoughUnits)
      rows *= outer[unitDims++];
    blockLength = inner;
    if (unitDims < outer.size() || rows >= enoughUnits)
      return;
    int64_t wanted = std::min((enoughUnits + rows - 1) / rows,
                              std::max<int64_t>(inner / smallestBlock, 1));
    int64_t length = (inner + wanted - 1) / wanted;
    blockLength = (length + 63) / 64 * 64;
    blocks = (inner + blockLength - 1) / blockLength;
  }

  int64_t units() const {
    return elementCount(ArrayRef(outer).take_front(unitDims)) * blocks;
  }
};

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// Cuts `box` at the first condition that holds in a part of it only; nothing
/// if there is none.
std::optional<std::pair<Box, Box>> cut(KernelBuilder &k, const Box &box) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(k.loc);
  auto function =
      func::FuncOp::create(k.loc, "trial", k.function.getFunctionType());
  module->push_back(function);
  OpBuilder builder(function.getContext());
  builder.setInsertionPointToEnd(function.addEntryBlock());
  func::ReturnOp::create(builder, k.loc);
  KernelBuilder trial(k.source, function, k.scratchParts, k.instructions);
  trial.algebra.lanes = 1;

  int64_t rowLength = withoutUnits(k.source.kernel.points()).back();
  Indices indices;
  llvm::DenseMap<AtomId, size_t> dimOf;
  for (auto [dim, low, extent] : llvm::enumerate(box.low, box.extents)) {
    indices.push_back(
        trial.algebra.uniform(trial.part, {low, low + extent - 1}, 0));
    if (!indices.back().isConstant())
      dimOf[indices.back().terms.front().first] = dim;
  }
  for (unsigned i = 0; i < trial.results.size(); ++i)
    trial.points.at(trial.resultValue(i),
                    withUnitDimensions(shapeOf(trial.resultValue(i)), indices));

  for (auto &[expression, extent] : trial.points.conditions) {
    if (expression.terms.size() != 1)
      continue;
    auto [atom, coefficient] = expression.terms.front();
    auto dim = dimOf.find(atom);
    if (dim == dimOf.end() || std::abs(coefficient) != 1)
      continue;
    // The condition changes where the expression becomes 0 and `extent`.
    int64_t low = box.low[dim->second];
    int64_t high = low + box.extents[dim->second];
    for (int64_t value : {int64_t(0), extent}) {
      int64_t place = coefficient == 1 ? value - expression.constant
                                       : expression.constant - value + 1;
      if (place <= low || place >= high)
        continue;
      // Vectors of the last dimension should start at multiples of 16, as the
      // rows do: the few points between keep the question.
      bool isLane = dim->second + 1 == box.extents.size();
      int64_t aligned = place / vectorLanes * vectorLanes;
      if (isLane && rowLength % vectorLanes == 0 && aligned != place) {
        place = aligned > low ? aligned : aligned + vectorLanes;
        if (place >= high)
          continue;
      }
      std::pair<Box, Box> halves{box, box};
      halves.first.extents[dim->second] = place - low;
      halves.second.low[dim->second] = place;
      halves.second.extents[dim->second] = high - place;
      return halves;
    }
  }
  return std::nullopt;
}

bool mayAsk(Operation &op) {
  return isa<stablehlo::PadOp, stablehlo::ConcatenateOp>(op);
}

SmallVector<Box> boxesOf(KernelBuilder &k) {
  Box whole(k.source.kernel.points());
  if (whole.points() < pointsWorthCutting ||
      llvm::none_of(k.source.operations(), mayAsk))
    return {whole};
  SmallVector<Box> done, left = {whole};
  while (!left.empty()) {
    Box box = left.pop_back_val();
    auto halves = cut(k, box);
    if (!halves) {
      done.push_back(box);
      continue;
    }
    if (done.size() + left.size() + 2 > mostBoxes)
      return {whole};
    left.push_back(halves->second);
    left.push_back(halves->first);
  }
  return done;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void emitBox(KernelBuilder &k, const Box &box, size_t kept) {
  ArrayRef<int64_t> shape = k.source.kernel.points();
  SmallVector<int64_t> whole = withoutUnits(shape);
  LoopShape loops(shape, box, kept);
  k.algebra.lanes = loops.inner == 1 ? 1 : vectorLanes;
  ArrayRef<int64_t> unitShape =
      ArrayRef(loops.outer).take_front(loops.unitDims);
  ArrayRef<int64_t> rest = ArrayRef(loops.outer).drop_front(loops.unitDims);
  ArrayRef<int64_t> merged = ArrayRef(whole).drop_front(loops.outer.size());

  k.forUnits(loops.units(), [&](const IndexExpression &unit) {
    IndexExpression block = k.algebra.mod(unit, loops.blocks);
    Indices first = k.algebra.delinearize(
        k.algebra.floorDiv(unit, loops.blocks), unitShape);
    k.forSpace(rest, [&](const Indices &second) {
      auto atPoint = [&](const IndexExpression &point) {
        Indices indices = first;
        llvm::append_range(indices, second);
        for (auto [index, low] : llvm::zip(indices, box.low))
          index = index + low;
        llvm::append_range(
            indices, k.algebra.delinearize(point + loops.innerStart, merged));
        k.emitPoints({withUnitDimensions(shape, indices)});
      };
      if (k.algebra.lanes == 1)
        return atPoint(0);
      k.forLanes(loops.inner, block, loops.blockLength, atPoint);
    });
  });
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

Demand demandOfElements(const KernelSource &source) {
  ArrayRef<int64_t> shape = source.kernel.points();
  return {LoopShape(shape, Box(shape), 0).units(), 0};
}

unsigned variants(const KernelSource &source) {
  size_t dims = withoutUnits(source.kernel.points()).size();
  return std::max<size_t>(dims, 1);
}

void emitElements(KernelBuilder &k, unsigned variant) {
  for (const Box &box : boxesOf(k))
    emitBox(k, box, variant);
}

} // namespace

extern const Template elementwiseTemplate;
const Template elementwiseTemplate = {
    .accepts = acceptsClass<KernelClass::elementwise>,
    .demand = demandOfElements,
    .emit = emitElements,
    .variants = variants};

} // namespace tenon::codegen
