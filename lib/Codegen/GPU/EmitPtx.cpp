//===- EmitPtx.cpp - The kernels of a module to PTX -----------------------===//
//
// See EmitPtx.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/GPU/EmitPtx.h"

#include "GpuKernelBuilder.h"
#include "HoistedConstants.h"
#include "JointKernel.h"
#include "NamedConstants.h"

#include "tenon/Analysis/SourceText.h"
#include "tenon/Codegen/GPU/GpuSchedules.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Codegen/Loops/VerifySums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm-c/Target.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <map>
#include <mutex>

using namespace mlir;

namespace tenon::codegen {

static void prepareGpuContext(MLIRContext &context) {
  prepareContext(context);
  DialectRegistry registry;
  registry.insert<NVVM::NVVMDialect>();
  registerNVVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<NVVM::NVVMDialect>();
}

static void initializeCodeGenerator() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

/// Compares bf16 as f32, of which bf16 are a part. From sm_90 on there is an
/// instruction for bf16, but none that flushes: LLVM writes `setp.ftz.bf16`,
/// which ptxas refuses.
static void compareWide(ModuleOp module) {
  module.walk([](arith::CmpFOp compare) {
    Type type = compare.getLhs().getType();
    if (!getElementTypeOrSelf(type).isBF16())
      return;
    OpBuilder builder(compare);
    Type wide = builder.getF32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      wide = vector.clone(wide);
    for (OpOperand &operand : compare->getOpOperands())
      operand.set(arith::ExtFOp::create(builder, compare.getLoc(), wide,
                                        operand.get()));
  });
}

/// Widens bf16, the upper half of an f32, by moving its bits, which takes an
/// ordinary instruction. The one that converts (`F2F.FTZ.F32.BF16`) also
/// flushes; where a conversion has to, it says so, as on processors.
static void widenByBits(ModuleOp module) {
  SmallVector<arith::ExtFOp> all;
  module.walk([&](arith::ExtFOp widen) {
    if (getElementTypeOrSelf(widen.getIn().getType()).isBF16() &&
        getElementTypeOrSelf(widen.getType()).isF32())
      all.push_back(widen);
  });
  for (arith::ExtFOp widen : all) {
    ImplicitLocOpBuilder builder(widen.getLoc(), widen);
    auto integers = [&](unsigned width) -> Type {
      Type type = builder.getIntegerType(width);
      auto vector = dyn_cast<VectorType>(widen.getType());
      return vector ? Type(vector.clone(type)) : type;
    };
    TypedAttr distance = builder.getI32IntegerAttr(16);
    if (auto vector = dyn_cast<VectorType>(integers(32)))
      distance = DenseElementsAttr::get(vector, Attribute(distance));
    Value bits = arith::BitcastOp::create(builder, integers(16), widen.getIn());
    bits = arith::ExtUIOp::create(builder, integers(32), bits);
    bits = arith::ShLIOp::create(builder, bits,
                                 arith::ConstantOp::create(builder, distance));
    widen.replaceAllUsesWith(
        arith::BitcastOp::create(builder, widen.getType(), bits).getResult());
    widen.erase();
  }
}

/// Functions with a symbol become kernels of that name, launched in blocks of a
/// fixed number of threads. All others become parts of them.
static void markEntryPoints(ModuleOp module, Subnormals subnormals) {
  Builder builder(module.getContext());
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    function.setNoUnwind(true);
    if (subnormals == Subnormals::flush)
      function.setDenormalFpMathF32("preserve-sign,preserve-sign");
    auto symbol = function->getAttrOfType<StringAttr>(kernelSymbolAttribute);
    auto launch = function->getAttrOfType<DenseI64ArrayAttr>(launchAttribute);
    if (!symbol && function.isExternal())
      continue;
    if (!symbol) {
      function.setLinkage(LLVM::Linkage::Internal);
      function.setAlwaysInline(true);
      continue;
    }
    function->removeAttr(kernelSymbolAttribute);
    function->removeAttr(launchAttribute);
    function->removeAttr(inPartsAttribute);
    function->removeAttr(followedByAttribute);
    function.setSymName(symbol.getValue());
    function->removeAttr("sym_visibility");
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                      builder.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                      builder.getDenseI32ArrayAttr({int32_t(launch[1])}));
    if (Attribute blocks = function->removeAttr(blocksAtOnceAttribute))
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), blocks);
  }
}

namespace {

/// Makes the text of modules with a kernel each.
class PtxMaker : public CodeMaker {
public:
  PtxMaker(MLIRContext &context, const GpuTarget &target)
      : target(target), passes(&context) {
    prepareGpuContext(context);
    initializeCodeGenerator();
    passes.enableVerifier(false);
    addLoopLoweringPasses(passes, /*roundsToBf16=*/true);
  }

