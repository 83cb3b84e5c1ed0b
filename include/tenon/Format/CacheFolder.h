//===- CacheFolder.h - What was made before, kept in a folder -------------===//
//
// A folder with a file for each thing that was made, named by the hash of all
// that it depends on. Several processes may use one folder: a file appears
// whole or not at all, and one that goes while it is looked for counts as
// missing, as does one that is damaged or was made for another key. A folder
// that cannot be written keeps nothing, which is no error: what is missing is
// made again.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_CACHEFOLDER_H
#define TENON_FORMAT_CACHEFOLDER_H

#include "tenon/Format/Hash.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::format {

class CacheFolder {
public:
  /// The folder need not exist; empty for none. Names of files end in `ending`.
  /// `mostBytes` bounds what is in them: what was used longest ago goes first,
  /// when about a 64th of that has come.
  CacheFolder(std::string folder, std::string ending, uint64_t mostBytes)
      : folder(std::move(folder)), ending(std::move(ending)),
        mostBytes(mostBytes) {}

  bool isNone() const { return folder.empty(); }
  /// What was kept under the key, which counts as a use.
  std::optional<std::vector<std::byte>> find(std::string_view key) const;
  struct Made {
    std::string_view key;
    std::span<const std::byte> content;
  };
  /// Keeps each, in place of what was kept under the key before.
  void keep(std::span<const Made> all) const;
  void keep(std::string_view key, std::span<const std::byte> content) const {
    const Made made{key, content};
    keep(std::span(&made, 1));
  }

private:
  std::string fileOf(const Hash &key) const;
  void removeOldest() const;

  std::string folder, ending;
  uint64_t mostBytes;
};

} // namespace tenon::format

#endif // TENON_FORMAT_CACHEFOLDER_H
