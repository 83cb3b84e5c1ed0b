//===- Step.h - What a training step adds to StableHLO -------------------===//
//
// The `step` dialect: roles, groups, and the names of the attributes that
// stages hang on functions and arguments. docs/Forms.md says who writes and who
// reads each of them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_STEP_H
#define TENON_DIALECT_STEP_STEP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tenon/Dialect/Step/StepDialect.h.inc"
#include "tenon/Dialect/Step/StepEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Step/StepAttributes.h.inc"

#define GET_OP_CLASSES
#include "tenon/Dialect/Step/StepOps.h.inc"

namespace tenon::step {

/// Argument attribute, #step.role<...>: what the argument is.
inline constexpr llvm::StringLiteral roleAttrName = "step.role";
/// Argument attribute, string: how the role was found, for `tenon inspect`.
inline constexpr llvm::StringLiteral roleReasonAttrName = "step.role_reason";
/// Argument and result attribute, string: the canonical name.
inline constexpr llvm::StringLiteral nameAttrName = "step.name";
/// Argument and result attribute, array of strings: further names.
inline constexpr llvm::StringLiteral aliasesAttrName = "step.aliases";
/// Argument attribute, i64: the result of @main that becomes this argument in
/// the next step. Present exactly on state.
inline constexpr llvm::StringLiteral successorAttrName = "step.successor";
/// Argument attribute, unit: the caller gave the buffer away, so it may be
/// overwritten.
inline constexpr llvm::StringLiteral donatedAttrName = "step.donated";

/// Argument and result attribute, unit: the last dimension, of extent 2, holds
/// the parts of complex elements.
inline constexpr llvm::StringLiteral complexAttrName = "step.complex";
/// Argument and result attribute, type: the elements that users see; the bytes
/// here carry them.
inline constexpr llvm::StringLiteral elementTypeAttrName = "step.element_type";

/// Attribute of operations in scheduled form, array of #step.place: where each
/// result lies; on a `while`, where each carried value lies.
inline constexpr llvm::StringLiteral placesAttrName = "step.places";
/// Function attributes of scheduled form, arrays of #step.place: where each
/// argument lies, and where each result has to lie at the end.
inline constexpr llvm::StringLiteral argumentPlacesAttrName =
    "step.argument_places";
inline constexpr llvm::StringLiteral resultPlacesAttrName =
    "step.result_places";
/// Group attribute, i64: bytes of scratch memory its kernel or call needs.
inline constexpr llvm::StringLiteral scratchBytesAttrName =
    "step.scratch_bytes";
/// Group attribute, i64: the time of one run that planning reckons with.
inline constexpr llvm::StringLiteral nanosecondsAttrName = "step.nanoseconds";
/// On groups of the kinds save and load, i64: the time for which the bytes move
/// beside others. step.nanoseconds of these is what starting that takes.
inline constexpr llvm::StringLiteral transferNanosecondsAttrName =
    "step.transfer_nanoseconds";
/// Group attribute under a budget, array of {nanoseconds, scratch_bytes}: the
/// parts in which the group may be computed again (Analysis/GroupParts.h).
inline constexpr llvm::StringLiteral partsAttrName = "step.parts";
/// Group attribute of scheduled form, unit: computes again what a group before
/// it computed.
inline constexpr llvm::StringLiteral recomputedAttrName = "step.recomputed";
/// Attribute of operations of scheduled form under a budget, i64: their node in
/// the recomputation problem.
inline constexpr llvm::StringLiteral nodeAttrName = "step.node";
/// Beside it, i64 array, one per result: its number among the values of the
/// recomputation problem, -1 for what only the node itself reads.
inline constexpr llvm::StringLiteral nodeValuesAttrName = "step.node_values";
/// Beside it, i64 array, one per result: the bytes of the temporaries that the
/// problem has it take. What takes some lies there, and nowhere else.
inline constexpr llvm::StringLiteral nodeBytesAttrName = "step.node_bytes";
/// Beside it, i64 array: nodes that are computed again in the same kernel, in
/// order, before that one.
inline constexpr llvm::StringLiteral joinedNodesAttrName = "step.joined_nodes";
/// On loops, i64: the pair of a forward and a backward loop that they belong
/// to, in the order of the program.
inline constexpr llvm::StringLiteral loopPairAttrName = "step.loop_pair";
/// On sums of a round while loops are changed, i64: so many rounds are added up
/// at once.
inline constexpr llvm::StringLiteral blockRoundsAttrName = "step.block_rounds";
/// On @main: bytes that each pair of loops stacks less than it was written to.
inline constexpr llvm::StringLiteral loopSavingsAttrName = "step.loop_savings";
/// On @main: bytes that each pair of loops cut into segments stacks less.
inline constexpr llvm::StringLiteral segmentSavingsAttrName =
    "step.segment_savings";
/// On @main, unit: a pair would stack a tenth less if its segments were cut
/// once more.
inline constexpr llvm::StringLiteral segmentsCanNestAttrName =
    "step.segments_can_nest";
/// On a grouped module whose loops compute values again for a budget: {bytes,
/// nanoseconds} of the plan that keeps everything.
inline constexpr llvm::StringLiteral keepingEverythingAttrName =
    "step.keeping_everything";
/// On a loop before what to recompute is chosen: the ways to run its body, each
/// {bytes, nanoseconds, order, rows} (lib/Memory/LoopTable.h).
inline constexpr llvm::StringLiteral loopRowsAttrName = "step.loop_rows";
/// Beside it: what every way to run the body needs, listed or not, at least one
/// {bytes, nanoseconds} of these.
inline constexpr llvm::StringLiteral loopFloorsAttrName = "step.loop_floors";
/// Group attribute of scheduled form, #step.place: where that memory lies.
inline constexpr llvm::StringLiteral scratchPlaceAttrName =
    "step.scratch_place";
/// On @main in scheduled form, dictionary: bytes of each segment.
inline constexpr llvm::StringLiteral segmentBytesAttrName =
    "step.segment_bytes";
/// Module attribute of a stage's text, dictionary: options of the compilation
/// that later stages depend on.
inline constexpr llvm::StringLiteral optionsAttrName = "step.options";
/// On @main in scheduled form, then on the exec program, i64: what the
/// temporaries of any plan of this order need at least, in bytes.
inline constexpr llvm::StringLiteral temporariesBoundAttrName =
    "step.temporaries_bound";
/// Module attribute since `simplify`, f64: FLOPs of the dots and convolutions
/// of one step.
inline constexpr llvm::StringLiteral flopsAttrName = "step.flops";
/// Attribute of gathers and scatters since `simplify`, string: what they are in
/// training.
inline constexpr llvm::StringLiteral idiomAttrName = "step.idiom";

/// On @main in scheduled form, then on the exec program, dictionary: what
/// recomputation costs and what is proved of it (the pass
/// memory-choose-recomputation).
inline constexpr llvm::StringLiteral recomputationAttrName =
    "step.recomputation";

/// Whether an argument of this role is carried from step to step.
bool isState(Role role);

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_STEP_H
