//===- Succession.h - State and what replaces it --------------------------===//
//
// What every form with a function @main keeps of import's work: each result
// that becomes an argument of the next step belongs to one state.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_SUCCESSION_H
#define TENON_DIALECT_STEP_SUCCESSION_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tenon::step {

/// Whether each successor belongs to state and to one argument alone, and what
/// holds a tensor in parts is replaced part by part (Holding.h); reports the
/// first that does not.
mlir::LogicalResult verifySuccession(mlir::FunctionOpInterface main);

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_SUCCESSION_H
