//===- WriteStableHLO.h - A module as text that every XLA reads -----------===//
//
// The last thing that happens to a step that leaves as StableHLO: it becomes
// text that parsers of other versions of MLIR read alike.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_STABLEHLO_WRITESTABLEHLO_H
#define TENON_CODEGEN_STABLEHLO_WRITESTABLEHLO_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tenon::codegen {

struct WriteOptions {
  /// The form that depends least on a version: `"stablehlo.add"(%a, %b)`.
  bool generic = false;
};

/// The text of `module`. Locations are written where the module came with its
/// own, and left out where they only say where in a file an operation stood.
std::string writeStableHLO(mlir::ModuleOp module,
                           const WriteOptions &options = {});

} // namespace tenon::codegen

#endif // TENON_CODEGEN_STABLEHLO_WRITESTABLEHLO_H
