//===- Communicator.cpp - How ranks of a step send each other bytes -------===//
//
// See Communicator.h.
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include <cstring>

using namespace tenon;
using namespace tenon::runtime;

Communicator::~Communicator() = default;
bool Communicator::isForAnyThread() const { return true; }
void Communicator::await(std::string_view) {}
bool Communicator::prepareReduction(const libraries::CollectiveDescription &) {
  return true;
}
bool Communicator::reduces(const libraries::CollectiveDescription &) const {
  return false;
}
bool Communicator::reduce(const libraries::CollectiveDescription &,
                          const std::byte *, std::byte *) {
  return false;
}
void Communicator::whenLost(std::function<bool(const std::string &)>) {}
std::string Communicator::whyEnded() const {
  return "another rank did not come to it";
}

ThreadRanks::ThreadRanks(int64_t ranks) : messages(size_t(ranks * ranks)) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    members.emplace_back(*this, rank);
}

bool ThreadRanks::meet() {
  std::unique_lock lock(access);
  if (isStopped)
    return false;
  if (++arrived == members.size()) {
    arrived = 0;
    ++meeting;
    changed.notify_all();
    return true;
  }
  const uint64_t mine = meeting;
  changed.wait(lock, [&] { return meeting != mine || isStopped; });
  return meeting != mine;
}

void ThreadRanks::stop() {
  std::lock_guard lock(access);
  isStopped = true;
  changed.notify_all();
}

void ThreadRanks::restart() {
  std::lock_guard lock(access);
  isStopped = false;
  arrived = 0;
}

bool ThreadRanks::Member::exchange(std::span<const OutgoingMessage> outgoing,
                                   std::span<const IncomingMessage> incoming) {
  for (const OutgoingMessage &sent : outgoing)
    all.message(number, sent.to) = sent.bytes;
  if (!all.meet())
    return false;
  bool isExpected = true;
  for (const IncomingMessage &received : incoming) {
    std::span<const std::byte> sent = all.message(received.from, number);
    isExpected &= sent.size() == received.bytes.size();
    // What a rank sends itself may be in its place, where others read it now.
    if (isExpected && !sent.empty() && sent.data() != received.bytes.data())
      std::memmove(received.bytes.data(), sent.data(), sent.size());
  }
  if (!isExpected)
    all.stop();
  return all.meet() && isExpected;
}
