//===- Safetensors.cpp - Reads and writes safetensors files ---------------===//
//
// The container is simple enough that every rule is checked here in one pass
// over the header. The header is never kept as a JSON document: the JSON
// library allocates while it frees one, and ends the process if it cannot. So
// its parser calls HeaderReader, which keeps what the format names, and the
// header of a new file is written as text.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Safetensors.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/Index.h"
#include "tenon/Support/CheckedArithmetic.h"
#include "tenon/Support/JsonShape.h"
#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

using namespace tenon;
using namespace tenon::format;

namespace {

/// What the header says about one tensor.
struct HeaderEntry {
  std::string name;
  std::optional<std::string> type;
  std::optional<std::vector<uint64_t>> shape, range;
};

/// Checks what the header says about one tensor; false with a message in
/// `error` if it is malformed.
bool readTensor(HeaderEntry entry, uint64_t dataBytes, StoredTensor &tensor,
                std::string &error) {
  auto fail = [&](const std::string &what) {
    return refuse(error, "tensor '" + entry.name + "' " + what);
  };
  if (!entry.type || !entry.shape || !entry.range || entry.range->size() != 2)
    return fail("lacks \"dtype\" (a string), \"shape\" (a list of sizes) or "
                "\"data_offsets\" (where its bytes begin and end)");
  std::optional<int64_t> elements = 1;
  for (uint64_t extent : *entry.shape) {
    if (extent > uint64_t(INT64_MAX))
      return fail("has the extent " + std::to_string(extent) +
                  ", expected at most 9223372036854775807");
    tensor.shape.push_back(int64_t(extent));
    elements =
        elements ? mulChecked(*elements, tensor.shape.back()) : std::nullopt;
  }
  uint64_t begin = (*entry.range)[0], end = (*entry.range)[1];
  if (begin > end || end > dataBytes)
    return fail("ends at byte " + std::to_string(end) + " of " +
                std::to_string(dataBytes));
  tensor.offset = begin;
  tensor.bytes = end - begin;
  tensor.typeName = std::move(*entry.type);
  tensor.type = elementTypeFromSafetensorsName(tensor.typeName);
  if (tensor.type) {
    auto expected = elements ? mulChecked(*elements, byteWidth(*tensor.type))
                             : std::nullopt;
    if (!expected || uint64_t(*expected) != tensor.bytes)
      return fail("has " + std::to_string(tensor.bytes) +
                  " bytes, its type and shape take " +
                  (expected ? std::to_string(*expected) : "more than 2^63"));
  }
  tensor.name = std::move(entry.name);
  return true;
}

/// Takes tensors and metadata out of a header as the library parses it. The
/// text must have passed JsonShape: it nests no deeper than the format does and
/// names no key twice.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
public:
  HeaderReader(uint64_t dataBytes, std::vector<StoredTensor> &tensors,
               std::map<std::string, std::string> &metadata, std::string &error)
      : dataBytes(dataBytes), tensors(tensors), metadata(metadata),
        error(error) {}

  // What the library calls.
  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_float(number_float_t, const string_t &) override {
    return other();
  }
  bool binary(binary_t &) override { return other(); }
  bool number_unsigned(number_unsigned_t number) override {
    if (!list)
      return other();
    list->push_back(number);
    return true;
  }
  bool string(string_t &text) override {
    if (depth != 2 || (!isMetadata && field != "dtype"))
      return other();
    if (isMetadata)
      metadata[field] = std::move(text);
    else
      entry.type = std::move(text);
    return true;
  }
  bool key(string_t &name) override {
    if (depth == 1) {
      isMetadata = name == "__metadata__";
      entry = {std::move(name), {}, {}, {}};
    } else if (depth == 2) {
      field = std::move(name);
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth > 1 && !other())
      return false;
    ++depth;
    return true;
  }
  bool end_object() override {
    return --depth != 1 || isMetadata ||
           readTensor(std::move(entry), dataBytes, tensors.emplace_back(),
                      error);
  }
  bool start_array(std::size_t) override {
    if (depth == 2 && !isMetadata && field == "shape")
      list = &entry.shape.emplace();
    else if (depth == 2 && !isMetadata && field == "data_offsets")
      list = &entry.range.emplace();
    else if (!other())
      return false;
    ++depth;
    return true;
  }
  bool end_array() override {
    list = nullptr;
    --depth;
    return true;
  }
  bool parse_error(std::size_t, const std::string &,
                   const nlohmann::json::exception &) override {
    return fail("its header is not a JSON object");
  }

private:
  bool fail(const std::string &what) { return refuse(error, what); }
  /// A value that is none of those that the format names. A tensor may say more
  /// about itself.
  bool other() {
    if (depth == 0)
      return fail("its header is not a JSON object");
    if (isMetadata)
      return fail(depth == 1 ? "its metadata is not an object of strings"
                             : "its metadata '" + field + "' is not a string");
    if (depth == 1)
      return fail("tensor '" + entry.name + "' is not described by an object");
    if (list)
      return fail("tensor '" + entry.name + "' has " +
                  (field == "shape" ? "an extent" : "an offset") +
                  " that is not a whole number of at least 0");
    return true;
  }

  uint64_t dataBytes;
  std::vector<StoredTensor> &tensors;
  std::map<std::string, std::string> &metadata;
  std::string &error;

