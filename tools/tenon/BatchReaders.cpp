//===- BatchReaders.cpp - Threads that read batches ahead -----------------===//
//
// See BatchReaders.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/BatchReaders.h"

#include "tenon/Format/Parts.h"
#include "tenon/Runtime/Processes.h"

#include <chrono>
#include <new>
#include <system_error>
#include <utility>

using namespace tenon;
using namespace tenon::tool;

static constexpr uint64_t slotAlignment = 64;

std::unique_ptr<BatchReaders> BatchReaders::start(const Batches &batches,
                                                  runtime::Executor &executor,
                                                  int64_t first,
                                                  int64_t threads, bool inPlace,
                                                  std::string &error) {
  std::unique_ptr<BatchReaders> readers(
      new BatchReaders(batches, executor, inPlace));
  readers->toRead = readers->used = readers->next = first;
  uint64_t total = slotAlignment;
  auto rounded = [](uint64_t bytes) {
    return (bytes + slotAlignment - 1) / slotAlignment * slotAlignment;
  };
  for (size_t tensor : batches.given()) {
    const format::Tensor &whole = executor.index().tensors[tensor];
    readers->bytes.push_back(
        format::bytesOf(executor.processes() ? format::partOf(whole) : whole));
    total += rounded(readers->bytes.back());
  }
  // One that a step uses, one that waits for the next, and one per reader.
  try {
    for (int64_t i = 0; i < threads + 2; ++i) {
      Slot &slot = readers->slots.emplace_back();
      slot.memory.resize(total);
      uintptr_t start = reinterpret_cast<uintptr_t>(slot.memory.data());
      std::byte *next = slot.memory.data() + (rounded(start) - start);
      for (uint64_t bytes : readers->bytes) {
        slot.fields.push_back(next);
        next += rounded(bytes);
      }
    }
    for (int64_t i = 0; i < threads; ++i)
      readers->threads.emplace_back(
          [&readers = *readers, i] { readers.readOn(size_t(i)); });
  } catch (const std::bad_alloc &) {
    return refuse(error, "not enough memory to read ahead: " +
                             std::to_string(threads + 2) + " batches take " +
                             std::to_string(total * uint64_t(threads + 2)) +
                             " bytes; give fewer --readers");
  } catch (const std::system_error &failure) {
    return refuse(error, std::string("cannot start threads that read: ") +
                             failure.what());
  }
  return readers;
}

BatchReaders::~BatchReaders() {
  {
    std::lock_guard lock(access);
    isOver = true;
  }
  isFree.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  runtime::Error ignored;
  if (inPlace)
    for (size_t tensor : batches.given())
      (void)executor.bind(tensor, nullptr, ignored);
}

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void BatchReaders::note(bool isWanted) {
  std::lock_guard lock(access);
  isNoted = isWanted;
}

std::vector<BatchReaders::Read> BatchReaders::takeNotes() {
  std::lock_guard lock(access);
  return std::exchange(notes, {});
}

void BatchReaders::readOn(size_t reader) {
  std::unique_lock lock(access);
  while (true) {
    isFree.wait(
        lock, [&] { return isOver || toRead - used < int64_t(slots.size()); });
    if (isOver)
      return;
    int64_t batch = toRead++;
    Slot &slot = slots[size_t(batch) % slots.size()];
    lock.unlock();
    const int64_t begin = now();
    std::string error;
    try {
      for (size_t i = 0; i < bytes.size() && error.empty(); ++i)
        if (!read(i, batch, {slot.fields[i], bytes[i]}, error) && error.empty())
          error = "a batch cannot be read";
    } catch (const std::bad_alloc &) {
      error = "not enough memory to read a batch";
    }
    slot.error = error;
    lock.lock();
    if (isNoted)
      notes.push_back({reader, batch, begin, now()});
    slot.batch.store(batch, std::memory_order_release);
    isFilled.notify_one();
  }
}

bool BatchReaders::read(size_t field, int64_t batch, std::span<std::byte> into,
                        std::string &error) const {
  const runtime::Processes *processes = executor.processes();
  if (!processes)
    return batches.read(field, batch, 0, into, error);
  return format::readPart(
      executor.index().tensors[batches.given()[field]], processes->rank(),
      [&](uint64_t from, std::span<std::byte> piece) {
        return batches.read(field, batch, from, piece, error);
      },
      into);
}

bool BatchReaders::write(size_t field, std::span<std::byte> from,
                         runtime::Error &error) const {
  const size_t tensor = batches.given()[field];
  return executor.processes() ? executor.writePart(tensor, from, error)
                              : executor.write(tensor, from, error);
}

bool BatchReaders::load(std::string &error) {
  auto begin = std::chrono::steady_clock::now();
  Slot &slot = slots[size_t(next) % slots.size()];
  // Without the lock, which a reader that lost its processor may hold.
  auto isThere = [&] {
    return slot.batch.load(std::memory_order_acquire) == next;
  };
  if (!isThere()) {
    std::unique_lock lock(access);
    isFilled.wait(lock, isThere);
  }
  error = slot.error;
  runtime::Error why;
  const std::vector<size_t> &given = batches.given();
  for (size_t i = 0; i < given.size() && error.empty(); ++i)
    if (!(inPlace && executor.bind(given[i], slot.fields[i], why)) &&
        !write(i, {slot.fields[i], bytes[i]}, why))
      error = why.message;
  waited +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  // The program no longer uses the batch before this one.
  {
    std::lock_guard lock(access);
    used = next++;
  }
  isFree.notify_one();
  return error.empty();
}
