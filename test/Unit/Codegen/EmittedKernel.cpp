//===- EmittedKernel.cpp - Kernels from text to running code, for tests ---===//
//
// See EmittedKernel.h.
//
//===----------------------------------------------------------------------===//

#include "EmittedKernel.h"

#include "tenon/Codegen/CPU/CpuSchedules.h"
#include "tenon/Codegen/CPU/EmitKernels.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon::codegen;

namespace {

class Context {
public:
  Context() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, tenon::stablehlo::StableHLODialect,
                        tenon::chlo::CHLODialect, tenon::step::StepDialect,
                        tenon::exec::ExecDialect>();
    prepareContext(context);
  }
  MLIRContext context;
};

} // namespace

Array<float> someNumbers(size_t count, float low, float high, uint32_t seed) {
  Array<float> numbers(count);
  uint32_t state = seed * 2654435761u + 12345;
  for (float &number : numbers) {
    state = state * 1664525u + 1013904223u;
    number = low + (high - low) * float(state >> 8) / float(1 << 24);
  }
  return numbers;
}

EmittedKernel::EmittedKernel(StringRef text, FeatureSet features) {
  Context owner;
  auto source = parseSourceString<ModuleOp>(text, &owner.context);
  if (!source) {
    ADD_FAILURE() << "the kernel does not parse";
    return;
  }
  auto kernel = source->lookupSymbol<func::FuncOp>("kernel");
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(&owner.context));
  CpuSchedules schedules(features);
  KernelSource kernelSource(kernel);
  LaunchShape shape = launchShapeOf(kernelSource, schedules);
  scratchBytes = shape.scratchBytes;
  maxParts = shape.parts;
  isFallback = kernelSource.kernel.isFallback();
  auto emitted = emitKernel(kernel, *module, "kernel", schedules);
  if (failed(emitted)) {
    ADD_FAILURE() << "the kernel has no code";
    return;
  }
  llvm::raw_string_ostream stream(loops);
  module->print(stream);
  if (failed(verify(*module))) {
    ADD_FAILURE() << "the emitted loops are not valid\n" << loops;
    return;
  }
  auto object = compileToObject(*module, features);
  if (failed(object)) {
    ADD_FAILURE() << "the emitted loops do not compile\n" << loops;
    return;
  }
  loaded = std::make_unique<LoadedKernels>(ArrayRef<ObjectCode>(*object));
  function = loaded->find("kernel");
  EXPECT_NE(function, nullptr);
}

EmittedKernel::~EmittedKernel() = default;

void EmittedKernel::run(std::vector<void *> arguments, int64_t parts) {
  Array<char> scratch(scratchBytes);
  if (scratchBytes)
    arguments.push_back(scratch.data());
  if (!function)
    return;
  for (int64_t part = 0; part < parts; ++part)
    function(arguments.data(), part, parts);
}

std::string complaintAbout(StringRef text) {
  Context owner;
  std::string complaint;
  ScopedDiagnosticHandler handler(&owner.context, [&](Diagnostic &diagnostic) {
    complaint += diagnostic.str() + "\n";
  });
  auto source = parseSourceString<ModuleOp>(text, &owner.context);
  if (!source)
    return "does not parse: " + complaint;
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(&owner.context));
  (void)emitKernel(source->lookupSymbol<func::FuncOp>("kernel"), *module,
                   "kernel",
                   CpuSchedules(FeatureSet{*tenon::target::hostIsa()}));
  return complaint;
}
