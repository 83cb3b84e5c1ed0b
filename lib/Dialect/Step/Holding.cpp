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

using namespace mlir;
using namespace tenon;

static constexpr int64_t partCount = 2; // of the one rule that a step knows

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
  return entries.getAs<StringAttr>("rule") == highAndLowRule &&
         entries.getAs<IntegerAttr>("part").getInt() < partCount;
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

LogicalResult step::verifyHolding(FunctionOpInterface main) {
  llvm::MapVector<StringRef, SmallVector<unsigned>> parts;
  llvm::DenseSet<int64_t> replacing;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    auto held = heldPartOf(main.getArgAttrDict(index));
    if (!held)
      continue;
    SmallVector<unsigned> &known = parts[held->tensor];
    if (held->part != int64_t(known.size()))
      return main->emitError()
             << "argument " << index << " is part " << held->part << " of '"
             << held->tensor << "', expected part " << known.size();
    known.push_back(index);
    auto type = dyn_cast<RankedTensorType>(main.getArgumentTypes()[index]);
    Type element = type ? type.getElementType() : Type();
    bool fits = element && (held->part == 0 ? element.isBF16()
                                            : element.isSignlessInteger(16));
    if (!fits || type.getShape() !=
                     cast<RankedTensorType>(main.getArgumentTypes()[known[0]])
                         .getShape())
      return main->emitError()
             << "argument " << index << ", part " << held->part << " of '"
             << held->tensor << "', has the type "
             << main.getArgumentTypes()[index]
             << ", expected a bf16 and an i16 of one shape";
    auto successor =
        main.getArgAttrOfType<IntegerAttr>(index, successorAttrName);
    if (!successor)
      return main->emitError()
             << "argument " << index << " is a part of '" << held->tensor
             << "' and has no successor; only state is held in parts";
    replacing.insert(successor.getInt());
    if (main.getResultAttr(unsigned(successor.getInt()), holdsAttrName) !=
        main.getArgAttr(index, holdsAttrName))
      return main->emitError()
             << "argument " << index << " is part " << held->part << " of '"
             << held->tensor << "', its successor, result "
             << successor.getInt() << ", is not";
  }
  for (auto &[tensor, known] : parts)
    if (int64_t(known.size()) != partCount)
      return main->emitError()
             << "'" << tensor << "' has " << known.size()
             << " part among the arguments, expected " << partCount;
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (auto held = heldPartOf(main.getResultAttrDict(index));
        held && !replacing.contains(index))
      return main->emitError() << "result " << index << " is a part of '"
                               << held->tensor << "' and replaces no argument";
  return success();
}
