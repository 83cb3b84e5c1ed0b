//===- PlanForXla.h - Recomputation that XLA keeps ------------------------===//
//
// Chooses what a step computes again so that XLA's temporaries fit a number of
// bytes, and writes that so that XLA does neither merge the copies with their
// originals nor run them early (Tie.h). The problem's nodes are clusters
// (XlaClusters.h) in an order XLA can be made to follow; what comes out is
// predicted (XlaMemory.h) and, where the prediction is too large, planned again
// with less, a few times.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_STABLEHLO_PLANFORXLA_H
#define TENON_CODEGEN_STABLEHLO_PLANFORXLA_H

#include "tenon/Codegen/StableHLO/XlaMemory.h"
#include "tenon/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tenon::codegen {

struct XlaPlan {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t temporaries = 0;            // predicted bytes
  int64_t live = 0;                   // bytes at the peak of the planned order
  int64_t dots = 0, convolutions = 0; // that run again
  int64_t clusters = 0;               // that run again, those included
  int64_t ties = 0;
  int64_t nanoseconds = 0, baseNanoseconds = 0; // predicted, with and without
};

/// The bytes XLA is expected to need for its temporaries in a step.
int64_t predictedTemporaries(mlir::func::FuncOp main);

/// What to predict at most so that XLA stays within that many bytes: it needs
/// up to half more than is predicted.
inline int64_t withRoomToSpare(int64_t temporaries) {
  return temporaries - temporaries / 4;
}

/// Plans the step @main of `module`, which calls no function, for at most
/// `temporaries` bytes with room to spare. The plan
/// with the fewest predicted bytes if none fits; nothing if the problem is not
/// well formed. `machine` prices what is computed again.
std::optional<XlaPlan> planForXla(mlir::ModuleOp module, int64_t temporaries,
                                  const target::Target &machine);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_STABLEHLO_PLANFORXLA_H
