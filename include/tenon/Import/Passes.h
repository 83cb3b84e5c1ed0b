//===- Passes.h - Passes of the import stage -----------------------------===//
//
// Declarations of the passes that turn an exporter's module into step form, and
// their registration for tenon-opt. Passes.td says what each of them does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_PASSES_H
#define TENON_IMPORT_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tenon::importer {

#define GEN_PASS_DECL
#include "tenon/Import/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tenon/Import/Passes.h.inc"

} // namespace tenon::importer

#endif // TENON_IMPORT_PASSES_H
