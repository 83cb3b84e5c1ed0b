//===- DamageTest.cpp - Damaged .tenon files ------------------------------===//
//
// Whatever is done to a file, loading it is an error message or, where the
// damage is in bytes nobody reads, the same program.
//
//===----------------------------------------------------------------------===//

#include "SampleProgram.h"

#include "tenon/Format/Reader.h"
#include "tenon/Format/Writer.h"
#include "tenon/Runtime/Executor.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::runtime;

namespace {

/// Bytes of the file that belong to the header, the index or a section.
std::vector<bool> bytesThatMatter(const std::vector<std::byte> &file) {
  std::string error;
  auto reader = format::Reader::fromBytes(file, error);
  EXPECT_TRUE(reader) << error;
  uint64_t indexBytes;
  std::memcpy(&indexBytes, &file[8], 8);
  std::vector<bool> matters(file.size());
  std::fill_n(matters.begin(), 32 + indexBytes, true);
  for (const format::Section &section : reader->index().sections)
    std::fill_n(matters.begin() + int64_t(section.offset), section.bytes, true);
  return matters;
}

} // namespace

TEST(Damage, EveryFlippedByteIsFound) {
  auto file = test::sampleFile();
  auto matters = bytesThatMatter(file);
  size_t tried = 0;
  for (size_t i = 0; i < file.size(); i += i < 9000 ? 1 : 61) {
    auto damaged = file;
    damaged[i] ^= std::byte(1 << (i % 8));
    Error error;
    auto executor = Executor::loadBytes(std::move(damaged), {1}, error);
    EXPECT_EQ(executor == nullptr, matters[i]) << "byte " << i;
    if (!executor) {
      EXPECT_FALSE(error.message.empty());
      ++tried;
    }
  }
  EXPECT_GT(tried, 3000u);
}

TEST(Damage, EveryTruncationIsFound) {
  auto file = test::sampleFile();
  for (size_t length = 0; length < file.size();
       length += length < 6000 ? 1 : 97) {
    Error error;
    EXPECT_FALSE(Executor::loadBytes(
        {file.begin(), file.begin() + int64_t(length)}, {1}, error))
        << length;
    EXPECT_FALSE(error.message.empty());
  }
}

static format::Instruction &instruction(format::Index &index, size_t number) {
  return index.entryPoints[0].program.instructions[number];
}

