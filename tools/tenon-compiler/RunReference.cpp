//===- RunReference.cpp - Steps through the reference interpreter ---------===//
//
// See CompiledModules.h. The module is imported, so that roles and successors
// are known, and then interpreted as it stands: no other stage touches it.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/CompiledModules.h"
#include "tools/tenon/Scalars.h"

#include "tenon/Analysis/DeviceCount.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Check/Check.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Driver/Compiler.h"
#include "tenon/Format/Safetensors.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Reference/Interpreter.h"

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
  if (auto name = main.getArgAttrOfType<StringAttr>(index, step::nameAttrName))
    names.push_back(name.str());
  if (auto aliases =
          main.getArgAttrOfType<ArrayAttr>(index, step::aliasesAttrName))
    for (Attribute alias : aliases)
      names.push_back(cast<StringAttr>(alias).str());
  names.push_back("arg" + std::to_string(index));
  return names;
}

int loadArguments(func::FuncOp main, const std::string &path,
                  reference::Tensors &arguments) {
  std::string error;
  auto file = format::SafetensorsReader::open(path, error);
  if (!file)
    return fail(error);
  for (BlockArgument argument : main.getArguments()) {
    Tensor tensor(cast<RankedTensorType>(argument.getType()));
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
    if (!stored)
      return fail("argument '" +
                  namesOf(main, argument.getArgNumber()).front() +
                  "' has no value in '" + path +
                  "'; add a tensor of that name to the file");
    if (stored->type != *type ||
        ArrayRef<int64_t>(stored->shape) != tensor.shape())
      return fail("'" + stored->name + "' in '" + path +
                  "' has another shape or type than argument " +
                  llvm::Twine(argument.getArgNumber()));
    std::vector<std::byte> bytes(stored->bytes);
    if (!file->read(*stored, 0, bytes, error))
      return fail(error);
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

int saveResults(const std::string &path, ArrayRef<Tensor> results) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<format::TensorBytes> entries;
  for (const Tensor &tensor : results)
    bytes.push_back(bytesOf(tensor));
  for (auto [index, tensor] : llvm::enumerate(results))
    entries.push_back(
        {"result" + std::to_string(index), *elementTypeOf(tensor.elementType()),
         std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end()),
         bytes[index]});
  std::string error;
  return format::writeSafetensors(path, entries, {}, error) ? exitOk
                                                            : fail(error);
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
  if (!runsDevices(*module)) {
    PassManager passes(&context);
    importer::ImportOptions import;
    import.entry = run.module.function;
    import.rolesFile = run.module.rolesFile;
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
        metrics << ",result" << i;
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
                  << scalarText(*elementTypeOf(result.elementType()),
                                bytesOf(result));
      metrics << "\n";
    }
  }
  if (metrics.is_open() && !metrics.flush())
    return fail("cannot write '" + run.metrics + "'");
  return run.outputs.empty() ? int(exitOk) : saveResults(run.outputs, results);
}
