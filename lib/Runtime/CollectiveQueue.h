//===- CollectiveQueue.h - Collectives beside the walk of a step ----------===//
//
// Private to this folder. A thread of a rank that carries out collectives one
// after the other, in the order in which they are started, while the threads of
// the rank's team walk on. Nobody else uses the communicator meanwhile: whoever
// wants to meets the queue first, with await(0).
//
//   thread 0   start(a)  kernel  start(b)  kernel  await(1)  reads a's result
//   queue           a a a a a a a   b b b b b b b b b b
//
// After a collective has failed the queue drops those behind it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_COLLECTIVEQUEUE_H
#define TENON_LIB_RUNTIME_COLLECTIVEQUEUE_H

#include "Communicator.h"
#include "SpanLog.h"

#include "tenon/Libraries/Collective.h"
#include "tenon/Support/Subnormals.h"

#include <optional>
#include <thread>

namespace tenon::runtime {

class CollectiveQueue {
public:
  struct Entry {
    const libraries::CollectiveDescription *description = nullptr;
    void *const *arguments = nullptr;
    std::string_view what; // for messages
    size_t operation = 0;  // for whoever asks what has failed
  };

  /// Throws std::system_error if there is no thread for it. At most `most` are
  /// under way at once.
  CollectiveQueue(Communicator &communicator, Subnormals subnormals,
                  size_t most);
  /// Nothing is under way.
  ~CollectiveQueue();

  /// What an entry names stays until it is awaited.
  void start(const Entry &entry);
  /// Waits until at most `pending` of those started last are still to be done.
  /// False if one has failed, now or before.
  bool await(size_t pending);
  /// The operation of the one that failed.
  std::optional<size_t> failed() const { return failure; }

  /// Between runs, when nothing is under way: forgets a failure, and has the
  /// spans of what follows noted, unless the log is null.
  void restart(SpanLog *log);

private:
  void work();

  Communicator &communicator;
  const Subnormals subnormals;
  std::mutex access; // to all that follows
  std::condition_variable changed;
  std::vector<Entry> entries; // a ring: entry i is at i % its size
  size_t started = 0, done = 0;
  bool isOver = false;
  std::optional<size_t> failure;
  SpanLog *log = nullptr;
  std::thread thread;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_COLLECTIVEQUEUE_H
