//===- CacheFolder.cpp - What was made before, kept in a folder -----------===//
//
// See CacheFolder.h. A file is the hash of what follows it, the hash of its
// key, and what was made, so that a file under another one's name counts as
// damaged.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/CacheFolder.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/Hash.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace tenon::format;
namespace fs = std::filesystem;

std::string CacheFolder::fileOf(const Hash &key) const {
  return folder + "/" + hashText(key) + ending;
}

static Hash hashOfKey(std::string_view key) {
  return hashOf(std::as_bytes(std::span(key)));
}

std::optional<std::vector<std::byte>>
CacheFolder::find(std::string_view key) const {
  if (isNone())
    return std::nullopt;
  const Hash wanted = hashOfKey(key);
  const std::string path = fileOf(wanted);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? std::streamoff(file.tellg()) : 0;
  Hash hash, own;
  if (size < std::streamoff(sizeof(hash) + sizeof(own)))
    return std::nullopt;
  std::vector<std::byte> content(size_t(size) - sizeof(hash));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(&hash), sizeof(hash));
  file.read(reinterpret_cast<char *>(content.data()),
            std::streamsize(content.size()));
  if (!file || hashOf(content) != hash)
    return std::nullopt;
  std::memcpy(&own, content.data(), sizeof(own));
  if (own != wanted)
    return std::nullopt;
  content.erase(content.begin(), content.begin() + sizeof(own));
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return content;
}

void CacheFolder::keep(std::span<const Made> all) const {
  std::error_code failed;
  if (isNone() || all.empty())
    return;
  fs::create_directories(folder, failed);
  if (failed)
    return;
  uint64_t kept = 0, chance = 0;
  for (const auto &[key, content] : all) {
    const Hash own = hashOfKey(key);
    const auto front = std::as_bytes(std::span(&own, 1));
    std::vector<std::byte> bytes(front.begin(), front.end());
    bytes.insert(bytes.end(), content.begin(), content.end());
    const Hash hash = hashOf(bytes);
    kept += bytes.size();
    chance = hash.low;
    std::string ignored;
    // What a power loss leaves half written counts as damaged, so nothing
    // waits for the disk.
    auto file = AtomicFile::create(fileOf(own), ignored);
    if (file && file->append(std::as_bytes(std::span(&hash, 1)), ignored) &&
        file->append(bytes, ignored))
      (void)file->commitSoon(ignored);
  }
  // To look at thousands of files takes as long as to make what is in a few of
  // them, so that happens, on average, once for so many bytes.
  const uint64_t step = mostBytes / 64;
  if (kept >= step || chance % step < kept)
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
