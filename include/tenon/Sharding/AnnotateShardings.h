//===- AnnotateShardings.h - Layouts as annotations of Shardy -------------===//
//
// A whole step that says how XLA is to cut it: a mesh, shardings of arguments
// and results, and constraints on values that would otherwise get another
// layout by propagation. XLA writes the parts and the collectives itself.
//
// Arguments and results are what a client passes and gets; JAX has arrays only
// whose parts are of one size, so of a layout in which a dimension is cut
// unevenly there, as many axes are kept as cut it evenly.
//
// Example: on the mesh data=2, @main(%x: tensor<8x4xf32>) with the layout
// [data, -] becomes
//
//   sdy.mesh @mesh = <["data"=2]>
//   func.func @main(%x: tensor<8x4xf32> {sdy.sharding =
//     #sdy.sharding<@mesh, [{"data"}, {}]>})
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_ANNOTATESHARDINGS_H
#define TENON_SHARDING_ANNOTATESHARDINGS_H

#include "tenon/Sharding/Propagate.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon::sharding {

/// Shardings of the arguments and results of @main, in its order.
struct BoundaryShardings {
  llvm::SmallVector<mlir::Attribute> arguments, results;
};

/// Writes mesh and constraints into a module in step form and gives what its
/// signature is to have. `constraints` counts them.
BoundaryShardings annotateShardings(mlir::ModuleOp module, const Mesh &mesh,
                                    const LayoutPlan &plan,
                                    int64_t &constraints);

} // namespace tenon::sharding

#endif // TENON_SHARDING_ANNOTATESHARDINGS_H
