//===- Templates.h - The schedule templates of kernels --------------------===//
//
// One function per template; EmitKernel.cpp chooses. A template says how many
// parts are worth using and how much scratch memory it takes before anything is
// emitted, from the shapes alone.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_TEMPLATES_H
#define TENON_LIB_CODEGEN_CPU_TEMPLATES_H

#include "KernelBuilder.h"

namespace tenon::codegen {

/// What a template needs to know before it emits.
struct Demand {
  /// Pieces the work can be cut into.
  int64_t units = 1;
  /// Scratch memory per part, in bytes, a multiple of 64.
  int64_t scratchPerPart = 0;
};

struct Template {
  /// Whether it takes the kernel; reports what it has no code for.
  bool (*accepts)(const KernelSource &);
  mlir::LogicalResult (*check)(const KernelSource &);
  Demand (*demand)(const KernelSource &);
  /// `variant` is an index below variants(); the cheapest is kept.
  void (*emit)(KernelBuilder &, unsigned variant);
  /// How many loop shapes are worth trying.
  unsigned (*variants)(const KernelSource &);
  /// Whether a kernel is left to obvious loops, which no care was taken to make
  /// fast; none if it never is.
  bool (*isFallback)(const KernelSource &) = nullptr;
};

/// For templates that are a fallback whatever the kernel.
inline bool alwaysFallback(const KernelSource &) { return true; }

/// In order of preference.
llvm::ArrayRef<Template> templates();

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_TEMPLATES_H
