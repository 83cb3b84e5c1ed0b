//===- ReadHeldState.cpp - Entry points that read state as it is held -----===//
//
// An entry point beside the step reads the state where the step has it, in the
// form that the step holds it in. Nothing replaces it here, so nothing is
// rounded.
//
//===----------------------------------------------------------------------===//

#include "FormatClasses.h"
#include "HeldReads.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Precision/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace tenon::precision {
#define GEN_PASS_DEF_READHELDSTATEPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

struct ReadHeldState
    : public precision::impl::ReadHeldStatePassBase<ReadHeldState> {
  using ReadHeldStatePassBase::ReadHeldStatePassBase;

  void runOnOperation() override {
    func::FuncOp entry = getOperation();
    if (entry.isDeclaration())
      return;
    OpBuilder builder(entry.getContext());
    // Low parts come behind all arguments.
    for (BlockArgument argument : llvm::to_vector(entry.getArguments())) {
      auto held =
          step::heldPartOf(entry.getArgAttrDict(argument.getArgNumber()));
      if (!held || !isF32Tensor(argument))
        continue;
      SmallVector<OpOperand *> uses = usesOf(argument);
      retype(argument, builder.getBF16Type());
      if (held->rule == step::highAndLowRule)
        readInParts(builder, uses, {argument, addLow(argument, *held)});
      else
        readNarrow(builder, uses, argument);
    }
  }

private:
  static void retype(BlockArgument argument, Type element) {
    auto entry = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    argument.setType(withElements(argument, element));
    SmallVector<Type> types(entry.getArgumentTypes());
    types[argument.getArgNumber()] = argument.getType();
    entry.setFunctionType(
        FunctionType::get(entry.getContext(), types, entry.getResultTypes()));
  }

  static Value addLow(BlockArgument high, step::HeldPart held) {
    auto entry = cast<func::FuncOp>(high.getOwner()->getParentOp());
    Builder builder(entry.getContext());
    NamedAttrList attributes;
    unsigned number = high.getArgNumber();
    for (StringRef kept : {step::roleAttrName, step::roleReasonAttrName})
      if (Attribute value = entry.getArgAttr(number, kept))
        attributes.set(kept, value);
    attributes.set(step::nameAttrName, lowName(entry, number));
    attributes.set(step::aliasesAttrName, builder.getArrayAttr({}));
    attributes.set(
        step::holdsAttrName,
        step::holdsAttr(entry.getContext(), {held.tensor, held.rule, 1}));
    (void)entry.insertArgument(
        entry.getNumArguments(), withElements(high, builder.getIntegerType(16)),
        attributes.getDictionary(entry.getContext()), high.getLoc());
    return entry.getArguments().back();
  }

  /// One that no other argument or result has.
  static StringAttr lowName(func::FuncOp entry, unsigned number) {
    llvm::StringSet<> names;
    auto add = [&](DictionaryAttr attributes) {
      if (auto name = attributes
                          ? attributes.getAs<StringAttr>(step::nameAttrName)
                          : StringAttr())
        names.insert(name.getValue());
    };
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      add(entry.getArgAttrDict(i));
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      add(entry.getResultAttrDict(i));
    auto own = entry.getArgAttrOfType<StringAttr>(number, step::nameAttrName);
    std::string name =
        (own ? own.str() : "arg" + std::to_string(number)) + ".low";
    while (names.contains(name))
      name += '_';
    return StringAttr::get(entry.getContext(), name);
  }
};

} // namespace
