//===- TenonFileTest.cpp - .tenon files there and back --------------------===//
//
// An index with every kind of field survives writing and reading; the layout is
// that of docs/Forms.md.
//
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "TemporaryFolder.h"

#include "tenon/Format/Index_generated.h"
#include "tenon/Format/Reader.h"
#include "tenon/Format/Writer.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;

namespace {

Index fullIndex() {
  Index index;
  index.producer = "0.1.0";
  index.name = "step";
  index.cpu = "x86-64-v4";
  index.cpuFeatures = {"avx512f", "avx512_bf16"};
  index.subnormals = Subnormals::keep;
  index.segments = {{SegmentKind::state, 4096, 64},
                    {SegmentKind::temporaries, 1 << 20, 4096},
                    {SegmentKind::constants, 100, 64},
                    {SegmentKind::results, 64, 64}};
  Tensor state;
  state.name = "params.kernel";
  state.aliases = {"state['params']['kernel']", "arg0", "result1"};
  state.type = ElementType::bf16;
  state.shape = {8, 4, 2};
  state.role = Role::parameter;
  state.argument = 0;
  state.result = 1;
  state.storage = {0, 64, 128};
  Tensor scalar;
  scalar.name = "loss";
  scalar.role = Role::unknown;
  scalar.result = 0;
  scalar.storage = {3, 0, 4};
  Tensor empty;
  empty.name = "empty";
  empty.argument = 1;
  empty.shape = {0, 5};
  empty.role = Role::hyperParameter;
  empty.storage = {0, 4096, 0};
  index.tensors = {state, empty, scalar};
  index.kernels = {{"k0", "first", false}, {"k1", "", true, {0, 2}}};
  LibraryCallEntry matmul, convolution, lapack;
  Matmul m;
  m.lhsType = ElementType::bf16;
  m.batch = {2, 3, 0, 5};
  m.sizes = {7, 8, 9};
  m.strides = {1, 2, 3, 4, 5, 6};
  m.epilogue = 1;
  m.pieces = 4;
  matmul.description = m;
  matmul.libraryVersion = "2.6.3";
  matmul.isa = "avx512";
  matmul.workspaceBytes = 640;
  Convolution c;
  c.kind = 2;
  c.type = ElementType::f32;
  c.batch = 3;
  c.groups = 2;
  c.inputChannels = 4;
  c.outputChannels = 6;
  c.spatial = {1, 2, 3, 4, 5, -6, 7, 8, 9, 10};
  c.strides = {1, 2, 3, 4, 5, 6, 7};
  c.mirroredKernel = true;
  c.pieces = 2;
  convolution.description = c;
  lapack.description = Lapack{"gesdd", ElementType::c64, {2, 5, 7, 0}, "    A"};
  lapack.library = "LAPACK";
  index.libraryCalls = {matmul, convolution, lapack};
  EntryPoint &step = index.entryPoints.emplace_back();
  step.name = "step";
  Launch launch{1, {{0, 0, 64}, {1, 128, 4}}, 16};
  While loop;
  loop.predicate = {1, 0, 1};
  loop.condition.instructions = {{launch}};
  loop.body.instructions = {{Copy{{1, 64, 32}, {1, 192, 32}}}};
  Case branches;
  branches.selector = {1, 256, 4};
  branches.branches.resize(3);
  branches.branches[1].instructions = {{loop}, {launch}};
  step.program.instructions = {
      {launch}, {LibraryCall{1, {{0, 0, 64}}}}, {loop}, {branches}};
  index.entryPoints.push_back({"eval", {}});
  index.certificates = {{"offsets", "lower bound 100"}, {"recompute", ""}};
  index.flops = 1.5e12;
  return index;
}

/// A file around the bytes of an index.
std::vector<std::byte> fileOf(const flatbuffers::FlatBufferBuilder &builder) {
  auto stored =
      std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  Header header{};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = formatVersion;
  header.indexBytes = stored.size();
  Hash hash = hashOf(stored);
  header.hashLow = hash.low;
  header.hashHigh = hash.high;
  auto start = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> file(start.begin(), start.end());
  file.insert(file.end(), stored.begin(), stored.end());
  return file;
}

std::vector<std::byte> pattern(size_t size, int seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = std::byte(i * 7 + size_t(seed));
  return bytes;
}

} // namespace

