//===- PtxSchedulesTest.cpp - Kernels that GPUs have schedules for --------===//
//
// Rows, columns and transposes of shapes that fit vectors and warps and of such
// as do not, on the emulated GPU and on this processor; and how they access
// memory.
//
//===----------------------------------------------------------------------===//

#include "BothTargets.h"

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <tuple>

using namespace tenon;

namespace {

std::string softmax(int64_t rows, int64_t length, const std::string &type,
                    const std::string &place = "-1") {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<SHAPExTYPE>) -> tensor<SHAPExTYPE> attributes {exec.in_place = array<i64: PLACE>} {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.constant dense<0xff800000> : tensor<f32>
      %w = stablehlo.convert %x : (tensor<SHAPExTYPE>) -> tensor<SHAPExf32>
      %0 = stablehlo.reduce(%w init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<ROWSxf32>
      %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<ROWSxf32>) -> tensor<SHAPExf32>
      %2 = stablehlo.subtract %w, %1 : tensor<SHAPExf32>
      %3 = stablehlo.exponential %2 : tensor<SHAPExf32>
      %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<ROWSxf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<ROWSxf32>) -> tensor<SHAPExf32>
      %6 = stablehlo.divide %3, %5 : tensor<SHAPExf32>
      %7 = stablehlo.convert %6 : (tensor<SHAPExf32>) -> tensor<SHAPExTYPE>
      return %7 : tensor<SHAPExTYPE>
    })",
      {{"SHAPEx", std::to_string(rows) + "x" + std::to_string(length) + "x"},
       {"ROWSx", std::to_string(rows) + "x"},
       {"TYPE", type},
       {"PLACE", place}});
}

/// Rows that need one place and several per lane, are a multiple of them or
/// not, and fill warps or not.
TEST(PtxSchedules, Rows) {
  for (auto [rows, length] :
       {std::pair(37, 83), std::pair(1, 1025), std::pair(8, 3),
        std::pair(7, 16), std::pair(6, 40), std::pair(16, 64), std::pair(9, 48),
        std::pair(12, 36), std::pair(10, 256), std::pair(4, 4160),
        std::pair(2, 17)})
    for (auto [type, place] :
         {std::pair("f32", "0"), std::pair("bf16", "-1")}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(length) + " " +
                   type + " " + place);
      compareFast(softmax(rows, length, type, place));
    }
}

/// Two sums in one pass, results of the row and of its elements, one of them
/// over an operand.
std::string norm(int64_t rows, int64_t length, const std::string &type) {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<SHAPExTYPE>, %g: tensor<LENGTHxf32>, %r: tensor<SHAPExTYPE>) -> (tensor<SHAPExTYPE>, tensor<ROWSxf32>, tensor<SHAPExTYPE>) attributes {exec.in_place = array<i64: 2, -1, -1>} {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %w = stablehlo.convert %x : (tensor<SHAPExTYPE>) -> tensor<SHAPExf32>
      %0 = stablehlo.multiply %w, %w : tensor<SHAPExf32>
      %1 = stablehlo.reduce(%w init: %z) applies stablehlo.add across dimensions = [1] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<ROWSxf32>
      %2 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<ROWSxf32>
      %3 = stablehlo.multiply %1, %1 : tensor<ROWSxf32>
      %4 = stablehlo.subtract %2, %3 : tensor<ROWSxf32>
      %5 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<ROWSxf32>) -> tensor<SHAPExf32>
      %6 = stablehlo.subtract %w, %5 : tensor<SHAPExf32>
      %7 = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<LENGTHxf32>) -> tensor<SHAPExf32>
      %8 = stablehlo.multiply %6, %7 : tensor<SHAPExf32>
      %9 = stablehlo.convert %8 : (tensor<SHAPExf32>) -> tensor<SHAPExTYPE>
      %10 = stablehlo.add %r, %x : tensor<SHAPExTYPE>
      return %10, %4, %9 : tensor<SHAPExTYPE>, tensor<ROWSxf32>, tensor<SHAPExTYPE>
    })",
      {{"SHAPEx", std::to_string(rows) + "x" + std::to_string(length) + "x"},
       {"ROWSx", std::to_string(rows) + "x"},
       {"LENGTH", std::to_string(length)},
       {"TYPE", type}});
}

