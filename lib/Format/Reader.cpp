//===- Reader.cpp - Reads and checks .tenon files -------------------------===//
//
// Header, hash, FlatBuffers verifier, copy into plain structs, whyInvalid: in
// this order, each only after the one before it has passed.
//
// An offset may lead to bytes that another one leads to as well, so a small
// index can stand for a large one: a thousand tensors that share one list of a
// thousand names have a million. The writer stores everything once. So an index
// is damaged if what it stands for is longer than it, and neither the verifier
// nor the copy looks at more.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Reader.h"

#include "tenon/Support/Refuse.h"

#include "Layout.h"
#include "StoredFields.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace tenon;
using namespace tenon::format;

namespace {

/// Bytes that a table takes in an index: where its fields are.
constexpr uint64_t tableBytes = sizeof(flatbuffers::soffset_t);

/// Copies a verified FlatBuffer into plain structs. The verifier has checked
/// every offset, and that fields that must be there are; others are null or
/// have their default.
class IndexLoader {
public:
  /// Of an index of so many bytes.
  explicit IndexLoader(uint64_t indexBytes) : left(indexBytes) {}

  /// Empty, or what is wrong with the index.
  std::string load(const fb::Index &table, Index &index) {
    load(&table, index);
    return fault;
  }

private:
  /// Whether so many more bytes are there to copy.
  bool take(uint64_t bytes) {
    if (bytes > left)
      fault = "its index uses the same bytes again and again";
    left -= std::min(bytes, left);
    return fault.empty();
  }

  template <typename Number, typename Value>
  requires std::is_arithmetic_v<Value> || std::is_enum_v<Value>
  void load(Number stored, Value &value) { value = Value(stored); }

  void load(const flatbuffers::String *stored, std::string &value) {
    if (stored && take(sizeof(flatbuffers::uoffset_t) + stored->size() + 1))
      value = stored->str();
  }

  template <typename Stored, typename Value>
  void load(const Stored *stored, std::optional<Value> &value) {
    if (stored)
      load(stored, value.emplace());
  }

  /// Numbers are copied as bytes: the verifier aligns a list's length, not its
  /// elements.
  template <typename StoredElement, typename Element>
  void load(const flatbuffers::Vector<StoredElement> *stored,
            std::vector<Element> &values) {
    if (!stored || !take(sizeof(flatbuffers::uoffset_t) +
                         stored->size() * sizeof(StoredElement)))
      return;
    if constexpr (std::is_arithmetic_v<Element>) {
      values.resize(stored->size());
      if (!values.empty())
        std::memcpy(values.data(), stored->Data(),
                    values.size() * sizeof(Element));
    } else {
      for (const auto *element : *stored) {
        if (!fault.empty())
          return;
        load(element, values.emplace_back());
      }
    }
  }

  /// Structs lie in the list itself, not always at their alignment.
  template <typename Struct, typename Element>
  void load(const flatbuffers::Vector<const Struct *> *stored,
            std::vector<Element> &values) {
    if (!stored ||
        !take(sizeof(flatbuffers::uoffset_t) + stored->size() * sizeof(Struct)))
      return;
    for (flatbuffers::uoffset_t i = 0; i < stored->size(); ++i) {
      Struct element;
      std::memcpy(static_cast<void *>(&element),
                  stored->Data() + i * sizeof(Struct), sizeof(Struct));
      loadFields(element, values.emplace_back());
    }
  }

  template <typename Stored, HasFields Struct>
  void load(const Stored *stored, Struct &value) {
    if (isStruct<const Stored *> || take(tableBytes))
      loadFields(*stored, value);
  }

  template <typename Stored, typename Value>
  requires isBox<const Stored *>
  void load(const Stored *stored, Value &value) {
    if (take(tableBytes))
      load(stored->template get_field<0>(), value);
  }

  template <typename Stored, HasFields Struct>
  void loadFields(const Stored &stored, Struct &value) {
    mapFields<Stored, Struct>([&](auto number, const auto &field) {
      load(stored.template get_field<number>(), value.*field.member);
      return 0;
    });
  }

  std::string fault;
  uint64_t left; // bytes of the index that were not copied yet
};

/// Sections lie behind the index, aligned, inside the file and apart.
std::string whyMisplaced(const std::vector<Section> &sections,
                         uint64_t indexEnd, uint64_t fileBytes) {
  uint64_t end = indexEnd;
  constexpr SectionKind last = SectionKind::cubin;
  bool seen[size_t(last) + 1] = {};
  for (const Section &section : sections) {
    // Of code for GPUs there is a section for each architecture.
    const bool isForGpu =
        section.kind == SectionKind::ptx || section.kind == SectionKind::cubin;
    if (section.kind > last || (seen[size_t(section.kind)] && !isForGpu))
      return "a section is of unknown kind or there twice";
    seen[size_t(section.kind)] = true;
    if (section.offset % sectionAlignment != 0 || section.offset < end ||
        section.offset > fileBytes ||
        section.bytes > fileBytes - section.offset)
      return "section " + std::string(name(section.kind)) + " at byte " +
             std::to_string(section.offset) + " with " +
             std::to_string(section.bytes) + " bytes does not fit in " +
             std::to_string(fileBytes) + " bytes";
    end = section.offset + section.bytes;
  }
  return "";
}

} // namespace

