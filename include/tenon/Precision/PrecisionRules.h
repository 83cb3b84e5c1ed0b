//===- PrecisionRules.h - Number formats of operations --------------------===//
//
// The lines of PrecisionRules.td.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_PRECISIONRULES_H
#define TENON_PRECISION_PRECISIONRULES_H

#include "mlir/IR/Operation.h"

namespace tenon::precision {

#define GET_OperandRule_DECL
#define GET_ResultRule_DECL
#include "tenon/Precision/PrecisionRules.h.inc"

struct PrecisionRule {
  const char *Operation;
  OperandRule Operands;
  ResultRule Result;
};

/// The operation's line. What has none keeps its formats. The largest of each
/// window, and what goes where it was, only move elements.
const PrecisionRule &ruleOf(mlir::Operation *op);

} // namespace tenon::precision

#endif // TENON_PRECISION_PRECISIONRULES_H
