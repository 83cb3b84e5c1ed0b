//===- PtxPartsTest.cpp - Kernels that GPUs compute in parts --------------===//
//
// One kernel of each kind that the vector templates compute, on the emulated
// GPU and on this processor.
//
//===----------------------------------------------------------------------===//

#include "BothTargets.h"

#include <gtest/gtest.h>
#include <map>
#include <string>

namespace {

const std::string sum = R"(({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }))";

void compareParts(const std::string &text,
                  const std::map<size_t, int64_t> &limits = {}) {
  EXPECT_TRUE(compareTargets(text, limits).isInParts);
}

/// Reductions that are no single operation: the first place of the largest.
std::string firstOfTheLargest(const std::string &dims,
                              const std::string &result) {
  return "func.func private @kernel(%x: tensor<5x33xf32>) -> tensor<" + result +
         R"(xi32> {
      %m = stablehlo.constant dense<0xff800000> : tensor<f32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %i = stablehlo.iota dim = )" +
         dims + R"( : tensor<5x33xi32>
      %0:2 = stablehlo.reduce(%x init: %m), (%i init: %z) across dimensions = [)" +
         dims +
         R"(] : (tensor<5x33xf32>, tensor<5x33xi32>, tensor<f32>, tensor<i32>) -> (tensor<)" +
         result + "xf32>, tensor<" + result + R"(xi32>)
       reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
        %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
        %3 = stablehlo.select %1, %c, %d : tensor<i1>, tensor<i32>
        stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
      }
      return %0#1 : tensor<)" +
         result + "xi32>\n}";
}

TEST(PtxParts, Reductions) {
  compareParts(firstOfTheLargest("1", "5"));
  compareParts(firstOfTheLargest("0", "33"));
}

TEST(PtxParts, Products) {
  compareParts(R"(
    func.func private @kernel(%x: tensor<13x29xi32>, %y: tensor<29x37xi32>) -> tensor<13x37xi32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<13x29xi32>, tensor<29x37xi32>) -> tensor<13x37xi32>
      return %0 : tensor<13x37xi32>
    })");
  compareParts(R"(
    func.func private @kernel(%x: tensor<3x2x29xbf16>, %y: tensor<3x37x29xbf16>) -> tensor<3x2x37xf32> {
      %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x2x29xbf16>, tensor<3x37x29xbf16>) -> tensor<3x2x37xf32>
      return %0 : tensor<3x2x37xf32>
    })");
}

TEST(PtxParts, Convolutions) {
  compareParts(R"(
    func.func private @kernel(%x: tensor<2x9x8x5xf32>, %w: tensor<3x3x5x19xf32>) -> tensor<2x5x4x19xf32> {
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x8x5xf32>, tensor<3x3x5x19xf32>) -> tensor<2x5x4x19xf32>
      return %0 : tensor<2x5x4x19xf32>
    })");
}

TEST(PtxParts, Scatters) {
  for (const char *place : {"-1", "0"})
    compareParts(
        "func.func private @kernel(%t: tensor<11x24xf32>, %i: "
        "tensor<30x1xi32>, %u: tensor<30x24xf32>) -> "
        "tensor<11x24xf32> attributes {exec.in_place = array<i64: " +
            std::string(place) + R"(>} {
      %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> )" +
            sum +
            R"( : (tensor<11x24xf32>, tensor<30x1xi32>, tensor<30x24xf32>) -> tensor<11x24xf32>
      return %0 : tensor<11x24xf32>
    })",
        {{1, 11}});
}

TEST(PtxParts, UpdatesOfSlices) {
  compareParts(
      R"(
    func.func private @kernel(%x: tensor<9x4x30xf32>, %u: tensor<1x4x30xf32>, %i: tensor<i32>) -> tensor<9x4x30xf32> attributes {exec.in_place = array<i64: 0>} {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.dynamic_update_slice %x, %u, %i, %z, %z : (tensor<9x4x30xf32>, tensor<1x4x30xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<9x4x30xf32>
      return %0 : tensor<9x4x30xf32>
    })",
      {{2, 9}});
}

TEST(PtxParts, PoolingAndItsGradient) {
  compareParts(
      R"(
    func.func private @kernel(%x: tensor<2x7x6x19xf32>) -> tensor<2x4x3x19xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %z) <{padding = dense<[[0, 0], [1, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> )" +
      sum + R"( : (tensor<2x7x6x19xf32>, tensor<f32>) -> tensor<2x4x3x19xf32>
      return %0 : tensor<2x4x3x19xf32>
    })");
  compareParts(
      R"(
    func.func private @kernel(%x: tensor<3x8x8x35xf32>, %s: tensor<3x4x4x35xf32>) -> tensor<3x8x8x35xf32> {
      %z = stablehlo.constant dense<0.5> : tensor<f32>
      %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }, )" +
      sum.substr(1, sum.size() - 2) +
      R"() : (tensor<3x8x8x35xf32>, tensor<3x4x4x35xf32>, tensor<f32>) -> tensor<3x8x8x35xf32>
      return %0 : tensor<3x8x8x35xf32>
    })");
}

TEST(PtxParts, Sorts) {
  compareParts(R"(
    func.func private @kernel(%x: tensor<5x33x3xf32>, %i: tensor<5x33x3xi32>) -> (tensor<5x33x3xf32>, tensor<5x33x3xi32>) {
      %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
        %1 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<5x33x3xf32>, tensor<5x33x3xi32>) -> (tensor<5x33x3xf32>, tensor<5x33x3xi32>)
      return %0#0, %0#1 : tensor<5x33x3xf32>, tensor<5x33x3xi32>
    })");
  compareParts(R"(
    func.func private @kernel(%x: tensor<6x20xf32>) -> (tensor<6x4xf32>, tensor<6x4xi32>) {
      %0, %1 = chlo.top_k(%x, k = 4) : tensor<6x20xf32> -> (tensor<6x4xf32>, tensor<6x4xi32>)
      return %0, %1 : tensor<6x4xf32>, tensor<6x4xi32>
    })");
}

TEST(PtxParts, RandomBits) {
  for (const char *algorithm : {"PHILOX", "THREE_FRY"})
    for (const char *type : {"tensor<9xui64>", "tensor<70x61xui32>"})
      compareParts(
          "func.func private @kernel(%s: tensor<2xui64>) -> (tensor<2xui64>, " +
          std::string(type) +
          ") {\n  %0, %1 = stablehlo.rng_bit_generator %s, "
          "algorithm = " +
          algorithm + " : (tensor<2xui64>) -> (tensor<2xui64>, " + type +
          ")\n  return %0, %1 : tensor<2xui64>, " + type + "\n}");
}

TEST(PtxParts, Attention) {
  compareParts(R"(
    func.func private @kernel(%q: tensor<2x19x9xf32>, %k: tensor<2x21x9xf32>, %v: tensor<2x21x7xf32>) -> (tensor<2x19x7xf32>, tensor<2x19xf32>, tensor<2x19xf32>) {
      %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] -> [0, q, v] {scale = 0.5 : f32} : (tensor<2x19x9xf32>, tensor<2x21x9xf32>, tensor<2x21x7xf32>) -> (tensor<2x19x7xf32>, tensor<2x19xf32>, tensor<2x19xf32>)
      return %o, %max, %sum : tensor<2x19x7xf32>, tensor<2x19xf32>, tensor<2x19xf32>
    })");
}

} // namespace