// A file whose hashes are right but whose index was made by someone else: no
// field may lead outside of what the file has.
TEST(Damage, EveryFieldIsCheckedBehindTheHash) {
  struct Case {
    const char *expected;
    void (*spoil)(format::Index &);
  };
  const Case cases[] = {
      {"format version", [](format::Index &i) { i.version = 7; }},
      {"segment 9 of 5",
       [](format::Index &i) { i.storages[0].place.segment = 9; }},
      {"of a segment of",
       [](format::Index &i) { i.storages[0].place.offset = 1 << 20; }},
      {"multiple of 64",
       [](format::Index &i) { i.storages[0].place.offset = 4; }},
      {"its shape takes",
       [](format::Index &i) { i.storages[0].shape = {33}; }},
      {"held as_it_is by f32[32], expected its type and shape",
       [](format::Index &i) { i.tensors[0].shape = {33}; }},
      {"held by unknown rule 9",
       [](format::Index &i) {
         i.tensors[0].held.rule = format::HoldingRule(9);
       }},
      {"has 1 stored tensors, high_and_low needs 2",
       [](format::Index &i) {
         i.tensors[0].held.rule = format::HoldingRule::highAndLow;
       }},
      {"has 0 stored tensors, as_it_is needs 1",
       [](format::Index &i) { i.tensors[0].held.storages.clear(); }},
      {"not there or another's",
       [](format::Index &i) { i.tensors[0].held.storages = {70}; }},
      {"not there or another's",
       [](format::Index &i) {
         i.tensors[0].copies.push_back({{}, {0}, {}});
       }},
      {"but is not laid out",
       [](format::Index &i) { i.tensors[0].held.order = {0}; }},
      {"segments of different kinds",
       [](format::Index &i) {
         i = test::heldIndex();
         i.storages[7].place.segment = 1;
       }},
      {"has the name of hidden state, but is none",
       [](format::Index &i) { i.tensors[0].name = "__tenon__.w"; }},
      {"not the only hidden state",
       [](format::Index &i) {
         i = test::heldIndex();
         i.storages.push_back(i.storages[9]);
         i.tensors.push_back(i.tensors.back());
         i.tensors.back().held.storages = {10};
       }},
      {"comes behind hidden state",
       [](format::Index &i) {
         i = test::heldIndex();
         std::swap(i.tensors[6], i.tensors[7]);
       }},
      {"no initial value of '__tenon__.ran'",
       [](format::Index &i) {
         i = test::heldIndex();
         i.entryPoints[1].results.clear();
       }},
      {"no initial value of '__tenon__.ran'",
       [](format::Index &i) {
         i = test::heldIndex();
         i.entryPoints.pop_back();
       }},
      {"'init' takes stored tensors",
       [](format::Index &i) {
         i = test::heldIndex();
         i.entryPoints[1].arguments = {0};
       }},
      {"entry point 'step' has stored tensor 70",
       [](format::Index &i) { i.entryPoints[0].arguments = {70}; }},
      {"entry point 'step' has stored tensor 1",
       [](format::Index &i) { i.entryPoints[0].results = {1, 1}; }},
      {"more than memory can hold",
       [](format::Index &i) { i.tensors[0].shape = {int64_t(1) << 62, 16}; }},
      {"extent -1", [](format::Index &i) { i.tensors[0].shape = {-1}; }},
      {"extent -1", [](format::Index &i) { i.storages[0].shape = {-1}; }},
      {"rank 33",
       [](format::Index &i) {
         i.tensors[0].shape = std::vector<int64_t>(33, 1);
       }},
      {"unknown element type",
       [](format::Index &i) { i.tensors[0].type = ElementType(77); }},
      {"unknown role",
       [](format::Index &i) { i.tensors[0].role = format::Role(77); }},
      {"neither an argument nor a result",
       [](format::Index &i) { i.tensors[2].argument = -1; }},
      {"not the only argument",
       [](format::Index &i) { i.tensors[2].name = "y"; }},
      {"alignment 48", [](format::Index &i) { i.segments[0].alignment = 48; }},
      {"larger than memory",
       [](format::Index &i) { i.segments[3].bytes = uint64_t(1) << 60; }},
      {"unknown kind",
       [](format::Index &i) { i.segments[3].kind = format::SegmentKind(9); }},
      {"memory space or device class",
       [](format::Index &i) { i.segments[1].space = 1; }},
      {"memory space or device class",
       [](format::Index &i) { i.segments[1].deviceClass = 3; }},
      {"invokes callee 70 of 10",
       [](format::Index &i) { instruction(i, 1).callee = 70; }},
      {"no parts", [](format::Index &i) { instruction(i, 1).parts = 0; }},
      {"launched by callee 70, expected a kernel",
       [](format::Index &i) {
         instruction(i, 1).joint = 70;
         instruction(i, 1).joined = 2;
       }},
      {"a launch does 99 of",
       [](format::Index &i) {
         instruction(i, 1).joint = int32_t(instruction(i, 1).callee);
         instruction(i, 1).joined = 99;
       }},
      {"an instruction that is no kernel",
       [](format::Index &i) {
         instruction(i, 1).joint = int32_t(instruction(i, 1).callee);
         instruction(i, 1).joined = 6; // up to a copy
       }},
      {"is followed by callee 70, expected a kernel behind it",
       [](format::Index &i) {
         i.callees[instruction(i, 1).callee].followedBy = 70;
       }},
      {"expected a kernel behind it",
       [](format::Index &i) {
         const uint32_t callee = instruction(i, 1).callee;
         i.callees[callee].followedBy = int32_t(callee); // without end
       }},
      {"for queue 3", [](format::Index &i) { instruction(i, 1).queue = 3; }},
      {"instruction is of unknown kind",
       [](format::Index &i) {
         instruction(i, 1).kind = format::InstructionKind(9);
       }},
      {"its mesh has more than 4096 ranks",
       [](format::Index &i) { i.mesh = {{"data", 5000}}; }},
      {"is cut for more than 1 ranks",
       [](format::Index &i) {
         i.tensors[0].cuts.assign(i.tensors[0].shape.size(), {{1}, {2}});
       }},
      {"callee is of unknown kind",
       [](format::Index &i) { i.callees[0].kind = format::CalleeKind(9); }},
      {"has 2 arguments, expected 4",
       [](format::Index &i) { instruction(i, 0).operands.resize(2); }},
      {"predicate",
       [](format::Index &i) { instruction(i, 7).operands[0].bytes = 8; }},
      {"predicate", [](format::Index &i) { instruction(i, 7).operands = {}; }},
      {"expected its condition and its body",
       [](format::Index &i) { instruction(i, 7).blocks.pop_back(); }},
      {"selector",
       [](format::Index &i) { instruction(i, 9).operands[0].bytes = 2; }},
      {"no branch", [](format::Index &i) { instruction(i, 9).blocks.clear(); }},
      {"overlap",
       [](format::Index &i) {
         instruction(i, 6).operands = {{3, 0, 128}, {3, 64, 128}};
       }},
      {"a copy goes from 4 bytes to 8",
       [](format::Index &i) {
         instruction(i, 6).operands = {{3, 0, 4}, {3, 64, 8}};
       }},
      {"a copy has 1 arguments",
       [](format::Index &i) { instruction(i, 6).operands.pop_back(); }},
      {"two entry points",
       [](format::Index &i) { i.entryPoints.push_back(i.entryPoints[0]); }},
      {"usable symbol", [](format::Index &i) { i.callees[0].name = ""; }},
      {"instruction set",
       [](format::Index &i) { i.callees[7].isa = "avx1024"; }},
      {"wants library",
       [](format::Index &i) { i.callees[7].library = "other"; }},
      {"is no library call",
       [](format::Index &i) { i.callees[7].name = "fft"; }},
      {"has no 'm' where it should be",
       [](format::Index &i) { test::attribute(i, "m").name = "n"; }},
      {"malformed 'm'",
       [](format::Index &i) { test::attribute(i, "m").numbers.clear(); }},
      {"out of range",
       [](format::Index &i) { test::attribute(i, "m").numbers = {-5}; }},
      {"malformed 'batch'",
       [](format::Index &i) { test::attribute(i, "batch").numbers = {1}; }},
      {"unknown or malformed 'epilogue'",
       [](format::Index &i) { test::attribute(i, "epilogue").text = "gelu"; }},
      {"unknown or malformed 'lhs'",
       [](format::Index &i) { test::attribute(i, "lhs").text = "f33"; }},
      {"fields, expected",
       [](format::Index &i) { i.callees[7].attributes.emplace_back(); }},
      {"nested deeper",
       [](format::Index &i) {
         format::Block block = i.entryPoints[0].program;
         for (int level = 0; level < format::maxProgramNesting + 2; ++level) {
           format::Instruction loop{
               format::InstructionKind::loop, 0, 0, {{3, 512, 1}}};
           loop.blocks = {{}, std::move(block)};
           block = {{std::move(loop)}};
         }
         i.entryPoints[0].program = std::move(block);
       }},
  };
  auto kernels = test::sampleKernels(), constants = test::sampleConstants();
  format::SectionBytes sections[] = {
      {format::SectionKind::constants, constants},
      {format::SectionKind::cpuKernels, kernels}};
  for (const Case &test : cases) {
    auto index = test::sampleIndex();
    test.spoil(index);
    Error error;
    EXPECT_FALSE(
        Executor::loadBytes(format::write(index, sections), {1}, error))
        << test.expected;
    bool found = error.message.find(test.expected) != std::string::npos ||
                 // FlatBuffers' own depth limit is as good an answer.
                 error.message.find("FlatBuffer") != std::string::npos ||
                 error.message.find("incomplete") != std::string::npos;
    EXPECT_TRUE(found) << "expected: " << test.expected
                       << "\nfound: " << error.message;
  }
}

TEST(Damage, KernelsThatAreNoSharedObjectAreAnError) {
  auto constants = test::sampleConstants();
  std::vector<std::byte> junk(10000, std::byte(0x41));
  format::SectionBytes sections[] = {
      {format::SectionKind::constants, constants},
      {format::SectionKind::cpuKernels, junk}};
  Error error;
  EXPECT_FALSE(Executor::loadBytes(format::write(test::sampleIndex(), sections),
                                   {1}, error));
  EXPECT_NE(error.message.find("cannot load the kernels"), std::string::npos);
}
