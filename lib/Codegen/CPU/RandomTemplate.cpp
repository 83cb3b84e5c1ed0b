//===- RandomTemplate.cpp - rng_bit_generator -----------------------------===//
//
// Blocks of random bits (Loops/RandomBits.h) in units of 256, computed by
// lanes.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

#include "tenon/Codegen/Loops/RandomBits.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t blocksPerUnit = 256;

stablehlo::RngBitGeneratorOp generatorOf(const KernelSource &source) {
  return cast<stablehlo::RngBitGeneratorOp>(source.root);
}

LogicalResult checkGenerator(const KernelSource &source) {
  return checkRandomBits(generatorOf(source));
}

Demand demandOfRandom(const KernelSource &source) {
  int64_t count = RandomLayout(generatorOf(source)).count();
  return {(count + blocksPerUnit - 1) / blocksPerUnit, 0};
}

void emitRandom(KernelBuilder &k, unsigned) {
  RandomBits bits(k, generatorOf(k.source));
  const int64_t count = bits.layout.count();
  int64_t units = (count + blocksPerUnit - 1) / blocksPerUnit;
  if (count < vectorLanes)
    k.algebra.lanes = 1;
  auto emitUnit = [&](const IndexExpression &unit) {
    if (k.algebra.lanes == 1)
      return k.forRange(
          count, [&](const IndexExpression &block) { bits.emitBlocks(block); });
    k.forLanes(count, unit, blocksPerUnit,
               [&](const IndexExpression &block) { bits.emitBlocks(block); });
  };
  if (!bits.hasBits())
    units = 0;
  if (llvm::any_of(k.source.inPlace, [](int64_t i) { return i >= 0; })) {
    // Nobody else may read the state while it is replaced.
    k.forUnits(1, [&](const IndexExpression &) {
      if (units)
        k.forRange(units, emitUnit);
      if (bits.hasState())
        bits.storeState();
    });
    return;
  }
  if (units)
    k.forUnits(units, emitUnit);
  if (bits.hasState())
    k.forUnits(1, [&](const IndexExpression &) { bits.storeState(); });
}

} // namespace

extern const Template randomTemplate;
const Template randomTemplate = {.accepts =
                                     acceptsOp<stablehlo::RngBitGeneratorOp>,
                                 .demand = demandOfRandom,
                                 .emit = emitRandom,
                                 .check = checkGenerator};

} // namespace tenon::codegen
