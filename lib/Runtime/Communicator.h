//===- Communicator.h - How ranks of a step send each other bytes ---------===//
//
// Private to this folder. A step that is cut for several ranks is one program
// that each of them runs; all of them come to its collectives in the same
// order. Whatever carries the bytes (threads of one process here, MPI or
// sockets between processes in ProcessRanks.h) offers one operation, of which
// RunCollective.h makes every collective.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_COMMUNICATOR_H
#define TENON_LIB_RUNTIME_COMMUNICATOR_H

#include "tenon/Libraries/Collective.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::runtime {

struct OutgoingMessage {
  int64_t to = 0; // a rank; the sender itself, too
  std::span<const std::byte> bytes;
};
struct IncomingMessage {
  int64_t from = 0;
  std::span<std::byte> bytes;
};

class Communicator {
public:
  virtual ~Communicator();

  virtual int64_t rank() const = 0;
  /// Sends and receives, at most one message to and from each rank. All ranks
  /// call it together, and what one sends another receives with as many bytes.
  /// What is sent may be written again when the call returns. False if another
  /// rank has ended its step, or sends something else than is expected.
  virtual bool exchange(std::span<const OutgoingMessage> outgoing,
                        std::span<const IncomingMessage> incoming) = 0;
  /// Has MPI combine the elements of such collectives from now on, where it
  /// carries the bytes. All ranks call it with the same descriptions in the
  /// same order. False if that fails, as for exchange().
  virtual bool
  prepareReduction(const libraries::CollectiveDescription &description);
  /// Whether it does.
  virtual bool
  reduces(const libraries::CollectiveDescription &description) const;
  /// Combines elements in an order of MPI's own; the parts of an operand that
  /// are scattered lie one behind the other. As exchange().
  virtual bool reduce(const libraries::CollectiveDescription &description,
                      const std::byte *from, std::byte *to);
  /// Whether a thread may call it that is not the one of the step, as long as
  /// only one at a time does.
  virtual bool isForAnyThread() const;
  /// Names what the exchanges from now on are for, for messages.
  virtual void await(std::string_view what);
  /// Why an exchange was not completed.
  virtual std::string whyEnded() const;
  /// Has `wake` called with the reason, by another thread and at most once,
  /// when a rank is lost, for who waits elsewhere than in an exchange. It says
  /// whether that one is awake; otherwise the process has to end. Null for
  /// nobody, which waits for a call under way.
  virtual void whenLost(std::function<bool(const std::string &loss)> wake);
};

/// The ranks of one process, each on a thread of its own.
class ThreadRanks {
public:
  explicit ThreadRanks(int64_t ranks);

  Communicator &of(int64_t rank) { return members[size_t(rank)]; }

  /// Said by a rank that does not come to the next exchange: nobody waits for
  /// it.
  void stop();
  /// For the next run, when no rank is in one.
  void restart();

private:
  class Member final : public Communicator {
  public:
    Member(ThreadRanks &all, int64_t number) : all(all), number(number) {}
    int64_t rank() const override { return number; }
    bool exchange(std::span<const OutgoingMessage> outgoing,
                  std::span<const IncomingMessage> incoming) override;

  private:
    ThreadRanks &all;
    int64_t number;
  };

  /// Whether all ranks have come.
  bool meet();
  std::span<const std::byte> &message(int64_t from, int64_t to) {
    return messages[size_t(from) * members.size() + size_t(to)];
  }

  std::vector<Member> members;
  /// Whoever sends writes its row before all meet; whoever receives reads it
  /// then.
  std::vector<std::span<const std::byte>> messages;
  std::mutex access; // to all that follows
  std::condition_variable changed;
  size_t arrived = 0;
  uint64_t meeting = 0;
  bool isStopped = false;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_COMMUNICATOR_H
