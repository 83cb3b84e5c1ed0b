//===- AssemblerGate.h - Every kernel of the tests is assembled -----------===//
//
// NVIDIA's assembler (tools/environment.sh installs it) takes every kernel that
// tests compile for GPUs, for four architectures, and says what it costs: few
// spilled registers, and no other warning, but for kernels in parts. All of
// them are assembled at once when the tests have run.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_CODEGEN_ASSEMBLERGATE_H
#define TENON_TEST_UNIT_CODEGEN_ASSEMBLERGATE_H

#include <string>

namespace tenon {

/// `text` has a function `@kernel`.
void assembleLater(const std::string &text);

} // namespace tenon

#endif // TENON_TEST_UNIT_CODEGEN_ASSEMBLERGATE_H
