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

} // namespace
