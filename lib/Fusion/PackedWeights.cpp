//===- PackedWeights.cpp - Weights in the order in which tiles read them --===//
//
// See PackedWeights.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/PackedWeights.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Libraries/PackedMatmul.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using namespace tenon::stablehlo;

using Packed = libraries::PackedMatmulDescription;

static constexpr int64_t toPacked[] = {3, 0, 1, 4, 2},
                         fromPacked[] = {1, 2, 4, 0, 3};

/// The extents of a matrix cut into blocks: blocks of rows, pairs in one, rows
/// of a pair, blocks of columns, columns in one.
static SmallVector<int64_t> cutExtents(ArrayRef<int64_t> matrix) {
  return {matrix[0] / Packed::blockRows, Packed::blockRows / Packed::pairRows,
          Packed::pairRows, matrix[1] / Packed::blockColumns,
          Packed::blockColumns};
}

static SmallVector<int64_t> permuted(ArrayRef<int64_t> extents,
                                     ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(permutation,
                             [&](int64_t from) { return extents[from]; });
}

bool fusion::hasWholeBlocks(RankedTensorType matrix) {
  return matrix.getRank() == 2 && matrix.getNumElements() > 0 &&
         matrix.getDimSize(0) % Packed::blockRows == 0 &&
         matrix.getDimSize(1) % Packed::blockColumns == 0;
}

Value fusion::pack(ImplicitLocOpBuilder &builder, Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  SmallVector<int64_t> cut = cutExtents(type.getShape());
  Value blocks = ReshapeOp::create(builder, type.clone(cut), matrix);
  return TransposeOp::create(builder, type.clone(permuted(cut, toPacked)),
                             blocks, builder.getDenseI64ArrayAttr(toPacked));
}

Value fusion::unpack(ImplicitLocOpBuilder &builder, Value packed,
                     RankedTensorType type) {
  Value blocks =
      TransposeOp::create(builder, type.clone(cutExtents(type.getShape())),
                          packed, builder.getDenseI64ArrayAttr(fromPacked));
  return ReshapeOp::create(builder, type, blocks);
}

std::optional<Unpacked> Unpacked::of(Value matrix, Operation *user) {
  auto reshape = matrix.getDefiningOp<ReshapeOp>();
  auto transpose =
      reshape ? reshape.getOperand().getDefiningOp<TransposeOp>() : nullptr;
  if (!transpose || reshape->getBlock() != user->getBlock() ||
      transpose->getBlock() != user->getBlock() ||
      transpose.getPermutation() != ArrayRef<int64_t>(fromPacked) ||
      !hasWholeBlocks(cast<RankedTensorType>(matrix.getType())) ||
      shapeOf(transpose.getResult()) !=
          ArrayRef<int64_t>(cutExtents(shapeOf(matrix))))
    return std::nullopt;
  return Unpacked{transpose.getOperand(), transpose, reshape};
}
