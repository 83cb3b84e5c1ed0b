//===- Passes.h - Passes of the precision stage ---------------------------===//
//
// Declarations of the passes that give the values of a step number formats, and
// their registration. Passes.td says what each of them does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_PASSES_H
#define TENON_PRECISION_PASSES_H

#include "tenon/Precision/FormatReport.h"
#include "tenon/Precision/LossScalingReport.h"
#include "tenon/Precision/NarrowFormat.h"
#include "tenon/Precision/Outlook.h"

#include "mlir/Pass/Pass.h"
#include <memory>

namespace tenon::precision {

/// What is done with the f32 state that products read in 16 bits.
enum class StateHolding { none, parts, bf16 };

#define GEN_PASS_DECL
#include "tenon/Precision/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tenon/Precision/Passes.h.inc"

/// An operation below `root` that adds up floats in 16 bits; null if there is
/// none.
mlir::Operation *narrowSum(mlir::Operation *root);

/// The pass for a step with numbered operations whose kernels are known, on a
/// machine; what is settled stays, `report` is filled in, remarks are left out,
/// and numbers stay.
std::unique_ptr<mlir::Pass>
createChooseFormatsPass(ChooseFormatsPassOptions options,
                        const target::Target &machine,
                        std::vector<PlannedKernel> kernels,
                        SettledFormats settled, FormatReport &report);

/// Remarks that say what was decided.
void explainFormats(const FormatReport &report);

/// The pass that scales the loss; `report` says what it did, but for the bytes
/// of gradients, which are known once formats are chosen.
std::unique_ptr<mlir::Pass> createScaleLossPass(LossScalingReport &report);

/// The tensors whose infinite elements a step counts, in the order of its
/// counters.
std::vector<std::string> countedTensors(mlir::func::FuncOp step);

/// Counts the gradients that a step with formats looks at before it replaces
/// state, and says in a remark what that takes. Nothing if no loss is scaled.
void countGradients(mlir::func::FuncOp step, LossScalingReport &report);

} // namespace tenon::precision

#endif // TENON_PRECISION_PASSES_H
