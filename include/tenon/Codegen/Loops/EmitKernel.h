//===- EmitKernel.h - A kernel function from tensors to loops -------------===//
//
// Turns a kernel of exec form (a private function on tensors, docs/Forms.md)
// into loops over memory, the input of a target's lowering. The target hands in
// its schedules; the bits of a result follow from the operations alone, so
// every schedule that can compute a value computes the same.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_EMITKERNEL_H
#define TENON_CODEGEN_LOOPS_EMITKERNEL_H

#include "tenon/Codegen/Loops/KernelSource.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon::codegen {

/// How a kernel is launched on a target. It follows from the shapes, before
/// anything is emitted.
struct LaunchShape {
  /// The most parts worth using, at least 1; on a GPU the blocks of threads.
  int64_t parts = 1;
  /// Threads of a part.
  int64_t threads = 1;
  /// Scratch memory for any number of parts up to that; 0 for none.
  int64_t scratchBytes = 0;
  /// Memory that the threads of a part share, on a GPU; where it is counted.
  int64_t sharedBytes = 0;
  /// Whether threads neither wait for each other nor share anything, so that a
  /// part may do the work of several.
  bool threadsAreApart = false;
};

/// A function that computes a kernel.
struct EmittedLoops {
  mlir::func::FuncOp function;
  /// An estimate of its work; and whether no other variant can do better.
  double cost = 0;
  bool isCheapest = true;
};

/// How a target computes some kernels.
class Schedule {
public:
  virtual ~Schedule() = default;

  virtual bool accepts(const KernelSource &) const = 0;
  /// Reports what it has no code for in a kernel that it accepts.
  virtual mlir::LogicalResult check(const KernelSource &) const = 0;
  virtual LaunchShape launchShape(const KernelSource &) const = 0;
  /// How many loop shapes are worth trying; the cheapest is kept.
  virtual unsigned variants(const KernelSource &) const = 0;
  /// Appends a function named `name` to `module`, in the target's form.
  virtual EmittedLoops emit(const KernelSource &, mlir::ModuleOp module,
                            llvm::StringRef name, unsigned variant) const = 0;
};

/// Reports element types of point operations that there is no code for, as most
/// schedules check.
mlir::LogicalResult checkPointOperations(const KernelSource &source);

/// In order of preference.
using Schedules = llvm::ArrayRef<const Schedule *>;

/// The first that accepts the kernel; null if none does.
const Schedule *scheduleOf(const KernelSource &source, Schedules schedules);

/// The launch of a kernel; of one that no schedule accepts a single part.
LaunchShape launchShapeOf(const KernelSource &source, Schedules schedules);

/// Appends to `module` the loops of `kernel`. Reports operations and element
/// types there is no code for.
mlir::FailureOr<mlir::func::FuncOp>
emitKernelFunction(mlir::func::FuncOp kernel, mlir::ModuleOp module,
                   llvm::StringRef name, Schedules schedules);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_EMITKERNEL_H
