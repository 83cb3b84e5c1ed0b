//===- Numpy.cpp - Reads arrays that numpy saved --------------------------===//
//
// See Numpy.h. The formats are described in numpy's document NEP 1 and in
// PKWARE's APPNOTE.TXT. Numbers of both are little-endian, as this machine's.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Numpy.h"

#include "tenon/Support/CheckedArithmetic.h"
#include "tenon/Support/ParseNumber.h"
#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace tenon;
using namespace tenon::format;

namespace {

constexpr uint64_t maxNumpyHeader = uint64_t(1) << 20;
constexpr uint64_t maxDirectory = uint64_t(256) << 20;

/// What the header of an array says.
struct ArrayHeader {
  std::string type;
  bool isFortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the dictionary that a header is, as Python writes it.
class HeaderText {
public:
  explicit HeaderText(std::string_view text) : rest(text) {}

  bool read(ArrayHeader &header) {
    bool hasType = false, hasOrder = false, hasShape = false;
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!takeString(key) || !take(':'))
        return false;
      bool *has = key == "descr"           ? &hasType
                  : key == "fortran_order" ? &hasOrder
                  : key == "shape"         ? &hasShape
                                           : nullptr;
      if (!has || *has)
        return false;
      *has = true;
      if (has == &hasType    ? !takeString(header.type)
          : has == &hasOrder ? !takeTruth(header.isFortranOrder)
                             : !takeShape(header.shape))
        return false;
      take(',');
    }
    skipSpace();
    return rest.empty() && hasType && hasOrder && hasShape;
  }

private:
  void skipSpace() {
    size_t end = rest.find_first_not_of(" \t\r\n");
    rest.remove_prefix(std::min(end, rest.size()));
  }
  bool take(char wanted) {
    skipSpace();
    if (!rest.starts_with(wanted))
      return false;
    rest.remove_prefix(1);
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (!rest.starts_with(word))
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  bool takeTruth(bool &into) {
    into = takeWord("True");
    return into || takeWord("False");
  }
  bool takeString(std::string &into) {
    skipSpace();
    if (!rest.starts_with('\'') && !rest.starts_with('"'))
      return false;
    size_t end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos)
      return false;
    into = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return true;
  }
  bool takeShape(std::vector<int64_t> &into) {
    if (!take('('))
      return false;
    while (!take(')')) {
      skipSpace();
      size_t digits = rest.find_first_not_of("0123456789");
      auto extent = parseNumber(rest.substr(0, digits));
      if (!extent)
        return false;
      into.push_back(*extent);
      rest.remove_prefix(std::min(digits, rest.size()));
      take('L'); // Python 2 marks long numbers so.
      if (!take(',') && !rest.starts_with(')'))
        return false;
    }
    return true;
  }

  std::string_view rest;
};

std::optional<ElementType> typeOf(std::string_view text) {
  static constexpr std::pair<std::string_view, ElementType> types[] = {
      {"|b1", ElementType::i1},   {"|i1", ElementType::i8},
      {"<i2", ElementType::i16},  {"<i4", ElementType::i32},
      {"<i8", ElementType::i64},  {"|u1", ElementType::ui8},
      {"<u2", ElementType::ui16}, {"<u4", ElementType::ui32},
      {"<u8", ElementType::ui64}, {"<f2", ElementType::f16},
      {"<f4", ElementType::f32},  {"<f8", ElementType::f64},
      {"<c8", ElementType::c64},  {"<c16", ElementType::c128}};
  for (auto [spelling, type] : types)
    if (spelling == text)
      return type;
  return std::nullopt;
}

/// The number at a place of bytes, which hold it.
template <typename Number>
Number numberAt(std::string_view bytes, size_t place) {
  Number number;
  std::memcpy(&number, bytes.data() + place, sizeof(Number));
  return number;
}

/// Where an archive's directory is.
struct Directory {
  uint64_t entries = 0, bytes = 0, offset = 0;
};

/// A file of an archive.
struct ArchiveEntry {
  std::string_view name;
  uint16_t flags = 0, method = 0;
  uint64_t stored = 0, bytes = 0, offset = 0;
};

