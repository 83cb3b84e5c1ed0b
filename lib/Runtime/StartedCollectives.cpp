//===- StartedCollectives.cpp - What is under way during a capture --------===//
//
// See StartedCollectives.h.
//
//===----------------------------------------------------------------------===//

#include "StartedCollectives.h"

#include <algorithm>
#include <utility>

using namespace tenon;
using namespace tenon::runtime;

static bool isDamaged(std::string message, Error &error) {
  return refuse(error, Failure::file,
                "the file is damaged: " + std::move(message));
}

bool StartedCollectives::checkQueue(uint32_t queue, bool isForCollective,
                                    Error &error) {
  return queue == 0 || (queue == 1 && isForCollective) ||
         isDamaged("an instruction is for queue " + std::to_string(queue) +
                       ", there are 0, and 1 for collectives",
                   error);
}

bool StartedCollectives::check(CapturedStep::Pointers pointers,
                               Error &error) const {
  for (const Collective &other : underWay)
    if (step.touchTheSame(pointers, other.pointers))
      return isDamaged("an instruction touches bytes of a collective, " +
                           callees[other.callee].description +
                           ", that is not awaited yet",
                       error);
  return true;
}

void StartedCollectives::start(CapturedStep::Pointers pointers,
                               uint32_t callee) {
  underWay.push_back({pointers, callee});
  mostUnderWay = std::max(mostUnderWay, underWay.size());
}

void StartedCollectives::await(size_t pending) {
  if (underWay.size() > outerUnderWay + pending)
    underWay.erase(underWay.begin() + ptrdiff_t(outerUnderWay),
                   underWay.end() - ptrdiff_t(pending));
}

bool StartedCollectives::captureBlock(const Capture::Body &body, Error &error) {
  const size_t around = std::exchange(outerUnderWay, underWay.size());
  const bool isWhole = body(error);
  const bool areAwaited = underWay.size() == outerUnderWay;
  outerUnderWay = around;
  return isWhole &&
         (areAwaited ||
          isDamaged("a block ends before a collective that it has started",
                    error));
}

bool StartedCollectives::areDone(Error &error) const {
  return underWay.empty() ||
         isDamaged("the program ends before a collective that it has started",
                   error);
}
