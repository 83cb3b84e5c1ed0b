//===- BatchReaders.h - Threads that read batches ahead -------------------===//
//
// Readers fill slots with the batches that come next while a step runs. A batch
// is used where a reader put it if the program can, and copied otherwise. Of
// several processes each reads what its rank has of a batch. Slots are filled
// in any order and used in that of the batches, so what a run
// computes does not depend on the readers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_BATCHREADERS_H
#define TENON_TOOLS_TENON_BATCHREADERS_H

#include "tools/tenon/Batches.h"

#include <atomic>
#include <condition_variable>
#include <thread>

namespace tenon::tool {

class BatchReaders {
public:
  /// Starts threads that read from batch `first` on. `inPlace` lets the program
  /// use the slots themselves. Null with a message in `error` if the system
  /// gives no thread or no memory.
  static std::unique_ptr<BatchReaders> start(const Batches &batches,
                                             runtime::Executor &executor,
                                             int64_t first, int64_t threads,
                                             bool inPlace, std::string &error);
  /// The program goes back to memory of its own.
  ~BatchReaders();
  BatchReaders(const BatchReaders &) = delete;
  BatchReaders &operator=(const BatchReaders &) = delete;

  /// Gives the program the next batch and waits for it if it is not there yet.
  /// False with a message in `error` if it could not be read.
  bool load(std::string &error);

  /// Time spent in load().
  double waitedSeconds() const { return waited; }

  /// What a reader did; nanoseconds of the steady clock.
  struct Read {
    size_t reader = 0;
    int64_t batch = 0, begin = 0, end = 0;
  };
  /// Whether readers note what they do from now on.
  void note(bool isNoted);
  /// What was noted since the last call.
  std::vector<Read> takeNotes();

private:
  struct Slot {
    std::atomic<int64_t> batch = -1; // that is there, with its error
    std::string error;
    std::vector<std::byte *> fields; // at multiples of 64
    std::vector<std::byte> memory;
  };

  BatchReaders(const Batches &batches, runtime::Executor &executor,
               bool inPlace)
      : batches(batches), executor(executor), inPlace(inPlace) {}
  void readOn(size_t reader);
  bool read(size_t field, int64_t batch, std::span<std::byte> into,
            std::string &error) const;
  bool write(size_t field, std::span<std::byte> from,
             runtime::Error &error) const;

  const Batches &batches;
  runtime::Executor &executor;
  bool inPlace;
  std::vector<uint64_t> bytes; // of each field, or what the rank has of it
  std::deque<Slot> slots;
  std::vector<std::thread> threads;
  double waited = 0;

  int64_t next = 0;  // the batch that load() gives
  std::mutex access; // to all that follows
  std::condition_variable isFilled, isFree;
  int64_t toRead = 0; // the batch that the next free reader takes
  int64_t used = 0;   // the slots of the batches before it are free
  bool isOver = false, isNoted = false;
  std::vector<Read> notes;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_BATCHREADERS_H
