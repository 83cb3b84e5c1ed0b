//===- Exec.h - The device program of a compiled step --------------------===//
//
// The `exec` dialect, the names of the attributes on kernel functions, and the
// dictionary form of library descriptions.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_EXEC_EXEC_H
#define TENON_DIALECT_EXEC_EXEC_H

#include "tenon/Libraries/Collective.h"
#include "tenon/Libraries/Description.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tenon/Dialect/Exec/ExecDialect.h.inc"
#include "tenon/Dialect/Exec/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Exec/ExecAttributes.h.inc"

#define GET_OP_CLASSES
#include "tenon/Dialect/Exec/ExecOps.h.inc"

#include <optional>

namespace tenon::exec {

/// Kernel function attribute, #step.group_kind: the template that emits it.
inline constexpr llvm::StringLiteral kernelKindAttrName = "exec.kernel";
/// Kernel function attribute, array<i64>, one entry per result: the operand the
/// result overwrites, or -1.
inline constexpr llvm::StringLiteral inPlaceAttrName = "exec.in_place";
/// Kernel function attribute, unit: the kernel has no fast code, only obvious
/// loops. Set when it is compiled.
inline constexpr llvm::StringLiteral fallbackAttrName = "exec.fallback";
/// Kernel function attribute, i64: bytes of scratch memory it is given as its
/// last argument; absent for none.
inline constexpr llvm::StringLiteral scratchBytesAttrName =
    "exec.scratch_bytes";

/// Kernel declaration attribute, string: the C symbol that does its work.
inline constexpr llvm::StringLiteral symbolAttrName = "exec.symbol";
/// Kernel declaration attribute, string: what it computes, for people.
inline constexpr llvm::StringLiteral descriptionAttrName = "exec.description";
/// Module attribute, dense i8: the ELF shared object.
inline constexpr llvm::StringLiteral sharedObjectAttrName =
    "exec.shared_object";

/// Module attribute, array of dictionaries {architecture, text}: the kernels as
/// PTX for each architecture of NVIDIA's.
inline constexpr llvm::StringLiteral ptxAttrName = "exec.ptx";
/// Kernel declaration attribute, array<i64>: how it starts, the number of
/// blocks and of the threads of each, for every text of `exec.ptx`.
inline constexpr llvm::StringLiteral launchesAttrName = "exec.launches";

/// Program attribute, dictionary: `buffers`, `values`, `texts`, `initial` and
/// `results` of the plan the program follows (docs/Forms.md).
inline constexpr llvm::StringLiteral planAttrName = "exec.plan";
/// Attribute of instructions, dictionary: when they run in the plan and which
/// values their slices are.
inline constexpr llvm::StringLiteral plannedAttrName = "exec.planned";
/// Attribute of loops, conditionals and the program, an array<i64> per region:
/// pairs of values of which the second takes over the first's place at its end.
inline constexpr llvm::StringLiteral regionEndsAttrName = "exec.region_ends";

/// Group and library attribute: the dictionary form of a description.
inline constexpr llvm::StringLiteral libraryAttrName = "exec.library";

/// The readable dictionary a description is stored as in IR, and back; nothing
/// if the dictionary is not one (a message goes to `error`).
mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context,
                                 const libraries::Description &description);
std::optional<libraries::Description>
fromAttribute(mlir::DictionaryAttr attribute, std::string &error);

/// The same of what ranks exchange.
mlir::DictionaryAttr
toAttribute(mlir::MLIRContext *context,
            const libraries::CollectiveDescription &description);
std::optional<libraries::CollectiveDescription>
collectiveOf(mlir::DictionaryAttr attribute, std::string &error);

} // namespace tenon::exec

#endif // TENON_DIALECT_EXEC_EXEC_H
