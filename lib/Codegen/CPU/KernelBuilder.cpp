//===- KernelBuilder.cpp - A kernel function under construction -----------===//
//
// Buffers, loops and parts.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

Type elementOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

int64_t elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t bytesOf(Type elementType) {
  return storageType(elementType).getIntOrFloatBitWidth() / 8;
}

//===----------------------------------------------------------------------===//
// The source
//===----------------------------------------------------------------------===//

KernelSource::KernelSource(func::FuncOp function) : function(function) {
  inPlace.assign(function.getNumResults(), -1);
  if (auto given =
          function->getAttrOfType<DenseI64ArrayAttr>(exec::inPlaceAttrName))
    for (auto [result, operand] : llvm::enumerate(given.asArrayRef()))
      if (result < inPlace.size())
        inPlace[result] = operand;
}

Operation *KernelSource::terminator() const {
  return function.front().getTerminator();
}

SmallVector<Value> KernelSource::results() const {
  return llvm::to_vector(terminator()->getOperands());
}

Operation *KernelSource::rootOperation() const {
  Operation *end = terminator();
  if (end->getNumOperands() == 0)
    return nullptr;
  Operation *root = end->getOperand(0).getDefiningOp();
  llvm::SmallDenseSet<Value> seen;
  for (Value result : end->getOperands())
    if (!root || result.getDefiningOp() != root || !seen.insert(result).second)
      return nullptr;
  for (Operation &op : function.front().without_terminator())
    if (&op != root && !isPointOperation(&op))
      return nullptr;
  return root;
}

int KernelSource::indexOfResult(Value value) const {
  for (auto [index, result] : llvm::enumerate(terminator()->getOperands()))
    if (result == value)
      return index;
  return -1;
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

KernelBuilder::KernelBuilder(const KernelSource &source, func::FuncOp function,
                             int64_t scratchParts,
                             const CpuInstructions &instructions)
    : source(source), function(function), scratchParts(scratchParts),
      builder(function.getContext()), loc(source.function.getLoc()),
      levels(builder, &function.front()), algebra(builder, loc, levels),
      points(builder, loc, levels, algebra, instructions),
      instructions(instructions) {
  builder.setInsertionPoint(function.front().getTerminator());
  multiplicity.push_back(1);
  runs.emplace_back(&function.front(), 1);
  algebra.lanes = vectorLanes;
  auto arguments = function.getArguments();
  parts = arguments.back();
  part = arguments.drop_back().back();

  func::FuncOp tensors = source.function;
  auto bufferOf = [&](Value tensor, Value memref) {
    Buffer buffer;
    buffer.memref = memref;
    buffer.shape = llvm::to_vector(shapeOf(tensor));
    buffer.elementType = elementOf(tensor);
    return buffer;
  };
  SmallVector<Buffer> operands;
  for (auto [tensor, memref] : llvm::zip(tensors.getArguments(), arguments))
    operands.push_back(bufferOf(tensor, memref));
  unsigned next = operands.size();
  for (auto [index, tensor] : llvm::enumerate(source.results())) {
    int64_t operand = source.inPlace[index];
    Buffer buffer = bufferOf(tensor, operand < 0 ? arguments[next++]
                                                 : operands[operand].memref);
    buffer.isWritten = true;
    if (operand >= 0)
      operands[operand].isWritten = true;
    results.push_back(buffer);
  }
  for (auto [tensor, buffer] : llvm::zip(tensors.getArguments(), operands))
    points.bind(tensor, buffer);
  if (!scratchParts)
    return;
  scratch = arguments[next];
  parts =
      arith::MinUIOp::create(builder, loc, parts, constantIndex(scratchParts));
}

/// Instructions of the usual cost are 1; a gather is as many loads as it has
/// lanes, and a vector of integer divisions has no instruction.
static double costOf(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>())
    return 0;
  if (isa<vector::GatherOp, vector::ScatterOp>(op))
    return vectorLanes * 1.5;
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return 8;
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
          arith::FloorDivSIOp>(op))
    return isa<VectorType>(op.getResult(0).getType()) ? 24 : 4;
  if (isa<scf::ForOp>(op))
    return 3;
  return 1;
}

