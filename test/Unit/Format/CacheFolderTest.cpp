//===- CacheFolderTest.cpp - What was made before, kept in a folder -------===//

#include "tenon/Format/CacheFolder.h"

#include "TemporaryFolder.h"

#include <gtest/gtest.h>
#include <thread>

using namespace tenon::format;
using tenon::test::TemporaryFolder;

namespace {

std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

std::string found(const CacheFolder &cache, std::string_view key) {
  auto bytes = cache.find(key);
  return bytes ? std::string(reinterpret_cast<const char *>(bytes->data()),
                             bytes->size())
               : "nothing";
}

TEST(CacheFolder, FindsWhatWasKept) {
  TemporaryFolder folder;
  CacheFolder cache(folder.file("a/b"), ".x", 1 << 20);
  EXPECT_EQ(found(cache, "key"), "nothing");
  cache.keep("key", bytesOf("value"));
  cache.keep("other", bytesOf(""));
  EXPECT_EQ(found(cache, "key"), "value");
  EXPECT_EQ(found(cache, "other"), "");
  EXPECT_EQ(found(cache, "third"), "nothing");
  cache.keep("key", bytesOf("another"));
  EXPECT_EQ(found(cache, "key"), "another");
  EXPECT_EQ(found(CacheFolder(folder.file("a/b"), ".x", 1), "key"), "another");
}

TEST(CacheFolder, KeepsNothingWhereItCannot) {
  TemporaryFolder folder;
  tenon::test::writeWhole(folder.file("file"), "");
  for (const char *name : {"file", "file/inside"}) {
    CacheFolder cache(folder.file(name), ".x", 1 << 20);
    cache.keep("key", bytesOf("value"));
    EXPECT_EQ(found(cache, "key"), "nothing");
  }
  CacheFolder none("", ".x", 1 << 20);
  EXPECT_TRUE(none.isNone());
  none.keep("key", bytesOf("value"));
  EXPECT_EQ(found(none, "key"), "nothing");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(CacheFolder, CountsWhatIsDamagedAsMissing) {
  TemporaryFolder folder;
  CacheFolder cache(folder.path, ".x", 1 << 20);
  cache.keep("key", bytesOf("value"));
  const std::string file =
      std::filesystem::directory_iterator(folder.path)->path();
  const std::string whole = tenon::test::readWhole(file);
  for (size_t length = 0; length < whole.size(); ++length) {
    tenon::test::writeWhole(file, whole.substr(0, length));
    EXPECT_EQ(found(cache, "key"), "nothing") << length;
    std::string flipped = whole;
    flipped[length] ^= 4;
    tenon::test::writeWhole(file, flipped);
    EXPECT_EQ(found(cache, "key"), "nothing") << length;
  }
  tenon::test::writeWhole(file, whole);
  EXPECT_EQ(found(cache, "key"), "value");
}

TEST(CacheFolder, CountsWhatWasMadeForAnotherKeyAsMissing) {
  TemporaryFolder folder;
  CacheFolder cache(folder.path, ".x", 1 << 20);
  cache.keep("key", bytesOf("value"));
  const std::filesystem::path file =
      std::filesystem::directory_iterator(folder.path)->path();
  const std::string one = "1", two = "2";
  const CacheFolder::Made both[] = {{"other", bytesOf(one)},
                                    {"third", bytesOf(two)}};
  cache.keep(both);
  EXPECT_EQ(found(cache, "other"), one);
  EXPECT_EQ(found(cache, "third"), two);
  for (const auto &each : std::filesystem::directory_iterator(folder.path))
    if (each.path() != file)
      std::filesystem::copy_file(
          file, each.path(), std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(found(cache, "key"), "value");
  EXPECT_EQ(found(cache, "other"), "nothing");
  EXPECT_EQ(found(cache, "third"), "nothing");
}

TEST(CacheFolder, ForgetsWhatWasUsedLongestAgo) {
  TemporaryFolder folder;
  // Ten of 32 bytes of hashes and 68 of content fit.
  CacheFolder cache(folder.path, ".x", 1000);
  const std::string content(68, 'c');
  auto now = std::filesystem::file_time_type::clock::now();
  for (int i = 0; i < 10; ++i) {
    cache.keep(std::to_string(i), bytesOf(content));
    // The clock need not tell moments apart.
    for (const auto &file : std::filesystem::directory_iterator(folder.path))
      std::filesystem::last_write_time(file, file.last_write_time() -
                                                 std::chrono::hours(1));
  }
  EXPECT_EQ(found(cache, "0"), content); // which counts as a use
  cache.keep("10", bytesOf(content));
  EXPECT_EQ(folder.entries(), 10u);
  EXPECT_EQ(found(cache, "1"), "nothing");
  EXPECT_EQ(found(cache, "0"), content);
  EXPECT_EQ(found(cache, "10"), content);
  // A file that a killed process left counts, too; others are not the cache's.
  tenon::test::writeWhole(folder.file("0123.x.aBcDeF"), std::string(500, ' '));
  tenon::test::writeWhole(folder.file("mine.txt"), std::string(5000, ' '));
  std::filesystem::last_write_time(folder.file("0123.x.aBcDeF"),
                                   now - std::chrono::hours(99));
  cache.keep("11", bytesOf(content));
  EXPECT_FALSE(std::filesystem::exists(folder.file("0123.x.aBcDeF")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("mine.txt")));
}

TEST(CacheFolder, StaysAboutWithinItsBoundWithoutLookingEachTime) {
  TemporaryFolder folder;
  // A tenth of what is kept has all files looked at.
  constexpr uint64_t most = 64'000;
  CacheFolder cache(folder.path, ".x", most);
  size_t largest = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::string content(68, char('a' + i % 26));
    cache.keep(std::to_string(i), bytesOf(content));
    largest = std::max(largest, folder.entries());
  }
  EXPECT_GE(largest, most / 100);
  EXPECT_LE(largest, most / 100 * 5 / 4);
  EXPECT_EQ(found(cache, "1499"), std::string(68, char('a' + 1499 % 26)));
}

TEST(CacheFolder, IsSharedByManyWriters) {
  TemporaryFolder folder;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&folder, writer] {
      CacheFolder cache(folder.path, ".x", 600);
      for (int i = 0; i < 40; ++i) {
        const std::string key = std::to_string((i + writer) % 8);
        const std::string kept = found(cache, key);
        EXPECT_TRUE(kept == "nothing" || kept == std::string(84, key[0]));
        cache.keep(key, bytesOf(std::string(84, key[0])));
      }
    });
  for (std::thread &writer : writers)
    writer.join();
  for (const auto &file : std::filesystem::directory_iterator(folder.path))
    EXPECT_EQ(file.path().extension(), ".x");
}

} // namespace
