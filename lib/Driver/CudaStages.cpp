//===- CudaStages.cpp - A step as a .tenon file for GPUs ------------------===//
//
// The walk to a file for NVIDIA's GPUs is that of a processor with code of its
// own: one text of PTX for each architecture. Matrix products are calls of
// cuBLASLt unless no libraries are asked for; convolutions are kernels.
//
//===----------------------------------------------------------------------===//

#include "OptionEntries.h"
#include "ReportCuts.h"
#include "RunStages.h"
#include "StageEntries.h"
#include "StageOptions.h"

#include "tenon/Codegen/GPU/EmitGpuKernels.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Package/ObjectForm.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

static ExitCode readForCuda(Program &program, StageRun &run) {
  ExitCode code = refuseOptionsOfOthers(run.options, run.walk);
  return code == exitOk ? readInput(program, run) : code;
}

static Stage readStageForCuda() {
  StageOption target = recordedAsOneOf<OutputTarget>(
      {}, "target", "\"cuda\"", [](auto &o) -> auto & { return o.target; },
      {{OutputTarget::cuda, "\"cuda\"", ""}});
  StageOption architectures =
      textOption("--target", &CompileOptions::architectures, "architectures",
                 true, [](auto &o) -> auto & { return o.featureSet; });
  return {.name = "read",
          .options = {target, architectures, subnormalsOption()},
          .run = readForCuda};
}

/// The kernels of object form that no schedule for GPUs took, and what they
/// compute.
static llvm::json::Array kernelsInParts(ModuleOp module) {
  llvm::json::Array found;
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr(exec::fallbackAttrName))
      found.push_back(llvm::json::Object{
          {"kernel", kernel.getSymName().str()},
          {"operations",
           kernel->getAttrOfType<StringAttr>(exec::descriptionAttrName)
               .getValue()
               .str()}});
  return found;
}

static ExitCode compilePtx(Program &program, StageRun &run) {
  auto kernels = codegen::emitGpuKernels(*program.module, run.resolved.gpus,
                                         run.resolved.features.subnormals);
  if (failed(kernels))
    return exitUnsupported;
  llvm::StringMap<std::string> symbols;
  llvm::StringSet<> inParts;
  for (const codegen::PtxKernel &kernel : kernels->modules.front().kernels)
    if (kernel.isInParts)
      inParts.insert(kernel.symbol);
  for (auto &[function, symbol] : kernels->symbols) {
    symbols[function] = symbol;
    if (inParts.contains(symbol))
      program.module->lookupSymbol(function)->setAttr(
          exec::fallbackAttrName, UnitAttr::get(run.context));
  }
  std::vector<package::PtxCode> codes;
  int64_t bytes = 0;
  for (auto [gpu, ptx] : llvm::zip_equal(run.resolved.gpus, kernels->modules)) {
    package::PtxCode &code = codes.emplace_back();
    code.architecture = gpu->name;
    code.text = ptx.text;
    for (const codegen::PtxKernel &kernel : ptx.kernels)
      code.launches[kernel.symbol] = {kernel.blocks, kernel.threads};
    bytes += int64_t(ptx.text.size());
  }
  run.details["kernels"] = int64_t(kernels->symbols.size());
  run.details["distinct_kernels"] =
      int64_t(kernels->modules.front().kernels.size());
  run.details["bytes"] = bytes;
  run.details["cuts"] = reportCuts(*program.module);
  if (failed(package::toObjectForm(*program.module, codes, symbols)))
    return exitInternal;
  run.details["in_parts"] = kernelsInParts(*program.module);
  return exitOk;
}

Walk driver::walkToCuda() {
  return {readStageForCuda(),
          importStage(),
          simplifyStage(),
          precisionStage(),
          groupStage(),
          planStage(),
          lowerStage(),
          {.name = "codegen",
           .form = "object form",
           .summary = "compile kernels",
           .run = compilePtx,
           .checkForm = checkExecForm},
          packageStage()};
}
