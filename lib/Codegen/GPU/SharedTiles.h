//===- SharedTiles.h - Tiles in the memory that a block shares ------------===//
//
// Addresses in shared memory, and where the chunks of a tile's rows stand. Rows
// are cut into chunks of 16 bytes, which is what a thread reads at once. Reads
// of one chunk of neighbouring rows, and writes of neighbouring chunks of one
// row, must both touch different banks, so the chunk c of row r stands in the
// place of chunk c xor key(r), where the key counts the rows that begin at the
// same bank.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_SHAREDTILES_H
#define TENON_LIB_CODEGEN_GPU_SHAREDTILES_H

#include "GpuKernelBuilder.h"

namespace tenon::codegen {

class SharedTiles {
public:
  using Values = GpuKernelBuilder::Values;

  explicit SharedTiles(GpuKernelBuilder &k);

  /// The address of `bytes` of shared memory.
  mlir::Value sharedMemory(int64_t bytes);
  mlir::Value addressAt(mlir::Value base, mlir::Value bytes);
  mlir::Value addressAt(mlir::Value base, const IndexExpression &bytes);
  /// Chunk `chunk` of rows of `chunks` chunks stands there. `pairs` keeps two
  /// neighbours together.
  IndexExpression swizzled(const IndexExpression &row,
                           const IndexExpression &chunk, int64_t chunks,
                           bool pairs = false);

  /// Begins to copy `bytes` (4, 8 or 16) of global memory, or to write zeros
  /// where `condition`, if there is one, does not hold.
  void beginCopy(mlir::Value to, const Buffer &from,
                 const IndexExpression &position, int64_t bytes,
                 mlir::Value condition);
  /// The same of global memory at an address.
  void beginCopy(mlir::Value to, mlir::Value from, int64_t bytes,
                 mlir::Value condition);
  /// Puts what was begun into a group, and waits until at most so many groups
  /// of this thread have not arrived.
  void endGroup();
  void awaitGroups(uint32_t left);

  void store(mlir::Value address, mlir::Value value);
  mlir::Value load(mlir::Value address, mlir::Type type);

protected:
  GpuKernelBuilder &k;
  mlir::Type pointer, i32;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_SHAREDTILES_H
