//===- MachineCodeCache.cpp - What the assembler made before --------------===//
//
// See MachineCodeCache.h. A file is the hash of what follows it, the length of
// the assembler's report, the report, and the machine code.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/GPU/MachineCodeCache.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/Hash.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <chrono>
#include <cstring>

using namespace llvm;

namespace tenon::codegen {

static constexpr StringLiteral ending = ".machine-code";

static format::Hash hashOf(StringRef text) {
  return format::hashOf(
      std::as_bytes(std::span<const char>(text.data(), text.size())));
}

/// How a cached file begins.
struct CachedHeader {
  format::Hash hash; // of all behind it
  uint64_t reportBytes = 0;
};

/// The code in a file; nothing if it is damaged or not there.
static std::optional<MachineCode> readCached(const std::string &path,
                                             const Assembler &assembler) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!buffer)
    return std::nullopt;
  StringRef bytes = (*buffer)->getBuffer();
  CachedHeader header;
  if (bytes.size() < sizeof(header))
    return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  bytes = bytes.drop_front(sizeof(header));
  if (header.reportBytes > bytes.size() || hashOf(bytes) != header.hash)
    return std::nullopt;
  MachineCode code =
      machineCodeOf(assembler, bytes.take_front(header.reportBytes));
  bytes = bytes.drop_front(header.reportBytes);
  code.binary.assign(bytes.begin(), bytes.end());
  return code;
}

static void writeCached(const std::string &path, const MachineCode &code) {
  std::string content = code.report;
  content.append(code.binary.begin(), code.binary.end());
  CachedHeader header{hashOf(content), code.report.size()};
  content.insert(0, reinterpret_cast<const char *>(&header), sizeof(header));
  // Whoever cannot keep it makes it again.
  std::string ignored;
  (void)format::writeFile(path, std::as_bytes(std::span(content)), ignored);
}

/// Marks a file as used now.
static void touch(const std::string &path) {
  int file;
  if (sys::fs::openFileForReadWrite(path, file, sys::fs::CD_OpenExisting,
                                    sys::fs::OF_None))
    return;
  auto now = std::chrono::time_point_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now());
  (void)sys::fs::setLastAccessAndModificationTime(file, now);
  sys::fs::file_t handle = sys::fs::convertFDToNativeFile(file);
  (void)sys::fs::closeFile(handle);
}

std::optional<MachineCode> MachineCodeCache::assemble(
    StringRef text, const target::GpuArchitecture &architecture,
    const Assembler &assembler, std::string &error) const {
  if (folder.empty())
    return assemblePtx(text, architecture, assembler, error);
  const std::string key = assembler.version + "\n" +
                          std::string(architecture.name) + "\n" +
                          std::string(assemblerFlags) + "\n" + text.str();
  SmallString<256> path(folder);
  sys::path::append(path, format::hashText(hashOf(key)) + ending);
  std::string file = path.str().str();
  if (auto known = readCached(file, assembler)) {
    touch(file);
    return known;
  }
  auto code = assemblePtx(text, architecture, assembler, error);
  if (code && !sys::fs::create_directories(folder)) {
    writeCached(file, *code);
    removeOldest();
  }
  return code;
}

void MachineCodeCache::removeOldest() const {
  struct Cached {
    std::string path;
    sys::TimePoint<> used;
    uint64_t bytes;
  };
  std::vector<Cached> files;
  uint64_t total = 0;
  std::error_code failed;
  for (sys::fs::directory_iterator each(folder, failed), end;
       !failed && each != end; each.increment(failed)) {
    sys::fs::file_status status;
    // Another process may have removed it.
    if (!StringRef(each->path()).ends_with(ending) ||
        sys::fs::status(each->path(), status))
      continue;
    files.push_back(
        {each->path(), status.getLastModificationTime(), status.getSize()});
    total += status.getSize();
  }
  std::ranges::sort(files, {}, &Cached::used);
  for (const Cached &file : files) {
    if (total <= mostBytes)
      return;
    (void)sys::fs::remove(file.path);
    total -= file.bytes;
  }
}

} // namespace tenon::codegen
