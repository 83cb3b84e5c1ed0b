//===- Templates.h - The schedule templates of kernels --------------------===//
//
// One struct per template; CpuSchedules.cpp lists them. A template says how
// many parts are worth using and how much scratch memory it takes before
// anything is emitted, from the shapes alone.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_TEMPLATES_H
#define TENON_LIB_CODEGEN_CPU_TEMPLATES_H

#include "KernelBuilder.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/EmitKernel.h"
#include "tenon/Codegen/Loops/ReduceTree.h"

namespace tenon::codegen {

/// What a template needs to know before it emits.
struct Demand {
  /// Pieces the work can be cut into.
  int64_t units = 1;
  /// Scratch memory per part, in bytes, a multiple of 64.
  int64_t scratchPerPart = 0;
};

/// The functions are those of Schedule.
struct Template {
  bool (*accepts)(const KernelSource &);
  Demand (*demand)(const KernelSource &);
  void (*emit)(KernelBuilder &, unsigned variant);
  mlir::LogicalResult (*check)(const KernelSource &) = checkPointOperations;
  unsigned (*variants)(const KernelSource &) = [](const KernelSource &) {
    return 1u;
  };
};

template <KernelClass kernelClass>
bool acceptsClass(const KernelSource &source) {
  return source.kernelClass == kernelClass;
}

/// Whether the kernel is one operation of these kinds.
template <typename... Ops>
bool acceptsOp(const KernelSource &source) {
  return llvm::isa_and_nonnull<Ops...>(source.root);
}

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_TEMPLATES_H
