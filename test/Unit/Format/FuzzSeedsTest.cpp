//===- FuzzSeedsTest.cpp - What the seeds of the reader's fuzzer show -----===//
//
// Indices that no writer makes, of which `TenonFuzzTenonFile` makes others
// (test/Fuzz/Corpus/TenonFile). They are built here from the schema, so that a
// seed of an older one is found, and each reaches what its name says.
//
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "TemporaryFolder.h"

#include "tenon/Format/Index_generated.h"
#include "tenon/Format/Reader.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

/// A list of structs or numbers of 8 bytes that starts 4 bytes off a multiple
/// of 8. The verifier aligns a list's length, not its elements.
template <typename List>
Offset<List> misaligned(FlatBufferBuilder &builder,
                        const std::vector<uint64_t> &words, size_t count) {
  while (builder.GetSize() % 8 != 4)
    builder.PushElement(uint8_t(0));
  builder.StartVector(2 * words.size(), sizeof(uint32_t));
  builder.PushBytes(reinterpret_cast<const uint8_t *>(words.data()),
                    words.size() * sizeof(uint64_t));
  return builder.EndVector(count);
}

/// The bytes of an index whose one segment has 64 bytes.
std::string indexOf(FlatBufferBuilder &builder,
                    std::vector<Offset<fb::Storage>> storages,
                    std::vector<Offset<fb::Callee>> callees,
                    std::vector<Offset<fb::EntryPoint>> entries) {
  auto classes =
      builder.CreateVector(std::vector{fb::CreateDeviceClass(builder)});
  auto spaces =
      builder.CreateVector(std::vector{fb::CreateMemorySpace(builder)});
  auto segments = builder.CreateVector(std::vector{fb::CreateSegment(
      builder, 0, fb::SegmentKind::state, 0, 0, /*bytes=*/64, 64)});
  auto storageList = builder.CreateVector(storages);
  auto calleeList = builder.CreateVector(callees);
  auto entryList = builder.CreateVector(entries);
  fb::FinishIndexBuffer(builder, fb::CreateIndex(builder, formatVersion, 0, 0,
                                                 fb::Subnormals::flush, classes,
                                                 spaces, segments, storageList,
                                                 0, calleeList, entryList));
  return {reinterpret_cast<const char *>(builder.GetBufferPointer()),
          builder.GetSize()};
}

/// The seed of this name, which has to be the index that was built.
/// TENON_WRITE_SEEDS=1 writes it.
std::string seed(const char *name, const std::string &built) {
  std::string path = TENON_FUZZ_CORPUS + std::string("/") + name;
  if (std::getenv("TENON_WRITE_SEEDS"))
    test::writeWhole(path, built);
  std::string bytes = test::readWhole(path);
  EXPECT_TRUE(bytes == built) << path << " is not what is built here";
  return bytes;
}

/// What the reader makes of an index.
std::unique_ptr<Reader> read(const std::string &index, std::string &error) {
  Header header{};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = formatVersion;
  header.indexBytes = index.size();
  Hash hash = hashOf(std::as_bytes(std::span(index)));
  header.hashLow = hash.low;
  header.hashHigh = hash.high;
  std::vector<std::byte> file(sizeof(header) + index.size());
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(&file[sizeof(header)], index.data(), index.size());
  return Reader::fromBytes(std::move(file), error);
}

/// How far something lies behind a multiple of 8 in its index.
size_t offAlignment(const std::string &index, const void *place) {
  return size_t(static_cast<const char *>(place) - index.data()) % 8;
}

} // namespace

TEST(FuzzSeeds, MisalignedNumbersAreRead) {
  FlatBufferBuilder builder;
  auto shape =
      misaligned<flatbuffers::Vector<int64_t>>(builder, {2, 3}, /*count=*/2);
  fb::Slice place(0, 0, 24);
  auto storage =
      fb::CreateStorage(builder, uint8_t(ElementType::f32), shape, &place);
  std::string index = seed("misaligned", indexOf(builder, {storage}, {}, {}));
  const auto *stored = fb::GetIndex(index.data())->storages()->Get(0)->shape();
  EXPECT_EQ(offAlignment(index, stored->Data()), 4u);
  std::string error;
  auto reader = read(index, error);
  ASSERT_TRUE(reader) << error;
  EXPECT_EQ(reader->index().storages[0].shape, (std::vector<int64_t>{2, 3}));
}

TEST(FuzzSeeds, MisalignedSlicesAreRead) {
  FlatBufferBuilder builder;
  auto callee = fb::CreateCallee(builder, fb::CalleeKind::kernel,
                                 builder.CreateString("k"));
  static_assert(sizeof(fb::Slice) == 3 * sizeof(uint64_t));
  auto operands = misaligned<flatbuffers::Vector<const fb::Slice *>>(
      builder, {0, 0, 64}, /*count=*/1);
  auto invoke = fb::CreateInstruction(builder, fb::InstructionKind::invoke, 0,
                                      0, operands);
  auto block =
      fb::CreateBlock(builder, builder.CreateVector(std::vector{invoke}));
  auto entry =
      fb::CreateEntryPoint(builder, builder.CreateString("step"), block);
  std::string index =
      seed("misaligned-slices", indexOf(builder, {}, {callee}, {entry}));
  const auto *stored = fb::GetIndex(index.data())
                           ->entry_points()
                           ->Get(0)
                           ->program()
                           ->instructions()
                           ->Get(0)
                           ->operands();
  EXPECT_EQ(offAlignment(index, stored->Data()), 4u);
  std::string error;
  auto reader = read(index, error);
  ASSERT_TRUE(reader) << error;
  EXPECT_EQ(
      reader->index().entryPoints[0].program.instructions[0].operands[0].bytes,
      64u);
}

TEST(FuzzSeeds, SharedNamesAreRefused) {
  FlatBufferBuilder builder;
  auto name = builder.CreateString(std::string(2'000, 'x'));
  std::vector<Offset<fb::Callee>> callees;
  for (int i = 0; i < 100; ++i)
    callees.push_back(fb::CreateCallee(builder, fb::CalleeKind::kernel, name));
  std::string index = seed("shared-names", indexOf(builder, {}, callees, {}));
  std::string error;
  EXPECT_FALSE(read(index, error));
  EXPECT_EQ(error, "the file is damaged: its index uses the same bytes again "
                   "and again");
}
