//===- RecomputePrice.h - What it takes to compute a value again ---------===//
//
// The scale on which minimum cuts weigh keeping a value against computing it
// again: across the peak of a block, and across the rounds of two loops.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_RECOMPUTEPRICE_H
#define TENON_FUSION_RECOMPUTEPRICE_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace tenon::fusion {

/// What a minimum cut weighs is in sixteenths of a byte kept, so that
/// arithmetic has a price below it.
constexpr int64_t unitsPerByte = 16;

/// What computing the operation's result again costs, in those units; nothing
/// if it must not be.
std::optional<int64_t> recomputePrice(mlir::Operation *op);

/// Where `value` really lies: reshapes are other views of the same bytes.
mlir::Value storageOf(mlir::Value value);

} // namespace tenon::fusion

#endif // TENON_FUSION_RECOMPUTEPRICE_H
