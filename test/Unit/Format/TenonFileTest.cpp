//===- TenonFileTest.cpp - .tenon files there and back --------------------===//
//
// An index with every kind of field survives writing and reading; the layout is
// that of docs/Forms.md.
//
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "TemporaryFolder.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/IndexFields.h"
#include "tenon/Format/Index_generated.h"
#include "tenon/Format/Reader.h"
#include "tenon/Format/Writer.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <typeinfo>

using namespace tenon;
using namespace tenon::format;

namespace {

Index fullIndex() {
  Index index;
  index.producer = "0.1.0";
  index.name = "step";
  index.subnormals = Subnormals::keep;
  index.deviceClasses = {{"cpu", "x86-64-v4", {"avx512f", "avx512_bf16"}},
                         {"gpu", "sm_90", {}}};
  index.memorySpaces = {{"host"}, {"device"}};
  index.segments = {
      {"state", SegmentKind::state, 0, 1, 4096, 64},
      {"temporaries", SegmentKind::temporaries, 1, 0, 1 << 20, 4096},
      {"constants", SegmentKind::constants, 0, 0, 100, 64},
      {"results", SegmentKind::results, 0, 0, 64, 64}};
  Tensor state;
  state.name = "params.kernel";
  state.aliases = {"state['params']['kernel']", "arg0", "result1"};
  state.type = ElementType::bf16;
  state.shape = {8, 8, 2};
  state.cuts = {{}, {{1}, {2}}, {}}; // a rank has half of the second dimension
  state.role = Role::parameter;
  state.argument = 0;
  state.result = 1;
  state.held = {HoldingRule::laidOut, {0}, {2, 0, 1}};
  state.copies = {{HoldingRule::converted, {3}, {}}};
  Tensor scalar;
  scalar.name = "loss";
  scalar.role = Role::unknown;
  scalar.result = 0;
  scalar.held.storages = {1};
  Tensor empty;
  empty.name = "empty";
  empty.argument = 1;
  empty.shape = {0, 5};
  empty.role = Role::hyperParameter;
  empty.held.storages = {2};
  index.storages = {{ElementType::bf16, {2, 8, 4}, {0, 64, 128}},
                    {ElementType::f32, {}, {3, 0, 4}},
                    {ElementType::f32, {0, 5}, {0, 4096, 0}},
                    {ElementType::f32, {8, 4, 2}, {0, 256, 256}},
                    {ElementType::f32, {}, {3, 0, 4}}};
  Tensor evaluated;
  evaluated.name = "eval.loss";
  evaluated.entryPoint = "eval";
  evaluated.held.storages = {4};
  index.tensors = {state, empty, scalar, evaluated};
  Callee library;
  library.kind = CalleeKind::library;
  library.name = "gesdd";
  library.description = "a decomposition";
  library.library = "LAPACK";
  library.libraryVersion = "3.11.0";
  library.isa = "avx512";
  library.workspaceBytes = 640;
  library.onHost = true;
  library.attributes = {{"type", "complex<f32>", {}}, {"rows", "", {5, -7}}};
  index.callees = {{CalleeKind::kernel, "k0", "first"},
                   {CalleeKind::kernel, "k1", "", {0, 2}, true},
                   library,
                   {CalleeKind::copy, "copy", "", {0}}};
  index.callees[0].followedBy = 1;
  Instruction launch{
      InstructionKind::invoke, 1, 0, {{0, 0, 64}, {1, 128, 4}}, 16};
  Instruction copy{InstructionKind::invoke, 3, 1, {{1, 64, 32}, {1, 192, 32}}};
  Instruction wait{InstructionKind::wait, 0, 1};
  wait.pending = 2;
  Instruction call{InstructionKind::invoke, 2, 0, {{0, 0, 64}}};
  Instruction loop{InstructionKind::loop,        0, 0, {{1, 0, 1}}, 1,
                   {{{launch}}, {{copy, wait}}}, 11};
  Instruction branches{InstructionKind::branch, 0, 0,
                       {{1, 256, 4}},           1, {{}, {{loop, launch}}, {}}};
  Instruction together = launch;
  together.joint = 0;
  together.joined = 2;
  EntryPoint &step = index.entryPoints.emplace_back();
  step.name = "step";
  step.program.instructions = {together, launch, call, loop, branches};
  step.arguments = {0, 2};
  step.results = {1, 0};
  step.flops = 1.5e12;
  step.certificates = {{"offsets", "lower bound 100"}, {"recompute", ""}};
  Plan &plan = step.plan.emplace();
  plan.texts = {"f32", "", "source"};
  plan.buffers = {{1, 64, 32}, {0, 0, 64}};
  plan.values = {{1, 64, 0, 2, true, {{0, 3}, {5, 9}}, 4}, {0, 32, 1, 2}};
  plan.operations = {
      {1, 2, 2, {0, -1}, {-1, 1}, {0, 1}, {{0, 1}, {}}, 3, 17, true, {1, 2}},
      {3, 3}};
  plan.end = {1, 0};
  plan.initial = {0};
  plan.results = {1, 0};
  plan.temporariesBound = 99;
  plan.memoryBudget = 12345;
  plan.recomputationProblem = "problem";
  plan.recomputationSolution = "solution";
  index.entryPoints.push_back({"eval", {}, {}, {4}});
  index.mesh = {{"data", 1}, {"model", 2}};
  index.arithmetic = {{"precision", "bf16", {1}}};
  index.gpuModules = {{"sm_90",
                       90,
                       525,
                       12000,
                       1,
                       {{7, 256}, {1, 32}},
                       {"rows", "parts"},
                       "13.0.88",
                       2,
                       {{40, 4096, 16, 8}, {10, 0, 0, 0}}}};
  return index;
}

/// How often each field of each struct differs from its default.
using Differing = std::map<std::pair<const char *, std::string_view>, int>;

template <HasFields Struct>
void countFields(const Struct &value, Differing &set);

template <typename Value>
void countIn(const Value &value, Differing &set) {
  if constexpr (HasFields<Value>)
    countFields(value, set);
}
template <typename Value>
void countIn(const std::optional<Value> &value, Differing &set) {
  if (value)
    countIn(*value, set);
}
template <typename Value>
void countIn(const std::vector<Value> &values, Differing &set) {
  for (const Value &value : values)
    countIn(value, set);
}

template <HasFields Struct>
void countFields(const Struct &value, Differing &set) {
  eachField<Struct>([&](const auto &field) {
    set[{typeid(Struct).name(), field.name}] +=
        value.*field.member != Struct().*field.member;
    countIn(value.*field.member, set);
  });
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

TEST(TenonFile, HoldsCodeForSeveralGpus) {
  auto first = pattern(10, 1), second = pattern(20, 2);
  SectionBytes sections[] = {{SectionKind::ptx, first},
                             {SectionKind::ptx, second},
                             {SectionKind::cubin, first},
                             {SectionKind::cubin, second}};
  std::string error;
  auto reader = Reader::fromBytes(write(fullIndex(), sections), error);
  ASSERT_TRUE(reader) << error;
  std::vector<std::byte> read(20);
  ASSERT_TRUE(reader->readSection(reader->index().sections[1], read, error))
      << error;
  EXPECT_EQ(read, second);
  SectionBytes twice[] = {{SectionKind::constants, first},
                          {SectionKind::constants, second}};
  EXPECT_FALSE(Reader::fromBytes(write(fullIndex(), twice), error));
  EXPECT_NE(error.find("there twice"), std::string::npos) << error;
}

TEST(TenonFile, LayoutIsAsDocumented) {
  auto constants = pattern(100, 1);
  SectionBytes sections[] = {{SectionKind::constants, constants}};
  auto file = write(fullIndex(), sections);
  EXPECT_EQ(0, std::memcmp(file.data(), "TENON\0\4\0", 8));
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
  ASSERT_TRUE(writeFile(path, write(fullIndex(), sections), error)) << error;
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
    auto role = fromName<Role>(word);
    ASSERT_TRUE(role) << word;
    EXPECT_EQ(name(*role), word);
  }
  EXPECT_FALSE(fromName<Role>("weights"));
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
        std::vector<Offset<fb::Text>>(many, fb::CreateText(builder, name)));
    auto held = fb::CreateHolding(builder);
    std::vector<Offset<fb::Tensor>> tensors;
    for (size_t i = 0; i < many / 4; ++i)
      tensors.push_back(fb::CreateTensor(builder, name, names, 0, 0,
                                         fb::Role::state, 0, -1, held));
    auto list = builder.CreateVector(tensors);
    fb::IndexBuilder index(builder);
    index.add_version(formatVersion);
    index.add_tensors(list);
    fb::FinishIndexBuffer(builder, index.Finish());
  });
  refused("one long name for all tensors", [](FlatBufferBuilder &builder) {
    auto name = builder.CreateString(std::string(many, 'x'));
    auto held = fb::CreateHolding(builder);
    std::vector<Offset<fb::Tensor>> tensors;
    for (size_t i = 0; i < many / 4; ++i)
      tensors.push_back(fb::CreateTensor(builder, name, 0, 0, 0,
                                         fb::Role::state, 0, -1, held));
    auto list = builder.CreateVector(tensors);
    fb::IndexBuilder index(builder);
    index.add_version(formatVersion);
    index.add_tensors(list);
    fb::FinishIndexBuffer(builder, index.Finish());
  });
  refused("one list of one text", [](FlatBufferBuilder &builder) {
    auto text = builder.CreateString(std::string(many, 'x'));
    auto texts = builder.CreateVector(
        std::vector<Offset<fb::Text>>(many, fb::CreateText(builder, text)));
    auto plan = fb::CreatePlan(builder, texts);
    auto entries = builder.CreateVector(std::vector{fb::CreateEntryPoint(
        builder, text, fb::CreateBlock(builder), 0, 0, 0, plan)});
    fb::IndexBuilder index(builder);
    index.add_version(formatVersion);
    index.add_entry_points(entries);
    fb::FinishIndexBuffer(builder, index.Finish());
  });
  refused(
      "one list of numbers for all callees", [](FlatBufferBuilder &builder) {
        auto reads = builder.CreateVector(std::vector<int64_t>(many));
        std::vector<Offset<fb::Callee>> callees;
        for (size_t i = 0; i < many / 4; ++i)
          callees.push_back(
              fb::CreateCallee(builder, fb::CalleeKind::library, 0, 0, reads));
        auto list = builder.CreateVector(callees);
        fb::IndexBuilder index(builder);
        index.add_version(formatVersion);
        index.add_callees(list);
        fb::FinishIndexBuffer(builder, index.Finish());
      });
  refused(
      "one block in two blocks in two blocks", [](FlatBufferBuilder &builder) {
        auto block = fb::CreateBlock(builder);
        fb::Slice selector(0, 0, 4);
        for (int level = 0; level < 40; ++level) {
          auto blocks = builder.CreateVector(std::vector{block, block});
          auto selectors = builder.CreateVectorOfStructs(&selector, 1);
          auto both = fb::CreateInstruction(
              builder, fb::InstructionKind::branch, 0, 0, selectors, 1, blocks);
          block =
              fb::CreateBlock(builder, builder.CreateVector(std::vector{both}));
        }
        auto entry =
            fb::CreateEntryPoint(builder, builder.CreateString("step"), block);
        auto entries = builder.CreateVector(std::vector{entry});
        fb::IndexBuilder index(builder);
        index.add_version(formatVersion);
        index.add_entry_points(entries);
        fb::FinishIndexBuffer(builder, index.Finish());
      });
}

