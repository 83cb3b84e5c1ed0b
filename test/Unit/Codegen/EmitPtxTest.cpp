//===- EmitPtxTest.cpp - Kernels as PTX -----------------------------------===//
//
// What the text says: wide accesses, rounding, the launch, and what is refused.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernel.h"

#include "tenon/Codegen/GPU/EmitPtx.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

namespace {

class EmitPtx : public testing::Test {
protected:
  EmitPtx() : context(MLIRContext::Threading::DISABLED) {
    context
        .loadDialect<func::FuncDialect, stablehlo::StableHLODialect,
                     chlo::CHLODialect, step::StepDialect, exec::ExecDialect>();
    prepareContext(context);
    context.getDiagEngine().registerHandler(
        [this](Diagnostic &diagnostic) { complaint += diagnostic.str(); });
  }

  PtxModule emit(StringRef text, StringRef gpu = "sm_90",
                 Subnormals subnormals = Subnormals::flush,
                 ArrayRef<JointKernels> joints = {}) {
    source = parseSourceString<ModuleOp>(text, &context);
    if (!source)
      return {};
    SmallVector<func::FuncOp> kernels(source->getOps<func::FuncOp>());
    auto module = emitPtx(
        kernels, {target::gpuArchitectureNamed(gpu), subnormals}, joints);
    return succeeded(module) ? *module : PtxModule();
  }
  static size_t count(const std::string &text, StringRef what) {
    return StringRef(text).count(what);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> source;
  std::string complaint;
};

constexpr StringLiteral gelu = R"(
  func.func private @kernel(%x: tensor<512x768xf32>, %b: tensor<768xf32>) -> tensor<512x768xf32> {
    %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<768xf32>) -> tensor<512x768xf32>
    %1 = stablehlo.add %x, %0 : tensor<512x768xf32>
    %2 = stablehlo.tanh %1 : tensor<512x768xf32>
    %3 = stablehlo.divide %2, %0 : tensor<512x768xf32>
    return %3 : tensor<512x768xf32>
  })";

TEST_F(EmitPtx, AccessesSixteenBytes) {
  PtxModule module = emit(gelu);
  ASSERT_EQ(complaint, "");
  const std::string &text = module.text;
  EXPECT_GE(count(text, "ld.global.nc.v4.b32") +
                count(text, "ld.global.nc.v2.b64"),
            2u)
      << text;
  EXPECT_GE(count(text, "st.global.v4.b32") + count(text, "st.global.v2.b64"),
            1u)
      << text;
  EXPECT_EQ(count(text, "ld.global.nc.b32"), 0u) << text;
  EXPECT_EQ(count(text, ".local"), 0u) << text;
  ASSERT_EQ(module.kernels.size(), 1u);
  EXPECT_EQ(module.kernels[0].symbol, "kernel_0");
  EXPECT_EQ(module.kernels[0].threads, 256);
  EXPECT_EQ(module.kernels[0].blocks, 512 * 768 / (4 * 256));
  EXPECT_EQ(count(text, ".reqntid 256"), 1u) << text;
}

TEST_F(EmitPtx, RoundsEachOperation) {
  std::string text = emit(gelu).text;
  EXPECT_EQ(count(text, "add.rn.ftz.f32") + count(text, "add.ftz.f32"),
            count(text, "add.rn.ftz.f32"))
      << text;
  EXPECT_EQ(count(text, "add.rn.f32"), 0u) << text;
  EXPECT_GE(count(text, "div.rn.ftz.f32"), 4u) << text;
  EXPECT_EQ(count(text, "approx"), 0u) << text;
  std::string kept = emit(gelu, "sm_90", Subnormals::keep).text;
  EXPECT_EQ(count(kept, "ftz"), 0u) << kept;
  EXPECT_GE(count(kept, "div.rn.f32"), 4u) << kept;
}

TEST_F(EmitPtx, NamesTheTarget) {
  for (const target::GpuArchitecture &gpu : target::gpuArchitectures()) {
    std::string text = emit(gelu, gpu.name).text;
    std::string version = ".version " + std::to_string(gpu.ptxVersion / 10) +
                          "." + std::to_string(gpu.ptxVersion % 10);
    EXPECT_EQ(count(text, version), 1u) << text.substr(0, 400);
    EXPECT_EQ(count(text, ".target " + std::string(gpu.name)), 1u)
        << text.substr(0, 400);
  }
}

