//===- Quantized.h - Operations on quantized elements ---------------------===//
//
// Between the interpreter and evaluators that know no quantized elements.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_REFERENCE_QUANTIZED_H
#define TENON_LIB_REFERENCE_QUANTIZED_H

#include "tenon/Reference/Interpreter.h"

namespace tenon::reference {

/// Whether an operation has quantized operands or results and is defined by
/// what it does to the numbers that they stand for.
bool computesOnNumbers(mlir::Operation *op);

/// Such an operation, by the evaluator for numbers.
mlir::LogicalResult evaluateOnNumbers(mlir::Operation *op, Evaluate evaluate,
                                      Interpreter &interpreter,
                                      llvm::ArrayRef<Tensor> operands,
                                      Tensors &results);

} // namespace tenon::reference

#endif // TENON_LIB_REFERENCE_QUANTIZED_H
