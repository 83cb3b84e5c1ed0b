//===- HiddenState.cpp - State that users do not see ----------------------===//
//
// See HiddenState.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Step/HiddenState.h"

#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Format/Index.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tenon;

bool step::isHiddenName(StringRef name) {
  return name.starts_with(format::hiddenPrefix);
}

SplatElementsAttr step::initialValueOf(DictionaryAttr attributes) {
  return attributes ? attributes.getAs<SplatElementsAttr>(initialAttrName)
                    : SplatElementsAttr();
}

BlockArgument step::addHiddenState(func::FuncOp main, StringRef name,
                                   SplatElementsAttr initial, Role role,
                                   StringRef reason) {
  MLIRContext *context = main.getContext();
  Builder builder(context);
  NamedAttrList ofArgument, ofResult;
  for (NamedAttrList *list : {&ofArgument, &ofResult}) {
    list->set(nameAttrName,
              builder.getStringAttr(StringRef(format::hiddenPrefix) + name));
    list->set(aliasesAttrName, builder.getArrayAttr({}));
  }
  ofArgument.set(roleAttrName, RoleAttr::get(context, role));
  ofArgument.set(roleReasonAttrName, builder.getStringAttr(reason));
  ofArgument.set(successorAttrName,
                 builder.getI64IntegerAttr(main.getNumResults()));
  ofArgument.set(initialAttrName, initial);
  // Neither fails: no interface refuses what is put last.
  (void)main.insertArgument(main.getNumArguments(), initial.getType(),
                            ofArgument.getDictionary(context), main.getLoc());
  (void)main.insertResult(main.getNumResults(), initial.getType(),
                          ofResult.getDictionary(context));
  BlockArgument argument = main.getArguments().back();
  Operation *end = main.getBody().front().getTerminator();
  end->insertOperands(end->getNumOperands(), argument);
  return argument;
}

unsigned step::addVisibleResult(func::FuncOp main, Value value,
                                const Twine &name) {
  Builder builder(main.getContext());
  auto isHidden = [&](unsigned result) {
    auto known = main.getResultAttrOfType<StringAttr>(result, nameAttrName);
    return known && isHiddenName(known);
  };
  unsigned number = 0;
  while (number < main.getNumResults() && !isHidden(number))
    ++number;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (auto successor =
            main.getArgAttrOfType<IntegerAttr>(index, successorAttrName);
        successor && successor.getInt() >= number)
      main.setArgAttr(index, successorAttrName,
                      builder.getI64IntegerAttr(successor.getInt() + 1));
  NamedAttrList attributes;
  attributes.set(nameAttrName, builder.getStringAttr(name));
  attributes.set(aliasesAttrName, builder.getArrayAttr({}));
  // No interface refuses a result that replaces nothing.
  (void)main.insertResult(number, value.getType(),
                          attributes.getDictionary(main.getContext()));
  main.getBody().front().getTerminator()->insertOperands(number, value);
  return number;
}

/// What is wrong with an argument's attributes, as hidden state or as state
/// that users see; empty if nothing is.
static std::string whyNoHiddenState(DictionaryAttr attributes, Type type) {
  auto name = attributes.getAs<StringAttr>(step::nameAttrName);
  bool isHidden = name && step::isHiddenName(name);
  Attribute initial = attributes.get(step::initialAttrName);
  if (!isHidden)
    return initial
               ? "has an initial value, expected a name that begins with '" +
                     std::string(format::hiddenPrefix) + "'"
               : "";
  if (!initial)
    return "has a name that begins with '" + std::string(format::hiddenPrefix) +
           "', which is for hidden state, and no '" +
           step::initialAttrName.str() + "'; choose another name";
  if (cast<TypedAttr>(initial).getType() != type) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "has the type " << type << " and the initial value " << initial;
    return text;
  }
  if (!attributes.contains(step::successorAttrName))
    return "is hidden state without a successor";
  for (StringRef other :
       {StringRef(step::holdsAttrName), StringRef(step::complexAttrName),
        StringRef(step::elementTypeAttrName)})
    if (attributes.contains(other))
      return "is hidden state and has '" + other.str() +
             "', which is for what users see";
  return "";
}

/// Whether users see what has these attributes under a number of their own:
/// further parts of a tensor have none.
static bool hasUserNumber(DictionaryAttr attributes, bool isHidden) {
  auto part = step::heldPartOf(attributes);
  return !isHidden && !(part && part->part > 0);
}

LogicalResult step::verifyHiddenState(FunctionOpInterface main) {
  llvm::DenseSet<int64_t> replacing;
  std::optional<unsigned> first;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    DictionaryAttr attributes = main.getArgAttrDict(index);
    if (!attributes)
      attributes = DictionaryAttr::get(main->getContext());
    if (std::string why =
            whyNoHiddenState(attributes, main.getArgumentTypes()[index]);
        !why.empty())
      return main->emitError() << "argument " << index << " " << why;
    bool isHidden = bool(initialValueOf(attributes));
    if (first && hasUserNumber(attributes, isHidden))
      return main->emitError()
             << "argument " << index << " stands behind hidden state, argument "
             << *first << "; expected hidden state behind all that users see";
    if (!isHidden)
      continue;
    if (!first)
      first = index;
    replacing.insert(
        cast<IntegerAttr>(attributes.get(successorAttrName)).getInt());
  }
  std::optional<unsigned> firstResult;
  for (unsigned index = 0; index < main.getNumResults(); ++index) {
    DictionaryAttr attributes = main.getResultAttrDict(index);
    bool isHidden = replacing.contains(index);
    auto name =
        attributes ? attributes.getAs<StringAttr>(nameAttrName) : StringAttr();
    if ((name && isHiddenName(name)) != isHidden)
      return main->emitError()
             << "result " << index
             << (isHidden ? " replaces hidden state and has another name"
                          : " has the name of hidden state, but replaces none");
    if (firstResult && hasUserNumber(attributes, isHidden))
      return main->emitError()
             << "result " << index << " stands behind hidden state, result "
             << *firstResult
             << "; expected hidden state behind all that users see";
    if (isHidden && !firstResult)
      firstResult = index;
  }
  return success();
}
