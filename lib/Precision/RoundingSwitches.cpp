//===- RoundingSwitches.cpp - The roundings of a choice, one by one -------===//
//
// See RoundingSwitches.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/RoundingSwitches.h"

#include "FormatClasses.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Step.h"

#include <cassert>

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

RoundingSwitches::RoundingSwitches(func::FuncOp step, StringRef policy,
                                   const FormatReport &report)
    : step(step), format(report.format) {
  if (report.lines.empty())
    return;
  std::string error;
  auto said = FormatPolicy::parse(policy, "the policy", format, error);
  assert(said && "the policy was read before");
  FormatClasses classes(step, *said, format);
  // The report has a line per class, then one per product.
  const size_t count = classes.classes().size();
  assert(report.lines.size() == count + classes.products().size() &&
         "the report is about this step");
  for (auto [each, line] : llvm::zip(classes.classes(), report.lines)) {
    if (!line.isNarrow)
      continue;
    for (Value member : each.members)
      values.push_back({member, names.size()});
    names.push_back("value " + line.what());
  }
  for (auto [number, product] : llvm::enumerate(classes.products())) {
    const FormatReport::Line &line = report.lines[count + number];
    if (!line.isNarrow)
      continue;
    // Operands that are stored narrow are rounded as values.
    bool roundsAny = false;
    for (OpOperand &operand : product.op->getOpOperands()) {
      int index = classes.classOf(operand.get());
      if (!isF32Tensor(operand.get()) ||
          (index >= 0 && report.lines[index].isNarrow))
        continue;
      operands.push_back({&operand, names.size()});
      roundsAny = true;
    }
    if (roundsAny)
      names.push_back("operands of " + line.what());
  }
}

void RoundingSwitches::addArguments() {
  Builder builder(step.getContext());
  auto type = RankedTensorType::get({}, builder.getI32Type());
  // Hidden state stands behind what users see.
  unsigned number = step.getNumArguments();
  while (number > 0 && step::initialValueOf(step.getArgAttrDict(number - 1)))
    --number;
  for (StringRef name : {"__rounding__.first", "__rounding__.last"}) {
    NamedAttrList attributes;
    attributes.set(step::nameAttrName, builder.getStringAttr(name));
    attributes.set(step::aliasesAttrName, builder.getArrayAttr({}));
    attributes.set(
        step::roleAttrName,
        step::RoleAttr::get(step.getContext(), step::Role::hyper_parameter));
    attributes.set(step::roleReasonAttrName,
                   builder.getStringAttr("which values are rounded"));
    (void)step.insertArgument(number++, type,
                              attributes.getDictionary(step.getContext()),
                              step.getLoc());
  }
  first = step.getArgument(number - 2);
  last = step.getArgument(number - 1);
}

Value RoundingSwitches::isOn(size_t decision) {
  OpBuilder builder(step.getBody());
  builder.setInsertionPointToStart(&step.getBody().front());
  Location at = step.getLoc();
  auto type = RankedTensorType::get({}, builder.getI32Type());
  Value number = stablehlo::ConstantOp::create(
      builder, at, DenseElementsAttr::get(type, int32_t(decision)));
  auto compare = [&](Value a, Value b, stablehlo::ComparisonDirection how) {
    return stablehlo::CompareOp::create(builder, at, a, b, how,
                                        stablehlo::ComparisonType::SIGNED);
  };
  return stablehlo::AndOp::create(
      builder, at, compare(first, number, stablehlo::ComparisonDirection::LE),
      compare(number, last, stablehlo::ComparisonDirection::LT));
}

Value RoundingSwitches::rounded(Value value, size_t decision,
                                OpBuilder &builder) {
  auto type = cast<RankedTensorType>(value.getType());
  Location at = value.getLoc();
  Value narrow = stablehlo::ConvertOp::create(
      builder, at, type.clone(typeOf(format, builder.getContext())), value);
  Value wide = stablehlo::ConvertOp::create(builder, at, type, narrow);
  return stablehlo::SelectOp::create(builder, at, isOn(decision), wide, value);
}

void RoundingSwitches::insert() {
  addArguments();
  for (auto [operand, decision] : operands) {
    OpBuilder builder(operand->getOwner());
    operand->set(rounded(operand->get(), decision, builder));
  }
  for (auto [value, decision] : values) {
    OpBuilder builder(step.getContext());
    if (Operation *op = value.getDefiningOp())
      builder.setInsertionPointAfter(op);
    else
      builder.setInsertionPointToStart(value.getParentBlock());
    auto users = llvm::to_vector(llvm::make_pointer_range(value.getUses()));
    Value made = rounded(value, decision, builder);
    for (OpOperand *use : users)
      use->set(made);
  }
}
