//===- CheckedWideTest.cpp - 128-bit arithmetic that remembers overflow ---===//
//
// Each operation at the ends of the range, and what becomes of a number that
// is not exact.
//
//===----------------------------------------------------------------------===//

#include "tenon/Support/CheckedWide.h"

#include <gtest/gtest.h>

using tenon::CheckedWide;

static constexpr CheckedWide::Integer most =
    ~(CheckedWide::Integer(1) << 127); // 2^127 - 1
static constexpr CheckedWide::Integer least = -most - 1;

TEST(CheckedWide, ExactUpToTheEnds) {
  EXPECT_TRUE(CheckedWide(INT64_MIN).exact() == INT64_MIN);
  EXPECT_TRUE((CheckedWide(most - 1) + 1).exact() == most);
  EXPECT_TRUE((CheckedWide(least + 1) - 1).exact() == least);
  EXPECT_TRUE((CheckedWide(INT64_MIN) * INT64_MIN).exact() ==
              CheckedWide::Integer(1) << 126);
}

TEST(CheckedWide, BeyondThemNothingIsSure) {
  const CheckedWide beyond[] = {CheckedWide(most) + 1, CheckedWide(least) - 1,
                                CheckedWide(most) * 2, CheckedWide(0) - least};
  for (CheckedWide wide : beyond)
    for (CheckedWide derived :
         {wide, wide + 1, wide - wide, wide * 0, 0 - wide, lesser(wide, 0),
          lesser(0, wide), dividedUp(wide, 3)}) {
      EXPECT_FALSE(derived.exact());
      for (CheckedWide other :
           {CheckedWide(least), CheckedWide(0), CheckedWide(most), derived}) {
        EXPECT_FALSE(isSurelyLess(derived, other));
        EXPECT_FALSE(isSurelyLess(other, derived));
        EXPECT_FALSE(isSurelyAtMost(derived, other));
        EXPECT_FALSE(isSurelyAtMost(other, derived));
      }
    }
}

TEST(CheckedWide, Compares) {
  EXPECT_TRUE(isSurelyLess(CheckedWide(1), 2));
  EXPECT_FALSE(isSurelyLess(CheckedWide(2), 2));
  EXPECT_TRUE(isSurelyAtMost(CheckedWide(2), 2));
  EXPECT_FALSE(isSurelyAtMost(CheckedWide(3), 2));
  EXPECT_TRUE(lesser(CheckedWide(-4), 3).exact() == -4);
}

TEST(CheckedWide, DividesUp) {
  EXPECT_TRUE(dividedUp(CheckedWide(7), 2).exact() == 4);
  EXPECT_TRUE(dividedUp(CheckedWide(8), 2).exact() == 4);
  EXPECT_TRUE(dividedUp(CheckedWide(-7), 2).exact() == -3);
  EXPECT_TRUE(dividedUp(CheckedWide(most), 1).exact() == most);
}
