//===- Shards.cpp - Tensors in several safetensors files ------------------===//
//
// See Shards.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Shards.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Support/JsonShape.h"
#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

using namespace tenon;
using namespace tenon::format;

static constexpr std::string_view indexEnding = ".index.json",
                                  shardEnding = ".safetensors";

bool tenon::format::isShardIndex(std::string_view path) {
  return path.ends_with(indexEnding);
}

std::unique_ptr<TensorFile> tenon::format::openTensors(const std::string &path,
                                                       std::string &error) {
  if (isShardIndex(path))
    return ShardsReader::open(path, error);
  return SafetensorsReader::open(path, error);
}

std::unique_ptr<ShardsReader> ShardsReader::open(const std::string &path,
                                                 std::string &error) {
  std::unique_ptr<ShardsReader> reader(new ShardsReader);
  std::string why;
  if (!reader->openFile(path, error))
    return nullptr;
  if (!reader->load(why))
    return refuse(error, "'" + path +
                             "' cannot be read as an index of safetensors "
                             "files: " +
                             why);
  return reader;
}

bool ShardsReader::load(std::string &error) {
  if (fileBytes > maxSafetensorsHeader)
    return refuse(error, "it has " + std::to_string(fileBytes) + " bytes");
  std::string text(fileBytes, '\0');
  if (!readAt(0, std::as_writable_bytes(std::span(text))))
    return refuse(error, "it ends too early");
  constexpr size_t deepest = 8;
  if (JsonShape shape(text, deepest); shape.isDeep || shape.isTwice)
    return refuse(error, shape.isDeep
                             ? "it is nested too deeply"
                             : "the name '" + shape.twice + "' is there twice");
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("weight_map") ||
      !json["weight_map"].is_object())
    return refuse(error, "expected an object with \"weight_map\", which gives "
                         "each tensor's file");
  const std::string folder = std::filesystem::path(path).parent_path().string();
  for (const auto &entry : json["weight_map"].items()) {
    const auto *name = entry.value().get_ptr<const std::string *>();
    if (!name || name->empty() || name->find('/') != std::string::npos)
      return refuse(error, "the file of tensor '" + entry.key() +
                               "' is not named by one in its folder");
    std::unique_ptr<SafetensorsReader> &file = files[*name];
    if (!file)
      file = SafetensorsReader::open(
          folder.empty() ? *name : folder + "/" + *name, error);
    if (!file)
      return false;
    const StoredTensor *stored = file->find(entry.key());
    if (!stored)
      return refuse(error, "tensor '" + entry.key() + "' is not in '" + *name +
                               "', which should hold it");
    add(*stored);
    holders[entry.key()] = file.get();
  }
  return true;
}

bool ShardsReader::readFrom(const StoredTensor &tensor, uint64_t from,
                            std::span<std::byte> into,
                            std::string &error) const {
  const TensorFile *file = holders.find(tensor.name)->second;
  return file->read(*file->find(tensor.name), from, into, error);
}

ShardNames::ShardNames(const std::string &indexPath, uint32_t id, int64_t count)
    : indexPath(indexPath),
      folder(std::filesystem::path(indexPath).parent_path().string()) {
  stem = std::filesystem::path(indexPath).filename().string();
  stem.resize(stem.size() - indexEnding.size());
  if (stem.ends_with(shardEnding))
    stem.resize(stem.size() - shardEnding.size());
  char text[32];
  std::snprintf(text, sizeof(text), "-%08x", id);
  stem += text;
  std::snprintf(text, sizeof(text), "-of-%05d.safetensors", int(count));
  ending = text;
}

std::string ShardNames::nameOf(int64_t shard) const {
  char number[16];
  std::snprintf(number, sizeof(number), "-%05d", int(shard) + 1);
  return stem + number + ending;
}

std::string ShardNames::pathOf(int64_t shard) const {
  return folder.empty() ? nameOf(shard) : folder + "/" + nameOf(shard);
}

bool ShardNames::writeIndex(const std::map<std::string, int64_t> &holders,
                            uint64_t bytes, std::string &error) const {
  nlohmann::json files = nlohmann::json::object();
  for (const auto &[name, shard] : holders)
    files[name] = nameOf(shard);
  nlohmann::json json = {
      {"metadata", {{"format", "tenon"}, {"total_size", bytes}}},
      {"weight_map", files}};
  std::string text =
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (!writeFile(indexPath, std::as_bytes(std::span(text)), error))
    return false;
  removeOthers();
  return true;
}

/// Those of the index before, and of saves that never came to their index.
/// Files that were named by somebody else stay.
void ShardNames::removeOthers() const {
  const size_t idBytes = 9; // "-0123abcd"
  const std::string start = stem.substr(0, stem.size() - idBytes);
  auto isOurs = [&](const std::string &name) {
    // START-0123abcd-00001-of-00004.safetensors
    constexpr std::string_view shape = "-xxxxxxxx-ddddd-of-ddddd.safetensors";
    if (!name.starts_with(start) || name.size() != start.size() + shape.size())
      return false;
    for (size_t i = 0; i < shape.size(); ++i) {
      char found = name[start.size() + i];
      bool isDigit = found >= '0' && found <= '9';
      // The word `of` and the ending have these letters as well.
      bool isFree = (shape[i] == 'x' && i < idBytes) || shape[i] == 'd';
      if (isFree
              ? !(isDigit || (shape[i] == 'x' && found >= 'a' && found <= 'f'))
              : found != shape[i])
        return false;
    }
    return true;
  };
  std::error_code ignored;
  std::vector<std::filesystem::path> old;
  for (const auto &entry : std::filesystem::directory_iterator(
           folder.empty() ? "." : folder, ignored)) {
    std::string name = entry.path().filename().string();
    if (isOurs(name) && !name.starts_with(stem))
      old.push_back(entry.path());
  }
  for (const std::filesystem::path &file : old)
    std::filesystem::remove(file, ignored);
}
