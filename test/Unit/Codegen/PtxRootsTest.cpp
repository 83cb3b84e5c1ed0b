//===- PtxRootsTest.cpp - Single operations that GPUs have schedules for --===//
//
// Convolutions, small products, windows, scatters, updates of slices, the
// largest elements and random bits, of shapes that fit tiles, vectors and warps
// and of such as do not, on the emulated GPU and on this processor; and how
// they access memory.
//
//===----------------------------------------------------------------------===//

#include "BothTargets.h"

#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace tenon;

namespace {

std::string sumOf(const std::string &type) {
  return fill(R"(({
      ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
        %c = stablehlo.add %a, %b : tensor<TYPE>
        stablehlo.return %c : tensor<TYPE>
      }))",
              {{"TYPE", type}});
}

/// That share of all bytes moves by wide accesses. There may be more sectors
/// than bytes: windows share elements.
void expectWideAccesses(const std::string &text, double share,
                        const std::map<size_t, int64_t> &limits = {}) {
  BothTargets both(text, Subnormals::flush, "sm_90");
  both.limits = limits;
  both.compare(3, "forward");
  EXPECT_GE(double(both.counters.globalWideBytes),
            share * double(both.counters.globalBytes));
  EXPECT_EQ(both.counters.sharedBankConflicts, 0u);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

struct Convolution {
  std::string input, kernel, output;
  std::string numbers = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
  std::string window = "pad = [[1, 1], [1, 1]]";
  int featureGroups = 1, batchGroups = 1;
  std::string type = "f32", result = "f32";
};

std::string textOf(const Convolution &c) {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<INPUTxTYPE>, %w: tensor<KERNELxTYPE>) -> tensor<OUTPUTxRESULT> {
      %n = stablehlo.negate %x : tensor<INPUTxTYPE>
      %0 = stablehlo.convolution(%n, %w) dim_numbers = NUMBERS, window = {WINDOW} {batch_group_count = BATCHES : i64, feature_group_count = FEATURES : i64} : (tensor<INPUTxTYPE>, tensor<KERNELxTYPE>) -> tensor<OUTPUTxRESULT>
      return %0 : tensor<OUTPUTxRESULT>
    })",
      {{"INPUT", c.input},
       {"KERNEL", c.kernel},
       {"OUTPUT", c.output},
       {"NUMBERS", c.numbers},
       {"WINDOW", c.window},
       {"BATCHES", std::to_string(c.batchGroups)},
       {"FEATURES", std::to_string(c.featureGroups)},
       {"TYPE", c.type},
       {"RESULT", c.result}});
}

const std::string toInput = "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]";
const std::string toWeights = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]";

