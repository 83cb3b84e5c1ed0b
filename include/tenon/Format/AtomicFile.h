//===- AtomicFile.h - What appears whole or not at all --------------------===//
//
// A file, or a folder of files. Writes beside the target, makes the bytes
// durable, then renames to it: whoever opens the path sees what was there
// before or what is new, also after a kill, a power loss or with a full disk.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_ATOMICFILE_H
#define TENON_FORMAT_ATOMICFILE_H

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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
  /// Gives it its name now; a power loss may leave some of its bytes out.
  bool commitSoon(std::string &error);

private:
  AtomicFile() = default;
  bool finish(bool isDurable, std::string &error);
  /// `old` describes the file at `path`, null if there is none.
  static std::unique_ptr<AtomicFile>
  createAt(const std::string &path, const struct stat *old, std::string &error);

  std::string path, temporary;
  int file = -1;
};

/// A folder of files that are written as AtomicFile does.
class AtomicFolder {
public:
  /// What the names of unfinished folders begin with. Those that a killed
  /// process left behind are for the next one to remove.
  static constexpr std::string_view unfinishedPrefix = ".unfinished-";

  /// Null with a message in `error` if no folder can be made beside `path`.
  static std::unique_ptr<AtomicFolder> create(const std::string &path,
                                              std::string &error);
  /// Removes what was written if it was not committed.
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder &) = delete;
  AtomicFolder &operator=(const AtomicFolder &) = delete;

  /// Where to write the files, until commit().
  const std::string &unfinished() const { return temporary; }
  /// Makes the folder durable and gives it its name. A folder that has the name
  /// already is removed once it is replaced.
  bool commit(std::string &error);

private:
  AtomicFolder() = default;
  bool fail(const std::string &what, std::string &error) const;

  std::string path, temporary;
};

/// Makes the entries of a folder durable, where its file system can.
bool syncFolder(const std::string &path, std::string &error);

/// Writes a whole file: whoever opens `path` sees the old one or the new one.
bool writeFile(const std::string &path, std::span<const std::byte> bytes,
               std::string &error);

} // namespace tenon::format

#endif // TENON_FORMAT_ATOMICFILE_H
