//===- PtxBitsTest.cpp - Kernels on an emulated GPU and on the CPU --------===//
//
// The PTX of a kernel is executed by the emulated driver, which checks every
// access, and gives the bits that the same kernel gives on this processor. NaN
// is NaN: its bits are left open by PTX.
//
//===----------------------------------------------------------------------===//

#include "EmittedKernel.h"

#include "tenon/Codegen/GPU/EmitPtx.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/EmulatedCuda/EmulatedCuda.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <map>
#include <string>

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

namespace {

using Bytes = Array<char>;

/// A kernel's signature as far as a test has to make values for it.
struct Parameter {
  Type element;
  int64_t elements;
  size_t bytes() const {
    return size_t(elements) * size_t(storageBytes(element));
  }
  static int64_t storageBytes(Type type) {
    return std::max<int64_t>(type.getIntOrFloatBitWidth() / 8, 1);
  }
};

/// Numbers of all sizes, zeros of both signs, infinities, NaN and subnormal
/// ones; of integers all bits.
Bytes someValues(const Parameter &parameter, uint32_t seed) {
  Bytes bytes(parameter.bytes());
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 12345;
  auto next = [&] {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return uint32_t(state >> 32);
  };
  for (int64_t i = 0; i < parameter.elements; ++i) {
    char *place = bytes.data() + i * Parameter::storageBytes(parameter.element);
    auto put = [&](auto value) { std::memcpy(place, &value, sizeof(value)); };
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
    double number = std::ldexp(double(int32_t(next())), -31);
    switch (uint32_t which = next() % 64) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      number = special[which];
      break;
    case 5:
    case 6:
      number = std::ldexp(number, -130); // subnormal in f32
      break;
    case 7:
      number = std::ldexp(number, 90);
      break;
    default:
      number *= 8;
    }
    Type type = parameter.element;
    if (type.isF32()) {
      put(float(number));
    } else if (type.isF64()) {
      put(number);
    } else if (type.isBF16()) {
      uint32_t bits = llvm::bit_cast<uint32_t>(float(number));
      put(uint16_t(std::isnan(number) ? 0x7fc0 : bits >> 16));
    } else if (type.isF16()) {
      put(static_cast<_Float16>(number));
    } else if (type.isInteger(1)) {
      put(uint8_t(next() & 1));
    } else if (type.getIntOrFloatBitWidth() == 32) {
      put(uint32_t(next()));
    } else if (type.getIntOrFloatBitWidth() == 8) {
      put(uint8_t(next()));
    } else {
      put(uint64_t(next()) << 32 | next());
    }
  }
  return bytes;
}

bool isNaNAt(const Parameter &parameter, const char *place) {
  auto as = [&](auto value) {
    std::memcpy(&value, place, sizeof(value));
    return value;
  };
  Type type = parameter.element;
  if (type.isF32())
    return std::isnan(as(float()));
  if (type.isF64())
    return std::isnan(as(double()));
  if (type.isBF16())
    return (as(uint16_t()) & 0x7fff) > 0x7f80;
  if (type.isF16())
    return (as(uint16_t()) & 0x7fff) > 0x7c00;
  return false;
}

/// The processor does with subnormal numbers what the runtime lets it do.
class ProcessorMode {
public:
  explicit ProcessorMode(Subnormals subnormals) : before(_mm_getcsr()) {
    constexpr unsigned flushAndZero = 0x8040;
    if (subnormals == Subnormals::flush)
      _mm_setcsr(before | flushAndZero);
  }
  ~ProcessorMode() { _mm_setcsr(before); }

private:
  unsigned before;
};

/// Conversions to bf16 as an instruction always flush.
target::Isa isaFor(Subnormals subnormals) {
  target::Isa isa = *target::hostIsa();
  return subnormals == Subnormals::keep ? std::min(isa, target::Isa::avx512)
                                        : isa;
}