/// Tiles that are cut short, channels that fill steps of the sum or not, the
/// gradients of a strided one, and groups of both kinds.
TEST(PtxRoots, Convolutions) {
  const Convolution cases[] = {
      {"2x7x9x3", "3x3x3x20", "2x7x9x20"},
      {"2x9x8x16", "3x3x16x35", "2x5x4x35",
       "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
       "stride = [2, 2], pad = [[1, 1], [1, 1]]"},
      // The gradients of that.
      {"2x5x4x35", "3x3x16x35", "2x9x8x16", toInput,
       "pad = [[1, 1], [1, 2]], lhs_dilate = [2, 2], reverse = [true, true]"},
      {"2x9x8x16", "2x5x4x35", "3x3x16x35", toWeights,
       "pad = [[1, 1], [1, 0]], rhs_dilate = [2, 2]"},
      {"16x6x5x8", "16x6x5x24", "3x3x8x24", toWeights},
      {"2x20x9x8", "3x3x20x24", "2x24x9x8",
       "[b, f, 0, 1]x[0, 1, i, o]->[b, f, 0, 1]"},
      {"2x5x5x8", "3x3x4x12", "2x5x5x12",
       "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 2},
      {"6x5x5x4", "3x3x4x12", "2x5x5x12",
       "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 1,
       3},
      {"2x5x5x18", "3x3x1x18", "2x5x5x18",
       "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 18},
      {"2x7x5x16", "3x3x16x20", "2x7x5x20",
       "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 1,
       1, "bf16", "f32"},
      {"2x7x5x6", "3x3x6x20", "2x7x5x20",
       "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 1,
       1, "f16", "f16"},
      {"2x4x4x8", "1x1x8x4", "2x4x4x4",
       "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[0, 0], [0, 0]]", 1,
       1, "f64", "f64"}};
  for (const Convolution &c : cases) {
    SCOPED_TRACE(c.input + " * " + c.kernel + " " + c.numbers);
    compareFast(textOf(c));
  }
}

/// Tiles of all sizes, read along the sum and across it.
TEST(PtxRoots, ConvolutionsHaveNoConflicts) {
  for (const Convolution &c :
       {Convolution{"2x8x8x16", "3x3x16x64", "2x8x8x64"},
        Convolution{"2x8x8x32", "3x3x16x32", "2x8x8x16", toInput},
        Convolution{"16x8x8x16", "16x8x8x32", "3x3x16x32", toWeights},
        Convolution{"8x32x32x16", "1x1x16x64", "8x32x32x64",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                    "pad = [[0, 0], [0, 0]]"}}) {
    SCOPED_TRACE(c.input + " * " + c.kernel + " " + c.numbers);
    BothTargets both(textOf(c), Subnormals::flush, "sm_90");
    both.compare(3, "forward");
    EXPECT_EQ(both.counters.sharedBankConflicts, 0u);
  }
}

/// Products that fill no tiles, with one sum per element and with 16, and of
/// integers.
TEST(PtxRoots, SmallProducts) {
  auto product = [](const std::string &left, const std::string &right,
                    const std::string &dims, const std::string &result,
                    const std::string &type, const std::string &resultType) {
    return fill(
        R"(
    func.func private @kernel(%x: tensor<LEFTxTYPE>, %y: tensor<RIGHTxTYPE>) -> tensor<SHAPERESULT> {
      %0 = stablehlo.dot_general %x, %y, DIMS : (tensor<LEFTxTYPE>, tensor<RIGHTxTYPE>) -> tensor<SHAPERESULT>
      return %0 : tensor<SHAPERESULT>
    })",
        {{"LEFT", left},
         {"RIGHT", right},
         {"DIMS", dims},
         {"SHAPE", result},
         {"TYPE", type},
         {"RESULT", resultType}});
  };
  compareFast(product("13x29", "29x37", "contracting_dims = [1] x [0]",
                      "13x37x", "i32", "i32"));
  compareFast(product("3x2x29", "3x37x29",
                      "batching_dims = [0] x [0], contracting_dims = [2] x "
                      "[2]",
                      "3x2x37x", "bf16", "f32"));
  compareFast(product("1000", "1000", "contracting_dims = [0] x [0]", "", "f32",
                      "f32"));
  compareFast(product("3x7", "7x300", "contracting_dims = [1] x [0]", "3x300x",
                      "f32", "f32"));
  compareFast(product("5x2x40", "2x40", "contracting_dims = [1, 2] x [0, 1]",
                      "5x", "f64", "f64"));
  compareFast(product("6x33", "5x33", "contracting_dims = [1] x [1]", "6x5x",
                      "i1", "i1"));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

std::string pool(const std::string &shape, const std::string &result,
                 const std::string &window, const std::string &type) {
  return fill(R"(
    func.func private @kernel(%x: tensor<SHAPExTYPE>) -> tensor<RESULTxTYPE> {
      %z = stablehlo.constant dense<0.0> : tensor<TYPE>
      %0 = "stablehlo.reduce_window"(%x, %z) <{WINDOW}> SUM : (tensor<SHAPExTYPE>, tensor<TYPE>) -> tensor<RESULTxTYPE>
      return %0 : tensor<RESULTxTYPE>
    })",
              {{"SUM", sumOf(type)},
               {"SHAPE", shape},
               {"RESULT", result},
               {"WINDOW", window},
               {"TYPE", type}});
}

std::string poolGradient(const std::string &shape, const std::string &result,
                         const std::string &window, const std::string &type) {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<SHAPExTYPE>, %s: tensor<RESULTxTYPE>) -> tensor<SHAPExTYPE> {
      %z = stablehlo.constant dense<0.5> : tensor<TYPE>
      %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{WINDOW}> ({
      ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
        %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }, {
      ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
        %c = stablehlo.add %a, %b : tensor<TYPE>
        stablehlo.return %c : tensor<TYPE>
      }) : (tensor<SHAPExTYPE>, tensor<RESULTxTYPE>, tensor<TYPE>) -> tensor<SHAPExTYPE>
      return %0 : tensor<SHAPExTYPE>
    })",
      {{"SHAPE", shape},
       {"RESULT", result},
       {"WINDOW", window},
       {"TYPE", type}});
}

