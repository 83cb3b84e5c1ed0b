//===- HoistedConstants.h - Numbers of a step beside its machine code -----===//
//
// A learning rate, a decay or an epsilon stands in the text of every kernel
// that uses it, in front of all else (NamedConstants.h), and the assembler
// takes seconds. So it is given a text that reads such numbers from constant
// memory, where they cost what they cost in an instruction, and the numbers are
// written into what it makes of that. A step with other numbers has the same
// text, whose machine code may be known:
//
//     mov.b32 %r1, 0f3F733333;
//
// becomes, with `.visible .const .align 4 .b32 constants[1] = {...};`,
//
//     ld.const.b32 %r1, [constants+0];
//
// Operands come from there at the rate of registers, and each instruction
// rounds as before. PTX in a file keeps its numbers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_HOISTEDCONSTANTS_H
#define TENON_LIB_CODEGEN_GPU_HOISTEDCONSTANTS_H

#include "tenon/Codegen/GPU/EmitPtx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::codegen {

/// The bits of the f32 that a kernel function has as constants and that may be
/// hoisted, in order, each once: normal numbers that are no powers of two,
/// which assemblers know better instructions for.
std::vector<uint32_t> hoistableConstants(mlir::func::FuncOp kernel);

class HoistedConstants {
public:
  /// Of a text with these kernels.
  HoistedConstants(llvm::StringRef ptx, llvm::ArrayRef<PtxKernel> kernels);

  /// The same for all steps that differ in hoisted constants alone.
  const std::string &text() const { return hoisted; }
  /// Puts the constants into what the assembler made of the text; false, and
  /// nothing is changed, if it does not have them where they are expected.
  bool writeInto(std::vector<char> &cubin) const;

private:
  /// The body of the kernel with its constants replaced.
  std::string hoist(llvm::StringRef body, const PtxKernel &kernel);

  std::string hoisted;
  std::vector<uint32_t> values; // of one kernel after the other
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_HOISTEDCONSTANTS_H