/// The loss of rows of logits, of which the first `words` count, and its
/// gradient over them.
std::string loss(int64_t rows, int64_t length, int64_t words) {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<SHAPExbf16>, %i: tensor<ROWSxi32>) -> (tensor<ROWSxf32>, tensor<SHAPExbf16>) attributes {exec.in_place = array<i64: -1, 0>} {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.constant dense<0xff800000> : tensor<f32>
      %c = stablehlo.constant dense<WORDS> : tensor<SHAPExi32>
      %0 = stablehlo.iota dim = 1 : tensor<SHAPExi32>
      %1 = stablehlo.compare LT, %0, %c, SIGNED : (tensor<SHAPExi32>, tensor<SHAPExi32>) -> tensor<SHAPExi1>
      %2 = stablehlo.convert %x : (tensor<SHAPExbf16>) -> tensor<SHAPExf32>
      %3 = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f32>) -> tensor<SHAPExf32>
      %4 = stablehlo.select %1, %2, %3 : tensor<SHAPExi1>, tensor<SHAPExf32>
      %5 = stablehlo.reduce(%4 init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<ROWSxf32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<ROWSxf32>) -> tensor<SHAPExf32>
      %7 = stablehlo.subtract %2, %6 : tensor<SHAPExf32>
      %8 = stablehlo.exponential %7 : tensor<SHAPExf32>
      %9 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<SHAPExf32>
      %10 = stablehlo.select %1, %8, %9 : tensor<SHAPExi1>, tensor<SHAPExf32>
      %11 = stablehlo.reduce(%10 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<ROWSxf32>
      %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<ROWSxf32>) -> tensor<SHAPExf32>
      %13 = stablehlo.divide %8, %12 : tensor<SHAPExf32>
      %14 = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<ROWSxi32>) -> tensor<SHAPExi32>
      %15 = stablehlo.compare EQ, %0, %14, SIGNED : (tensor<SHAPExi32>, tensor<SHAPExi32>) -> tensor<SHAPExi1>
      %o = stablehlo.constant dense<-1.0> : tensor<SHAPExf32>
      %16 = stablehlo.select %15, %o, %9 : tensor<SHAPExi1>, tensor<SHAPExf32>
      %17 = stablehlo.add %13, %16 : tensor<SHAPExf32>
      %18 = stablehlo.select %1, %17, %9 : tensor<SHAPExi1>, tensor<SHAPExf32>
      %19 = stablehlo.convert %18 : (tensor<SHAPExf32>) -> tensor<SHAPExbf16>
      %20 = stablehlo.log %11 : tensor<ROWSxf32>
      return %20, %19 : tensor<ROWSxf32>, tensor<SHAPExbf16>
    })",
      {{"SHAPEx", std::to_string(rows) + "x" + std::to_string(length) + "x"},
       {"ROWSx", std::to_string(rows) + "x"},
       {"WORDS", std::to_string(words)}});
}

/// A warp has a row: all rows of its block or not, and vectors in two pieces or
/// in one.
TEST(PtxSchedules, RowsOfWarps) {
  for (auto [rows, length, type] :
       {std::tuple(17, 768, "bf16"), std::tuple(8, 1536, "bf16"),
        std::tuple(3, 1280, "f32"), std::tuple(5, 768, "f16")}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(length) + " " +
                 type);
    compareFast(norm(rows, length, type));
    compareFast(softmax(rows, length, type));
  }
}

/// A block has a row: whole rounds alone and with a rest, one or several, and
/// a limit in the rest, in a whole round and behind the end.
TEST(PtxSchedules, RowsOfBlocks) {
  for (auto [rows, length, type] :
       {std::tuple(3, 4096, "bf16"), std::tuple(2, 4096 * 5 + 64, "bf16"),
        std::tuple(2, 2048 * 3, "f32"), std::tuple(2, 2048 + 192, "f32")}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(length) + " " +
                 type);
    compareFast(norm(rows, length, type));
    compareFast(softmax(rows, length, type));
  }
  for (auto [length, words] :
       {std::pair(4096 + 1152, 4096 + 1105), std::pair(4096 * 5, 4097),
        std::pair(4096 * 2 + 64, 4096 * 2 + 64), std::pair(4096, 4000)}) {
    SCOPED_TRACE(std::to_string(length) + " " + std::to_string(words));
    compareFast(loss(2, length, words), {{1, words}});
  }
}

