//===- PrecisionRules.cpp - Number formats of operations ------------------===//
//
// See PrecisionRules.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/PrecisionRules.h"

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
  const PrecisionRule *rule = rules.lookup(op->getName().getStringRef());
  return rule ? *rule : none;
}
