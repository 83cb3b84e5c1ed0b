//===- RandomBits.cpp - The blocks of rng_bit_generator -------------------===//
//
// See RandomBits.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/RandomBits.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;

namespace tenon::codegen {

RandomLayout::RandomLayout(stablehlo::RngBitGeneratorOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  width = elementOf(op.getOutput()).getIntOrFloatBitWidth();
  isThreefry = op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY;
  int64_t total = elementCount(shape);
  if (!isThreefry || width == 64) {
    perBlock = isThreefry ? 1 : width == 64 ? 2 : 4;
    blocks = {(total + perBlock - 1) / perBlock};
    return;
  }
  blocks = llvm::to_vector(shape);
  if (shape.empty())
    blocks = {1};
  auto even = llvm::find_if(shape, [](int64_t e) { return e % 2 == 0; });
  if (even != shape.end())
    halved = even - shape.begin();
  else if (!shape.empty())
    halved = llvm::max_element(shape) - shape.begin();
  int64_t &extent = blocks[halved];
  extent = (extent + 1) / 2;
}

namespace {

/// Arithmetic on vectors (or scalars) of one type.
struct Words {
  OpBuilder &b;
  Location loc;
  Type type;

  Value number(uint64_t value) const {
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    Attribute element = b.getIntegerAttr(getElementTypeOrSelf(type),
                                         APInt(64, value).trunc(width));
    if (auto vector = dyn_cast<VectorType>(type))
      element = DenseElementsAttr::get(vector, element);
    return arith::ConstantOp::create(b, loc, cast<TypedAttr>(element));
  }
  Words of(unsigned width) const {
    return {b, loc, withLanesOf(b.getIntegerType(width), type)};
  }
  Value add(Value x, Value y) const {
    return arith::AddIOp::create(b, loc, x, y);
  }
  Value exclusiveOr(Value x, Value y) const {
    return arith::XOrIOp::create(b, loc, x, y);
  }
  Value rotate(Value x, unsigned by) const {
    Value up = arith::ShLIOp::create(b, loc, x, number(by));
    Value down = arith::ShRUIOp::create(b, loc, x, number(32 - by));
    return arith::OrIOp::create(b, loc, up, down);
  }
  Value low(Value wide) const {
    return arith::TruncIOp::create(b, loc, of(32).type, wide);
  }
  Value high(Value wide) const {
    Words words = of(64);
    Value shifted = arith::ShRUIOp::create(b, loc, wide, words.number(32));
    return low(shifted);
  }
  Value widen(Value narrow) const {
    return arith::ExtUIOp::create(b, loc, of(64).type, narrow);
  }
  Value join(Value lowHalf, Value highHalf) const {
    Words words = of(64);
    Value shifted =
        arith::ShLIOp::create(b, loc, widen(highHalf), words.number(32));
    return arith::OrIOp::create(b, loc, widen(lowHalf), shifted);
  }
};

std::array<Value, 4> philox(const Words &w, Value key0, Value key1,
                            std::array<Value, 4> x) {
  for (int round = 0; round < 10; ++round) {
    Value product0 = arith::MulIOp::create(w.b, w.loc, w.widen(x[0]),
                                           w.of(64).number(0xD2511F53));
    Value product1 = arith::MulIOp::create(w.b, w.loc, w.widen(x[2]),
                                           w.of(64).number(0xCD9E8D57));
    x = {w.exclusiveOr(w.exclusiveOr(w.high(product1), x[1]), key0),
         w.low(product1),
         w.exclusiveOr(w.exclusiveOr(w.high(product0), x[3]), key1),
         w.low(product0)};
    key0 = w.add(key0, w.number(0x9E3779B9));
    key1 = w.add(key1, w.number(0xBB67AE85));
  }
  return x;
}

std::array<Value, 2> threefry(const Words &w, Value key0, Value key1, Value x0,
                              Value x1) {
  constexpr unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Value parity = w.exclusiveOr(w.exclusiveOr(key0, key1), w.number(0x1BD11BDA));
  Value keys[3] = {key0, key1, parity};
  x0 = w.add(x0, keys[0]);
  x1 = w.add(x1, keys[1]);
  for (unsigned group = 0; group < 5; ++group) {
    for (unsigned by : rotations[group % 2]) {
      x0 = w.add(x0, x1);
      x1 = w.exclusiveOr(w.rotate(x1, by), x0);
    }
    x0 = w.add(x0, keys[(group + 1) % 3]);
    x1 = w.add(w.add(x1, keys[(group + 2) % 3]), w.number(group + 1));
  }
  return {x0, x1};
}

} // namespace

RandomBits::RandomBits(KernelNest &k, stablehlo::RngBitGeneratorOp op)
    : layout(op), k(k), op(op) {
  Value initial = op.getInitialState();
  word0 = k.points.at(initial, {0}).value;
  word1 = k.points.at(initial, {1}).value;
  if (shapeOf(initial)[0] == 3)
    word2 = k.points.at(initial, {2}).value;
  if (int i = k.source.indexOfResult(op.getOutputState()); i >= 0)
    state = &k.results[i];
  if (int i = k.source.indexOfResult(op.getOutput()); i >= 0)
    bits = &k.results[i];
}

/// Stores where `along`, an index in an extent, exists.
void RandomBits::store(const IndexExpression &position,
                       const IndexExpression &along, int64_t extent,
                       Value number) {
  PointEmitter::Guard guard;
  k.points.require(guard, along, extent);
  if (guard.never)
    return;
  if (layout.width < 32)
    number = k.create<arith::TruncIOp>(
        withLanesOf(k.builder.getIntegerType(layout.width), number.getType()),
        number);
  k.where(guard, [&] {
    k.points.store(*bits, position, {number, k.levels.current()});
  });
}

/// The elements of one block in one access.
void RandomBits::storeTogether(const IndexExpression &block,
                               ArrayRef<Value> numbers) {
  SmallVector<Value> elements(numbers);
  if (layout.width < 32)
    for (Value &element : elements)
      element = k.create<arith::TruncIOp>(
          k.builder.getIntegerType(layout.width), element);
  const int64_t lanes = std::exchange(k.algebra.lanes, layout.perBlock);
  IndexExpression first = block * layout.perBlock;
  IndexRange range = k.algebra.range(first);
  IndexExpression position = k.algebra.laneVariable(
      k.algebra.scalar(first), {range.low, range.high + layout.perBlock - 1},
      k.levels.current(), layout.perBlock);
  Value vector = k.create<vector::FromElementsOp>(
      VectorType::get({layout.perBlock}, elements.front().getType()), elements);
  k.points.store(*bits, position, {vector, k.levels.current()});
  k.algebra.lanes = lanes;
}

void RandomBits::emitBlocks(const IndexExpression &block) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  bool isVector = !k.algebra.laneForm(block).isUniform();
  Type wideType = b.getI64Type();
  Value number;
  if (isVector) {
    Value index = k.algebra.vector(block);
    wideType = VectorType::get({k.algebra.lanes}, wideType);
    number = index.getType() == wideType
                 ? index
                 : Value(k.create<arith::ExtUIOp>(wideType, index));
  } else {
    number = k.create<arith::IndexCastOp>(wideType, k.algebra.scalar(block));
  }
  auto everywhere = [&](Value scalar) -> Value {
    if (!isVector)
      return scalar;
    return k.create<vector::BroadcastOp>(
        withLanesOf(scalar.getType(), wideType), scalar);
  };
  Words w{b, loc, withLanesOf(b.getI32Type(), wideType)};
  Value base = everywhere(word1), key = everywhere(word0);
  Value counter = k.create<arith::AddIOp>(base, number);
  Value key0 = w.low(key), key1 = w.high(key);

