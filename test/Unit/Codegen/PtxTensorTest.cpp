//===- PtxTensorTest.cpp - Kernels on tensor cores ------------------------===//
//
// Dots of bf16 and f16 as PTX on the emulated GPU, whose tensor cores are exact
// to the bit, against the same dots in f64 on this processor. The bound on the
// difference is that of a tensor core's arithmetic
// (lib/EmulatedCuda/TensorCore.cpp), so a product too many or too few stands
// out.
//
//===----------------------------------------------------------------------===//

#include "AssemblerGate.h"
#include "AttentionCase.h"
#include "EmulatedKernel.h"

#include "tenon/Codegen/GPU/GpuSchedules.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace tenon;
using namespace tenon::codegen;

namespace {

std::string fill(std::string text,
                 const std::map<std::string, std::string> &values) {
  for (const auto &[key, value] : values)
    for (size_t at = 0; (at = text.find(key, at)) != std::string::npos;
         at += value.size())
      text.replace(at, key.size(), value);
  return text;
}

int64_t elementsOf(const std::string &shape) {
  int64_t elements = 1;
  for (size_t at = 0; at < shape.size();) {
    elements *= std::stoll(shape.substr(at));
    size_t next = shape.find('x', at);
    at = next == std::string::npos ? shape.size() : next + 1;
  }
  return elements;
}

/// A dot, or a convolution, whose `dims` are all that follows its operands; the
/// prologue is an operation on each element of the left operand, or empty.
struct Dot {
  std::string left, right, dims, result;
  int64_t terms;
  std::string type = "bf16", resultType = "f32", prologue = {};
  std::string gpu = "sm_90";
  bool isConvolution = false;

  /// In the types of the dot, or in f64 with or without signs.
  std::string text(bool isReference, bool isMagnitude = false) const {
    std::string text = R"(
    func.func private @kernel(%x: tensor<LEFTxTYPE>, %y: tensor<RIGHTxTYPE>) -> tensor<SHAPExRESULT> {
)";
    std::string x = "%x", y = "%y", in = type, out = resultType;
    if (!prologue.empty()) {
      text += "      %p = stablehlo." + prologue + " %x : tensor<LEFTxTYPE>\n";
      x = "%p";
    }
    if (isReference) {
      in = out = "f64";
      text += "      %a = stablehlo.convert " + x +
              " : (tensor<LEFTxTYPE>) -> tensor<LEFTxf64>\n"
              "      %b = stablehlo.convert %y : (tensor<RIGHTxTYPE>) -> "
              "tensor<RIGHTxf64>\n";
      x = "%a", y = "%b";
      if (isMagnitude) {
        text += "      %c = stablehlo.abs %a : tensor<LEFTxf64>\n"
                "      %d = stablehlo.abs %b : tensor<RIGHTxf64>\n";
        x = "%c", y = "%d";
      }
    }
    text += isConvolution
                ? "      %r = stablehlo.convolution(" + x + ", " + y + ") DIMS"
                : "      %r = stablehlo.dot_general " + x + ", " + y + ", DIMS";
    text += " : (tensor<LEFTxIN>, tensor<RIGHTxIN>) -> tensor<SHAPExRESULT>\n"
            "      return %r : tensor<SHAPExRESULT>\n    }";
    return fill(text, {{"LEFT", left},
                       {"RIGHT", right},
                       {"DIMS", dims},
                       {"SHAPE", result},
                       {"xRESULT", "x" + out},
                       {"xIN", "x" + in},
                       {"xTYPE", "x" + type}});
  }
};

mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text,
                                        mlir::MLIRContext &context) {
  context
      .loadDialect<mlir::func::FuncDialect, stablehlo::StableHLODialect,
                   chlo::CHLODialect, step::StepDialect, exec::ExecDialect>();
  prepareContext(context);
  return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
}

PtxModule ptxOf(const std::string &text, const std::string &gpu) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = parse(text, context);
  auto ptx = emitPtx({module->lookupSymbol<mlir::func::FuncOp>("kernel")},
                     {target::gpuArchitectureNamed(gpu), Subnormals::flush});
  if (failed(ptx)) {
    ADD_FAILURE() << "no PTX for " << text;
    return {};
  }
  return std::move(*ptx);
}

void put(char *place, double number, const std::string &type) {
  if (type == "f16") {
    auto value = static_cast<_Float16>(number);
    std::memcpy(place, &value, 2);
  } else {
    float value = float(number);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    uint16_t high = std::isnan(number) ? 0x7fc0 : uint16_t(bits >> 16);
    std::memcpy(place, &high, 2);
  }
}

