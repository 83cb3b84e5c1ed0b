//===- Outlook.h - The kernels that a step will have ----------------------===//
//
// What a format costs depends on which values cross kernels, and Fusion says
// that: a copy of the step is grouped, and its groups are read off here. The
// copy may have been given formats: what it stores in 16 bits is still known by
// the value of the step that it is. Operations carry numbers into the copy, by
// which its values are led back to those of the step.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_OUTLOOK_H
#define TENON_PRECISION_OUTLOOK_H

#include "tenon/Cost/GroupCost.h"
#include "tenon/Precision/NarrowFormat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace tenon::precision {

/// A value that a kernel reads or writes.
struct Traffic {
  /// The result of a numbered operation, or, if `operation` is -1, an argument.
  int64_t operation = -1;
  unsigned index = 0;
  double bytes = 0;      // in one run, as they are stored
  double wholeBytes = 0; // of the value, of which a run may move a part
  bool isNarrow = false; // whether they are stored in 16 bits
};

struct PlannedKernel {
  double runs = 1; // in a step
  step::GroupKind kind = step::GroupKind::elementwise;
  /// Whether it reads and writes 16 bits where values are stored so: generated
  /// code does, but for operations with code of their own that compute and
  /// cannot widen what they read.
  bool takesAnyFormat = true;
  cost::Roofline roofline; // as it is
  /// What it would be with operands of f32 and of 16 bits, where it multiplies.
  cost::Roofline wide, narrow;
  /// What it takes longer with operands of 16 bits that it widens by itself,
  /// and a result that it rounds, although it multiplies f32; nothing if it
  /// needs f32 in memory. Seconds.
  std::optional<double> converting;
  std::vector<Traffic> reads, writes;
  /// Second forms of values that it makes.
  std::vector<Traffic> copies;
  /// The number of the product that it computes, or -1.
  int64_t product = -1;
};

/// Numbers the operations of a step; removeNumbers() takes the numbers away,
/// and the marks of copies.
void numberOperations(mlir::func::FuncOp step);
void removeNumbers(mlir::func::FuncOp step);
/// The operation's number; -1 for one that came later.
int64_t numberOf(mlir::Operation *op);

/// Marks a conversion that makes a second form of a value, beside the one that
/// is stored.
void markCopy(mlir::Operation *conversion);

/// The kernels of a step in grouped form whose operations were numbered.
std::vector<PlannedKernel> kernelsOf(mlir::func::FuncOp grouped,
                                     const target::Target &machine,
                                     NarrowFormat narrow);

/// Makes each operation of a step a group of its own, which is what is known
/// where nobody grouped it.
void groupOneByOne(mlir::func::FuncOp step);

/// Makes each product of a step a library call of its own, as whoever brings
/// libraries that cannot be asked does. What else there is stays ungrouped.
void groupProducts(mlir::func::FuncOp step);

} // namespace tenon::precision

#endif // TENON_PRECISION_OUTLOOK_H
