//===- Checker.h - Operations against the table of error bounds ---------===//
//
// What Check.cpp does with whole modules and Lowered.cpp with steps whose
// precision was lowered: each operation is judged by itself.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_RANDOM_CHECKER_H
#define TENON_TEST_RANDOM_CHECKER_H

#include "Check.h"

#include "tenon/Driver/Compiler.h"
#include "tenon/Reference/ErrorBound.h"
#include "tenon/Reference/Interpreter.h"
#include "tenon/Runtime/Executor.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace tenon::random {

/// Holds each operation of a function to the table of error bounds, on operands
/// that the compiled code computed where it returns them.
class Checker {
public:
  /// What the compiled code computed for a value, if it returned it.
  using Compiled = std::function<std::optional<reference::Tensor>(mlir::Value)>;

  Checker(mlir::func::FuncOp main, Subnormals subnormals, Compiled compiled)
      : main(main), subnormals(subnormals), compiled(std::move(compiled)) {}

  /// Says that the code is a GPU's: where others are flushed, it keeps
  /// subnormal numbers of f64, and those that tensor cores or a library
  /// multiply.
  void setOnGpu() { onGpu = true; }

  /// Says what an argument's value is.
  void define(mlir::Value argument, reference::Tensor value) {
    values[argument] = std::move(value);
  }

  CheckResult run();

private:
  bool check(mlir::Operation &op);
  /// Whether subnormal numbers may be kept although they are flushed.
  bool mayKeep(mlir::Operation &op) const;
  void differ(mlir::Operation &op, llvm::StringRef who,
              const std::string &difference);
  std::optional<std::string> outside(const reference::Tensor &found,
                                     llvm::ArrayRef<reference::Tensor> operands,
                                     const reference::Enclosure &allowed);
  /// What the interpreter makes of these operands.
  mlir::FailureOr<reference::Tensors>
  interpret(mlir::Operation &op, llvm::ArrayRef<reference::Tensor> operands,
            Subnormals subnormals);
  /// Why a result is not what the interpreter makes of these operands.
  std::optional<std::string>
  difference(mlir::Operation &op, llvm::ArrayRef<reference::Tensor> operands,
             unsigned index, const reference::Tensor &found,
             const reference::Tensor &interpreted);

  /// Whether a result is one that is allowed where subnormal numbers are kept,
  /// if they may be.
  bool isWithinKept(mlir::Operation &op,
                    llvm::ArrayRef<reference::Tensor> operands, unsigned index,
                    const reference::Tensor &found);

  mlir::func::FuncOp main;
  Subnormals subnormals;
  bool onGpu = false;
  Compiled compiled;
  llvm::DenseMap<mlir::Value, reference::Tensor> values;
  CheckResult result;
};

/// What @main has to return so that each of its operations can be judged by
/// itself: every result that is not exact, and those whose bits are looked at.
llvm::SmallVector<mlir::Value> valuesToJudge(mlir::func::FuncOp main);

/// The options that `options` asks for, with the form checked after each stage.
driver::CompileOptions compileOptions(const CheckOptions &options,
                                      Subnormals subnormals);

/// The compiled program, loaded; null, with `failure` filled in, if there is
/// none.
std::unique_ptr<runtime::Executor>
compileAndLoad(const driver::CompileOptions &options,
               const runtime::ExecutorOptions &running, std::string &failure);

/// As checkModule, of the step that lowering its precision makes of the file.
CheckResult checkLowered(const std::string &path, const CheckOptions &options,
                         Subnormals subnormals);

} // namespace tenon::random

#endif // TENON_TEST_RANDOM_CHECKER_H
