//===- RandomBits.h - The blocks of rng_bit_generator ---------------------===//
//
// Bits of a counter-based generator: block p of the output is a fixed function
// of a key and the counter plus p, so blocks are independent and lanes compute
// several of them. The state is two 64-bit words, for PHILOX also three.
//
// PHILOX: Philox 4x32 with 10 rounds (Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011). The key is word 0; the 128-bit counter has
// word 1 as its low half and word 2 as its high one, or word 0 if there are
// only two. A block is four 32-bit numbers
// in order, or two 64-bit ones with the earlier number low; 8- and 16-bit
// elements are the low bits of a 32-bit number each. The new state has word 1
// advanced by the number of blocks, with the carry in word 2. DEFAULT is
// PHILOX, as it is in JAX on the CPU.
//
// THREE_FRY: Threefry 2x32 with 20 rounds (the same paper). The key is word 0,
// the counter word 1, each with its low half first. A block is two 32-bit
// numbers or one 64-bit one. Elements of 32 bits and less: a dimension is
// halved (the first even one, else the first largest one, rounded up), block p
// belongs to row-major index p of the halved shape, and its two numbers go to
// positions 2 j and 2 j + 1 of that dimension. The counter advances by the
// number of blocks.
//
// Both agree with JAX's CPU backend bit for bit.
//
// What is here is the code for one block, or for neighbouring ones; which loops
// walk them is the schedule's affair.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_RANDOMBITS_H
#define TENON_CODEGEN_LOOPS_RANDOMBITS_H

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/KernelNest.h"

namespace tenon::codegen {

/// Which elements the blocks of a generator hold.
struct RandomLayout {
  explicit RandomLayout(stablehlo::RngBitGeneratorOp op);

  bool isThreefry = false;
  unsigned width = 32;               // of an element
  llvm::SmallVector<int64_t> blocks; // the shape of the blocks
  size_t halved = 0;    // the dimension that has two elements per block
  int64_t perBlock = 1; // elements of a block, if nothing is halved

  int64_t count() const { return elementCount(blocks); }
};

class RandomBits {
public:
  /// Reads the state, where `k` stands.
  RandomBits(KernelNest &k, stablehlo::RngBitGeneratorOp op);

  const RandomLayout layout;
  /// Whether the kernel has the bits, and the new state, as results.
  bool hasBits() const { return bits != nullptr; }
  bool hasState() const { return state != nullptr; }

  /// Computes and stores one block, or as many as there are lanes.
  void emitBlocks(const IndexExpression &block);
  void storeState();

private:
  void store(const IndexExpression &position, const IndexExpression &along,
             int64_t extent, mlir::Value number);
  void storeTogether(const IndexExpression &block,
                     llvm::ArrayRef<mlir::Value> numbers);

  KernelNest &k;
  stablehlo::RngBitGeneratorOp op;
  mlir::Value word0, word1, word2;          // the state, scalars
  Buffer *state = nullptr, *bits = nullptr; // the results that are asked for
};

/// Reports what there is no code for.
mlir::LogicalResult checkRandomBits(stablehlo::RngBitGeneratorOp op);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_RANDOMBITS_H
