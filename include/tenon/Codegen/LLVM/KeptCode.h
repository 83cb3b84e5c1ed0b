//===- KeptCode.h - Code of modules that were compiled before -------------===//
//
// What makeSideBySide() makes of modules, kept in a folder by their content, so
// that a step which differs in a few kernels from one that was compiled before
// has only these compiled. The bytes are the same with and without the folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LLVM_KEPTCODE_H
#define TENON_CODEGEN_LLVM_KEPTCODE_H

#include "tenon/Codegen/LLVM/SideBySide.h"
#include "tenon/Format/CacheFolder.h"

namespace tenon::codegen {

/// How the work is done, which changes no byte of what comes of it.
struct CodeWork {
  unsigned threads = 1; // at least 1
  /// A folder that keeps the code of kernels for later; empty for none.
  std::string cache = {};
};

/// Makes all that is in the module come from nowhere: code does not depend on
/// places in the user's program, and is then known under any of them.
void forgetPlaces(mlir::ModuleOp module);

/// makeSideBySide(), but what is in `kept` is taken from there, and what is
/// made is kept, unless there were errors. `target` is what code depends on
/// beside the module and the compiler.
std::vector<MadeCode> makeUnlessKept(
    std::vector<std::string> bytecodes, const format::CacheFolder &kept,
    llvm::StringRef target, unsigned threads,
    llvm::function_ref<std::unique_ptr<CodeMaker>(mlir::MLIRContext &)>
        newMaker);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LLVM_KEPTCODE_H
