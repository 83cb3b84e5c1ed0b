//===- ProductCostTest.cpp - Small products by library and kernel ---------===//
//
// What is counted of a product, and which way is predicted to take less time
// where the two are far apart.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/ProductCost.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;
using target::Isa;

namespace {

class ProductCosts : public testing::Test {
protected:
  ProductCosts() {
    context.loadDialect<func::FuncDialect, stablehlo::StableHLODialect>();
  }

  /// The dot of two operands with these dimensions.
  Operation *dot(llvm::StringRef left, llvm::StringRef right,
                 llvm::StringRef result, llvm::StringRef dimensions,
                 llvm::StringRef element = "f32") {
    std::string types[3];
    for (auto [type, shape] : llvm::zip(types, std::array{left, right, result}))
      type = llvm::formatv("tensor<{0}x{1}>", shape, element).str();
    module = parseSourceString<ModuleOp>(
        llvm::formatv("func.func @main(%a: {0}, %b: {1}) -> {2} {{\n"
                      "  %r = stablehlo.dot_general %a, %b, {3} : ({0}, {1}) "
                      "-> {2}\n  return %r : {2}\n}",
                      types[0], types[1], types[2], dimensions)
            .str(),
        &context);
    return &(*module->getOps<func::FuncOp>().begin()).front().front();
  }

  bool prefersGenerated(Operation *op, Isa isa) {
    auto seconds = productSeconds(op, target::builtInTarget(isa), isa);
    EXPECT_TRUE(seconds);
    return seconds && seconds->generated < seconds->library;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ProductCosts, CountsAreThoseOfTheTiles) {
  const char *plain = "contracting_dims = [1] x [0]",
             *transposed = "contracting_dims = [1] x [1]";
  auto expectKernel = [](Operation *op, std::array<double, 18> expected) {
    auto counts = countProduct(op, Isa::avx512);
    ASSERT_TRUE(counts);
    EXPECT_EQ(counts->kernel, expected);
  };
  // 8 rows of one vector in one tile, 16 steps: a vector of the right operand
  // per step, a number of the left one per row and step.
  expectKernel(dot("8x16", "16x16", "8x16", plain),
               {1, 1, 128, 16, 128, 0, 0, 0, 8, 0, 16});
  // The columns of the right operand lie apart, and are turned once: 5 blocks
  // of terms from each of 16 lanes.
  expectKernel(dot("8x18", "16x18", "8x16", transposed),
               {1, 1, 8 * 18, 0, 8 * 18, 0, 16 * 5, 18, 8, 0, 18});
  // Two columns, so lanes run along the rows of the left operand.
  expectKernel(dot("16x8", "8x2", "16x2", plain),
               {1, 1, 16, 0, 16, 0, 16 * 2, 8, 2, 4, 8});
  // Along the sums, which is 6 elements of 2 vectors each, the last masked.
  expectKernel(dot("1x20", "6x20", "1x6", transposed),
               {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 2 * (2 + 6), 6, 6, 2});
}

TEST_F(ProductCosts, NothingIsSaidOfOtherProducts) {
  const char *sums = "contracting_dims = [1] x [0]";
  EXPECT_FALSE(countProduct(dot("8x65", "65x8", "8x8", sums), Isa::avx512));
  EXPECT_FALSE(countProduct(dot("80x6", "6x8", "80x8", sums), Isa::avx512));
  EXPECT_FALSE(
      countProduct(dot("8x6", "6x8", "8x8", sums, "bf16"), Isa::avx512));
  EXPECT_FALSE(countProduct(
      dot("8x2x3", "2x3x8", "8x8", "contracting_dims = [1, 2] x [0, 1]"),
      Isa::avx512));
  EXPECT_FALSE(countProduct(nullptr, Isa::avx512));
}

TEST_F(ProductCosts, EachWayWinsWhereItShould) {
  for (Isa isa : {Isa::avx2, Isa::avx512, Isa::avx512Bf16, Isa::amxBf16}) {
    // A call costs more than such a product.
    EXPECT_TRUE(prefersGenerated(
        dot("4x8", "8x16", "4x16", "contracting_dims = [1] x [0]"), isa));
    // A library pays for each matrix between whose rows others lie.
    EXPECT_TRUE(prefersGenerated(
        dot("4x96x8", "8x96x4", "96x4x4",
            "batching_dims = [1] x [1], contracting_dims = [2] x [0]"),
        isa));
    // Nothing lies along the lanes or the sums, so the kernel gathers.
    EXPECT_FALSE(prefersGenerated(
        dot("64x64x16", "64x64x16", "16x64x64",
            "batching_dims = [2] x [2], contracting_dims = [1] x [1]"),
        isa));
  }
}

TEST_F(ProductCosts, DependOnTheCoresThatAreRecorded) {
  Operation *op = dot("4x8", "8x16", "4x16", "contracting_dims = [1] x [0]");
  auto callOn = [&](const char *family, Isa isa) {
    auto machine = target::builtInTarget(*target::familyNamed(family), isa);
    return productSeconds(op, machine, isa)->library;
  };
  // The same core with and without its tiles.
  EXPECT_EQ(callOn("sapphire-rapids", Isa::amxBf16),
            callOn("sapphire-rapids", Isa::avx512Bf16));
  EXPECT_EQ(callOn("zen5", Isa::avx512Bf16), callOn("x86-64-v4", Isa::avx512));
  EXPECT_GT(callOn("sapphire-rapids", Isa::avx512Bf16),
            callOn("zen5", Isa::avx512Bf16));
}

} // namespace
