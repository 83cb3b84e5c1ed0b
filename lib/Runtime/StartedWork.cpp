//===- StartedWork.cpp - What is under way during a capture ---------------===//
//
// See StartedWork.h.
//
//===----------------------------------------------------------------------===//

#include "StartedWork.h"

#include <algorithm>
#include <utility>

using namespace tenon;
using namespace tenon::runtime;

static bool isDamaged(std::string message, Error &error) {
  return refuse(error, Failure::file,
                "the file is damaged: " + std::move(message));
}

bool StartedWork::checkQueue(uint32_t queue, Error &error) const {
  return queue <= collectives || (copiesBeside && queue <= fromHost) ||
         isDamaged("an instruction is for queue " + std::to_string(queue) +
                       ", there are 0, and 1 for collectives" +
                       (copiesBeside ? ", 2 and 3 for copies" : ""),
                   error);
}

bool StartedWork::checkQueue(uint32_t queue, format::CalleeKind kind,
                             Error &error) const {
  using format::CalleeKind;
  if (!checkQueue(queue, error))
    return false;
  return queue == main ||
         kind == (queue == collectives ? CalleeKind::collective
                                       : CalleeKind::copy) ||
         isDamaged("an instruction is for queue " + std::to_string(queue) +
                       ", which is for " +
                       (queue == collectives ? "collectives" : "copies"),
                   error);
}

std::string StartedWork::nameOf(const Work &work) const {
  const format::Callee &callee = callees[work.callee];
  return callee.kind == format::CalleeKind::collective
             ? "a collective, " + callee.description + ","
             : "a copy";
}

bool StartedWork::check(CapturedStep::Pointers pointers, Error &error) const {
  for (const UnderWay &queue : queues)
    for (const Work &other : queue.list)
      if (step.touchTheSame(pointers, other.pointers))
        return isDamaged("an instruction touches bytes of " + nameOf(other) +
                             " that is not awaited yet",
                         error);
  return true;
}

void StartedWork::start(uint32_t queue, CapturedStep::Pointers pointers,
                        uint32_t callee) {
  UnderWay &into = queues[queue];
  into.list.push_back({pointers, callee});
  into.most = std::max(into.most, into.list.size());
}

void StartedWork::await(uint32_t queue, size_t pending) {
  auto &[list, outer, most] = queues[queue];
  if (list.size() > outer + pending)
    list.erase(list.begin() + ptrdiff_t(outer),
               list.end() - ptrdiff_t(pending));
}

bool StartedWork::captureBlock(const Capture::Body &body, Error &error) {
  std::array<size_t, queueCount> around{};
  for (size_t i = 0; i < queueCount; ++i)
    around[i] = std::exchange(queues[i].outer, queues[i].list.size());
  if (!body(error))
    return false;
  for (size_t i = 0; i < queueCount; ++i) {
    UnderWay &queue = queues[i];
    if (queue.list.size() != queue.outer)
      return isDamaged("a block ends before " + nameOf(queue.list.back()) +
                           " that it has started",
                       error);
    queue.outer = around[i];
  }
  return true;
}

bool StartedWork::areDone(Error &error) const {
  for (const UnderWay &queue : queues)
    if (!queue.list.empty())
      return isDamaged("the program ends before " + nameOf(queue.list.back()) +
                           " that it has started",
                       error);
  return true;
}