/// Several results, one of them per row, over dimensions on both sides.
TEST(PtxSchedules, RowsOfSeveralDimensions) {
  for (const char *last : {"64", "20", "7"})
    compareFast(fill(R"(
    func.func private @kernel(%x: tensor<3x10xLxf32>, %s: tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<3x10xLxbf16>) attributes {exec.in_place = array<i64: 1, -1, -1>} {
      %z = stablehlo.constant dense<0.25> : tensor<f32>
      %0 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<10xf32>) -> tensor<3x10xLxf32>
      %1 = stablehlo.multiply %x, %0 : tensor<3x10xLxf32>
      %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 2] : (tensor<3x10xLxf32>, tensor<f32>) -> tensor<10xf32>
      %3 = stablehlo.reduce(%x init: %z) applies stablehlo.minimum across dimensions = [0, 2] : (tensor<3x10xLxf32>, tensor<f32>) -> tensor<10xf32>
      %4 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<10xf32>) -> tensor<3x10xLxf32>
      %5 = stablehlo.subtract %x, %4 : tensor<3x10xLxf32>
      %6 = stablehlo.convert %5 : (tensor<3x10xLxf32>) -> tensor<3x10xLxbf16>
      return %2, %3, %6 : tensor<10xf32>, tensor<10xf32>, tensor<3x10xLxbf16>
    })",
                     {{"xLx", "x" + std::string(last) + "x"}}));
}

/// The largest element and its index, of elements that are no NaN and of NaN,
/// the first of which counts. `prepare` makes the elements %y of %x.
std::string largest(const std::string &shape, const std::string &result,
                    const std::string &dim, const std::string &type,
                    const std::string &prepare) {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<SHAPExTYPE>) -> (tensor<RESULTTYPE>, tensor<RESULTi32>) {
      %m = stablehlo.constant dense<LEAST> : tensor<TYPE>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %c = stablehlo.constant dense<ZERO> : tensor<SHAPExTYPE>
      %i = stablehlo.iota dim = DIM : tensor<SHAPExi32>
      PREPARE
      %0:2 = stablehlo.reduce(%y init: %m), (%i init: %z) across dimensions = [DIM] : (tensor<SHAPExTYPE>, tensor<SHAPExi32>, tensor<TYPE>, tensor<i32>) -> (tensor<RESULTTYPE>, tensor<RESULTi32>)
       reducer(%a: tensor<TYPE>, %b: tensor<TYPE>) (%j: tensor<i32>, %k: tensor<i32>) {
        %1 = stablehlo.compare GT, %a, %b : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
        %2 = stablehlo.compare NE, %a, %a : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
        %3 = stablehlo.or %1, %2 : tensor<i1>
        %4 = stablehlo.compare EQ, %a, %b : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
        %5 = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %6 = stablehlo.and %4, %5 : tensor<i1>
        %7 = stablehlo.or %3, %6 : tensor<i1>
        %8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<TYPE>
        %9 = stablehlo.select %7, %j, %k : tensor<i1>, tensor<i32>
        stablehlo.return %8, %9 : tensor<TYPE>, tensor<i32>
      }
      return %0#0, %0#1 : tensor<RESULTTYPE>, tensor<RESULTi32>
    })",
      {{"PREPARE", prepare},
       {"SHAPEx", shape},
       {"RESULT", result},
       {"DIM", dim},
       {"LEAST", type == "i32"    ? "-2147483648"
                 : type == "f64"  ? "0xfff0000000000000"
                 : type == "bf16" ? "0xff80"
                                  : "0xff800000"},
       {"ZERO", type == "i32" ? "0" : "0.0"},
       {"TYPE", type}});
}

/// Nothing above zero, so that zeros of both signs are the largest; and no NaN.
const char *const zerosAndNaN =
    "%y = stablehlo.minimum %x, %c : tensor<SHAPExTYPE>";
const char *const noNaN =
    R"(%f = stablehlo.compare EQ, %x, %x : (tensor<SHAPExTYPE>, tensor<SHAPExTYPE>) -> tensor<SHAPExi1>
       %y = stablehlo.select %f, %x, %c : tensor<SHAPExi1>, tensor<SHAPExTYPE>)";