double get(const char *place, const std::string &type) {
  if (type == "f32") {
    float value;
    std::memcpy(&value, place, 4);
    return value;
  }
  if (type == "f16") {
    _Float16 value;
    std::memcpy(&value, place, 2);
    return double(value);
  }
  uint16_t high;
  std::memcpy(&high, place, 2);
  uint32_t bits = uint32_t(high) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

enum class Numbers {
  ordinary,
  positive,   // rounding toward zero adds up
  cancelling, // large ones that sum to little
  spread,     // of very different magnitudes
  special,    // infinities and NaN in a few places
};

const std::vector<Numbers> allNumbers = {Numbers::ordinary, Numbers::positive,
                                         Numbers::cancelling, Numbers::spread,
                                         Numbers::special};

Bytes numbersFor(const std::string &shape, const std::string &type,
                 Numbers kind, uint32_t seed) {
  const int64_t count = elementsOf(shape);
  Bytes bytes(size_t(2 * count));
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 12345;
  auto next = [&] {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return uint32_t(state >> 32);
  };
  double last = 0;
  for (int64_t i = 0; i < count; ++i) {
    double number = std::ldexp(double(int32_t(next())), -30);
    switch (kind) {
    case Numbers::ordinary:
      break;
    case Numbers::positive:
      number = std::abs(number) + 1;
      break;
    case Numbers::cancelling:
      number = i % 2 ? -last * (1 + number / 256) : number * 64;
      last = number;
      break;
    case Numbers::spread:
      number = std::ldexp(number, int(next() % 24) - 12);
      break;
    case Numbers::special:
      if (uint32_t which = next() % 512; which < 3)
        number = which == 0 ? NAN : which == 1 ? INFINITY : -INFINITY;
      break;
    }
    put(bytes.data() + 2 * i, number, type);
  }
  return bytes;
}

std::vector<double> inDouble(const Dot &dot, bool isMagnitude, Bytes x,
                             Bytes y) {
  std::vector<double> result(size_t(elementsOf(dot.result)));
  Array<double> memory(result.size());
  EmittedKernel(dot.text(/*isReference=*/true, isMagnitude))
      .run({x.data(), y.data(), memory.data()});
  std::copy(memory.begin(), memory.end(), result.begin());
  return result;
}

/// The most that the sum of a tensor core's arithmetic and its rounding to the
/// result may differ from the exact one. Sums of `block` products and the sum
/// so far are cut off at `places` behind the largest of them, and so is the
/// result; there may be one block more of zeros.
double boundOf(const Dot &dot, const std::string &capability, double exact,
               double magnitude) {
  const bool isHopper = capability == "90";
  const int block = isHopper ? 16 : 8, places = isHopper ? 25 : 24;
  double blocks = std::ceil(double(dot.terms) / block);
  double bound = blocks *
                 ((block + 1) * std::ldexp(1., -places) + std::ldexp(1., -23)) *
                 magnitude;
  if (dot.resultType == "bf16")
    bound += std::ldexp(std::abs(exact) + bound, -8);
  if (dot.resultType == "f16")
    bound += std::ldexp(std::abs(exact) + bound, -11) + std::ldexp(1., -25);
  return bound;
}

/// Whether all elements are within the bound; says where not.
::testing::AssertionResult isWithinBound(const Dot &dot, const Bytes &x,
                                         const Bytes &y, const Bytes &result,
                                         const std::string &capability) {
  std::vector<double> exact = inDouble(dot, false, x, y),
                      magnitude = inDouble(dot, true, x, y);
  const size_t width = dot.resultType == "f32" ? 4 : 2;
  for (size_t i = 0; i < exact.size(); ++i) {
    double found = get(&result[i * width], dot.resultType);
    const double bound = boundOf(dot, capability, exact[i], magnitude[i]);
    // What rounds to more than an f16 holds.
    if (dot.resultType == "f16" && std::isinf(found) &&
        std::abs(exact[i]) + bound >= 65520)
      exact[i] = std::copysign(INFINITY, exact[i]);
    if (std::isnan(exact[i])   ? std::isnan(found)
        : std::isinf(exact[i]) ? found == exact[i]
                               : std::abs(found - exact[i]) <= bound)
      continue;
    return ::testing::AssertionFailure()
           << "element " << i << " is " << found << ", exactly " << exact[i]
           << ", the products' magnitudes add up to " << magnitude[i];
  }
  return ::testing::AssertionSuccess();
}

/// Runs it on numbers of every kind, in several orders of warps, with copies
/// that arrive late and at once; all of these give the same bits.
void checkDot(const Dot &dot, const std::string &capability = "90",
              const std::vector<Numbers> &kinds = allNumbers) {
  SCOPED_TRACE(dot.left + " " + dot.right + " " + dot.dims + " " + dot.type +
               " " + dot.resultType);
  PtxModule ptx = ptxOf(dot.text(/*isReference=*/false), dot.gpu);
  if (ptx.kernels.empty())
    return; // reported
  EXPECT_NE(ptx.text.find("mma.sync"), std::string::npos);
  for (Numbers kind : kinds) {
    SCOPED_TRACE(int(kind));
    std::vector<Bytes> values = {numbersFor(dot.left, dot.type, kind, 1),
                                 numbersFor(dot.right, dot.type, kind, 2),
                                 Bytes(size_t(elementsOf(dot.result)) *
                                       (dot.resultType == "f32" ? 4 : 2))};
    EmulatedSettings settings;
    settings.capability = capability.c_str();
    EmulatedRun run = runEmulated(ptx, values, 2, settings);
    ASSERT_EQ(run.error, "") << ptx.text;
    EXPECT_TRUE(
        isWithinBound(dot, values[0], values[1], run.values[2], capability));
    if (kind != Numbers::ordinary)
      continue;
    for (auto [order, copies] :
         {std::pair("reverse", "early"), std::pair("5", "late")}) {
      settings.order = order, settings.copies = copies;
      EmulatedRun other = runEmulated(ptx, values, 2, settings);
      EXPECT_EQ(other.error, "");
      EXPECT_EQ(other.values, run.values);
    }
  }
}

const char *plain = "contracting_dims = [1] x [0]",
           *bothAlong = "contracting_dims = [1] x [1]",
           *bothAcross = "contracting_dims = [0] x [0]",
           *crossed = "contracting_dims = [0] x [1]";

/// All layouts, with all tiles whole and with some that are cut short.
TEST(PtxTensor, Layouts) {
  for (auto [type, result] :
       {std::pair("bf16", "f32"), std::pair("f16", "f16")}) {
    for (auto [m, n, k] : {std::tuple(64, 32, 64), std::tuple(40, 72, 24),
                           std::tuple(13, 37, 29)}) {
      auto shape = [](int a, int b) {
        return std::to_string(a) + "x" + std::to_string(b);
      };
      std::string out = shape(m, n);
      checkDot({shape(m, k), shape(k, n), plain, out, k, type, result});
      checkDot({shape(m, k), shape(n, k), bothAlong, out, k, type, result});
      checkDot({shape(k, m), shape(k, n), bothAcross, out, k, type, result});
      checkDot({shape(k, m), shape(n, k), crossed, out, k, type, result});
    }
  }
}

TEST(PtxTensor, BatchesAndSeveralSums) {
  checkDot({"3x34x48", "3x40x48",
            "batching_dims = [0] x [0], contracting_dims = [2] x [2]",
            "3x34x40", 48, "bf16", "bf16"});
  // Heads behind positions.
  checkDot({"2x20x3x16", "2x24x3x16",
            "batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]",
            "2x3x20x24", 16});
  checkDot({"5x3x4x20", "3x20x9", "contracting_dims = [1, 3] x [0, 1]", "5x4x9",
            60});
  checkDot({"8x3x20", "6x3x2x20", "contracting_dims = [1, 2] x [1, 3]", "8x6x2",
            60, "f16", "f32"});
  // Each operand has another summed dimension last.
  checkDot({"9x12x16", "16x10x12", "contracting_dims = [1, 2] x [2, 0]", "9x10",
            192});
  checkDot({"16x1x32", "32x1x16x1", "contracting_dims = [2] x [0]",
            "16x1x1x16x1", 32});
  // A batch dimension is the last one.
  checkDot({"16x24x4", "24x16x4",
            "batching_dims = [2] x [2], contracting_dims = [1] x [0]",
            "4x16x16", 24});
}

/// What follows the operands of a convolution.
std::string windowed(const std::string &numbers, const std::string &window,
                     int featureGroups = 1, int batchGroups = 1) {
  return "dim_numbers = " + numbers + ", window = {" + window +
         "} {batch_group_count = " + std::to_string(batchGroups) +
         " : i64, feature_group_count = " + std::to_string(featureGroups) +
         " : i64}";
}

Dot convolutionOf(std::string input, std::string kernel, std::string result,
                  const std::string &dims, int64_t terms,
                  std::string prologue = {}) {
  Dot dot{std::move(input), std::move(kernel), dims, std::move(result), terms};
  dot.prologue = std::move(prologue);
  dot.isConvolution = true;
  return dot;
}

const std::string forward = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                  toInput = "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]",
                  toWeights = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
                  channelsFirst = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]";

/// Whole tiles and such that are cut short, channels that are whole vectors or
/// not, padding, strides and dilation, gradients and groups.
TEST(PtxTensor, Convolutions) {
  const std::string same = "pad = [[1, 1], [1, 1]]";
  for (const char *prologue : {"", "negate"}) {
    checkDot(convolutionOf("2x8x8x16", "3x3x16x32", "2x8x8x32",
                           windowed(forward, same), 144, prologue));
    checkDot(convolutionOf("2x7x6x12", "3x3x12x20", "2x7x6x20",
                           windowed(forward, same), 108, prologue));
  }
  checkDot(convolutionOf("2x9x9x3", "3x3x3x16", "2x4x4x16",
                         windowed(forward, "stride = [2, 2]"), 27));
  // The gradients of a convolution with a stride: holes in what is read.
  checkDot(convolutionOf(
      "2x4x4x16", "3x3x8x16", "2x8x8x8",
      windowed(toInput, "pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2], "
                        "reverse = [true, true]"),
      144));
  checkDot(convolutionOf(
      "4x8x8x16", "4x4x4x24", "3x3x16x24",
      windowed(toWeights, "pad = [[1, 0], [1, 0]], rhs_dilate = [2, 2]"), 64));
  checkDot(convolutionOf("4x8x8x10", "4x8x8x12", "3x3x10x12",
                         windowed(toWeights, same), 256));
  checkDot(convolutionOf("2x8x8x32", "3x3x16x48", "2x8x8x48",
                         windowed(forward, same, 2), 144));
  checkDot(convolutionOf("4x8x8x16", "3x3x16x32", "2x8x8x32",
                         windowed(forward, same, 1, 2), 144));
  checkDot(convolutionOf("2x16x8x8", "32x16x3x3", "2x32x8x8",
                         windowed(channelsFirst, same), 144));
}

