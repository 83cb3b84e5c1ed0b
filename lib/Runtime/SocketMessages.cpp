//===- SocketMessages.cpp - Messages of ranks that no MPI carries ---------===//
//
// See SocketMessages.h. To meet, each rank listens at a port of its own and
// introduces itself to rank 0, which sends all of them all introductions. Then
// each rank connects to those in front of it. A message is its size and its
// bytes; between two ranks there is at most one in each direction at a time.
//
//===----------------------------------------------------------------------===//

#include "SocketMessages.h"

#include "Sockets.h"

#include "tenon/Format/Hash.h"
#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace tenon;
using namespace tenon::runtime;
using namespace std::chrono_literals;

namespace {

/// Rank 0 takes the first of so many ports that is free: the launcher may use
/// the one that it names for itself.
constexpr uint16_t portsToTry = 16;

/// Seconds as the clock counts.
SocketClock::duration durationOf(double seconds) {
  return std::chrono::duration_cast<SocketClock::duration>(
      std::chrono::duration<double>(seconds));
}

struct Introduction {
  char magic[8] = {'t', 'e', 'n', 'o', 'n', ' ', '0', '1'};
  format::Hash run;     // which one
  int64_t rank = 0, ranks = 0;
  char machine[128] = {}; // the same for ranks that share memory
  char addresses[1024] = {};
  uint16_t port = 0;
  char zero[6] = {};