/// Threads, lanes and warps that have a row or a column by themselves, and such
/// that share it; with blocks of the order that are short or not.
TEST(PtxSchedules, LargestByARegion) {
  auto compare = [](int64_t kept, int64_t length, const char *type,
                    const char *prepare) {
    SCOPED_TRACE(std::string(type) + " " + std::to_string(length));
    const std::string one = std::to_string(kept) + "x",
                      other = std::to_string(length) + "x";
    compareFast(largest(one + other, one, "1", type, prepare));
    compareFast(largest(other + one, one, "0", type, prepare));
  };
  for (auto [kept, length] :
       {std::pair(5, 2), std::pair(7, 15), std::pair(3, 31), std::pair(40, 32),
        std::pair(3, 33), std::pair(2, 1000)})
    compare(kept, length, "f32", zerosAndNaN);
  for (const char *type : {"bf16", "f64", "i32"}) {
    compare(3, 33, type, zerosAndNaN);
    compare(2, 1000, type, noNaN);
  }
  for (const char *shape : {"50257x", "1x"})
    compareFast(largest(shape, "", "0", "f32", noNaN));
  compareFast(largest("50257x2x", "2x", "0", "bf16", noNaN));
}

/// Several reductions by regions and others of the same row, a result of its
/// elements over an operand, and reduced dimensions that are no neighbours.
TEST(PtxSchedules, RegionsBesideSums) {
  for (auto [rows, length] :
       {std::pair(4, 10), std::pair(3, 256), std::pair(2, 1023)})
    for (const char *dims : {"[2]", "[0, 2]"}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(length) + " " +
                   dims);
      const bool isOneRun = dims == std::string("[2]");
      compareFast(
          fill(
              R"(
    func.func private @kernel(%x: tensor<SHAPExf32>, %l: tensor<ROWSxi32>) -> (tensor<ROWSxi1>, tensor<ROWSxf32>, tensor<SHAPExf32>) attributes {exec.in_place = array<i64: -1, -1, 0>} {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.constant dense<0xff800000> : tensor<f32>
      %n = stablehlo.constant dense<0> : tensor<i32>
      %i = stablehlo.iota dim = 2 : tensor<SHAPExi32>
      %0:2 = stablehlo.reduce(%x init: %m), (%i init: %n) across dimensions = DIMS : (tensor<SHAPExf32>, tensor<SHAPExi32>, tensor<f32>, tensor<i32>) -> (tensor<ROWSxf32>, tensor<ROWSxi32>)
       reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
        %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
        %3 = stablehlo.select %1, %j, %k : tensor<i1>, tensor<i32>
        stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
      }
      %4 = stablehlo.compare EQ, %0#1, %l : (tensor<ROWSxi32>, tensor<ROWSxi32>) -> tensor<ROWSxi1>
      %5 = stablehlo.broadcast_in_dim %0#0, dims = KEPT : (tensor<ROWSxf32>) -> tensor<SHAPExf32>
      %6 = stablehlo.subtract %x, %5 : tensor<SHAPExf32>
      %7 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = DIMS : (tensor<SHAPExf32>, tensor<f32>) -> tensor<ROWSxf32>
      %8 = stablehlo.reduce(%6 init: %z) across dimensions = DIMS : (tensor<SHAPExf32>, tensor<f32>) -> tensor<ROWSxf32>
       reducer(%a: tensor<f32>, %b: tensor<f32>) {
        %9 = stablehlo.add %a, %b : tensor<f32>
        %10 = stablehlo.maximum %9, %9 : tensor<f32>
        stablehlo.return %10 : tensor<f32>
      }
      %11 = stablehlo.add %7, %8 : tensor<ROWSxf32>
      return %4, %11, %6 : tensor<ROWSxi1>, tensor<ROWSxf32>, tensor<SHAPExf32>
    })",
              {{"SHAPEx", "3x" + std::to_string(rows) + "x" +
                              std::to_string(length) + "x"},
               {"ROWSx", (isOneRun ? "3x" : "") + std::to_string(rows) + "x"},
               {"DIMS", dims},
               {"KEPT", isOneRun ? "[0, 1]" : "[1]"}}),
          {{1, length}});
    }
}

