//===- Passes.h - Passes of the stage Sharding ----------------------------===//
//
// Declarations of the passes that make a step one for many devices, and their
// registration. Passes.td says what each of them does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_PASSES_H
#define TENON_SHARDING_PASSES_H

#include "tenon/Sharding/Prices.h"
#include "tenon/Sharding/Propagate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace tenon::sharding {

#define GEN_PASS_DECL
#include "tenon/Sharding/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tenon/Sharding/Passes.h.inc"

/// What is asked for in a module in step form and in the text of a file of
/// layouts; reports what is wrong with either, and where. `mesh` is taken from
/// the module if it has no axes.
mlir::FailureOr<AskedLayouts> readAskedLayouts(mlir::ModuleOp module,
                                               Mesh &mesh, llvm::StringRef text,
                                               llvm::StringRef fileName);

/// Replaces @main by what each device of the mesh runs. Fails, with a
/// diagnostic, where the module holds what is none of step form. With `prices`
/// it fills in what the step takes.
mlir::LogicalResult partition(mlir::ModuleOp module, const Mesh &mesh,
                              LayoutPlan plan, const Prices *prices = nullptr,
                              StepPrice *price = nullptr);
/// The same with the layouts that follow from what is asked for.
mlir::LogicalResult partition(mlir::ModuleOp module, const Mesh &mesh,
                              const AskedLayouts &asked);

} // namespace tenon::sharding

#endif // TENON_SHARDING_PASSES_H
