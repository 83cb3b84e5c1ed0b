//===- CudaStages.cpp - A step as a .tenon file for GPUs ------------------===//
//
// The walk to a file for NVIDIA's GPUs is that of a processor with code of its
// own: one text of PTX for each architecture, and machine code of it if there
// is an assembler. Matrix products are calls of cuBLASLt unless no libraries
// are asked for; convolutions are kernels.
//
//===----------------------------------------------------------------------===//

#include "OptionEntries.h"
#include "ReportCuts.h"
#include "ReportHostCalls.h"
#include "RunStages.h"
#include "StageEntries.h"
#include "StageOptions.h"

#include "tenon/Codegen/GPU/AssemblePtx.h"
#include "tenon/Codegen/GPU/EmitGpuKernels.h"
#include "tenon/Codegen/GPU/MachineCodeCache.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/GpuCode.h"
#include "tenon/Package/ObjectForm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <future>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

/// Values wait in the host's memory where a budget asks for that and there is a
/// way to it.
static ExitCode checkOffload(const ResolvedOptions &resolved) {
  if (!resolved.offload)
    return exitOk;
  if (!resolved.memoryBudget)
    return fail(exitBadUsage, "--offload makes room within a budget; pass "
                              "--memory-budget=SIZE, or smallest, too");
  if (resolved.machine.hostLink == 0)
    return fail(exitUserError, "the machine '" + resolved.machine.name +
                                   "' has no link to a host's memory");
  return exitOk;
}

static ExitCode readForCuda(Program &program, StageRun &run) {
  ExitCode code = refuseOptionsOfOthers(run.options, run.walk);
  if (code == exitOk)
    code = readInput(program, run);
  return code == exitOk ? checkOffload(run.resolved) : code;
}

static Stage readStageForCuda() {
  StageOption target = recordedAsOneOf<OutputTarget>(
      {}, "target", "\"cuda\"", [](auto &o) -> auto & { return o.target; },
      {{OutputTarget::cuda, "\"cuda\"", ""}});
  StageOption architectures = textOption(
      "--target", &CompileOptions::architectures, "architectures", true,
      [](auto &o) -> auto & { return o.featureSet; });
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

/// What the assembler makes of each text; nothing without one. The error has
/// been printed if it refuses one.
static std::optional<std::vector<codegen::MachineCode>>
assemble(const codegen::GpuKernels &kernels, StageRun &run) {
  auto refused = [&](const std::string &why) {
    fail(exitUserError, why + "; name another assembler with --ptxas=FILE, or "
                              "leave machine code out with --no-cubins");
    return std::nullopt;
  };
  if (run.options.noCubins || kernels.modules.front().kernels.empty())
    return std::vector<codegen::MachineCode>();
  std::string error;
  auto assembler = codegen::findAssembler(run.options.ptxas, error);
  if (!error.empty())
    return refused(error);
  if (!assembler)
    return std::vector<codegen::MachineCode>();
  run.details["assembler"] = assembler->version;
  struct Assembled {
    std::optional<codegen::MachineCode> code;
    std::string error;
  };
  const codegen::MachineCodeCache cache(codeWork(run.options).cache);
  std::vector<std::future<Assembled>> running;
  for (auto [gpu, ptx] : llvm::zip_equal(run.resolved.gpus, kernels.modules))
    running.push_back(std::async(std::launch::async, [&, gpu, text = &ptx] {
      Assembled result;
      result.code = cache.assemble(*text, *gpu, *assembler, result.error);
      return result;
    }));
  std::vector<codegen::MachineCode> codes;
  for (auto [gpu, each] : llvm::zip_equal(run.resolved.gpus, running)) {
    Assembled result = each.get();
    if (result.code)
      codes.push_back(std::move(*result.code));
    else if (error.empty())
      error = "the code for " + std::string(gpu->name) +
              " cannot be assembled: " + result.error;
  }
  if (!error.empty())
    return refused(error);
  return codes;
}

/// Says in the program which invocations are launched together.
static void declareJointLaunches(ModuleOp module,
                                 ArrayRef<codegen::JointLaunch> launches,
                                 llvm::StringMap<std::string> &symbols) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto kind = step::GroupKindAttr::get(module.getContext(),
                                       step::GroupKind::elementwise);
  for (const codegen::JointLaunch &launch : launches) {
    launch.invocations.front()->setAttr(
        exec::jointAttrName,
        builder.getDictionaryAttr(
            {builder.getNamedAttr(
                 "launch",
                 FlatSymbolRefAttr::get(module.getContext(), launch.symbol)),
             builder.getNamedAttr("invocations",
                                  builder.getI64IntegerAttr(
                                      int64_t(launch.invocations.size())))}));
    if (!symbols.try_emplace(launch.symbol, launch.symbol).second)
      continue;
    llvm::MapVector<StringRef, int> counts;
    for (Operation *invocation : launch.invocations)
      ++counts[cast<exec::InvokeOp>(invocation).getCallee()];
    std::string description;
    for (auto &[callee, count] : counts)
      description += (description.empty() ? "" : ", ") + symbols[callee] +
                     (count > 1 ? " x" + std::to_string(count) : "");
    auto declared =
        func::FuncOp::create(builder, module.getLoc(), launch.symbol,
                             builder.getFunctionType({}, {}));
    declared.setPrivate();
    declared->setAttr(exec::kernelKindAttrName, kind);
    declared->setAttr(exec::descriptionAttrName,
                      builder.getStringAttr(description));
  }
}

