//===- Safetensors.cpp - Reads and writes safetensors files ---------------===//
//
// The container is simple enough that every rule is checked here in one pass
// over the parsed header.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Safetensors.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Support/CheckedArithmetic.h"
#include "tenon/Support/JsonShape.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

using namespace tenon;
using namespace tenon::format;
using Json = nlohmann::ordered_json;
// The ordered one looks through all keys for each.
using ReadJson = nlohmann::json;

namespace {

bool readAt(int file, uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    ssize_t got = pread(file, into.data(), into.size(), off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    into = into.subspan(size_t(got));
    offset += uint64_t(got);
  }
  return true;
}

/// Parses the header; nothing with a message in `error` if it is no JSON, nests
/// deeper than the format does, or names a key twice.
std::optional<ReadJson> parseHeader(std::string_view text, std::string &error) {
  JsonShape shape(text, 3);
  if (shape.isDeep || shape.isTwice) {
    error = shape.isDeep ? "its header nests too deep"
                         : "its header has '" + shape.twice + "' twice";
    return std::nullopt;
  }
  ReadJson header = ReadJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object()) {
    error = "its header is no JSON object";
    return std::nullopt;
  }
  return header;
}

/// One entry of the header; false with a message in `error` if it is malformed.
bool parseTensor(const std::string &name, const ReadJson &entry,
                 uint64_t dataBytes, StoredTensor &tensor, std::string &error) {
  auto fail = [&](const std::string &what) {
    error = "tensor '" + name + "' " + what;
    return false;
  };
  if (!entry.is_object() || !entry.contains("dtype") ||
      !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry["shape"].is_array() || !entry.contains("data_offsets") ||
      !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
    return fail("lacks dtype, shape or data_offsets");
  tensor.name = name;
  tensor.typeName = entry["dtype"].get<std::string>();
  tensor.type = elementTypeFromSafetensorsName(tensor.typeName);
  std::optional<int64_t> elements = 1;
  for (const ReadJson &extent : entry["shape"]) {
    if (!extent.is_number_unsigned() ||
        extent.get<uint64_t>() > uint64_t(INT64_MAX))
      return fail("has an extent that is no size");
    tensor.shape.push_back(int64_t(extent.get<uint64_t>()));
    elements =
        elements ? mulChecked(*elements, tensor.shape.back()) : std::nullopt;
  }
  const ReadJson &range = entry["data_offsets"];
  if (!range[0].is_number_unsigned() || !range[1].is_number_unsigned())
    return fail("has offsets that are no sizes");
  uint64_t begin = range[0].get<uint64_t>(), end = range[1].get<uint64_t>();
  if (begin > end || end > dataBytes)
    return fail("ends at byte " + std::to_string(end) + " of " +
                std::to_string(dataBytes));
  tensor.offset = begin;
  tensor.bytes = end - begin;
  if (!tensor.type)
    return true;
  auto expected =
      elements ? mulChecked(*elements, byteWidth(*tensor.type)) : std::nullopt;
  if (!expected || uint64_t(*expected) != tensor.bytes)
    return fail("has " + std::to_string(tensor.bytes) +
                " bytes, its type and shape take " +
                (expected ? std::to_string(*expected) : "more than 2^63"));
  return true;
}

} // namespace

SafetensorsReader::~SafetensorsReader() {
  if (file >= 0)
    close(file);
}

std::unique_ptr<SafetensorsReader>
SafetensorsReader::open(const std::string &path, std::string &error) {
  std::unique_ptr<SafetensorsReader> reader(new SafetensorsReader);
  reader->path = path;
  reader->file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (reader->file < 0 || fstat(reader->file, &status) != 0) {
    error = "cannot open '" + path + "': " + std::strerror(errno);
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    error = "'" + path + "' is not a file";
    return nullptr;
  }
  reader->fileBytes = uint64_t(status.st_size);
  if (!reader->load(error)) {
    error = "'" + path + "' is no usable safetensors file: " + error;
    return nullptr;
  }
  return reader;
}

