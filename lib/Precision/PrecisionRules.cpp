//===- PrecisionRules.cpp - Number formats of operations ------------------===//
//
// See PrecisionRules.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/PrecisionRules.h"

#include "tenon/Analysis/Windows.h"

#include "llvm/ADT/StringMap.h"

namespace tenon::precision {
#define GET_PrecisionRules_IMPL
#include "tenon/Precision/PrecisionRules.h.inc"
} // namespace tenon::precision

using namespace tenon::precision;

const PrecisionRule &tenon::precision::ruleOf(mlir::Operation *op) {
  static const llvm::StringMap<const PrecisionRule *> rules = [] {
    llvm::StringMap<const PrecisionRule *> byName;
    for (const PrecisionRule &rule : PrecisionRules)
      byName[rule.Operation] = &rule;
    return byName;
  }();
  static constexpr PrecisionRule none{"", keeps, wide};
  static constexpr PrecisionRule movement{"", moves, stored};
  if (auto pool = mlir::dyn_cast<tenon::stablehlo::ReduceWindowOp>(op))
    if (picksElements(pool))
      return movement;
  if (auto pool = mlir::dyn_cast<tenon::stablehlo::SelectAndScatterOp>(op))
    if (placesElements(pool))
      return movement;
  const PrecisionRule *rule = rules.lookup(op->getName().getStringRef());
  return rule ? *rule : none;
}
