//===- HaloTest.cpp - What windows read of other shards -------------------===//
//
// Halos of small dimensions against a count of what windows read.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/Halo.h"
#include "tenon/Sharding/Layout.h"

#include "gtest/gtest.h"

using namespace tenon;
using namespace tenon::sharding;

namespace {

/// Calls `visit` with dimensions that have a result.
template <typename Visit>
void forEachDim(Visit visit) {
  for (int64_t extent : {1, 2, 4, 5, 7})
    for (int64_t size : {1, 2, 3, 5})
      for (int64_t stride : {1, 2, 3})
        for (int64_t low : {-1, 0, 1, 2})
          for (int64_t high : {-1, 0, 1, 2})
            for (int64_t base : {1, 2})
              for (int64_t dilation : {1, 2})
                for (bool cutsWindow : {false, true}) {
                  WindowedDim dim{
                      extent, 0, {size, stride, low, high, base, dilation}};
                  dim.cutsWindow = cutsWindow;
                  const int64_t room = (extent - 1) * base + 1 + low + high -
                                       ((size - 1) * dilation + 1);
                  dim.results = room / stride + 1;
                  if (room >= 0)
                    visit(dim);
                }
}

TEST(Halo, HoldsAllThatWindowsRead) {
  int64_t cut = 0, declined = 0;
  forEachDim([&](const WindowedDim &dim) {
    const Window &window = dim.window;
    for (int64_t count : {2, 3, 4}) {
      auto halo = haloOf(dim, count);
      if (!halo) {
        ++declined;
        continue;
      }
      ++cut;
      const int64_t results =
          dim.cutsWindow ? dim.results : shardExtent(dim.results, count);
      const int64_t places =
          dim.cutsWindow ? shardExtent(window.size, count) : window.size;
      // The operation on a shard has so many results.
      const int64_t room = (halo->extent - 1) * window.baseDilation + 1 +
                           halo->low + halo->high -
                           ((places - 1) * window.windowDilation + 1);
      ASSERT_EQ(room / window.stride + 1, results);
      bool readsInFront = false, readsBehind = false;
      for (int64_t device = 0; device < count; ++device) {
        const int64_t start = device * halo->step + halo->first;
        // It is part of what the device puts together.
        ASSERT_GE(start, device * halo->block - halo->left);
        ASSERT_LE(start + halo->extent,
                  (device + 1) * halo->block + halo->right);
        for (int64_t o = 0; o < results; ++o)
          for (int64_t k = 0; k < places; ++k) {
            const int64_t result = dim.cutsWindow ? o : device * results + o;
            const int64_t place = dim.cutsWindow ? device * places + k : k;
            const int64_t at = result * window.stride +
                               place * window.windowDilation - window.low;
            const int64_t local =
                o * window.stride + k * window.windowDilation - halo->low;
            ASSERT_EQ(local + start * window.baseDilation, at);
            if (at % window.baseDilation != 0 || result >= dim.results)
              continue;
            const int64_t index = at / window.baseDilation;
            readsInFront |= index < 0;
            readsBehind |= index >= dim.extent;
            if (place < window.size && index >= 0 && index < dim.extent) {
              ASSERT_GE(local, 0);
              ASSERT_LT(local, (halo->extent - 1) * window.baseDilation + 1);
            }
          }
      }
      ASSERT_LE(readsInFront, halo->startsOutside);
      ASSERT_LE(readsBehind, halo->endsOutside);
    }
  });
  // Most dimensions can be cut.
  EXPECT_GT(cut, declined);
}

TEST(Halo, SaysWhyADimensionIsWhole) {
  const char *why = nullptr;
  // Three results per shard, of an operand between whose elements one is.
  WindowedDim dilated{3, 6, {2, 1, 1, 1, 2, 1}};
  EXPECT_FALSE(haloOf(dilated, 2, &why));
  EXPECT_STREQ(why, "shards would begin between two elements of the operand, "
                    "which is dilated");
  WindowedDim wide{2, 2, {5, 1, 2, 2, 1, 1}};
  EXPECT_FALSE(haloOf(wide, 2, &why));
  EXPECT_STREQ(why, "windows would reach beyond the shards of all devices");
  EXPECT_TRUE(haloOf(dilated, 3));
}

TEST(Halo, ExchangesNothingBetweenWindowsThatStayTogether) {
  WindowedDim pairs{8, 4, {2, 2, 0, 0, 1, 1}};
  for (bool scattersSource : {false, true}) {
    pairs.scattersSource = scattersSource;
    auto halo = haloOf(pairs, 4);
    ASSERT_TRUE(halo);
    EXPECT_TRUE(halo->isOwnShard());
    EXPECT_FALSE(halo->startsOutside || halo->endsOutside);
  }
  // The window of an element that is none would reach a row that is one.
  WindowedDim odd{5, 2, {2, 2, 0, 0, 1, 1}};
  odd.scattersSource = true;
  EXPECT_FALSE(haloOf(odd, 3));
}

TEST(Halo, ComesFromSeveralDevices) {
  EXPECT_TRUE(hopsOf(0, 2).empty());
  EXPECT_EQ(hopsOf(5, 2), (llvm::SmallVector<int64_t>{2, 2, 1}));
  WindowedDim wide{8, 8, {7, 1, 3, 3, 1, 1}};
  auto halo = haloOf(wide, 4);
  ASSERT_TRUE(halo);
  EXPECT_EQ(hopsOf(halo->left, halo->block).size(), 2u);
}

} // namespace
