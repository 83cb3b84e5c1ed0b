//===- CollectiveTest.cpp - Ranks as threads carry out collectives --------===//
//
// Every kind of collective on small tensors, against what it is defined to be.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/CollectiveQueue.h"
#include "../../../lib/Runtime/RunCollective.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <thread>

using namespace tenon;
using namespace tenon::libraries;
using namespace tenon::runtime;

namespace {

using Floats = std::vector<float>;

/// Counts what comes from other ranks.
class Counting final : public Communicator {
public:
  explicit Counting(Communicator &ranks) : ranks(ranks) {}
  int64_t rank() const override { return ranks.rank(); }
  bool exchange(std::span<const OutgoingMessage> outgoing,
                std::span<const IncomingMessage> incoming) override {
    for (const IncomingMessage &message : incoming)
      if (message.from != rank())
        received += int64_t(message.bytes.size());
    return ranks.exchange(outgoing, incoming);
  }

  int64_t received = 0;

private:
  Communicator &ranks;
};

/// Runs `body` on a thread per rank.
void onRanks(int64_t ranks, ThreadRanks &all,
             const std::function<void(int64_t, Communicator &)> &body) {
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { body(rank, all.of(rank)); });
  for (std::thread &thread : threads)
    thread.join();
}

/// What each rank gets; `given` are the operands.
template <typename T>
std::vector<std::vector<T>> run(const CollectiveDescription &description,
                                std::vector<std::vector<T>> given) {
  auto ranks = int64_t(given.size());
  EXPECT_EQ(whyInvalid(description, ranks), "");
  std::vector<std::vector<T>> results(given.size());
  ThreadRanks all(ranks);
  onRanks(ranks, all, [&](int64_t rank, Communicator &communicator) {
    std::vector<T> &operand = given[size_t(rank)],
                   &result = results[size_t(rank)];
    EXPECT_EQ(int64_t(operand.size() * sizeof(T)), operandBytes(description));
    result.resize(size_t(resultBytes(description)) / sizeof(T), T(99));
    std::vector<std::byte> work(size_t(workspaceBytes(description)));
    void *arguments[] = {operand.data(), result.data(), work.data()};
    Counting counted(communicator);
    for (int times = 0; times < 20; ++times)
      EXPECT_TRUE(runCollective(description, arguments, counted));
    EXPECT_EQ(counted.received, 20 * receivedBytes(description, rank));
  });
  return results;
}

CollectiveDescription describe(CollectiveKind kind, int64_t outer,
                               int64_t piece, int64_t size,
                               std::vector<Participant> groups,
                               Combination how = Combination::none) {
  return {kind, ElementType::f32, how, outer, piece, size, std::move(groups)};
}

const std::vector<Participant> pairs = {{0}, {2}, {1}, {3}}; // two groups

} // namespace

TEST(Collective, AllReduceOfEachGroup) {
  // Three elements for two ranks: the second one adds up fewer.
  auto found = run<float>(
      describe(CollectiveKind::allReduce, 1, 3, 2, pairs, Combination::sum),
      {{1, 2, 3}, {4, 5, 6}, {10, 20, 30}, {40, 50, 60}});
  EXPECT_EQ(found,
            (std::vector<Floats>{
                {11, 22, 33}, {44, 55, 66}, {11, 22, 33}, {44, 55, 66}}));
}

TEST(Collective, AllReduceOfLessThanOneElementPerRank) {
  auto found = run<float>(describe(CollectiveKind::allReduce, 1, 1, 4,
                                   {{0}, {1}, {2}, {3}}, Combination::maximum),
                          {{1}, {-4}, {7}, {2}});
  EXPECT_EQ(found, (std::vector<Floats>(4, {7})));
}

TEST(Collective, SumsAreInTheOrderOfTheRanks) {
  const float big = 16777216; // to which a single one adds nothing
  auto sum = [&](std::vector<Participant> order) {
    return run<float>(describe(CollectiveKind::allReduce, 1, 1, 3,
                               std::move(order), Combination::sum),
                      {{1}, {1}, {big}})[0][0];
  };
  EXPECT_EQ(sum({{0}, {1}, {2}}), big + 2);
  EXPECT_EQ(sum({{2}, {0}, {1}}), big);
}

TEST(Collective, SixteenBitsAreAddedInF32) {
  auto description = describe(CollectiveKind::allReduce, 1, 1, 4,
                              {{0}, {1}, {2}, {3}}, Combination::sum);
  description.type = ElementType::bf16;
  // 256 + 1 + 1 + 1: a bf16 would stay at 256; 259 is rounded to 260.
  auto bf16 = [](float value) {
    return uint16_t(std::bit_cast<uint32_t>(value) >> 16);
  };
  auto found = run<uint16_t>(description,
                             {{bf16(256)}, {bf16(1)}, {bf16(1)}, {bf16(1)}});
  EXPECT_EQ(found[0][0], bf16(260));
  EXPECT_EQ(found[3][0], bf16(260));
  description.type = ElementType::f16;
  // 2048 + 1 + 1 + 1 is 2051, half way between two f16: the even one is 2052.
  found = run<uint16_t>(description, {{0x6800}, {0x3c00}, {0x3c00}, {0x3c00}});
  EXPECT_EQ(found[2][0], 0x6802);
}

TEST(Collective, AllGatherAlongTheSecondDimension) {
  auto found = run<float>(
      describe(CollectiveKind::allGather, 2, 2, 2, pairs),
      {{1, 2, 3, 4}, {11, 12, 13, 14}, {5, 6, 7, 8}, {15, 16, 17, 18}});
  EXPECT_EQ(found[0], (Floats{1, 2, 5, 6, 3, 4, 7, 8}));
  EXPECT_EQ(found[2], found[0]);
  EXPECT_EQ(found[3], (Floats{11, 12, 15, 16, 13, 14, 17, 18}));
}