/// A result that overwrites the operand, but is known before the last pass,
/// leaves that what it needs: rows are held in registers, or all results are
/// written in the last pass.
TEST(PtxSchedules, RowsThatOverwriteEarly) {
  for (const char *length : {"64", "83", "768", "1280", "4160"})
    for (const char *type : {"f32", "bf16"}) {
      SCOPED_TRACE(std::string(length) + " " + type);
      compareFast(
          fill(R"(
    func.func private @kernel(%x: tensor<6xNxf32>) -> (tensor<6xNxf32>, tensor<6xNxTYPE>) attributes {exec.in_place = array<i64: 0, -1>} {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.constant dense<0xff800000> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<6xNxf32>, tensor<f32>) -> tensor<6xf32>
      %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<6xf32>) -> tensor<6xNxf32>
      %2 = stablehlo.subtract %x, %1 : tensor<6xNxf32>
      %3 = stablehlo.exponential %2 : tensor<6xNxf32>
      %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<6xNxf32>, tensor<f32>) -> tensor<6xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<6xf32>) -> tensor<6xNxf32>
      %6 = stablehlo.divide %3, %5 : tensor<6xNxf32>
      %7 = stablehlo.convert %6 : (tensor<6xNxf32>) -> tensor<6xNxTYPE>
      return %2, %7 : tensor<6xNxf32>, tensor<6xNxTYPE>
    })",
               {{"xNx", "x" + std::string(length) + "x"}, {"TYPE", type}}));
    }
}

/// In groups of lanes, in warps and in blocks.
TEST(PtxSchedules, RowsOfOtherTypes) {
  for (const char *length : {"100", "1280", "8256"})
    for (const char *type : {"f64", "i64", "i32", "ui8", "f16"})
      for (const char *name : {"add", "maximum"}) {
        SCOPED_TRACE(std::string(length) + " " + type + " " + name);
        compareFast(fill(R"(
    func.func private @kernel(%x: tensor<10xLENGTHxTYPE>, %i: tensor<TYPE>) -> tensor<10xTYPE> {
      %0 = stablehlo.reduce(%x init: %i) applies stablehlo.NAME across dimensions = [1] : (tensor<10xLENGTHxTYPE>, tensor<TYPE>) -> tensor<10xTYPE>
      return %0 : tensor<10xTYPE>
    })",
                         {{"LENGTH", length}, {"TYPE", type}, {"NAME", name}}));
      }
}

std::string columnSums(const std::string &shape, const std::string &dims,
                       const std::string &result, const std::string &type) {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<SHAPExTYPE>, %y: tensor<SHAPExTYPE>) -> (tensor<RESULTxTYPE>, tensor<RESULTxTYPE>) {
      %z = stablehlo.constant dense<0.5> : tensor<TYPE>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [DIMS] : (tensor<SHAPExTYPE>, tensor<TYPE>) -> tensor<RESULTxTYPE>
      %1 = stablehlo.multiply %x, %y : tensor<SHAPExTYPE>
      %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [DIMS] : (tensor<SHAPExTYPE>, tensor<TYPE>) -> tensor<RESULTxTYPE>
      %3 = stablehlo.add %0, %2 : tensor<RESULTxTYPE>
      return %2, %3 : tensor<RESULTxTYPE>, tensor<RESULTxTYPE>
    })",
      {{"SHAPE", shape}, {"DIMS", dims}, {"RESULT", result}, {"TYPE", type}});
}

/// Few rows, which have no blocks, many of them, blocks that are cut short, and
/// columns that are no vectors.
TEST(PtxSchedules, Columns) {
  for (const char *type : {"f32", "bf16"}) {
    SCOPED_TRACE(type);
    compareFast(columnSums("53x139", "0", "139", type));
    compareFast(columnSums("5x64", "0", "64", type));
    compareFast(columnSums("1000x96", "0", "96", type));
    compareFast(columnSums("3x7x9x40", "0, 2", "7x40", type));
  }
  compareFast(columnSums("2x33x5x3", "1", "2x5x3", "f64"));
  compareFast(columnSums("16x1", "0", "1", "f64"));
}

