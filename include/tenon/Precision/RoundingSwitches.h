//===- RoundingSwitches.h - The roundings of a choice, one by one ---------===//
//
// What a choice of formats rounds can be told apart: the step that came, in
// which every value that the choice stores in 16 bits, and every operand that a
// product reads so, is rounded if its decision is switched on. Two
// arguments of the step, i32 numbers, say which: those from the first up to but
// not including the last.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_ROUNDINGSWITCHES_H
#define TENON_PRECISION_ROUNDINGSWITCHES_H

#include "tenon/Precision/FormatReport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace tenon::precision {

class RoundingSwitches {
public:
  /// For the step that `report` is about, with the policy (JSON, which is
  /// valid) that it was made under. A report without lines decides nothing.
  RoundingSwitches(mlir::func::FuncOp step, llvm::StringRef policy,
                   const FormatReport &report);

  /// What is rounded by each decision, and where.
  const std::vector<std::string> &decisions() const { return names; }

  /// Rounds values of the step, for all who read them, its results included,
  /// and adds the two arguments behind those that users see.
  void insert();

private:
  void addArguments();
  /// Whether a decision is switched on, an i1.
  mlir::Value isOn(size_t decision);
  mlir::Value rounded(mlir::Value value, size_t decision,
                      mlir::OpBuilder &builder);

  mlir::func::FuncOp step;
  NarrowFormat format;
  std::vector<std::string> names;
  /// Values and operands, each with its decision.
  std::vector<std::pair<mlir::Value, size_t>> values;
  std::vector<std::pair<mlir::OpOperand *, size_t>> operands;
  mlir::Value first, last;
};

} // namespace tenon::precision

#endif // TENON_PRECISION_ROUNDINGSWITCHES_H
