//===- AvailableMemoryTest.cpp - How much memory a process may take -------===//
//
// Machines and control groups made of files, and the memory of programs against
// the limits of this process.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/AvailableMemory.h"

#include "SampleProblem.h"

#include "tenon/Format/Writer.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

constexpr uint64_t KiB = 1024, MiB = 1024 * KiB;

class Machine : public testing::Test {
protected:
  void SetUp() override {
    root = std::filesystem::temp_directory_path() /
           ("tenon-machine-" + std::to_string(getpid()));
    write("/proc/meminfo", "MemTotal:  8192 kB\nMemFree:  100 kB\n"
                           "MemAvailable:  4096 kB\nSwapFree:  1024 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string &path, const std::string &text) {
    std::filesystem::create_directories(
        std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  AvailableMemory available() { return availableMemory(root); }

  std::string root;
};

} // namespace

TEST_F(Machine, HasFreeMemoryCachesAndSwap) {
  EXPECT_EQ(available().bytes, 5 * MiB);
  EXPECT_EQ(available().limit, "on this machine");
  std::filesystem::remove_all(root);
  EXPECT_EQ(available().bytes, UINT64_MAX);
  EXPECT_EQ(available().limit, "");
}

TEST_F(Machine, ControlGroupsLimitWhatIsInThem) {
  write("/proc/self/cgroup", "0::/jobs/one\n");
  // The inner group has no limit of its own; of what is used in the outer one,
  // cached files can go.
  write("/sys/fs/cgroup/jobs/one/memory.max", "max\n");
  write("/sys/fs/cgroup/jobs/one/memory.current", "900000\n");
  write("/sys/fs/cgroup/jobs/memory.max", std::to_string(3 * MiB));
  write("/sys/fs/cgroup/jobs/memory.current", std::to_string(2 * MiB));
  write("/sys/fs/cgroup/jobs/memory.swap.max", "0\n");
  write("/sys/fs/cgroup/jobs/memory.stat",
        "anon 1\ninactive_file " + std::to_string(100 * KiB) +
            "\nactive_file " + std::to_string(50 * KiB) +
            "\nslab_reclaimable " + std::to_string(6 * KiB) + "\n");
  EXPECT_EQ(available().bytes, MiB + 156 * KiB);
  EXPECT_EQ(available().limit, "under the memory limit of control group "
                               "'/jobs'");
  // Swap helps if the group may swap.
  write("/sys/fs/cgroup/jobs/memory.swap.max", std::to_string(512 * KiB));
  write("/sys/fs/cgroup/jobs/memory.swap.current", std::to_string(12 * KiB));
  EXPECT_EQ(available().bytes, MiB + 156 * KiB + 500 * KiB);
  // More used than allowed leaves nothing.
  write("/sys/fs/cgroup/jobs/memory.max", "1\n");
  write("/sys/fs/cgroup/jobs/memory.swap.max", "0\n");
  EXPECT_EQ(available().bytes, 0u);
}

TEST_F(Machine, ContainersHaveTheirGroupAtTheRoot) {
  // The path is the machine's, which the container does not see.
  write("/proc/self/cgroup", "5:cpu,memory:/docker/abc\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(2 * MiB));
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(MiB));
  write("/proc/meminfo", "MemAvailable: 4096 kB\nSwapFree: 0 kB\n");
  EXPECT_EQ(available().bytes, MiB);
  EXPECT_EQ(available().limit, "under the memory limit of control group '/'");
}

TEST_F(Machine, DamagedFilesLimitNothing) {
  write("/proc/self/cgroup",
        "no colons\n0::\n1:memory\n2:memory:relative\n::\n");
  EXPECT_EQ(available().bytes, 5 * MiB);
}

namespace {

/// The sample with more temporaries than any machine has.
std::unique_ptr<Executor> loadLarge(uint64_t temporaries, Error &error) {
  auto index = sampleIndex();
  index.segments[3].bytes = temporaries;
  auto kernels = sampleKernels(), constants = sampleConstants();
  format::SectionBytes sections[] = {
      {format::SectionKind::constants, constants},
      {format::SectionKind::cpuKernels, kernels}};
  return Executor::loadBytes(format::write(index, sections), {1}, error);
}

/// How many of a segment's pages are in memory.
size_t residentPages(std::span<std::byte> bytes) {
  std::vector<unsigned char> pages((bytes.size() + 4095) / 4096);
  EXPECT_EQ(mincore(bytes.data(), bytes.size(), pages.data()), 0);
  return size_t(std::ranges::count_if(pages, [](auto p) { return p & 1; }));
}

} // namespace

// 8 TiB of address space are there, and were given without a word.
TEST(ProgramMemory, ShortageIsFoundWhenTheProgramIsLoaded) {
  Error error;
  uint64_t large = uint64_t(8) << 40;
  EXPECT_FALSE(loadLarge(large, error));
  EXPECT_EQ(error.kind, Failure::memory);
  EXPECT_NE(error.message.find("the program needs 8.00 TiB (" +
                               std::to_string(large + 7040) + " bytes)"),
            std::string::npos)
      << error.message;
  EXPECT_NE(error.message.find("are available"), std::string::npos)
      << error.message;
}

TEST(ProgramMemory, IsTakenWhileLoadingOnRequest) {
  Error error;
  auto lazy = Executor::loadBytes(sampleFile(), {1}, error);
  ASSERT_TRUE(lazy) << error.message;
  ExecutorOptions options{1};
  options.prefault = true;
  auto early = Executor::loadBytes(sampleFile(), options, error);
  ASSERT_TRUE(early) << error.message;
  EXPECT_EQ(residentPages(lazy->segmentMemory(3)), 0u);
  EXPECT_EQ(residentPages(early->segmentMemory(3)), 257u);
  Problem().fill(*early);
  EXPECT_TRUE(early->run(1, error)) << error.message;
}
