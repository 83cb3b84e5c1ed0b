//===- Parts.h - Steps that many devices run together ---------------------===//
//
// The attributes of a step that the stage Sharding has cut: every device of a
// mesh runs it on its parts of the tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_PARTS_H
#define TENON_DIALECT_STEP_PARTS_H

#include "llvm/ADT/StringRef.h"

namespace tenon::step {

/// Module attribute, string: the axes of the mesh (Format/Mesh.h).
inline constexpr llvm::StringLiteral meshAttrName = "step.mesh";
/// Module attribute, string: the mesh of the devices for which the step was
/// cut, of which each rank runs several (--logical-shards).
inline constexpr llvm::StringLiteral logicalShardsAttrName =
    "step.logical_shards";
/// On arguments and results, string: their layout (Layout::text).
inline constexpr llvm::StringLiteral layoutAttrName = "step.layout";
/// On arguments and results, and then on exec.tensor, an array of array<i64>:
/// for each dimension the stride and the size of every part of an axis that
/// cuts it, major first (Cut in Format/Index.h).
inline constexpr llvm::StringLiteral cutsAttrName = "step.cuts";
/// On arguments and results, and then on exec.tensor: the type of the tensor
/// that they are a part of.
inline constexpr llvm::StringLiteral wholeAttrName = "step.whole";
/// On groups of scheduled form that are collectives, saves or loads, i64: so
/// many operations behind the group in its block run beside it, and the next
/// waits for it.
inline constexpr llvm::StringLiteral besideAttrName = "step.beside";
/// Module attribute, string: for people, what was proved of the choice of
/// layouts.
inline constexpr llvm::StringLiteral layoutProofAttrName = "step.layout_proof";

/// On collectives that combine elements, and then on exec.collective, string:
/// what does so in an order of its own (Libraries/Reducer.h).
inline constexpr llvm::StringLiteral reducerAttrName = "step.reducer";
/// On collectives that add up floats, unit: by a binary tree over the ranks of
/// a group, whose order does not depend on how many ranks there are
/// (--logical-shards).
inline constexpr llvm::StringLiteral sumsByTreeAttrName = "step.sums_by_tree";

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_PARTS_H
