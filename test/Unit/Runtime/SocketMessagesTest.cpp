//===- SocketMessagesTest.cpp - Messages of ranks that no MPI carries -----===//

#include "../../../lib/Runtime/ProcessRanks.h"
#include "../../../lib/Runtime/Sockets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace tenon::runtime;

namespace {

/// A port that is free with those behind it, as far as one can know.
Meeting meetingOf(int64_t rank, int64_t ranks) {
  static const uint16_t port = [] {
    const int listener = listenAt(0);
    const uint16_t found = portOf(listener);
    close(listener);
    return found < 65000 ? found : uint16_t(30000);
  }();
  Meeting meeting;
  meeting.rank = rank;
  meeting.ranks = ranks;
  meeting.address = "localhost";
  meeting.port = port;
  meeting.run = "test";
  meeting.seconds = 20;
  meeting.patience = 0.5;
  return meeting;
}

/// Calls `run(ranks)` as each of so many ranks, on threads.
template <typename Run>
void asRanks(int64_t ranks, Run run) {
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([rank, ranks, run] {
      std::string error;
      auto member = ProcessRanks::meet(meetingOf(rank, ranks), error);
      ASSERT_TRUE(member) << error;
      run(*member);
      member->leave();
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// What `from` sends `to`: a pattern of 256 bytes, over and over.
std::vector<std::byte> messageOf(int64_t from, int64_t to, size_t count) {
  std::vector<std::byte> bytes(count);
  constexpr size_t period = 256;
  for (size_t i = 0; i < std::min(count, period); ++i)
    bytes[i] = std::byte(i * 7 + size_t(from) * 31 + size_t(to));
  for (size_t done = period; done < count; done *= 2)
    std::memcpy(&bytes[done], bytes.data(), std::min(done, count - done));
  return bytes;
}

} // namespace

TEST(SocketMessages, EachToEach) {
  asRanks(4, [](ProcessRanks &ranks) {
    const int64_t own = ranks.rank();
    EXPECT_EQ(ranks.ranks(), 4);
    EXPECT_EQ(ranks.ranksHere(), 4);
    EXPECT_EQ(ranks.rankHere(), own);
    uint64_t expected = 0;
    // More than the system holds for a connection, in both directions at once.
    for (size_t count : {size_t(0), size_t(1), size_t(100'003),
                         size_t(20'000'000), size_t(7)}) {
      std::vector<std::vector<std::byte>> sent, received;
      std::vector<OutgoingMessage> outgoing;
      std::vector<IncomingMessage> incoming;
      for (int64_t other = 0; other < 4; ++other) {
        sent.push_back(messageOf(own, other, count));
        received.emplace_back(count);
      }
      for (int64_t other = 0; other < 4; ++other) {
        outgoing.push_back({other, sent[size_t(other)]});
        incoming.push_back({other, received[size_t(other)]});
      }
      ASSERT_TRUE(ranks.exchange(outgoing, incoming)) << ranks.whyEnded();
      expected += 3 * count;
      for (int64_t other = 0; other < 4; ++other) {
        const auto expected = messageOf(other, own, count);
        EXPECT_TRUE(count == 0 || std::memcmp(received[size_t(other)].data(),
                                              expected.data(), count) == 0)
            << count << " bytes of rank " << other;
      }
    }
    EXPECT_EQ(ranks.receivedBytes(), expected);
  });
}

TEST(SocketMessages, AnotherSize) {
  asRanks(2, [](ProcessRanks &ranks) {
    std::vector<std::byte> bytes(10), more(30);
    const OutgoingMessage outgoing{1, more};
    const IncomingMessage incoming{0, bytes};
    if (ranks.rank() == 0) {
      EXPECT_TRUE(ranks.exchange({&outgoing, 1}, {}));
    } else {
      EXPECT_FALSE(ranks.exchange({}, {&incoming, 1}));
      EXPECT_EQ(ranks.whyEnded(), "rank 0 sent 30 bytes, expected 10");
    }
  });
}

TEST(SocketMessages, ARankHasLeft) {
  asRanks(2, [](ProcessRanks &ranks) {
    std::vector<std::byte> bytes(10);
    const IncomingMessage incoming{0, bytes};
    if (ranks.rank() == 0)
      return;
    EXPECT_FALSE(ranks.exchange({}, {&incoming, 1}));
    EXPECT_EQ(ranks.whyEnded(), "rank 0 has closed its connection");
  });
}

TEST(SocketMessages, Strangers) {
  // One takes the first port and says nothing to whoever comes.
  const int stranger = listenAt(meetingOf(0, 2).port);
  ASSERT_GE(stranger, 0);
  // Another comes to rank 0, and says what no rank says.
  std::thread other([] {
    const auto until = SocketClock::now() + std::chrono::seconds(10);
    int one = -1;
    while (one < 0 && SocketClock::now() < until)
      one = connectTo("localhost", uint16_t(meetingOf(0, 2).port + 1), until);
    std::vector<std::byte> nonsense(5000, std::byte(65));
    (void)sendWhole(one, nonsense, until);
    if (one >= 0)
      close(one);
  });
  asRanks(2, [](ProcessRanks &ranks) { EXPECT_EQ(ranks.ranks(), 2); });
  other.join();
  close(stranger);
}

TEST(SocketMessages, NobodyComes) {
  std::string error;
  Meeting meeting = meetingOf(0, 3);
  meeting.seconds = 0.3;
  EXPECT_FALSE(ProcessRanks::meet(meeting, error));
  EXPECT_NE(error.find("rank 1, 2 has not come to localhost:"),
            std::string::npos)
      << error;
  error.clear();
  meeting.rank = 2;
  EXPECT_FALSE(ProcessRanks::meet(meeting, error));
  EXPECT_NE(error.find("rank 2 does not reach rank 0 at localhost:"),
            std::string::npos)
      << error;
}
