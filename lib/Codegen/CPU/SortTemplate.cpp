//===- SortTemplate.cpp - sort and top_k ----------------------------------===//
//
// Each slice along the sorted dimension is a unit. `sort` copies the operands
// into the results and merges neighbouring sorted runs of 1, 2, 4, ... elements
// by way of scratch memory: a stable sort with n log n comparisons, whatever
// the comparator. `top_k` walks a row once and inserts into the k largest so
// far; most elements are refused by one comparison. Floats are in total order
// there
// (-0 below 0, NaN above infinity), and of equal elements the first is first.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

#include "tenon/Codegen/Loops/SortedSlices.h"
#include "tenon/Codegen/Loops/TotalOrder.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using Values = KernelBuilder::Values;

/// Bytes of a scratch slice of input `i`.
int64_t sliceBytes(stablehlo::SortOp op, unsigned i) {
  return llvm::alignTo(
      SortedSlices(op).length * bytesOf(elementOf(op.getInputs()[i])), 64);
}

/// One to merge into, and one more to sort in for a result nobody asks for.
int64_t scratchSlices(const KernelSource &source, stablehlo::SortOp op,
                      unsigned i) {
  return source.indexOfResult(op.getResult(i)) < 0 ? 2 : 1;
}

class Sort {
public:
  Sort(KernelBuilder &k, stablehlo::SortOp op)
      : k(k), op(op), slices(op), length(slices.length) {}

  void emit();

private:
  /// Where an element of a slice lies: in the result, or in scratch memory if
  /// nobody asks for that result.
  IndexExpression positionIn(const Buffer &buffer,
                             const IndexExpression &along) {
    return buffer.shape.size() == slices.shape.size() && isResult(buffer)
               ? k.algebra.linearize(slices.at(others, along), slices.shape)
               : along;
  }
  bool isResult(const Buffer &buffer) const {
    return llvm::any_of(k.results, [&](const Buffer &result) {
      return result.memref == buffer.memref;
    });
  }
  IndexExpression index(Value value) {
    return k.algebra.uniform(value, {0, length}, k.levels.current());
  }
  void mergeRuns(Value start, Value width);

  KernelBuilder &k;
  stablehlo::SortOp op;
  const SortedSlices slices;
  const int64_t length;
  Indices others;
  SmallVector<Buffer> sorted, scratch; // per input
};

/// Merges the sorted runs [start, start + width) and [start + width, start + 2
/// width) of the results into scratch memory.
void Sort::mergeRuns(Value start, Value width) {
  Value total = k.constantIndex(length), last = k.constantIndex(length - 1);
  auto add = [&](Value x, Value y) -> Value {
    return k.create<arith::AddIOp>(x, y);
  };
  auto smaller = [&](Value x, Value y) -> Value {
    return k.create<arith::MinUIOp>(x, y);
  };
  Value middle = smaller(add(start, width), total);
  Value end = smaller(add(middle, width), total);
  k.forLoop(
      start, end, 1, {0, length - 1}, 1, false, {start, middle},
      [&](const IndexExpression &place, ValueRange carried) -> Values {
        Value left = carried[0], right = carried[1];
        IndexExpression leftAt = index(smaller(left, last));
        IndexExpression rightAt = index(smaller(right, last));
        SmallVector<Value> arguments, lefts, rights;
        for (Buffer &buffer : sorted) {
          lefts.push_back(
              k.points.load(buffer, positionIn(buffer, leftAt)).value);
          rights.push_back(
              k.points.load(buffer, positionIn(buffer, rightAt)).value);
          arguments.append({rights.back(), lefts.back()});
        }
        Value before =
            k.points.applyRegion(op.getComparator(), arguments).front();
        // From the right only if it goes strictly before, so that equal
        // elements keep their order.
        Value rightLeft =
            k.create<arith::CmpIOp>(arith::CmpIPredicate::ult, right, end);
        Value leftDone =
            k.create<arith::CmpIOp>(arith::CmpIPredicate::uge, left, middle);
        Value wanted = k.create<arith::OrIOp>(leftDone, before);
        Value takeRight = k.create<arith::AndIOp>(rightLeft, wanted);
        for (auto [buffer, x, y] : llvm::zip(scratch, lefts, rights)) {
          Value taken = k.create<arith::SelectOp>(takeRight, y, x);
          k.points.store(buffer, place, {taken, k.levels.current()});
        }
        Value one = k.constantIndex(1);
        return {k.create<arith::SelectOp>(takeRight, left, add(left, one)),
                k.create<arith::SelectOp>(takeRight, add(right, one), right)};
      });
}

