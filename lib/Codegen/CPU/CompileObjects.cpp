//===- CompileObjects.cpp - Kernel modules to object code -----------------===//
//
// In several threads (Codegen/LLVM/SideBySide.h), or where the modules are.
// What was compiled before may come from a folder.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/CompileObjects.h"
#include "tenon/Codegen/CPU/LowerToLLVM.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Codegen/LLVM/SideBySide.h"
#include "llvm-c/Target.h"
#include <mutex>

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

namespace {

class ObjectMaker : public CodeMaker {
public:
  ObjectMaker(MLIRContext &context, const FeatureSet &features)
      : features(features), lowering(context, features) {
    prepareContext(context);
    initializeCodeGenerator();
  }

  FailureOr<ObjectCode> make(ModuleOp module) override {
    if (failed(lowering.run(module)))
      return failure();
    MachineDescription machine = {"x86_64-unknown-linux-gnu",
                                  features.info().llvmProcessor,
                                  features.info().llvmFeatures};
    return generateCode(module, machine, CodeKind::object);
  }

private:
  const FeatureSet &features;
  LoweringToLLVM lowering;
};

} // namespace

FailureOr<ObjectCode> compileToObject(ModuleOp module,
                                      const FeatureSet &features) {
  return ObjectMaker(*module.getContext(), features).make(module);
}

FailureOr<SmallVector<ObjectCode>> compileObjects(ArrayRef<ModuleOp> modules,
                                                  const FeatureSet &features,
                                                  const CodeWork &work) {
  constexpr uint64_t mostKept = uint64_t(1) << 28;
  const format::CacheFolder kept(work.cache, ".object", mostKept);
  SmallVector<FailureOr<ObjectCode>> made;
  if (!kept.isNone() || (work.threads > 1 && modules.size() > 1)) {
    std::vector<std::string> bytecodes;
    for (ModuleOp module : modules) {
      // What is reported is reported of the module.
      Location place = module.getLoc();
      forgetPlaces(module);
      bytecodes.push_back(bytecodeOf(module));
      module->setLoc(place);
    }
    const std::string target = std::string(features.info().featureSet) + " " +
                               std::string(name(features.subnormals));
    for (auto [module, each] : llvm::zip_equal(
             modules, makeUnlessKept(std::move(bytecodes), kept, target,
                                     work.threads, [&](MLIRContext &context) {
                                       return std::make_unique<ObjectMaker>(
                                           context, features);
                                     }))) {
      for (const std::string &error : each.errors)
        ModuleOp(module)->emitError() << error;
      made.push_back(std::move(each.code));
    }
  } else {
    for (ModuleOp module : modules)
      made.push_back(compileToObject(module, features));
  }
  SmallVector<ObjectCode> objects;
  for (FailureOr<ObjectCode> &code : made) {
    if (failed(code))
      return failure();
    objects.push_back(std::move(*code));
  }
  return objects;
}

} // namespace tenon::codegen
