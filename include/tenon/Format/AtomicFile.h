//===- AtomicFile.h - A file that appears whole or not at all ------------===//
//
// Writes beside the target, makes the bytes durable, then renames over it:
// whoever opens the path sees the old file or the new one, also after a kill, a
// power loss or with a full disk.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_ATOMICFILE_H
#define TENON_FORMAT_ATOMICFILE_H

#include <cstddef>
#include <memory>
#include <span>
#include <string>

struct stat;

namespace tenon::format {

class AtomicFile {
public:
  /// Null with a message in `error` if no file can be made in the folder of
  /// `path`.
  static std::unique_ptr<AtomicFile> create(const std::string &path,
                                            std::string &error);
  /// Removes what was written if it was not committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  bool append(std::span<const std::byte> bytes, std::string &error);
  /// Makes the file durable and gives it its name.
  bool commit(std::string &error);

private:
  AtomicFile() = default;
  /// `old` describes the file at `path`, null if there is none.
  static std::unique_ptr<AtomicFile>
  createAt(const std::string &path, const struct stat *old, std::string &error);

  std::string path, temporary;
  int file = -1;
};

/// Writes a whole file: whoever opens `path` sees the old one or the new one.
bool writeFile(const std::string &path, std::span<const std::byte> bytes,
               std::string &error);

} // namespace tenon::format

#endif // TENON_FORMAT_ATOMICFILE_H
