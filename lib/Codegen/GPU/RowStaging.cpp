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
    tiles.store(
        tiles.addressAt(begin, (vector * piece + done / piece * distance) *
                                   elementBytes),
        part);
  }
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
