//===- KernelNest.h - The loops of a kernel and its memory ----------------===//
//
// A kernel function under construction, on any target: rank-1 memrefs for the
// kernel's operands, for those of its results that overwrite no operand
// (`exec.in_place`) and, if it needs any, for the scratch memory, followed by
// whatever else the target hands in. Booleans are bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_KERNELNEST_H
#define TENON_CODEGEN_LOOPS_KERNELNEST_H

#include "tenon/Codegen/Loops/KernelSource.h"
#include "tenon/Codegen/Loops/LoopNest.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::codegen {

/// Bytes an element takes in memory.
int64_t bytesOf(mlir::Type elementType);

/// An empty function named `name` at the end of `module`, with arguments of the
/// types `further` behind the memory.
mlir::func::FuncOp createKernelFunction(mlir::ModuleOp module,
                                        llvm::StringRef name,
                                        const KernelSource &source,
                                        int64_t scratchBytes,
                                        mlir::TypeRange further);

/// Gives the function the attribute `codegen.symbol`, which names the kernel
/// that it becomes, and its memory the attributes that say what the planner
/// guarantees: arguments do not overlap (an operand updated in place is one
/// argument, never two) and are aligned by kernelArgumentAlignment.
void markKernelFunction(mlir::func::FuncOp function, llvm::StringRef symbol);
inline constexpr llvm::StringLiteral kernelSymbolAttribute = "codegen.symbol";

class KernelNest : public LoopNest {
public:
  /// Stands at the end of `function`, of createKernelFunction.
  KernelNest(const KernelSource &source, mlir::func::FuncOp function,
             const Instructions &instructions);

  const KernelSource &source;
  mlir::func::FuncOp function;
  /// One buffer per result.
  llvm::SmallVector<Buffer> results;
  /// The first argument behind operands and results.
  unsigned behindResults = 0;

  /// A row-major buffer in the scratch memory, `offset` bytes from its start.
  Buffer scratchBuffer(mlir::Value offset, llvm::ArrayRef<int64_t> shape,
                       mlir::Type elementType);
  /// Whether a result is the argument of that number, which may be an operand.
  bool isWritten(unsigned argument);
  /// Stores result `i` at an index, of a joined update at an index of that.
  void storeResult(unsigned i, llvm::ArrayRef<IndexExpression> indices,
                   Element element);
  /// Where an element of `value`, a result or a part of one, is in that result.
  Indices placeInResult(mlir::Value value,
                        llvm::ArrayRef<IndexExpression> indices);
  /// Stores an element of `value`, a result or a part of one
  /// (KernelSource::indexOfResult).
  void storePart(mlir::Value value, llvm::ArrayRef<IndexExpression> indices,
                 Element element);
  /// What is computed for result `i`: the function's terminator operand, or the
  /// update that it joins (KernelDescription::computedFor).
  mlir::Value resultValue(unsigned i) const;
  /// Computes all results at these indices before storing any: a result may
  /// overwrite an operand that another one reads.
  void emitPoints(llvm::ArrayRef<Indices> places);
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_KERNELNEST_H
