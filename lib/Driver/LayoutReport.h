//===- LayoutReport.h - What is said of layouts and their price -----------===//
//
// Figures of a step on a mesh, for the report, for people and for the file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_LAYOUTREPORT_H
#define TENON_LIB_DRIVER_LAYOUTREPORT_H

#include "tenon/Sharding/ChooseLayouts.h"

#include "llvm/Support/JSON.h"

namespace tenon::driver {

/// What is predicted and proved of a choice, in a line.
std::string proofText(const sharding::LayoutChoice &choice,
                      const sharding::StepPrice &price);

/// Adds seconds, bytes and collectives.
void reportPrice(const sharding::StepPrice &price, llvm::json::Object &details);

/// Adds cost and bound of the choice, and a line per argument of the
/// partitioned
/// @main with its layout, the reason, and the next best.
void reportChoice(const sharding::LayoutChoice &choice, mlir::func::FuncOp main,
                  const sharding::Mesh &mesh, llvm::json::Object &details);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_LAYOUTREPORT_H
