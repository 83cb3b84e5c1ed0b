//===- PtxTensorTest.cpp - Kernels on tensor cores ------------------------===//
//
// Dots of bf16 and f16 as PTX on the emulated GPU, whose tensor cores are exact
// to the bit, against the same dots in f64 on this processor. The bound on the
// difference is that of a tensor core's arithmetic
// (lib/EmulatedCuda/TensorCore.h), so a product too many or too few stands out.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernel.h"

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

/// A dot; the prologue is an operation on each element of the left operand, or
/// empty.
struct Dot {
  std::string left, right, dims, result;
  int64_t terms;
  std::string type = "bf16", resultType = "f32", prologue = {};
  std::string gpu = "sm_90";

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
    text += "      %r = stablehlo.dot_general " + x + ", " + y +
            ", DIMS : (tensor<LEFTxIN>, tensor<RIGHTxIN>) -> "
            "tensor<SHAPExRESULT>\n"
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

PtxModule ptxOf(const std::string &text, const std::string &gpu) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context
      .loadDialect<mlir::func::FuncDialect, stablehlo::StableHLODialect,
                   chlo::CHLODialect, step::StepDialect, exec::ExecDialect>();
  prepareContext(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
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
          Dot{"40x64", "64x48", plain, "40x48", 64, "bf16", "f32", "negate"}}) {
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

} // namespace