/// Says of kernels which kernel is launched after them.
static void declareFollowers(ModuleOp module,
                             ArrayRef<codegen::PtxKernel> kernels,
                             llvm::StringMap<std::string> &symbols) {
  llvm::StringMap<StringRef> followers;
  for (const codegen::PtxKernel &kernel : kernels)
    if (!kernel.followedBy.empty())
      followers[kernel.symbol] = kernel.followedBy;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  // A declaration may be followed itself: it comes behind what it follows.
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto symbol = symbols.find(kernel.getSymName());
    if (symbol == symbols.end())
      continue;
    auto follower = followers.find(symbol->second);
    if (follower == followers.end())
      continue;
    StringRef name = follower->second;
    kernel->setAttr(exec::followedByAttrName,
                    FlatSymbolRefAttr::get(module.getContext(), name));
    if (!symbols.try_emplace(name, name.str()).second)
      continue;
    auto declared = func::FuncOp::create(builder, module.getLoc(), name,
                                         builder.getFunctionType({}, {}));
    declared.setPrivate();
    declared->setAttr(exec::kernelKindAttrName,
                      kernel->getAttr(exec::kernelKindAttrName));
    declared->setAttr(exec::descriptionAttrName,
                      builder.getStringAttr("behind " + symbol->second));
  }
}

/// Kernels, calls and copies of the step, those in loops once, and the nodes
/// that start them.
static void countNodes(ModuleOp module, llvm::json::Object &details) {
  int64_t invocations = 0, launched = 0, launches = 0, followers = 0;
  const SymbolTable symbols(module);
  module.walk([&](exec::InvokeOp invoke) {
    if (invoke->getParentOfType<exec::ProgramOp>().getSymName() != "step")
      return;
    ++invocations;
    followers += exec::launchesOf(invoke, symbols) - 1;
    auto joint = invoke->getAttrOfType<DictionaryAttr>(exec::jointAttrName);
    if (!joint)
      return;
    ++launches;
    launched += joint.getAs<IntegerAttr>("invocations").getInt();
  });
  details["invocations"] = invocations;
  details["joint_launches"] = launches;
  details["nodes"] = invocations - launched + launches + followers;
}

static ExitCode compilePtx(Program &program, StageRun &run) {
  auto kernels = codegen::emitGpuKernels(*program.module, run.resolved.gpus,
                                         run.resolved.features.subnormals,
                                         codeWork(run.options));
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
  declareFollowers(*program.module, kernels->modules.front().kernels, symbols);
  declareJointLaunches(*program.module, kernels->joint, symbols);
  auto assembled = assemble(*kernels, run);
  if (!assembled)
    return exitUserError;
  std::vector<package::PtxCode> codes;
  int64_t bytes = 0, machineBytes = 0;
  for (auto [number, gpu, ptx] :
       llvm::enumerate(run.resolved.gpus, kernels->modules)) {
    package::PtxCode &code = codes.emplace_back();
    code.architecture = gpu->name;
    code.text = ptx.textWithSources;
    for (const codegen::PtxKernel &kernel : ptx.kernels)
      code.kernels[kernel.symbol] = {.launch = {kernel.blocks, kernel.threads},
                                     .schedule = kernel.schedule};
    bytes += int64_t(code.text.size());
    if (assembled->empty())
      continue;
    const codegen::MachineCode &machine = (*assembled)[number];
    code.assembler = machine.assembler;
    code.binary = machine.binary;
    for (const auto &each : machine.resources)
      code.kernels[each.first()].resources = {
          each.second.registers, each.second.sharedBytes,
          each.second.stackBytes, each.second.spillBytes};
    machineBytes += int64_t(machine.binary.size());
  }
  run.details["kernels"] = int64_t(kernels->symbols.size());
  run.details["distinct_kernels"] =
      int64_t(kernels->modules.front().kernels.size());
  countNodes(*program.module, run.details);
  run.details["bytes"] = bytes;
  run.details["machine_code_bytes"] = machineBytes;
  llvm::json::Array warnings;
  for (const codegen::MachineCode &machine : *assembled)
    for (const std::string &warning : machine.warnings)
      warnings.push_back(warning);
  run.details["warnings"] = std::move(warnings);
  run.details["cuts"] = reportCuts(*program.module);
  reportHostCalls(*program.module, run.details);
  if (failed(package::toObjectForm(*program.module, codes, symbols)))
    return exitInternal;
  run.details["in_parts"] = kernelsInParts(*program.module);
  return exitOk;
}

Walk driver::walkToCuda() {
  StageOption ptxas{.flag = "--ptxas", .isGiven = [](const CompileOptions &o) {
                      return !o.ptxas.empty();
                    }};
  StageOption noCubins{
      .flag = "--no-cubins",
      .isGiven = [](const CompileOptions &o) { return o.noCubins; }};
  return {readStageForCuda(),
          importStage(),
          simplifyStage(),
          precisionStage(),
          shardStage(),
          groupStage(),
          planStageForCuda(),
          lowerStage(),
          joinStage(),
          {.name = "codegen",
           .form = "object form",
           .summary = "compile kernels",
           .options = {ptxas, noCubins, kernelCacheOption()},
           .run = compilePtx,
           .checkForm = checkExecForm},
          packageStage()};
}
