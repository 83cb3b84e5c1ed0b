//===- LaunchParts.cpp - Into how many parts a kernel is worth cutting ----===//
//
// See LaunchParts.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/LaunchParts.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;

namespace {
/// Launches of fewer elements are not worth a second thread.
constexpr int64_t elementsPerPart = 4096;
constexpr int64_t maximalParts = 64;
} // namespace

/// Whether a group only picks elements of its operand `input` or, if it
/// overwrites it, only replaces some: its work is not that of the whole.
static bool touchesSome(step::GroupOp group, size_t input, bool overwrites) {
  BlockArgument argument = group.getBody().getArgument(input);
  return llvm::all_of(argument.getUses(), [&](OpOperand &use) {
    if (use.getOperandNumber() != 0)
      return false;
    Operation *user = use.getOwner();
    return isa<stablehlo::SliceOp, stablehlo::DynamicSliceOp,
               stablehlo::GatherOp>(user) ||
           (overwrites &&
            isa<stablehlo::DynamicUpdateSliceOp, stablehlo::ScatterOp>(user));
  });
}

int64_t tenon::launchParts(step::GroupOp group, ArrayRef<int64_t> inPlace) {
  int64_t elements = 1;
  auto touch = [&](Value value) {
    elements = std::max(
        elements, cast<RankedTensorType>(value.getType()).getNumElements());
  };
  SmallVector<bool> replacesSome(group.getNumOperands());
  for (auto [index, operand] : llvm::enumerate(group.getInputs())) {
    bool overwrites = llvm::is_contained(inPlace, int64_t(index));
    bool some = touchesSome(group, index, overwrites);
    replacesSome[index] = some && overwrites;
    if (!some)
      touch(operand);
  }
  for (auto [output, overwritten] :
       llvm::zip_equal(group.getOutputs(), inPlace))
    if (overwritten < 0 || !replacesSome[overwritten])
      touch(output);
  return std::clamp<int64_t>(elements / elementsPerPart, 1, maximalParts);
}

int64_t tenon::launchParts(step::GroupOp group) {
  SmallVector<int64_t> inPlace;
  for (Value yielded : group.getBody().front().getTerminator()->getOperands()) {
    Operation *update = yielded.getDefiningOp();
    auto replaced =
        isa_and_nonnull<stablehlo::DynamicUpdateSliceOp, stablehlo::ScatterOp>(
            update)
            ? dyn_cast<BlockArgument>(update->getOperand(0))
            : BlockArgument();
    inPlace.push_back(replaced ? int64_t(replaced.getArgNumber()) : -1);
  }
  return launchParts(group, inPlace);
}