/// Takes the first entry of a directory's rest; false if it is none.
bool takeEntry(std::string_view &rest, ArchiveEntry &entry) {
  constexpr size_t fixed = 46;
  if (rest.size() < fixed || !rest.starts_with("PK\x01\x02"))
    return false;
  entry.flags = numberAt<uint16_t>(rest, 8);
  entry.method = numberAt<uint16_t>(rest, 10);
  entry.stored = numberAt<uint32_t>(rest, 20);
  entry.bytes = numberAt<uint32_t>(rest, 24);
  entry.offset = numberAt<uint32_t>(rest, 42);
  size_t name = numberAt<uint16_t>(rest, 28),
         extra = numberAt<uint16_t>(rest, 30),
         comment = numberAt<uint16_t>(rest, 32);
  if (rest.size() - fixed < name + extra + comment)
    return false;
  entry.name = rest.substr(fixed, name);
  // Numbers that need more than 32 bits are in a field of their own.
  std::string_view fields = rest.substr(fixed + name, extra);
  rest.remove_prefix(fixed + name + extra + comment);
  while (fields.size() >= 4) {
    uint16_t kind = numberAt<uint16_t>(fields, 0);
    size_t length = numberAt<uint16_t>(fields, 2);
    if (fields.size() - 4 < length)
      return false;
    std::string_view wide = fields.substr(4, length);
    fields.remove_prefix(4 + length);
    if (kind != 1)
      continue;
    for (uint64_t *number : {&entry.bytes, &entry.stored, &entry.offset}) {
      if (*number != UINT32_MAX)
        continue;
      if (wide.size() < 8)
        return false;
      *number = numberAt<uint64_t>(wide, 0);
      wide.remove_prefix(8);
    }
  }
  return true;
}

} // namespace

std::unique_ptr<NumpyReader> NumpyReader::open(const std::string &path,
                                               std::string &error,
                                               const std::string &arrayName) {
  std::unique_ptr<NumpyReader> reader(new NumpyReader);
  if (!reader->openFile(path, error))
    return nullptr;
  bool isArchive = path.ends_with(".npz");
  std::string name = arrayName.empty()
                         ? std::filesystem::path(path).stem().string()
                         : arrayName;
  if (!(isArchive ? reader->loadArchive(error)
                  : reader->loadArray(name, 0, reader->fileBytes, error)))
    return refuse(error, "'" + path + "' cannot be read as " +
                             (isArchive ? "an archive of arrays" : "an array") +
                             " of numpy's: " + error);
  reader->sortByPlace();
  return reader;
}

bool NumpyReader::loadArray(const std::string &name, uint64_t begin,
                            uint64_t end, std::string &error) {
  char start[12] = {};
  constexpr std::string_view magic = "\x93NUMPY";
  auto bytesAt = [](auto &text, size_t count) {
    return std::as_writable_bytes(std::span(text.data(), count));
  };
  uint64_t length = end - begin;
  std::span<char> first(start, std::min<uint64_t>(sizeof(start), length));
  if (length < 10 || !readAt(begin, bytesAt(first, first.size())) ||
      !std::string_view(start, sizeof(start)).starts_with(magic))
    return refuse(error, "it does not begin as numpy's arrays do");
  // The first version has a header of less than 64 KiB.
  bool isShort = start[6] == 1;
  uint64_t fixed = isShort ? 10 : 12;
  if (start[6] < 1 || start[6] > 3 || length < fixed)
    return refuse(error, "its version is none that is known, which are 1 to 3");
  uint64_t headerBytes = isShort
                             ? numberAt<uint16_t>({start, sizeof(start)}, 8)
                             : numberAt<uint32_t>({start, sizeof(start)}, 8);
  if (headerBytes > std::min(maxNumpyHeader, length - fixed))
    return refuse(error, "its header of " + std::to_string(headerBytes) +
                             " bytes does not fit");
  std::string text(headerBytes, '\0');
  if (!readAt(begin + fixed, bytesAt(text, text.size())))
    return refuse(error, "it ends within its header");
  ArrayHeader header;
  if (!HeaderText(text).read(header))
    return refuse(error,
                  "its header is not understood, expected a dictionary of "
                  "'descr' (the name of a type), 'fortran_order' and 'shape'");
  StoredTensor tensor;
  tensor.name = name;
  tensor.typeName = header.type;
  tensor.type = typeOf(header.type);
  tensor.shape = header.shape;
  tensor.offset = begin + fixed + headerBytes;
  tensor.bytes = length - fixed - headerBytes;
  if (header.isFortranOrder && header.shape.size() > 1)
    return refuse(error, "'" + name +
                             "' has its elements in the order of Fortran; save "
                             "numpy.ascontiguousarray() of it");
  if (tensor.type) {
    std::optional<int64_t> expected = byteWidth(*tensor.type);
    for (int64_t extent : tensor.shape)
      expected = expected ? mulChecked(*expected, extent) : std::nullopt;
    if (!expected || uint64_t(*expected) != tensor.bytes)
      return refuse(error, "'" + name + "' has " +
                               std::to_string(tensor.bytes) +
                               " bytes, its type and shape take " +
                               (expected ? std::to_string(*expected)
                                         : std::string("more than 2^63")));
  }
  return add(std::move(tensor)) ||
         refuse(error, "the name '" + name + "' is there twice");
}

