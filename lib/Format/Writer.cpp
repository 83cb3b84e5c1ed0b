//===- Writer.cpp - Writes .tenon files -----------------------------------===//
//
// Plain structs into FlatBuffers, field by field, then header, index and
// sections into one run of bytes.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Writer.h"

#include "Layout.h"
#include "StoredFields.h"

#include <cstring>

using namespace tenon;
using namespace tenon::format;

namespace {

using flatbuffers::Offset;
using flatbuffers::Vector;

/// What leads to a field's bytes once they are built: a number and a struct are
/// their own bytes.
template <typename Stored>
using Built =
    std::conditional_t<std::is_pointer_v<Stored>,
                       std::conditional_t<isStruct<Stored>, Pointee<Stored>,
                                          Offset<Pointee<Stored>>>,
                       Stored>;

/// Builds the FlatBuffer of one index, the inner tables first.
class IndexBuilder {
public:
  std::span<const uint8_t> build(const Index &index) {
    fb::FinishIndexBuffer(builder, store<const fb::Index *>(index));
    return {builder.GetBufferPointer(), builder.GetSize()};
  }

private:
  template <typename Stored, typename Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  Built<Stored> store(Number value) {
    return Stored(value);
  }

  template <typename Stored>
    requires(!isBox<Stored>)
  Built<Stored> store(const std::string &value) {
    return builder.CreateString(value);
  }

  template <typename Stored, typename Value>
  Built<Stored> store(const std::optional<Value> &value) {
    return value ? store<Stored>(*value) : Built<Stored>();
  }

  template <typename Stored, typename Element>
    requires(!isBox<Stored>)
  Built<Stored> store(const std::vector<Element> &values) {
    if constexpr (std::is_arithmetic_v<Element>) {
      return builder.CreateVector(values);
    } else {
      using StoredElement = typename Elements<Stored>::type;
      std::vector<Built<StoredElement>> elements;
      for (const Element &value : values)
        elements.push_back(store<StoredElement>(value));
      if constexpr (isStruct<StoredElement>)
        return builder.CreateVectorOfStructs(elements);
      else
        return builder.CreateVector(elements);
    }
  }

  template <typename Stored, HasFields Struct>
  Built<Stored> store(const Struct &value) {
    return make<Stored>(
        mapFields<Pointee<Stored>, Struct>([&](auto number, const auto &field) {
          return store<FieldOf<Pointee<Stored>, number>>(value.*field.member);
        }));
  }

  template <typename Stored, typename Value>
    requires isBox<Stored>
  Built<Stored> store(const Value &value) {
    return make<Stored>(std::tuple{store<FieldOf<Pointee<Stored>, 0>>(value)});
  }

  template <typename Stored, typename Fields>
  Built<Stored> make(const Fields &fields) {
    return std::apply(
        [&](const auto &...field) {
          if constexpr (isStruct<Stored>)
            return Pointee<Stored>(field...);
          else
            return Pointee<Stored>::Traits::Create(builder, argument(field)...);
        },
        fields);
  }

  /// A table takes its structs by address.
  template <typename Value>
  static auto argument(const Value &value) {
    if constexpr (isStruct<const Value *>)
      return &value;
    else
      return value;
  }

  flatbuffers::FlatBufferBuilder builder{1 << 16};
};

} // namespace

std::vector<std::byte>
tenon::format::write(const Index &index,
                     std::span<const SectionBytes> sections) {
  Index complete = index;
  complete.sections.clear();
  for (const SectionBytes &section : sections) {
    Hash hash = hashOf(section.bytes);
    complete.sections.push_back(
        {section.kind, 0, section.bytes.size(), hash.low, hash.high});
  }
  // Where the sections start depends on how long the index is, and its length
  // on nothing but which offsets are zero: lay out once with stand-ins.
  auto place = [&](uint64_t indexBytes) {
    uint64_t end = sizeof(Header) + indexBytes;
    for (Section &section : complete.sections) {
      section.offset = alignToSection(end);
      end = section.offset + section.bytes;
    }
    return end;
  };
  place(1);
  IndexBuilder draft;
  uint64_t indexBytes = draft.build(complete).size();
  uint64_t fileBytes = place(indexBytes);
  IndexBuilder builder;
  std::span<const uint8_t> stored = builder.build(complete);

  std::vector<std::byte> bytes(fileBytes);
  Hash hash = hashOf(std::as_bytes(stored));
  Header header{};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = uint16_t(formatVersion);
  header.indexBytes = stored.size();
  header.hashLow = hash.low;
  header.hashHigh = hash.high;
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), stored.data(), stored.size());
  for (size_t i = 0; i < sections.size(); ++i)
    if (!sections[i].bytes.empty())
      std::memcpy(bytes.data() + complete.sections[i].offset,
                  sections[i].bytes.data(), sections[i].bytes.size());
  return bytes;
}