/// A norm's gradient, rows of which are summed over images: what is read, what
/// is computed after the row's sums and written, and what is not written. One
/// result is over an operand.
std::string normGradient(int64_t images, int64_t rows, int64_t length,
                         const std::string &type) {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<SHAPExf32>, %d: tensor<SHAPExTYPE>, %g: tensor<LENGTHxf32>) -> (tensor<SHAPExf32>, tensor<SUMSxf32>, tensor<ROWSxf32>, tensor<SUMSxf32>, tensor<SUMSxf32>) attributes {exec.in_place = array<i64: 0, -1, -1, -1, -1>} {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %w = stablehlo.convert %d : (tensor<SHAPExTYPE>) -> tensor<SHAPExf32>
      %0 = stablehlo.multiply %w, %x : tensor<SHAPExf32>
      %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [2] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<ROWSxf32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<ROWSxf32>) -> tensor<SHAPExf32>
      %3 = stablehlo.broadcast_in_dim %g, dims = [2] : (tensor<LENGTHxf32>) -> tensor<SHAPExf32>
      %4 = stablehlo.multiply %x, %2 : tensor<SHAPExf32>
      %5 = stablehlo.subtract %w, %4 : tensor<SHAPExf32>
      %6 = stablehlo.multiply %5, %3 : tensor<SHAPExf32>
      %7 = stablehlo.reduce(%w init: %z) applies stablehlo.add across dimensions = [0] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<SUMSxf32>
      %8 = stablehlo.reduce(%4 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<SUMSxf32>
      %9 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<SUMSxf32>
      return %6, %7, %1, %8, %9 : tensor<SHAPExf32>, tensor<SUMSxf32>, tensor<ROWSxf32>, tensor<SUMSxf32>, tensor<SUMSxf32>
    })",
      {{"SHAPEx", std::to_string(images) + "x" + std::to_string(rows) + "x" +
                      std::to_string(length) + "x"},
       {"ROWSx", std::to_string(images) + "x" + std::to_string(rows) + "x"},
       {"SUMSx", std::to_string(rows) + "x" + std::to_string(length) + "x"},
       {"LENGTH", std::to_string(length)},
       {"TYPE", type}});
}

/// Elements that are stored and summed over images.
std::string elementSums(const std::string &images, const std::string &columns,
                        const std::string &type) {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<IMAGESxCOLUMNSxTYPE>, %y: tensor<IMAGESxCOLUMNSxTYPE>) -> (tensor<IMAGESxCOLUMNSxTYPE>, tensor<COLUMNSxf32>, tensor<IMAGESxCOLUMNSxTYPE>) attributes {exec.in_place = array<i64: 1, -1, 0>} {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.multiply %x, %y : tensor<IMAGESxCOLUMNSxTYPE>
      %1 = stablehlo.convert %0 : (tensor<IMAGESxCOLUMNSxTYPE>) -> tensor<IMAGESxCOLUMNSxf32>
      %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<IMAGESxCOLUMNSxf32>, tensor<f32>) -> tensor<COLUMNSxf32>
      %3 = stablehlo.negate %x : tensor<IMAGESxCOLUMNSxTYPE>
      return %0, %2, %3 : tensor<IMAGESxCOLUMNSxTYPE>, tensor<COLUMNSxf32>, tensor<IMAGESxCOLUMNSxTYPE>
    })",
      {{"IMAGES", images}, {"COLUMNS", columns}, {"TYPE", type}});
}

/// Blocks of rows that are all as long, and one that is cut short.
TEST(PtxSchedules, RowsWithSums) {
  compareFast(normGradient(16, 128, 256, "bf16"));
  compareFast(normGradient(18, 130, 128, "f32"));
  expectGoodAccesses(normGradient(16, 128, 256, "f32"));
}

/// Few images, which have no blocks, and some.
TEST(PtxSchedules, ElementsWithSums) {
  compareFast(elementSums("17", "129x128", "f32"));
  compareFast(elementSums("3", "256x256", "bf16"));
  expectGoodAccesses(elementSums("16", "256x128", "f32"));
}

std::string transpose(const std::string &shape, const std::string &dims,
                      const std::string &result, const std::string &type) {
  return fill(
      R"(
    func.func private @kernel(%x: tensor<SHAPExTYPE>) -> tensor<RESULTxTYPE> {
      %0 = stablehlo.transpose %x, dims = [DIMS] : (tensor<SHAPExTYPE>) -> tensor<RESULTxTYPE>
      return %0 : tensor<RESULTxTYPE>
    })",
      {{"SHAPE", shape}, {"DIMS", dims}, {"RESULT", result}, {"TYPE", type}});
}

TEST(PtxSchedules, Transposes) {
  for (const char *type : {"f32", "bf16"}) {
    SCOPED_TRACE(type);
    compareFast(transpose("64x96", "1, 0", "96x64", type));
    compareFast(transpose("3x37x8x70", "3, 1, 0, 2", "70x37x3x8", type));
    compareFast(transpose("2x40x1x33x5", "0, 3, 2, 4, 1", "2x33x1x5x40", type));
    compareFast(transpose("4x5", "1, 0", "5x4", type));
  }
  for (const char *type : {"f64", "i8", "i1"}) {
    SCOPED_TRACE(type);
    compareFast(transpose("37x48", "1, 0", "48x37", type));
  }
}

