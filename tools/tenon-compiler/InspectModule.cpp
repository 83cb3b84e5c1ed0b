//===- InspectModule.cpp - The arguments and formats of a module ----------===//
//
// See CompiledModules.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/CompiledModules.h"

#include "tenon/Driver/Compiler.h"
#include "tenon/Import/ArgumentTable.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Target/GpuArchitectures.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;
using namespace tenon::tool;

int CompiledModules::inspect(const std::string &path,
                             const ModuleOptions &module, bool json) {
  mlir::DialectRegistry registry;
  driver::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto read = importer::readStableHLOFile(path, context);
  if (!read)
    return exitUserError;
  mlir::PassManager passes(&context);
  importer::ImportOptions options;
  options.entry = module.function;
  options.rolesFile = module.rolesFile;
  importer::buildImportPipeline(passes, options);
  if (failed(passes.run(*read)))
    return importer::isRefusedAsUnsupported(*read) ? exitUnsupported
                                                   : exitUserError;
  auto rows =
      importer::argumentTable(read->lookupSymbol<mlir::func::FuncOp>("main"));
  if (json)
    llvm::outs() << llvm::formatv("{0:2}\n", importer::argumentTableJSON(rows));
  else
    importer::printArgumentTable(rows, llvm::outs());
  return exitOk;
}

int CompiledModules::inspectPrecision(const std::string &path,
                                      const ModuleOptions &module,
                                      const PrecisionView &view) {
  driver::CompileOptions options;
  options.input = path;
  options.rolesFile = module.rolesFile;
  options.function = module.function;
  options.cpu = view.cpu;
  options.precision = view.policy == "f16"    ? driver::Precision::f16
                      : view.policy == "tf32" ? driver::Precision::tf32
                                              : driver::Precision::bf16;
  // What is listed does not depend on which GPU it is.
  if (options.precision == driver::Precision::tf32) {
    options.cpu.clear();
    options.target = driver::OutputTarget::cuda;
    options.architectures = target::gpuArchitectures().front().name;
  }
  options.precisionPolicyFile = view.policyFile;
  return driver::printFormats(options, llvm::outs());
}
