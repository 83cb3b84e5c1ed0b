//===- Passes.h - Codegen/CPU: kernels become object code -----------------===//
//
// The passes of Codegen/CPU, for tenon-opt.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_PASSES_H
#define TENON_CODEGEN_CPU_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <string>

namespace tenon::codegen {

#define GEN_PASS_DECL
#include "tenon/Codegen/CPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tenon/Codegen/CPU/Passes.h.inc"

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_PASSES_H
