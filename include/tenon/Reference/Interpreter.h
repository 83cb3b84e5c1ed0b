//===- Interpreter.h - The slow, obvious truth ----------------------------===//
//
// Evaluates functions of StableHLO operations one element at a time, rounding
// after every operation. Reductions and dots of 16-bit types accumulate in f32,
// as the compiled code does, and subnormal numbers are kept or flushed as
// there. The truth for every test; speed is no goal.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_REFERENCE_INTERPRETER_H
#define TENON_REFERENCE_INTERPRETER_H

#include "tenon/Reference/Tensor.h"
#include "tenon/Support/Subnormals.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <vector>

namespace tenon::reference {

using Tensors = llvm::SmallVector<Tensor, 2>;

struct InterpreterLimits {
  /// Operations evaluated in all, loop iterations included.
  int64_t operations = 1'000'000'000;
  /// Elements of all values that are alive at a time.
  int64_t elements = 1'000'000'000;
  /// Calls of functions within each other.
  int64_t calls = 200;
};

/// Why a program was not interpreted to its end.
enum class Failure {
  none,
  unsupported,  // an operation that has no evaluator
  limit,        // too many operations, elements or nested calls
  disagreement, // an expectation does not hold
  other,        // values or devices that make no sense
};

class Devices;

class Interpreter {
public:
  /// `devices`, if given, are those that `process` meets in collectives;
  /// otherwise there is one device.
  explicit Interpreter(Subnormals subnormals, InterpreterLimits limits = {},
                       Devices *devices = nullptr, int64_t process = 0);
  ~Interpreter();

  /// The results of a function; fails with a diagnostic at the operation that
  /// is not supported or exceeds a limit. Arguments must have the function's
  /// argument types.
  mlir::FailureOr<Tensors> run(mlir::func::FuncOp function,
                               llvm::ArrayRef<Tensor> arguments);

  /// Why the last run failed.
  Failure failure() const { return reason; }

  /// The results of a function that `op` calls: its body sees its arguments and
  /// nothing else.
  mlir::FailureOr<Tensors> call(mlir::Operation *op, mlir::Region &body,
                                llvm::ArrayRef<Tensor> arguments);

  /// The values a region with one block hands to its terminator; values from
  /// outside the region are visible.
  mlir::FailureOr<Tensors> evaluate(mlir::Region &region,
                                    llvm::ArrayRef<Tensor> arguments);

  /// Evaluates a reducer on scalars. 16-bit types are kept in f32, so that a
  /// running value is rounded only once by the caller.
  mlir::FailureOr<llvm::SmallVector<Element>>
  reduce(mlir::Region &region, llvm::ArrayRef<Element> arguments);

  /// Rounds to a type, or to f32 for 16-bit types while a reducer runs.
  Element roundTo(Element value, mlir::Type type) const;

  /// Makes a value from outside known to the regions that are evaluated.
  void define(mlir::Value value, const Tensor &tensor) {
    values[value] = tensor;
  }

  Subnormals subnormals() const { return ofSubnormals; }
  const InterpreterLimits &limits() const { return bounds; }
  Devices &devices() const { return *meeting; }
  /// Whether there is one device because none was given.
  bool isAlone() const { return alone != nullptr; }
  int64_t process() const { return number; }

  /// The values that a future stands for.
  void promise(mlir::Value future, Tensors values) {
    futures[future] = std::move(values);
  }
  std::optional<Tensors> promised(mlir::Value future) const {
    auto found = futures.find(future);
    return found == futures.end() ? std::nullopt : std::optional(found->second);
  }

  /// Reports an operation that has no evaluator, or says something, `what`,
  /// that has none.
  mlir::LogicalResult unsupported(mlir::Operation *op,
                                  const llvm::Twine &what = "");
  void noteDisagreement() { reason = Failure::disagreement; }

  /// Evaluates one operation on values of its operands.
  mlir::LogicalResult evaluate(mlir::Operation &op,
                               llvm::ArrayRef<Tensor> operands,
                               Tensors &results);

private:
  mlir::LogicalResult evaluate(mlir::Operation &op);
  /// As the public one, but counts towards the limits.
  mlir::LogicalResult evaluateCounted(mlir::Operation &op,
                                      llvm::ArrayRef<Tensor> operands,
                                      Tensors &results);
  /// Makes a tensor the value of `value`; fails, with a diagnostic at `op`, if
  /// there are too many elements then.
  mlir::LogicalResult set(mlir::Operation *op, mlir::Value value,
                          Tensor tensor);
  mlir::LogicalResult exceed(mlir::Operation *op, int64_t limit,
                             llvm::StringRef what);

  Subnormals ofSubnormals;
  InterpreterLimits bounds;
  std::unique_ptr<Devices> alone;
  Devices *meeting;
  int64_t number;
  Failure reason = Failure::none;
  int64_t evaluated = 0, alive = 0, depth = 0;
  bool accumulating = false;
  llvm::DenseMap<mlir::Value, Tensor> values;
  llvm::DenseMap<mlir::Value, Tensors> futures;
};

/// What a function returns on each of some simulated devices, which are the
/// partitions of one replica: one list of arguments and of results per device.
mlir::FailureOr<std::vector<Tensors>>
runOnDevices(mlir::func::FuncOp function, llvm::ArrayRef<Tensors> arguments,
             Subnormals subnormals, InterpreterLimits limits = {});

/// One operation: its operands' values in, its results' values out.
using Evaluate = mlir::LogicalResult (*)(mlir::Operation *op,
                                         Interpreter &interpreter,
                                         llvm::ArrayRef<Tensor> operands,
                                         Tensors &results);

/// The function that evaluates operations of this name, with no regard to
/// subnormal numbers; null if there is none.
Evaluate evaluatorFor(llvm::StringRef operation);

} // namespace tenon::reference

#endif // TENON_REFERENCE_INTERPRETER_H
