//===- FoldedCollectives.cpp - What members exchange and add up -----------===//
//
// Both programs have all members side by side, so what each one has behind a
// collective is known. Sums over the axis of the devices are binary trees.
//
//===----------------------------------------------------------------------===//

#include "FoldingChecker.h"
#include "Meetings.h"

#include "tenon/Dialect/Step/Parts.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;
using namespace tenon::shardingcheck::folding;

bool FoldingChecker::visitCollective(Program &program, Operation *op) {
  const std::string name = ("'" + op->getName().getStringRef() + "'").str();
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return fail(op->getLoc(), name + " has several tensors");
  PerMember held = of(program, op->getOperand(0));
  const Type type = op->getResult(0).getType();
  PerMember results(program.members());
  if (auto permute = dyn_cast<stablehlo::CollectivePermuteOp>(op)) {
    llvm::fill(results, terms.computed({nobodyKey}, type));
    SmallVector<int64_t> numbers;
    for (const APInt &number :
         permute.getSourceTargetPairs().getValues<APInt>())
      numbers.push_back(number.getSExtValue());
    SmallVector<bool> sends(program.members()), gets(program.members());
    for (size_t at = 0; at + 1 < numbers.size(); at += 2) {
      const auto from = size_t(numbers[at]), to = size_t(numbers[at + 1]);
      if (from >= held.size() || to >= held.size() || sends[from] || gets[to])
        return fail(op->getLoc(), name + " names nobody, or somebody twice");
      sends[from] = gets[to] = true;
      results[to] = held[from];
    }
    program.terms[op->getResult(0)] = std::move(results);
    return true;
  }
  auto groups = groupsOf(op, program.mesh.devices());
  if (!groups)
    return fail(op->getLoc(),
                name + " does not have every rank in one of its groups");
  for (ArrayRef<int64_t> group : *groups) {
    SmallVector<Term> operands;
    for (int64_t member : group)
      operands.push_back(held[size_t(member)]);
    const auto size = int64_t(group.size());
    std::optional<Term> sum;
    if (isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(op)) {
      sum = combined(program, op, group, operands);
      if (!sum)
        return false;
    }
    for (auto [at, member] : llvm::enumerate(group)) {
      Term &result = results[size_t(member)];
      if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
        result = terms.joined(operands, int64_t(gather.getAllGatherDim()));
      } else if (auto exchange = dyn_cast<stablehlo::AllToAllOp>(op)) {
        SmallVector<Term> parts;
        for (Term operand : operands)
          parts.push_back(terms.part(operand,
                                     int64_t(exchange.getSplitDimension()),
                                     int64_t(at), size));
        result = terms.joined(parts, int64_t(exchange.getConcatDimension()));
      } else if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op)) {
        result = terms.part(*sum, int64_t(scatter.getScatterDimension()),
                            int64_t(at), size);
      } else if (isa<stablehlo::AllReduceOp>(op)) {
        result = *sum;
      } else {
        return fail(op->getLoc(), name + " is not followed");
      }
      if (sum)
        result = converted(result, getElementTypeOrSelf(type));
      if (terms.typeOf(result) != type)
        return fail(op->getLoc(), name + " has a result of another type");
    }
  }
  program.terms[op->getResult(0)] = std::move(results);
  return true;
}

/// What the members of a group combine, one bit pattern for all; with 16-bit
/// floats that are added by a tree, in f32.
std::optional<Term> FoldingChecker::combined(Program &program, Operation *op,
                                             ArrayRef<int64_t> group,
                                             ArrayRef<Term> operands) {
  auto refuse = [&](const Twine &why) {
    fail(op->getLoc(), "'" + op->getName().getStringRef() + "' " + why);
    return std::nullopt;
  };
  Region &region = op->getRegion(0);
  Operation &how = region.front().front();
  const Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!llvm::hasNItems(region.front(), 2) || how.getNumOperands() != 2 ||
      how.getOperand(0) == how.getOperand(1) ||
      !llvm::all_of(how.getOperands(), [&](Value operand) {
        return llvm::is_contained(region.front().getArguments(), operand);
      }))
    return refuse("combines by more than one operation");
  auto floating = dyn_cast<FloatType>(element);
  const bool isFree = isa<stablehlo::MaximumOp, stablehlo::MinimumOp,
                          stablehlo::AndOp, stablehlo::OrOp>(how) ||
                      (!floating && isa<stablehlo::AddOp>(how));
  if (!isFree && !isa<stablehlo::AddOp>(how))
    return refuse("combines by something else than a sum or a choice");
  auto placeOf = [&](int64_t member) {
    return program.mesh.coordinate(member,
                                   {axis, 1, program.mesh.axes[axis].size});
  };
  const bool isAlong = placeOf(group[0]) != placeOf(group.back());
  const bool isMarked = op->hasAttr(step::sumsByTreeAttrName);
  if (isMarked && floating && floating.getWidth() < 32)
    return refuse("adds 16-bit floats by a tree");
  if (isMarked || (isAlong && (isFree || !program.isOfRanks))) {
    if (!llvm::has_single_bit(group.size()))
      return refuse("has no binary tree of its " + Twine(group.size()) +
                    " members");
    if (program.isOfRanks || isFree || !floating || floating.getWidth() >= 32)
      return tree(how, operands);
    return tree(how, llvm::map_to_vector(operands, [&](Term operand) {
                  return converted(operand, Float32Type::get(op->getContext()));
                }));
  }
  Terms::Key key{inOrderKey, wordOf(how.getName()),
                 wordOf(how.getAttrDictionary())};
  llvm::append_range(key, operands);
  return terms.computed(std::move(key), terms.typeOf(operands[0]));
}

/// As an operation of the program would be that combines two.
Term FoldingChecker::tree(Operation &how, ArrayRef<Term> parts) {
  if (parts.size() == 1)
    return parts[0];
  const size_t half = parts.size() / 2;
  const Term first = tree(how, parts.take_front(half)),
             second = tree(how, parts.drop_front(half));
  return terms.computed({operationKey, wordOf(how.getName()),
                         wordOf(how.getAttrDictionary()), 2, first, second, 0},
                        terms.typeOf(first));
}

Term FoldingChecker::converted(Term term, Type element) {
  auto type = cast<RankedTensorType>(terms.typeOf(term));
  if (type.getElementType() == element)
    return term;
  MLIRContext *context = type.getContext();
  return terms.computed(
      {operationKey,
       wordOf(OperationName(stablehlo::ConvertOp::getOperationName(), context)),
       wordOf(DictionaryAttr::get(context)), 1, term, 0},
      type.clone(element));
}
