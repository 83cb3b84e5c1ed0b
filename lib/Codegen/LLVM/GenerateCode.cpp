//===- GenerateCode.cpp - From LLVM's dialect to a processor's code -------===//
//
// One LLVM context, target machine and pass manager per module, so that modules
// compile side by side.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/LLVM/GenerateCode.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace tenon::codegen {

/// Enough to clean up what lowering leaves behind. Kernels run as fast as after
/// O3, at a sixth of its compile time.
static constexpr StringLiteral optimizationPipeline =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-"
    "fixpoint>,"
    "loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg)";

/// The same without what moves operations between types.
static constexpr StringLiteral pipelineWithinTypes =
    "function(sroa,early-cse<memssa>,simplifycfg,instsimplify,loop-mssa(licm),"
    "gvn,simplifycfg)";

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(ModuleOp module, const MachineDescription &description) {
  std::string error;
  llvm::Triple triple(description.triple);
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError() << "no code generator for " << description.triple << ": "
                       << error;
    return nullptr;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, description.processor, description.features, options,
      llvm::Reloc::PIC_));
  if (!machine)
    module.emitError() << "no target machine for " << description.processor;
  return machine;
}

static LogicalResult optimize(ModuleOp module, llvm::Module &code,
                              llvm::TargetMachine &machine,
                              StringRef pipeline) {
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
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline))
    return module.emitError() << llvm::toString(std::move(error));
  passes.run(code, modules);
  return success();
}

FailureOr<GeneratedCode> generateCode(ModuleOp module,
                                      const MachineDescription &description,
                                      CodeKind kind) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(module, description);
  if (!machine)
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
  std::string pipeline = description.inlinesFunctions ? "always-inline," : "";
  pipeline +=
      description.flushesByType ? pipelineWithinTypes : optimizationPipeline;
  if (failed(optimize(module, *code, *machine, pipeline)))
    return failure();

  GeneratedCode result;
  llvm::raw_svector_ostream stream(result);
  llvm::legacy::PassManager codegen;
  const llvm::CodeGenFileType type = kind == CodeKind::object
                                         ? llvm::CodeGenFileType::ObjectFile
                                         : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, type))
    return module.emitError() << "the code generator cannot write this file";
  codegen.run(*code);
  return result;
}

} // namespace tenon::codegen