TEST(TenonFile, TheSchemaHasTheWordsOfTheStructs) {
  auto expectSame = [](auto names, const char *const *stored) {
    for (std::string_view expected : names)
      EXPECT_EQ(*stored++, expected);
    EXPECT_EQ(*stored, nullptr);
  };
  expectSame(namesOf<SegmentKind>, fb::EnumNamesSegmentKind());
  expectSame(namesOf<Role>, fb::EnumNamesRole());
  expectSame(namesOf<SectionKind>, fb::EnumNamesSectionKind());
  expectSame(namesOf<CalleeKind>, fb::EnumNamesCalleeKind());
  expectSame(namesOf<InstructionKind>, fb::EnumNamesInstructionKind());
  expectSame(namesOf<HoldingRule>, fb::EnumNamesHoldingRule());
  expectSame(namesOf<Subnormals>, fb::EnumNamesSubnormals());
}

/// A field that had its default everywhere could be lost without notice.
TEST(TenonFile, EveryFieldIsThereAndBack) {
  Index full = fullIndex();
  std::string error;
  auto kernels = pattern(10, 1);
  SectionBytes sections[] = {{SectionKind::cpuKernels, kernels}};
  Index read = Reader::fromBytes(write(full, sections), error)->index();
  Differing differing;
  countIn(read, differing);
  // There is but one version.
  differing.erase({typeid(Index).name(), "version"});
  for (const auto &[field, times] : differing)
    EXPECT_GT(times, 0) << field.first << ": " << field.second
                        << " has its default everywhere";
  full.sections = read.sections;
  EXPECT_EQ(read, full);
}