/// Runs the kernel on both, with the same operands.
class BothTargets {
public:
  BothTargets(const std::string &text, Subnormals subnormals, StringRef gpu)
      : subnormals(subnormals), onCpu(text, {isaFor(subnormals), subnormals}),
        context(MLIRContext::Threading::DISABLED) {
    context
        .loadDialect<func::FuncDialect, stablehlo::StableHLODialect,
                     chlo::CHLODialect, step::StepDialect, exec::ExecDialect>();
    prepareContext(context);
    module = parseSourceString<ModuleOp>(text, &context);
    auto kernel = module->lookupSymbol<func::FuncOp>("kernel");
    auto inPlace = kernel->getAttrOfType<DenseI64ArrayAttr>("exec.in_place");
    for (Type type : kernel.getArgumentTypes())
      parameters.push_back(parameterOf(type));
    operands = parameters.size();
    for (auto [index, type] : llvm::enumerate(kernel.getResultTypes()))
      if (!inPlace || inPlace[index] < 0)
        parameters.push_back(parameterOf(type));
    auto emitted =
        emitPtx({kernel}, {target::gpuArchitectureNamed(gpu), subnormals});
    if (failed(emitted))
      ADD_FAILURE() << "no PTX for " << text;
    else
      ptx = std::move(*emitted);
  }

  void compare(uint32_t seed, const char *order) {
    std::vector<Bytes> values;
    for (auto [index, parameter] : llvm::enumerate(parameters))
      values.push_back(index < operands
                           ? someValues(parameter, seed + uint32_t(index))
                           : Bytes(parameter.bytes()));
    std::vector<Bytes> emulated = runEmulated(values, order);
    std::vector<void *> arguments;
    for (Bytes &bytes : values)
      arguments.push_back(bytes.data());
    {
      ProcessorMode mode(subnormals);
      onCpu.run(arguments, 3);
    }
    if (emulated.empty())
      return;
    for (auto [index, parameter] : llvm::enumerate(parameters))
      compareOne(index, parameter, values[index], emulated[index]);
  }

  TenonEmulatedCounters counters{};

private:
  static Parameter parameterOf(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return {tensor.getElementType(), tensor.getNumElements()};
  }

  void compareOne(size_t index, const Parameter &parameter, const Bytes &cpu,
                  const Bytes &gpu) {
    const size_t width = size_t(Parameter::storageBytes(parameter.element));
    for (size_t i = 0; i < cpu.size(); i += width) {
      if (std::memcmp(&cpu[i], &gpu[i], width) == 0)
        continue;
      if (isNaNAt(parameter, &cpu[i]) && isNaNAt(parameter, &gpu[i]))
        continue;
      uint64_t a = 0, b = 0;
      std::memcpy(&a, &cpu[i], width);
      std::memcpy(&b, &gpu[i], width);
      FAIL() << "parameter " << index << ", element " << i / width << std::hex
             << ": 0x" << a << " on the CPU, 0x" << b << " on the GPU\n"
             << ptx.text;
    }
  }

  /// The memory behind the kernel; empty, with the fault reported, if there was
  /// one.
  std::vector<Bytes> runEmulated(const std::vector<Bytes> &values,
                                 const char *order) {
    setenv("TENON_EMULATED_CUDA_ORDER", order, 1);
    setenv("TENON_EMULATED_CUDA_SM", "90", 1);
    tenonEmulatedCudaReset();
    CUcontext device;
    CUmodule loaded;
    CUfunction function;
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&device, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(device), CUDA_SUCCESS);
    if (cuModuleLoadData(&loaded, ptx.text.c_str()) != CUDA_SUCCESS) {
      ADD_FAILURE() << tenonEmulatedCudaError() << "\n" << ptx.text;
      return {};
    }
    EXPECT_EQ(cuModuleGetFunction(&function, loaded, "kernel_0"), CUDA_SUCCESS);
    std::vector<CUdeviceptr> addresses(values.size());
    std::vector<void *> pointers;
    for (auto [index, bytes] : llvm::enumerate(values)) {
      EXPECT_EQ(
          cuMemAlloc_v2(&addresses[index], std::max<size_t>(bytes.size(), 1)),
          CUDA_SUCCESS);
      // What the kernel has to write is never written before.
      if (index < operands)
        EXPECT_EQ(cuMemcpyHtoDAsync_v2(addresses[index], bytes.data(),
                                       bytes.size(), nullptr),
                  CUDA_SUCCESS);
      pointers.push_back(&addresses[index]);
    }
    const PtxKernel &kernel = ptx.kernels.front();
    EXPECT_EQ(cuLaunchKernel(function, unsigned(kernel.blocks), 1, 1,
                             unsigned(kernel.threads), 1, 1, 0, nullptr,
                             pointers.data(), nullptr),
              CUDA_SUCCESS);
    std::vector<Bytes> results;
    for (auto [index, bytes] : llvm::enumerate(values)) {
      results.emplace_back(bytes.size());
      if (cuMemcpyDtoHAsync_v2(results.back().data(), addresses[index],
                               bytes.size(), nullptr) != CUDA_SUCCESS ||
          cuStreamSynchronize(nullptr) != CUDA_SUCCESS) {
        ADD_FAILURE() << tenonEmulatedCudaError() << "\n" << ptx.text;
        return {};
      }
    }
    EXPECT_EQ(tenonEmulatedCudaCounters(function, &counters), CUDA_SUCCESS);
    return results;
  }

  Subnormals subnormals;
  EmittedKernel onCpu;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<Parameter> parameters;
  size_t operands = 0;
  PtxModule ptx;
};

