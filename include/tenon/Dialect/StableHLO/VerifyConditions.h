//===- VerifyConditions.h - What constraints are made of -----------------===//
//
// The specification states a verifier as numbered constraints, and most of them
// say one of a dozen things: a list has one entry per dimension, its entries
// are dimensions of a tensor, a region has this type. Each of those is one
// function here that either agrees or emits an error with what was found and
// what was expected. Verify*.cpp puts them together, a label beside each.
//
// A dynamic dimension agrees with everything: that it is not supported is said
// once, when a program is imported, with the argument named.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_VERIFYCONDITIONS_H
#define TENON_DIALECT_STABLEHLO_VERIFYCONDITIONS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>

namespace tenon::stablehlo {

/// What a message calls an operand, result or attribute of the operation under
/// verification: 'lhs', or 'inputs' #1 for a member of a variadic list.
struct Subject {
  llvm::StringRef name;
  int64_t index = -1;

  Subject(const char *name) : name(name) {}
  Subject(llvm::StringRef name, int64_t index) : name(name), index(index) {}
};

mlir::Diagnostic &operator<<(mlir::Diagnostic &diagnostic,
                             const Subject &subject);

/// `count` things in words: "1 entry", "2 entries".
std::string counted(int64_t count, llvm::StringRef one, llvm::StringRef many);

/// Whether two sizes of a dimension may be the same: equal, or one is dynamic.
bool agree(int64_t a, int64_t b);

/// Whether two shapes may be the same: equal ranks, and dimensions that agree.
bool agree(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Whether two types may be the same: tensors of agreeing shapes and the same
/// element type (encodings do not matter), or equal types.
bool agree(mlir::Type a, mlir::Type b);

/// The element type of a shaped type, else the type itself.
mlir::Type elementTypeOf(mlir::Type type);

/// The shape of a ranked tensor; empty for anything without one.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);

/// `baseline_element_type`: a quantized type without its scales and zero
/// points, any other type unchanged.
mlir::Type baselineElementTypeOf(mlir::Type type);

/// `is_promotable`: same kind of number, and `to` has at least as many bits.
bool isPromotable(mlir::Type from, mlir::Type to);

/// Bits of one element; 0 for a type without a size of its own (tokens,
/// tuples).
int64_t bitsOf(mlir::Type elementType);

/// Bytes that `type` needs with every element padded to whole bytes; nothing if
/// the product leaves the 64-bit range. `overflowing`, if given, is then the
/// dimension at which it did. Dynamic dimensions count as one.
std::optional<int64_t> byteSizeOf(mlir::ShapedType type,
                                  int64_t *overflowing = nullptr);

/// The number of elements of a static shape, or nothing if it leaves the 64-bit
/// range.
std::optional<int64_t> elementCountOf(mlir::ShapedType type);

/// The list `list` has `expected` entries; `reason` says what they are for
/// ("one for each dimension of 'operand'").
mlir::LogicalResult checkCount(mlir::Operation *op, Subject list, int64_t found,
                               int64_t expected, llvm::StringRef reason);

/// No value occurs twice.
mlir::LogicalResult checkUnique(mlir::Operation *op, Subject list,
                                llvm::ArrayRef<int64_t> values);

/// No value occurs twice in the two lists taken together.
mlir::LogicalResult checkUnique(mlir::Operation *op, Subject first,
                                llvm::ArrayRef<int64_t> firstValues,
                                Subject second,
                                llvm::ArrayRef<int64_t> secondValues);

/// Values never descend.
mlir::LogicalResult checkSorted(mlir::Operation *op, Subject list,
                                llvm::ArrayRef<int64_t> values);

/// Every value is at least 0 and below `rank`, the rank of `tensor`.
mlir::LogicalResult checkDimensions(mlir::Operation *op, Subject list,
                                    llvm::ArrayRef<int64_t> values,
                                    Subject tensor, int64_t rank);

mlir::LogicalResult checkDimension(mlir::Operation *op, Subject attribute,
                                   int64_t value, Subject tensor, int64_t rank);

/// Every value is at least `minimum`.
mlir::LogicalResult checkAtLeast(mlir::Operation *op, Subject attribute,
                                 int64_t value, int64_t minimum);
mlir::LogicalResult checkAtLeast(mlir::Operation *op, Subject list,
                                 llvm::ArrayRef<int64_t> values,
                                 int64_t minimum);

/// `tensor` has the shape `expected`; `reason` says where that comes from.
mlir::LogicalResult checkShape(mlir::Operation *op, Subject tensor,
                               llvm::ArrayRef<int64_t> found,
                               llvm::ArrayRef<int64_t> expected,
                               llvm::StringRef reason);

/// Two tensors have the same shape.
mlir::LogicalResult checkSameShape(mlir::Operation *op, Subject a,
                                   mlir::Type typeA, Subject b,
                                   mlir::Type typeB);

/// Two values have the same element type.
mlir::LogicalResult checkSameElementType(mlir::Operation *op, Subject a,
                                         mlir::Type typeA, Subject b,
                                         mlir::Type typeB);

/// Two values have the same baseline element type.
mlir::LogicalResult checkSameBaselineElementType(mlir::Operation *op, Subject a,
                                                 mlir::Type typeA, Subject b,
                                                 mlir::Type typeB);

/// Two values have the same element type, except that types quantized per axis
/// may differ in their axis, scales and zero points.
mlir::LogicalResult checkSameQuantizableElementType(mlir::Operation *op,
                                                    Subject a, mlir::Type typeA,
                                                    Subject b,
                                                    mlir::Type typeB);

/// Two values have the same type.
mlir::LogicalResult checkSameType(mlir::Operation *op, Subject a,
                                  mlir::Type typeA, Subject b,
                                  mlir::Type typeB);

/// Same shape and same baseline element type.
mlir::LogicalResult checkSameBaselineType(mlir::Operation *op, Subject a,
                                          mlir::Type typeA, Subject b,
                                          mlir::Type typeB);

/// `tensor` has no dimensions.
mlir::LogicalResult checkScalar(mlir::Operation *op, Subject tensor,
                                mlir::Type type);

/// The region takes values of exactly these types.
mlir::LogicalResult checkRegionArguments(mlir::Operation *op, Subject region,
                                         mlir::Region &body,
                                         llvm::ArrayRef<mlir::Type> expected);

/// The region's terminator hands back values of exactly these types.
mlir::LogicalResult checkRegionResults(mlir::Operation *op, Subject region,
                                       mlir::Region &body,
                                       llvm::ArrayRef<mlir::Type> expected);

/// The operands of the region's terminator; an error if there is no terminator.
mlir::FailureOr<mlir::OperandRange>
regionResults(mlir::Operation *op, Subject region, mlir::Region &body);

/// The region has the type of a reducer over values of these element types:
/// (E0, ..., EN-1, E0, ..., EN-1) -> (E0, ..., EN-1) on tensors without
/// dimensions, where every element type is promotable to its Ei. On success
/// `accumulators` holds the Ei.
mlir::LogicalResult
checkReducer(mlir::Operation *op, Subject region, mlir::Region &body,
             llvm::ArrayRef<mlir::Type> elementTypes,
             llvm::SmallVectorImpl<mlir::Type> &accumulators);

/// `tensor` holds what the reducer `region` returns.
mlir::LogicalResult checkAccumulated(mlir::Operation *op, Subject tensor,
                                     mlir::Type type, mlir::Type accumulator,
                                     Subject region);

/// The operands and results of a reduction: at least one input, as many initial
/// values and results, inputs of one shape, and initial values that are scalars
/// of their input's element type.
mlir::LogicalResult checkReducedOperands(mlir::Operation *op,
                                         mlir::ValueRange inputs,
                                         mlir::ValueRange initValues);

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_VERIFYCONDITIONS_H