const char *overlapping =
    "padding = dense<[[0, 0], [1, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>, "
    "window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: "
    "1, 2, 2, 1>";
const char *tiling = "window_dimensions = array<i64: 1, 2, 2, 1>, "
                     "window_strides = array<i64: 1, 2, 2, 1>";
const char *channelsFirst =
    "padding = dense<[[0, 0], [0, 0], [1, 1], [0, 1]]> : tensor<4x2xi64>, "
    "window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: "
    "1, 1, 2, 2>";

/// Windows that tile and that overlap, in the padding, with channels that are
/// vectors, that are none, and that are no last dimension.
TEST(PtxRoots, Windows) {
  for (const char *type : {"f32", "bf16"})
    for (const char *channels : {"19", "32"}) {
      SCOPED_TRACE(std::string(type) + " " + channels);
      std::string end = std::string("x") + channels;
      compareFast(pool("2x7x6" + end, "2x4x3" + end, overlapping, type));
      compareFast(pool("2x8x6" + end, "2x4x3" + end, tiling, type));
      compareFast(
          poolGradient("2x7x6" + end, "2x4x3" + end, overlapping, type));
      compareFast(poolGradient("2x8x6" + end, "2x4x3" + end, tiling, type));
    }
  compareFast(pool("2x3x7x6", "2x3x4x3", channelsFirst, "f32"));
  compareFast(poolGradient("2x3x7x6", "2x3x4x3", channelsFirst, "f32"));
}

TEST(PtxRoots, CumulativeSums) {
  for (const char *type : {"f32", "i32"})
    for (const char *pad :
         {"[29, 0], [0, 0]], 30, 1", "[0, 29], [0, 0]], 30, 1",
          "[0, 0], [19, 0]], 1, 20"}) {
      std::string text = pad;
      size_t comma = text.find("]],");
      std::string window = "padding = dense<[" + text.substr(0, comma) +
                           "]]> : tensor<2x2xi64>, window_dimensions = "
                           "array<i64:" +
                           text.substr(comma + 3) +
                           ">, window_strides = array<i64: 1, 1>";
      SCOPED_TRACE(window);
      std::string kernel = pool("30x20", "30x20", window, type);
      if (type == std::string("i32"))
        kernel = fill(kernel, {{"dense<0.0>", "dense<0>"}});
      compareFast(kernel);
    }
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

std::string embeddingGradient(int64_t rows, int64_t columns, int64_t updates,
                              const std::string &type,
                              const std::string &place) {
  return fill(
      R"(
    func.func private @kernel(%t: tensor<ROWSxWIDTHxTYPE>, %i: tensor<COUNTx1xi32>, %u: tensor<COUNTxWIDTHxTYPE>) -> tensor<ROWSxWIDTHxTYPE> attributes {exec.in_place = array<i64: PLACE>} {
      %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> SUM : (tensor<ROWSxWIDTHxTYPE>, tensor<COUNTx1xi32>, tensor<COUNTxWIDTHxTYPE>) -> tensor<ROWSxWIDTHxTYPE>
      return %0 : tensor<ROWSxWIDTHxTYPE>
    })",
      {{"SUM", sumOf(type)},
       {"ROWS", std::to_string(rows)},
       {"WIDTH", std::to_string(columns)},
       {"COUNT", std::to_string(updates)},
       {"TYPE", type},
       {"PLACE", place}});
}

