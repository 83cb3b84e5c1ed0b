//===- KernelCost.h - Seconds and bytes of operations as one kernel -------===//
//
// What a set of operations costs if one generated kernel computes all of them,
// before there is a group: Fusion compares merged and separate kernels by it,
// GroupCost prices groups by it.
//
// Worked example, a bias gradient of f32[4096,64]: a column kernel has one unit
// of work per 128 columns, so one core reads 1 MiB. Merged with the kernel that
// computes what it sums, it saves writing and reading that MiB, but everything
// in it runs on one core.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COST_KERNELCOST_H
#define TENON_COST_KERNELCOST_H

#include "tenon/Analysis/KernelDescription.h"
#include "tenon/Target/Target.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <limits>

namespace tenon::cost {

/// What a kernel does, on any machine.
struct KernelWork {
  double flops = 0;      // of dots and convolutions, a multiply-add being two
  double operations = 0; // others, a simple one per element being one
  double bytes = 0;      // operands read and results written, each once
  /// Pieces into which it can be cut.
  int64_t units = std::numeric_limits<int64_t>::max();
  int64_t elements = 1; // that it touches

  /// Into how many parts a launch is cut.
  int64_t parts(const target::Target &target) const;
};

/// The bytes that a kernel reads of each value, and writes of each result. Of a
/// table that is only gathered from, or a tensor of which a slice is read or
/// replaced in place, only the touched elements move.
struct KernelBytes {
  llvm::SmallMapVector<mlir::Value, double, 16> operands;
  llvm::SmallVector<double> results;

  double total() const;
};

/// Values that `sameAs` maps to one are one operand.
KernelBytes bytesOf(const KernelDescription &kernel,
                    llvm::function_ref<mlir::Value(mlir::Value)> sameAs);
KernelWork workOf(
    const KernelDescription &kernel,
    llvm::function_ref<mlir::Value(mlir::Value)> sameAs =
        [](mlir::Value value) { return value; });

/// The rate at which a kernel moves its bytes if that many are in use.
const target::Rate &bandwidthOf(double bytes, const target::Target &target);

/// Seconds for `operations` simple operations on `cores`.
double arithmeticSeconds(double operations, int64_t cores,
                         const target::Target &target);

/// Seconds to start a kernel of that many parts: whoever reads what several
/// parts wrote waits for all of them, behind one part nobody waits.
double startSeconds(int64_t parts, const target::Target &target);

/// One run of a kernel made of neither dots nor convolutions, its bytes coming
/// at `bandwidth`, and what starting it costs.
double secondsOf(const KernelWork &work, const target::Rate &bandwidth,
                 const target::Target &target);

/// Simple operations that computing the results of `op` once takes.
double elementOperations(mlir::Operation *op);

} // namespace tenon::cost

#endif // TENON_COST_KERNELCOST_H
