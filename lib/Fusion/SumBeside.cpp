//===- SumBeside.cpp - Sums over rows, by a kernel that has the rows ------===//
//
// The gradients of a norm's factors and of a bias are sums over all rows of
// what another kernel computes, or reads anyway. A kernel of its own would read
// all of that once more:
//
//   dx, p = norm's gradient of dy       row
//   s = sum of p, t = sum of dy         column
//
// becomes one kernel, and p is not written if nobody else reads it. What a
// kernel of columns does with such a sum is left to a kernel of elements.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/SummingKernel.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Fusion/GroupLegality.h"
#include "tenon/Fusion/JoinGroups.h"
#include "tenon/Fusion/SumChain.h"
#include "tenon/Target/GpuArchitectures.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_SUMBESIDEPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

bool isSumming(step::GroupOp group) {
  return group.getKind() == step::GroupKind::generic &&
         SummingKernel::of(KernelDescription(group.getBody().front()));
}

/// Whether the group computes elements or rows, and may sum already.
bool mayHost(step::GroupOp group) {
  return group.getKind() == step::GroupKind::elementwise ||
         group.getKind() == step::GroupKind::row || isSumming(group);
}

/// What a kernel of columns adds up, if it is one value and all that it reads
/// beside it is a single number.
Value summedBy(step::GroupOp group) {
  if (group.getKind() != step::GroupKind::column)
    return nullptr;
  Value summed;
  for (Value input : group.getInputs()) {
    if (cast<RankedTensorType>(input.getType()).getNumElements() == 1)
      continue;
    if (summed)
      return nullptr;
    summed = input;
  }
  return summed;
}

/// A kernel of columns as one that sums and one that does the rest, in its
/// place; it stays itself.
struct SplitColumns {
  step::GroupOp sum, rest;
};

/// Nothing of one that does nothing but sum, or sums several values.
std::optional<SplitColumns> splitColumns(step::GroupOp group) {
  if (group.getKind() != step::GroupKind::column || summedBy(group))
    return std::nullopt;
  SmallVector<stablehlo::ReduceOp> reductions;
  KernelDescription kernel(group.getBody().front());
  llvm::append_range(reductions, kernel.reductions());
  auto sum = reductions.size() == 1 && reductions[0].getNumResults() == 1
                 ? operandSum(reductions[0].getResult(0))
                 : std::nullopt;
  if (!sum || !sum->operand.hasOneUse())
    return std::nullopt;
  Value summed = group.getInputs()[sum->operand.getArgNumber()];
  OpBuilder builder(group);
  auto alone = step::GroupOp::create(builder, group.getLoc(),
                                     sum->reduce->getResultTypes(), summed,
                                     step::GroupKind::column);
  Block *body = builder.createBlock(&alone.getBody(), {}, summed.getType(),
                                    group.getLoc());
  IRMapping mapping;
  mapping.map(sum->operand, body->getArgument(0));
  for (Value read :
       {sum->reduce.getInputs()[0], sum->reduce.getInitValues()[0]})
    if (Operation *op = read.getDefiningOp())
      builder.clone(*op, mapping);
  Operation *copy = builder.clone(*sum->reduce, mapping);
  step::YieldOp::create(builder, group.getLoc(), copy->getResults());
  builder.setInsertionPoint(group);
  step::GroupOp rest = withSumOf(
      builder, {{group}, *sum}, alone.getResult(0),
      step::GroupKind::elementwise,
      [](OpBuilder &, stablehlo::ReduceOp, Value sums) { return sums; });
  if (kindOf(KernelDescription(rest.getBody().front())) ==
      step::GroupKind::elementwise)
    return SplitColumns{alone, rest};
  rest.erase();
  alone.erase();
  return std::nullopt;
}

/// Leaves out the results that nobody reads.
void dropUnread(step::GroupOp group) {
  SmallVector<Value> values;
  SmallVector<OpResult> read;
  Operation *yield = group.getBody().front().getTerminator();
  for (auto [result, value] :
       llvm::zip_equal(group->getResults(), yield->getOperands()))
    if (!result.use_empty()) {
      read.push_back(result);
      values.push_back(value);
    }
  if (read.size() == group.getNumResults())
    return;
  step::GroupOp smaller = withResults(group, values);
  for (auto [before, now] : llvm::zip_equal(read, smaller->getResults()))
    before.replaceAllUsesWith(now);
  group.erase();
}

struct SumBeside : public fusion::impl::SumBesidePassBase<SumBeside> {
  using SumBesidePassBase::SumBesidePassBase;
  SumBeside(const target::Target &machine, MayCompute mayCompute)
      : machine(machine), mayCompute(std::move(mayCompute)) {}

