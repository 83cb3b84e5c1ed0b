//===- ErrorBoundTest.cpp - How far from exact a result may be ------------===//
//
// Which operations have equal bits, and where the bounds of the others lie: at
// the last value that is allowed and at the next one.
//
//===----------------------------------------------------------------------===//

#include "tenon/Reference/ErrorBound.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Reference/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::reference;

namespace {

class ErrorBound : public testing::Test {
protected:
  ErrorBound() {
    mlir::DialectRegistry registry;
    importer::registerInputDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
  }

  /// The operation before the return of a function with this body.
  mlir::Operation *last(const std::string &arguments, const std::string &body) {
    module = importer::readStableHLO("func.func @main(" + arguments + ") {\n" +
                                         body + "\n  return\n}\n",
                                     "program.mlir", context);
    if (!module)
      return nullptr;
    auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
    return main.getBody().front().getTerminator()->getPrevNode();
  }

  Tensor tensor(mlir::Type type, std::vector<double> values) {
    Tensor result(mlir::cast<mlir::RankedTensorType>(type));
    for (auto [element, value] : llvm::zip_equal(result.elements, values))
      element.real = value;
    return result;
  }

  bool allows(const Enclosure &enclosure, double value) {
    return !firstOutside(tensor(enclosure.type, {value}), enclosure);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(ErrorBound, Exactness) {
  auto of = [&](const std::string &body) {
    mlir::Operation *op = last(
        "%x: tensor<4xf32>, %z: tensor<4xcomplex<f32>>, %i: tensor<f32>", body);
    EXPECT_TRUE(op) << body;
    return op ? exactnessOf(op) : Exactness::unjudged;
  };
  EXPECT_EQ(of("%0 = stablehlo.divide %x, %x : tensor<4xf32>"),
            Exactness::equal);
  EXPECT_EQ(of("%0 = stablehlo.tanh %x : tensor<4xf32>"), Exactness::bounded);
  EXPECT_EQ(of("%0 = stablehlo.add %z, %z : tensor<4xcomplex<f32>>"),
            Exactness::equal);
  EXPECT_EQ(of("%0 = stablehlo.multiply %z, %z : tensor<4xcomplex<f32>>"),
            Exactness::bounded);
  EXPECT_EQ(of("%0 = stablehlo.tanh %z : tensor<4xcomplex<f32>>"),
            Exactness::unjudged);
  auto reduce = [](const std::string &operation) {
    return "%0 = stablehlo.reduce(%x init: %i) applies " + operation +
           " across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> "
           "tensor<f32>";
  };
  EXPECT_EQ(of(reduce("stablehlo.maximum")), Exactness::equal);
  EXPECT_EQ(of(reduce("stablehlo.add")), Exactness::bounded);
  EXPECT_EQ(of(reduce("stablehlo.multiply")), Exactness::bounded);
}

TEST_F(ErrorBound, Functions) {
  mlir::Operation *op =
      last("%x: tensor<f32>", "%0 = stablehlo.exponential %x : tensor<f32>");
  ASSERT_TRUE(op);
  mlir::Type type = op->getResult(0).getType();
  auto at = [&](double x) { return enclose(op, {tensor(type, {x})})->front(); };
  // Two units around e = 2.71828..., which are 2^-22 each.
  EXPECT_TRUE(allows(at(1), 0x1.5bf0a8p1));
  EXPECT_TRUE(allows(at(1), 0x1.5bf0a8p1 + 0x1p-22));
  EXPECT_FALSE(allows(at(1), 0x1.5bf0a8p1 + 0x1.8p-21));
  EXPECT_FALSE(allows(at(1), 0x1.5bf0a8p1 - 0x1.8p-21));
  // Special values are exact.
  EXPECT_TRUE(allows(at(-INFINITY), 0.0));
  EXPECT_FALSE(allows(at(-INFINITY), -0.0));
  EXPECT_TRUE(allows(at(1000), INFINITY));
  EXPECT_FALSE(allows(at(1000), 0x1.fffffep127));
  EXPECT_TRUE(allows(at(NAN), NAN));
  EXPECT_FALSE(allows(at(NAN), 1));
}

TEST_F(ErrorBound, Sums) {
  mlir::Operation *op =
      last("%x: tensor<3xf32>, %i: tensor<f32>",
           "%0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across "
           "dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>");
  ASSERT_TRUE(op);
  auto at = [&](std::vector<double> x) {
    return enclose(op, {tensor(op->getOperand(0).getType(), x),
                        tensor(op->getOperand(1).getType(), {0})})
        ->front();
  };
  // Four terms with the start value, 7 in absolute values.
  double bound = 4 * 7 * 0x1p-24;
  EXPECT_TRUE(allows(at({3, -3, 1}), float(1 + bound)));
  EXPECT_FALSE(allows(at({3, -3, 1}), std::nextafter(float(1 + bound), 2.0f)));
  // In one order the sum is infinite, in another it is not.
  EXPECT_TRUE(allows(at({3e38, 3e38, -3e38}), INFINITY));
  EXPECT_TRUE(allows(at({3e38, 3e38, -3e38}), float(3e38)));
  EXPECT_TRUE(allows(at({INFINITY, 1, 2}), INFINITY));
  EXPECT_FALSE(allows(at({INFINITY, 1, 2}), NAN));
  EXPECT_FALSE(allows(at({INFINITY, -INFINITY, 2}), INFINITY));
}

TEST_F(ErrorBound, Products) {
  mlir::Operation *op = last(
      "%x: tensor<3xf32>, %i: tensor<f32>",
      "%0 = stablehlo.reduce(%x init: %i) applies stablehlo.multiply across "
      "dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>");
  ASSERT_TRUE(op);
  auto at = [&](std::vector<double> x) {
    return enclose(op, {tensor(op->getOperand(0).getType(), x),
                        tensor(op->getOperand(1).getType(), {1})})
        ->front();
  };
  EXPECT_TRUE(allows(at({2, 3, 1}), 6 + 0x1p-20));
  EXPECT_FALSE(allows(at({2, 3, 1}), 6 + 0x1p-19));
  EXPECT_TRUE(allows(at({1e30, 1e30, 1e-40}), INFINITY));
}

TEST_F(ErrorBound, Attention) {
  mlir::Operation *op = last(
      "%q: tensor<1x1xf32>, %k: tensor<2x1xf32>, %v: tensor<2x1xf32>",
      "%o, %m, %s = step.attention %q [q, d], %k [k, d], %v [k, v] -> [q, v] "
      "{scale = 1.0 : f32} : (tensor<1x1xf32>, tensor<2x1xf32>, "
      "tensor<2x1xf32>) -> (tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>)");
  ASSERT_TRUE(op);
  EXPECT_EQ(exactnessOf(op), Exactness::bounded);
  auto at = [&](double score) {
    std::vector<Tensor> operands;
    std::vector<double> values[] = {{score}, {1, 1}, {1, 3}};
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(tensor(operand.getType(), values[index]));
    return enclose(op, operands);
  };
  auto small = *at(1), large = *at(10000);
  // Both keys weigh the same: (1 + 3) / 2, within a few roundings each of the
  // score, the exponential, the sum and the products.
  EXPECT_TRUE(allows(small[0], 2));
  EXPECT_TRUE(allows(small[0], 2 + 30 * 0x1p-24));
  EXPECT_FALSE(allows(small[0], 2 + 200 * 0x1p-24));
  EXPECT_TRUE(allows(small[1], 1));
  EXPECT_FALSE(allows(small[1], 1 + 0x1p-20));
  EXPECT_TRUE(allows(small[2], 2));
  EXPECT_FALSE(allows(small[2], 2 + 0x1p-16));
  // A score of 10,000 is uncertain by some 10,000 units, its weight too.
  EXPECT_TRUE(allows(large[0], 2 + 10000 * 0x1p-24));
  EXPECT_FALSE(allows(large[0], 2.1));
}

} // namespace
