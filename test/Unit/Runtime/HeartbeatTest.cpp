//===- HeartbeatTest.cpp - Ranks that die, stop or give up ----------------===//
//
// The ranks are objects of one process here; a rank that has stopped is one
// whose helper thread was never started.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/Heartbeat.h"

#include <gtest/gtest.h>

#include <functional>

using namespace tenon::runtime;

namespace {

using Ranks = std::vector<std::unique_ptr<Heartbeat>>;

/// Ranks that are connected; `started` of them, and rank 0, say that they live.
Ranks meet(int64_t count, double seconds, int64_t started) {
  Ranks ranks(static_cast<size_t>(count));
  Heartbeat::Invitation invitation;
  std::string error;
  ranks[0] = Heartbeat::invite(count, seconds, invitation, error);
  EXPECT_TRUE(ranks[0]) << error;
  // Each waits for rank 0's answer.
  std::vector<std::thread> threads;
  for (int64_t rank = 1; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      std::string why;
      ranks[size_t(rank)] = Heartbeat::accept(invitation, rank, seconds, why);
      EXPECT_TRUE(ranks[size_t(rank)]) << why;
      if (ranks[size_t(rank)] && rank <= started)
        EXPECT_TRUE(ranks[size_t(rank)]->start([] {}, why)) << why;
    });
  EXPECT_TRUE(ranks[0]->start([] {}, error)) << error;
  for (std::thread &thread : threads)
    thread.join();
  return ranks;
}

/// Whether something comes to be within ten seconds.
bool soon(const std::function<bool()> &isSo) {
  for (int i = 0; i < 1000 && !isSo(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return isSo();
}

void expectLoss(const Ranks &ranks, const std::string &what) {
  for (const auto &rank : ranks) {
    if (!rank)
      continue;
    EXPECT_TRUE(soon([&] { return rank->hasLoss(); }));
    EXPECT_EQ(rank->loss(), what);
  }
}

} // namespace

TEST(Heartbeat, ARankThatDies) {
  Ranks ranks = meet(4, 60, 3);
  ranks[2].reset();
  expectLoss(ranks, "rank 2 has died");
}

TEST(Heartbeat, TheFirstDies) {
  Ranks ranks = meet(3, 60, 2);
  ranks[0].reset();
  expectLoss(ranks, "rank 0 has died");
}

TEST(Heartbeat, ARankThatSaysNothing) {
  Ranks ranks = meet(4, 1, 2);
  auto silent = std::move(ranks[3]);
  expectLoss(ranks,
             "rank 3 has stopped: its process said nothing for 1 seconds");
}

TEST(Heartbeat, ARankThatGivesUp) {
  Ranks ranks = meet(4, 60, 3);
  ranks[1]->leave(/*givesUp=*/true);
  ranks[1].reset();
  expectLoss(ranks, "rank 1 has ended with an error of its own");
  // Those that end because of it do not take its place.
  ranks[3]->leave(/*givesUp=*/true);
  ranks[3].reset();
  expectLoss(ranks, "rank 1 has ended with an error of its own");
}

TEST(Heartbeat, RanksThatLeaveAreNotLost) {
  Ranks ranks = meet(3, 1, 2);
  EXPECT_FALSE(ranks[0]->isAskedToEnd());
  ranks[2]->askToEnd();
  EXPECT_TRUE(soon([&] { return ranks[0]->isAskedToEnd(); }));
  ranks[1]->leave(/*givesUp=*/false);
  ranks[1].reset();
  // Longer than silence would be allowed to last.
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  EXPECT_FALSE(ranks[0]->hasLoss());
  EXPECT_FALSE(ranks[2]->hasLoss());
  ranks[0]->leave(/*givesUp=*/false);
  ranks[0].reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  EXPECT_FALSE(ranks[2]->hasLoss());
}
