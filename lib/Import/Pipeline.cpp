//===- Pipeline.cpp - The import stage -----------------------------------===//
//
// The order of the passes. Shardings go first, because a program for many
// devices is refused before anything is said about its parts; roles are read
// from the signature before names of private functions could matter.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Pipeline.h"

#include "tenon/Import/Passes.h"

#include "mlir/Pass/PassOptions.h"

using namespace mlir;

namespace tenon::importer {

void buildImportPipeline(OpPassManager &manager, const ImportOptions &options) {
  JoinManualRegionsPassOptions joining;
  joining.mesh = options.mesh;
  manager.addPass(createJoinManualRegionsPass(joining));
  if (options.keepShardings()) {
    KeepShardingsPassOptions keeping;
    keeping.entry = options.entry;
    manager.addPass(createKeepShardingsPass(keeping));
  }
  UnfoldManualComputationsPassOptions unfolding;
  unfolding.constrain = options.keepShardings();
  manager.addPass(createUnfoldManualComputationsPass(unfolding));
  IgnoreShardingsPassOptions ignoring;
  ignoring.kept = options.keepShardings();
  manager.addPass(createIgnoreShardingsPass(ignoring));
  manager.addPass(createExpandTopKPass());
  InlineFunctionsPassOptions inlining;
  inlining.entry = options.entry;
  manager.addPass(createInlineFunctionsPass(inlining));
  manager.addPass(createExpandRngPass());
  if (options.separateExpectations)
    manager.addPass(createSeparateExpectationsPass());
  InferRolesPassOptions roles;
  roles.roles = options.rolesFile;
  roles.resultNames.assign(options.resultNames.begin(),
                           options.resultNames.end());
  manager.addPass(createInferRolesPass(roles));
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (!options.forInterpreter) {
    functions.addPass(createExpandDotAlgorithmsPass());
    functions.addPass(createExpandElementLoopsPass());
    functions.addPass(createExpandBranchesPass());
    functions.addPass(createCarryNarrowTypesPass());
    functions.addPass(createExpandLinearAlgebraPass());
  }
  DecomposeCHLOPassOptions decomposition;
  decomposition.keepFunctions = options.forInterpreter;
  functions.addPass(createDecomposeCHLOPass(decomposition));
  if (!options.forInterpreter) {
    // Functions of complex elements become functions of real ones.
    functions.addPass(createSplitComplexPass());
    functions.addPass(createDecomposeCHLOPass(decomposition));
  }
  functions.addPass(createDecomposeBatchNormPass());
  functions.addPass(createCanonicalizeSpellingPass());
  if (options.verifyForm && !options.forInterpreter)
    manager.addPass(createVerifyStepFormPass());
}

namespace {
/// ImportOptions as text, for --import="roles=FILE.json".
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> entry{*this, "entry",
                            llvm::cl::desc("the function that is the step"),
                            llvm::cl::init("main")};
  Option<std::string> roles{
      *this, "roles",
      llvm::cl::desc("JSON file that states roles and successors")};
  ListOption<std::string> names{
      *this, "names",
      llvm::cl::desc("names of results that are no state, as 1=accuracy")};
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("the mesh of a step that is cut, such as data=2; what is "
                     "said of how values lie is kept")};
};
} // namespace

void registerImportPipeline() {
  registerImportPasses();
  PassPipelineRegistration<PipelineOptions>(
      "import", "an exporter's module to step form",
      [](OpPassManager &manager, const PipelineOptions &text) {
        ImportOptions options;
        options.entry = text.entry;
        options.rolesFile = text.roles;
        options.mesh = text.mesh;
        options.resultNames.assign(text.names.begin(), text.names.end());
        buildImportPipeline(manager, options);
      });
}

bool isRefusedAsUnsupported(ModuleOp module) {
  return module->hasAttr(unsupportedAttrName) ||
         llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
           return function->hasAttr(unsupportedAttrName);
         });
}

} // namespace tenon::importer
