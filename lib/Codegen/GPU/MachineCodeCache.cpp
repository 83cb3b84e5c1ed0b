//===- MachineCodeCache.cpp - What the assembler made before --------------===//
//
// See MachineCodeCache.h. What is kept is the length of the assembler's report,
// the report, and the machine code.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/GPU/MachineCodeCache.h"

#include "HoistedConstants.h"

#include <cstring>

using namespace llvm;

namespace tenon::codegen {

/// The code that was kept; nothing if that is none.
static std::optional<MachineCode> restore(std::span<const std::byte> kept,
                                          const Assembler &assembler) {
  uint64_t reportBytes = 0;
  StringRef bytes(reinterpret_cast<const char *>(kept.data()), kept.size());
  if (bytes.size() < sizeof(reportBytes))
    return std::nullopt;
  std::memcpy(&reportBytes, bytes.data(), sizeof(reportBytes));
  bytes = bytes.drop_front(sizeof(reportBytes));
  if (reportBytes > bytes.size())
    return std::nullopt;
  MachineCode code = machineCodeOf(assembler, bytes.take_front(reportBytes));
  bytes = bytes.drop_front(reportBytes);
  code.binary.assign(bytes.begin(), bytes.end());
  return code;
}

std::optional<MachineCode> MachineCodeCache::assemble(
    const PtxModule &kernels, const target::GpuArchitecture &architecture,
    const Assembler &assembler, std::string &error) const {
  const HoistedConstants constants(kernels.text, kernels.kernels);
  auto code = assemble(constants.text(), architecture, assembler, error);
  // An assembler that we do not know may lay constants out in another way.
  if (code && !constants.writeInto(code->binary))
    code = assemble(kernels.text, architecture, assembler, error);
  return code;
}

std::optional<MachineCode> MachineCodeCache::assemble(
    StringRef text, const target::GpuArchitecture &architecture,
    const Assembler &assembler, std::string &error) const {
  if (kept.isNone())
    return assemblePtx(text, architecture, assembler, error);
  const std::string key = assembler.version + "\n" +
                          std::string(architecture.name) + "\n" +
                          std::string(assemblerFlags) + "\n" + text.str();
  if (auto found = kept.find(key))
    if (auto known = restore(*found, assembler))
      return known;
  auto code = assemblePtx(text, architecture, assembler, error);
  if (code) {
    const uint64_t reportBytes = code->report.size();
    std::string content(reinterpret_cast<const char *>(&reportBytes),
                        sizeof(reportBytes));
    content += code->report;
    content.append(code->binary.begin(), code->binary.end());
    kept.keep(key, std::as_bytes(std::span(content)));
  }
  return code;
}

} // namespace tenon::codegen
