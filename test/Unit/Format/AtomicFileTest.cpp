//===- AtomicFileTest.cpp - Files that appear whole or not at all ---------===//
//
// A full disk, a kill and a missing folder leave what was there.
//
//===----------------------------------------------------------------------===//

#include "TemporaryFolder.h"

#include "tenon/Format/AtomicFile.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace tenon::format;
using tenon::test::readWhole;
using tenon::test::TemporaryFolder;
using tenon::test::writeWhole;

static std::vector<std::byte> megabyte(std::byte value) {
  return std::vector<std::byte>(1 << 20, value);
}

TEST(AtomicFile, ReplacesTheOldFile) {
  TemporaryFolder folder;
  std::string path = folder.file("state"), error;
  writeWhole(path, "old");
  chmod(path.c_str(), 0640);
  {
    auto file = AtomicFile::create(path, error);
    ASSERT_TRUE(file) << error;
    ASSERT_TRUE(file->append(megabyte(std::byte(1)), error));
    EXPECT_EQ(readWhole(path), "old");
    ASSERT_TRUE(file->commit(error)) << error;
  }
  EXPECT_EQ(readWhole(path), std::string(1 << 20, '\1'));
  EXPECT_EQ(folder.entries(), 1u);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

static int maskChanges = 0;

/// Stands before the C library's in this program, to be counted.
extern "C" mode_t umask(mode_t mask) noexcept {
  ++maskChanges;
  return mode_t(syscall(SYS_umask, mask));
}

static mode_t modeOf(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

/// New files have the mode that the process's mask leaves, old ones theirs.
TEST(AtomicFile, ModesAreThoseOfPlainFiles) {
  TemporaryFolder folder;
  std::string error;
  for (mode_t mask : {0u, 022u, 027u, 077u, 0177u}) {
    mode_t before = umask(mask);
    std::string path = folder.file(("new" + std::to_string(mask)).c_str());
    auto file = AtomicFile::create(path, error);
    EXPECT_TRUE(file && file->commit(error)) << error;
    EXPECT_EQ(modeOf(path), 0666 & ~mask);
    std::string old = folder.file(("old" + std::to_string(mask)).c_str());
    writeWhole(old, "old");
    chmod(old.c_str(), 0606);
    file = AtomicFile::create(old, error);
    EXPECT_TRUE(file && file->commit(error)) << error;
    EXPECT_EQ(modeOf(old), 0606u);
    umask(before);
  }
}

/// The mask is the process's: for a moment, files of other threads would have
/// another one.
TEST(AtomicFile, LeavesTheMaskAlone) {
  TemporaryFolder folder;
  std::string error;
  maskChanges = 0;
  for (const char *name : {"new", "new"}) {
    auto file = AtomicFile::create(folder.file(name), error);
    EXPECT_TRUE(file && file->commit(error)) << error;
  }
  EXPECT_EQ(maskChanges, 0);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  TemporaryFolder folder;
  std::string path = folder.file("state"), error;
  writeWhole(path, "old");
  {
    auto file = AtomicFile::create(path, error);
    ASSERT_TRUE(file->append(megabyte(std::byte(1)), error));
  }
  EXPECT_EQ(readWhole(path), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, SaysWhereItCannotWrite) {
  TemporaryFolder folder;
  std::string error;
  EXPECT_FALSE(AtomicFile::create(folder.file("no/such/folder"), error));
  EXPECT_NE(error.find("no/such/folder"), std::string::npos);
}

// A file may not grow beyond a limit: writes fail as they do on a full disk.
TEST(AtomicFile, AFileThatCannotGrowKeepsTheOldOne) {
  TemporaryFolder folder;
  std::string path = folder.file("state"), error;
  writeWhole(path, "old");
  struct rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  auto *handler = signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = {300000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    auto file = AtomicFile::create(path, error);
    ASSERT_TRUE(file);
    EXPECT_FALSE(file->append(megabyte(std::byte(1)), error));
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_NE(error.find("untouched"), std::string::npos) << error;
  EXPECT_EQ(readWhole(path), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, AFullDiskKeepsTheOldFile) {
  TemporaryFolder folder;
  if (mount("none", folder.path.c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "only root can make a small disk";
  std::string path = folder.file("state"), error;
  writeWhole(path, "old");
  {
    auto file = AtomicFile::create(path, error);
    ASSERT_TRUE(file);
    EXPECT_FALSE(file->append(megabyte(std::byte(1)), error));
    EXPECT_NE(error.find("No space left"), std::string::npos) << error;
  }
  EXPECT_EQ(readWhole(path), "old");
  EXPECT_EQ(folder.entries(), 1u);
  umount(folder.path.c_str());
}

TEST(AtomicFile, AKillKeepsTheOldFile) {
  TemporaryFolder folder;
  std::string path = folder.file("state");
  writeWhole(path, "old");
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::string error;
      for (;;) {
        auto file = AtomicFile::create(path, error);
        for (int i = 0; i < 4; ++i)
          file->append(megabyte(std::byte(1)), error);
        file->commit(error);
      }
    }
    usleep(useconds_t(1000 + 1700 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::string now = readWhole(path);
    EXPECT_TRUE(now == "old" || now == std::string(4 << 20, '\1'))
        << now.size();
  }
  // What a kill between the first write and the rename leaves behind shows that
  // there were such kills.
  EXPECT_GT(folder.entries(), 1u);
}

TEST(AtomicFolder, AppearsWholeOrNotAtAll) {
  TemporaryFolder folder;
  std::string path = folder.file("step"), error;
  {
    auto unfinished = AtomicFolder::create(path, error);
    ASSERT_TRUE(unfinished) << error;
    EXPECT_TRUE(folder.entries() == 1u && access(path.c_str(), F_OK) != 0);
    writeWhole(unfinished->unfinished() + "/state", "lost");
  }
  EXPECT_EQ(folder.entries(), 0u);
  for (const char *content : {"old", "new"}) {
    auto unfinished = AtomicFolder::create(path, error);
    ASSERT_TRUE(unfinished) << error;
    writeWhole(unfinished->unfinished() + "/state", content);
    ASSERT_TRUE(unfinished->commit(error)) << error;
    EXPECT_EQ(readWhole(path + "/state"), content);
    EXPECT_EQ(folder.entries(), 1u);
  }
}

TEST(AtomicFolder, SaysWhyItCannotBeMade) {
  TemporaryFolder folder;
  std::string error;
  EXPECT_FALSE(AtomicFolder::create(folder.file("none/step"), error));
  EXPECT_NE(error.find("none/step': No such file or directory"),
            std::string::npos)
      << error;
}
