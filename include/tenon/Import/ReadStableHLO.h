//===- ReadStableHLO.h - Program text to a module -------------------------===//
//
// Reads StableHLO text as exporters write it: bounds it, parses it, and checks
// what every later stage takes for granted (known operations, static shapes,
// sizes that can be computed). The first thing that happens to a step.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_READSTABLEHLO_H
#define TENON_IMPORT_READSTABLEHLO_H

#include "tenon/Import/BoundText.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace tenon::importer {

struct ReadOptions {
  TextLimits limits;
  /// Refuse dynamic shapes. Off for tools that only print a file.
  bool staticShapes = true;
  /// Keep operations that no dialect has, with a remark of the category
  /// `import-keep-unknown`, rather than refuse them. Needs a context that
  /// allows unregistered dialects.
  bool keepUnknown = false;
};

/// Adds the dialects that exported text may use.
void registerInputDialects(mlir::DialectRegistry &registry);

/// Parses `text`, called `name` in diagnostics. Null, after diagnostics through
/// the context, for text that is malformed, beyond the limits, uses operations
/// no registered dialect has, holds an elided constant, or has dynamic shapes.
/// Constants kept as resources become ordinary constants.
mlir::OwningOpRef<mlir::ModuleOp>
readStableHLO(llvm::StringRef text, llvm::StringRef name,
              mlir::MLIRContext &context, const ReadOptions &options = {});

/// Reads and parses the file at `path` (`-` is standard input).
mlir::OwningOpRef<mlir::ModuleOp>
readStableHLOFile(llvm::StringRef path, mlir::MLIRContext &context,
                  const ReadOptions &options = {});

/// Reads and parses a text between stages: bounded as program text, then parsed
/// and verified with the dialects of `context`.
mlir::OwningOpRef<mlir::ModuleOp> readFormFile(llvm::StringRef path,
                                               mlir::MLIRContext &context);

/// Reports every dynamic shape in `module`, naming the argument of @main it
/// belongs to where there is one, at `whole` where the location says no place.
llvm::LogicalResult checkStaticShapes(mlir::ModuleOp module,
                                      mlir::Location whole);

} // namespace tenon::importer

#endif // TENON_IMPORT_READSTABLEHLO_H