double KernelBuilder::cost() const {
  double sum = 0;
  for (auto [block, times] : runs)
    for (Operation &op : *block)
      sum += times * costOf(op);
  return sum;
}

Value KernelBuilder::constantIndex(int64_t value) {
  return algebra.scalar(value);
}

Value KernelBuilder::resultValue(unsigned i) const {
  return source.terminator()->getOperand(i);
}

void KernelBuilder::storeResult(unsigned i, ArrayRef<IndexExpression> indices,
                                Element element) {
  points.store(results[i], algebra.linearize(indices, results[i].shape),
               element);
}

Buffer KernelBuilder::scratchBuffer(Value offset, ArrayRef<int64_t> shape,
                                    Type elementType) {
  Buffer buffer;
  auto type = MemRefType::get({std::max<int64_t>(elementCount(shape), 1)},
                              storageType(elementType));
  buffer.memref =
      memref::ViewOp::create(builder, loc, type, scratch, offset, ValueRange());
  buffer.shape = llvm::to_vector(shape);
  buffer.elementType = elementType;
  buffer.isWritten = true;
  return buffer;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void KernelBuilder::enter(Block *block, double trips, bool barrier) {
  levels.push(block, barrier);
  multiplicity.push_back(multiplicity.back() * trips);
  runs.emplace_back(block, multiplicity.back());
  if (block->mightHaveTerminator())
    builder.setInsertionPoint(block->getTerminator());
  else
    builder.setInsertionPointToEnd(block);
}

void KernelBuilder::leave(Operation *op) {
  levels.pop();
  multiplicity.pop_back();
  algebra.levelPopped();
  points.levelPopped();
  builder.setInsertionPointAfter(op);
}

KernelBuilder::Values KernelBuilder::forLoop(Value low, Value high,
                                             int64_t step, IndexRange range,
                                             int64_t multiple, bool isLane,
                                             ValueRange carried,
                                             CarryingBody body, double trips) {
  Value by = constantIndex(step);
  auto loop = scf::ForOp::create(builder, loc, low, high, by, carried);
  if (trips == 0)
    trips = double(range.high - range.low + step) / step;
  enter(loop.getBody(), trips);
  unsigned level = levels.current();
  Value variable = loop.getInductionVar();
  IndexExpression index =
      isLane ? algebra.laneVariable(variable, range, level, multiple)
             : algebra.uniform(variable, range, level, multiple);
  Values results = body(index, loop.getRegionIterArgs());
  if (!carried.empty()) {
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, loc, results);
  }
  leave(loop);
  return Values(loop.getResults());
}

void KernelBuilder::forUnits(int64_t count, Body body) {
  if (count == 1) {
    // One unit belongs to the last part; a loop of one trip would only hide it.
    Value last = arith::AddIOp::create(builder, loc, part, constantIndex(1));
    Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       last, parts);
    ifThen(mine, [&] { body(0); });
    return;
  }
  Value total = constantIndex(count);
  Value next = arith::AddIOp::create(builder, loc, part, constantIndex(1));
  auto bound = [&](Value p) -> Value {
    Value product = arith::MulIOp::create(builder, loc, total, p);
    return arith::DivUIOp::create(builder, loc, product, parts);
  };
  Value low = bound(part), high = bound(next);
  // A part beyond the largest number of parts has nothing to do.
  if (scratch)
    high = arith::MinUIOp::create(builder, loc, high, total);
  forLoop(low, high, 1, {0, count - 1}, 1, false, {},
          [&](const IndexExpression &unit, ValueRange) {
            body(unit);
            return Values();
          });
}

KernelBuilder::Values KernelBuilder::forRange(int64_t count, ValueRange carried,
                                              CarryingBody body) {
  if (count == 1)
    return body(0, carried);
  return forLoop(constantIndex(0), constantIndex(count), 1, {0, count - 1}, 1,
                 false, carried, body);
}

void KernelBuilder::forRange(int64_t count, Body body) {
  forRange(count, {}, [&](const IndexExpression &index, ValueRange) {
    body(index);
    return Values();
  });
}

