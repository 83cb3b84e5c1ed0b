//===- ShareReads.cpp - Kernels that read the same become one ------------===//
//
// Groups are formed along values that one computes and another reads. Two that
// need nothing of each other but read the same values would read them twice:
//
//   g = gelu(h)         computed again, for the gradient of the weights behind
//   ...
//   d = dy * gelu'(h)   the gradient
//
// They must not be far apart in the program: what the one waits for the other
// waits for, too, and its results with it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Cost/KernelCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/JoinGroups.h"
#include "tenon/Target/GpuArchitectures.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_SHAREREADSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// Sums over columns stay kernels of their own: launches of them are gathered
/// later, and until then each is free to run when it frees most.
bool mayShare(step::GroupOp group) {
  return isLoopKernel(group) && group.getKind() != step::GroupKind::column;
}

/// Whether both read a value that is as large as anything they compute.
bool readSame(step::GroupOp first, step::GroupOp second) {
  int64_t most = 0;
  for (step::GroupOp group : {first, second})
    for (Value result : group.getOutputs())
      most = std::max(most, elementCount(shapeOf(result)));
  return llvm::any_of(second.getInputs(), [&](Value input) {
    return elementCount(shapeOf(input)) >= most &&
           llvm::is_contained(first.getInputs(), input);
  });
}

/// The value that a chain of reshapes looks at.
Value viewed(Value value) {
  while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

/// Whether a value of this block is read by these operations for the last time,
/// or by what stands before `end`.
bool isReadLast(Value value, Operation *end,
                const llvm::SmallPtrSetImpl<Operation *> &behind) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(user))
      return isReadLast(reshape.getResult(), end, behind);
    Operation *inBlock = end->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && !behind.contains(inBlock) &&
           !end->isBeforeInBlock(inBlock);
  });
}

/// What a value takes in memory, or would without the compiler's formats.
int64_t bytesOf(Value value, bool narrowAsF32) {
  const int64_t bytes = storedBytes(value.getType());
  const bool isNarrow = getElementTypeOrSelf(value).isBF16();
  return narrowAsF32 && isNarrow ? 2 * bytes : bytes;
}

/// Whether a kernel that was made of two, the second of which stands behind it,
/// reads values for the last time that are together as large as what it
/// computes. What waits for it is to run behind it.
bool leavesNoMore(step::GroupOp joined, step::GroupOp second,
                  ArrayRef<Operation *> waiting, bool narrowAsF32) {
  llvm::SmallPtrSet<Operation *, 8> behind(waiting.begin(), waiting.end());
  int64_t more = 0;
  for (Value result : joined.getOutputs())
    more += bytesOf(result, narrowAsF32);
  llvm::SmallDenseSet<Value, 8> seen;
  for (Value input : joined.getInputs()) {
    Value source = viewed(input);
    Operation *producer = source.getDefiningOp();
    if (producer && producer->getBlock() == joined->getBlock() &&
        seen.insert(source).second && isReadLast(source, second, behind))
      more -= bytesOf(source, narrowAsF32);
  }
  return more <= 0;
}

struct ShareReads : public fusion::impl::ShareReadsPassBase<ShareReads> {
  using ShareReadsPassBase::ShareReadsPassBase;
  ShareReads(const fusion::ShareReadsPassOptions &options,
             const target::Target &machine)
      : ShareReadsPassBase(options), machine(machine) {}

  void runOnOperation() override {
    SmallVector<Block *> blocks = {&getOperation().getBody().front()};
    getOperation().walk([&](Operation *op) {
      if (isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
        for (Region &region : op->getRegions())
          blocks.push_back(&region.front());
    });
    for (Block *block : blocks)
      for (Operation *op = &block->front(); op; op = op->getNextNode())
        if (auto group = dyn_cast<step::GroupOp>(op); group && mayShare(group))
          while (step::GroupOp joined = joinWithEarlier(group))
            op = group = joined;
  }

private:
  /// The group and a kernel before it in one; null if there is none to join.
  step::GroupOp joinWithEarlier(step::GroupOp group) {
    int64_t apart = 0;
    for (Operation *op = group->getPrevNode(); op; op = op->getPrevNode())
      if (auto earlier = dyn_cast<step::GroupOp>(op)) {
        if (++apart > farthest)
          break;
        if (mayShare(earlier) && readSame(earlier, group))
          if (step::GroupOp joined = join(earlier, group))
            return joined;
      }
    return nullptr;
  }

  step::GroupOp join(step::GroupOp first, step::GroupOp second) {
    auto waiting = waitingFor(first, second);
    step::GroupOp joined =
        waiting ? joinGroups(first, second, /*keepsFirst=*/true) : nullptr;
    if (!joined)
      return nullptr;
    // Two kernels find no more in caches than one that reads what both read.
    const cost::Roofline one = cost::rooflineOf(joined, machine);
    const target::Rate &bandwidth = cost::bandwidthOf(one.bytes, machine);
    auto secondsOf = [&](const cost::Roofline &kernel) {
      const double memory =
          kernel.bytes / bandwidth.of(kernel.cores, machine.cores);
      return std::max(kernel.compute, memory) + kernel.start;
    };
    const double together = secondsOf(one),
                 apart = secondsOf(cost::rooflineOf(first, machine)) +
                         secondsOf(cost::rooflineOf(second, machine));
    if (together >= apart ||
        (keepMemory && !leavesNoMore(joined, second, *waiting, narrowAsF32))) {
      joined.erase();
      return nullptr;
    }
    remark::passed(
        joined.getLoc(),
        remark::RemarkOpts::name("SharedRead").category("fusion-share-reads"))
        << remark::add("{0}",
                       llvm::formatv("two kernels read the same: predicted to "
                                     "take {0:f2} us in one, {1:f2} us in two",
                                     together * 1e6, apart * 1e6)
                           .str());
    replaceByJoined(first, second, joined, *waiting);
    return joined;
  }

  /// By default one whose times resemble those of other GPUs.
  target::Target machine =
      target::builtInTarget(*target::gpuArchitectureNamed("sm_90"));
};

} // namespace

std::unique_ptr<Pass>
fusion::createShareReadsPass(ShareReadsPassOptions options,
                             const target::Target &machine) {
  return std::make_unique<ShareReads>(options, machine);
}
