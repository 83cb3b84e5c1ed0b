//===- DeviceTilesTest.cpp - The text of mhlo.sharding --------------------===//

#include "tenon/Analysis/DeviceTiles.h"

#include "gtest/gtest.h"

using namespace tenon;
using Numbers = llvm::SmallVector<int64_t>;

namespace {

DeviceTiles read(llvm::StringRef text, int64_t rank) {
  std::string error;
  auto tiles = readDeviceTiles(text, rank, error);
  EXPECT_TRUE(tiles) << error;
  return tiles.value_or(DeviceTiles());
}

std::string whyNot(llvm::StringRef text, int64_t rank) {
  std::string error;
  EXPECT_FALSE(readDeviceTiles(text, rank, error));
  return error;
}

TEST(DeviceTilesTest, SaysWhichTileEachDeviceHas) {
  DeviceTiles tiles = read("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", 2);
  EXPECT_EQ(tiles.devices, 4);
  EXPECT_EQ(tiles.tileOf, (std::vector<Numbers>{{0, 0, 1, 1}, {0, 0, 0, 0}}));
  EXPECT_EQ(tiles.strides, (Numbers{1, 2, 2}));
  EXPECT_TRUE(tiles.manualOf.empty());

  tiles = read("{devices=[4]<=[2,2]T(1,0)}", 1);
  EXPECT_EQ(tiles.tileOf, (std::vector<Numbers>{{0, 2, 1, 3}}));
  EXPECT_EQ(tiles.strides, (Numbers{1, 2}));

  tiles = read("{devices=[3]2,0,1}", 1);
  EXPECT_EQ(tiles.tileOf, (std::vector<Numbers>{{1, 2, 0}}));

  tiles = read("{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}", 2);
  EXPECT_EQ(tiles.tileOf, (std::vector<Numbers>{{0, 1, 0, 1}, {0, 0, 0, 0}}));
  EXPECT_EQ(tiles.strides, (Numbers{2, 4, 1, 2}));
}

TEST(DeviceTilesTest, SaysWhereBodiesArePerDevice) {
  DeviceTiles tiles =
      read("{devices=[1,2,3]<=[6] last_tile_dims={manual, replicated}}", 1);
  EXPECT_EQ(tiles.manualOf, (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_FALSE(tiles.isManual);
  EXPECT_TRUE(read("{manual}", 3).isManual);
  EXPECT_EQ(read("{manual}", 3).devices, 0);
  EXPECT_EQ(read("{replicated}", 3).devices, 0);
}

TEST(DeviceTilesTest, RefusesOtherText) {
  EXPECT_EQ(whyNot("{maximal device=0}", 1),
            "'mhlo.sharding' is \"{maximal device=0}\", expected {replicated} "
            "or {devices=[...]...}");
  EXPECT_NE(whyNot("{devices=[2,2]<=[4]}", 1).find("for each of 1 dimensions"),
            std::string::npos);
  EXPECT_NE(whyNot("{devices=[2]0,0}", 1).find("each of 2 devices once"),
            std::string::npos);
  EXPECT_NE(whyNot("{devices=[2,2]<=[4] last_tile_dims={unreduced}}", 1)
                .find("expected replicated and manual"),
            std::string::npos);
  // Before any table is made.
  EXPECT_NE(whyNot("{devices=[2147483648]<=[2147483648]}", 1)
                .find("expected 1 to 4096"),
            std::string::npos);
  EXPECT_NE(whyNot("{devices=[0]<=[0]}", 1).find("expected 1 to 4096"),
            std::string::npos);
}

} // namespace