  void runOnOperation() override {
    SmallVector<step::GroupOp> columns;
    getOperation().walk([&](step::GroupOp group) {
      if (summedBy(group))
        columns.push_back(group);
    });
    for (step::GroupOp group : columns)
      joinHost(group);

    columns.clear();
    getOperation().walk([&](step::GroupOp group) {
      if (group.getKind() == step::GroupKind::column)
        columns.push_back(group);
    });
    for (step::GroupOp group : columns)
      if (auto split = splitColumns(group))
        joinHalf(group, *split);
  }

private:
  /// Has the halves take the place of the group if the sum joins a kernel.
  void joinHalf(step::GroupOp group, const SplitColumns &halves) {
    // The rest may be a node of the graph where the group was part of one,
    // which takes longer than the start of a kernel that plans count.
    constexpr double startsOfNode = 3;
    const double apart = cost::costOf(group, machine).seconds -
                         cost::costOf(halves.rest, machine).seconds -
                         startsOfNode * machine.overheads.launch;
    step::GroupOp sum = halves.sum, rest = halves.rest;
    group->replaceAllUsesWith(rest);
    if (joinHost(sum, apart)) {
      group.erase();
      return;
    }
    rest->replaceAllUsesWith(group);
    rest.erase();
    sum.erase();
  }

  bool joinHost(step::GroupOp columns) {
    return joinHost(columns, cost::costOf(columns, machine).seconds);
  }

  /// Joins the kernel that computes what is summed, or else one that reads it,
  /// if that takes less than `apart` seconds more.
  bool joinHost(step::GroupOp columns, double apart) {
    llvm::SmallSetVector<Operation *, 4> hosts;
    Value summed = summedBy(columns);
    if (Operation *writer = summed.getDefiningOp())
      hosts.insert(writer);
    hosts.insert_range(summed.getUsers());
    for (Operation *op : hosts)
      if (auto host = dyn_cast<step::GroupOp>(op);
          host && mayHost(host) && host->getBlock() == columns->getBlock() &&
          join(host, columns, apart))
        return true;
    return false;
  }

  /// Of the two the later one runs earlier if it is the sum, and the sum later
  /// if not, together with what waits for it.
  bool join(step::GroupOp host, step::GroupOp columns, double secondsApart) {
    const bool isBehind = host->isBeforeInBlock(columns);
    SmallVector<Operation *> waiting;
    Operation *next = columns->getNextNode();
    if (isBehind) {
      for (Value input : columns.getInputs())
        if (Operation *writer = input.getDefiningOp();
            writer && writer->getBlock() == host->getBlock() &&
            host->isBeforeInBlock(writer))
          return false;
      columns->moveAfter(host);
    } else if (auto needing = waitingFor(columns, host)) {
      waiting = std::move(*needing);
    } else {
      return false;
    }
    step::GroupOp first = isBehind ? host : columns,
                  second = isBehind ? columns : host;
    step::GroupOp joined =
        joinGroups(first, second, /*keepsFirst=*/true, Sums::beside);
    if (!joined || !isBetter(joined, host, secondsApart)) {
      if (joined)
        joined.erase();
      columns->moveBefore(next);
      return false;
    }
    replaceByJoined(first, second, joined, waiting);
    dropUnread(joined);
    return true;
  }

  bool isBetter(step::GroupOp joined, step::GroupOp host, double secondsApart) {
    if (!isSumming(joined) || !mayCompute(joined))
      return false;
    const double together = cost::costOf(joined, machine).seconds,
                 apart = cost::costOf(host, machine).seconds + secondsApart;
    if (together >= apart)
      return false;
    remark::passed(
        joined.getLoc(),
        remark::RemarkOpts::name("SummedBeside").category("fusion-sum-beside"))
        << remark::add("{0}",
                       llvm::formatv("a kernel sums over what it has of "
                                     "elements: predicted to take {0:f2} "
                                     "us in one, {1:f2} us in two",
                                     together * 1e6, apart * 1e6)
                           .str());
    return true;
  }

  /// By default one whose times resemble those of other GPUs.
  target::Target machine =
      target::builtInTarget(*target::gpuArchitectureNamed("sm_90"));
  /// By default whatever a group may hold.
  MayCompute mayCompute = [](step::GroupOp) { return true; };
};

} // namespace

std::unique_ptr<Pass> fusion::createSumBesidePass(const target::Target &machine,
                                                  MayCompute mayCompute) {
  return std::make_unique<SumBeside>(machine, std::move(mayCompute));
}
