//===- RowStaging.cpp - What sums take of a row, in shared memory ---------===//
//
// See RowStaging.h.
//
//===----------------------------------------------------------------------===//

#include "RowStaging.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

constexpr int64_t bytesOfBanks = 128;

RowStaging::RowStaging(const Combiner &combiner, int64_t count, int64_t lanes)
    : combiner(combiner), lanes(lanes),
      elementBytes(bytesOf(elementOf(combiner.inputs.front()))),
      piece(std::min(lanes, bytesOfAccess / elementBytes)),
      distance(count / lanes * piece) {
  if (piece < lanes)
    distance = llvm::alignTo(distance, bytesOfBanks / elementBytes) +
               bytesOfBanks / 2 / elementBytes;
  elements = distance * (lanes / piece);
}

void RowStaging::store(SharedTiles &tiles, GpuKernelBuilder &k, Value begin,
                       const IndexExpression &vector, Value input) const {
  for (int64_t done = 0; done < lanes; done += piece) {
    Value part = input;
    if (piece < lanes)
      part = k.create<vector::ExtractStridedSliceOp>(
          input, ArrayRef<int64_t>{done}, ArrayRef<int64_t>{piece},
          ArrayRef<int64_t>{1});
    tiles.store(addressOfPiece(tiles, begin, vector, done / piece), part);
  }
}

Value RowStaging::load(SharedTiles &tiles, GpuKernelBuilder &k, Value begin,
                       const IndexExpression &vector) const {
  Type element = elementOf(combiner.inputs.front());
  if (lanes == 1)
    return tiles.load(addressOfPiece(tiles, begin, vector, 0), element);
  Values values;
  for (int64_t number = 0; number < lanes / piece; ++number) {
    Value part = tiles.load(addressOfPiece(tiles, begin, vector, number),
                            VectorType::get({piece}, element));
    for (int64_t i = 0; i < piece; ++i)
      values.push_back(k.create<vector::ExtractOp>(part, i));
  }
  return k.create<vector::FromElementsOp>(VectorType::get({lanes}, element),
                                          values);
}

Value RowStaging::addressOfPiece(SharedTiles &tiles, Value begin,
                                 const IndexExpression &vector,
                                 int64_t number) const {
  return tiles.addressAt(begin,
                         (vector * piece + number * distance) * elementBytes);
}

Value RowStaging::addressOf(SharedTiles &tiles, GpuKernelBuilder &k,
                            Value begin, const IndexExpression &place) const {
  IndexAlgebra &algebra = k.algebra;
  const IndexExpression inVector = algebra.mod(place, lanes);
  return tiles.addressAt(begin, (algebra.floorDiv(inVector, piece) * distance +
                                 algebra.floorDiv(place, lanes) * piece +
                                 algebra.mod(inVector, piece)) *
                                    elementBytes);
}

Value RowStaging::add(SharedTiles &tiles, GpuKernelBuilder &k, Value place,
                      int64_t first, int64_t count, Value sum) const {
  // All are read before one is added.
  Values inputs;
  for (int64_t i = first; i < first + count; ++i)
    inputs.push_back(
        tiles.load(tiles.addressAt(place, IndexExpression(i * stepBytes())),
                   elementOf(combiner.inputs.front())));
  for (Value input : inputs)
    sum = combiner.combine(k, {sum}, {input}).front();
  return sum;
}

} // namespace tenon::codegen