Reader::~Reader() {
  if (file >= 0)
    close(file);
}

bool format::isCompiledFile(const std::string &path) {
  char first[sizeof(magic)];
  std::ifstream file(path, std::ios::binary);
  return file.read(first, sizeof(first)) &&
         std::memcmp(first, magic, sizeof(first)) == 0;
}

std::unique_ptr<Reader> Reader::open(const std::string &path,
                                     std::string &error) {
  std::unique_ptr<Reader> reader(new Reader);
  reader->file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (reader->file < 0 || fstat(reader->file, &status) != 0)
    return refuse(error, "cannot open '" + path + "': " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return refuse(error, "'" + path + "' is not a file");
  reader->fileBytes = uint64_t(status.st_size);
  if (!reader->load(error))
    return refuse(error, "'" + path + "': " + error);
  return reader;
}

std::unique_ptr<Reader> Reader::fromBytes(std::vector<std::byte> bytes,
                                          std::string &error) {
  std::unique_ptr<Reader> reader(new Reader);
  reader->memory = std::move(bytes);
  reader->fileBytes = reader->memory.size();
  if (!reader->load(error))
    return nullptr;
  return reader;
}

bool Reader::readAt(uint64_t offset, std::span<std::byte> into,
                    std::string &error) const {
  if (file < 0) {
    if (offset > memory.size() || into.size() > memory.size() - offset)
      return refuse(error, "the file ends early");
    if (!into.empty())
      std::memcpy(into.data(), memory.data() + offset, into.size());
    return true;
  }
  while (!into.empty()) {
    ssize_t got = pread(file, into.data(), into.size(), off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return refuse(error, got < 0 ? std::string("cannot read the file: ") +
                                         std::strerror(errno)
                                   : "the file ends early");
    into = into.subspan(size_t(got));
    offset += uint64_t(got);
  }
  return true;
}

bool Reader::load(std::string &error) {
  Header header;
  if (fileBytes < sizeof(header))
    return refuse(error, "not a .tenon file: " + std::to_string(fileBytes) +
                             " bytes are less than its header");
  if (!readAt(0, std::as_writable_bytes(std::span(&header, 1)), error))
    return false;
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0)
    return refuse(error, "not a .tenon file: it does not start with TENON");
  if (header.version != formatVersion)
    return refuse(
        error, "the file has format version " + std::to_string(header.version) +
                   ", this program reads version " +
                   std::to_string(formatVersion) + "; compile the step again");
  if (header.indexBytes > maxIndexBytes ||
      header.indexBytes > fileBytes - sizeof(header))
    return refuse(error, "the file is damaged: its index of " +
                             std::to_string(header.indexBytes) +
                             " bytes does not fit in " +
                             std::to_string(fileBytes) + " bytes");
  std::vector<std::byte> stored(header.indexBytes);
  if (!readAt(sizeof(header), stored, error))
    return false;
  hash = {header.hashLow, header.hashHigh};
  if (hashOf(stored) != hash)
    return refuse(
        error,
        "the file is damaged: its index does not have the hash it should");
  // A nesting level of the program takes two levels of tables. A table that is
  // stored once takes the offset that leads to it, and its own bytes.
  constexpr uint64_t leastPerTable =
      sizeof(flatbuffers::uoffset_t) + tableBytes;
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(stored.data()), stored.size(),
      /*max_depth=*/4 * maxProgramNesting,
      /*max_tables=*/uint32_t(stored.size() / leastPerTable));
  std::string fault;
  if (!fb::VerifyIndexBuffer(verifier))
    fault = "its index is no valid FlatBuffer";
  else
    fault =
        IndexLoader(stored.size()).load(*fb::GetIndex(stored.data()), contents);
  if (fault.empty())
    fault = format::whyInvalid(contents);
  if (fault.empty())
    fault = whyMisplaced(contents.sections, sizeof(header) + stored.size(),
                         fileBytes);
  if (!fault.empty())
    return refuse(error, "the file is damaged: " + fault);
  return true;
}

const Section *Reader::findSection(SectionKind kind) const {
  for (const Section &section : contents.sections)
    if (section.kind == kind)
      return &section;
  return nullptr;
}

bool Reader::readSection(const Section &section, std::span<std::byte> into,
                         std::string &error) const {
  if (into.size() != section.bytes)
    return refuse(error, "section " + std::string(name(section.kind)) +
                             " has " + std::to_string(section.bytes) +
                             " bytes, asked for " +
                             std::to_string(into.size()));
  if (!readAt(section.offset, into, error))
    return false;
  if (hashOf(into) != Hash{section.hashLow, section.hashHigh})
    return refuse(error, "the file is damaged: section " +
                             std::string(name(section.kind)) +
                             " does not have the hash it should");
  return true;
}