TEST(PtxTensor, Prologues) {
  for (const char *dims : {plain, bothAlong}) {
    const bool isPlain = dims == plain;
    checkDot({"40x64", isPlain ? "64x48" : "48x64", dims, "40x48", 64, "bf16",
              "bf16", "negate"});
    checkDot({"13x29", isPlain ? "29x37" : "37x29", dims, "13x37", 29, "bf16",
              "f32", "negate"});
  }
}

TEST(PtxTensor, OlderGenerations) {
  Dot dot{"48x80", "80x40", plain, "48x40", 80};
  dot.gpu = "sm_80";
  checkDot(dot, "80");
  checkDot(dot, "90"); // compiled by a later GPU's driver
}

/// Tiles of all sizes: by the number of them that the result makes.
TEST(PtxTensor, LargeTiles) {
  checkDot({"16x128x64", "16x64x200",
            "batching_dims = [0] x [0], contracting_dims = [2] x [1]",
            "16x128x200", 64, "bf16", "bf16"},
           "90", {Numbers::ordinary});
  checkDot({"32x256x40", "32x200x40",
            "batching_dims = [0] x [0], contracting_dims = [2] x [2]",
            "32x256x200", 40},
           "90", {Numbers::spread});
}

/// Few results with long sums: blocks add up parts of them, of tiles that are
/// whole or not, and a second launch adds up the parts.
TEST(PtxTensor, LongSums) {
  const std::vector<Dot> dots = {
      {"64x4096", "4096x96", plain, "64x96", 4096, "bf16", "bf16"},
      {"2x2100x40", "2x2100x33",
       "batching_dims = [0] x [0], contracting_dims = [1] x [1]", "2x40x33",
       2100, "f16", "f32"},
      // A convolution's gradient of its weights.
      convolutionOf("8x16x16x5", "8x16x16x12", "3x3x5x12",
                    windowed(toWeights, "pad = [[1, 1], [1, 1]]"), 2048)};
  for (const Dot &dot : dots) {
    EXPECT_EQ(ptxOf(dot.text(/*isReference=*/false), dot.gpu).kernels.size(),
              2u);
    checkDot(dot, "90", {Numbers::ordinary, Numbers::cancelling});
  }
  Dot older = dots.front();
  older.gpu = "sm_80";
  checkDot(older, "80", {Numbers::positive});
}

/// Bytes move by wide accesses and no two lanes meet in a bank.
TEST(PtxTensor, Accesses) {
  for (const char *result : {"f32", "f16"})
    for (const Dot &dot :
         {Dot{"128x256", "256x96", plain, "128x96", 256},
          Dot{"128x256", "96x256", bothAlong, "128x96", 256},
          Dot{"256x128", "256x96", bothAcross, "128x96", 256},
          Dot{"256x128", "96x256", crossed, "128x96", 256},
          Dot{"32x128x64", "32x64x128",
              "batching_dims = [0] x [0], contracting_dims = [2] x [1]",
              "32x128x128", 64},
          Dot{"32x256x64", "32x256x64",
              "batching_dims = [0] x [0], contracting_dims = [2] x [2]",
              "32x256x256", 64},
          Dot{"40x64", "64x48", plain, "40x48", 64, "bf16", "f32", "negate"},
          convolutionOf("2x8x8x16", "3x3x16x32", "2x8x8x32",
                        windowed(forward, "pad = [[1, 1], [1, 1]]"), 144),
          convolutionOf("4x8x8x16", "4x8x8x32", "3x3x16x32",
                        windowed(toWeights, "pad = [[1, 1], [1, 1]]"), 256)}) {
      Dot wanted = dot;
      wanted.resultType = result;
      wanted.type = std::string(result) == "f16" ? "f16" : "bf16";
      SCOPED_TRACE(dot.left + " " + dot.right + " " + dot.dims + " " + result);
      PtxModule ptx = ptxOf(wanted.text(false), "sm_90");
      std::vector<Bytes> values = {
          numbersFor(dot.left, wanted.type, Numbers::ordinary, 1),
          numbersFor(dot.right, wanted.type, Numbers::ordinary, 2),
          Bytes(size_t(elementsOf(dot.result)) *
                (wanted.resultType == "f32" ? 4 : 2))};
      EmulatedRun run = runEmulated(ptx, values, 2);
      EXPECT_EQ(run.error, "");
      EXPECT_EQ(run.counters.sharedBankConflicts, 0u);
      EXPECT_GE(double(run.counters.globalWideBytes),
                0.9 * double(run.counters.globalBytes));
      EXPECT_GT(run.counters.tensorInstructions, 0u);
    }
}

/// Small dots, and dots of other types, stay with fused multiply-adds.
TEST(PtxTensor, LeavesOthers) {
  for (const Dot &dot :
       {Dot{"4x64", "64x32", plain, "4x32", 64},
        convolutionOf("2x4x4x8", "3x3x1x8", "2x4x4x8",
                      windowed(forward, "pad = [[1, 1], [1, 1]]", 8), 9),
        Dot{"64x64", "64x32", plain, "64x32", 64, "f32", "f32"}}) {
    PtxModule ptx = ptxOf(dot.text(false), "sm_90");
    EXPECT_EQ(ptx.text.find("mma.sync"), std::string::npos);
    EXPECT_FALSE(ptx.kernels.front().isInParts);
  }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Attention with what stands beside the scores; shapes as dimensions.
struct Attention {
  std::string query, key, value, output, statistics;
  std::string dims;       // of query, key, value
  std::string beside;     // bias, mask and factor, in this order
  std::string besideType; // ", " and the shapes of those with their types
  std::string attributes; // in front of the scale
  std::string type = "bf16", resultType = "f32";

  std::string text() const {
    std::string arguments, types;
    int number = 0;
    for (size_t at = 0;
         (at = besideType.find("tensor", at)) != std::string::npos; ++at) {
      size_t end = besideType.find('>', at) + 1;
      arguments += ", %b" + std::to_string(number++) + ": " +
                   besideType.substr(at, end - at);
    }
    return fill(
        R"(
    func.func private @kernel(%q: tensor<QUERYxTYPE>, %k: tensor<KEYxTYPE>, %v: tensor<VALUExTYPE>ARGUMENTS) -> (tensor<OUTPUTxRESULT>, tensor<STATISTICSxf32>, tensor<STATISTICSxf32>) {
      %o, %m, %s = step.attention DIMS {ATTRIBUTESscale = 0.25 : f32}
        : (tensor<QUERYxTYPE>, tensor<KEYxTYPE>, tensor<VALUExTYPE>BESIDES) -> (tensor<OUTPUTxRESULT>, tensor<STATISTICSxf32>, tensor<STATISTICSxf32>)
      return %o, %m, %s : tensor<OUTPUTxRESULT>, tensor<STATISTICSxf32>, tensor<STATISTICSxf32>
    })",
        {{"ARGUMENTS", arguments},
         {"BESIDES", besideType},
         {"DIMS", dims},
         {"ATTRIBUTES", attributes},
         {"QUERY", query},
         {"KEY", key},
         {"VALUE", value},
         {"OUTPUT", output},
         {"STATISTICS", statistics},
         {"RESULT", resultType},
         {"xTYPE", "x" + type}});
  }
};

