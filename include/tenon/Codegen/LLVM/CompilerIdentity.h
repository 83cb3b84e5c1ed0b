//===- CompilerIdentity.h - Which compiler this is ------------------------===//
//
// What one build of a compiler made of a text, another one would perhaps not
// make. Whoever keeps it for later asks which build that was.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LLVM_COMPILERIDENTITY_H
#define TENON_CODEGEN_LLVM_COMPILERIDENTITY_H

#include <string>

namespace tenon::codegen {

/// Of the running program and the libraries that it was started with, LLVM
/// among them: of each file its size and when it was written.
std::string compilerIdentity();

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LLVM_COMPILERIDENTITY_H
