//===- PartsTest.cpp - What a rank has of a tensor ------------------------===//
//
// Tensors are cut for every rank of a mesh and joined again.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace tenon;
using namespace tenon::format;

namespace {

Tensor tensorOf(std::vector<int64_t> shape, std::vector<Cut> cuts) {
  Tensor tensor;
  tensor.type = ElementType::i8;
  tensor.shape = std::move(shape);
  tensor.cuts = std::move(cuts);
  return tensor;
}

/// The bytes 1, 2, 3, ...
std::vector<std::byte> counted(uint64_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = std::byte(i + 1);
  return bytes;
}

std::vector<int> partsOf(const Tensor &tensor, int64_t rank) {
  std::vector<std::byte> part(bytesOf(partOf(tensor)));
  cutPart(tensor, rank, counted(bytesOf(tensor)), part);
  std::vector<int> numbers;
  for (std::byte byte : part)
    numbers.push_back(int(byte));
  return numbers;
}

/// What readPart() reads, and how many bytes it asks for.
std::vector<std::byte> readFrom(const Tensor &tensor, int64_t rank,
                                std::span<const std::byte> whole,
                                uint64_t &asked) {
  std::vector<std::byte> part(bytesOf(partOf(tensor)), std::byte{99});
  EXPECT_TRUE(readPart(
      tensor, rank,
      [&](uint64_t from, std::span<std::byte> into) {
        asked += into.size();
        std::ranges::copy(whole.subspan(from, into.size()), into.begin());
        return true;
      },
      part));
  return part;
}

} // namespace

TEST(Parts, LittleMoreThanAPartIsRead) {
  // Rows, and long pieces of rows, alone; short ones with what is between them.
  Tensor rows = tensorOf({40, 100'000}, {{{1}, {4}}, {}}),
         longPieces = tensorOf({40, 100'000}, {{}, {{1}, {4}}}),
         shortPieces = tensorOf({400'000, 100}, {{}, {{1}, {4}}});
  for (const auto &[tensor, most] : {std::pair(rows, uint64_t(1'000'000)),
                                     {longPieces, 1'000'000},
                                     {shortPieces, 40'000'000}}) {
    std::vector<std::byte> whole = counted(bytesOf(tensor));
    for (int64_t rank : {0, 3}) {
      uint64_t asked = 0;
      std::vector<std::byte> part(bytesOf(partOf(tensor)));
      cutPart(tensor, rank, whole, part);
      EXPECT_EQ(readFrom(tensor, rank, whole, asked), part);
      EXPECT_LE(asked, most);
    }
  }
  std::vector<std::byte> part(bytesOf(partOf(rows)));
  auto failing = [](uint64_t, std::span<std::byte>) { return false; };
  EXPECT_FALSE(readPart(rows, 1, failing, part));
}

TEST(Parts, RowsAndColumns) {
  // data=2,model=2: `model` cuts the rows, `data` the columns.
  Tensor tensor = tensorOf({2, 4}, {{{1}, {2}}, {{2}, {2}}});
  EXPECT_EQ(partOf(tensor).shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(partsOf(tensor, 0), (std::vector<int>{1, 2}));
  EXPECT_EQ(partsOf(tensor, 1), (std::vector<int>{5, 6}));
  EXPECT_EQ(partsOf(tensor, 2), (std::vector<int>{3, 4}));
  EXPECT_EQ(partsOf(tensor, 3), (std::vector<int>{7, 8}));
}

TEST(Parts, TheTailIsZero) {
  // 5 rows for 4 ranks: 2, 2, 1 and none.
  Tensor tensor = tensorOf({5}, {{{1}, {4}}});
  EXPECT_EQ(partsOf(tensor, 0), (std::vector<int>{1, 2}));
  EXPECT_EQ(partsOf(tensor, 2), (std::vector<int>{5, 0}));
  EXPECT_EQ(partsOf(tensor, 3), (std::vector<int>{0, 0}));
}

TEST(Parts, JoinedAgain) {
  for (const Tensor &tensor :
       {tensorOf({5, 3}, {{{1}, {4}}, {}}), tensorOf({}, {}),
        tensorOf({3, 5, 2}, {{}, {{2, 1}, {2, 2}}, {}}),
        tensorOf({2, 2}, {{}, {}}), tensorOf({4, 6}, {{{2}, {2}}, {{1}, {2}}}),
        tensorOf({0, 4}, {{{1}, {2}}, {}})}) {
    std::vector<std::byte> whole = counted(bytesOf(tensor));
    std::vector<std::byte> joined(whole.size()), part(bytesOf(partOf(tensor)));
    for (int64_t rank = 0; rank < 4; ++rank) {
      cutPart(tensor, rank, whole, part);
      EXPECT_TRUE(hasPart(tensor, rank, part, whole));
      uint64_t asked = 0;
      std::vector<std::byte> read = readFrom(tensor, rank, whole, asked);
      EXPECT_EQ(read, part);
      EXPECT_LE(asked, whole.size());
      std::vector<std::byte> noisy = read;
      for (std::byte &byte : noisy)
        byte = byte == std::byte{0} ? std::byte{99} : byte;
      clearTail(tensor, rank, noisy);
      EXPECT_EQ(noisy, part);
      joinPart(tensor, rank, part, joined);
      int64_t holder = firstHolder(tensor, rank);
      EXPECT_LE(holder, rank);
      EXPECT_EQ(partsOf(tensor, holder), partsOf(tensor, rank));
    }
    EXPECT_EQ(joined, whole);
  }
}

TEST(Parts, ADifferenceIsSeen) {
  Tensor tensor = tensorOf({5}, {{{1}, {2}}});
  std::vector<std::byte> whole = counted(5), part(3);
  cutPart(tensor, 1, whole, part);
  part[2] = std::byte(9); // tail
  EXPECT_TRUE(hasPart(tensor, 1, part, whole));
  part[1] = std::byte(9);
  EXPECT_FALSE(hasPart(tensor, 1, part, whole));
}

TEST(Parts, WhatCannotBeCut) {
  EXPECT_EQ(whyNotCut(tensorOf({4, 4}, {{{1}, {2}}, {{2}, {2}}}), 4), "");
  EXPECT_EQ(whyNotCut(tensorOf({4, 4}, {}), 1), "");
  for (const Tensor &tensor :
       {tensorOf({4}, {{}, {}}), tensorOf({4}, {{{1, 2}, {2}}}),
        tensorOf({4}, {{{0}, {2}}}), tensorOf({4}, {{{1}, {0}}}),
        tensorOf({4}, {{{1}, {8}}}), tensorOf({4}, {{{4}, {2}}}),
        tensorOf({4, 4}, {{{1}, {4}}, {{1}, {4}}}),
        tensorOf({4}, {{{INT64_MAX}, {INT64_MAX}}})})
    EXPECT_NE(whyNotCut(tensor, 4), "");
}