/// Against the processor's, whose weights are f32: those of tensor cores are
/// rounded to 16 bits, each by at most half a unit in the last place.
TenonEmulatedCounters checkAttention(const Attention &attention,
                                     const std::vector<Bytes> &beside = {}) {
  SCOPED_TRACE(attention.text());
  PtxModule ptx = ptxOf(attention.text(), "sm_90");
  EmulatedRun run;
  if (ptx.kernels.empty())
    return {}; // reported
  EXPECT_NE(ptx.text.find("mma.sync"), std::string::npos);
  const size_t statistics = size_t(elementsOf(attention.statistics)),
               outputs = size_t(elementsOf(attention.output)),
               width = attention.resultType == "f32" ? 4 : 2;
  std::vector<Bytes> values = {
      numbersFor(attention.query, attention.type, Numbers::ordinary, 1),
      numbersFor(attention.key, attention.type, Numbers::ordinary, 2),
      numbersFor(attention.value, attention.type, Numbers::ordinary, 3)};
  values.insert(values.end(), beside.begin(), beside.end());
  const size_t operands = values.size();
  for (size_t bytes : {outputs * width, statistics * 4, statistics * 4})
    values.emplace_back(bytes);
  run = runEmulated(ptx, values, operands);
  EXPECT_EQ(run.error, "") << ptx.text;
  if (run.values.empty())
    return {};
  EmulatedSettings settings;
  settings.order = "reverse", settings.copies = "early";
  EXPECT_EQ(runEmulated(ptx, values, operands, settings).values, run.values);

  Attention wide = attention;
  wide.resultType = "f32";
  EmittedKernel kernel(wide.text());
  auto onCpu = [&](std::vector<Bytes> memory) {
    memory[operands] = Bytes(outputs * 4);
    std::vector<void *> pointers;
    for (Bytes &bytes : memory)
      pointers.push_back(bytes.data());
    kernel.run(pointers);
    return memory;
  };
  std::vector<Bytes> exact = onCpu(values), magnitudes = values;
  for (size_t i = 1; i < magnitudes[2].size(); i += 2)
    magnitudes[2][i] &= 0x7f;
  magnitudes = onCpu(magnitudes);
  const double unit = attention.type == "bf16" ? 0x1p-8 : 0x1p-11;
  for (size_t i = 0; i < outputs; ++i) {
    double found = get(&run.values[operands][i * width], attention.resultType),
           expected = get(&exact[operands][4 * i], "f32"),
           magnitude = get(&magnitudes[operands][4 * i], "f32");
    double bound = (unit + 0x1p-18) * std::abs(magnitude) + 0x1p-20;
    if (width == 2)
      bound += (attention.resultType == "bf16" ? 0x1p-8 : 0x1p-11) *
               std::abs(expected);
    if (!(std::abs(found - expected) <= bound)) {
      ADD_FAILURE() << "element " << i << " is " << found << ", expected "
                    << expected << " within " << bound;
      return run.counters;
    }
  }
  for (size_t i = 0; i < 2 * statistics; ++i) {
    const size_t which = operands + 1 + i / statistics,
                 at = 4 * (i % statistics);
    double found = get(&run.values[which][at], "f32"),
           expected = get(&exact[which][at], "f32");
    if (!(std::abs(found - expected) <=
          0x1p-16 * std::abs(expected) + 0x1p-18)) {
      ADD_FAILURE() << "statistic " << i << " is " << found << ", expected "
                    << expected;
      return run.counters;
    }
  }
  return run.counters;
}

Bytes masks(size_t count) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = i % 3 != 0;
  return bytes;
}

Bytes floats(size_t count, float low, uint32_t seed) {
  Array<float> numbers = someNumbers(count, low, 2, seed);
  Bytes bytes(4 * count);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

const char *heads = "%q[0, q, 1, d], %k[0, k, 1, d], %v[0, k, 1, v]";

/// Tiles that are whole and cut short, keys that are left out, features that
/// fill no power of two.
TEST(PtxTensor, Attention) {
  for (const char *causal : {"", "causal, "}) {
    std::string out = " -> [0, q, 1, v]";
    checkAttention({"2x64x2x16", "2x64x2x16", "2x64x2x16", "2x64x2x16",
                    "2x2x64", heads + out, "", "", causal});
    checkAttention({"1x70x2x24", "1x45x2x24", "1x45x2x40", "1x70x2x40",
                    "1x2x70", heads + out, "", "", causal, "bf16", "bf16"});
    checkAttention({"1x9x1x64", "1x130x1x64", "1x130x1x64", "1x9x1x64", "1x1x9",
                    heads + out, "", "", causal, "f16", "f16"});
  }
  // So many blocks that a warp has two strips of rows.
  for (const char *causal : {"", "causal, "})
    checkAttention({"64x70x4x16", "64x75x4x16", "64x75x4x16", "64x70x4x16",
                    "64x4x70", std::string(heads) + " -> [0, q, 1, v]", "", "",
                    causal, "bf16", "bf16"});
  // Features that are not last, and queries that share keys.
  checkAttention({"2x3x16x33", "2x16x40", "2x40x16", "2x3x33x16", "2x3x33",
                  "%q[0, 1, d, q], %k[0, d, k], %v[0, k, v] -> [0, 1, q, v]",
                  "", "", ""});
}

TEST(PtxTensor, AttentionBesides) {
  checkAttention(
      {"2x33x1x16", "2x37x1x16", "2x37x1x16", "2x33x1x16", "2x1x33",
       std::string(heads) + " bias %b0[1, k] mask %b1[0, q, k] -> [0, q, 1, v]",
       "", ", tensor<1x37xf32>, tensor<2x33x37xi1>", "fill = -1.0e30 : f32, "},
      {floats(37, -2, 4), masks(2 * 33 * 37)});
  checkAttention({"1x33x2x16", "1x37x2x16", "1x37x2x16", "1x33x2x16", "1x2x33",
                  std::string(heads) + " factor %b0[1, q, k] -> [0, q, 1, v]",
                  "", ", tensor<2x33x37xf32>", "causal, "},
                 {floats(2 * 33 * 37, 0, 5)});
}

/// Queries, keys and values side by side in one argument are copied as if each
/// were one of its own.
TEST(PtxTensor, AttentionOfSlices) {
  const std::string attention =
      std::string(" = step.attention ") + heads +
      " -> [0, q, 1, v] {causal, scale = 0.25 : f32} : (tensor<2x70x2x16xf32>, "
      "tensor<2x70x2x16xf32>, tensor<2x70x2x16xf32>) -> "
      "(tensor<2x70x2x16xf32>, tensor<2x2x70xf32>, tensor<2x2x70xf32>)\n"
      "return %o : tensor<2x70x2x16xf32> }";
  std::string slices;
  for (int i = 0; i < 3; ++i)
    slices += fill(
        R"(
      %cX = stablehlo.slice %x [0:2, 0:70, LOW:HIGH] : (tensor<2x70x96xbf16>) -> tensor<2x70x32xbf16>
      %rX = stablehlo.reshape %cX : (tensor<2x70x32xbf16>) -> tensor<2x70x2x16xbf16>
      %OPERAND = stablehlo.convert %rX : (tensor<2x70x2x16xbf16>) -> tensor<2x70x2x16xf32>)",
        {{"OPERAND", std::string(1, "qkv"[i])},
         {"X", std::to_string(i)},
         {"LOW", std::to_string(32 * i)},
         {"HIGH", std::to_string(32 * i + 32)}});
  PtxModule ptx =
      ptxOf("func.func private @kernel(%x: tensor<2x70x96xbf16>) -> "
            "tensor<2x70x2x16xf32> {" +
                slices + "\n%o, %m, %s" + attention,
            "sm_90");
  EXPECT_NE(ptx.text.find("cp.async.cg.shared.global"), std::string::npos);
  EXPECT_EQ(ptx.text.find("ld.global"), std::string::npos);
  Bytes all = numbersFor("2x70x96", "bf16", Numbers::ordinary, 1);
  std::vector<Bytes> values;
  for (size_t i = 0; i < 3; ++i) {
    values.emplace_back(2 * 70 * 32 * 2);
    for (size_t row = 0; row < 2 * 70; ++row)
      std::memcpy(&values[i][row * 64], &all[row * 192 + i * 64], 64);
  }
  EmulatedRun run = runEmulated(ptx, {all, Bytes(2 * 70 * 32 * 4)}, 1);
  EXPECT_EQ(run.error, "");
  PtxModule apart = ptxOf(
      Attention{"2x70x2x16", "2x70x2x16", "2x70x2x16", "2x70x2x16", "2x2x70",
                std::string(heads) + " -> [0, q, 1, v]", "", "", "causal, "}
          .text(),
      "sm_90");
  for (size_t bytes : {2 * 70 * 32 * 4, 2 * 2 * 70 * 4, 2 * 2 * 70 * 4})
    values.emplace_back(bytes);
  EmulatedRun expected = runEmulated(apart, values, 3);
  EXPECT_EQ(expected.error, "");
  ASSERT_FALSE(run.values.empty() || expected.values.empty());
  EXPECT_EQ(run.values[1], expected.values[3]);
}

