//===- CompileObjects.cpp - Kernel modules to object code -----------------===//
//
// One MLIR context per thread, into which modules travel as bytecode: modules
// compile side by side without sharing anything, whatever context they come
// from.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/CompileObjects.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "tenon/Codegen/CPU/LowerToLLVM.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "llvm-c/Target.h"
#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;

namespace tenon::codegen {

static void initializeCodeGenerator() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

static FailureOr<ObjectCode> generate(ModuleOp module,
                                      const FeatureSet &features) {
  initializeCodeGenerator();
  if (failed(lowerToLLVM(module, features)))
    return failure();
  MachineDescription machine = {"x86_64-unknown-linux-gnu",
                                features.info().llvmProcessor,
                                features.info().llvmFeatures};
  return generateCode(module, machine, CodeKind::object);
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
