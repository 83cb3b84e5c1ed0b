//===- ScatterTemplate.cpp - Updates at computed places -------------------===//
//
// scatter and dynamic_update_slice. Updates are applied one after the other in
// row-major order of the updates, so that several to one place add up in a
// fixed order. Each part owns a range of the result's first dimension (units
// are its indices): it looks at all updates and applies those that land in its
// range, after having copied the operand there unless that is overwritten in
// place. Splitting by destination keeps parts from writing to one cache line
// and is faster than splitting the columns of the updates. A result that nobody
// asks for, which the others may depend on, lies in scratch memory of the part.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

#include "tenon/Codegen/Loops/ScatterPoints.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// The first dimension of extent other than 1, or 0.
size_t partitionedDim(ArrayRef<int64_t> shape) {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (shape[dim] != 1)
      return dim;
  return 0;
}

class Scatter : ScatterShape {
public:
  Scatter(KernelBuilder &k, stablehlo::ScatterOp op) : ScatterShape(op), k(k) {}

  void emit();

private:
  void choosePlaces();
  /// Whether 16 neighbours along the last update dimension go to neighbours.
  bool hasLanes() const;
  void copyOperands(const IndexExpression &row);
  void applyWindow(const Indices &scatterIndex, const Indices &start);
  void apply(const Indices &update, const Indices &place);
  Value isMine(const IndexExpression &row);

  KernelBuilder &k;
  Value low, high;            // this part's rows, none if there is one part
  SmallVector<Buffer> places; // of each result
  SmallVector<bool> copied;   // the operand, into the place of the result
};

/// Bytes of a result that nobody asks for; 0 if somebody does.
int64_t unaskedBytes(const KernelSource &source, OpResult result) {
  if (source.indexOfResult(result) >= 0)
    return 0;
  int64_t bytes = elementCount(shapeOf(result)) * bytesOf(elementOf(result));
  return (bytes + 63) / 64 * 64;
}

int64_t unaskedBytes(const KernelSource &source, stablehlo::ScatterOp op) {
  int64_t bytes = 0;
  for (OpResult result : op->getResults())
    bytes += unaskedBytes(source, result);
  return bytes;
}

void Scatter::choosePlaces() {
  int64_t perPart = unaskedBytes(k.source, op), offset = 0;
  for (OpResult result : op->getResults()) {
    int asked = k.source.indexOfResult(result);
    copied.push_back(asked < 0 || k.source.inPlace[asked] < 0);
    if (asked >= 0) {
      places.push_back(k.results[asked]);
      continue;
    }
    Value base = k.create<arith::MulIOp>(k.part, k.constantIndex(perPart));
    Value start = k.create<arith::AddIOp>(base, k.constantIndex(offset));
    places.push_back(
        k.scratchBuffer(start, llvm::to_vector(shape), elementOf(result)));
    offset += unaskedBytes(k.source, result);
  }
}

} // namespace

/// Units: rows, or everything if rows are single elements updated by vectors.
static int64_t scatterUnits(stablehlo::ScatterOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getInputs().front());
  if (withoutUnits(shape).size() < 2 &&
      !op.getScatterDimensionNumbers().getUpdateWindowDims().empty())
    return 1;
  return shape.empty() ? 1 : shape[partitionedDim(shape)];
}

bool Scatter::hasLanes() const {
  if (updateShape.empty() || !isWindowDim(updateShape.size() - 1))
    return false;
  return windowDims.back() + 1 == shape.size() && updateShape.back() >= 4;
}

/// Copies what the results do not overwrite, at one index of the first
/// dimension.
void Scatter::copyOperands(const IndexExpression &row) {
  size_t dim = partitionedDim(shape);
  int64_t inner =
      elementCount(shape.drop_front(std::min(dim + 1, shape.size())));
  auto copy = [&](const IndexExpression &point) {
    IndexExpression position = row * inner + point;
    Indices indices = k.algebra.delinearize(position, shape);
    for (unsigned i = 0; i < places.size(); ++i)
      if (copied[i])
        k.points.store(places[i], position,
                       k.points.at(op.getInputs()[i], indices));
  };
  if (inner == 1) {
    int64_t lanes = std::exchange(k.algebra.lanes, 1);
    copy(0);
    k.algebra.lanes = lanes;
    return;
  }
  k.forLanes(inner, copy);
}

Value Scatter::isMine(const IndexExpression &row) {
  Value index = k.algebra.scalar(row);
  Value above = k.create<arith::CmpIOp>(arith::CmpIPredicate::sge, index, low);
  Value below = k.create<arith::CmpIOp>(arith::CmpIPredicate::slt, index, high);
  return k.create<arith::AndIOp>(above, below);
}

/// Combines one update, or 16 neighbouring ones, into the results.
void Scatter::apply(const Indices &update, const Indices &place) {
  IndexExpression position = k.algebra.linearize(place, shape);
  SmallVector<Value> old, updates;
  for (const Buffer &result : places)
    old.push_back(k.points.asVector(k.points.load(result, position)));
  for (Value tensor : op.getUpdates())
    updates.push_back(k.points.asVector(k.points.at(tensor, update)));
  for (auto [buffer, value] : llvm::zip(places, combine(k, old, updates)))
    k.points.store(buffer, position, {value, k.levels.current()});
}

