//===- FoldedComputation.cpp - What one member computes -------------------===//
//
// Operations that need nobody else. Those that only move elements are looked
// through, and scalars that follow from the number of a device or rank are
// known.
//
//===----------------------------------------------------------------------===//

#include "FoldingChecker.h"
#include "Meetings.h"

#include "tenon/Analysis/Shapes.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;
using namespace tenon::shardingcheck::folding;

bool FoldingChecker::visitBlock(Program &program, Block &block, Block *twin) {
  if (!program.isOfRanks)
    loops[&block].clear();
  for (Operation &op : block.without_terminator())
    if (!visit(program, &op, twin))
      return false;
  return true;
}

bool FoldingChecker::visit(Program &program, Operation *op, Block *twin) {
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return program.isOfRanks ? visitLoopOfRanks(loop, twin)
                             : visitLoopOfDevices(loop);
  if (isControl(op))
    return visitBranches(program, op, twin);
  if (waitsForOthers(op))
    return visitCollective(program, op);
  bool isInside = false;
  op->walk([&](Operation *inner) {
    isInside |= inner != op && (waitsForOthers(inner) || isControl(inner));
  });
  if (isInside)
    return fail(op->getLoc(), "'" + op->getName().getStringRef() +
                                  "' has a collective, a loop or a branch in "
                                  "it, which is not followed");
  std::vector<PerMember> results(op->getNumResults());
  for (size_t member = 0; member < program.members(); ++member)
    for (auto [result, term] :
         llvm::zip_equal(results, compute(program, op, member)))
      result.push_back(term);
  for (auto [value, result] : llvm::zip_equal(op->getResults(), results))
    program.terms[value] = std::move(result);
  return true;
}

SmallVector<Term> FoldingChecker::compute(Program &program, Operation *op,
                                          size_t member) {
  SmallVector<Term> operands;
  for (Value operand : op->getOperands())
    operands.push_back(program.terms[operand][member]);
  if (isa<stablehlo::PartitionIdOp>(op)) {
    const Type type = op->getResult(0).getType();
    Term term = terms.computed({numberKey, member, wordOf(type)}, type);
    numbers.try_emplace(term, APInt(32, member));
    return {term};
  }
  if (auto term = number(op, operands))
    return {*term};
  if (auto term = lookedThrough(op, operands))
    return {*term};
  Terms::Key key{operationKey, wordOf(op->getName()),
                 wordOf(op->getAttrDictionary()), operands.size()};
  llvm::append_range(key, operands);
  appendRegions(program, op, member, key);
  SmallVector<Term> results;
  key.push_back(0);
  for (OpResult result : op->getResults()) {
    key.back() = result.getResultNumber();
    results.push_back(terms.computed(key, result.getType()));
  }
  return results;
}

/// Regions without control: what they compute of unknown arguments.
void FoldingChecker::appendRegions(Program &program, Operation *op,
                                   size_t member, Terms::Key &key) {
  uint64_t depth = 0;
  for (Operation *around = op; around; around = around->getParentOp())
    ++depth;
  auto set = [&](Value value, Term term) {
    PerMember &held = program.terms[value];
    held.resize(program.members());
    held[member] = term;
  };
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      key.push_back(region.getRegionNumber());
      for (BlockArgument argument : block.getArguments())
        set(argument,
            terms.computed({regionArgumentKey, depth, region.getRegionNumber(),
                            argument.getArgNumber()},
                           argument.getType()));
      for (Operation &inner : block.without_terminator())
        for (auto [value, term] : llvm::zip_equal(
                 inner.getResults(), compute(program, &inner, member)))
          set(value, term);
      key.push_back(wordOf(block.getTerminator()->getName()));
      for (Value value : block.getTerminator()->getOperands())
        key.push_back(program.terms[value][member]);
    }
}

/// What only moves elements.
std::optional<Term> FoldingChecker::lookedThrough(Operation *op,
                                                  ArrayRef<Term> operands) {
  if (isa<stablehlo::ReshapeOp>(op))
    return terms.reshaped(operands[0], op->getResult(0).getType());
  if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op))
    return terms.joined(operands, int64_t(concatenate.getDimension()));
  auto slice = dyn_cast<stablehlo::SliceOp>(op);
  if (slice && llvm::all_of(slice.getStrides(),
                            [](int64_t stride) { return stride == 1; }))
    return terms.sliced(operands[0], slice.getStartIndices(),
                        shapeOf(slice.getResult()));
  return std::nullopt;
}

/// Scalars that follow from the number of the device or rank.
std::optional<Term> FoldingChecker::number(Operation *op,
                                           ArrayRef<Term> operands) {
  auto type = op->getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                  : RankedTensorType();
  if (!type || type.getRank() != 0 || !type.getElementType().isInteger(32))
    return std::nullopt;
  const bool isUnsigned = type.getElementType().isUnsignedInteger();
  auto known = [&](const APInt &value) {
    Term term =
        terms.computed({numberKey, value.getZExtValue(), wordOf(type)}, type);
    numbers.try_emplace(term, value);
    return term;
  };
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    if (auto value = dyn_cast<DenseIntElementsAttr>(constant.getValue()))
      return known(value.getSplatValue<APInt>());
  SmallVector<APInt, 2> known32;
  for (Term operand : operands) {
    auto found = numbers.find(operand);
    if (found == numbers.end())
      return std::nullopt;
    known32.push_back(found->second);
  }
  // The same bits, with and without a sign.
  if (isa<stablehlo::ConvertOp>(op) && known32[0].isNonNegative())
    return known(known32[0]);
  if (known32.size() != 2)
    return std::nullopt;
  const APInt &a = known32[0], &b = known32[1];
  if (isa<stablehlo::AddOp>(op))
    return known(a + b);
  if (isa<stablehlo::SubtractOp>(op))
    return known(a - b);
  if (isa<stablehlo::MultiplyOp>(op))
    return known(a * b);
  if (!isUnsigned && (a.isNegative() || b.isNegative()))
    return std::nullopt;
  if (isa<stablehlo::MaximumOp>(op))
    return known(llvm::APIntOps::umax(a, b));
  if (isa<stablehlo::MinimumOp>(op))
    return known(llvm::APIntOps::umin(a, b));
  if (b.isZero())
    return std::nullopt;
  if (isa<stablehlo::DivideOp>(op))
    return known(a.udiv(b));
  if (isa<stablehlo::RemainderOp>(op))
    return known(a.urem(b));
  return std::nullopt;
}
