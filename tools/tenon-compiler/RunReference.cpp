//===- RunReference.cpp - Steps through the reference interpreter ---------===//
//
// See CompiledModules.h. The module is imported, so that roles and successors
// are known, and then interpreted as it stands: no other stage touches it. What
// has roles already is in a later form and interpreted as it is.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/CompiledModules.h"

#include "tenon/Analysis/DeviceCount.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Check/Check.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Driver/Compiler.h"
#include "tenon/Format/Holding.h"
#include "tenon/Format/Safetensors.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Reference/Interpreter.h"
#include "tenon/Runtime/Scalars.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <fstream>

using namespace mlir;
using namespace tenon;
using namespace tenon::tool;
using reference::Tensor;

namespace {

int fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return exitUserError;
}

/// Bytes an element takes in a file.
int64_t storedWidth(const Tensor &tensor) {
  return byteWidth(*elementTypeOf(tensor.elementType()));
}

std::vector<std::byte> bytesOf(const Tensor &tensor) {
  int64_t width = storedWidth(tensor);
  std::vector<std::byte> bytes(tensor.size() * width);
  reference::writeBytes(tensor, bytes.data(), width);
  return bytes;
}

/// The names an argument may have in a file, the canonical one first.
SmallVector<std::string> namesOf(func::FuncOp main, unsigned index) {
  SmallVector<std::string> names;
  if (auto held = step::heldPartOf(main.getArgAttrDict(index)))
    names.push_back(held->tensor.str());
  if (auto name = main.getArgAttrOfType<StringAttr>(index, step::nameAttrName))
    names.push_back(name.str());
  if (auto aliases =
          main.getArgAttrOfType<ArrayAttr>(index, step::aliasesAttrName))
    for (Attribute alias : aliases)
      names.push_back(cast<StringAttr>(alias).str());
  if (!step::initialValueOf(main.getArgAttrDict(index)))
    names.push_back("arg" + std::to_string(index));
  return names;
}

/// An f32 tensor that the step has in parts, for Format/Holding.h: 16 bits of
/// a float, and what more the rule wants.
struct HeldTensor {
  format::Index index;
  format::Tensor tensor;
  std::vector<std::byte> high, low;

  HeldTensor(StringRef rule, const Tensor &first) {
    ArrayRef<int64_t> shape = first.shape();
    tensor.shape.assign(shape.begin(), shape.end());
    tensor.held = {*fromName<format::HoldingRule>(rule), {0}, {}};
    index.storages = {{*elementTypeOf(first.elementType()), tensor.shape, {}},
                      {ElementType::i16, tensor.shape, {}}};
    high.resize(format::bytesOf(tensor) / 2);
    if (rule == step::highAndLowRule) {
      tensor.held.storages.push_back(1);
      low.resize(high.size());
    }
  }
  /// The parts of `whole`, and back.
  void split(std::span<const std::byte> whole) {
    format::writeHeld(index, tensor, tensor.held, whole, parts());
  }
  std::vector<std::byte> join() {
    std::vector<std::byte> whole(format::bytesOf(tensor));
    format::readHeld(index, tensor, tensor.held, parts(), whole);
    return whole;
  }

private:
  std::vector<std::span<std::byte>> parts() {
    std::vector<std::span<std::byte>> all = {high};
    if (!low.empty())
      all.push_back(low);
    return all;
  }
};

int loadArguments(func::FuncOp main, const std::string &path,
                  reference::Tensors &arguments) {
  std::string error;
  auto file = format::SafetensorsReader::open(path, error);
  if (!file)
    return fail(error);
  llvm::StringMap<std::vector<std::byte>> lowParts; // by tensor
  for (BlockArgument argument : main.getArguments()) {
    Tensor tensor(cast<RankedTensorType>(argument.getType()));
    DictionaryAttr attributes = main.getArgAttrDict(argument.getArgNumber());
    auto held = step::heldPartOf(attributes);
    if (held && held->part > 0) {
      reference::readBytes(tensor, lowParts[held->tensor].data(),
                           storedWidth(tensor));
      arguments.push_back(std::move(tensor));
      continue;
    }
    auto type = elementTypeOf(tensor.elementType());
    if (!type)
      return fail(
          "argument '" + namesOf(main, argument.getArgNumber()).front() +
          "' has a type that safetensors files do not hold; give it a value "
          "in the module, as a constant");
    const format::StoredTensor *stored = nullptr;
    for (const std::string &name : namesOf(main, argument.getArgNumber()))
      if (!stored)
        stored = file->find(name);
    SplatElementsAttr initial = step::initialValueOf(attributes);
    // As the runtime does: what a file lacks or has in another form is new.
    if (initial && !(stored && stored->type == *type &&
                     ArrayRef<int64_t>(stored->shape) == tensor.shape())) {
      arguments.push_back(*reference::fromAttribute(initial));
      continue;
    }
    if (!stored)
      return fail("argument '" +
                  namesOf(main, argument.getArgNumber()).front() +
                  "' has no value in '" + path +
                  "'; add a tensor of that name to the file");
    if (held)
      type = ElementType::f32;
    if (stored->type != *type ||
        ArrayRef<int64_t>(stored->shape) != tensor.shape())
      return fail("'" + stored->name + "' in '" + path +
                  "' has another shape or type than argument " +
                  llvm::Twine(argument.getArgNumber()));
    std::vector<std::byte> bytes(stored->bytes);
    if (!file->read(*stored, 0, bytes, error))
      return fail(error);
    if (held) {
      HeldTensor parts(held->rule, tensor);
      parts.split(bytes);
      bytes = parts.high;
      lowParts[held->tensor] = parts.low;
    }
    reference::readBytes(tensor, bytes.data(), storedWidth(tensor));
    arguments.push_back(std::move(tensor));
  }
  return exitOk;
}

