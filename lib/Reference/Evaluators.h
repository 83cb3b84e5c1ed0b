//===- Evaluators.h - Tables of evaluators, one per subject ---------------===//
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

#include <bit>
#include <limits>

namespace tenon::reference {

struct Evaluator {
  llvm::StringLiteral operation;
  Evaluate evaluate;
};

llvm::ArrayRef<Evaluator> attentionEvaluators();
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
llvm::ArrayRef<Evaluator> stochasticRoundingEvaluators();

/// The key by which the total order of floating-point values sorts their bits:
/// below zero the larger magnitudes come first, and -0 comes before 0.
inline int64_t totalOrderKey(double value) {
  auto bits = std::bit_cast<int64_t>(value);
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

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
