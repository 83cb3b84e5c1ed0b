//===- Passes.h - Passes of the simplify stage ---------------------------===//
//
// Declarations of the passes that make a step smaller without changing what it
// computes, and their registration. Passes.td says what each of them does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SIMPLIFY_PASSES_H
#define TENON_SIMPLIFY_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace tenon::simplify {

#define GEN_PASS_DECL
#include "tenon/Simplify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tenon/Simplify/Passes.h.inc"

} // namespace tenon::simplify

#endif // TENON_SIMPLIFY_PASSES_H
