//===- MachineCodeCache.h - What the assembler made before ----------------===//
//
// A folder with a file for each text that was assembled (Format/CacheFolder.h).
// What is found there are the bytes that the assembler would write, so nothing
// but the time tells whether there is a cache. Steps that differ in numbers
// such as the learning rate have the machine code of one text, with other
// numbers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_GPU_MACHINECODECACHE_H
#define TENON_CODEGEN_GPU_MACHINECODECACHE_H

#include "tenon/Codegen/GPU/AssemblePtx.h"
#include "tenon/Codegen/GPU/EmitPtx.h"
#include "tenon/Format/CacheFolder.h"

namespace tenon::codegen {

class MachineCodeCache {
public:
  /// Empty for no cache.
  explicit MachineCodeCache(std::string folder, uint64_t mostBytes = uint64_t(1)
                                                                     << 30)
      : kept(std::move(folder), ".machine-code", mostBytes) {}

  /// Machine code of the kernels, with the constants that they name in its
  /// constant memory.
  std::optional<MachineCode>
  assemble(const PtxModule &kernels,
           const target::GpuArchitecture &architecture,
           const Assembler &assembler, std::string &error) const;
  /// assemblePtx(), unless that has been asked before.
  std::optional<MachineCode>
  assemble(llvm::StringRef text, const target::GpuArchitecture &architecture,
           const Assembler &assembler, std::string &error) const;

private:
  format::CacheFolder kept;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_GPU_MACHINECODECACHE_H
