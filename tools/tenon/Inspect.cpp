//===- Inspect.cpp - tenon inspect
//------------------------------------------===//
//
// Prints the arguments of a module, or what a .tenon file holds.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Driver/Compiler.h"
#include "tenon/Format/Reader.h"
#include "tenon/Import/ArgumentTable.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;
using namespace tenon::tool;

namespace {

int inspectModule(const std::string &path,
                  const importer::ImportOptions &options, bool json) {
  mlir::DialectRegistry registry;
  driver::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = importer::readStableHLOFile(path, context);
  if (!module)
    return driver::exitUserError;
  mlir::PassManager passes(&context);
  importer::buildImportPipeline(passes, options);
  if (failed(passes.run(*module)))
    return importer::isRefusedAsUnsupported(*module) ? driver::exitUnsupported
                                                     : driver::exitUserError;
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  auto rows = importer::argumentTable(main);
  if (json)
    llvm::outs() << llvm::formatv("{0:2}\n", importer::argumentTableJSON(rows));
  else
    importer::printArgumentTable(rows, llvm::outs());
  return driver::exitOk;
}

std::string shapeText(const format::Tensor &tensor) {
  std::string text;
  for (int64_t extent : tensor.shape)
    text += std::to_string(extent) + "x";
  return text + std::string(name(tensor.type));
}

int64_t countInstructions(const format::Block &block) {
  int64_t count = 0;
  for (const format::Instruction &instruction : block.instructions) {
    ++count;
    if (auto *loop = std::get_if<format::While>(&instruction.operation))
      count +=
          countInstructions(loop->condition) + countInstructions(loop->body);
    if (auto *branches = std::get_if<format::Case>(&instruction.operation))
      for (const format::Block &branch : branches->branches)
        count += countInstructions(branch);
  }
  return count;
}

int inspectFile(const std::string &path, bool kernels) {
  std::string error;
  auto reader = format::Reader::open(path, error);
  if (!reader) {
    llvm::errs() << "error: " << error << "\n";
    return driver::exitUserError;
  }
  const format::Index &index = reader->index();
  llvm::outs() << llvm::formatv("{0}: '{1}' by {2}, needs {3}\n\n", path,
                                index.name, index.producer, index.cpu);
  llvm::outs() << llvm::formatv("{0,-14} {1,14}\n", "segment", "bytes");
  for (const format::Segment &segment : index.segments)
    llvm::outs() << llvm::formatv("{0,-14} {1,14}\n", name(segment.kind),
                                  segment.bytes);
  for (const format::Certificate &certificate : index.certificates)
    llvm::outs() << certificate.kind << ": " << certificate.text << "\n";
  for (const format::EntryPoint &entry : index.entryPoints)
    llvm::outs() << llvm::formatv(
        "\nentry point '{0}': {1} instructions, {2} kernels, {3} library "
        "calls\n",
        entry.name, countInstructions(entry.program), index.kernels.size(),
        index.libraryCalls.size());
  llvm::outs() << llvm::formatv("\n{0,8} {1,8} {2,-16} {3,-20} {4}\n",
                                "argument", "result", "role", "type", "name");
  for (const format::Tensor &tensor : index.tensors)
    llvm::outs() << llvm::formatv(
        "{0,8} {1,8} {2,-16} {3,-20} {4}\n",
        tensor.argument < 0 ? "" : std::to_string(tensor.argument),
        tensor.result < 0 ? "" : std::to_string(tensor.result),
        name(tensor.role), shapeText(tensor), tensor.name);
  if (kernels) {
    llvm::outs() << "\n";
    for (const format::Kernel &kernel : index.kernels)
      llvm::outs() << llvm::formatv("{0,-14} {1}\n", kernel.symbol,
                                    kernel.description);
  }
  return driver::exitOk;
}

} // namespace

int tool::runInspect(Arguments arguments) {
  importer::ImportOptions options;
  bool json = false, kernels = false;
  ArgumentParser parser("inspect",
                        "Prints the arguments of an exported module and how "
                        "their roles were found, or what a .tenon file holds.",
                        "FILE");
  parser.text("roles", options.rolesFile, "FILE",
              "for a module: JSON that says what each argument is");
  parser.text("function", options.entry, "NAME",
              "for a module: which of its functions is the step (main)");
  parser.flag("json", json, "for a module: print the table as JSON");
  parser.flag("kernels", kernels, "for a .tenon file: list its kernels");
  std::vector<std::string> files;
  if (auto code = parser.parse(arguments, files))
    return *code;
  if (llvm::StringRef(files.front()).ends_with(".tenon"))
    return inspectFile(files.front(), kernels);
  return inspectModule(files.front(), options, json);
}