void Scatter::applyWindow(const Indices &scatterIndex, const Indices &start) {
  SmallVector<int64_t> outer = windowShape();
  bool lanes = hasLanes();
  int64_t lastWindow = 1;
  if (lanes)
    lastWindow = outer.pop_back_val();
  size_t owned = partitionedDim(shape);

  auto atPoint = [&](Indices window) {
    Indices update = updateAt(scatterIndex, window), place = start;
    for (auto [dim, index] : llvm::zip(windowDims, window))
      place[dim] = place[dim] + index;
    // What may be out of range is tested here; lanes by a mask.
    PointEmitter::Guard guard;
    for (auto [index, extent] : llvm::zip(place, shape))
      k.points.require(guard, index, extent);
    if (guard.never)
      return;
    if (low && !outer.empty()) {
      Value mine = isMine(place[owned]);
      guard.uniform = guard.uniform
                          ? Value(k.create<arith::AndIOp>(guard.uniform, mine))
                          : mine;
    }
    k.where(guard, [&] { apply(update, place); });
  };
  k.forSpace(outer, [&](const Indices &window) {
    if (!lanes)
      return atPoint(window);
    k.forLanes(lastWindow, [&](const IndexExpression &last) {
      Indices all = window;
      all.push_back(last);
      atPoint(all);
    });
  });
}

void Scatter::emit() {
  int64_t units = scatterUnits(op);
  choosePlaces();
  bool copies = llvm::is_contained(copied, true);
  size_t owned = partitionedDim(shape);
  int64_t rows = shape.empty() ? 1 : shape[owned];
  if (units > 1) {
    std::tie(low, high) = k.unitBounds(units);
    if (copies)
      k.forLoop(low, high, 1, {0, rows - 1}, 1, false,
                [&](const IndexExpression &row) { copyOperands(row); });
  }
  auto applyAll = [&] {
    if (units == 1 && copies)
      k.forRange(rows, [&](const IndexExpression &row) { copyOperands(row); });
    if (!hasLanes())
      k.algebra.lanes = 1;
    k.forSpace(scatterShape(), [&](const Indices &scatterIndex) {
      Indices start = startOf(k, scatterIndex);
      // If no window dimension moves the row, decide here.
      bool decided =
          low &&
          llvm::none_of(llvm::zip(windowDims, numbers.getUpdateWindowDims()),
                        [&](auto pair) {
                          auto [dim, updateDim] = pair;
                          return dim == owned && updateShape[updateDim] != 1;
                        });
      if (!decided)
        return applyWindow(scatterIndex, start);
      k.ifThen(isMine(start[owned]), [&] {
        Value outerLow = std::exchange(low, Value());
        applyWindow(scatterIndex, start);
        low = outerLow;
      });
    });
    k.algebra.lanes = vectorLanes;
  };
  if (units > 1)
    return applyAll();
  k.forUnits(1, [&](const IndexExpression &) { applyAll(); });
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

namespace {

bool acceptsScatter(const KernelSource &source) {
  Operation *root = source.root;
  return isa_and_nonnull<stablehlo::ScatterOp>(root) &&
         llvm::all_of(source.results(), [&](Value result) {
           return result.getDefiningOp() == root;
         });
}

Demand demandOfScatter(const KernelSource &source) {
  auto op = cast<stablehlo::ScatterOp>(source.root);
  return {scatterUnits(op), unaskedBytes(source, op)};
}

void emitScatter(KernelBuilder &k, unsigned) {
  Scatter(k, cast<stablehlo::ScatterOp>(k.source.root)).emit();
}

/// A dynamic_update_slice whose result overwrites its operand touches only the
/// update; otherwise it is an index map for the element-wise template.
stablehlo::DynamicUpdateSliceOp updateInPlace(const KernelSource &source) {
  auto op = dyn_cast_or_null<stablehlo::DynamicUpdateSliceOp>(source.root);
  auto argument =
      op ? dyn_cast<BlockArgument>(op.getOperand()) : BlockArgument();
  if (!argument || source.inPlace[0] != int64_t(argument.getArgNumber()))
    return nullptr;
  return op;
}

bool acceptsUpdate(const KernelSource &source) {
  return updateInPlace(source) != nullptr;
}

int64_t updateUnits(ArrayRef<int64_t> shape) {
  return shape.empty() ? 1 : elementCount(shape.drop_back());
}

Demand demandOfUpdate(const KernelSource &source) {
  return {updateUnits(shapeOf(updateInPlace(source).getUpdate())), 0};
}

void emitUpdate(KernelBuilder &k, unsigned) {
  auto op = updateInPlace(k.source);
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  ArrayRef<int64_t> updateShape = shapeOf(op.getUpdate());
  if (updateShape.empty() || updateShape.back() == 1)
    k.algebra.lanes = 1;
  k.forUnits(updateUnits(updateShape), [&](const IndexExpression &unit) {
    auto copy = [&](const IndexExpression &last) {
      Indices update;
      if (!updateShape.empty()) {
        update = k.algebra.delinearize(unit, updateShape.drop_back());
        update.push_back(last);
      }
      Indices place;
      for (size_t dim = 0; dim < shape.size(); ++dim)
        place.push_back(update[dim] +
                        k.points.clampedIndex(op.getStartIndices()[dim], {},
                                              shape[dim] - updateShape[dim]));
      k.points.store(k.results[0], k.algebra.linearize(place, shape),
                     k.points.at(op.getUpdate(), update));
    };
    if (k.algebra.lanes == 1)
      return copy(0);
    k.forLanes(updateShape.back(), copy);
  });
}

} // namespace

extern const Template scatterTemplate, updateTemplate;
const Template scatterTemplate = {
    .accepts = acceptsScatter, .demand = demandOfScatter, .emit = emitScatter};
const Template updateTemplate = {
    .accepts = acceptsUpdate, .demand = demandOfUpdate, .emit = emitUpdate};

} // namespace tenon::codegen
