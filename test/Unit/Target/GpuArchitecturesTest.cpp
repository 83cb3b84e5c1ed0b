//===- GpuArchitecturesTest.cpp - The NVIDIA GPUs that code is made for ---===//

#include "tenon/Target/GpuArchitectures.h"

#include <gtest/gtest.h>

using namespace tenon::target;

TEST(GpuArchitectures, OfAListComeInOrderAndOnce) {
  std::string error;
  auto two = gpuArchitecturesOf("sm_100,sm_80,sm_100", error);
  ASSERT_EQ(two.size(), 2u) << error;
  EXPECT_EQ(two[0]->name, "sm_80");
  EXPECT_EQ(two[0]->capability(), 80u);
  EXPECT_EQ(two[1]->name, "sm_100");
  EXPECT_EQ(two[1]->capability(), 100u);
}

TEST(GpuArchitectures, UnknownOnesAreNamed) {
  for (const char *list : {"sm_91", "sm_80,sm_91", "sm_91,sm_80"}) {
    std::string error;
    EXPECT_TRUE(gpuArchitecturesOf(list, error).empty()) << list;
    EXPECT_EQ(error, "unknown GPU architecture 'sm_91', expected sm_80, sm_86, "
                     "sm_89, sm_90, sm_100 or sm_120");
  }
  for (const char *list : {"", "sm_80,", ",sm_80", "sm_80 sm_90"}) {
    std::string error;
    EXPECT_TRUE(gpuArchitecturesOf(list, error).empty()) << list;
    EXPECT_NE(error.find("unknown GPU architecture"), std::string::npos);
  }
}

TEST(GpuArchitectures, AreSorted) {
  unsigned last = 0;
  for (const GpuArchitecture &one : gpuArchitectures()) {
    EXPECT_GT(one.capability(), last) << one.name;
    last = one.capability();
    EXPECT_EQ(one.name, "sm_" + std::to_string(last));
  }
}
