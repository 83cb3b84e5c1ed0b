//===- MachineCodeCacheTest.cpp - What the assembler made before ----------===//
//
// A script in place of the assembler counts how often it is asked.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/GPU/MachineCodeCache.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace tenon;
using namespace tenon::codegen;

namespace {

class Cache : public testing::Test {
protected:
  Cache() {
    std::string name = "/tmp/tenon-cache-test-XXXXXX";
    folder = mkdtemp(name.data());
    // The arguments end in: SOURCE -o OUTPUT. A code is 1000 bytes and more.
    std::ofstream(folder / "ptxas")
        << "#!/bin/sh\n"
           "while [ $# -gt 3 ]; do shift; done\n"
           "echo x >> "
        << (folder / "calls").string()
        << "\n"
           "echo \"ptxas info : Function properties for k\"\n"
           "echo \"    8 bytes stack frame, 4 bytes spill stores, 12 bytes "
           "spill loads\"\n"
           "echo \"ptxas info : Used 40 registers, 96 bytes smem\"\n"
           "echo \"ptxas warning : it is slow\"\n"
           "{ printf '\\177ELF'; head -c 1000 /dev/zero; cat $1; } > $3\n";
    std::filesystem::permissions(folder / "ptxas",
                                 std::filesystem::perms::owner_all);
  }
  ~Cache() override { std::filesystem::remove_all(folder); }

  size_t calls() const {
    std::ifstream stream(folder / "calls");
    return size_t(std::count(std::istreambuf_iterator<char>(stream), {}, '\n'));
  }
  std::optional<MachineCode> assemble(const MachineCodeCache &cache,
                                      const std::string &text,
                                      std::string_view gpu = "sm_90",
                                      const std::string &version = "1.0") {
    std::string error;
    auto code = cache.assemble(text, *target::gpuArchitectureNamed(gpu),
                               {(folder / "ptxas").string(), version}, error);
    EXPECT_TRUE(code) << error;
    return code;
  }

  std::filesystem::path folder;
};

TEST_F(Cache, GivesWhatTheAssemblerMade) {
  MachineCodeCache none(""), cache((folder / "kept").string());
  auto made = assemble(none, "text");
  EXPECT_EQ(calls(), 1u);
  for (int i = 0; i < 3; ++i) {
    auto code = assemble(cache, "text");
    EXPECT_EQ(code->binary, made->binary);
    EXPECT_EQ(code->assembler, "1.0");
    EXPECT_EQ(code->warnings, std::vector<std::string>{"it is slow"});
    const KernelResources &taken = code->resources["k"];
    EXPECT_EQ(taken.registers, 40);
    EXPECT_EQ(taken.sharedBytes, 96);
    EXPECT_EQ(taken.stackBytes, 8);
    EXPECT_EQ(taken.spillBytes, 16);
  }
  EXPECT_EQ(calls(), 2u);
  // All that the code depends on is asked for.
  assemble(cache, "other");
  assemble(cache, "text", "sm_80");
  assemble(cache, "text", "sm_90", "2.0");
  EXPECT_EQ(calls(), 5u);
}

TEST_F(Cache, AssemblesNumbersThatItCannotPutIn) {
  // What the script writes is no file of machine code with a table of symbols.
  const uint32_t momentum = 0x3F733333;
  PtxModule kernels;
  kernels.text = ".version 8.0\n.target sm_90\n.address_size 64\n\n"
                 ".visible .entry kernel_0(\n)\n{\n"
                 "\tmov.b32 \t%r1, 0f3F733333;\n"
                 "\tmov.b32 \t%r2, 0f3F800000;\n"
                 "\tmul.rn.f32 \t%r3, %r1, 0f3F733333;\n}\n";
  kernels.kernels = {{.symbol = "kernel_0", .constants = {momentum}}};
  MachineCodeCache cache((folder / "kept").string());
  std::string error;
  auto code = cache.assemble(kernels, *target::gpuArchitectureNamed("sm_90"),
                             {(folder / "ptxas").string(), "1.0"}, error);
  ASSERT_TRUE(code) << error;
  EXPECT_EQ(calls(), 2u);
  EXPECT_TRUE(std::string(code->binary.begin(), code->binary.end())
                  .ends_with(kernels.text));
  // The first text that it was given: what is moved into a register and is a
  // number of the program is read from an array.
  bool isHoisted = false;
  for (const auto &file :
       std::filesystem::directory_iterator(folder / "kept")) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string kept(std::istreambuf_iterator<char>(stream), {});
    isHoisted |= kept.ends_with("\n{\n\tld.const.b32 \t%r1, [constants+0];\n"
                                "\tmov.b32 \t%r2, 0f3F800000;\n"
                                "\tmul.rn.f32 \t%r3, %r1, 0f3F733333;\n}\n") &&
                 kept.find(".visible .const .align 4 .b32 constants[1] = {") !=
                     std::string::npos;
  }
  EXPECT_TRUE(isHoisted);
}

TEST_F(Cache, ForgetsWhatWasUsedLongestAgo) {
  // Three codes fit, four do not.
  MachineCodeCache cache((folder / "kept").string(), 4500);
  for (const char *text : {"a", "b", "c"})
    assemble(cache, text);
  // The clock need not tell moments apart.
  auto then = std::filesystem::file_time_type::clock::now();
  for (const auto &file : std::filesystem::directory_iterator(folder / "kept"))
    std::filesystem::last_write_time(file, then - std::chrono::hours(1));
  assemble(cache, "a");
  EXPECT_EQ(calls(), 3u);
  assemble(cache, "d");
  assemble(cache, "a");
  assemble(cache, "d");
  EXPECT_EQ(calls(), 4u);
  uint64_t bytes = 0;
  for (const auto &file : std::filesystem::directory_iterator(folder / "kept"))
    bytes += file.file_size();
  EXPECT_LE(bytes, 4500u);
  assemble(cache, "b");
  assemble(cache, "c");
  EXPECT_GE(calls(), 5u);
}

} // namespace