  bool fits(const Introduction &other) const {
    return std::memcmp(magic, other.magic, sizeof(magic)) == 0 &&
           run == other.run && ranks == other.ranks && rank >= 0 &&
           rank < ranks;
  }
};

std::span<std::byte> bytesOf(Introduction &one) {
  return std::as_writable_bytes(std::span(&one, 1));
}

template <size_t Size>
void copyText(char (&into)[Size], const std::string &text) {
  std::memcpy(into, text.data(), std::min(text.size(), Size - 1));
}

/// The name of a machine alone may be that of a container, too.
std::string machineText() {
  char name[64] = "";
  gethostname(name, sizeof(name) - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return std::string(name) + " " + boot;
}

/// What is on its way to another rank, or from it.
struct Transfer {
  uint64_t size = 0;
  char *bytes = nullptr;
  uint64_t done = 0; // of the size's own bytes and these
  bool isUnderWay = false;

  void begin(const RankMessage &message) {
    *this = {message.size, static_cast<char *>(message.bytes), 0, true};
  }
  /// Moves what can be moved now by `move(bytes, count)`, which returns what
  /// send() and recv() return; false if that has failed.
  template <typename Move>
  bool advance(uint64_t &header, Move move) {
    constexpr uint64_t front = sizeof(header);
    while (isUnderWay) {
      char *at = done < front ? reinterpret_cast<char *>(&header) + done
                              : bytes + (done - front);
      const ssize_t moved =
          move(at, done < front ? front - done : size + front - done);
      if (moved < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
      if (moved <= 0)
        return false;
      done += uint64_t(moved);
      if (done == front && header != size)
        return false;
      isUnderWay = done < size + front;
    }
    return true;
  }
};

struct Link {
  int socket = -1;
  Transfer out, in;
  uint64_t outSize = 0, inSize = 0; // as they are sent
  std::optional<SocketClock::time_point> closed;
};

std::string reason;

} // namespace

struct tenon::runtime::MessageGroup {
  int64_t rank = 0, ranks = 1, ranksHere = 1, rankHere = 0;
  /// So long the heartbeat has to say that a rank, which closed its connection,
  /// has died.
  SocketClock::duration longestSilence{};
  std::vector<Link> links; // by rank

  ~MessageGroup() {
    for (const Link &link : links)
      if (link.socket >= 0)
        close(link.socket);
  }
};

namespace {

/// How the ranks of one run come together.
class Gathering {
public:
  Gathering(const Meeting &meeting, MessageGroup &group, std::string &error)
      : meeting(meeting), group(group), error(error),
        until(SocketClock::now() + durationOf(meeting.seconds)),
        longestAnswer(durationOf(meeting.patience)) {
    group.longestSilence = longestAnswer;
  }
  ~Gathering() {
    for (int listener : {first, own})
      if (listener >= 0)
        close(listener);
  }

  bool meet() {
    mine.run = format::hashOf(std::as_bytes(std::span(meeting.run)));
    mine.rank = meeting.rank;
    mine.ranks = meeting.ranks;
    copyText(mine.machine, machineText());
    own = listenAt(0);
    if (own < 0)
      return refuse(error, std::string("ranks cannot open a socket: ") +
                               std::strerror(errno));
    mine.port = portOf(own);
    std::string addresses;
    for (const std::string &each : ownAddresses())
      addresses += each + " ";
    copyText(mine.addresses, addresses);
    all.resize(size_t(meeting.ranks));
    all[size_t(meeting.rank)] = mine;
    if (!(meeting.rank == 0 ? gather() : introduce()))
      return false;
    countMachine();
    return connectEachToEach();
  }

private:
  std::string where() const {
    return meeting.address + ":" + std::to_string(meeting.port) + " to " +
           std::to_string(meeting.port + portsToTry - 1);
  }

  /// Rank 0 waits for all others, and sends them what it knows of all.
  bool gather() {
    for (uint16_t port = 0; port < portsToTry && first < 0; ++port)
      first = listenAt(uint16_t(meeting.port + port));
    if (first < 0)
      return refuse(error, "rank 0 cannot listen at " + where() + ": " +
                               std::strerror(errno));
    int64_t missing = meeting.ranks - 1;
    while (missing > 0) {
      const int one = acceptFrom(first, until);
      if (one < 0) {
        std::string names;
        for (int64_t rank = 1; rank < meeting.ranks; ++rank)
          if (group.links[size_t(rank)].socket < 0)
            names += (names.empty() ? "" : ", ") + std::to_string(rank);
        return refuse(error, "rank " + names + " has not come to " +
                                 meeting.address + ":" +
                                 std::to_string(portOf(first)));
      }
      Introduction other;
      // A stranger is sent away.
      if (!receiveWhole(one, bytesOf(other),
                        SocketClock::now() + longestAnswer) ||
          !other.fits(mine) || other.rank == 0 ||
          !sendWhole(one, bytesOf(mine), SocketClock::now() + longestAnswer)) {
        close(one);
        continue;
      }
      all[size_t(other.rank)] = other;
      // One that did not have its answer in time comes again.
      int &socket = group.links[size_t(other.rank)].socket;
      missing -= socket < 0;
      if (socket >= 0)
        close(socket);
      socket = one;
    }
    for (size_t rank = 1; rank < all.size(); ++rank)
      if (!sendWhole(group.links[rank].socket,
                     std::as_writable_bytes(std::span(all)), until))
        return refuse(error, "rank " + std::to_string(rank) +
                                 " has left while the ranks met");
    return true;
  }

  /// Another rank tries the ports of rank 0 until it answers.
  bool introduce() {
    while (SocketClock::now() < until) {
      for (uint16_t port = 0; port < portsToTry; ++port) {
        const int one =
            connectTo(meeting.address, uint16_t(meeting.port + port),
                      std::min(until, SocketClock::now() + longestAnswer));
        if (one < 0)
          continue;
        Introduction answer;
        if (sendWhole(one, bytesOf(mine), until) &&
            receiveWhole(one, bytesOf(answer),
                         SocketClock::now() + longestAnswer) &&
            answer.fits(mine) && answer.rank == 0 &&
            receiveWhole(one, std::as_writable_bytes(std::span(all)), until)) {
          group.links[0].socket = one;
          return true;
        }
        close(one);
      }
      std::this_thread::sleep_for(50ms);
    }
    return refuse(error, "rank " + std::to_string(meeting.rank) +
                             " does not reach rank 0 at " + where());
  }

  void countMachine() {
    group.ranksHere = 0;
    for (size_t rank = 0; rank < all.size(); ++rank) {
      if (std::strncmp(all[rank].machine, mine.machine,
                       sizeof(mine.machine)) != 0)
        continue;
      group.ranksHere += 1;
      if (int64_t(rank) < meeting.rank)
        group.rankHere += 1;
    }
    if (meeting.rankHere)
      group.rankHere = *meeting.rankHere;
  }

  /// To those in front, but rank 0, to which there is a connection; from those
  /// behind.
  bool connectEachToEach() {
    for (size_t rank = 1; rank < size_t(meeting.rank); ++rank) {
      int &socket = group.links[rank].socket;
      std::istringstream addresses(all[rank].addresses);
      for (std::string address; socket < 0 && addresses >> address;) {
        const int one =
            connectTo(address, all[rank].port, SocketClock::now() + 5s);
        Introduction answer;
        if (one >= 0 && sendWhole(one, bytesOf(mine), until) &&
            receiveWhole(one, bytesOf(answer), until) && answer.fits(mine) &&
            answer.rank == int64_t(rank))
          socket = one;
        else if (one >= 0)
          close(one);
      }
      if (socket < 0)
        return refuse(error, "rank " + std::to_string(meeting.rank) +
                                 " does not reach rank " +
                                 std::to_string(rank) + " at port " +
                                 std::to_string(all[rank].port) + " of " +
                                 all[rank].addresses);
    }
    for (int64_t behind = meeting.ranks - 1 - meeting.rank;
         meeting.rank > 0 && behind > 0;) {
      const int one = acceptFrom(own, until);
      Introduction other;
      if (one < 0)
        return refuse(error, "a rank behind rank " +
                                 std::to_string(meeting.rank) +
                                 " has not connected to it");
      if (!receiveWhole(one, bytesOf(other),
                        SocketClock::now() + longestAnswer) ||
          !other.fits(mine) || other.rank <= meeting.rank ||
          group.links[size_t(other.rank)].socket >= 0 ||
          !sendWhole(one, bytesOf(mine), until)) {
        close(one);
        continue;
      }
      group.links[size_t(other.rank)].socket = one;
      --behind;
    }
    return true;
  }

  const Meeting &meeting;
  MessageGroup &group;
  std::string &error;
  const SocketClock::time_point until;
  /// Someone else's program that listens there may not answer.
  const SocketClock::duration longestAnswer;
  Introduction mine;
  std::vector<Introduction> all;
  int first = -1, own = -1; // where others come
};

int64_t rankOf(const MessageGroup *group) { return group->rank; }
int64_t ranksOf(const MessageGroup *group) { return group->ranks; }
int64_t ranksHereOf(const MessageGroup *group) { return group->ranksHere; }
int64_t rankHereOf(const MessageGroup *group) { return group->rankHere; }
bool isForAnyThread(const MessageGroup *) { return true; }

bool begin(MessageGroup *group, const RankMessage *outgoing,
           size_t outgoingCount, const RankMessage *incoming,
           size_t incomingCount, uint64_t /*most*/) {
  for (size_t i = 0; i < outgoingCount; ++i) {
    Link &link = group->links[size_t(outgoing[i].rank)];
    link.out.begin(outgoing[i]);
    link.outSize = outgoing[i].size;
  }
  for (size_t i = 0; i < incomingCount; ++i)
    group->links[size_t(incoming[i].rank)].in.begin(incoming[i]);
  return true;
}

int test(MessageGroup *group) {
  bool isDone = true;
  for (size_t rank = 0; rank < group->links.size(); ++rank) {
    Link &link = group->links[rank];
    const bool isWhole =
        link.closed ||
        (link.out.advance(link.outSize,
                          [&](const char *from, size_t count) {
                            return send(link.socket, from, count,
                                        MSG_DONTWAIT | MSG_NOSIGNAL);
                          }) &&
         link.in.advance(link.inSize, [&](char *to, size_t count) {
           return recv(link.socket, to, count, MSG_DONTWAIT);
         }));
    const bool isOther = link.in.isUnderWay &&
                         link.in.done == sizeof(link.inSize) &&
                         link.inSize != link.in.size;
    if (isOther) {
      reason = "rank " + std::to_string(rank) + " sent " +
               std::to_string(link.inSize) + " bytes, expected " +
               std::to_string(link.in.size);
      return -1;
    }
    if (!isWhole)
      link.closed = SocketClock::now();
    isDone &= !link.out.isUnderWay && !link.in.isUnderWay;
    if (link.closed && (link.out.isUnderWay || link.in.isUnderWay) &&
        SocketClock::now() - *link.closed > group->longestSilence) {
      reason = "rank " + std::to_string(rank) + " has closed its connection";
      return -1;
    }
  }
  return isDone;
}

void leave(MessageGroup *group) { delete group; }
const char *whyNot() { return reason.c_str(); }

} // namespace

const MessageTable tenon::runtime::socketMessages = {
    messageTableVersion, nullptr, rankOf, ranksOf, ranksHereOf, rankHereOf,
    isForAnyThread, begin, /*divide=*/nullptr, /*beginReduction=*/nullptr,
    test, leave, whyNot};

MessageGroup *tenon::runtime::meetBySockets(const Meeting &meeting,
                                            std::string &error) {
  auto group = std::make_unique<MessageGroup>();
  group->rank = meeting.rank;
  group->ranks = meeting.ranks;
  group->links.resize(size_t(meeting.ranks));
  return Gathering(meeting, *group, error).meet() ? group.release() : nullptr;
}
