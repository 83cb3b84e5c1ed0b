//===- RowStaging.h - What sums take of a row, in shared memory -----------===//
//
// Where the elements of one place of a sum are spread over threads, what the
// sum takes goes through shared memory: threads store their vectors, and then
// others read place by place. Vectors of more than 16 bytes lie in pieces of
// those, all first pieces of the vectors in front of all second ones. So
// neither threads that store neighbouring pieces nor threads that read
// neighbouring elements meet in a bank.
//
// Example: of 96 vectors of 8 f32 the piece 1 of vector 5 is at the element
// 400 + 5 * 4, since second pieces begin half of the banks behind the end of
// the 384 elements in first ones.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_ROWSTAGING_H
#define TENON_LIB_CODEGEN_GPU_ROWSTAGING_H

#include "RowKernel.h"
#include "SharedTiles.h"

namespace tenon::codegen {

/// The places of the order (b) of Analysis/ReductionTree.h, for rows of at
/// least so many elements.
inline constexpr int64_t placesOfRow = 64;

class RowStaging {
public:
  using Values = GpuKernelBuilder::Values;

  /// For `count` elements of the reduction's input, in vectors of `lanes`.
  RowStaging(const Combiner &combiner, int64_t count, int64_t lanes);

  int64_t bytes() const { return elements * elementBytes; }

  /// Stores the vector of that number.
  void store(SharedTiles &tiles, GpuKernelBuilder &k, mlir::Value begin,
             const IndexExpression &vector, mlir::Value input) const;
  /// Loads it again.
  mlir::Value load(SharedTiles &tiles, GpuKernelBuilder &k, mlir::Value begin,
                   const IndexExpression &vector) const;
  /// Where the first element of a place is.
  mlir::Value addressOf(SharedTiles &tiles, GpuKernelBuilder &k,
                        mlir::Value begin, const IndexExpression &place) const;
  /// Adds elements `first` to `first` + `count` - 1 of the place there.
  mlir::Value add(SharedTiles &tiles, GpuKernelBuilder &k, mlir::Value place,
                  int64_t first, int64_t count, mlir::Value sum) const;
  /// From one element of a place to the next.
  int64_t stepBytes() const {
    return placesOfRow / lanes * piece * elementBytes;
  }

private:
  mlir::Value addressOfPiece(SharedTiles &tiles, mlir::Value begin,
                             const IndexExpression &vector,
                             int64_t number) const;

  const Combiner &combiner;
  int64_t lanes, elementBytes;
  int64_t piece;    // elements of a piece
  int64_t distance; // elements from one piece of a vector to the next
  int64_t elements; // in all
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_ROWSTAGING_H