  size_t depth = 0;        // open brackets
  bool isMetadata = false; // the entry of the header that is being read
  HeaderEntry entry;
  std::string field;                     // the last one in the entry
  std::vector<uint64_t> *list = nullptr; // of sizes, while in one
};

/// `text` as JSON. Names come from other files and may be no UTF-8, which JSON
/// cannot hold.
std::string jsonString(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

} // namespace

std::unique_ptr<SafetensorsReader>
SafetensorsReader::open(const std::string &path, std::string &error) {
  std::unique_ptr<SafetensorsReader> reader(new SafetensorsReader);
  if (!reader->openFile(path, error))
    return nullptr;
  if (!reader->load(error))
    return refuse(
        error, "'" + path + "' cannot be read as a safetensors file: " + error);
  return reader;
}

bool SafetensorsReader::load(std::string &error) {
  uint64_t headerBytes = 0;
  if (fileBytes < sizeof(headerBytes) ||
      !readAt(0, std::as_writable_bytes(std::span(&headerBytes, 1))))
    return refuse(
        error,
        "it has " + std::to_string(fileBytes) +
            " bytes, expected 8 or more: the length of a header comes first");
  if (headerBytes > maxSafetensorsHeader ||
      headerBytes > fileBytes - sizeof(headerBytes))
    return refuse(error, "its header of " + std::to_string(headerBytes) +
                             " bytes does not fit in " +
                             std::to_string(fileBytes) + " bytes");
  std::string text(headerBytes, '\0');
  if (!readAt(sizeof(headerBytes), std::as_writable_bytes(std::span(text))))
    return refuse(error, "it ends within its header");
  dataStart = sizeof(headerBytes) + headerBytes;
  uint64_t dataBytes = fileBytes - dataStart;
  JsonShape shape(text, 3);
  if (shape.isDeep || shape.isTwice)
    return refuse(error, shape.isDeep
                             ? "its header has more than 3 brackets open at "
                               "once, expected {name: {\"shape\": [...]}}"
                             : "its header has the name '" + shape.twice +
                                   "' twice, expected every name once");
  std::vector<StoredTensor> found;
  HeaderReader header(dataBytes, found, notes, error);
  if (!nlohmann::json::sax_parse(text, &header))
    return false;
  for (StoredTensor &tensor : found)
    add(std::move(tensor));
  sortByPlace();
  uint64_t end = 0;
  for (const StoredTensor &tensor : tensors()) {
    if (tensor.offset != end)
      return refuse(error, "tensor '" + tensor.name + "' starts at byte " +
                               std::to_string(tensor.offset) +
                               ", the one before it ends at " +
                               std::to_string(end));
    end += tensor.bytes;
  }
  if (end != dataBytes)
    return refuse(error, "its tensors take " + std::to_string(end) + " of " +
                             std::to_string(dataBytes) + " bytes of data");
  return true;
}

std::vector<size_t>
tenon::format::writingOrder(std::span<const TensorBytes> tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-byteWidth(tensors[a].type), a) <
           std::pair(-byteWidth(tensors[b].type), b);
  });
  return order;
}

bool tenon::format::writeSafetensors(
    const std::string &path, std::span<const TensorBytes> tensors,
    const std::map<std::string, std::string> &metadata, std::string &error,
    std::map<std::string, Hash> *hashes) {
  const std::vector<size_t> order = writingOrder(tensors);
  std::string text;
  auto separator = [&] { return text.empty() ? "{" : ","; };
  if (!metadata.empty()) {
    std::string notes;
    for (const auto &[key, value] : metadata)
      notes += (notes.empty() ? "{" : ",") + jsonString(key) + ":" +
               jsonString(value);
    text += "{\"__metadata__\":" + notes + "}";
  }
  uint64_t end = 0;
  std::set<std::string_view> names;
  for (size_t i : order) {
    const TensorBytes &tensor = tensors[i];
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      return refuse(error, "cannot write '" + path + "': the name '" +
                               tensor.name + "' is reserved or there twice");
    std::string shape;
    for (int64_t extent : tensor.shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    uint64_t bytes =
        tensor.make ? bytesOf(tensor.type, tensor.shape) : tensor.bytes.size();
    uint64_t begin = std::exchange(end, end + bytes);
    text += separator() + jsonString(tensor.name) +
            ":{\"dtype\":" + jsonString(safetensorsName(tensor.type)) +
            ",\"shape\":[" + shape + "],\"data_offsets\":[" +
            std::to_string(begin) + "," + std::to_string(end) + "]}";
  }
  text += text.empty() ? "{}" : "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t headerBytes = text.size();

  auto file = AtomicFile::create(path, error);
  if (!file ||
      !file->append(std::as_bytes(std::span(&headerBytes, 1)), error) ||
      !file->append(std::as_bytes(std::span(text)), error))
    return false;
  for (size_t i : order) {
    std::vector<std::byte> made;
    if (tensors[i].make) {
      made.resize(bytesOf(tensors[i].type, tensors[i].shape));
      if (!tensors[i].make(made, error))
        return false;
    }
    std::span<const std::byte> bytes =
        tensors[i].make ? std::span<const std::byte>(made) : tensors[i].bytes;
    if (!file->append(bytes, error))
      return false;
    if (hashes)
      hashes->emplace(tensors[i].name, hashOf(bytes));
  }
  return file->commit(error);
}