bool NumpyReader::loadArchive(std::string &error) {
  constexpr size_t endBytes = 22, locatorBytes = 20, wideEndBytes = 56;
  // A comment of up to 65535 bytes may stand behind the end record.
  std::string tail(std::min<uint64_t>(fileBytes, endBytes + 65535), '\0');
  if (tail.size() < endBytes ||
      !readAt(fileBytes - tail.size(), std::as_writable_bytes(std::span(tail))))
    return refuse(error, "it is no ZIP archive");
  size_t end = std::string::npos;
  for (size_t at = tail.size() - endBytes + 1; at-- > 0;)
    if (tail.compare(at, 4, "PK\x05\x06") == 0 &&
        numberAt<uint16_t>(tail, at + 20) == tail.size() - endBytes - at) {
      end = at;
      break;
    }
  if (end == std::string::npos)
    return refuse(error, "it is no ZIP archive, or was cut off");
  Directory directory{numberAt<uint16_t>(tail, end + 10),
                      numberAt<uint32_t>(tail, end + 12),
                      numberAt<uint32_t>(tail, end + 16)};
  if (directory.entries == UINT16_MAX || directory.bytes == UINT32_MAX ||
      directory.offset == UINT32_MAX) {
    std::string wide(wideEndBytes, '\0');
    if (end < locatorBytes ||
        tail.compare(end - locatorBytes, 4, "PK\x06\x07") != 0)
      return refuse(error, "its end says less than where its directory is");
    uint64_t at = numberAt<uint64_t>(tail, end - locatorBytes + 8);
    if (at > fileBytes || fileBytes - at < wideEndBytes ||
        !readAt(at, std::as_writable_bytes(std::span(wide))) ||
        !wide.starts_with("PK\x06\x06"))
      return refuse(error, "its end says less than where its directory is");
    directory = {numberAt<uint64_t>(wide, 32), numberAt<uint64_t>(wide, 40),
                 numberAt<uint64_t>(wide, 48)};
  }
  if (directory.bytes > maxDirectory || directory.offset > fileBytes ||
      directory.bytes > fileBytes - directory.offset)
    return refuse(error, "its directory of " + std::to_string(directory.bytes) +
                             " bytes does not fit in the file");
  std::string text(directory.bytes, '\0');
  if (!readAt(directory.offset, std::as_writable_bytes(std::span(text))))
    return refuse(error, "its directory cannot be read");
  std::string_view rest = text;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    ArchiveEntry entry;
    if (!takeEntry(rest, entry))
      return refuse(error, "its directory is damaged");
    std::string name(entry.name);
    if (!name.ends_with(".npy"))
      continue;
    name.resize(name.size() - 4);
    if (entry.flags & 1 || entry.method != 0 || entry.stored != entry.bytes)
      return refuse(error, "'" + name +
                               "' is compressed or encrypted; write the file "
                               "with numpy.savez");
    constexpr size_t localBytes = 30;
    std::string local(localBytes, '\0');
    if (entry.offset > fileBytes || fileBytes - entry.offset < localBytes ||
        !readAt(entry.offset, std::as_writable_bytes(std::span(local))) ||
        !local.starts_with("PK\x03\x04"))
      return refuse(error, "'" + name + "' is not where the directory says");
    uint64_t begin = entry.offset + localBytes + numberAt<uint16_t>(local, 26) +
                     numberAt<uint16_t>(local, 28);
    if (begin > fileBytes || entry.bytes > fileBytes - begin)
      return refuse(error, "'" + name + "' ends behind the end of the file");
    if (!loadArray(name, begin, begin + entry.bytes, error))
      return false;
  }
  return true;
}
