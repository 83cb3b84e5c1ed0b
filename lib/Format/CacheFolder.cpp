//===- CacheFolder.cpp - What was made before, kept in a folder -----------===//
//
// See CacheFolder.h. A file is the hash of what follows it, and that.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/CacheFolder.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/Hash.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace tenon::format;
namespace fs = std::filesystem;

std::string CacheFolder::fileOf(std::string_view key) const {
  return folder + "/" + hashText(hashOf(std::as_bytes(std::span(key)))) +
         ending;
}

std::optional<std::vector<std::byte>>
CacheFolder::find(std::string_view key) const {
  if (isNone())
    return std::nullopt;
  const std::string path = fileOf(key);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? std::streamoff(file.tellg()) : 0;
  Hash hash;
  if (size < std::streamoff(sizeof(hash)))
    return std::nullopt;
  std::vector<std::byte> content(size_t(size) - sizeof(hash));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(&hash), sizeof(hash));
  file.read(reinterpret_cast<char *>(content.data()),
            std::streamsize(content.size()));
  if (!file || hashOf(content) != hash)
    return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return content;
}

void CacheFolder::keep(std::string_view key,
                       std::span<const std::byte> content) const {
  std::error_code failed;
  if (isNone())
    return;
  fs::create_directories(folder, failed);
  if (failed)
    return;
  const Hash hash = hashOf(content);
  const auto header = std::as_bytes(std::span(&hash, 1));
  std::vector<std::byte> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), content.begin(), content.end());
  std::string ignored;
  (void)writeFile(fileOf(key), bytes, ignored);
  removeOldest();
}

void CacheFolder::removeOldest() const {
  struct Kept {
    fs::path path;
    fs::file_time_type used;
    uint64_t bytes;
  };
  std::vector<Kept> files;
  uint64_t total = 0;
  std::error_code failed;
  for (fs::directory_iterator each(folder, failed), end; !failed && each != end;
       each.increment(failed)) {
    // Those that a killed process left unfinished have a longer name.
    if (each->path().filename().string().find(ending) == std::string::npos)
      continue;
    // Another process may have removed it.
    std::error_code isGone;
    Kept file{each->path(), each->last_write_time(isGone), 0};
    if (!isGone)
      file.bytes = each->file_size(isGone);
    if (isGone)
      continue;
    total += file.bytes;
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &Kept::used);
  for (const Kept &file : files) {
    if (total <= mostBytes)
      return;
    fs::remove(file.path, failed);
    total -= file.bytes;
  }
}
