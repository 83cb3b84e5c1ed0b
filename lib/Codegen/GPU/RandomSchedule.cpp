//===- RandomSchedule.cpp - A thread per block of random bits -------------===//
//
// Blocks of a counter-based generator (Loops/RandomBits.h) are independent.
// Those of Philox hold neighbouring elements, 16 bytes of 32 or 64 bits each,
// which a thread stores at once. Those of Threefry go to places further apart;
// where neighbouring blocks are neighbours along the last dimension, a thread
// computes as many of them as fill an access.
//
// A state that is overwritten has to be read by all before that, so one block
// of threads computes everything then.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/RandomBits.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 256, threadsOfOnlyBlock = 1024;

stablehlo::RngBitGeneratorOp generatorOf(const KernelSource &source) {
  return cast<stablehlo::RngBitGeneratorOp>(source.root);
}

/// Blocks of the generator that a thread computes at once.
int64_t lanesOf(const RandomLayout &layout) {
  if (!layout.isThreefry || layout.width == 64 ||
      layout.halved + 1 == layout.blocks.size())
    return 1;
  int64_t lanes = bytesOfAccess * 8 / std::max(layout.width, 32u);
  while (layout.blocks.back() % lanes)
    lanes /= 2;
  return lanes;
}

bool overwritesState(const KernelSource &source) {
  return llvm::any_of(source.inPlace, [](int64_t i) { return i >= 0; });
}

class RandomKernel : GpuKernelBuilder {
public:
  RandomKernel(const KernelSource &source, func::FuncOp function,
               const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        bits(*this, generatorOf(source)) {
    const int64_t lanes = lanesOf(bits.layout),
                  vectors = bits.layout.count() / lanes;
    const int64_t threads = launch.parts * launch.threads;
    auto emitVector = [&](const IndexExpression &own) {
      algebra.lanes = lanes;
      bits.emitBlocks(vectorAt(own * lanes, bits.layout.count()));
      algebra.lanes = 1;
    };
    if (bits.hasBits() && vectors)
      forRange(llvm::divideCeil(vectors, threads),
               [&](const IndexExpression &round) {
                 ifBelow(round * threads + block * launch.threads + thread,
                         vectors, emitVector);
               });
    if (!bits.hasState())
      return;
    if (overwritesState(source))
      awaitBlock();
    ifBelow(block * launch.threads + thread, 1,
            [&](const IndexExpression &) { bits.storeState(); });
  }

private:
  RandomBits bits;
};

} // namespace

bool RandomSchedule::accepts(const KernelSource &source) const {
  return isa_and_nonnull<stablehlo::RngBitGeneratorOp>(source.root);
}

LogicalResult RandomSchedule::check(const KernelSource &source) const {
  return checkRandomBits(generatorOf(source));
}

LaunchShape RandomSchedule::launchShape(const KernelSource &source) const {
  if (overwritesState(source))
    return {.parts = 1, .threads = threadsOfOnlyBlock};
  RandomLayout layout(generatorOf(source));
  const int64_t vectors =
      std::max<int64_t>(layout.count() / lanesOf(layout), 1);
  return {.parts = int64_t(llvm::divideCeil(vectors, threadsPerBlock)),
          .threads = threadsPerBlock};
}

EmittedLoops RandomSchedule::emit(const KernelSource &source, ModuleOp module,
                                  StringRef name, unsigned) const {
  return emitAs<RandomKernel>(source, module, name);
}

} // namespace tenon::codegen