void compare(const std::string &text) {
  for (Subnormals subnormals : {Subnormals::flush, Subnormals::keep}) {
    SCOPED_TRACE(subnormals == Subnormals::flush ? "flush" : "keep");
    BothTargets both(text, subnormals, "sm_80");
    both.compare(1, "forward");
    both.compare(2, "7");
  }
}

/// The kernel of one operation of one operand.
std::string unary(const std::string &operation, const std::string &type) {
  return "func.func private @kernel(%x: " + type + ") -> " + type +
         " {\n  %0 = " + operation + " %x : " + type +
         "\n  return %0 : " + type + "\n}";
}

TEST(PtxBits, FunctionsOfF32) {
  for (const char *name :
       {"exponential", "exponential_minus_one", "log", "log_plus_one", "tanh",
        "logistic", "sine", "cosine", "sqrt", "rsqrt", "cbrt", "abs", "negate",
        "floor", "ceil", "round_nearest_even", "round_nearest_afz", "sign"}) {
    SCOPED_TRACE(name);
    compare(unary("stablehlo." + std::string(name), "tensor<777xf32>"));
  }
}

TEST(PtxBits, FunctionsOfHalves) {
  for (const char *type : {"tensor<777xbf16>", "tensor<777xf16>"})
    for (const char *name : {"exponential", "tanh", "sqrt", "negate", "abs"}) {
      SCOPED_TRACE(std::string(name) + " " + type);
      compare(unary("stablehlo." + std::string(name), type));
    }
}

TEST(PtxBits, OperationsOfTwo) {
  for (const char *type : {"f32", "f64", "bf16", "f16", "i32", "ui32", "i64"})
    for (const char *name :
         {"add", "subtract", "multiply", "divide", "maximum", "minimum"}) {
      // Integers are not divided by what may be zero here.
      if (std::string(name) == "divide" && type[0] != 'f' && type[0] != 'b')
        continue;
      SCOPED_TRACE(std::string(name) + " " + type);
      std::string t = "tensor<33x21x" + std::string(type) + ">";
      compare("func.func private @kernel(%x: " + t + ", %y: " + t + ") -> " +
              t + " {\n  %0 = stablehlo." + name + " %x, %y : " + t +
              "\n  return %0 : " + t + "\n}");
    }
}

TEST(PtxBits, Conversions) {
  for (const char *from : {"f32", "f64", "bf16", "f16", "i32", "ui8", "i1"})
    for (const char *to : {"f32", "f64", "bf16", "f16", "i32", "ui8", "i1"}) {
      SCOPED_TRACE(std::string(from) + " to " + to);
      std::string a = "tensor<515x" + std::string(from) + ">",
                  b = "tensor<515x" + std::string(to) + ">";
      compare("func.func private @kernel(%x: " + a + ") -> " + b +
              " {\n  %0 = stablehlo.convert %x : (" + a + ") -> " + b +
              "\n  return %0 : " + b + "\n}");
    }
}

