//===- AttributeShape.h - What attributes of the forms look like ----------===//
//
// Stages hand figures and places on as attributes by name, and a user may edit
// the text between them. Each dialect has a table of what its attributes hold;
// its verifier refuses everything else where the text is read, so that no stage
// meets an attribute of another kind, a dictionary without an entry, or a
// negative size.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_ATTRIBUTESHAPE_H
#define TENON_DIALECT_STEP_ATTRIBUTESHAPE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <initializer_list>
#include <utility>

namespace tenon::step {

using AttributeTest = bool (*)(mlir::Attribute);

struct AttributeShape {
  llvm::StringLiteral name;
  AttributeTest holds;
  llvm::StringLiteral expected; // ends the message: "expected bytes, an i64"
};

/// Whether an attribute has the shape that a table gives its name; any shape if
/// the table does not have it. Reports at `op`, after `where` ("argument #1:
/// ").
mlir::LogicalResult checkShape(mlir::Operation *op,
                               mlir::NamedAttribute attribute,
                               llvm::ArrayRef<AttributeShape> table,
                               const llvm::Twine &where = "");

bool isUnit(mlir::Attribute attribute);
bool isText(mlir::Attribute attribute);
/// An i64 that is not negative: bytes, nanoseconds, an index.
bool isCount(mlir::Attribute attribute);
bool isNumberList(mlir::Attribute attribute);
/// Whether the attribute is a dictionary with at least these entries.
bool hasEntries(
    mlir::Attribute attribute,
    std::initializer_list<std::pair<llvm::StringRef, AttributeTest>> entries);

template <AttributeTest holds>
bool isArrayOf(mlir::Attribute attribute) {
  auto array = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
  return array && llvm::all_of(array, holds);
}

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_ATTRIBUTESHAPE_H
