//===- InstructionSetsTest.cpp - The processors that code is made for
//------===//
//
// Tests of the table of instruction sets.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/InstructionSets.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace tenon::target;

TEST(InstructionSets, StandInOrderAndIncludeThoseBefore) {
  std::vector<std::string> before;
  for (size_t i = 0; i < instructionSets().size(); ++i) {
    const IsaInfo &info = instructionSets()[i];
    EXPECT_EQ(size_t(info.isa), i);
    EXPECT_EQ(&describe(info.isa), &info);
    std::vector<std::string> features = featuresOf(info.isa);
    ASSERT_GT(features.size(), before.size());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), features.begin()));
    before = features;
  }
}

TEST(InstructionSets, SpellingsComeBack) {
  for (const IsaInfo &info : instructionSets()) {
    EXPECT_EQ(isaOfFeatureSet(info.featureSet), info.isa);
    EXPECT_EQ(isaOfLibraries(info.ofLibraries), info.isa);
  }
  EXPECT_FALSE(isaOfFeatureSet("host"));
  EXPECT_FALSE(isaOfFeatureSet("x86-64-v2"));
  EXPECT_FALSE(isaOfLibraries("x86-64-v3"));
  EXPECT_EQ(featureSetNames(), "x86-64-v3, x86-64-v4, x86-64-v4+avx512bf16 or "
                               "x86-64-v4+amxbf16");
}

TEST(InstructionSets, TheHostHasWhatItSaysItHas) {
  std::ifstream stream("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(stream, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;)
        flags.insert(word);
    }
  ASSERT_FALSE(flags.empty());
  std::optional<Isa> largest;
  for (const IsaInfo &info : instructionSets()) {
    bool hasAll = true;
    for (const std::string &feature : featuresOf(info.isa)) {
      EXPECT_EQ(hostHas(feature), flags.contains(feature)) << feature;
      hasAll &= flags.contains(feature);
    }
    if (hasAll)
      largest = info.isa;
  }
  EXPECT_EQ(hostIsa(), largest);
  EXPECT_FALSE(hostHas("avx99"));
}
