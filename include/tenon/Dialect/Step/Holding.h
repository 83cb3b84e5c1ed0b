//===- Holding.h - Arguments that are parts of a tensor -------------------===//
//
// A step may take and give an f32 tensor that users see as one or several of
// its own, by a rule of Format/Holding.h. Each of these arguments and results
// is marked with the tensor, the rule and the part that it is:
//
//   step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "params.w"}
//
// Part 0 stands where the program that came has the tensor, so that users find
// arguments and results by their numbers; other parts stand behind all of
// these.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_HOLDING_H
#define TENON_DIALECT_STEP_HOLDING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tenon::step {

/// On an argument or result of @main that is a part of a tensor, then on the
/// `exec.tensor` that says where it is stored.
inline constexpr llvm::StringLiteral holdsAttrName = "step.holds";

/// The word for a bf16 and the rest of an f32's bits, an i16.
inline constexpr llvm::StringLiteral highAndLowRule = "high_and_low";

/// The word for a bf16 alone, or an f16. Batch tensors may be held so, too.
inline constexpr llvm::StringLiteral convertedRule = "converted";

struct HeldPart {
  llvm::StringRef tensor, rule;
  int64_t part = 0;
};

mlir::DictionaryAttr holdsAttr(mlir::MLIRContext *context, HeldPart part);

/// What the attributes say that a value is a part of; nothing for a tensor of
/// its own.
std::optional<HeldPart> heldPartOf(mlir::DictionaryAttr attributes);

/// For each argument that is a later part of a tensor, its number behind that
/// of the first part. Where one part lies, the others do.
llvm::SmallVector<std::pair<unsigned, unsigned>>
laterParts(mlir::FunctionOpInterface main);

/// Whether the attribute names a tensor, a known rule and one of its parts.
bool isHolding(mlir::Attribute attribute);

/// Whether the parts of each tensor are all there, in order, of the types that
/// the rule says, and are replaced by the same parts, unless nothing is
/// replaced: an entry point reads the parts of a step's state. Reports the
/// first that is not.
mlir::LogicalResult verifyHolding(mlir::FunctionOpInterface main);

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_HOLDING_H