  if (layout.isThreefry) {
    auto [x0, x1] = threefry(w, key0, key1, w.low(counter), w.high(counter));
    if (layout.width == 64)
      return store(block, 0, 1, w.join(x0, x1));
    Indices indices = k.algebra.delinearize(block, layout.blocks);
    SmallVector<int64_t> shape = llvm::to_vector(shapeOf(op.getOutput()));
    if (shape.empty())
      shape = {1};
    IndexExpression first = indices[layout.halved] * 2;
    for (int64_t i = 0; i < 2; ++i) {
      indices[layout.halved] = first + i;
      store(k.algebra.linearize(indices, shape), first + i,
            shape[layout.halved], i ? x1 : x0);
    }
    return;
  }
  // The 128-bit sum: a carry if the low half wrapped around.
  Value wrapped =
      k.create<arith::CmpIOp>(arith::CmpIPredicate::ult, counter, base);
  Value carry = k.create<arith::ExtUIOp>(wideType, wrapped);
  Value upper = k.create<arith::AddIOp>(word2 ? everywhere(word2) : key, carry);
  std::array<Value, 4> x =
      philox(w, key0, key1,
             {w.low(counter), w.high(counter), w.low(upper), w.high(upper)});
  int64_t total = elementCount(shapeOf(op.getOutput()));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < layout.perBlock; ++i)
    elements.push_back(layout.width == 64 ? w.join(x[2 * i], x[2 * i + 1])
                                          : x[i]);
  if (!isVector && total % layout.perBlock == 0)
    return storeTogether(block, elements);
  for (auto [i, element] : llvm::enumerate(elements)) {
    IndexExpression position = block * layout.perBlock + int64_t(i);
    store(position, position, total, element);
  }
}

void RandomBits::storeState() {
  Value advance =
      k.create<arith::ConstantOp>(k.builder.getI64IntegerAttr(layout.count()));
  Value next = k.create<arith::AddIOp>(word1, advance);
  k.points.store(*state, 0, {word0, 0});
  k.points.store(*state, 1, {next, 0});
  if (!word2)
    return;
  Value wrapped =
      k.create<arith::CmpIOp>(arith::CmpIPredicate::ult, next, word1);
  Value carry = k.create<arith::ExtUIOp>(word2.getType(), wrapped);
  Value upper = k.create<arith::AddIOp>(word2, carry);
  k.points.store(*state, 2, {upper, 0});
}

LogicalResult checkRandomBits(stablehlo::RngBitGeneratorOp op) {
  Type element = elementOf(op.getOutput());
  if (!isa<IntegerType>(element) || element.isInteger(1))
    return op.emitOpError() << "has no code for elements of type " << element;
  Type state = elementOf(op.getInitialState());
  ArrayRef<int64_t> words = shapeOf(op.getInitialState());
  bool isThreefry = op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY;
  if ((words != ArrayRef<int64_t>{2} &&
       (isThreefry || words != ArrayRef<int64_t>{3})) ||
      state.getIntOrFloatBitWidth() != 64)
    return op.emitOpError()
           << "has a state of type " << op.getInitialState().getType()
           << ", expected two 64-bit integers";
  return success();
}

} // namespace tenon::codegen
