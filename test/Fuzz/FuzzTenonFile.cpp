//===- FuzzTenonFile.cpp - Any bytes as a compiled step ------------------===//
//
// Bytes that start like a file are read as they are. Others are taken for an
// index and get a header with the right length and hash, or the hash would
// stop every change to an index.
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

#include "tenon/Format/Reader.h"

#include <cstdlib>
#include <cstring>

using namespace tenon::format;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  if (size < sizeof(magic) || std::memcmp(data, magic, sizeof(magic)) != 0) {
    Header header{};
    std::memcpy(header.magic, magic, sizeof(magic));
    header.version = formatVersion;
    header.indexBytes = size;
    Hash hash = hashOf(bytes);
    header.hashLow = hash.low;
    header.hashHigh = hash.high;
    auto start = std::as_bytes(std::span(&header, 1));
    file.insert(file.begin(), start.begin(), start.end());
    // Room for a section.
    file.resize(alignToSection(file.size()) + sectionAlignment);
  }
  std::string error;
  size_t total = file.size();
  auto reader = Reader::fromBytes(std::move(file), error);
  if (!reader) {
    if (error.empty())
      abort(); // refused without a word
    return 0;
  }
  if (!whyInvalid(reader->index()).empty())
    abort();
  for (const Section &section : reader->index().sections) {
    if (section.bytes > total)
      abort(); // more than the file has
    std::vector<std::byte> contents(section.bytes);
    if (!reader->readSection(section, contents, error) && error.empty())
      abort();
  }
  return 0;
}
