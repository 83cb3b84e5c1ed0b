//===- ProcessRanks.h - A rank that is a process, among others ------------===//
//
// Private to this folder. Messages go through libtenon-mpi.so, which it opens,
// or through sockets (SocketMessages.h). While it waits it asks the heartbeat
// whether all others are there, so that no rank waits for ever.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_PROCESSRANKS_H
#define TENON_LIB_RUNTIME_PROCESSRANKS_H

#include "Communicator.h"
#include "Heartbeat.h"
#include "MessageTable.h"

#include "tenon/Runtime/Processes.h"

namespace tenon::runtime {

class ProcessRanks final : public Communicator {
public:
  /// Meets the other processes. `library` is the file, empty for that beside
  /// this program. Pieces of messages have at most `most` bytes. Null with a
  /// message in `error` if there is no library or no MPI.
  static std::unique_ptr<ProcessRanks> join(const std::string &library,
                                        std::string &error,
                                        uint64_t most = uint64_t(1) << 30);
  /// Meets processes that no MPI launcher has started. Null with a message in
  /// `error` if one does not come.
  static std::unique_ptr<ProcessRanks> meet(const Meeting &meeting,
                                            std::string &error);
  /// Does not end MPI, which waits for all ranks; leave() does.
  ~ProcessRanks() override;

  int64_t rank() const override { return number; }
  int64_t ranks() const { return count; }
  int64_t ranksHere() const { return countHere; }
  int64_t rankHere() const { return numberHere; }

  bool exchange(std::span<const OutgoingMessage> outgoing,
                std::span<const IncomingMessage> incoming) override;
  bool prepareReduction(
      const libraries::CollectiveDescription &description) override;
  bool reduces(
      const libraries::CollectiveDescription &description) const override;
  bool reduce(const libraries::CollectiveDescription &description,
              const std::byte *from, std::byte *to) override;
  bool isForAnyThread() const override { return table->isForAnyThread(group); }
  void await(std::string_view what) override;
  std::string whyEnded() const override { return why; }
  void whenLost(std::function<bool(const std::string &)> wake) override;

  /// What await() said last, and whether a message of it is awaited now. By any
  /// thread.
  std::string awaited() const;
  bool isAwaiting() const { return isWaiting; }

  /// From now on nobody waits for a rank that is lost.
  void watch(const Heartbeat *others) { heartbeat = others; }
  /// Wakes who waits elsewhere, as whenLost() says. False if that one sleeps
  /// on.
  bool wakeOthers(const std::string &loss);
  /// Bytes that other ranks have sent this one; of a reduction by MPI those of
  /// a ring.
  uint64_t receivedBytes() const { return received; }
  /// How often MPI has combined elements.
  uint64_t reductionsByMpi() const { return reduced; }

  /// All ranks call it at their end.
  void leave();

private:
  ProcessRanks(const MessageTable *table, MessageGroup *group, uint64_t most)
      : table(table), number(table->rank(group)), count(table->ranks(group)),
        countHere(table->ranksHere(group)), numberHere(table->rankHere(group)),
        group(group), most(most) {}

  /// A collective whose elements MPI combines.
  struct Reduction {
    libraries::CollectiveDescription description;
    int division = 0; // in the table
  };
  const Reduction *find(const libraries::CollectiveDescription &d) const;
  bool fail(std::string reason);
  /// Waits for what was begun.
  bool complete();

  const MessageTable *table;
  const int64_t number, count, countHere, numberHere;
  MessageGroup *group;
  uint64_t most, received = 0, reduced = 0;
  std::vector<Reduction> reductions;
  const Heartbeat *heartbeat = nullptr;
  std::string why;
  std::vector<RankMessage> sending, receiving;
  std::atomic<bool> isWaiting = false;
  mutable std::mutex access; // to what follows
  std::string operation;
  std::mutex waking; // to what follows
  std::function<bool(const std::string &)> wake;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_PROCESSRANKS_H
