//===- AssemblePtx.h - PTX to a GPU's machine code ------------------------===//
//
// NVIDIA's assembler, `ptxas`, is a program of its own, which need not be
// there: a driver compiles PTX, too. Where it is found, what it makes goes into
// the file beside the PTX, so that loading the file takes no time for that, and
// what it says of each kernel is known before a GPU has seen it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_GPU_ASSEMBLEPTX_H
#define TENON_CODEGEN_GPU_ASSEMBLEPTX_H

#include "tenon/Target/GpuArchitectures.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::codegen {

struct Assembler {
  std::string file;
  std::string version; // `13.0.88`
};

/// The assembler in `file`, or, if that is empty, the one that is installed:
/// the package nvidia-cuda-nvcc of the Python environment that the executable
/// belongs to, else `ptxas` on the path. Nothing, with `error` filled in, if a
/// named one is none; nothing, with `error` empty, if none is installed.
std::optional<Assembler> findAssembler(llvm::StringRef file,
                                       std::string &error);

/// What a kernel takes of a GPU.
struct KernelResources {
  int64_t registers = 0;   // of 32 bits, per thread
  int64_t sharedBytes = 0; // per block
  int64_t stackBytes = 0;  // of local memory, per thread
  int64_t spillBytes = 0;  // stored and loaded, in the text of the kernel
};

/// A cubin: the kernels of one text of PTX as machine code.
struct MachineCode {
  std::string assembler; // its version
  std::string report;    // what it printed, of which the rest is read
  std::vector<char> binary;
  llvm::StringMap<KernelResources> resources; // by symbol
  /// What the assembler warns of, a line each.
  std::vector<std::string> warnings;
};

/// What every call gives the assembler beside the architecture and the files:
/// the machine code records it.
inline constexpr llvm::StringLiteral assemblerFlags =
    "-v -warn-spills -warn-lmem-usage";

/// Machine code without its bytes, by what the assembler printed.
MachineCode machineCodeOf(const Assembler &assembler, llvm::StringRef report);

/// The same text and assembler give the same bytes. Nothing, with `error`
/// filled in, if the assembler refuses the text or cannot be run.
std::optional<MachineCode>
assemblePtx(llvm::StringRef text, const target::GpuArchitecture &architecture,
            const Assembler &assembler, std::string &error);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_GPU_ASSEMBLEPTX_H
