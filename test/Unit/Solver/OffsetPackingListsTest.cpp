//===- OffsetPackingListsTest.cpp - the inner loops of the search ---------===//
//
// Rows of numbers that are handled many at a time, against one at a time; and
// lists into which risen items come back, against sorting them.
//
//===----------------------------------------------------------------------===//

#include "OffsetPacking/OffsetPackingSections.h"
#include "OffsetPacking/OffsetPackingWaiting.h"
#include "SplitRandom.h"

#include <gtest/gtest.h>

using namespace tenon::solver;
using namespace tenon::solver::packing;

template <typename T>
class OffsetPackingLists : public testing::Test {};
using Widths = testing::Types<int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(OffsetPackingLists, Widths);

TYPED_TEST(OffsetPackingLists, AddsToSectionsAndFindsWhatExceeds) {
  using T = TypeParam;
  SplitRandom random(1);
  for (int32_t count = 0; count <= 40; ++count)
    for (int round = 0; round < 20; ++round) {
      constexpr int32_t begin = 3; // nothing is aligned
      std::vector<T> row(begin + count + sectionPadding);
      for (T &number : row)
        number = static_cast<T>(random.below(100));
      // What lies outside exceeds everything and must not count.
      const T most = static_cast<T>(random.below(100));
      for (int32_t i = 0; i < sectionPadding; ++i)
        row[begin + count + i] = 101;
      const T bytes = static_cast<T>(random.below(200) - 100);
      std::vector<T> expected = row;
      T largest = 0;
      for (int32_t i = begin; i < begin + count; ++i) {
        largest = std::max(largest, row[i]);
        expected[i] = static_cast<T>(row[i] + bytes);
      }
      EXPECT_EQ(largestOfSections(&row[begin], count), largest);
      std::vector<T> added = row;
      addToSections(&added[begin], count, bytes);
      EXPECT_EQ(added, expected);
      EXPECT_EQ(exceedsAndAdd(&row[begin], count, most, bytes),
                count > 0 && largest > most);
      EXPECT_EQ(row, expected);
    }
}

TYPED_TEST(OffsetPackingLists, RisenItemsComeToTheirPlaces) {
  using T = TypeParam;
  using Item = Waiting<T>;
  SplitRandom random(2);
  for (int round = 0; round < 2000; ++round) {
    const auto count = static_cast<size_t>(random.below(150));
    const T level = static_cast<T>(random.below(6));
    RisenItems<T> risen;
    risen.resize(count);
    risen.start(level);
    std::vector<Item> list, expected;
    for (size_t i = 0; i < count; ++i) {
      Item item{};
      item.rank = static_cast<typename Item::Index>(i);
      const bool rises = random.below(3) > 0;
      item.least = rises && random.below(4) > 0
                       ? level
                       : static_cast<T>(random.below(9));
      expected.push_back(item);
      if (rises)
        risen.add(item);
      else
        list.push_back(item);
    }
    std::sort(list.begin(), list.end(), Item::before);
    const size_t kept = list.size();
    list.resize(count);
    risen.mergeInto(list.data(), kept);
    std::sort(expected.begin(), expected.end(), Item::before);
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(list[i].rank, expected[i].rank) << "round " << round;
  }
}
