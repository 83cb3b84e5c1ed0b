//===- GpuCode.h - What is known of code for GPUs -------------------------===//
//
// Attributes of object form beside `exec.ptx`: its dictionaries may have
// {assembler, binary} beside {architecture, text}, the version of NVIDIA's
// assembler and what it made of the text, a dense i8; and each kernel says what
// people want to know of it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_EXEC_GPUCODE_H
#define TENON_DIALECT_EXEC_GPUCODE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tenon::exec {

/// Kernel declaration attribute, array of strings: the schedule that emitted it
/// in every text of `exec.ptx`.
inline constexpr llvm::StringLiteral schedulesAttrName = "exec.schedules";
/// Kernel declaration attribute, array<i64>: what it takes of a GPU in every
/// machine code of `exec.ptx`: registers per thread, bytes of shared memory per
/// block, bytes of stack per thread, bytes of spilled registers that its text
/// stores and loads; four zeros for a text without machine code.
inline constexpr llvm::StringLiteral resourcesAttrName = "exec.resources";

/// Kernel declaration attribute, symbol: the kernel declaration behind it whose
/// kernel is launched after this one, with the same arguments.
inline constexpr llvm::StringLiteral followedByAttrName = "exec.followed_by";

/// Attribute of an invocation of a kernel, dictionary {launch, invocations}:
/// the kernel declaration whose one launch does the work of so many invocations
/// from this one on, given the slices of all of them in order.
inline constexpr llvm::StringLiteral jointAttrName = "exec.joint";

/// Attribute of a library call in a program for GPUs, unit: the host runs it,
/// between copies of its arguments. Its workspace is memory of the host and no
/// argument.
inline constexpr llvm::StringLiteral onHostAttrName = "exec.on_host";
/// Whether it is the host that runs a call with this description in a program
/// for GPUs.
bool isHostCall(mlir::DictionaryAttr description);

class InvokeOp;
/// How many nodes of a graph an invocation is, one after the other: kernels, or
/// the copies and the call of a library on the host. `symbols` are the
/// module's.
int64_t launchesOf(InvokeOp invoke, const mlir::SymbolTable &symbols);

} // namespace tenon::exec

#endif // TENON_DIALECT_EXEC_GPUCODE_H
