//===- PackedTiles.h - Products of bf16 by tiles --------------------------===//
//
// The products of PackedProduct.h for processors whose instructions multiply
// tiles of bf16 and add up in f32 (Instructions::hasTiles). The left factor
// lies as rows of bf16. The right one lies as rows of pairs: the element of 4
// bytes at (t, column) has the terms 2 t and 2 t + 1 of the column. So rows of
// bf16 with an even number of terms, seen as 4-byte elements and transposed,
// are a right factor.
//
// Terms are taken 32 at a time, and there must be zeros up to the next multiple
// in both factors. An element is one chain over these steps; within a step, the
// even terms are one chain of multiply-adds from zero and the odd ones another,
// whose sum is added. Subnormal numbers count as zero.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_PACKEDTILES_H
#define TENON_LIB_CODEGEN_CPU_PACKEDTILES_H

#include "PackedProduct.h"

namespace tenon::codegen {

/// Terms of a step; also the rows and columns of a block of four tiles.
inline constexpr int64_t tileTerms = 32;

inline int64_t wholeSteps(int64_t terms) {
  return llvm::alignTo(terms, tileTerms);
}

/// The row stride of a matrix of bf16 with that many columns, even if its rows
/// are terms: see packedStride().
inline int64_t narrowStride(int64_t columns) {
  int64_t stride = wholeSteps(columns);
  return stride % 2048 == 0 ? stride + tileTerms : stride;
}

/// Between these two, the tiles of this thread have the shape that products
/// count on.
void beginTiles(KernelBuilder &k);
void endTiles(KernelBuilder &k);

/// As addProduct(), with a left factor of bf16 and a right one of pairs.
/// `extents.terms` is a multiple of tileTerms. Rows and columns are taken 16 at
/// a time.
void addTileProduct(KernelBuilder &k, const PackedPlace &left,
                    const PackedPlace &right, const PackedPlace &to,
                    const ProductExtents &extents, mlir::Value isFresh);

/// From rows of bf16, `pairs` times two of them, to as many rows of pairs.
void pairRows(KernelBuilder &k, const PackedPlace &from, int64_t pairs,
              mlir::Value columns, const PackedPlace &to);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_PACKEDTILES_H