std::string product(const std::string &left, const std::string &right,
                    const std::string &dims, const std::string &result,
                    const std::string &type, const std::string &resultType) {
  return fill(R"(
    func.func private @kernel(%x: tensor<LEFTxTYPE>, %y: tensor<RIGHTxTYPE>) -> tensor<SHAPExRESULT> {
      %0 = stablehlo.negate %x : tensor<LEFTxTYPE>
      %1 = stablehlo.dot_general %0, %y, DIMS : (tensor<LEFTxTYPE>, tensor<RIGHTxTYPE>) -> tensor<SHAPExRESULT>
      return %1 : tensor<SHAPExRESULT>
    })",
              {{"LEFT", left},
               {"RIGHT", right},
               {"DIMS", dims},
               {"SHAPE", result},
               {"TYPE", type},
               {"RESULT", resultType}});
}

/// All layouts, tiles that are cut short, sums with a rest and of several
/// dimensions, one sum per element and 16.
TEST(PtxSchedules, Products) {
  compareFast(product("13x29", "29x37", "contracting_dims = [1] x [0]", "13x37",
                      "f32", "f32"));
  compareFast(product("29x70", "69x29", "contracting_dims = [0] x [1]", "70x69",
                      "f32", "f32"));
  compareFast(product("3x34x48", "3x37x48",
                      "batching_dims = [0] x [0], contracting_dims = [2] x [2]",
                      "3x34x37", "f32", "f32"));
  // Fewer rows or columns than tensor cores are worth.
  for (const char *type : {"f32", "bf16"}) {
    SCOPED_TRACE(type);
    compareFast(product("5x29", "29x37", "contracting_dims = [1] x [0]", "5x37",
                        type, type));
    compareFast(product("5x3x4x20", "3x20x7",
                        "contracting_dims = [1, 3] x [0, 1]", "5x4x7", type,
                        type));
    compareFast(product("5x3x4x20", "6x3x20",
                        "contracting_dims = [1, 3] x [1, 2]", "5x4x6", type,
                        type));
  }
  compareFast(product("16x8", "40x8", "contracting_dims = [1] x [1]", "16x40",
                      "f64", "f64"));
  compareFast(product("7x16", "16x40", "contracting_dims = [1] x [0]", "7x40",
                      "f16", "f32"));
  BothTargets both(product("128x64", "64x128", "contracting_dims = [1] x [0]",
                           "128x128", "f32", "f32"),
                   Subnormals::flush, "sm_90");
  both.compare(3, "forward");
  EXPECT_EQ(both.counters.sharedBankConflicts, 0u);
}

TEST(PtxSchedules, Gathers) {
  compareFast(R"(
    func.func private @kernel(%t: tensor<11x24xf32>, %i: tensor<30x1xi32>) -> tensor<30x24xf32> {
      %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 24>}> : (tensor<11x24xf32>, tensor<30x1xi32>) -> tensor<30x24xf32>
      return %0 : tensor<30x24xf32>
    })",
              {{1, 11}});
}

/// Of rows that a warp holds no byte is read twice.
TEST(PtxSchedules, WarpsReadRowsOnce) {
  BothTargets both(softmax(64, 768, "bf16"), Subnormals::flush, "sm_90");
  both.compare(3, "forward");
  EXPECT_EQ(both.counters.globalBytes, 64u * 768 * 2 * 2);
  expectGoodAccesses(norm(64, 1280, "f32"));
}

TEST(PtxSchedules, AccessesAreWide) {
  for (const char *type : {"f32", "bf16"}) {
    SCOPED_TRACE(type);
    {
      SCOPED_TRACE("rows in registers");
      expectGoodAccesses(softmax(64, 768, type));
    }
    {
      SCOPED_TRACE("rows of blocks");
      expectGoodAccesses(softmax(2, 4096 * 3 + 1152, type));
    }
    {
      SCOPED_TRACE("columns");
      expectGoodAccesses(columnSums("4096x64", "0", "64", type));
    }
    {
      SCOPED_TRACE("transposes");
      expectGoodAccesses(transpose("128x192", "1, 0", "192x128", type));
    }
  }
}

} // namespace
