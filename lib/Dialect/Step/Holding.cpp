//===- Holding.cpp - Arguments that are parts of a tensor -----------------===//
//
// See Holding.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Step/Holding.h"

#include "tenon/Dialect/Step/AttributeShape.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tenon;

namespace {

/// A rule that a step knows, for tensors of f32.
struct KnownRule {
  StringLiteral word;
  int64_t parts;
  StringLiteral expected; // of the types of the parts
  bool (*fits)(Type element, int64_t part);
};

constexpr KnownRule knownRules[] = {
    {step::highAndLowRule, 2, "a bf16 and an i16 of one shape",
     [](Type element, int64_t part) {
       return part == 0 ? element.isBF16() : element.isSignlessInteger(16);
     }},
    {step::convertedRule, 1, "a bf16 or an f16",
     [](Type element, int64_t) { return stablehlo::isFloatOf16Bits(element); }},
};

const KnownRule *ruleOf(StringRef word) {
  auto found = llvm::find_if(
      knownRules, [&](const KnownRule &rule) { return rule.word == word; });
  return found == std::end(knownRules) ? nullptr : found;
}

} // namespace

DictionaryAttr step::holdsAttr(MLIRContext *context, HeldPart part) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("part", builder.getI64IntegerAttr(part.part)),
       builder.getNamedAttr("rule", builder.getStringAttr(part.rule)),
       builder.getNamedAttr("tensor", builder.getStringAttr(part.tensor))});
}

bool step::isHolding(Attribute attribute) {
  if (!hasEntries(attribute,
                  {{"part", isCount}, {"rule", isText}, {"tensor", isText}}))
    return false;
  auto entries = cast<DictionaryAttr>(attribute);
  const KnownRule *rule = ruleOf(entries.getAs<StringAttr>("rule").getValue());
  return rule && entries.getAs<IntegerAttr>("part").getInt() < rule->parts;
}

std::optional<step::HeldPart> step::heldPartOf(DictionaryAttr attributes) {
  auto entries = attributes ? attributes.getAs<DictionaryAttr>(holdsAttrName)
                            : DictionaryAttr();
  if (!entries)
    return std::nullopt;
  return HeldPart{entries.getAs<StringAttr>("tensor").getValue(),
                  entries.getAs<StringAttr>("rule").getValue(),
                  entries.getAs<IntegerAttr>("part").getInt()};
}

SmallVector<std::pair<unsigned, unsigned>>
step::laterParts(FunctionOpInterface main) {
  llvm::StringMap<unsigned> first;
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (auto part = heldPartOf(main.getArgAttrDict(index))) {
      if (part->part == 0)
        first[part->tensor] = index;
      else
        pairs.push_back({first.at(part->tensor), index});
    }
  return pairs;
}

LogicalResult step::verifyHolding(FunctionOpInterface main) {
  struct Parts {
    const KnownRule *rule = nullptr;
    SmallVector<unsigned> arguments;
  };
  llvm::MapVector<StringRef, Parts> tensors;
  llvm::DenseSet<int64_t> replacing;
  bool replacesState = false;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    replacesState |= bool(main.getArgAttr(index, successorAttrName));
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    auto held = heldPartOf(main.getArgAttrDict(index));
    if (!held)
      continue;
    auto &[rule, known] = tensors[held->tensor];
    if (!rule)
      rule = ruleOf(held->rule);
    if (rule->word != held->rule)
      return main->emitError()
             << "argument " << index << " is a part of '" << held->tensor
             << "' by the rule '" << held->rule << "', expected '" << rule->word
             << "' as of part 0";
    if (held->part != int64_t(known.size()))
      return main->emitError()
             << "argument " << index << " is part " << held->part << " of '"
             << held->tensor << "', expected part " << known.size();
    known.push_back(index);
    auto type = dyn_cast<RankedTensorType>(main.getArgumentTypes()[index]);
    Type element = type ? type.getElementType() : Type();
    if (!element || !rule->fits(element, held->part) ||
        type.getShape() !=
            cast<RankedTensorType>(main.getArgumentTypes()[known[0]])
                .getShape())
      return main->emitError()
             << "argument " << index << ", part " << held->part << " of '"
             << held->tensor << "', has the type "
             << main.getArgumentTypes()[index] << ", expected "
             << rule->expected;
    auto successor =
        main.getArgAttrOfType<IntegerAttr>(index, successorAttrName);
    if (!successor) {
      auto role = main.getArgAttrOfType<RoleAttr>(index, roleAttrName);
      // What replaces no state is an entry point that reads that of a step.
      if (!replacesState || (held->rule == convertedRule && role &&
                             role.getValue() == Role::batch))
        continue;
      return main->emitError()
             << "argument " << index << " is a part of '" << held->tensor
             << "' and has no successor; only state is held so, and batch "
                "tensors by the rule '"
             << convertedRule << "'";
    }
    replacing.insert(successor.getInt());
    if (main.getResultAttr(unsigned(successor.getInt()), holdsAttrName) !=
        main.getArgAttr(index, holdsAttrName))
      return main->emitError()
             << "argument " << index << " is part " << held->part << " of '"
             << held->tensor << "', its successor, result "
             << successor.getInt() << ", is not";
  }
  for (auto &[tensor, parts] : tensors)
    if (int64_t(parts.arguments.size()) != parts.rule->parts)
      return main->emitError()
             << "'" << tensor << "' has " << parts.arguments.size()
             << " part among the arguments, expected " << parts.rule->parts;
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (auto held = heldPartOf(main.getResultAttrDict(index));
        held && !replacing.contains(index))
      return main->emitError() << "result " << index << " is a part of '"
                               << held->tensor << "' and replaces no argument";
  return success();
}
