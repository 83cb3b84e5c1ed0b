//===- JoinEntry.h - A further entry point of a program -------------------===//
//
// Private to this folder. An entry point beside the step, such as an
// evaluation, comes as a module of its own and goes through the same stages up
// to exec form. Then its program joins the step's module: arguments that are
// state read it where the step has it, all others become inputs of the entry
// point; temporaries lie in the same bytes. State that the step holds in
// another form, as bf16 or in two parts, is read in that form: its arguments
// are marked before the entry point is lowered.
//
//     step    @state  params.w @0     @batch  x @0        @temporaries 4096
//     eval    @batch  params.w @0, x @256                 @temporaries 8192
//     both    @state  params.w @0     @batch  x @0, eval.x @64
//                                                         @temporaries 8192
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_JOINENTRY_H
#define TENON_LIB_DRIVER_JOINENTRY_H

#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace tenon::driver {

/// What was found out about an entry point.
struct JoinedEntry {
  std::string summary;       // lines for people
  llvm::json::Object report; // per argument, what it is
};

/// For each argument of an entry point in step form, the state of the step, in
/// exec form, that it is by its name; null for an input of its own. Of state
/// that is held in parts it is the first, unless the argument is a part itself.
llvm::SmallVector<exec::TensorOp> stateArguments(mlir::ModuleOp step,
                                                 mlir::func::FuncOp entry);

/// Marks the arguments of an entry point in step form that are state which the
/// step, in exec form, holds in another form, with that (step.holds).
void markHeldState(mlir::ModuleOp step, mlir::func::FuncOp entry);

/// Moves the program of `entry` into `step`, both in exec form and of one
/// context. `entry` is no use afterwards. False with a message in `error` if an
/// argument that belongs to the state is none of the step's, or a result would
/// replace state.
bool joinEntry(mlir::ModuleOp step, mlir::ModuleOp entry, llvm::StringRef name,
               JoinedEntry &joined, std::string &error);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_JOINENTRY_H
