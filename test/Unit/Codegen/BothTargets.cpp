//===- BothTargets.cpp - A kernel on an emulated GPU and on the CPU -------===//
//
// See BothTargets.h.
//
//===----------------------------------------------------------------------===//

#include "BothTargets.h"

#include "AssemblerGate.h"

#include "tenon/Analysis/SummingKernel.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <immintrin.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

namespace {

/// Numbers of all sizes, zeros of both signs, infinities, NaN and subnormal
/// ones; of integers all bits, or -2 to `limit` if there is one.
Bytes someValues(const Parameter &parameter, uint32_t seed, int64_t limit,
                 bool areSmall) {
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
    const double small = number;
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
    if (areSmall && !(std::abs(number) < 1))
      number = small;
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
    } else if (limit) {
      int64_t index = int64_t(next() % uint64_t(limit + 3)) - 2;
      std::memcpy(place, &index, size_t(Parameter::storageBytes(type)));
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

/// Conversions to bf16 as an instruction always flush. Tiles add up in an order
/// of their own.
target::Isa isaFor(Subnormals subnormals) {
  return std::min(*target::hostIsa(), subnormals == Subnormals::keep
                                          ? target::Isa::avx512
                                          : target::Isa::avx512Bf16);
}

Parameter parameterOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return {tensor.getElementType(), tensor.getNumElements()};
}

} // namespace

BothTargets::BothTargets(const std::string &text, Subnormals subnormals,
                         StringRef gpu)
    : subnormals(subnormals), context(MLIRContext::Threading::DISABLED) {
  context
      .loadDialect<func::FuncDialect, stablehlo::StableHLODialect,
                   chlo::CHLODialect, step::StepDialect, exec::ExecDialect>();
  prepareContext(context);
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "no kernel: " << text;
    return;
  }
  auto kernel = module->lookupSymbol<func::FuncOp>("kernel");
  auto inPlace = kernel->getAttrOfType<DenseI64ArrayAttr>("exec.in_place");
  for (Type type : kernel.getArgumentTypes())
    parameters.push_back(parameterOf(type));
  operands = parameters.size();
  for (auto [index, type] : llvm::enumerate(kernel.getResultTypes()))
    if (!inPlace || inPlace[index] < 0)
      parameters.push_back(parameterOf(type));
  emitOnCpu(kernel);
  auto emitted =
      emitPtx({kernel}, {target::gpuArchitectureNamed(gpu), subnormals});
  if (failed(emitted))
    ADD_FAILURE() << "no PTX for " << text;
  else
    ptx = std::move(*emitted);
  assembleLater(text);
}

/// The kernel with these results alone, as text. With `given`, that value is an
/// operand behind the others.
static std::string withResults(func::FuncOp kernel, ArrayRef<Value> results,
                               ArrayRef<int64_t> inPlace,
                               Value given = nullptr) {
  IRMapping mapping;
  OwningOpRef<func::FuncOp> copy(cast<func::FuncOp>(kernel->clone(mapping)));
  Block &body = copy->front();
  Operation *end = body.getTerminator();
  end->setOperands(llvm::map_to_vector(
      results, [&](Value value) { return mapping.lookup(value); }));
  if (given)
    mapping.lookup(given).replaceAllUsesWith(
        body.addArgument(given.getType(), given.getLoc()));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (&op != end && op.use_empty())
      op.erase();
  copy->setFunctionType(FunctionType::get(
      kernel.getContext(), body.getArgumentTypes(), end->getOperandTypes()));
  (*copy)->setAttr("exec.in_place",
                   DenseI64ArrayAttr::get(kernel.getContext(), inPlace));
  std::string text;
  llvm::raw_string_ostream out(text);
  (*copy)->print(out);
  return text;
}

void BothTargets::emitOnCpu(func::FuncOp kernel) {
  auto given = kernel->getAttrOfType<DenseI64ArrayAttr>("exec.in_place");
  ValueRange results = kernel.front().getTerminator()->getOperands();
  SmallVector<int64_t> inPlace(results.size(), -1);
  if (given)
    inPlace.assign(given.asArrayRef().begin(), given.asArrayRef().end());
  std::vector<size_t> memory;
  for (size_t i = 0; i < operands; ++i)
    memory.push_back(i);
  auto add = [&](const std::string &text, std::vector<size_t> further) {
    further.insert(further.begin(), memory.begin(), memory.end());
    onCpu.push_back({std::make_unique<EmittedKernel>(
                         text, FeatureSet{isaFor(subnormals), subnormals}),
                     std::move(further)});
  };
  SmallVector<Value> others;
  SmallVector<int64_t> othersInPlace;
  std::vector<size_t> othersMemory;
  // Nothing is overwritten before all sums are there.
  const auto summing = SummingKernel::of(KernelDescription(kernel.front()));
  size_t next = operands;
  for (auto [result, place] : llvm::zip_equal(results, inPlace)) {
    if (!summing || !summing->isSum(result)) {
      others.push_back(result);
      othersInPlace.push_back(place);
      if (place < 0)
        othersMemory.push_back(next++);
      continue;
    }
    Value summed = result.getDefiningOp()->getOperand(0);
    if (isa<BlockArgument>(summed)) {
      add(withResults(kernel, {result}, {-1}), {next++});
      continue;
    }
    const size_t left = parameters.size() + between.size();
    between.push_back(parameterOf(summed.getType()));
    add(withResults(kernel, {summed}, {-1}), {left});
    add(withResults(kernel, {result}, {-1}, summed), {left, next++});
  }
  if (!others.empty())
    add(withResults(kernel, others, othersInPlace), othersMemory);
}

