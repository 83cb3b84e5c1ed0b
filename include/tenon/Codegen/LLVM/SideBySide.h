//===- SideBySide.h - Code of many modules, in several threads ------------===//
//
// One MLIR context per thread, into which modules travel as bytecode: they
// become code side by side without sharing anything, whatever context they come
// from. What a thread needs for every module it makes once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LLVM_SIDEBYSIDE_H
#define TENON_CODEGEN_LLVM_SIDEBYSIDE_H

#include "tenon/Codegen/LLVM/GenerateCode.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>
#include <vector>

namespace tenon::codegen {

/// What makes code of modules of one context.
class CodeMaker {
public:
  virtual ~CodeMaker() = default;
  /// May change the module. Reports what went wrong.
  virtual llvm::FailureOr<GeneratedCode> make(mlir::ModuleOp module) = 0;
};

struct MadeCode {
  llvm::FailureOr<GeneratedCode> code = llvm::failure();
  /// What was reported.
  std::vector<std::string> errors;
};

std::string bytecodeOf(mlir::ModuleOp module);

/// The code of each module, in their order, on up to `threads` threads (at
/// least 1). Each thread asks `newMaker` once, with its own context.
std::vector<MadeCode> makeSideBySide(
    std::vector<std::string> bytecodes, unsigned threads,
    llvm::function_ref<std::unique_ptr<CodeMaker>(mlir::MLIRContext &)>
        newMaker);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LLVM_SIDEBYSIDE_H
