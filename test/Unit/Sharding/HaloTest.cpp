//===- HaloTest.cpp - What windows read of other shards -------------------===//
//
// Halos of small dimensions against a count of what windows read.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/Halo.h"
#include "tenon/Sharding/Layout.h"
#include "tenon/Sharding/ScatterHalo.h"

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
  auto halo = haloOf(pairs, 4);
  ASSERT_TRUE(halo);
  EXPECT_TRUE(halo->isOwnShard());
  EXPECT_FALSE(halo->startsOutside || halo->endsOutside);
  auto scattered = scatterHaloOf(pairs, 4);
  ASSERT_TRUE(scattered);
  EXPECT_TRUE(scattered->isOwnShard());
  // The window of an element that is none would reach a row that is one.
  WindowedDim odd{5, 2, {2, 2, 0, 0, 1, 1}};
  scattered = scatterHaloOf(odd, 3);
  EXPECT_FALSE(scattered && scattered->isOwnShard());
}

TEST(ScatterHalo, RunsAllWindowsThatReachAShard) {
  int64_t cut = 0;
  for (int64_t extent = 1; extent < 24; ++extent)
    for (int64_t size : {1, 2, 3, 5})
      for (int64_t stride : {1, 2, 3})
        for (int64_t low : {-1, 0, 1, 2})
          for (int64_t high : {-1, 0, 1, 2}) {
            const Window window{size, stride, low, high};
            const int64_t room = extent + low + high - size;
            if (room < 0)
              continue;
            const int64_t windows = room / stride + 1;
            for (int64_t count : {2, 3, 4, 8}) {
              auto halo = scatterHaloOf({extent, windows, window}, count);
              if (!halo || halo->isOwnShard())
                continue;
              ++cut;
              const ScatterHalo::Tensor &operand = halo->operand;
              const ScatterHalo::Tensor &source = halo->source;
              // So many windows does the operation run on so many elements.
              ASSERT_EQ((operand.extent + low + high - size) / stride + 1,
                        source.extent);
              for (int64_t device = 0; device < count; ++device) {
                const int64_t first = halo->firstWindow(device);
                const int64_t start = first * stride;
                const int64_t own = device * operand.block;
                // They are elements and windows of the whole operation, and
                // there.
                ASSERT_GE(first, 0);
                ASSERT_LE(start + operand.extent, extent);
                ASSERT_LE(first + source.extent, windows);
                ASSERT_GE(start, own - operand.left);
                ASSERT_LE(start + operand.extent,
                          own + operand.block + operand.right);
                ASSERT_GE(first, device * source.block - source.left);
                ASSERT_LE(first + source.extent,
                          (device + 1) * source.block + source.right);
                // Behind the result, so many places make up for the own shard.
                ASSERT_GE(own, start);
                ASSERT_LE(own + operand.block,
                          start + operand.extent + halo->tail);
                for (int64_t at = own;
                     at < std::min(own + operand.block, extent); ++at) {
                  ASSERT_LT(at, start + operand.extent);
                  for (int64_t o = 0; o < windows; ++o) {
                    const int64_t from = o * stride - low;
                    if (at < from || at >= from + size)
                      continue;
                    ASSERT_GE(o, first);
                    ASSERT_LT(o, first + source.extent);
                    ASSERT_GE(std::max<int64_t>(from, 0), start);
                    ASSERT_LE(std::min(from + size, extent),
                              start + operand.extent);
                  }
                }
              }
            }
          }
  EXPECT_GT(cut, 2000);
}

TEST(ScatterHalo, SaysWhyADimensionIsWhole) {
  const char *why = nullptr;
  EXPECT_FALSE(scatterHaloOf({8, 8, {7, 1, 3, 3}}, 2, &why));
  EXPECT_STREQ(why, "windows would read the shards of all devices");
}

TEST(ScatterHalo, GetsNoMoreThanTwoShardsNeed) {
  // The example of ScatterHalo.h.
  auto halo = scatterHaloOf({16, 8, {3, 2, 1, 0}}, 2);
  ASSERT_TRUE(halo);
  EXPECT_EQ(halo->operand.extent, 10);
  EXPECT_EQ(halo->operand.left, 2);
  EXPECT_EQ(halo->operand.right, 2);
  EXPECT_EQ(halo->source.extent, 5);
  EXPECT_EQ(halo->source.left, 1);
  EXPECT_EQ(halo->source.right, 1);
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