void Sort::emit() {
  k.algebra.lanes = 1;
  int64_t perPart = 0;
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    perPart += scratchSlices(k.source, op, i) * sliceBytes(op, i);
  Value base = k.create<arith::MulIOp>(k.part, k.constantIndex(perPart));
  int64_t offset = 0;
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    auto slice = [&] {
      Value start = k.create<arith::AddIOp>(base, k.constantIndex(offset));
      offset += sliceBytes(op, i);
      return k.scratchBuffer(start, {length}, elementOf(op.getInputs()[i]));
    };
    scratch.push_back(slice());
    int result = k.source.indexOfResult(op.getResult(i));
    sorted.push_back(result >= 0 ? k.results[result] : slice());
  }
  k.forUnits(slices.count, [&](const IndexExpression &unit) {
    others = k.algebra.delinearize(unit, slices.others);
    k.forRange(length, [&](const IndexExpression &along) {
      SmallVector<Element> elements;
      for (Value input : op.getInputs())
        elements.push_back(k.points.at(input, slices.at(others, along)));
      for (auto [buffer, element] : llvm::zip(sorted, elements))
        k.points.store(buffer, positionIn(buffer, along), element);
    });
    int64_t passes = 0;
    while ((int64_t(1) << passes) < length)
      ++passes;
    if (!passes)
      return;
    k.forRange(passes, {k.constantIndex(1)},
               [&](const IndexExpression &, ValueRange carried) -> Values {
                 Value width = carried.front();
                 Value twice = k.create<arith::AddIOp>(width, width);
                 Value pairs = k.create<arith::CeilDivUIOp>(
                     k.constantIndex(length), twice);
                 k.forLoop(k.constantIndex(0), pairs, 1, {0, length}, 1, false,
                           [&](const IndexExpression &pair) {
                             Value start = k.create<arith::MulIOp>(
                                 k.algebra.scalar(pair), twice);
                             mergeRuns(start, width);
                           });
                 k.forRange(length, [&](const IndexExpression &along) {
                   for (auto [from, to] : llvm::zip(scratch, sorted))
                     k.points.store(to, positionIn(to, along),
                                    k.points.load(from, along));
                 });
                 return {twice};
               });
  });
}

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

class TopK {
public:
  TopK(KernelBuilder &k, chlo::TopKOp op)
      : k(k), op(op), shape(shapeOf(op.getOperand())), count(op.getK()) {}

  void emit() {
    k.algebra.lanes = 1;
    place(0, values, hasValues);
    place(1, indices, hasIndices);
    k.forUnits(elementCount(shape.drop_back()),
               [&](const IndexExpression &row) { emitRow(row); });
  }

private:
  void place(unsigned i, Buffer &buffer, bool &isAsked);
  void emitRow(const IndexExpression &row);
  void insert(const IndexExpression &row, const IndexExpression &column,
              Value element);
  Value isLarger(Value x, Value y) {
    return emitIsLarger(k, elementOf(op.getOperand()), x, y);
  }

  KernelBuilder &k;
  chlo::TopKOp op;
  ArrayRef<int64_t> shape;
  int64_t count;
  Buffer values, indices; // the results, or scratch memory for one row
  bool hasValues = true, hasIndices = true;
};

/// Bytes of one row of a result nobody asks for.
int64_t unaskedBytes(const KernelSource &source, chlo::TopKOp op, unsigned i) {
  if (source.indexOfResult(op->getResult(i)) >= 0)
    return 0;
  return (op.getK() * bytesOf(elementOf(op->getResult(i))) + 63) / 64 * 64;
}

void TopK::place(unsigned i, Buffer &buffer, bool &isAsked) {
  int result = k.source.indexOfResult(op->getResult(i));
  isAsked = result >= 0;
  if (isAsked) {
    buffer = k.results[result];
    return;
  }
  // At most one result is not asked for.
  Value start = k.create<arith::MulIOp>(
      k.part, k.constantIndex(unaskedBytes(k.source, op, i)));
  buffer = k.scratchBuffer(start, {count}, elementOf(op->getResult(i)));
}

