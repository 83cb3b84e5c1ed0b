//===- MpiRanksTest.cpp - Messages between processes ----------------------===//
//
// mpirun starts it as three ranks, each of which runs all tests in this order.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/ProcessRanks.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tenon;
using namespace tenon::libraries;
using namespace tenon::runtime;

namespace {

using Bytes = std::vector<std::byte>;

/// What one rank sends another, of so many bytes.
Bytes message(int64_t from, int64_t to, size_t count) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = std::byte(i * 7 + size_t(from) * 31 + size_t(to));
  return bytes;
}

/// All ranks send all ranks messages, also themselves.
void exchangeAll(ProcessRanks &ranks, size_t count) {
  std::vector<Bytes> sent, received;
  std::vector<OutgoingMessage> outgoing;
  std::vector<IncomingMessage> incoming;
  for (int64_t other = 0; other < ranks.ranks(); ++other) {
    sent.push_back(message(ranks.rank(), other, count));
    received.emplace_back(count);
  }
  for (int64_t other = 0; other < ranks.ranks(); ++other) {
    outgoing.push_back({other, sent[size_t(other)]});
    incoming.push_back({other, received[size_t(other)]});
  }
  ASSERT_TRUE(ranks.exchange(outgoing, incoming)) << ranks.whyEnded();
  for (int64_t other = 0; other < ranks.ranks(); ++other)
    EXPECT_EQ(received[size_t(other)], message(other, ranks.rank(), count));
}

/// MPI adds up all elements, and scatters the largest in the order of the
/// group.
void combineAll(ProcessRanks &ranks, std::vector<Participant> group,
                int64_t piece) {
  CollectiveDescription sum{.kind = CollectiveKind::allReduce,
                            .type = ElementType::f32,
                            .combination = Combination::sum,
                            .piece = piece,
                            .groupSize = 3,
                            .groups = group};
  CollectiveDescription largest = sum;
  largest.kind = CollectiveKind::reduceScatter;
  largest.type = ElementType::i32;
  largest.combination = Combination::maximum;
  EXPECT_FALSE(ranks.reduces(sum));
  ASSERT_TRUE(ranks.prepareReduction(sum)) << ranks.whyEnded();
  ASSERT_TRUE(ranks.prepareReduction(largest)) << ranks.whyEnded();
  EXPECT_TRUE(ranks.reduces(sum));
  const auto rank = int(ranks.rank());
  const uint64_t before = ranks.receivedBytes();

  std::vector<float> terms(static_cast<size_t>(piece)), sums(terms.size());
  for (size_t i = 0; i < terms.size(); ++i)
    terms[i] = float(i) + 100.0f * float(rank);
  auto bytesOf = [](auto &values) {
    return std::as_writable_bytes(std::span(values)).data();
  };
  ASSERT_TRUE(ranks.reduce(sum, bytesOf(terms), bytesOf(sums)))
      << ranks.whyEnded();
  for (size_t i = 0; i < sums.size(); ++i)
    EXPECT_EQ(sums[i], 3.0f * float(i) + 300.0f);

  std::vector<int32_t> numbers(3 * terms.size()), most(terms.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = int32_t(i) - 10 * rank;
  ASSERT_TRUE(ranks.reduce(largest, bytesOf(numbers), bytesOf(most)))
      << ranks.whyEnded();
  const size_t place =
      group.front().rank == 0 ? size_t(rank) : size_t(2 - rank);
  for (size_t i = 0; i < most.size(); ++i)
    EXPECT_EQ(most[i], int32_t(place * most.size() + i));
  EXPECT_EQ(ranks.receivedBytes() - before,
            uint64_t(receivedBytes(sum, rank) + receivedBytes(largest, rank)));
}

} // namespace

TEST(MpiRanks, PiecesAndSizes) {
  std::string error;
  auto ranks = ProcessRanks::join("", error);
  ASSERT_TRUE(ranks) << error;
  EXPECT_EQ(ranks->ranks(), 3);
  EXPECT_EQ(ranks->ranksHere(), 3);
  EXPECT_EQ(ranks->rankHere(), ranks->rank());

  // A second one finds MPI started, and so does not end it. It cuts messages
  // as one of more than 2^31 bytes is.
  auto others = ProcessRanks::join("", error, /*most=*/1000);
  ASSERT_TRUE(others) << error;
  EXPECT_EQ(others->rank(), ranks->rank());
  for (size_t count : {size_t(0), size_t(1), size_t(999), size_t(1000),
                       size_t(1001), size_t(100'003)}) {
    exchangeAll(*ranks, count);
    exchangeAll(*others, count);
  }
  EXPECT_EQ(others->receivedBytes(), 2u * (1 + 999 + 1000 + 1001 + 100'003));

  combineAll(*ranks, {{0}, {1}, {2}}, 7);
  combineAll(*ranks, {{2}, {1}, {0}}, 1000);
  combineAll(*others, {{0}, {1}, {2}}, 1001); // in pieces
  EXPECT_EQ(ranks->reductionsByMpi(), 4u);

  // A rank that sends less than is expected, or more.
  for (size_t count : {size_t(10), size_t(30)}) {
    const Bytes sent(count);
    Bytes received(20);
    const OutgoingMessage outgoing{1, sent};
    const IncomingMessage incoming{0, received};
    if (ranks->rank() == 0)
      EXPECT_TRUE(ranks->exchange({&outgoing, 1}, {}));
    if (ranks->rank() == 1)
      EXPECT_FALSE(ranks->exchange({}, {&incoming, 1}));
    if (ranks->rank() == 1 && count == 10)
      EXPECT_EQ(ranks->whyEnded(), "rank 0 sent 10 bytes, expected 20");
  }

  others->leave();
  exchangeAll(*ranks, 100);
  ranks->leave();
  EXPECT_FALSE(ProcessRanks::join("", error));
  EXPECT_NE(error.find("MPI has ended in this process"), std::string::npos)
      << error;
  EXPECT_FALSE(ProcessRanks::join("/nowhere/libtenon-mpi.so", error));
  EXPECT_NE(error.find("install Debian's openmpi-bin"), std::string::npos);
}
