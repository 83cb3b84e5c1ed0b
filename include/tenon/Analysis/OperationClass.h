//===- OperationClass.h - How elements of a result are computed ----------===//
//
// Sorts operations by how an element of their result follows from elements of
// their operands. Fusion decides by it what may share a kernel, Memory what may
// be overwritten.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_OPERATIONCLASS_H
#define TENON_ANALYSIS_OPERATIONCLASS_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace tenon {

/// How the elements of a result follow from those of the operands.
enum class OperationClass {
  pointwise, // result element from operand elements at the same index
  indexMap,  // result element from operand elements at computed indices
  reduction, // stablehlo.reduce of one operand over leading or trailing dims
  generic,   // an operation of its own
  view,      // moves no bytes: another view of the same buffer
  ungrouped, // constants, control flow, barriers, terminators
};

OperationClass classify(mlir::Operation *op);

/// Whether an element of the result takes a fixed number of elements of the
/// operands, in whatever kernel it is computed: what is pointwise, an index map
/// or a view, constants, reductions of single elements, and a slice put in the
/// place of another.
bool isPointOperation(mlir::Operation *op);

/// Whether recomputing the operation in each reader costs no more than a load:
/// splat constants, broadcasts, iota, slices along outer dimensions, widening
/// what the compiler stored in 16 bits.
bool isFreeToClone(mlir::Operation *op);

/// Whether it widens what the compiler stored in 16 bits.
bool widensStored(mlir::Operation *op);

/// Whether the kernel of a generic operation can widen what it reads: windows
/// and attention.
bool canWidenOperands(mlir::Operation *op);

/// Whether computing one element takes a division or a transcendental function.
bool isExpensive(mlir::Operation *op);

/// Which dimensions a reduction runs over, where they are neighbours at one
/// end.
struct ReducedDimensions {
  /// Whether the last dimensions are reduced, rather than the first.
  bool trailing = false;
  /// How many leading dimensions are kept (trailing) or reduced (otherwise).
  int64_t leading = 0;

  bool operator==(const ReducedDimensions &) const = default;
};

/// Nothing for a mixture of dimensions, for none, or for a reduction of several
/// operands or with a body that is not element-wise.
std::optional<ReducedDimensions> reducedDimensions(mlir::Operation *reduce);

} // namespace tenon

#endif // TENON_ANALYSIS_OPERATIONCLASS_H