TEST_F(EmitPtx, NumbersOfTheProgramStandInOnePlace) {
  // The square of the second one is infinite, and no code may know that.
  auto textWith = [&](const std::string &number) {
    return emit(R"(
  func.func private @kernel(%x: tensor<4096xf32>) -> tensor<4096xf32> {
    %c = stablehlo.constant dense<)" +
                number + R"(> : tensor<4096xf32>
    %0 = stablehlo.subtract %x, %c : tensor<4096xf32>
    %1 = stablehlo.multiply %c, %c : tensor<4096xf32>
    %2 = stablehlo.maximum %0, %c : tensor<4096xf32>
    %3 = stablehlo.divide %2, %1 : tensor<4096xf32>
    return %3 : tensor<4096xf32>
  })")
        .text;
  };
  std::string text = textWith("3.000000e-01");
  ASSERT_EQ(complaint, "");
  const std::string number = "0f3E99999A";
  ASSERT_EQ(count(text, number), 1u) << text;
  EXPECT_EQ(count(text, "inline asm"), 0u) << text;
  text.replace(text.find(number), number.size(), "0f7149F2CA");
  EXPECT_EQ(textWith("1.000000e+30"), text);
}

/// A row in the registers of a warp, whose sum goes through shared memory, and
/// sums of columns, which lie there: two kernels that have nothing in common.
constexpr StringLiteral rowsAndColumns = R"(
  func.func private @rows(%x: tensor<20x1280xf32>) -> tensor<20x1280xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<20x1280xf32>, tensor<f32>) -> tensor<20xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<20xf32>) -> tensor<20x1280xf32>
    %2 = stablehlo.subtract %x, %1 : tensor<20x1280xf32>
    return %2 : tensor<20x1280xf32>
  }
  func.func private @columns(%x: tensor<16384x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.multiply %x, %x : tensor<16384x8xf32>
    %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16384x8xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16384x8xf32>, tensor<f32>) -> tensor<8xf32>
    return %1, %2 : tensor<8xf32>, tensor<8xf32>
  })";

/// Of the module's text, how many bytes of shared memory each variable has.
std::map<std::string, int64_t> sharedIn(StringRef text) {
  std::map<std::string, int64_t> bytes;
  for (size_t at = 0; (at = text.find(".shared .align", at)) != StringRef::npos;
       ++at) {
    StringRef declared = text.drop_front(at).split(';').first;
    auto [name, size] = declared.rsplit(' ').second.split('[');
    int64_t count = 0;
    EXPECT_FALSE(size.split(']').first.getAsInteger(10, count))
        << declared.str();
    bytes[name.str()] = count;
  }
  return bytes;
}

/// That kernel alone on the emulated GPU, with these values of its parameters.
std::vector<Bytes> runOne(PtxModule module, size_t kernel,
                          const std::vector<Bytes> &values) {
  module.kernels = {module.kernels[kernel]};
  EmulatedRun run = runEmulated(module, values, values.size());
  EXPECT_EQ(run.error, "");
  return run.values;
}

Bytes bytesOf(const Array<float> &numbers) {
  Bytes bytes(numbers.size() * sizeof(float));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

TEST_F(EmitPtx, KernelsOfALaunchHaveOneSharedMemory) {
  const PtxModule module =
      emit(rowsAndColumns, "sm_90", Subnormals::flush, JointKernels{1, 0, 1});
  ASSERT_EQ(complaint, "");
  ASSERT_EQ(module.kernels.size(), 3u);
  int64_t ofRows = 0, ofColumns = 0, joint = 0;
  for (auto &[name, bytes] : sharedIn(module.text))
    (StringRef(name).contains("joint")      ? joint
     : StringRef(name).contains("kernel_0") ? ofRows
                                            : ofColumns) += bytes;
  EXPECT_GT(std::min(ofRows, ofColumns), 0) << module.text;
  EXPECT_EQ(joint, std::max(ofRows, ofColumns)) << module.text;

  const Bytes few(8 * sizeof(float));
  std::vector<Bytes> rows = {bytesOf(someNumbers(20 * 1280)),
                             Bytes(20 * 1280 * sizeof(float))},
                     columns = {bytesOf(someNumbers(16384 * 8)), few, few},
                     others = {bytesOf(someNumbers(16384 * 8, 0, 1, 2)), few,
                               few},
                     all;
  for (const auto *each : {&columns, &rows, &others})
    all.insert(all.end(), each->begin(), each->end());
  std::vector<Bytes> expected;
  for (const std::vector<Bytes> &each :
       {runOne(module, 1, columns), runOne(module, 0, rows),
        runOne(module, 1, others)})
    expected.insert(expected.end(), each.begin(), each.end());
  EXPECT_EQ(runOne(module, 2, all), expected);
}

TEST_F(EmitPtx, CallsNoFunctionsOfDouble) {
  std::string text = emit(R"(
  func.func private @kernel(%x: tensor<8xf64>) -> tensor<8xf64> {
    %0 = stablehlo.exponential %x : tensor<8xf64>
    return %0 : tensor<8xf64>
  })")
                         .text;
  EXPECT_EQ(complaint, "");
  EXPECT_GE(count(text, "fma.rn.f64"), 10u);
  EXPECT_EQ(count(text, ".extern"), 0u);
  EXPECT_EQ(count(text, "call"), 0u);
}

} // namespace