TEST(PtxTensor, AttentionAccesses) {
  for (const char *type : {"bf16", "f16"}) {
    TenonEmulatedCounters counters = checkAttention(
        {"1x128x2x64", "1x128x2x64", "1x128x2x64", "1x128x2x64", "1x2x128",
         std::string(heads) + " -> [0, q, 1, v]", "", "", "", type, type});
    EXPECT_EQ(counters.sharedBankConflicts, 0u);
    EXPECT_GE(double(counters.globalWideBytes),
              0.9 * double(counters.globalBytes));
    EXPECT_GT(counters.tensorInstructions, 0u);
  }
}

//===----------------------------------------------------------------------===//
// The gradient of attention
//===----------------------------------------------------------------------===//

/// The exact gradients and the most that each may be off: products by the
/// arithmetic of tensor cores (gradients of weights, scores), weights and
/// slopes by half a unit in the last place of 16 bits, and all else by f32.
struct ExactGradients {
  std::vector<double> values[3], bounds[3];
};

/// Fills in maximum and sum, which the operation is given.
ExactGradients exactGradients(const AttentionCase &g,
                              std::vector<Bytes> &memory) {
  const auto operands = g.operands();
  std::vector<std::vector<double>> x;
  for (size_t i = 0; i < operands.size(); ++i) {
    x.emplace_back();
    for (size_t j = 0; j < operands[i].first.count(); ++j)
      x[i].push_back(
          operands[i].second == "i1"
              ? double(memory[i][j])
              : get(&memory[i][j * (operands[i].second == "f32" ? 4 : 2)],
                    operands[i].second));
  }
  size_t next = 3;
  const size_t bias = g.bias.empty() ? 0 : next++,
               mask = g.mask.empty() ? 0 : next++,
               factor = g.factor.empty() ? 0 : next++, maximum = next++,
               sum = next++, output = next;
  std::map<char, int64_t> at;
  auto element = [&](size_t operand) {
    return x[operand][operands[operand].first.at(at)];
  };
  auto extent = [&](char name) { return g.extents.at(name); };
  const double size = std::abs(g.scale);
  auto coreError = [](int64_t terms) {
    return (std::ceil(double(terms) / 16) + 1) * (17 * 0x1p-25 + 0x1p-23);
  };
  const double unit = g.type == "bf16" ? 0x1p-8 : 0x1p-11,
               tiny = g.type == "bf16" ? 0 : 0x1p-25;

  ExactGradients result;
  std::vector<double> magnitudes[3];
  for (int r = 0; r < 3; ++r) {
    result.values[r].assign(operands[size_t(r)].first.count(), 0);
    result.bounds[r] = magnitudes[r] = result.values[r];
  }
  auto add = [&](int r, double coefficient, double error, double number) {
    size_t place = operands[size_t(r)].first.at(at);
    result.values[r][place] += coefficient * number;
    magnitudes[r][place] += std::abs(coefficient * number);
    result.bounds[r][place] +=
        (error + unit * (std::abs(coefficient) + error) + tiny) *
        std::abs(number);
  };
  struct Pair {
    double weight, relative, factor, gradient, gradientError;
    bool isKept;
  };
  for (at['0'] = 0; at['0'] < extent('0'); ++at['0'])
    for (at['1'] = 0; at['1'] < extent('1'); ++at['1'])
      for (at['q'] = 0; at['q'] < extent('q'); ++at['q']) {
        int64_t keys = extent('k');
        if (g.causal)
          keys = std::min(keys, at['q'] + 1);
        std::vector<double> scores, errors;
        double most = -INFINITY;
        for (at['k'] = 0; at['k'] < keys; ++at['k']) {
          double score = 0, magnitude = 0;
          for (at['d'] = 0; at['d'] < extent('d'); ++at['d']) {
            score += element(0) * element(1);
            magnitude += std::abs(element(0) * element(1));
          }
          score *= g.scale;
          double error = size * magnitude * coreError(extent('d'));
          if (bias)
            score += element(bias);
          error += 0x1p-22 * (size * magnitude + std::abs(score));
          if (mask && element(mask) == 0)
            score = g.fill, error = 0;
          scores.push_back(score), errors.push_back(error);
          most = std::max(most, score);
        }
        auto put = [&](size_t operand, double number) {
          float value = float(number);
          std::memcpy(&memory[operand][4 * operands[operand].first.at(at)],
                      &value, 4);
          return double(value);
        };
        most = put(maximum, most);
        double total = 0;
        for (double score : scores)
          total += std::exp(score - most);
        total = put(sum, total);

        std::vector<Pair> pairs;
        double mean = 0, meanError = 0, meanMagnitude = 0;
        for (at['k'] = 0; at['k'] < keys; ++at['k']) {
          const size_t j = size_t(at['k']);
          Pair p;
          p.weight = std::exp(scores[j] - most) / total;
          // The exponential's is 2^-18, and those of its argument's rounding.
          const double exponential = 0x1p-16;
          p.relative =
              errors[j] + 0x1p-22 * std::abs(scores[j] - most) + exponential;
          p.isKept = !mask || element(mask) != 0;
          if (!p.isKept)
            p.relative = exponential;
          p.factor = factor ? element(factor) : 1;
          double product = 0, magnitude = 0;
          for (at['v'] = 0; at['v'] < extent('v'); ++at['v']) {
            product += element(output) * element(2);
            magnitude += std::abs(element(output) * element(2));
          }
          p.gradient = p.factor * product;
          p.gradientError = std::abs(p.factor) * magnitude *
                            (coreError(extent('v')) + 0x1p-22);
          if (!g.rounding.empty())
            p.gradientError += unit * std::abs(p.gradient);
          mean += p.weight * p.gradient;
          meanMagnitude += p.weight * std::abs(p.gradient);
          meanError += p.weight * (p.relative * std::abs(p.gradient) +
                                   2 * p.gradientError);
          pairs.push_back(p);
        }
        // Until the last key slopes are above a mean of keys with at least
        // half of the weights so far, and then moved: the most that such a mean
        // still changes by.
        std::vector<double> sums, changes;
        double weights = 0, gradients = 0;
        for (const Pair &p : pairs) {
          weights += p.weight, gradients += p.weight * p.gradient;
          sums.push_back(weights);
          changes.push_back(
              std::abs(mean - gradients / std::max(weights, 0x1p-60)));
        }
        for (size_t j = changes.size(); j-- > 1;)
          changes[j - 1] = std::max(changes[j - 1], changes[j]);
        std::vector<double> moved;
        for (size_t j = 0, first = 0; j < pairs.size(); ++j) {
          while (sums[first] * (2 + 0x1p-10) < sums[j])
            ++first;
          moved.push_back(changes[first]);
        }
        meanError += double(keys) * 0x1p-24 * meanMagnitude;
        for (at['k'] = 0; at['k'] < keys; ++at['k']) {
          const Pair &p = pairs[size_t(at['k'])];
          const double centered = p.gradient - mean;
          const double slope = p.isKept ? g.scale * p.weight * centered : 0;
          const double error =
              p.isKept ? size * p.weight *
                             (p.relative * std::abs(centered) +
                              (1 + p.relative) * (p.gradientError + meanError) +
                              0x1p-22 * (std::abs(p.gradient) + std::abs(mean)))
                       : 0;
          const double change = p.isKept ? size * moved[size_t(at['k'])] : 0;
          for (at['d'] = 0; at['d'] < extent('d'); ++at['d']) {
            add(0, slope, error, element(1));
            add(1, slope, error, element(0));
            // Slopes and weights are rounded before they are moved.
            const double number = change * std::abs(element(1));
            const size_t place = operands[0].first.at(at);
            result.bounds[0][place] += (2 * unit * p.weight + tiny) * number;
            magnitudes[0][place] += p.weight * number;
          }
          const double coefficient = p.weight * p.factor;
          for (at['v'] = 0; at['v'] < extent('v'); ++at['v'])
            add(2, coefficient, std::abs(coefficient) * (p.relative + 0x1p-23),
                element(output));
        }
      }
  const int64_t queries = extent('q') * extent('0') * extent('1');
  const double last = g.resultType == "f32"    ? 0
                      : g.resultType == "bf16" ? 0x1p-8
                                               : 0x1p-11;
  for (int r = 0; r < 3; ++r)
    for (size_t i = 0; i < result.values[r].size(); ++i) {
      double &bound = result.bounds[r][i];
      bound += magnitudes[r][i] * coreError(r == 0 ? extent('k') : queries);
      bound += last * (std::abs(result.values[r][i]) + bound) + 0x1p-25;
    }
  return result;
}

