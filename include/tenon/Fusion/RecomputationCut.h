//===- RecomputationCut.h - Which values to keep, which to make again ----===//
//
// One minimum cut decides which values are kept from where they are computed to
// where they are wanted again, and which are computed there a second time:
// across the peak of a block, and across the rounds of two loops. A value is
// available at the second place if it was kept (its bytes), or follows from
// available operands (the price of its arithmetic).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_RECOMPUTATIONCUT_H
#define TENON_FUSION_RECOMPUTATIONCUT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace tenon::fusion {

/// What computing the operation's result again costs, in sixteenths of a byte
/// kept, so that arithmetic has a price below it; nothing if it must not be.
std::optional<int64_t> recomputePrice(mlir::Operation *op);

/// Where `value` really lies: reshapes are other views of the same bytes.
mlir::Value storageOf(mlir::Value value);

/// Where the values are that the cut may choose among.
struct RecomputationScope {
  /// Whether the value is computed inside, where it may be computed again and
  /// the bytes that it takes are counted.
  llvm::function_ref<bool(mlir::Value)> isInside;
  /// Whether the value is at the second place whatever is chosen.
  llvm::function_ref<bool(mlir::Value)> isThereAnyway;
  /// The bytes that keeping the value takes.
  llvm::function_ref<int64_t(mlir::Value)> bytesOf;
  /// What computing again costs.
  llvm::function_ref<std::optional<int64_t>(mlir::Operation *)> priceOf =
      recomputePrice;
};

struct RecomputationChoice {
  int64_t saved = 0;                  // bytes
  int64_t kept = 0;                   // bytes
  llvm::DenseSet<mlir::Value> copied; // computed again rather than kept
};

/// The cheapest way to have all of `wanted`, values that are kept now, at the
/// second place; nothing if that saves few bytes.
std::optional<RecomputationChoice>
chooseRecomputation(llvm::ArrayRef<mlir::Value> wanted,
                    const RecomputationScope &scope);

} // namespace tenon::fusion

#endif // TENON_FUSION_RECOMPUTATIONCUT_H
