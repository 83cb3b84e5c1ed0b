//===- SumChain.cpp - Sums over rows that groups of columns make ----------===//
//
// See SumChain.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/SumChain.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

/// The reduction of a group that alone reads its operand, and adds it up over
/// the first dimensions.
static std::optional<OperandSum> onlySum(step::GroupOp group,
                                         unsigned operand) {
  Value terms = group.getBody().front().getArgument(operand);
  for (int i = 0; i < 2 && terms.hasOneUse(); ++i) {
    Operation *user = *terms.getUsers().begin();
    if (isa<stablehlo::ConvertOp>(user)) {
      terms = user->getResult(0);
      continue;
    }
    auto reduce = dyn_cast<stablehlo::ReduceOp>(user);
    return reduce && reduce->getParentOp() == group
               ? operandSum(reduce.getResult(0))
               : std::nullopt;
  }
  return std::nullopt;
}

std::optional<SumChain> fusion::chainFrom(OpOperand &use, size_t dimensions) {
  SumChain chain;
  OpOperand *next = &use;
  while (true) {
    auto group = dyn_cast<step::GroupOp>(next->getOwner());
    if (!group || group.getKind() != step::GroupKind::column ||
        llvm::count(group.getInputs(), next->get()) != 1)
      return std::nullopt;
    auto sum = onlySum(group, next->getOperandNumber());
    if (!sum || sum->reduce.getDimensions().size() > dimensions)
      return std::nullopt;
    chain.groups.push_back(group);
    chain.last = *sum;
    dimensions -= sum->reduce.getDimensions().size();
    if (dimensions == 0)
      return chain;
    // A part of the sum, which nobody but the rest of it reads.
    Operation *yield = group.getBody().front().getTerminator();
    if (group.getNumResults() != 1 || !group.getResult(0).hasOneUse() ||
        yield->getOperand(0) != sum->reduce.getResult(0))
      return std::nullopt;
    next = &*group.getResult(0).use_begin();
  }
}

Value fusion::sumOver(OpBuilder &builder, Location loc, Value terms, Value zero,
                      ArrayRef<int64_t> dimensions) {
  SmallVector<int64_t> kept;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(terms)))
    if (!llvm::is_contained(dimensions, int64_t(dim)))
      kept.push_back(extent);
  auto reduce = stablehlo::ReduceOp::create(
      builder, loc, TypeRange{RankedTensorType::get(kept, elementOf(terms))},
      ValueRange{terms}, ValueRange{zero}, dimensions);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(
      &reduce.getBody(), {}, {zero.getType(), zero.getType()}, {loc, loc});
  Value sum = stablehlo::AddOp::create(builder, loc, body->getArgument(0),
                                       body->getArgument(1));
  stablehlo::ReturnOp::create(builder, loc, sum);
  return reduce.getResult(0);
}

step::GroupOp fusion::withSumOf(
    OpBuilder &builder, const SumChain &chain, Value sums, step::GroupKind kind,
    llvm::function_ref<Value(OpBuilder &, stablehlo::ReduceOp, Value)>
        replacement) {
  step::GroupOp last = chain.groups.back();
  OperandSum sum = chain.last;
  const unsigned number = sum.operand.getArgNumber();
  SmallVector<Value> inputs(last.getInputs());
  inputs[number] = sums;
  auto rest = step::GroupOp::create(builder, last.getLoc(),
                                    last.getResultTypes(), inputs, kind);
  IRMapping mapping;
  last.getBody().cloneInto(&rest.getBody(), mapping);
  auto reduce =
      cast<stablehlo::ReduceOp>(mapping.lookup(sum.reduce.getOperation()));
  BlockArgument argument = rest.getBody().front().getArgument(number);
  argument.setType(sums.getType());
  OpBuilder inside(reduce);
  reduce.getResult(0).replaceAllUsesWith(replacement(inside, reduce, argument));
  for (Operation *unread :
       {reduce.getOperation(), reduce.getInputs()[0].getDefiningOp(),
        reduce.getInitValues()[0].getDefiningOp()})
    if (unread && unread->use_empty())
      unread->erase();
  return rest;
}