  FailureOr<GeneratedCode> make(ModuleOp module) override {
    if (failed(passes.run(module)))
      return failure();
    markEntryPoints(module, target.subnormals);
    const target::GpuArchitecture &gpu = *target.architecture;
    const std::string version = "+ptx" + std::to_string(gpu.ptxVersion);
    return generateCode(module,
                        {"nvptx64-nvidia-cuda", gpu.name, version,
                         target.subnormals == Subnormals::flush,
                         /*inlinesFunctions=*/true},
                        CodeKind::assembly);
  }

private:
  const GpuTarget &target;
  PassManager passes;
};

} // namespace

/// A module with one function of another and all that it refers to, which says
/// nothing of places in the user's program.
static OwningOpRef<ModuleOp> moduleOf(func::FuncOp function,
                                      const SymbolTable &symbols) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  llvm::SetVector<Operation *> needed;
  needed.insert(function);
  // Attributes name the kernel that is launched behind one, which has a module
  // of its own; operations name what is needed.
  for (size_t i = 0; i < needed.size(); ++i) {
    SmallVector<Region *> regions(
        llvm::make_pointer_range(needed[i]->getRegions()));
    while (!regions.empty())
      for (Operation &op : regions.pop_back_val()->getOps()) {
        if (isa<SymbolUserOpInterface>(op))
          if (auto uses = SymbolTable::getSymbolUses(&op))
            for (SymbolTable::SymbolUse use : *uses)
              needed.insert(
                  symbols.lookup(use.getSymbolRef().getRootReference()));
        llvm::append_range(regions, llvm::make_pointer_range(op.getRegions()));
      }
  }
  for (Operation *each : needed)
    builder.clone(*each);
  forgetPlaces(*module);
  return module;
}

/// One text of several that have a kernel each and the same header.
static std::string joinTexts(ArrayRef<std::string> texts) {
  constexpr StringLiteral header = ".address_size 64\n";
  std::string joined;
  for (StringRef text : texts) {
    const size_t body = text.find(header) + header.size();
    joined += joined.empty() ? text : text.drop_front(body);
  }
  return joined;
}

/// The text of all functions with a symbol, each as if it were alone. What is
/// kept has names for the numbers of the user's program.
static FailureOr<std::string> writePtx(ModuleOp module,
                                       ArrayRef<PtxKernel> kernels,
                                       const GpuTarget &target,
                                       const CodeWork &work) {
  constexpr uint64_t mostKept = uint64_t(1) << 28;
  const format::CacheFolder kept(work.cache, ".ptx", mostKept);
  SymbolTable symbols(module);
  llvm::StringMap<ArrayRef<uint32_t>> constants;
  for (const PtxKernel &kernel : kernels)
    constants[kernel.symbol] = kernel.constants;
  std::vector<std::string> bytecodes;
  std::vector<std::vector<uint32_t>> numbers; // of each
  for (auto function : module.getOps<func::FuncOp>()) {
    auto symbol = function->getAttrOfType<StringAttr>(kernelSymbolAttribute);
    if (!symbol)
      continue;
    OwningOpRef<ModuleOp> alone = moduleOf(function, symbols);
    numbers.push_back(nameConstants(*alone, constants.lookup(symbol)));
    bytecodes.push_back(bytecodeOf(*alone));
  }
  std::vector<MadeCode> made =
      makeUnlessKept(std::move(bytecodes), kept,
                     std::string(target.architecture->name) + " " +
                         std::string(name(target.subnormals)),
                     work.threads, [&](MLIRContext &context) {
                       return std::make_unique<PtxMaker>(context, target);
                     });
  std::vector<std::string> texts;
  bool ok = true;
  for (auto [each, constants] : llvm::zip_equal(made, numbers)) {
    for (const std::string &error : each.errors)
      module.emitError() << error;
    ok &= succeeded(each.code);
    if (succeeded(each.code))
      texts.push_back(numberConstants(
          StringRef(each.code->data(), each.code->size()), constants));
  }
  if (!ok)
    return failure();
  return joinTexts(texts);
}

/// Where the body of each kernel begins.
static llvm::StringMap<size_t> bodiesIn(StringRef text) {
  constexpr StringLiteral entry = ".entry ";
  llvm::StringMap<size_t> bodies;
  for (size_t at = text.find(entry); at != StringRef::npos;
       at = text.find(entry, at)) {
    at += entry.size();
    const size_t body = text.find("\n{", at);
    if (body != StringRef::npos)
      bodies[text.slice(at, text.find('(', at))] = body + 2;
  }
  return bodies;
}

