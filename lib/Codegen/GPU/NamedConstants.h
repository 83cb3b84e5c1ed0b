//===- NamedConstants.h - Names for numbers of a step in texts of kernels -===//
//
// A kernel's text is made once for all values of a learning rate, a decay or an
// epsilon: each such number is a register that is filled from a name, and LLVM
// does not know what that stands for, so nothing else in the text depends on
// it. Then numbers take the place of names:
//
//     mov.b32 %r1, number_0;
//     mul.rn.f32 %r3, %r2, %r1;
//
// becomes `mov.b32 %r1, 0f3F733333;` and the rest. Assemblers put the number
// into the multiplication.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_NAMEDCONSTANTS_H
#define TENON_LIB_CODEGEN_GPU_NAMEDCONSTANTS_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::codegen {

/// Gives names to the constants of f32, and to vectors of one, that have one of
/// these bits. Returns the bits that names 0, 1 and so on stand for.
std::vector<uint32_t> nameConstants(mlir::ModuleOp loops,
                                    llvm::ArrayRef<uint32_t> bits);

/// The text with numbers in place of names.
std::string numberConstants(llvm::StringRef ptx, llvm::ArrayRef<uint32_t> bits);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_NAMEDCONSTANTS_H
