//===- ReadStableHLOTest.cpp - Program text to a module -------------------===//
//
// What is read, what is refused and with which words, and that damaged text is
// an error and never a crash.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/ReadStableHLO.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include <gtest/gtest.h>
#include <random>

using namespace tenon::importer;

namespace {

class ReadStableHLO : public testing::Test {
protected:
  ReadStableHLO() {
    mlir::DialectRegistry registry;
    registerInputDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
  }

  mlir::OwningOpRef<mlir::ModuleOp> read(llvm::StringRef text) {
    messages.clear();
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) {
          llvm::raw_string_ostream out(messages);
          out << diagnostic.getLocation() << ": " << diagnostic << "\n";
          return mlir::success();
        });
    return readStableHLO(text, "step.mlir", context);
  }

  mlir::MLIRContext context;
  std::string messages;
};

TEST_F(ReadStableHLO, BooleansOfNewerProducers) {
  auto module = read("func.func @main() -> tensor<10xi1> {\n"
                     "  %0 = stablehlo.constant "
                     "dense<\"0x00000100000000000001\"> : tensor<10xi1>\n"
                     "  return %0 : tensor<10xi1>\n}\n");
  ASSERT_TRUE(module) << messages;
  std::vector<bool> values;
  module->walk([&](tenon::stablehlo::ConstantOp op) {
    for (bool value :
         llvm::cast<mlir::DenseElementsAttr>(op.getValue()).getValues<bool>())
      values.push_back(value);
  });
  EXPECT_EQ(values, (std::vector<bool>{0, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
}

TEST_F(ReadStableHLO, ResourcesBecomeConstants) {
  auto module =
      read("func.func @main() -> tensor<2xi32> {\n"
           "  %0 = stablehlo.constant dense_resource<c> : tensor<2xi32>\n"
           "  return %0 : tensor<2xi32>\n}\n"
           "{-#\n  dialect_resources: {\n    builtin: {\n"
           "      c: \"0x040000000700000009000000\"\n    }\n  }\n#-}\n");
  ASSERT_TRUE(module) << messages;
  module->walk([&](tenon::stablehlo::ConstantOp op) {
    auto values = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
    ASSERT_TRUE(values);
    EXPECT_EQ(llvm::to_vector(values.getValues<int32_t>()),
              (llvm::SmallVector<int32_t>{7, 9}));
  });
}

TEST_F(ReadStableHLO, ElidedConstants) {
  EXPECT_FALSE(read("func.func @main() -> tensor<2xi32> {\n"
                    "  %0 = stablehlo.constant dense_resource<__elided__> : "
                    "tensor<2xi32>\n"
                    "  return %0 : tensor<2xi32>\n}\n"));
  EXPECT_NE(
      messages.find("constant '__elided__' was left out when the text was "
                    "written"),
      std::string::npos)
      << messages;
}

TEST_F(ReadStableHLO, DynamicShapesNameTheArgument) {
  EXPECT_FALSE(read("func.func @main(%x: tensor<4xf32>, %y: tensor<?x8xf32> "
                    "loc(\"images\")) {\n  return\n}\n"));
  EXPECT_NE(messages.find("argument 1 'images' has the dynamic shape "
                          "'tensor<?x8xf32>', expected static extents"),
            std::string::npos)
      << messages;
}

TEST_F(ReadStableHLO, DynamicShapesHaveAPlace) {
  // The argument's location is a name, the function's a line.
  EXPECT_FALSE(read("\nfunc.func @main(%x: tensor<?xf32> loc(\"images\")) {\n"
                    "  return\n}\n"));
  EXPECT_NE(messages.find("loc(\"step.mlir\":2:1): argument 0 'images'"),
            std::string::npos)
      << messages;
  // Nothing but the file is known.
  EXPECT_FALSE(read("func.func @main(%x: tensor<?xf32> loc(\"images\")) {\n"
                    "  return\n} loc(unknown)\n"));
  EXPECT_NE(messages.find("loc(\"step.mlir\":1:1): argument 0 'images'"),
            std::string::npos)
      << messages;
  EXPECT_FALSE(read("func.func @main(%x: tensor<4xf32>) {\n"
                    "  %0 = stablehlo.convert %x : (tensor<4xf32>) -> "
                    "tensor<?xf32> loc(unknown)\n  return\n}\n"));
  EXPECT_NE(messages.find(
                "loc(\"step.mlir\":1:1): 'stablehlo.convert' has a result of "
                "the dynamic shape"),
            std::string::npos)
      << messages;
}

TEST_F(ReadStableHLO, UnknownOperationsAreAllNamed) {
  EXPECT_FALSE(read("func.func @main() {\n  \"mystery.a\"() : () -> ()\n"
                    "  \"mystery.b\"() : () -> ()\n  \"mystery.a\"() : () -> "
                    "()\n  return\n}\n"));
  EXPECT_NE(messages.find("unknown operation 'mystery.a', used 2 times; the "
                          "input language is"),
            std::string::npos)
      << messages;
  EXPECT_NE(messages.find("unknown operation 'mystery.b';"), std::string::npos)
      << messages;
}

TEST_F(ReadStableHLO, LimitsHaveAPlace) {
  EXPECT_FALSE(
      read("module {\n  %0 = foo : tensor<4611686018427387904x4xf32>\n"));
  EXPECT_NE(messages.find("loc(\"step.mlir\":2:"), std::string::npos)
      << messages;
  EXPECT_NE(messages.find("dimension 1 of extent 4"), std::string::npos)
      << messages;
}

TEST_F(ReadStableHLO, Bytecode) {
  EXPECT_FALSE(read(llvm::StringRef("ML\xefR\x06more", 9)));
  EXPECT_NE(messages.find("holds bytecode; export the step as text"),
            std::string::npos)
      << messages;
}

TEST_F(ReadStableHLO, BytesThatAreNoText) {
  EXPECT_FALSE(read(llvm::StringRef("TENON\0\x01more", 11)));
  EXPECT_NE(messages.find("holds bytes that are no text, expected a module"),
            std::string::npos)
      << messages;
}

/// A step with most of what the grammar has.
constexpr llvm::StringLiteral sample = R"(#loc1 = loc("state['w']")
module @jit_step attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32> {tf.aliasing_output = 0 : i32} loc(#loc1), %arg1: tensor<4xi32>) -> (tensor<4x8xf32> {jax.result_info = "result[0]['w']"}, tensor<4x1xf32>) {
    %cst = stablehlo.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %1 = stablehlo.reshape %0 : (tensor<4x1xi32>) -> tensor<4x1x1xi32>
    %2 = "stablehlo.gather"(%arg0, %1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x1x1xi32>) -> tensor<4x1xf32>
    %3:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<4x8xf32>
    cond {
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %4 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %5 = func.call @helper(%iterArg_0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<4x8xf32>
    }
    return %3#1, %2 : tensor<4x8xf32>, tensor<4x1xf32>
  }
  func.func private @helper(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.dot_general %0, %arg0, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
)";

TEST_F(ReadStableHLO, Sample) { EXPECT_TRUE(read(sample)) << messages; }

TEST_F(ReadStableHLO, TruncatedAnywhere) {
  for (size_t length = 0; length + 2 < sample.size(); length += 7) {
    auto module = read(sample.take_front(length));
    // A cut may leave a shorter valid file only before the module opens.
    if (module)
      EXPECT_LT(length, sample.find("module")) << length;
    else
      EXPECT_FALSE(messages.empty()) << length;
  }
}

TEST_F(ReadStableHLO, DamagedAnywhere) {
  std::mt19937 random(7);
  constexpr llvm::StringLiteral letters =
      "0123456789abcxyz%#!@<>[](){}:,=-?\"\n \\\x80";
  for (int round = 0; round < 3000; ++round) {
    std::string text = sample.str();
    for (unsigned edits = random() % 4 + 1; edits; --edits) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[at] = letters[random() % letters.size()];
        break;
      case 1:
        text.erase(at, random() % 8 + 1);
        break;
      default:
        text.insert(at, 1, letters[random() % letters.size()]);
      }
    }
    // Either it is read or something is said; it never ends the process.
    if (!read(text))
      EXPECT_FALSE(messages.empty()) << text;
  }
}

} // namespace