/// The text with the places in the user's program that kernels come from, each
/// as a whole.
static std::string withSources(StringRef text, ArrayRef<PtxKernel> kernels,
                               ArrayRef<Location> sources) {
  constexpr StringLiteral header = ".address_size 64\n";
  std::map<size_t, std::string> added; // by place
  std::string &declared = added[text.find(header) + header.size()];
  const llvm::StringMap<size_t> bodies = bodiesIn(text);
  llvm::MapVector<StringRef, unsigned> files;
  SmallVector<std::optional<SourcePlace>> places;
  for (Location source : sources)
    places.push_back(placeOf(source));
  for (auto [kernel, place] : llvm::zip_equal(kernels, places)) {
    auto body = bodies.find(kernel.symbol);
    if (!place || body == bodies.end())
      continue;
    auto number = unsigned(files.size() + 1);
    number = files.try_emplace(place->file, number).first->second;
    added[body->second] = "\n\t.loc " + std::to_string(number) + " " +
                          std::to_string(place->line) + " 1";
  }
  for (auto &[file, number] : files)
    declared += ".file " + std::to_string(number) + " \"" +
                (file.empty() ? "step" : file.str()) + "\"\n";
  std::string result;
  size_t done = 0;
  for (auto &[place, lines] : added) {
    result += text.slice(done, place);
    result += lines;
    done = place;
  }
  result += text.drop_front(done);
  return result;
}

std::string symbolOfJoint(size_t index) {
  return "joint_" + std::to_string(index);
}

FailureOr<PtxModule> emitPtx(ArrayRef<func::FuncOp> kernels,
                             const GpuTarget &target,
                             ArrayRef<JointKernels> joints,
                             const CodeWork &work) {
  if (kernels.empty())
    return PtxModule();
  MLIRContext &context = *kernels.front()->getContext();
  prepareGpuContext(context);
  GpuSchedules schedules(target);

  PtxModule result;
  SmallVector<func::FuncOp> emitted;
  SmallVector<size_t> kernelOf; // each of these
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernels.front()->getLoc());
  bool ok = true;
  for (auto [index, kernel] : llvm::enumerate(kernels)) {
    std::string symbol = "kernel_" + std::to_string(index);
    auto function =
        emitKernelFunction(kernel, *module, symbol + ".body", schedules);
    if (failed(function)) {
      ok = false;
      continue;
    }
    emitted.push_back(*function);
    kernelOf.push_back(index);
    markKernelFunction(*function, symbol);
    auto launch =
        (*function)->getAttrOfType<DenseI64ArrayAttr>(launchAttribute);
    result.kernels.push_back(
        {.symbol = symbol,
         .blocks = launch[0],
         .threads = launch[1],
         .scratchBytes = launch[2],
         .isInParts = (*function)->hasAttr(inPartsAttribute),
         .schedule =
             schedules.nameOf(scheduleOf(KernelSource(kernel), schedules))
                 .str(),
         .constants = hoistableConstants(kernel)});
  }
  // One that follows may be followed itself.
  for (size_t i = 0; i < emitted.size(); ++i) {
    auto next =
        emitted[i]->getAttrOfType<FlatSymbolRefAttr>(followedByAttribute);
    if (!next)
      continue;
    auto function = module->lookupSymbol<func::FuncOp>(next.getValue());
    const size_t kernel = kernelOf[i];
    if (failed(verifySums(function, kernels[kernel])))
      ok = false;
    PtxKernel follower = result.kernels[i];
    follower.symbol += "_then";
    auto launch = function->getAttrOfType<DenseI64ArrayAttr>(launchAttribute);
    follower.blocks = launch[0];
    follower.threads = launch[1];
    result.kernels[i].followedBy = follower.symbol;
    markKernelFunction(function, follower.symbol);
    result.kernels.push_back(std::move(follower));
    emitted.push_back(function);
    kernelOf.push_back(kernel);
  }
  for (auto [index, joint] : llvm::enumerate(joints)) {
    if (!ok)
      break;
    SmallVector<func::FuncOp> runs;
    std::vector<uint32_t> constants;
    for (unsigned kernel : joint) {
      runs.push_back(emitted[kernel]);
      llvm::append_range(constants, result.kernels[kernel].constants);
    }
    std::string symbol = symbolOfJoint(index);
    func::FuncOp function = emitJoint(runs, *module, symbol + ".body");
    markKernelFunction(function, symbol);
    auto launch = function->getAttrOfType<DenseI64ArrayAttr>(launchAttribute);
    result.kernels.push_back({.symbol = symbol,
                              .blocks = launch[0],
                              .threads = launch[1],
                              .schedule = "joint",
                              .constants = std::move(constants)});
  }
  if (!ok || failed(verifyKernels(*module, "GPU", "nvvm")))
    return failure();

  compareWide(*module);
  widenByBits(*module);
  auto text = writePtx(*module, result.kernels, target, work);
  if (failed(text))
    return failure();
  result.text = std::move(*text);
  SmallVector<Location> sources;
  for (size_t kernel : kernelOf)
    sources.push_back(kernels[kernel]->getLoc());
  for (const JointKernels &joint : joints)
    sources.push_back(kernels[kernelOf[joint.front()]]->getLoc());
  result.textWithSources = withSources(result.text, result.kernels, sources);
  return result;
}

} // namespace tenon::codegen