TEST(TenonFile, RoundTrip) {
  Index index = fullIndex();
  ASSERT_EQ(whyInvalid(index), "");
  auto constants = pattern(100, 1), kernels = pattern(12345, 2);
  SectionBytes sections[] = {{SectionKind::constants, constants},
                             {SectionKind::cpuKernels, kernels}};
  auto file = write(index, sections);
  EXPECT_EQ(file, write(index, sections)); // the same bytes again
  std::string error;
  auto reader = Reader::fromBytes(file, error);
  ASSERT_TRUE(reader) << error;
  ASSERT_EQ(reader->index().sections.size(), 2u);
  Index withSections = index;
  withSections.sections = reader->index().sections;
  EXPECT_EQ(reader->index(), withSections);

  const Section *section = reader->findSection(SectionKind::cpuKernels);
  ASSERT_TRUE(section);
  EXPECT_EQ(section->offset % 4096, 0u);
  std::vector<std::byte> read(section->bytes);
  ASSERT_TRUE(reader->readSection(*section, read, error)) << error;
  EXPECT_EQ(read, kernels);
  read.resize(10);
  EXPECT_FALSE(reader->readSection(*section, read, error));
  EXPECT_FALSE(Reader::fromBytes(write(index, {}), error)
                   ->findSection(SectionKind::constants));
}

TEST(TenonFile, LayoutIsAsDocumented) {
  auto constants = pattern(100, 1);
  SectionBytes sections[] = {{SectionKind::constants, constants}};
  auto file = write(fullIndex(), sections);
  EXPECT_EQ(0, std::memcmp(file.data(), "TENON\0\1\0", 8));
  uint64_t indexBytes;
  std::memcpy(&indexBytes, &file[8], 8);
  uint64_t start = (32 + indexBytes + 4095) / 4096 * 4096;
  ASSERT_EQ(file.size(), start + 100);
  EXPECT_EQ(0, std::memcmp(&file[start], constants.data(), 100));
  EXPECT_EQ(0, std::memcmp(&file[36], "TENO", 4)); // FlatBuffers' identifier
}

TEST(TenonFile, OnDisk) {
  test::TemporaryFolder folder;
  std::string path = folder.file("step.tenon"), error;
  auto constants = pattern(100, 1);
  SectionBytes sections[] = {{SectionKind::constants, constants}};
  ASSERT_TRUE(writeFile(path, fullIndex(), sections, error)) << error;
  EXPECT_EQ(folder.entries(), 1u);
  auto reader = Reader::open(path, error);
  ASSERT_TRUE(reader) << error;
  EXPECT_EQ(reader->index().name, "step");
  // Cutting the file under an open reader is an error, not a signal.
  std::filesystem::resize_file(path, 4150);
  std::vector<std::byte> read(100);
  EXPECT_FALSE(reader->readSection(*reader->findSection(SectionKind::constants),
                                   read, error));
  EXPECT_NE(error.find("ends early"), std::string::npos);
  EXPECT_FALSE(Reader::open(path, error));
  EXPECT_NE(error.find(path), std::string::npos);
  EXPECT_FALSE(Reader::open(folder.path, error));
  EXPECT_FALSE(Reader::open(folder.file("missing"), error));
  EXPECT_NE(error.find("missing"), std::string::npos);
}

TEST(TenonFile, OtherVersionsAreNamed) {
  auto file = write(fullIndex(), {});
  file[6] = std::byte(9);
  std::string error;
  EXPECT_FALSE(Reader::fromBytes(file, error));
  EXPECT_NE(error.find("format version 9"), std::string::npos);
  EXPECT_NE(error.find("compile the step again"), std::string::npos);
}

TEST(TenonFile, RolesHaveTheWordsOfTheRolesFile) {
  for (const char *word :
       {"state", "parameter", "optimizer_state", "buffer", "rng", "counter",
        "metric", "batch", "hyper_parameter", "unknown"}) {
    auto role = roleFromName(word);
    ASSERT_TRUE(role) << word;
    EXPECT_EQ(name(*role), word);
  }
  EXPECT_FALSE(roleFromName("weights"));
}

