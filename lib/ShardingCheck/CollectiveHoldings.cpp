//===- CollectiveHoldings.cpp - What collectives make of holdings ---------===//
//
// What collectives make of what is held; also sums that are written as an
// exchange of rows, their sum in the order of the ranks, and a gathering of the
// sums, and terms that a device adds up before all do.
//
//===----------------------------------------------------------------------===//

#include "Identities.h"
#include "PartitionChecker.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

bool PartitionChecker::movesOnly(Operation *op) {
  return isa<stablehlo::AllGatherOp, stablehlo::AllToAllOp,
             stablehlo::CollectivePermuteOp>(op) &&
         op->getNumOperands() == 1;
}

std::optional<Holding> PartitionChecker::movedBetween(Operation *op,
                                                      const Holding &held) {
  if (auto permute = dyn_cast<stablehlo::CollectivePermuteOp>(op))
    return permuted(held, *sourcesOf(permute));
  const Groups groups = *groupsOf(op, devices);
  if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op))
    return gathered(held, groups, gather.getAllGatherDim());
  auto exchange = cast<stablehlo::AllToAllOp>(op);
  return exchanged(held, groups, exchange.getSplitDimension(),
                   exchange.getConcatDimension());
}

void PartitionChecker::visitCollective(Operation *op) {
  if (op->getNumOperands() != 1)
    return;
  if (movesOnly(op))
    return addMoved(
        op, [&](const Holding &held) { return movedBetween(op, held); });
  const Groups groups = *groupsOf(op, devices);
  auto combine = combineOf(op->getRegion(0));
  auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op);
  if (combine)
    addMoved(op, [&](const Holding &held) {
      auto result = reduced(held, groups, *combine);
      return scatter && result
                 ? scattered(*result, groups, scatter.getScatterDimension())
                 : result;
    });
}

void PartitionChecker::visitExchangeOfRows(Operation *op) {
  if (op->getNumOperands() != 1)
    return;
  Value operand = op->getOperand(0), result = op->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(operand);
  std::optional<Groups> groups = isa<stablehlo::CollectivePermuteOp>(op)
                                     ? std::nullopt
                                     : groupsOf(op, devices);
  if (!groups || shape.empty())
    return;
  if (isa<stablehlo::AllReduceOp>(op)) {
    auto combine = combineOf(op->getRegion(0));
    if (combine && joined.contains(operand))
      setPieces(result, reducedPieces(piecesOf(operand), *groups, *combine));
  } else if (auto all = dyn_cast<stablehlo::AllToAllOp>(op)) {
    if (all.getSplitDimension() == 0 && all.getConcatDimension() == 0 &&
        shape[0] == int64_t(groups->front().size()))
      sentRows[result] = {operand, *groups, /*isForReceiver=*/true};
  } else if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op);
             gather && gather.getAllGatherDim() == 0 && shape[0] == 1) {
    if (auto own = ownSums.find(operand);
        own != ownSums.end() && own->second.groups == *groups)
      setPieces(result, reducedPieces(piecesOf(own->second.from), *groups,
                                      own->second.combine));
    sentRows[result] = {operand, *groups};
  }
}

void PartitionChecker::visitSumOfRows(stablehlo::ReduceOp op) {
  auto found = op.getInputs().size() == 1 ? sentRows.find(op.getInputs()[0])
                                          : sentRows.end();
  auto combine = combineOf(op.getBody());
  if (found == sentRows.end() || op.getDimensions() != ArrayRef<int64_t>(0) ||
      !combine ||
      !(identitiesOf(splatOf(op.getInitValues()[0])) & bitOf(*combine)))
    return;
  Exchange rows = found->second;
  rows.combine = *combine;
  Value result = op.getResult(0);
  if (!rows.isForReceiver) {
    setPieces(result,
              reducedPieces(piecesOf(rows.from), rows.groups, *combine));
    return;
  }
  for (const Holding &held : Holdings(known.lookup(rows.from))) {
    auto sum = reduced(held, rows.groups, *combine);
    auto own = sum ? scattered(*sum, rows.groups, 0) : std::nullopt;
    if (auto row = own ? reshaped(*own, shapeOf(result)) : std::nullopt)
      addIfNew(result, std::move(*row));
  }
  ownSums[result] = std::move(rows);
}

void PartitionChecker::visitSumOfTerms(stablehlo::AddOp op) {
  Value part = op.getResult();
  for (auto [total, other] : {std::pair(op.getLhs(), op.getRhs()),
                              std::pair(op.getRhs(), op.getLhs())})
    for (const Holding &held : Holdings(known.lookup(total))) {
      auto ranges =
          held.missing && held.shares == 1 ? blockOf(held) : std::nullopt;
      if (!ranges)
        continue;
      for (const Holding &added : holdingsOn(other, held.missing)) {
        auto own = added.isPending() ? std::nullopt : blockOf(added);
        auto merged = own ? both(*ranges, *own) : std::nullopt;
        if (merged)
          add(part, holdingOf(held.whole, shapeOf(part), *merged));
      }
    }
  for (Operation *candidate : candidatesFor(op)) {
    for (const Holding &a : holdingsOn(op.getLhs(), candidate->getOperand(0)))
      for (const Holding &b : holdingsOn(op.getRhs(), candidate->getOperand(1)))
        if (a.shares > 1 && a.shares == b.shares && a.share == b.share &&
            a.combine == Combine::sum && b.combine == Combine::sum &&
            a.dims == b.dims && a.base == b.base && !(a.missing && b.missing)) {
          Holding sum = a;
          sum.whole = candidate->getResult(0);
          sum.tail.assign(sum.tail.size(), 0);
          if (b.missing)
            sum.missing = b.missing;
          addIfNew(part, std::move(sum));
        }
  }
}

bool PartitionChecker::isZero(Value value) {
  return identitiesOf(splatOf(value)) & bitOf(Combine::sum);
}