/// Few updates and many, several to a row and some to none, rows that are
/// vectors or not, one row to a block and several.
TEST(PtxRoots, Scatters) {
  for (auto [rows, columns, updates] :
       {std::tuple(11, 24, 9), std::tuple(11, 24, 30), std::tuple(3, 7, 300),
        std::tuple(5, 1100, 40), std::tuple(1030, 4, 70),
        std::tuple(2, 4, 5000)})
    for (auto [type, place] :
         {std::pair("f32", "-1"), std::pair("bf16", "0")}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) +
                   " by " + std::to_string(updates) + " " + type);
      compareFast(embeddingGradient(rows, columns, updates, type, place),
                  {{1, rows}});
    }
  // All go to one row, in their order.
  compareFast(embeddingGradient(700, 12, 90, "f32", "-1"), {{1, 1}});
  // What is begun with is a number, and more go to a row than are listed.
  for (int64_t updates : {90, 5000})
    compareFast(fill(embeddingGradient(40, 8, updates, "f32", "-1"),
                     {{"%t: tensor<40x8xf32>, ", ""},
                      {"%0 =", "%t = stablehlo.constant dense<2.5> : "
                               "tensor<40x8xf32>\n      %0 ="}}),
                {{0, 3}});
}

TEST(PtxRoots, ScattersOfOtherForms) {
  // The gradient of picking one logit per row, with batching dimensions.
  for (const char *classes : {"33", "40"})
    compareFast(fill(R"(
    func.func private @kernel(%i: tensor<4x6x1x1xi32>, %u: tensor<4x6x1xf32>) -> tensor<4x6xCLASSESxf32> {
      %z = stablehlo.constant dense<0.0> : tensor<4x6xCLASSESxf32>
      %0 = "stablehlo.scatter"(%z, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> SUM : (tensor<4x6xCLASSESxf32>, tensor<4x6x1x1xi32>, tensor<4x6x1xf32>) -> tensor<4x6xCLASSESxf32>
      return %0 : tensor<4x6xCLASSESxf32>
    })",
                     {{"SUM", sumOf("f32")}, {"CLASSES", classes}}),
                {{0, 33}});
  // Windows of 3 x 20 at computed corners; elements outside are dropped.
  compareFast(R"(
    func.func private @kernel(%t: tensor<8x40xf32>, %i: tensor<2x5xi64>, %u: tensor<3x5x20xf32>) -> tensor<8x40xf32> {
      %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 0>, unique_indices = false}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
      }) : (tensor<8x40xf32>, tensor<2x5xi64>, tensor<3x5x20xf32>) -> tensor<8x40xf32>
      return %0 : tensor<8x40xf32>
    })",
              {{1, 30}});
  // Single elements by two coordinates, more than one to a place.
  compareFast(fill(R"(
    func.func private @kernel(%t: tensor<6x5xf32>, %i: tensor<300x2xui32>, %u: tensor<300xf32>) -> tensor<6x5xf32> {
      %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>, unique_indices = false}> SUM : (tensor<6x5xf32>, tensor<300x2xui32>, tensor<300xf32>) -> tensor<6x5xf32>
      return %0 : tensor<6x5xf32>
    })",
                   {{"SUM", sumOf("f32")}}),
              {{1, 6}});
  // Two results at once.
  compareFast(
      R"(
    func.func private @kernel(%t: tensor<9x8xf32>, %s: tensor<9x8xi32>, %i: tensor<40x1xi32>, %u: tensor<40x8xf32>, %v: tensor<40x8xi32>) -> (tensor<9x8xf32>, tensor<9x8xi32>) attributes {exec.in_place = array<i64: -1, 1>} {
      %0:2 = "stablehlo.scatter"(%t, %s, %i, %u, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
        %1 = stablehlo.maximum %a, %c : tensor<f32>
        %2 = stablehlo.add %b, %d : tensor<i32>
        stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
      }) : (tensor<9x8xf32>, tensor<9x8xi32>, tensor<40x1xi32>, tensor<40x8xf32>, tensor<40x8xi32>) -> (tensor<9x8xf32>, tensor<9x8xi32>)
      return %0#0, %0#1 : tensor<9x8xf32>, tensor<9x8xi32>
    })",
      {{2, 9}});
}

