//===- RandomTest.cpp - Bits of the interpreter's generators --------------===//
//
// The numbers are what jax.lax.rng_bit_generator gives on the CPU
// (JAX 0.10.2); test/EndToEnd/test_random_bits.py compares many more.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Reference/Interpreter.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

using Words = std::vector<uint64_t>;

struct Drawn {
  Words state, bits;
};

/// What a generator makes of a state; nothing if it is refused.
Drawn draw(llvm::StringRef algorithm, const Words &state,
           llvm::StringRef type) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, stablehlo::StableHLODialect>();
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  std::string text = llvm::formatv(R"(
    func.func @main(%s: tensor<{0}xui64>) -> (tensor<{0}xui64>, tensor<{1}>) {{
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = {2} : (tensor<{0}xui64>) -> (tensor<{0}xui64>, tensor<{1}>)
      return %0, %1 : tensor<{0}xui64>, tensor<{1}>
    })",
                                   state.size(), type, algorithm);
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return {};
  auto function = *module->getOps<func::FuncOp>().begin();
  Tensor before(cast<RankedTensorType>(function.getArgumentTypes()[0]));
  for (size_t i = 0; i < state.size(); ++i)
    before.elements[i].integer = int64_t(state[i]);
  Interpreter interpreter(Subnormals::keep);
  auto results = interpreter.run(function, {before});
  if (failed(results))
    return {};
  auto words = [](const Tensor &tensor) {
    Words bits;
    for (const Element &element : tensor.elements)
      bits.push_back(bitsOf(element, tensor.elementType()));
    return bits;
  };
  return {words((*results)[0]), words((*results)[1])};
}

Words firstOf(const Words &words, size_t count) {
  return {words.begin(), words.begin() + std::min(count, words.size())};
}

TEST(Random, DrawsPhilox) {
  for (llvm::StringRef algorithm : {"DEFAULT", "PHILOX"}) {
    Drawn drawn =
        draw(algorithm, {0x0123456789abcdef, 0xfedcba9876543210}, "3x5xui32");
    EXPECT_EQ(drawn.state, (Words{0x0123456789abcdef, 0xfedcba9876543214}));
    EXPECT_EQ(drawn.bits.size(), 15u);
    EXPECT_EQ(firstOf(drawn.bits, 5), (Words{0x1ec53d42, 0xcfa390b5, 0xf2235702,
                                             0xe71ff917, 0xcb472319}));
  }
  Drawn wide = draw("PHILOX", {5, 7}, "9xui64");
  EXPECT_EQ(wide.state, (Words{5, 12}));
  ASSERT_EQ(wide.bits.size(), 9u);
  EXPECT_EQ(wide.bits[0], 0xc4a35ba874a851f1);
  EXPECT_EQ(wide.bits[8], 0x24fb1313544d3ad3);
  EXPECT_EQ(draw("PHILOX", {5, 7}, "9xui16").bits,
            (Words{0x51f1, 0x5ba8, 0x0aa7, 0x7739, 0x503c, 0x7eb1, 0xbbd9,
                   0x7b88, 0xfef0}));
}

TEST(Random, CarriesIntoTheCountersUpperHalf) {
  constexpr uint64_t last = ~uint64_t(0);
  // A state of two words has no place for the carry; the blocks know of it.
  EXPECT_EQ(draw("PHILOX", {5, last}, "9xui32").state, (Words{5, 2}));
  EXPECT_EQ(draw("PHILOX", {5, last, last}, "9xui32").state, (Words{5, 2, 0}));
  EXPECT_EQ(draw("PHILOX", {5, last, 7}, "4xui32").state, (Words{5, 0, 8}));
  // Two words are three with the key as the upper half.
  EXPECT_EQ(draw("PHILOX", {5, last}, "9xui32").bits,
            draw("PHILOX", {5, last, 5}, "9xui32").bits);
  EXPECT_EQ(draw("PHILOX", {1, 2, 3}, "5xui32").bits,
            (Words{4031113034, 1366700262, 495645701, 3051723414, 89414891}));
}

TEST(Random, DrawsThreefry) {
  Words state = {0x0123456789abcdef, 0x00000000fffffffe};
  Drawn line = draw("THREE_FRY", state, "9xui32");
  EXPECT_EQ(line.state, (Words{0x0123456789abcdef, 0x100000003}));
  EXPECT_EQ(line.bits,
            (Words{0xd6f05f18, 0x8ff237ca, 0x0af0500d, 0xae583773, 0xba3918c0,
                   0x525310a8, 0xcab60d48, 0x8b6ec1c2, 0xe74f725f}));
  Drawn rows = draw("THREE_FRY", state, "4x3xui32");
  EXPECT_EQ(rows.state, (Words{0x0123456789abcdef, 0x100000004}));
  EXPECT_EQ(rows.bits, (Words{0xd6f05f18, 0x0af0500d, 0xba3918c0, 0x8ff237ca,
                              0xae583773, 0x525310a8, 0xcab60d48, 0xe74f725f,
                              0x3487f584, 0x8b6ec1c2, 0xb4d15007, 0xaa68ef32}));
  EXPECT_EQ(draw("THREE_FRY", state, "ui8").bits, (Words{0x18}));
}

TEST(Random, RefusesOtherStates) {
  EXPECT_TRUE(draw("DEFAULT", {1, 2, 3, 4}, "9xui32").bits.empty());
  EXPECT_TRUE(draw("THREE_FRY", {1, 2, 3}, "9xui32").bits.empty());
}

} // namespace
