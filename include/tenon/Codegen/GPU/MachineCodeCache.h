//===- MachineCodeCache.h - What the assembler made before ----------------===//
//
// A folder with a file for each text that was assembled, named by the hash of
// all that the machine code depends on. What is found there are the bytes that
// the assembler would write, so nothing but the time tells whether there is a
// cache. Several processes may use one folder: a file appears whole or not at
// all, and one that goes while it is looked for counts as missing.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_GPU_MACHINECODECACHE_H
#define TENON_CODEGEN_GPU_MACHINECODECACHE_H

#include "tenon/Codegen/GPU/AssemblePtx.h"

namespace tenon::codegen {

class MachineCodeCache {
public:
  /// The folder need not exist; empty for no cache. `mostBytes` bounds what is
  /// in it: what was used longest ago goes first.
  explicit MachineCodeCache(std::string folder, uint64_t mostBytes = uint64_t(1)
                                                                     << 30)
      : folder(std::move(folder)), mostBytes(mostBytes) {}

  /// assemblePtx(), unless that has been asked before. A folder that cannot be
  /// written is no error: the next call assembles again.
  std::optional<MachineCode>
  assemble(llvm::StringRef text, const target::GpuArchitecture &architecture,
           const Assembler &assembler, std::string &error) const;

private:
  void removeOldest() const;

  std::string folder;
  uint64_t mostBytes;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_GPU_MACHINECODECACHE_H
