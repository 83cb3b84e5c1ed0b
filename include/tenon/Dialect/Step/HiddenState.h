//===- HiddenState.h - State that users do not see ------------------------===//
//
// A stage may add state that users neither give nor find: an argument and the
// result that replaces it, both with a name that begins with `__tenon__.`, and
// on the argument what it is before the first step:
//
//   step.initial = dense<6.553600e+04> : tensor<f32>
//
// Such arguments and results stand behind all that users see, whose numbers
// stay as they are. The entry point `init` of the file fills them; so one
// element repeated is all that an initial value may be.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_HIDDENSTATE_H
#define TENON_DIALECT_STEP_HIDDENSTATE_H

#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tenon::step {

/// On an argument of @main that is hidden state, a tensor that repeats one
/// element: its value before the first step.
inline constexpr llvm::StringLiteral initialAttrName = "step.initial";

/// Whether the name is one for hidden state.
bool isHiddenName(llvm::StringRef name);

/// The initial value of an argument with these attributes; null if users see
/// it.
mlir::SplatElementsAttr initialValueOf(mlir::DictionaryAttr attributes);

/// Adds hidden state of the initial value's type to @main. Its successor is the
/// last result, which is the state itself until the caller sets the last
/// operand of the function's end to what comes next. `name` comes without the
/// prefix.
mlir::BlockArgument addHiddenState(mlir::func::FuncOp main,
                                   llvm::StringRef name,
                                   mlir::SplatElementsAttr initial, Role role,
                                   llvm::StringRef reason);

/// Adds a result that users see, in front of those that replace hidden state,
/// and returns its number.
unsigned addVisibleResult(mlir::func::FuncOp main, mlir::Value value,
                          const llvm::Twine &name);

/// Whether hidden state has its name, its initial value and a successor, and
/// stands behind what users see; reports the first that does not.
mlir::LogicalResult verifyHiddenState(mlir::FunctionOpInterface main);

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_HIDDENSTATE_H