KernelBuilder::Values KernelBuilder::forSpace(
    ArrayRef<int64_t> shape, ValueRange carried,
    llvm::function_ref<Values(const Indices &, ValueRange)> body) {
  Indices indices;
  std::function<Values(size_t, ValueRange)> nest =
      [&](size_t dim, ValueRange values) -> Values {
    if (dim == shape.size())
      return body(indices, values);
    return forRange(shape[dim], values,
                    [&](const IndexExpression &index, ValueRange inner) {
                      indices.push_back(index);
                      Values results = nest(dim + 1, inner);
                      indices.pop_back();
                      return results;
                    });
  };
  return nest(0, carried);
}

void KernelBuilder::forSpace(ArrayRef<int64_t> shape,
                             llvm::function_ref<void(const Indices &)> body) {
  forSpace(shape, {}, [&](const Indices &indices, ValueRange) {
    body(indices);
    return Values();
  });
}

KernelBuilder::Values KernelBuilder::carryingTail(
    int64_t first, int64_t extent,
    llvm::function_ref<Values(const IndexExpression &)> body) {
  int64_t count = extent - first;
  assert(count > 0 && count < algebra.lanes);
  auto type = VectorType::get({algebra.lanes}, builder.getI1Type());
  Value outer = points.mask;
  assert(!outer && "a tail inside of a tail");
  points.mask = levels.emitAt(0, [&](OpBuilder &b) -> Value {
    return vector::ConstantMaskOp::create(b, loc, type,
                                          ArrayRef<int64_t>{count});
  });
  points.maskLevel = 0;
  IndexExpression index =
      algebra.laneVariable(constantIndex(first), {first, extent - 1},
                           levels.current(), first ? first : 1 << 20);
  Values results = body(index);
  points.mask = outer;
  return results;
}

void KernelBuilder::tail(int64_t first, int64_t extent, Body body) {
  carryingTail(first, extent, [&](const IndexExpression &index) {
    body(index);
    return Values();
  });
}

void KernelBuilder::forLanes(int64_t extent, Body body) {
  int64_t whole = extent - extent % algebra.lanes;
  if (whole)
    forLoop(constantIndex(0), constantIndex(whole), algebra.lanes,
            {0, whole - 1}, algebra.lanes, true, {},
            [&](const IndexExpression &index, ValueRange) {
              body(index);
              return Values();
            });
  if (whole != extent)
    tail(whole, extent, body);
}

void KernelBuilder::forLanes(int64_t extent, const IndexExpression &block,
                             int64_t length, Body body) {
  if (length >= extent)
    return forLanes(extent, body);
  int64_t whole = extent - extent % algebra.lanes;
  Value low = algebra.scalar(block * length);
  Value high = algebra.scalar(block * length + length);
  Value end = arith::MinUIOp::create(builder, loc, high, constantIndex(whole));
  forLoop(
      low, end, algebra.lanes, {0, whole - 1}, algebra.lanes, true, {},
      [&](const IndexExpression &index, ValueRange) {
        body(index);
        return Values();
      },
      double(length) / algebra.lanes);
  if (whole == extent)
    return;
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                       high, constantIndex(extent));
  ifThen(isLast, [&] { tail(whole, extent, body); });
}

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto conditional =
      scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  enter(conditional.thenBlock(), 1, /*barrier=*/true);
  body();
  leave(conditional);
}

KernelBuilder::Values
KernelBuilder::ifThenElse(Value condition, ValueRange otherwise,
                          llvm::function_ref<Values()> body) {
  auto conditional = scf::IfOp::create(builder, loc, otherwise.getTypes(),
                                       condition, /*withElseRegion=*/true);
  enter(conditional.thenBlock(), 1, /*barrier=*/true);
  Values results = body();
  builder.setInsertionPointToEnd(conditional.thenBlock());
  scf::YieldOp::create(builder, loc, results);
  leave(conditional);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(conditional.elseBlock());
  scf::YieldOp::create(builder, loc, otherwise);
  return Values(conditional.getResults());
}

} // namespace tenon::codegen