std::vector<Bytes> gradientOperands(const AttentionCase &g) {
  std::vector<Bytes> memory;
  for (const auto &[tensor, type] : g.operands()) {
    const auto seed = uint32_t(memory.size() + 1);
    if (type == "i1") {
      memory.emplace_back(tensor.count());
      for (size_t i = 0; i < tensor.count(); ++i)
        memory.back()[i] = i % 3 != 0;
    } else if (type == "f32") {
      Array<float> numbers = someNumbers(tensor.count(), -1, 2, seed);
      memory.emplace_back(4 * tensor.count());
      std::memcpy(memory.back().data(), numbers.data(), memory.back().size());
    } else {
      memory.push_back(
          numbersFor(tensor.shape(), type, Numbers::ordinary, seed));
    }
  }
  return memory;
}

::testing::AssertionResult isWithinBounds(const AttentionCase &g,
                                          const ExactGradients &exact,
                                          const EmulatedRun &run) {
  const size_t operands = g.operands().size(),
               width = g.resultType == "f32" ? 4 : 2;
  for (size_t r = 0; r < 3; ++r)
    for (size_t i = 0; i < exact.values[r].size(); ++i) {
      double found = get(&run.values[operands + r][i * width], g.resultType);
      if (!(std::abs(found - exact.values[r][i]) <= exact.bounds[r][i]))
        return ::testing::AssertionFailure()
               << "element " << i << " of gradient " << r << " is " << found
               << ", exactly " << exact.values[r][i] << ", within "
               << exact.bounds[r][i];
    }
  return ::testing::AssertionSuccess();
}

TenonEmulatedCounters checkGradient(const AttentionCase &g,
                                    const char *gpu = "sm_90") {
  SCOPED_TRACE(g.gradientText());
  PtxModule ptx = ptxOf(g.gradientText(), gpu);
  if (ptx.kernels.empty())
    return {}; // reported
  EXPECT_EQ(ptx.kernels.front().schedule, "tensor-attention-gradient");
  std::vector<Bytes> memory = gradientOperands(g);
  const size_t operands = memory.size();
  ExactGradients exact = exactGradients(g, memory);
  for (size_t r = 0; r < 3; ++r)
    memory.emplace_back(exact.values[r].size() *
                        (g.resultType == "f32" ? 4 : 2));
  // Others copy in smaller pieces, for which more registers are spilled.
  if (g.extents.at('d') % 8 == 0)
    assembleLater(g.gradientText());
  EmulatedRun run = runEmulated(ptx, memory, operands);
  EXPECT_EQ(run.error, "");
  if (run.values.empty())
    return {};
  EXPECT_TRUE(isWithinBounds(g, exact, run));
  EmulatedSettings settings;
  settings.order = "reverse", settings.copies = "early";
  EXPECT_EQ(runEmulated(ptx, memory, operands, settings).values, run.values);
  return run.counters;
}

/// Tiles that are whole and cut short, keys that are left out, features that
/// fill no power of two.
TEST(PtxTensor, AttentionGradient) {
  for (bool causal : {false, true}) {
    AttentionCase g;
    g.causal = causal;
    g.extents = extentsOf(2, 2, 64, 64, 16, 16);
    checkGradient(g);
    g.extents = extentsOf(1, 2, 70, 45, 24, 40);
    g.resultType = "bf16";
    checkGradient(g);
    g.extents = extentsOf(1, 1, 33, 130, 64, 64);
    g.type = g.resultType = "f16";
    checkGradient(g);
  }
  // Features that are not last.
  AttentionCase g;
  g.extents = extentsOf(2, 3, 33, 40, 16, 24);
  g.query = "0, 1, d, q", g.key = "0, 1, d, k", g.value = "0, 1, k, v",
  g.output = "0, 1, q, v";
  checkGradient(g);
}

/// With rows in shared memory, and fewer of them in a block.
TEST(PtxTensor, AttentionGradientOfManyFeatures) {
  AttentionCase g;
  g.causal = true;
  g.resultType = "bf16";
  for (auto [features, valueFeatures] :
       {std::pair(128, 64), std::pair(100, 128)}) {
    g.extents = extentsOf(1, 1, 72, 72, features, valueFeatures);
    checkGradient(g);
  }
}

