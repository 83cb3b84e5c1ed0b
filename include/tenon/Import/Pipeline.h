//===- Pipeline.h - The import stage -------------------------------------===//
//
// From an exporter's module, as ReadStableHLO gives it, to step form: the
// passes of this stage in order, and their options. Called by Driver and
// tenon-opt.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_PIPELINE_H
#define TENON_IMPORT_PIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace tenon::importer {

struct ImportOptions {
  /// The function that is the step; it is called `@main` afterwards.
  std::string entry = "main";
  /// JSON file that states roles and successors; none if empty.
  std::string rolesFile;
  /// Names of results that are no state: the result, `=`, its name.
  std::vector<std::string> resultNames;
  /// The mesh that the step is cut over; empty for one device.
  std::string mesh;
  /// Whether what authors say of how values inside the step lie is kept.
  bool keepShardings() const { return !mesh.empty(); }
  /// Leave functions of elements as they are, and complex elements too: for the
  /// reference interpreter, which has them. The result is no step form.
  bool forInterpreter = false;
  /// Return what a self-checking program compares, for takeExpectations.
  bool separateExpectations = false;
  /// End with the check of step form.
  bool verifyForm = true;
};

/// Adds the passes of the stage to a pass manager for modules.
void buildImportPipeline(mlir::OpPassManager &manager,
                         const ImportOptions &options);

/// Registers the passes and the pipeline `--import`.
void registerImportPipeline();

/// Attribute of a module or function, unit: a pass refused it because it holds
/// operations that are not supported on the target (exit code 4), not because
/// it is wrong.
inline constexpr llvm::StringLiteral unsupportedAttrName = "step.unsupported";

/// Whether a failed import was refused as unsupported.
bool isRefusedAsUnsupported(mlir::ModuleOp module);

} // namespace tenon::importer

#endif // TENON_IMPORT_PIPELINE_H
