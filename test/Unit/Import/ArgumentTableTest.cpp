//===- ArgumentTableTest.cpp - The signature for people -------------------===//
//
// Rows, JSON and the printed table of a small step after import.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/ArgumentTable.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace tenon::importer;

namespace {

TEST(ArgumentTable, OfAStep) {
  mlir::DialectRegistry registry;
  registerInputDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = readStableHLO(
      "func.func public @main("
      "%w: tensor<16x32xbf16> {tf.aliasing_output = 1 : i32} "
      "loc(\"state['params']['w']\"), %x: tensor<8xi1> loc(\"x\")) -> "
      "(tensor<16x32xbf16> {jax.result_info = \"result[0]['params']['w']\"}, "
      "tensor<16x32xbf16> {jax.result_info = \"result[0]['params']['v']\"}) {\n"
      "  return %w, %w : tensor<16x32xbf16>, tensor<16x32xbf16>\n}\n",
      "step.mlir", context);
  ASSERT_TRUE(module);
  mlir::PassManager manager(&context);
  buildImportPipeline(manager, {});
  ASSERT_TRUE(succeeded(manager.run(*module)));

  std::vector<ArgumentRow> rows =
      argumentTable(module->lookupSymbol<mlir::func::FuncOp>("main"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "params.w");
  EXPECT_EQ(rows[0].otherNames,
            (std::vector<std::string>{"state['params']['w']", "arg0"}));
  EXPECT_EQ(rows[0].role, tenon::step::Role::parameter);
  EXPECT_EQ(rows[0].type, "16x32xbf16");
  EXPECT_EQ(rows[0].bytes, 16 * 32 * 2);
  EXPECT_EQ(rows[0].successor, 0);
  EXPECT_EQ(rows[0].donatedTo, 1);
  EXPECT_EQ(rows[1].bytes, 8);
  EXPECT_FALSE(rows[1].successor);
  EXPECT_FALSE(rows[1].donatedTo);

  std::string text;
  llvm::raw_string_ostream out(text);
  printArgumentTable(rows, out);
  EXPECT_NE(text.find("0  params.w  parameter  16x32xbf16  1.00 KiB  result 0, "
                      "donated to 1"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("parameter: 1 tensors, 1.00 KiB"), std::string::npos)
      << text;
  EXPECT_EQ(
      (*argumentTableJSON(rows).getAsArray())[0].getAsObject()->getInteger(
          "successor"),
      0);
}

} // namespace