/// Scores whose scaled products are rounded, and such without a scale.
TEST(PtxTensor, AttentionGradientScales) {
  AttentionCase g;
  g.extents = extentsOf(1, 1, 64, 96, 32, 32);
  for (double scale : {0.3, 1., -0.5}) {
    g.scale = scale;
    checkGradient(g);
  }
}

/// Gradients of keys that queries share are sums over those.
TEST(PtxTensor, AttentionGradientOfSharedKeys) {
  AttentionCase g;
  g.extents = extentsOf(2, 3, 40, 24, 16, 16);
  g.key = "0, k, d", g.value = "0, v, k", g.causal = true;
  checkGradient(g);
}

TEST(PtxTensor, AttentionGradientBesides) {
  AttentionCase g;
  g.extents = extentsOf(2, 1, 33, 37, 16, 16);
  g.bias = "1, k", g.mask = "0, q, k";
  checkGradient(g);
  g.bias = g.mask = "";
  g.factor = "1, q, k", g.causal = true;
  g.rounding = "rounds_weights, rounds_weight_gradients, rounds_slopes, ";
  checkGradient(g, "sm_80");
}

TEST(PtxTensor, AttentionGradientAccesses) {
  for (int64_t features : {32, 64, 128}) {
    AttentionCase g;
    g.extents = extentsOf(1, 1, 128, 96, features, features);
    g.resultType = "bf16";
    TenonEmulatedCounters counters = checkGradient(g);
    EXPECT_EQ(counters.sharedBankConflicts, 0u) << features;
    EXPECT_GE(double(counters.globalWideBytes),
              0.9 * double(counters.globalBytes))
        << features;
    EXPECT_GT(counters.tensorInstructions, 0u);
  }
}

//===----------------------------------------------------------------------===//
// Faults put into the code
//===----------------------------------------------------------------------===//

/// `text` without the lines that begin with `instruction`, all of them or the
/// one of that number.
std::string without(const std::string &text, const std::string &instruction,
                    int which = -1) {
  std::string result;
  int seen = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at) + 1;
    std::string line = text.substr(at, end - at);
    size_t begin = line.find_first_not_of(" \t");
    bool isIt = begin != std::string::npos &&
                line.compare(begin, instruction.size(), instruction) == 0;
    if (!isIt || (which >= 0 && seen++ != which))
      result += line;
    at = end;
  }
  return result;
}

/// The first two registers of list number `list` of every such instruction
/// change places.
std::string swapped(std::string text, const std::string &instruction,
                    int list) {
  for (size_t at = 0; (at = text.find(instruction, at)) != std::string::npos;
       ++at) {
    size_t open = at;
    for (int i = 0; i <= list; ++i)
      open = text.find('{', open) + 1;
    size_t comma = text.find(',', open),
           end = text.find_first_of(",}", comma + 1);
    std::string first = text.substr(open, comma - open),
                second = text.substr(comma + 2, end - comma - 2);
    text.replace(open, end - open, second + ", " + first);
  }
  return text;
}

class PtxTensorMutants : public ::testing::Test {
protected:
  PtxTensorMutants() : ptx(ptxOf(dot.text(false), "sm_90")) {}

  EmulatedRun run(const std::string &text, const char *copies = "late") {
    EXPECT_NE(text, ptx.text) << "nothing was changed";
    PtxModule mutant = ptx;
    mutant.text = text;
    EmulatedSettings settings;
    settings.copies = copies;
    return runEmulated(mutant, values, 2, settings);
  }

  // The last tile of the operands lies where the results go.
  Dot dot{"64x288", "288x64", plain, "64x64", 288};
  PtxModule ptx;
  std::vector<Bytes> values = {
      numbersFor(dot.left, dot.type, Numbers::ordinary, 1),
      numbersFor(dot.right, dot.type, Numbers::ordinary, 2),
      Bytes(64 * 64 * 4)};
};

TEST_F(PtxTensorMutants, WithoutAWaitForCopies) {
  EXPECT_NE(run(without(ptx.text, "cp.async.wait_group", 0)).error, "");
}

TEST_F(PtxTensorMutants, WithoutABarrier) {
  for (const char *copies : {"late", "early"})
    for (int which : {0, 1})
      EXPECT_NE(run(without(ptx.text, "bar", which), copies).error, "")
          << copies << " " << which;
  EXPECT_NE(run(without(ptx.text, "bar.warp.sync", 0)).error, "");
}

TEST_F(PtxTensorMutants, WithSwappedRegisters) {
  for (int list : {1, 2}) {
    EmulatedRun mutant = run(swapped(ptx.text, "mma.sync", list));
    ASSERT_EQ(mutant.error, "");
    EXPECT_FALSE(
        isWithinBound(dot, values[0], values[1], mutant.values[2], "90"));
  }
  EmulatedRun whole = runEmulated(ptx, values, 2);
  EXPECT_TRUE(isWithinBound(dot, values[0], values[1], whole.values[2], "90"));
}

/// The same faults in attention, whose warps read the keys and values that all
/// of them fetch.
TEST(PtxTensor, AttentionMutants) {
  Attention attention{
      "1x64x1x32", "1x128x1x32", "1x128x1x32",
      "1x64x1x32", "1x1x64",     std::string(heads) + " -> [0, q, 1, v]",
      "",          "",           ""};
  PtxModule ptx = ptxOf(attention.text(), "sm_90");
  std::vector<Bytes> values = {
      numbersFor(attention.query, "bf16", Numbers::ordinary, 1),
      numbersFor(attention.key, "bf16", Numbers::ordinary, 2),
      numbersFor(attention.value, "bf16", Numbers::ordinary, 3),
      Bytes(64 * 32 * 4),
      Bytes(64 * 4),
      Bytes(64 * 4)};
  EXPECT_EQ(runEmulated(ptx, values, 3).error, "");
  for (auto [instruction, which] :
       {std::pair("cp.async.wait_group", 0),
        std::pair("cp.async.wait_group", 1), std::pair("bar.sync", 0),
        std::pair("bar.sync", 1), std::pair("bar.sync", 2),
        std::pair("bar.warp.sync", 0)}) {
    PtxModule mutant = ptx;
    mutant.text = without(ptx.text, instruction, which);
    EXPECT_NE(mutant.text, ptx.text);
    EXPECT_NE(runEmulated(mutant, values, 3).error, "")
        << instruction << " " << which;
  }
}

/// And in its gradient, whose parts hand numbers over, too. What the emulated
/// driver does not see has to show in the numbers.
TEST(PtxTensor, AttentionGradientMutants) {
  AttentionCase g;
  // Several blocks of both kinds, whose results lie in different places.
  g.extents = extentsOf(1, 1, 80, 96, 32, 16);
  PtxModule ptx = ptxOf(g.gradientText(), "sm_90");
  std::vector<Bytes> memory = gradientOperands(g);
  const size_t operands = memory.size();
  ExactGradients exact = exactGradients(g, memory);
  for (size_t r = 0; r < 3; ++r)
    memory.emplace_back(exact.values[r].size() * 4);
  auto isFound = [&](const std::string &text) {
    EXPECT_NE(text, ptx.text) << "nothing was changed";
    PtxModule mutant = ptx;
    mutant.text = text;
    EmulatedRun run = runEmulated(mutant, memory, operands);
    return !run.error.empty() || !isWithinBounds(g, exact, run);
  };
  EXPECT_FALSE(isFound(ptx.text + "\n"));
  auto count = [&](const std::string &instruction) {
    int found = 0;
    for (size_t at = 0;
         (at = ptx.text.find(instruction, at)) != std::string::npos; ++at)
      ++found;
    return found;
  };
  for (const char *instruction : {"bar.warp.sync", "cp.async.wait_group"})
    EXPECT_TRUE(isFound(without(ptx.text, instruction)));
  for (int which = 0, all = count("bar.sync"); which < all; ++which)
    EXPECT_TRUE(isFound(without(ptx.text, "bar.sync", which))) << which;
  for (int list : {1, 2})
    EXPECT_TRUE(isFound(swapped(ptx.text, "mma.sync", list)));
}

