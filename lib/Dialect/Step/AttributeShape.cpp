//===- AttributeShape.cpp - What attributes of the forms look like --------===//
//
// See AttributeShape.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Step/AttributeShape.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tenon;

LogicalResult step::checkShape(Operation *op, NamedAttribute attribute,
                               ArrayRef<AttributeShape> table,
                               const Twine &where) {
  const auto *shape = llvm::find_if(table, [&](const AttributeShape &known) {
    return known.name == attribute.getName();
  });
  if (shape == table.end() || shape->holds(attribute.getValue()))
    return success();
  // A solver's problem may be as long as the program.
  constexpr size_t longest = 200;
  std::string text;
  llvm::raw_string_ostream(text) << attribute.getValue();
  if (text.size() > longest)
    text = text.substr(0, longest) + "...";
  return op->emitError() << where << "'" << attribute.getName().getValue()
                         << "' is " << text << ", expected " << shape->expected;
}

bool step::isUnit(Attribute attribute) { return isa<UnitAttr>(attribute); }

bool step::isText(Attribute attribute) { return isa<StringAttr>(attribute); }

bool step::isCount(Attribute attribute) {
  auto integer = dyn_cast<IntegerAttr>(attribute);
  return integer && integer.getType().isSignlessInteger(64) &&
         integer.getInt() >= 0;
}

bool step::isNumberList(Attribute attribute) {
  return isa<DenseI64ArrayAttr>(attribute);
}

bool step::hasEntries(
    Attribute attribute,
    std::initializer_list<std::pair<StringRef, AttributeTest>> entries) {
  auto dictionary = dyn_cast<DictionaryAttr>(attribute);
  return dictionary && llvm::all_of(entries, [&](const auto &entry) {
           Attribute value = dictionary.get(entry.first);
           return value && entry.second(value);
         });
}
