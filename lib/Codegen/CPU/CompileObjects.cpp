//===- CompileObjects.cpp - Kernel modules to object code -----------------===//
//
// One LLVM context, target machine and pass manager per module, so that modules
// compile side by side without sharing anything.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/CompileObjects.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tenon/Codegen/CPU/LowerToLLVM.h"
#include "llvm-c/Target.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;

namespace tenon::codegen {

/// Enough to clean up what lowering leaves behind. Kernels run as fast as after
/// O3, at a sixth of its compile time.
static constexpr StringLiteral optimizationPipeline =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine,"
    "loop-mssa(licm),gvn,instcombine,simplifycfg)";

static constexpr StringLiteral targetTriple = "x86_64-unknown-linux-gnu";

static const llvm::Target *findTarget(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(targetTriple), error);
}

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(ModuleOp module, const FeatureSet &features) {
  std::string error;
  const llvm::Target *target = findTarget(error);
  if (!target) {
    module.emitError() << "no code generator for " << targetTriple << ": "
                       << error;
    return nullptr;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      llvm::Triple(targetTriple), features.processor(), features.features(),
      options, llvm::Reloc::PIC_));
  if (!machine)
    module.emitError() << "no target machine for " << features.spelling();
  return machine;
}

static LogicalResult optimize(ModuleOp module, llvm::Module &code,
                              llvm::TargetMachine &machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error =
          builder.parsePassPipeline(passes, optimizationPipeline))
    return module.emitError() << llvm::toString(std::move(error));
  passes.run(code, modules);
  return success();
}

static FailureOr<ObjectCode> generate(ModuleOp module,
                                      const FeatureSet &features,
                                      llvm::CodeGenFileType fileType) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(module, features);
  if (!machine || failed(lowerToLLVM(module, features)))
    return failure();

  llvm::LLVMContext context;
  // The name ends up in the object's symbol table; it must not say where or
  // from what the module was made.
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, context, "kernels");
  if (!code)
    return module.emitError() << "the kernels could not be translated";
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  if (failed(optimize(module, *code, *machine)))
    return failure();

  ObjectCode result;
  llvm::raw_svector_ostream stream(result);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, fileType))
    return module.emitError() << "the code generator cannot write this file";
  codegen.run(*code);
  return result;
}

FailureOr<ObjectCode> compileToObject(ModuleOp module,
                                      const FeatureSet &features) {
  prepareContext(*module.getContext());
  return generate(module, features, llvm::CodeGenFileType::ObjectFile);
}

FailureOr<std::string> compileToAssembly(ModuleOp module,
                                         const FeatureSet &features) {
  prepareContext(*module.getContext());
  FailureOr<ObjectCode> text =
      generate(module, features, llvm::CodeGenFileType::AssemblyFile);
  if (failed(text))
    return failure();
  return std::string(text->begin(), text->end());
}

//===----------------------------------------------------------------------===//
// Many modules
//===----------------------------------------------------------------------===//

namespace {

/// Modules that one thread has to compile one after the other, as their
/// positions in the order of all modules.
struct Batch {
  MLIRContext *context;
  SmallVector<size_t> positions;
};

} // namespace

static std::vector<Batch> splitIntoBatches(ArrayRef<ModuleOp> modules) {
  std::vector<Batch> batches;
  llvm::SmallMapVector<MLIRContext *, size_t, 4> serial;
  for (auto [position, module] : llvm::enumerate(modules)) {
    MLIRContext *context = module->getContext();
    if (context->isMultithreadingEnabled()) {
      batches.push_back({context, {position}});
      continue;
    }
    auto [entry, isNew] = serial.insert({context, batches.size()});
    if (isNew)
      batches.push_back({context, {}});
    batches[entry->second].positions.push_back(position);
  }
  return batches;
}

FailureOr<SmallVector<ObjectCode>> compileObjects(ArrayRef<ModuleOp> modules,
                                                  const FeatureSet &features,
                                                  unsigned threads) {
  std::vector<Batch> batches = splitIntoBatches(modules);
  llvm::SmallMapVector<MLIRContext *,
                       std::unique_ptr<ParallelDiagnosticHandler>, 4>
      handlers;
  for (const Batch &batch : batches) {
    auto &handler = handlers[batch.context];
    if (handler)
      continue;
    handler = std::make_unique<ParallelDiagnosticHandler>(batch.context);
    prepareContext(*batch.context);
  }

  std::vector<FailureOr<ObjectCode>> results(modules.size(), failure());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < batches.size(); i = next++) {
      ParallelDiagnosticHandler &handler =
          *handlers.find(batches[i].context)->second;
      for (size_t position : batches[i].positions) {
        handler.setOrderIDForThread(position);
        results[position] = generate(modules[position], features,
                                     llvm::CodeGenFileType::ObjectFile);
        handler.eraseOrderIDForThread();
      }
    }
  };
  std::vector<std::thread> team;
  for (size_t i = 1, e = std::min<size_t>(threads, batches.size()); i < e; ++i)
    team.emplace_back(work);
  work();
  for (std::thread &thread : team)
    thread.join();

  SmallVector<ObjectCode> objects;
  for (FailureOr<ObjectCode> &result : results) {
    if (failed(result))
      return failure();
    objects.push_back(std::move(*result));
  }
  return objects;
}

} // namespace tenon::codegen