/// Rows that are multiples of the vector and not, and of all small sizes.
TEST(PtxBits, SpreadsRows) {
  for (int64_t width : {1, 2, 3, 4, 5, 8, 12, 31, 128, 1027}) {
    SCOPED_TRACE(width);
    std::string w = std::to_string(width), x = "tensor<13x" + w + "xf32>";
    compare("func.func private @kernel(%x: " + x + ", %b: tensor<" + w +
            "xbf16>, %s: tensor<13xf32>) -> (" + x + ", tensor<13x" + w +
            "xbf16>) {\n"
            "  %0 = stablehlo.convert %b : (tensor<" +
            w + "xbf16>) -> tensor<" + w +
            "xf32>\n"
            "  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<" +
            w + "xf32>) -> " + x +
            "\n"
            "  %2 = stablehlo.broadcast_in_dim %s, dims = [0] : "
            "(tensor<13xf32>) -> " +
            x +
            "\n"
            "  %3 = stablehlo.multiply %x, %2 : " +
            x +
            "\n"
            "  %4 = stablehlo.add %3, %1 : " +
            x +
            "\n"
            "  %5 = stablehlo.convert %4 : (" +
            x + ") -> tensor<13x" + w + "xbf16>\n  return %4, %5 : " + x +
            ", tensor<13x" + w + "xbf16>\n}");
  }
}

TEST(PtxBits, MovesElements) {
  compare(
      R"(func.func private @kernel(%x: tensor<6x50xf32>, %y: tensor<4x50xf32>, %z: tensor<f32>, %i: tensor<i32>) -> tensor<50x14xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<6x50xf32>, tensor<4x50xf32>) -> tensor<10x50xf32>
  %1 = stablehlo.pad %0, %z, low = [1, 2], high = [3, -2], interior = [0, 0] : (tensor<10x50xf32>, tensor<f32>) -> tensor<14x50xf32>
  %2 = stablehlo.reverse %1, dims = [1] : tensor<14x50xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %3 = stablehlo.dynamic_slice %2, %i, %c, sizes = [14, 50] : (tensor<14x50xf32>, tensor<i32>, tensor<i32>) -> tensor<14x50xf32>
  %4 = stablehlo.add %3, %3 : tensor<14x50xf32>
  %5 = stablehlo.iota dim = 0 : tensor<50x14xi32>
  %6 = stablehlo.convert %5 : (tensor<50x14xi32>) -> tensor<50x14xf32>
  %7 = stablehlo.reshape %4 : (tensor<14x50xf32>) -> tensor<50x14xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<50x14xf32>
  return %8 : tensor<50x14xf32>
})");
}

TEST(PtxBits, ReadsConstants) {
  std::string numbers;
  for (int i = 0; i < 40; ++i)
    numbers += (i ? ", " : "") + std::to_string(i) + ".5";
  compare("func.func private @kernel(%x: tensor<7x40xf32>) -> tensor<7x40xf32> "
          "{\n  %c = stablehlo.constant dense<[" +
          numbers +
          "]> : tensor<40xf32>\n"
          "  %0 = stablehlo.broadcast_in_dim %c, dims = [1] : "
          "(tensor<40xf32>) -> tensor<7x40xf32>\n"
          "  %1 = stablehlo.maximum %x, %0 : tensor<7x40xf32>\n"
          "  return %1 : tensor<7x40xf32>\n}");
}

/// An optimizer's update in place: no element is read behind its write.
TEST(PtxBits, OverwritesOperands) {
  compare(
      R"(func.func private @kernel(%w: tensor<1027xf32>, %m: tensor<1027xf32>, %g: tensor<1027xf32>, %rate: tensor<f32>) -> (tensor<1027xf32>, tensor<1027xf32>) attributes {exec.in_place = array<i64: 0, 1>} {
  %c = stablehlo.constant dense<0.9> : tensor<1027xf32>
  %0 = stablehlo.multiply %m, %c : tensor<1027xf32>
  %1 = stablehlo.add %0, %g : tensor<1027xf32>
  %2 = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<1027xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<1027xf32>
  %4 = stablehlo.subtract %w, %3 : tensor<1027xf32>
  return %4, %1 : tensor<1027xf32>, tensor<1027xf32>
})");
}

/// Tiles of several vectors per thread, a last tile that is short, and all
/// bytes moved by wide accesses.
TEST(PtxBits, LargeKernels) {
  const std::string type = "tensor<2101251xf32>";
  BothTargets both("func.func private @kernel(%x: " + type + ", %y: " + type +
                       ") -> " + type + " {\n  %0 = stablehlo.add %x, %y : " +
                       type + "\n  return %0 : " + type + "\n}",
                   Subnormals::flush, "sm_90");
  both.compare(3, "forward");
  EXPECT_GE(double(both.counters.globalWideBytes),
            0.999 * double(both.counters.globalBytes));
  EXPECT_LE(double(both.counters.globalSectors),
            1.001 * double(both.counters.globalBytes) / 32);
}

} // namespace
