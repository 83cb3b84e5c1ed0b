//===- Evaluators.h - Tables of evaluators, one per subject
//----------------===//
//
// Each file of this folder contributes a table from operation names to
// evaluators; Interpreter.cpp joins them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_REFERENCE_EVALUATORS_H
#define TENON_LIB_REFERENCE_EVALUATORS_H

#include "tenon/Reference/Interpreter.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tenon::reference {

struct Evaluator {
  llvm::StringLiteral operation;
  Evaluate evaluate;
};

llvm::ArrayRef<Evaluator> elementwiseEvaluators();
llvm::ArrayRef<Evaluator> functionEvaluators();
llvm::ArrayRef<Evaluator> shapeEvaluators();
llvm::ArrayRef<Evaluator> indexingEvaluators();
llvm::ArrayRef<Evaluator> reductionEvaluators();
llvm::ArrayRef<Evaluator> contractionEvaluators();
llvm::ArrayRef<Evaluator> controlEvaluators();
llvm::ArrayRef<Evaluator> randomEvaluators();
llvm::ArrayRef<Evaluator> collectiveEvaluators();
llvm::ArrayRef<Evaluator> callEvaluators();
llvm::ArrayRef<Evaluator> linearAlgebraEvaluators();
llvm::ArrayRef<Evaluator> quantizedEvaluators();
llvm::ArrayRef<Evaluator> channelEvaluators();
llvm::ArrayRef<Evaluator> shardingEvaluators();

/// Custom calls that are LAPACK routines, see LapackCalls.cpp.
bool isLapackCall(mlir::Operation *op);
mlir::LogicalResult evaluateLapackCall(mlir::Operation *op,
                                       Interpreter &interpreter,
                                       llvm::ArrayRef<Tensor> operands,
                                       Tensors &results);

/// The type of a result as a tensor.
inline mlir::RankedTensorType resultType(mlir::Operation *op,
                                         unsigned index = 0) {
  return mlir::cast<mlir::RankedTensorType>(op->getResult(index).getType());
}

} // namespace tenon::reference

#endif // TENON_LIB_REFERENCE_EVALUATORS_H
