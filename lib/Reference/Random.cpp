//===- Random.cpp - rng_bit_generator -------------------------------------===//
//
// The bits of counter-based generators, the same as XLA's on the CPU. Which
// block of a generator makes which elements is told at the compiled code's
// version of this operation, Codegen/CPU/RandomTemplate.cpp.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include <array>
#include <bit>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

uint32_t low(uint64_t word) { return uint32_t(word); }
uint32_t high(uint64_t word) { return uint32_t(word >> 32); }
uint64_t join(uint32_t low, uint32_t high) {
  return uint64_t(high) << 32 | low;
}

/// Philox 4x32 with 10 rounds.
std::array<uint32_t, 4> philox(uint64_t key, uint64_t counterLow,
                               uint64_t counterHigh) {
  std::array<uint32_t, 4> x = {low(counterLow), high(counterLow),
                               low(counterHigh), high(counterHigh)};
  uint32_t key0 = low(key), key1 = high(key);
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(x[0]) * 0xD2511F53;
    uint64_t product1 = uint64_t(x[2]) * 0xCD9E8D57;
    x = {high(product1) ^ x[1] ^ key0, low(product1),
         high(product0) ^ x[3] ^ key1, low(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return x;
}

/// Threefry 2x32 with 20 rounds.
std::array<uint32_t, 2> threefry(uint64_t key, uint64_t counter) {
  constexpr int rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  uint32_t keys[3] = {low(key), high(key), low(key) ^ high(key) ^ 0x1BD11BDA};
  uint32_t x0 = low(counter) + keys[0], x1 = high(counter) + keys[1];
  for (uint32_t round = 0; round < 20; ++round) {
    x0 += x1;
    x1 = std::rotl(x1, rotations[round % 8]) ^ x0;
    if (uint32_t group = round / 4 + 1; round % 4 == 3) {
      x0 += keys[group % 3];
      x1 += keys[(group + 1) % 3] + group;
    }
  }
  return {x0, x1};
}

/// Fills `bits` in order; returns the number of blocks.
uint64_t drawPhilox(ArrayRef<Element> state, Tensor &bits) {
  uint64_t key = state[0].integer, counter = state[1].integer;
  uint64_t upper = state.size() == 3 ? state[2].integer : state[0].integer;
  bool isWide = widthOf(bits.elementType()) == 64;
  uint64_t block = 0;
  for (int64_t at = 0; at < bits.size(); ++block) {
    uint64_t position = counter + block;
    std::array<uint32_t, 4> x =
        philox(key, position, upper + (position < counter ? 1 : 0));
    for (int i = 0; i < 4 && at < bits.size(); i += isWide ? 2 : 1)
      bits.elements[at++] = integerElement(isWide ? join(x[i], x[i + 1]) : x[i],
                                           bits.elementType());
  }
  return block;
}

uint64_t drawThreefry(ArrayRef<Element> state, Tensor &bits) {
  uint64_t key = state[0].integer, counter = state[1].integer;
  if (widthOf(bits.elementType()) == 64) {
    for (int64_t i = 0; i < bits.size(); ++i) {
      std::array<uint32_t, 2> x = threefry(key, counter + i);
      bits.elements[i] = integerElement(join(x[0], x[1]), bits.elementType());
    }
    return bits.size();
  }
  // The dimension that is halved: the first even one, or else the first
  // largest.
  Index shape(bits.shape());
  if (shape.empty())
    shape.push_back(1);
  auto halved = llvm::find_if(shape, [](int64_t e) { return e % 2 == 0; });
  if (halved == shape.end())
    halved = llvm::max_element(shape);
  size_t dim = halved - shape.begin();
  Index blocks = shape;
  blocks[dim] = (shape[dim] + 1) / 2;
  if (bits.size() == 0)
    return 0;
  uint64_t block = 0;
  Index index(shape.size(), 0);
  do {
    std::array<uint32_t, 2> x = threefry(key, counter + block++);
    for (int64_t i = 0; i < 2; ++i) {
      Index place = index;
      place[dim] = 2 * index[dim] + i;
      if (!isInside(place, shape))
        continue;
      place.resize(bits.rank());
      bits.at(place) = integerElement(x[i], bits.elementType());
    }
  } while (next(index, blocks));
  return block;
}

LogicalResult evaluateRngBitGenerator(Operation *op, Interpreter &,
                                      ArrayRef<Tensor> operands,
                                      Tensors &results) {
  auto generator = cast<stablehlo::RngBitGeneratorOp>(op);
  const Tensor &state = operands[0];
  Tensor bits(resultType(op, 1));
  bool isThreefry =
      generator.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY;
  // Two words, or for PHILOX three: key, low and high half of the counter.
  if (!state.elementType().isInteger(64) ||
      (state.size() != 2 && (isThreefry || state.size() != 3)))
    return op->emitOpError() << "has a state of type " << state.type
                             << ", expected two 64-bit integers";
  Type element = bits.elementType();
  if (!isa<IntegerType>(element) || widthOf(element) < 8)
    return op->emitOpError()
           << "makes no elements of type " << element
           << " in the interpreter, expected integers of 8 to 64 bits";
  uint64_t blocks = isThreefry ? drawThreefry(state.elements, bits)
                               : drawPhilox(state.elements, bits);
  Tensor after = state;
  uint64_t counter = uint64_t(state.elements[1].integer) + blocks;
  after.elements[1].integer = int64_t(counter);
  if (state.size() == 3 && counter < blocks)
    after.elements[2].integer =
        int64_t(uint64_t(state.elements[2].integer) + 1);
  results.push_back(std::move(after));
  results.push_back(std::move(bits));
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::randomEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.rng_bit_generator", evaluateRngBitGenerator},
  };
  return table;
}
