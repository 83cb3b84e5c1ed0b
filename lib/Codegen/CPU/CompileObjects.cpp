//===- CompileObjects.cpp - Kernel modules to object code -----------------===//
//
// One LLVM context, target machine and pass manager per module, and one MLIR
// context per thread, into which modules travel as bytecode: modules compile
// side by side without sharing anything, whatever context they come from.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/CompileObjects.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tenon/Codegen/CPU/LowerToLLVM.h"
#include "llvm-c/Target.h"
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
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-"
    "fixpoint>,"
    "loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg)";

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
      llvm::Triple(targetTriple), features.info().llvmProcessor,
      features.info().llvmFeatures, options, llvm::Reloc::PIC_));
  if (!machine)
    module.emitError() << "no target machine for "
                       << features.info().featureSet;
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
                                      const FeatureSet &features) {
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
  if (machine->addPassesToEmitFile(codegen, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError() << "the code generator cannot write this file";
  codegen.run(*code);
  return result;
}

FailureOr<ObjectCode> compileToObject(ModuleOp module,
                                      const FeatureSet &features) {
  prepareContext(*module.getContext());
  return generate(module, features);
}

//===----------------------------------------------------------------------===//
// Many modules
//===----------------------------------------------------------------------===//

namespace {

/// A module on its way through a thread.
struct Job {
  std::string bytecode;
  FailureOr<ObjectCode> object = failure();
  SmallVector<std::string> errors;
};

/// One thread with a context of its own: nothing is shared, nothing is locked.
class Worker {
public:
  explicit Worker(const FeatureSet &features)
      : context(MLIRContext::Threading::DISABLED), features(features) {
    prepareContext(context);
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        current->errors.push_back(diagnostic.str());
    });
  }

  void run(Job &job) {
    current = &job;
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    auto module = parseSourceString<ModuleOp>(job.bytecode, config);
    job.bytecode.clear();
    if (module)
      job.object = generate(*module, features);
  }

private:
  MLIRContext context;
  const FeatureSet &features;
  Job *current = nullptr;
};

} // namespace

/// One after the other, where they are.
static void compileInPlace(ArrayRef<ModuleOp> modules,
                           const FeatureSet &features,
                           MutableArrayRef<Job> jobs) {
  for (auto [module, job] : llvm::zip_equal(modules, jobs)) {
    job.object = compileToObject(module, features);
  }
}

static void compileInThreads(ArrayRef<ModuleOp> modules,
                             const FeatureSet &features, unsigned threads,
                             MutableArrayRef<Job> jobs) {
  for (auto [module, job] : llvm::zip_equal(modules, jobs)) {
    llvm::raw_string_ostream stream(job.bytecode);
    // Only fails for versions of the format, and none is asked for.
    (void)writeBytecodeToFile(module, stream);
  }
  std::atomic<size_t> next = 0;
  auto work = [&] {
    Worker worker(features);
    for (size_t i = next++; i < jobs.size(); i = next++)
      worker.run(jobs[i]);
  };
  std::vector<std::thread> team;
  for (size_t i = 1, e = std::min<size_t>(threads, jobs.size()); i < e; ++i)
    team.emplace_back(work);
  work();
  for (std::thread &thread : team)
    thread.join();
  for (auto [module, job] : llvm::zip_equal(modules, jobs))
    for (const std::string &error : job.errors)
      module->emitError() << error;
}

FailureOr<SmallVector<ObjectCode>> compileObjects(ArrayRef<ModuleOp> modules,
                                                  const FeatureSet &features,
                                                  unsigned threads) {
  std::vector<Job> jobs(modules.size());
  if (threads > 1 && modules.size() > 1)
    compileInThreads(modules, features, threads, jobs);
  else
    compileInPlace(modules, features, jobs);
  SmallVector<ObjectCode> objects;
  for (Job &job : jobs) {
    if (failed(job.object))
      return failure();
    objects.push_back(std::move(*job.object));
  }
  return objects;
}

} // namespace tenon::codegen