TEST(PtxRoots, UpdatesOfSlices) {
  auto update = [](const char *rows) {
    return fill(R"(
    func.func private @kernel(%x: tensor<9x4x32xf32>, %u: tensor<1xROWSx32xf32>, %i: tensor<i32>) -> tensor<9x4x32xf32> attributes {exec.in_place = array<i64: 0>} {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i, %z : (tensor<9x4x32xf32>, tensor<1xROWSx32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<9x4x32xf32>
      return %0 : tensor<9x4x32xf32>
    })",
                {{"ROWS", rows}});
  };
  compareFast(update("3"), {{2, 9}});
  // All but the index.
  expectWideAccesses(update("4"), 0.85, {{2, 9}});
  // Where the last dimension starts is not known, so elements are stored alone.
  compareFast(
      R"(
    func.func private @kernel(%x: tensor<9x30xf32>, %u: tensor<2x8xf32>, %i: tensor<i32>) -> tensor<9x30xf32> attributes {exec.in_place = array<i64: 0>} {
      %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<9x30xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<9x30xf32>
      return %0 : tensor<9x30xf32>
    })",
      {{2, 30}});
}

//===----------------------------------------------------------------------===//
// The largest elements
//===----------------------------------------------------------------------===//

/// With ties, NaN and zeros of both signs; with all and with some of the
/// results.
TEST(PtxRoots, LargestElements) {
  for (const char *type : {"f32", "bf16", "i32", "ui8"})
    for (const char *count : {"1", "4", "16"})
      for (const char *results : {"%0, %1", "%1"}) {
        SCOPED_TRACE(std::string(type) + " " + count + " " + results);
        std::string types = "tensor<7xCOUNTxi32>";
        if (results == std::string("%0, %1"))
          types = "tensor<7xCOUNTxTYPE>, " + types;
        compareFast(
            fill(R"(
    func.func private @kernel(%x: tensor<7x90xTYPE>) -> (RESULTS) {
      %0, %1 = chlo.top_k(%x, k = COUNT) : tensor<7x90xTYPE> -> (tensor<7xCOUNTxTYPE>, tensor<7xCOUNTxi32>)
      return VALUES : RESULTS
    })",
                 {{"RESULTS", fill(types, {{"COUNT", count}, {"TYPE", type}})},
                  {"VALUES", results},
                  {"COUNT", count},
                  {"TYPE", type}}));
      }
}

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

/// Slices of SHAPE along DIM by keys of TYPE, which the numbers follow.
std::string sortOf(const std::string &shape, const std::string &dim,
                   const std::string &type, const std::string &by,
                   const std::string &values) {
  std::string types = "tensor<SHAPExi32>";
  if (values == "%0#0, %0#1")
    types = "tensor<SHAPExTYPE>, " + types;
  return fill(R"(
    func.func private @kernel(%x: tensor<SHAPExTYPE>, %i: tensor<SHAPExi32>) -> (RESULTS) {
      %0:2 = "stablehlo.sort"(%x, %i) <{dimension = DIM : i64, is_stable = true}> ({
      ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>, %c: tensor<i32>, %d: tensor<i32>):
        %1 = stablehlo.compare BY : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<SHAPExTYPE>, tensor<SHAPExi32>) -> (tensor<SHAPExTYPE>, tensor<SHAPExi32>)
      return VALUES : RESULTS
    })",
              {{"RESULTS", fill(types, {{"SHAPE", shape}, {"TYPE", type}})},
               {"VALUES", values},
               {"SHAPE", shape},
               {"TYPE", type},
               {"DIM", dim},
               {"BY", by}});
}