bool SafetensorsReader::load(std::string &error) {
  uint64_t headerBytes = 0;
  if (fileBytes < sizeof(headerBytes) ||
      !readAt(file, 0, std::as_writable_bytes(std::span(&headerBytes, 1)))) {
    error = "it has " + std::to_string(fileBytes) + " bytes";
    return false;
  }
  if (headerBytes > maxSafetensorsHeader ||
      headerBytes > fileBytes - sizeof(headerBytes)) {
    error = "its header of " + std::to_string(headerBytes) +
            " bytes does not fit in " + std::to_string(fileBytes) + " bytes";
    return false;
  }
  std::string text(headerBytes, '\0');
  if (!readAt(file, sizeof(headerBytes),
              std::as_writable_bytes(std::span(text)))) {
    error = "it ends early";
    return false;
  }
  dataStart = sizeof(headerBytes) + headerBytes;
  uint64_t dataBytes = fileBytes - dataStart;
  auto header = parseHeader(text, error);
  if (!header)
    return false;
  for (const auto &[name, entry] : header->items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) {
        error = "its metadata is no object";
        return false;
      }
      for (const auto &[key, value] : entry.items()) {
        if (!value.is_string()) {
          error = "its metadata '" + key + "' is no string";
          return false;
        }
        notes[key] = value.template get<std::string>();
      }
      continue;
    }
    if (!parseTensor(name, entry, dataBytes, list.emplace_back(), error))
      return false;
  }
  std::sort(list.begin(), list.end(),
            [](const StoredTensor &a, const StoredTensor &b) {
              return std::tie(a.offset, a.bytes, a.name) <
                     std::tie(b.offset, b.bytes, b.name);
            });
  uint64_t end = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].offset != end) {
      error = "tensor '" + list[i].name + "' starts at byte " +
              std::to_string(list[i].offset) + ", the one before it ends at " +
              std::to_string(end);
      return false;
    }
    end += list[i].bytes;
    byName[list[i].name] = i;
  }
  if (end != dataBytes) {
    error = "its tensors take " + std::to_string(end) + " of " +
            std::to_string(dataBytes) + " bytes of data";
    return false;
  }
  return true;
}

const StoredTensor *SafetensorsReader::find(std::string_view name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &list[found->second];
}

bool SafetensorsReader::read(const StoredTensor &tensor, uint64_t from,
                             std::span<std::byte> into,
                             std::string &error) const {
  if (from > tensor.bytes || into.size() > tensor.bytes - from) {
    error = "tensor '" + tensor.name + "' of '" + path + "' has " +
            std::to_string(tensor.bytes) + " bytes, asked for " +
            std::to_string(into.size()) + " from byte " + std::to_string(from);
    return false;
  }
  if (!readAt(file, dataStart + tensor.offset + from, into)) {
    error = "cannot read tensor '" + tensor.name + "' of '" + path + "'";
    return false;
  }
  return true;
}

bool tenon::format::writeSafetensors(
    const std::string &path, std::span<const TensorBytes> tensors,
    const std::map<std::string, std::string> &metadata, std::string &error) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-byteWidth(tensors[a].type), a) <
           std::pair(-byteWidth(tensors[b].type), b);
  });
  Json header = Json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t end = 0;
  std::set<std::string_view> names;
  for (size_t i : order) {
    const TensorBytes &tensor = tensors[i];
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second) {
      error = "cannot write '" + path + "': the name '" + tensor.name +
              "' is reserved or there twice";
      return false;
    }
    header[tensor.name] = {{"dtype", safetensorsName(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {end, end + tensor.bytes.size()}}};
    end += tensor.bytes.size();
  }
  // Names come from other files and may be no UTF-8, which JSON cannot hold.
  std::string text =
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t headerBytes = text.size();

  auto file = AtomicFile::create(path, error);
  if (!file ||
      !file->append(std::as_bytes(std::span(&headerBytes, 1)), error) ||
      !file->append(std::as_bytes(std::span(text)), error))
    return false;
  for (size_t i : order)
    if (!file->append(tensors[i].bytes, error))
      return false;
  return file->commit(error);
}
