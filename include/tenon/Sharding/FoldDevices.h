//===- FoldDevices.h - Several devices on one rank ------------------------===//
//
// A partitioned step in which every rank runs the programs of several devices.
// Along one axis of the mesh, of K devices, a rank has K / n neighbours, its
// logical shards. What the devices compute has the shapes that K decides, and
// what they add up is added by a binary tree over all K, so that results have
// the same bits for every n that divides K (--logical-shards).
//
// What is equal on all devices along the axis is computed once: parameters,
// what follows from them alone, and what a sum over the axis has made equal. Of
// everything else a rank has a copy per device, one behind the other: the order
// of operations stays, so that a rank has about as many bytes at a time as
// without shards, and devices read the same parameters shortly after each
// other. Partial sums wait in a stack as long as that of the other half of
// their subtree is not known: log2(K / n) + 1 at most.
//
// Example, of 4 devices on 2 ranks; y is equal everywhere:
//
//   %g = dot_general %x, %y       %g0 = dot_general %x[0:h], %y
//   %s = all_reduce %g       =>   %g1 = dot_general %x[h:2h], %y
//                                 %g01 = add %g0, %g1
//                                 %s = all_reduce %g01 {step.sums_by_tree}
//
// 16-bit floats are added in f32, also between ranks, and rounded once.
//
// K is a power of two: only then is there a tree in which the devices of a rank
// are a subtree for every n.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_FOLDDEVICES_H
#define TENON_SHARDING_FOLDDEVICES_H

#include "mlir/IR/BuiltinOps.h"

namespace tenon::sharding {

/// Replaces @main of a partitioned step by what each of `ranks` ranks along
/// `axis` runs. Fails, with a diagnostic, where the numbers do not divide, or
/// something lies or moves along the axis in a way that has no such form. With
/// one rank in all, no mesh is left.
mlir::LogicalResult foldDevices(mlir::ModuleOp module, llvm::StringRef axis,
                                int64_t ranks);

} // namespace tenon::sharding

#endif // TENON_SHARDING_FOLDDEVICES_H
