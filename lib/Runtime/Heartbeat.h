//===- Heartbeat.h - Which rank has died, stopped or given up -------------===//
//
// Private to this folder. A rank that waits for a message cannot know why none
// comes: the other may be slow, stopped or dead. So a helper thread of each
// rank says that its process is alive, whatever its other threads do, over a
// connection to rank 0, which tells all ranks what it learns:
//
//   died      its connection was closed: the system does so when it is killed
//   stopped   nothing was heard for a number of seconds
//   gave up   it said itself that it ends with an error
//
// A rank that computes for hours is none of them. MPI is not used: its messages
// are what may never come.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_HEARTBEAT_H
#define TENON_LIB_RUNTIME_HEARTBEAT_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tenon::runtime {

class Heartbeat {
public:
  /// How the others find rank 0: what is in it is rank 0's own business.
  static constexpr size_t invitationBytes = 1024;
  using Invitation = std::array<char, invitationBytes>;

  /// Rank 0's end. `seconds` of silence mean that a rank has stopped. Null with
  /// a message in `error` if the system gives no socket.
  static std::unique_ptr<Heartbeat> invite(int64_t ranks, double seconds,
                                           Invitation &invitation,
                                           std::string &error);
  /// The end of another rank, which is connected at once; as invite().
  static std::unique_ptr<Heartbeat> accept(const Invitation &invitation,
                                           int64_t rank, double seconds,
                                           std::string &error);
  /// As if the process had died, unless leave() was called.
  ~Heartbeat();
  Heartbeat(const Heartbeat &) = delete;
  Heartbeat &operator=(const Heartbeat &) = delete;

  /// Starts the helper thread, of rank 0 once all others are there. `tick` is
  /// called by it ten times a second. False with a message in `error` if a rank
  /// does not come or the system gives no thread.
  bool start(std::function<void()> tick, std::string &error);

  /// Whether another rank is lost; costs next to nothing.
  bool hasLoss() const { return isLost.load(std::memory_order_acquire); }
  /// "rank 3 has died: ...", of the first that was lost; empty for none.
  std::string loss() const;

  /// Tells rank 0 that this process was asked to end.
  void askToEnd();
  /// Of rank 0: whether any rank was.
  bool isAskedToEnd() const { return isAsked; }

  /// Ends the helper thread, when all ranks are about to leave or, with
  /// `givesUp`, to tell them that this one ends with an error.
  void leave(bool givesUp);

private:
  using Clock = std::chrono::steady_clock;
  enum class Kind : uint8_t { hello, beat, died, stopped, gaveUp, left, asked };
  struct Message {
    Kind kind = Kind::beat;
    uint8_t zero[3] = {};
    int32_t rank = 0;
    uint64_t token = 0; // of the run, which a stranger does not know
  };
  /// A connection: of rank 0 one per other rank, of another that to rank 0.
  struct Link {
    int socket = -1;
    int64_t rank = 0; // at its other end
    Clock::time_point heard;
    bool hasLeft = false;
    std::vector<char> begun; // of a message
  };

  Heartbeat(int64_t rank, double seconds);
  bool listen(Invitation &invitation, std::string &error);
  bool connect(const Invitation &invitation, std::string &error);
  bool meetAll(std::string &error);
  void watch();
  void hear(Link &link);
  void take(Link &link, const Message &message);
  void lose(Kind how, int64_t rank);
  void send(const Link &link, Kind kind, int64_t about) const;
  void sendToAll(Kind kind, int64_t about) const;
  bool receive(int socket, Message &message, Clock::time_point until) const;

  const int64_t rank;
  const Clock::duration silence;
  uint64_t token = 0;
  int listener = -1;
  int wake[2] = {-1, -1}; // a pipe: a byte in it ends the helper thread
  std::vector<Link> links;
  std::function<void()> tick;
  std::thread helper;
  std::atomic<bool> isLost = false, isAsked = false;
  mutable std::mutex access; // to what follows
  Kind how = Kind::beat;     // of the first loss
  int64_t lost = -1;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_HEARTBEAT_H