/// Whether a module runs on simulated devices, each of which import would take
/// for the only one: it does so itself, or has a computation per device.
bool runsDevices(ModuleOp module) {
  bool hasMany = countDevices(module).devices > 1;
  return module
      .walk([&](Operation *op) {
        return isa<check::RunParallelOp>(op) ||
                       (hasMany && isa<sdy::ManualComputationOp>(op))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether stages were here before: import would name arguments anew.
bool hasRoles(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  return main && !main.isExternal() && main.getNumArguments() > 0 &&
         llvm::all_of(llvm::seq(main.getNumArguments()), [&](unsigned index) {
           return main.getArgAttr(index, step::roleAttrName);
         });
}

int saveResults(func::FuncOp main, const std::string &path,
                ArrayRef<Tensor> results) {
  llvm::StringMap<unsigned> lowParts; // by tensor
  for (unsigned index = 0; index < results.size(); ++index)
    if (auto held = step::heldPartOf(main.getResultAttrDict(index));
        held && held->part > 0)
      lowParts[held->tensor] = index;
  std::vector<std::vector<std::byte>> bytes(results.size());
  std::vector<format::TensorBytes> entries;
  for (auto [index, tensor] : llvm::enumerate(results)) {
    auto held = step::heldPartOf(main.getResultAttrDict(index));
    auto name = main.getResultAttrOfType<StringAttr>(index, step::nameAttrName);
    if ((held && held->part > 0) || (name && step::isHiddenName(name)))
      continue;
    bytes[index] = bytesOf(tensor);
    ElementType type = *elementTypeOf(tensor.elementType());
    if (held) {
      HeldTensor parts(held->rule, tensor);
      parts.high = bytes[index];
      if (auto low = lowParts.find(held->tensor); low != lowParts.end())
        parts.low = bytesOf(results[low->second]);
      bytes[index] = parts.join();
      type = ElementType::f32;
    }
    entries.push_back(
        {"result" + std::to_string(index), type,
         std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end()),
         bytes[index]});
  }
  std::string error;
  return format::writeSafetensors(path, entries, {}, error) ? exitOk
                                                            : fail(error);
}

/// What a column of metrics is called: in a module that runs devices or is
/// between stages nobody may have named the result.
std::string nameOfResult(func::FuncOp main, unsigned result) {
  if (auto name =
          main.getResultAttrOfType<StringAttr>(result, step::nameAttrName))
    return name.str();
  return "result" + std::to_string(result);
}

} // namespace

int CompiledModules::runReference(const ReferenceRun &run) {
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = importer::readStableHLOFile(run.file, context);
  if (!module)
    return exitUserError;
  if (!runsDevices(*module) && !hasRoles(*module)) {
    PassManager passes(&context);
    importer::ImportOptions import;
    import.entry = run.module.function;
    import.rolesFile = run.module.rolesFile;
    import.resultNames = run.module.resultNames;
    import.forInterpreter = true;
    importer::buildImportPipeline(passes, import);
    if (failed(passes.run(*module)))
      return importer::isRefusedAsUnsupported(*module) ? exitUnsupported
                                                       : exitUserError;
  }
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return fail("the module has no function @main with a body");
  reference::Tensors arguments;
  if (main.getNumArguments() != 0) {
    if (run.inputs.empty())
      return fail(
          "the reference interpreter takes all arguments from --inputs");
    if (int code = loadArguments(main, run.inputs, arguments))
      return code;
  }

  SmallVector<int64_t> successors(main.getNumArguments(), -1);
  SmallVector<bool> isState(main.getNumResults(), false);
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto successor =
            main.getArgAttrOfType<IntegerAttr>(i, step::successorAttrName)) {
      successors[i] = successor.getInt();
      isState[successor.getInt()] = true;
    }
  std::ofstream metrics;
  if (!run.metrics.empty()) {
    metrics.open(run.metrics, std::ios::trunc);
    metrics << "step";
    for (unsigned i = 0; i < main.getNumResults(); ++i)
      if (!isState[i] &&
          cast<RankedTensorType>(main.getResultTypes()[i]).getRank() == 0)
        metrics << ',' << nameOfResult(main, i);
    metrics << "\n";
  }
  reference::Tensors results;
  for (int64_t step = 0; step < run.steps; ++step) {
    reference::Interpreter interpreter(
        run.module.subnormals.value_or(Subnormals::flush));
    auto values = interpreter.run(main, arguments);
    if (failed(values))
      return interpreter.failure() == reference::Failure::unsupported
                 ? exitUnsupported
                 : exitUserError;
    results = std::move(*values);
    for (auto [argument, successor] : llvm::zip_equal(arguments, successors))
      if (successor >= 0)
        argument = results[successor];
    if (metrics.is_open()) {
      metrics << step;
      for (auto [index, result] : llvm::enumerate(results))
        if (!isState[index] && result.rank() == 0)
          metrics << ','
                  << runtime::scalarText(*elementTypeOf(result.elementType()),
                                         bytesOf(result));
      metrics << "\n";
    }
  }
  if (metrics.is_open() && !metrics.flush())
    return fail("cannot write '" + run.metrics + "'");
  return run.outputs.empty() ? int(exitOk)
                             : saveResults(main, run.outputs, results);
}