std::vector<Bytes> BothTargets::someOperands(uint32_t seed) const {
  std::vector<Bytes> values;
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    auto limit = limits.find(index);
    values.push_back(index < operands
                         ? someValues(parameter, seed + uint32_t(index),
                                      limit == limits.end() ? 0 : limit->second,
                                      areSmall)
                         : Bytes(parameter.bytes()));
  }
  return values;
}

void BothTargets::runOnCpu(std::vector<Bytes> &values) {
  std::vector<Bytes> left;
  for (const Parameter &parameter : between)
    left.emplace_back(parameter.bytes());
  ProcessorMode mode(subnormals);
  for (CpuKernel &each : onCpu) {
    std::vector<void *> arguments;
    for (size_t number : each.memory)
      arguments.push_back((number < values.size()
                               ? values[number]
                               : left[number - values.size()])
                              .data());
    each.kernel->run(arguments, 3);
  }
}

void BothTargets::compare(uint32_t seed, const char *order) {
  std::vector<Bytes> values = someOperands(seed);
  EmulatedRun emulated = runEmulated(ptx, values, operands, {.order = order});
  counters = emulated.counters;
  if (emulated.values.empty())
    ADD_FAILURE() << emulated.error << "\n" << ptx.text;
  runOnCpu(values);
  if (emulated.values.empty())
    return;
  for (auto [index, parameter] : llvm::enumerate(parameters))
    compareOne(index, parameter, values[index], emulated.values[index]);
}

bool BothTargets::isEqual(const std::string &text, uint32_t seed) {
  std::vector<Bytes> values = someOperands(seed);
  PtxModule changed = ptx;
  changed.text = text;
  EmulatedRun emulated = runEmulated(changed, values, operands);
  if (!emulated.error.empty() || emulated.values.empty())
    return false;
  runOnCpu(values);
  for (auto [index, parameter] : llvm::enumerate(parameters))
    if (differingAt(parameter, values[index], emulated.values[index]) !=
        std::string::npos)
      return false;
  return true;
}

size_t BothTargets::differingAt(const Parameter &parameter, const Bytes &cpu,
                                const Bytes &gpu) {
  const size_t width = size_t(Parameter::storageBytes(parameter.element));
  for (size_t i = 0; i < cpu.size(); i += width)
    if (std::memcmp(&cpu[i], &gpu[i], width) != 0 &&
        !(isNaNAt(parameter, &cpu[i]) && isNaNAt(parameter, &gpu[i])))
      return i;
  return std::string::npos;
}

void BothTargets::compareOne(size_t index, const Parameter &parameter,
                             const Bytes &cpu, const Bytes &gpu) {
  const size_t at = differingAt(parameter, cpu, gpu);
  if (at == std::string::npos)
    return;
  const size_t width = size_t(Parameter::storageBytes(parameter.element));
  uint64_t a = 0, b = 0;
  std::memcpy(&a, &cpu[at], width);
  std::memcpy(&b, &gpu[at], width);
  FAIL() << "parameter " << index << ", element " << at / width << std::hex
         << ": 0x" << a << " on the CPU, 0x" << b << " on the GPU\n"
         << ptx.text;
}

PtxKernel compareTargets(const std::string &text,
                         const std::map<size_t, int64_t> &limits,
                         bool areSmall) {
  PtxKernel kernel;
  for (Subnormals subnormals : {Subnormals::flush, Subnormals::keep}) {
    SCOPED_TRACE(subnormals == Subnormals::flush ? "flush" : "keep");
    BothTargets both(text, subnormals, "sm_80");
    if (both.ptx.kernels.empty())
      continue; // reported
    both.limits = limits;
    both.areSmall = areSmall;
    both.compare(1, "forward");
    both.compare(2, "7");
    kernel = both.ptx.kernels.front();
  }
  return kernel;
}

void compareFast(const std::string &text,
                 const std::map<size_t, int64_t> &limits) {
  EXPECT_FALSE(compareTargets(text, limits).isInParts) << text;
}

void expectGoodAccesses(const std::string &text,
                        const std::map<size_t, int64_t> &limits) {
  BothTargets both(text, Subnormals::flush, "sm_90");
  both.limits = limits;
  both.compare(3, "forward");
  EXPECT_GE(double(both.counters.globalWideBytes),
            0.99 * double(both.counters.globalBytes));
  EXPECT_LE(double(both.counters.globalSectors),
            1.01 * double(both.counters.globalBytes) / 32);
  EXPECT_EQ(both.counters.sharedBankConflicts, 0u);
}

std::string fill(std::string text,
                 const std::map<std::string, std::string> &values) {
  for (const auto &[key, value] : values)
    for (size_t at = 0; (at = text.find(key, at)) != std::string::npos;
         at += value.size())
      text.replace(at, key.size(), value);
  return text;
}