/// A small index that stands for gigabytes is damaged, and is not unfolded to
/// find that out.
TEST(TenonFile, NothingIsStoredForSeveral) {
  using flatbuffers::FlatBufferBuilder;
  using flatbuffers::Offset;
  constexpr size_t many = 60'000;
  auto refused = [](const char *what, auto fill) {
    FlatBufferBuilder builder;
    fill(builder);
    std::vector<std::byte> file = fileOf(builder);
    EXPECT_LT(file.size(), size_t(2) << 20) << what;
    std::string error;
    EXPECT_FALSE(Reader::fromBytes(std::move(file), error)) << what;
    EXPECT_NE(error.find("damaged"), std::string::npos) << what << error;
  };
  refused("one list of names for all tensors", [](FlatBufferBuilder &builder) {
    auto name = builder.CreateString("name");
    auto names = builder.CreateVector(
        std::vector<Offset<flatbuffers::String>>(many, name));
    std::vector<Offset<fb::Tensor>> tensors;
    for (size_t i = 0; i < many / 4; ++i)
      tensors.push_back(fb::CreateTensor(builder, name, names));
    auto list = builder.CreateVector(tensors);
    fb::IndexBuilder index(builder);
    index.add_version(formatVersion);
    index.add_tensors(list);
    fb::FinishIndexBuffer(builder, index.Finish());
  });
  refused("one long name for all tensors", [](FlatBufferBuilder &builder) {
    auto name = builder.CreateString(std::string(many, 'x'));
    std::vector<Offset<fb::Tensor>> tensors;
    for (size_t i = 0; i < many / 4; ++i)
      tensors.push_back(fb::CreateTensor(builder, name));
    auto list = builder.CreateVector(tensors);
    fb::IndexBuilder index(builder);
    index.add_version(formatVersion);
    index.add_tensors(list);
    fb::FinishIndexBuffer(builder, index.Finish());
  });
  refused("one list of one text", [](FlatBufferBuilder &builder) {
    auto text = builder.CreateString(std::string(many, 'x'));
    auto texts = builder.CreateVector(
        std::vector<Offset<flatbuffers::String>>(many, text));
    auto plan = fb::CreatePlan(builder, texts);
    fb::IndexBuilder index(builder);
    index.add_version(formatVersion);
    index.add_plan(plan);
    fb::FinishIndexBuffer(builder, index.Finish());
  });
  refused(
      "one list of numbers for all kernels", [](FlatBufferBuilder &builder) {
        auto symbol = builder.CreateString("k");
        auto reads = builder.CreateVector(std::vector<int64_t>(many));
        std::vector<Offset<fb::Kernel>> kernels;
        for (size_t i = 0; i < many / 4; ++i)
          kernels.push_back(fb::CreateKernel(builder, symbol, 0, false, reads));
        auto list = builder.CreateVector(kernels);
        fb::IndexBuilder index(builder);
        index.add_version(formatVersion);
        index.add_kernels(list);
        fb::FinishIndexBuffer(builder, index.Finish());
      });
  refused(
      "one block in two blocks in two blocks", [](FlatBufferBuilder &builder) {
        auto block = fb::CreateBlock(builder);
        fb::Slice selector(0, 0, 4);
        for (int level = 0; level < 40; ++level) {
          auto branches = builder.CreateVector(
              std::vector<Offset<fb::Block>>{block, block});
          auto both = fb::CreateCase(builder, &selector, branches);
          auto box = fb::CreateInstructionBox(builder, fb::Instruction_Case,
                                              both.Union());
          block = fb::CreateBlock(
              builder, builder.CreateVector(
                           std::vector<Offset<fb::InstructionBox>>{box}));
        }
        auto entry =
            fb::CreateEntryPoint(builder, builder.CreateString("step"), block);
        auto entries =
            builder.CreateVector(std::vector<Offset<fb::EntryPoint>>{entry});
        fb::IndexBuilder index(builder);
        index.add_version(formatVersion);
        index.add_entry_points(entries);
        fb::FinishIndexBuffer(builder, index.Finish());
      });
}
