//===- CollectiveQueue.cpp - Collectives beside the walk of a step --------===//
//
// See CollectiveQueue.h.
//
//===----------------------------------------------------------------------===//

#include "CollectiveQueue.h"

#include "RunCollective.h"

#include "tenon/Support/FloatingPointMode.h"

using namespace tenon::runtime;

CollectiveQueue::CollectiveQueue(Communicator &communicator,
                                 Subnormals subnormals, size_t most)
    : communicator(communicator), subnormals(subnormals), entries(most),
      thread([this] { work(); }) {}

CollectiveQueue::~CollectiveQueue() {
  {
    std::lock_guard lock(access);
    isOver = true;
  }
  changed.notify_all();
  thread.join();
}

void CollectiveQueue::start(const Entry &entry) {
  {
    std::lock_guard lock(access);
    entries[started++ % entries.size()] = entry;
  }
  changed.notify_all();
}

bool CollectiveQueue::await(size_t pending) {
  std::unique_lock lock(access);
  changed.wait(lock, [&] { return started - done <= pending; });
  return !failure;
}

void CollectiveQueue::restart(SpanLog *newLog) {
  std::lock_guard lock(access);
  failure.reset();
  log = newLog;
}

void CollectiveQueue::work() {
  FloatingPointMode mode(subnormals); // sums are those of the walk
  std::unique_lock lock(access);
  while (true) {
    changed.wait(lock, [&] { return started > done || isOver; });
    if (started == done)
      return;
    const Entry entry = entries[done % entries.size()];
    const bool isDropped = failure.has_value();
    SpanLog *const spans = log;
    lock.unlock();
    const int64_t begin = spans ? SpanLog::now() : 0;
    if (!isDropped)
      communicator.await(entry.what);
    const bool isWhole =
        isDropped ||
        runCollective(*entry.description, entry.arguments, communicator);
    if (spans)
      spans->add(entry.operation, /*isWait=*/false, begin);
    lock.lock();
    if (!isWhole)
      failure = entry.operation;
    ++done;
    changed.notify_all();
  }
}