/// Puts an element in its place among those of the row so far: from the front,
/// the first one that is smaller makes room, and from there on each takes the
/// place of the next.
void TopK::insert(const IndexExpression &row, const IndexExpression &column,
                  Value element) {
  OpBuilder &b = k.builder;
  Value seen = k.algebra.scalar(column);
  Value bound = k.create<arith::MinUIOp>(
      k.create<arith::AddIOp>(seen, k.constantIndex(1)),
      k.constantIndex(count));
  Type indexType = valueType(elementOf(op.getIndices()));
  Value number = k.create<arith::IndexCastOp>(indexType, seen);
  Value no = k.create<arith::ConstantOp>(b.getBoolAttr(false));
  k.forLoop(
      k.constantIndex(0), bound, 1, {0, count - 1}, 1, false,
      {element, number, no},
      [&](const IndexExpression &place, ValueRange carried) -> Values {
        IndexExpression inValues = (hasValues ? row * count : 0) + place;
        IndexExpression inIndices = (hasIndices ? row * count : 0) + place;
        unsigned level = k.levels.current();
        Value held = k.points.load(values, inValues).value;
        Value heldNumber = k.points.load(indices, inIndices).value;
        Value isFree = k.create<arith::CmpIOp>(arith::CmpIPredicate::uge,
                                               k.algebra.scalar(place), seen);
        Value moves =
            k.create<arith::OrIOp>(carried[2], isLarger(carried[0], held));
        moves = k.create<arith::OrIOp>(moves, isFree);
        auto choose = [&](Value x, Value y) -> Value {
          return k.create<arith::SelectOp>(moves, x, y);
        };
        k.points.store(values, inValues, {choose(carried[0], held), level});
        k.points.store(indices, inIndices,
                       {choose(carried[1], heldNumber), level});
        return {choose(held, carried[0]), choose(heldNumber, carried[1]),
                moves};
      });
}

void TopK::emitRow(const IndexExpression &row) {
  if (count == 0)
    return;
  IndexExpression last = (hasValues ? row * count : 0) + (count - 1);
  auto elementAt = [&](const IndexExpression &column) {
    Indices at = k.algebra.delinearize(row, shape.drop_back());
    at.push_back(column);
    return k.points.at(op.getOperand(), at);
  };
  // A place is read before its first element is in, and what is read is not
  // used; but it has to be a number that was written.
  k.forRange(count, [&](const IndexExpression &place) {
    k.points.store(values, (hasValues ? row * count : 0) + place, elementAt(0));
    Type indexType = valueType(elementOf(op.getIndices()));
    Value zero =
        k.create<arith::ConstantOp>(k.builder.getIntegerAttr(indexType, 0));
    k.points.store(indices, (hasIndices ? row * count : 0) + place,
                   {zero, k.levels.current()});
  });
  k.forRange(shape.back(), [&](const IndexExpression &column) {
    Value element = elementAt(column).value;
    Value smallest = k.points.load(values, last).value;
    Value room = k.create<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                         k.algebra.scalar(column),
                                         k.constantIndex(count));
    Value wanted = k.create<arith::OrIOp>(room, isLarger(element, smallest));
    k.ifThen(wanted, [&] { insert(row, column, element); });
  });
}

//===----------------------------------------------------------------------===//
// The templates
//===----------------------------------------------------------------------===//

Demand demandOfSort(const KernelSource &source) {
  auto op = cast<stablehlo::SortOp>(source.root);
  Demand demand;
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    demand.scratchPerPart += scratchSlices(source, op, i) * sliceBytes(op, i);
  demand.units = SortedSlices(op).count;
  return demand;
}

void emitSort(KernelBuilder &k, unsigned) {
  Sort(k, cast<stablehlo::SortOp>(k.source.root)).emit();
}

Demand demandOfTopK(const KernelSource &source) {
  auto op = cast<chlo::TopKOp>(source.root);
  return {elementCount(shapeOf(op.getOperand()).drop_back()),
          unaskedBytes(source, op, 0) + unaskedBytes(source, op, 1)};
}

void emitTopK(KernelBuilder &k, unsigned) {
  TopK(k, cast<chlo::TopKOp>(k.source.root)).emit();
}

} // namespace

extern const Template sortTemplate, topKTemplate;
const Template sortTemplate = {.accepts = acceptsOp<stablehlo::SortOp>,
                               .demand = demandOfSort,
                               .emit = emitSort};
const Template topKTemplate = {.accepts = acceptsOp<chlo::TopKOp>,
                               .demand = demandOfTopK,
                               .emit = emitTopK};

} // namespace tenon::codegen
