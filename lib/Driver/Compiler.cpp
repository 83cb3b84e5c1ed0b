//===- Compiler.cpp - From an exported module to a .tenon file ------------===//
//
// See Compiler.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"

#include "RunStages.h"
#include "StageOptions.h"

#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Import/ReadStableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

void driver::registerDialects(DialectRegistry &registry) {
  importer::registerInputDialects(registry);
  registry.insert<exec::ExecDialect>();
  codegen::registerKernelDialects(registry);
}

CompileResult driver::compile(const CompileOptions &options, const Walk &walk) {
  Compilation compilation(options, walk);
  CompileResult &result = compilation.result;
  result.code = compilation.runTo(options.to, /*forText=*/true);
  if (result.code == exitOk && !options.to.empty()) {
    ModuleOp module = *compilation.program.module;
    recordOptions(module, walk, compilation.run.resolved);
    // Positions go with the text: what is compiled from it names them.
    llvm::raw_string_ostream stream(result.text);
    module->print(stream, OpPrintingFlags().enableDebugInfo());
    stream << "\n";
  }
  return std::move(result);
}

CompileResult driver::compile(const CompileOptions &options) {
  return compile(options, walkTo(options.target));
}