TEST(Collective, ReduceScatterAlongTheSecondDimension) {
  auto found = run<float>(describe(CollectiveKind::reduceScatter, 2, 1, 2,
                                   {{0}, {1}}, Combination::sum),
                          {{1, 2, 3, 4}, {10, 20, 30, 40}});
  EXPECT_EQ(found, (std::vector<Floats>{{11, 33}, {22, 44}}));
}

TEST(Collective, AllToAll) {
  auto found =
      run<float>(describe(CollectiveKind::allToAll, 1, 2, 2, {{0}, {1}}),
                 {{1, 2, 3, 4}, {5, 6, 7, 8}});
  EXPECT_EQ(found, (std::vector<Floats>{{1, 2, 5, 6}, {3, 4, 7, 8}}));
  found = run<float>(describe(CollectiveKind::allToAll, 2, 1, 2, {{0}, {1}}),
                     {{1, 2, 3, 4}, {5, 6, 7, 8}});
  EXPECT_EQ(found, (std::vector<Floats>{{1, 5, 3, 7}, {2, 6, 4, 8}}));
}

TEST(Collective, PermuteGivesZerosToWhomNobodySends) {
  auto found = run<float>(describe(CollectiveKind::collectivePermute, 1, 2, 2,
                                   {{0}, {1}, {1}, {2}}),
                          {{1, 2}, {3, 4}, {5, 6}});
  EXPECT_EQ(found, (std::vector<Floats>{{0, 0}, {1, 2}, {3, 4}}));
}

TEST(Collective, NobodyWaitsForARankThatHasEnded) {
  auto description = describe(CollectiveKind::allReduce, 1, 1, 2, {{0}, {1}},
                              Combination::sum);
  ThreadRanks all(2);
  onRanks(2, all, [&](int64_t rank, Communicator &communicator) {
    float operand = 1, result = 0, work[2];
    void *arguments[] = {&operand, &result, work};
    EXPECT_TRUE(runCollective(description, arguments, communicator));
    if (rank == 1)
      return all.stop();
    EXPECT_FALSE(runCollective(description, arguments, communicator));
  });
}

TEST(CollectiveQueue, RunsInOrderBesideItsOwner) {
  constexpr int count = 50;
  ThreadRanks all(2);
  onRanks(2, all, [&](int64_t rank, Communicator &communicator) {
    auto description = describe(CollectiveKind::allReduce, 1, 1, 2, {{0}, {1}},
                                Combination::sum);
    // Each sums what the one before has made.
    std::vector<float> values(count + 1, float(rank + 1));
    std::vector<std::array<float, 2>> work(count);
    std::vector<std::array<void *, 3>> arguments;
    for (int i = 0; i < count; ++i)
      arguments.push_back(
          {&values[size_t(i)], &values[size_t(i) + 1], work[size_t(i)].data()});
    CollectiveQueue queue(communicator, Subnormals::flush, 4);
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(queue.await(3));
      queue.start(
          {&description, arguments[size_t(i)].data(), "a sum", size_t(i)});
    }
    EXPECT_TRUE(queue.await(0));
    EXPECT_EQ(values[1], 3);
    EXPECT_EQ(values[count], 3 * std::exp2(float(count - 1)));
    EXPECT_FALSE(queue.failed());
  });
}

TEST(CollectiveQueue, EndsWithARankThatDoesNotCome) {
  ThreadRanks all(2);
  onRanks(2, all, [&](int64_t rank, Communicator &communicator) {
    auto description = describe(CollectiveKind::allReduce, 1, 1, 2, {{0}, {1}},
                                Combination::sum);
    float operand = 1, result = 0, work[2];
    void *arguments[] = {&operand, &result, work};
    if (rank == 1)
      return all.stop();
    CollectiveQueue queue(communicator, Subnormals::flush, 2);
    queue.start({&description, arguments, "a sum", 7});
    queue.start({&description, arguments, "another", 9});
    EXPECT_FALSE(queue.await(0));
    EXPECT_EQ(queue.failed(), size_t(7)); // what is behind it is dropped
    queue.restart(nullptr);
    EXPECT_TRUE(queue.await(0));
  });
}

TEST(Collective, UnequalMessagesAreRefused) {
  ThreadRanks all(2);
  onRanks(2, all, [&](int64_t rank, Communicator &communicator) {
    auto description = describe(CollectiveKind::allReduce, 1, 2 + 2 * rank, 2,
                                {{0}, {1}}, Combination::sum);
    float operand[4] = {}, result[4], work[4];
    void *arguments[] = {operand, result, work};
    EXPECT_FALSE(runCollective(description, arguments, communicator));
  });
}

TEST(Collective, WhatNoRankCarriesOut) {
  auto valid =
      describe(CollectiveKind::allReduce, 1, 3, 2, pairs, Combination::sum);
  EXPECT_EQ(whyInvalid(valid, 4), "");
  EXPECT_NE(whyInvalid(valid, 3), "");
  EXPECT_NE(whyInvalid(valid, 5), "");
  auto wrong = [&](auto change) {
    CollectiveDescription description = valid;
    change(description);
    EXPECT_NE(whyInvalid(description, 4), "");
  };
  wrong([](auto &d) { d.combination = Combination::none; });
  wrong([](auto &d) { d.type = ElementType::c64; });
  wrong([](auto &d) { d.piece = INT64_MAX; });
  wrong([](auto &d) { d.groupSize = 0; });
  wrong([](auto &d) { d.groupSize = 3; });
  wrong([](auto &d) { d.groups[1].rank = 0; });
  wrong([](auto &d) { d.groups[1].rank = -1; });
}