/// The gradients side by side in one tensor, [batch, rows, columns], and behind
/// that sums of 64 rows of it.
std::string withSums(const AttentionCase &g) {
  std::string text = g.gradientText();
  const int64_t batch = g.extents.at('0'), rows = g.extents.at('q'),
                heads = g.extents.at('1'),
                widths[] = {heads * g.extents.at('d'),
                            heads * g.extents.at('d'),
                            heads * g.extents.at('v')},
                columns = widths[0] + widths[1] + widths[2];
  auto tensor = [](std::initializer_list<int64_t> extents,
                   const std::string &type) {
    std::string text = "tensor<";
    for (int64_t extent : extents)
      text += std::to_string(extent) + "x";
    return text + type + ">";
  };
  const std::string parts[] = {g.query, g.key, g.value};
  std::string body, names, types;
  for (size_t i = 0; i < 3; ++i) {
    const std::string name(1, char('a' + i));
    const std::string type = tensor({batch, rows, widths[i]}, g.resultType);
    body += "  %r" + name + " = stablehlo.reshape %" + name + " : (" +
            g.named(parts[i]).text(g.resultType) + ") -> " + type + "\n";
    names += (i ? ", %r" : "%r") + name;
    types += (i ? ", " : "") + type;
  }
  const int64_t blocks = batch * rows / 64;
  const std::string joined = tensor({batch, rows, columns}, g.resultType),
                    wide = tensor({batch, rows, columns}, "f32"),
                    cut = tensor({blocks, 64, columns}, "f32"),
                    sums = tensor({blocks, columns}, "f32");
  body += "  %all = stablehlo.concatenate " + names + ", dim = 2 : (" + types +
          ") -> " + joined + "\n";
  std::string from = "%all";
  if (g.resultType != "f32") {
    body +=
        "  %wide = stablehlo.convert %all : (" + joined + ") -> " + wide + "\n";
    from = "%wide";
  }
  body += "  %cut = stablehlo.reshape " + from + " : (" + wide + ") -> " + cut +
          "\n  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
          "  %sums = stablehlo.reduce(%cut init: %zero) applies stablehlo.add "
          "across dimensions = [1] : (" +
          cut + ", tensor<f32>) -> " + sums +
          "\n  return %all, %sums : " + joined + ", " + sums + "\n}";
  const size_t arrow = text.find(") -> ("), open = text.find(" {\n");
  text.replace(text.find("  return"), std::string::npos, body);
  return text.replace(arrow + 6, open - arrow - 7, joined + ", " + sums);
}

/// Sums of rows of what is stored, beside it: of whole strips, of two of them
/// in a warp, and of features that fill no power of two.
TEST(PtxTensor, AttentionGradientSums) {
  AttentionCase g;
  g.resultType = "bf16";
  for (auto [causal, extents] :
       {std::pair(true, extentsOf(2, 2, 128, 128, 64, 64)),
        std::pair(false, extentsOf(1, 1, 64, 64, 24, 40))}) {
    g.causal = causal;
    g.extents = extents;
    const std::string text = withSums(g);
    SCOPED_TRACE(text);
    PtxModule ptx = ptxOf(text, "sm_90");
    ASSERT_FALSE(ptx.kernels.empty());
    EXPECT_EQ(ptx.kernels.front().schedule, "tensor-attention-gradient");
    assembleLater(text);
    std::vector<Bytes> memory = gradientOperands(g);
    const size_t operands = memory.size();
    ExactGradients exact = exactGradients(g, memory);
    const size_t columns =
                     size_t(extents['1'] * (2 * extents['d'] + extents['v'])),
                 rows = size_t(extents['0'] * extents['q']);
    memory.emplace_back(2 * rows * columns);
    memory.emplace_back(4 * rows / 64 * columns);
    EmulatedRun run = runEmulated(ptx, memory, operands);
    ASSERT_EQ(run.error, "");
    EmulatedSettings settings;
    settings.order = "reverse", settings.copies = "early";
    EXPECT_EQ(runEmulated(ptx, memory, operands, settings).values, run.values);
    EXPECT_EQ(run.counters.sharedBankConflicts, 0u);
    const Bytes &stored = run.values[operands],
                &sums = run.values[operands + 1];
    double largest = 0;
    for (size_t block = 0; block < rows / 64; ++block)
      for (size_t column = 0; column < columns; ++column) {
        double sum = 0, size = 0;
        for (size_t row = 0; row < 64; ++row) {
          const double term =
              get(&stored[2 * ((block * 64 + row) * columns + column)], "bf16");
          sum += term, size += std::abs(term);
        }
        largest = std::max(largest, std::abs(sum));
        EXPECT_NEAR(get(&sums[4 * (block * columns + column)], "f32"), sum,
                    size * 0x1p-21)
            << "block " << block << ", column " << column;
      }
    EXPECT_GT(largest, 0.1);
    // Without a barrier values are other ones, or the driver finds a race.
    for (int which = 0; extents['1'] == 1; ++which) {
      PtxModule mutant = ptx;
      mutant.text = without(ptx.text, "bar.sync", which);
      if (mutant.text == ptx.text)
        break;
      EmulatedRun wrong = runEmulated(mutant, memory, operands);
      EXPECT_TRUE(!wrong.error.empty() || wrong.values != run.values) << which;
    }
    // What is stored is what it is without sums.
    const size_t widths[] = {size_t(extents['1'] * extents['d']),
                             size_t(extents['1'] * extents['d']),
                             size_t(extents['1'] * extents['v'])};
    for (size_t r = 0, first = 0; r < 3; first += widths[r++])
      for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < widths[r]; ++column) {
          const size_t at = row * widths[r] + column;
          EXPECT_NEAR(
              get(&stored[2 * (row * columns + first + column)], "bf16"),
              exact.values[r][at], exact.bounds[r][at]);
        }
  }
}

bool hasSchedule(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = parse(text, context);
  GpuSchedules schedules(
      {target::gpuArchitectureNamed("sm_90"), Subnormals::flush});
  return scheduleOf(
      KernelSource(module->lookupSymbol<mlir::func::FuncOp>("kernel")),
      schedules);
}

/// Rows that blocks have not got 64 of, or that are not 64 in a row, and
/// kernels without tensor cores.
TEST(PtxTensor, LeavesOtherSumsOfGradients) {
  AttentionCase g;
  g.resultType = "bf16";
  g.extents = extentsOf(1, 1, 128, 128, 100, 128);
  EXPECT_FALSE(hasSchedule(withSums(g)));
  g.extents = extentsOf(2, 1, 96, 96, 32, 32);
  EXPECT_FALSE(hasSchedule(withSums(g)));
  g.extents = extentsOf(1, 1, 128, 128, 32, 32);
  EXPECT_TRUE(hasSchedule(withSums(g)));
  g.type = g.resultType = "f32";
  EXPECT_FALSE(hasSchedule(withSums(g)));
}

} // namespace