/// Equal keys keep their order: small integers have many, and so does a
/// comparator that takes all for equal.
TEST(PtxRoots, Sorts) {
  const std::string all = "%0#0, %0#1";
  compareFast(sortOf("5x33x3", "1", "f32", "GT, %a, %b, TOTALORDER", all));
  compareFast(sortOf("33x4", "0", "bf16", "LT, %a, %b, TOTALORDER", "%0#1"));
  compareFast(sortOf("4x100", "1", "i8", "LT, %a, %b, SIGNED", all));
  compareFast(sortOf("2x64", "1", "ui64", "LT, %b, %a, UNSIGNED", all));
  compareFast(sortOf("3x70", "1", "f32", "LT, %a, %a, TOTALORDER", all));
  // Several elements for a thread; several slices for a block; nothing to do.
  compareFast(sortOf("1500", "0", "f32", "LT, %a, %b, TOTALORDER", all));
  compareFast(sortOf("1030x3", "1", "i32", "LT, %a, %b, SIGNED", all));
  compareFast(sortOf("9x1", "1", "i32", "LT, %a, %b, SIGNED", all));
  // Keys that are computed, and put in the place of the numbers.
  compareFast(R"(
    func.func private @kernel(%x: tensor<6x45xi32>) -> tensor<6x45xi32> attributes {exec.in_place = array<i64: 0>} {
      %1 = stablehlo.multiply %x, %x : tensor<6x45xi32>
      %0 = "stablehlo.sort"(%1) <{dimension = 1 : i64, is_stable = false}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %2 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      }) : (tensor<6x45xi32>) -> tensor<6x45xi32>
      return %0 : tensor<6x45xi32>
    })");
}

//===----------------------------------------------------------------------===//
// Random bits
//===----------------------------------------------------------------------===//

TEST(PtxRoots, RandomBits) {
  for (const char *algorithm : {"PHILOX", "THREE_FRY"})
    for (const char *type :
         {"tensor<9xui64>", "tensor<70x61xui32>", "tensor<5x70x64xui32>",
          "tensor<33xui32>", "tensor<6x40xui8>", "tensor<2048xui16>"})
      for (const char *place : {"-1", "0"})
        compareFast(
            fill(R"(
    func.func private @kernel(%s: tensor<2xui64>) -> (tensor<2xui64>, TYPE) attributes {exec.in_place = array<i64: PLACE, -1>} {
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = ALGORITHM : (tensor<2xui64>) -> (tensor<2xui64>, TYPE)
      return %0, %1 : tensor<2xui64>, TYPE
    })",
                 {{"TYPE", type}, {"PLACE", place}, {"ALGORITHM", algorithm}}));
}

TEST(PtxRoots, AccessesAreWide) {
  expectWideAccesses(pool("4x16x16x64", "4x8x8x64", tiling, "f32"), 1);
  expectWideAccesses(poolGradient("4x16x16x64", "4x8x8x64", tiling, "f32"), 1);
  expectWideAccesses(
      poolGradient("2x14x14x64", "2x7x7x64",
                   "padding = dense<[[0, 0], [0, 1], [0, 1], [0, 0]]> : "
                   "tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, "
                   "1>, window_strides = array<i64: 1, 2, 2, 1>",
                   "f32"),
      1);
  // The indices, which every block looks at, are not.
  expectWideAccesses(embeddingGradient(64, 384, 512, "f32", "-1"), 0.8,
                     {{1, 64}});
  // Every thread reads the state.
  expectWideAccesses(R"(
    func.func private @kernel(%s: tensor<2xui64>) -> tensor<4096xui32> {
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4096xui32>)
      return %1 : tensor<4096xui32>
    })",
                     0.5);
}

} // namespace
