//===- NearestWordTest.cpp ------------------------------------------------===//

#include "tenon/Support/NearestWord.h"

#include <gtest/gtest.h>

#include <vector>

using namespace tenon;

TEST(NearestWord, CountsEdits) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("abc", ""), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("bf61", "bf16"), 1u);
  EXPECT_EQ(editDistance("ab", "ba"), 1u);
  EXPECT_EQ(editDistance("--steps", "--step"), 1u);
}

TEST(NearestWord, FindsWhatWasMeant) {
  std::vector<std::string> known = {"batches", "steps", "state", "save"};
  EXPECT_EQ(nearestWord("batchs", known), "batches");
  EXPECT_EQ(nearestWord("setps", known), "steps");
  EXPECT_EQ(nearestWord("steps", known), "steps");
  EXPECT_EQ(nearestWord("wings", known), "");
  EXPECT_EQ(nearestWord("", known), "");
  EXPECT_EQ(nearestWord("steps", {}), "");
  EXPECT_EQ(didYouMean("stat", known, "--"), "; did you mean '--state'?");
  EXPECT_EQ(didYouMean("wings", known), "");
}
