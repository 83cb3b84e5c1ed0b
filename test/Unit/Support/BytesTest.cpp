//===- BytesTest.cpp - Sizes as people write them -------------------------===//

#include "tenon/Support/Bytes.h"

#include <gtest/gtest.h>

using namespace tenon;

namespace {

TEST(Bytes, ReadsSizes) {
  EXPECT_EQ(parseBytes("4096"), 4096);
  EXPECT_EQ(parseBytes("1KiB"), 1024);
  EXPECT_EQ(parseBytes("1.5 GiB"), 1610612736);
  EXPECT_EQ(parseBytes("0"), 0);
  EXPECT_EQ(parseBytes("2TiB"), int64_t(2) << 40);
}

TEST(Bytes, RefusesWhatIsNoSize) {
  for (const char *text : {"", "GiB", "-1", "1GB", "1gib", "nan", "inf", "1e9",
                           "1 Gi B", "9000000TiB"})
    EXPECT_FALSE(parseBytes(text)) << text;
}

TEST(Bytes, PrintsTheLargestUnitThatFits) {
  EXPECT_EQ(printBytes(17), "17 B");
  EXPECT_EQ(printBytes(1023), "1023 B");
  EXPECT_EQ(printBytes(1024), "1.00 KiB");
  EXPECT_EQ(printBytes(1610612736), "1.50 GiB");
}

} // namespace
