//===- GenerateCode.h - From LLVM's dialect to a processor's code ---------===//
//
// LLVM dialect to LLVM IR, a short optimisation pipeline, and machine code or
// its text. LLVM's vectorisers and loop idiom recognition stay off: the
// emitters have written the vectors and the order of every sum, and a loop that
// turned into memcpy would be slower and an undefined symbol. Multiplications
// and additions are never contracted. The same module and machine give the same
// bytes everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LLVM_GENERATECODE_H
#define TENON_CODEGEN_LLVM_GENERATECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"

namespace tenon::codegen {

/// A processor as LLVM knows it.
struct MachineDescription {
  llvm::StringRef triple, processor, features;
  /// Whether instructions flush subnormal numbers of some types and not of
  /// others. LLVM moves operations between types (a maximum of f32 whose
  /// operands were bf16 becomes one of bf16), as if that changed nothing; then
  /// it does not.
  bool flushesByType = false;
  /// Whether functions that are marked for it become part of their callers, and
  /// are gone.
  bool inlinesFunctions = false;
};

/// Object code, or the text of an assembler.
using GeneratedCode = llvm::SmallVector<char, 0>;

enum class CodeKind { object, assembly };

/// Compiles `module`, which is in LLVM dialect. Reports what went wrong. The
/// code generator of the triple must have been initialised.
llvm::FailureOr<GeneratedCode> generateCode(mlir::ModuleOp module,
                                            const MachineDescription &machine,
                                            CodeKind kind);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LLVM_GENERATECODE_H
