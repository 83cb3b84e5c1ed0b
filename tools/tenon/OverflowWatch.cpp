//===- OverflowWatch.cpp - The f16 tensors of a run that overflow ---------===//
//
// See OverflowWatch.h. Only the counters are read, which are few.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/OverflowWatch.h"

#include <cstdio>

using namespace tenon;
using namespace tenon::tool;

static bool readCounter(const runtime::Executor &executor, size_t tensor,
                        int64_t &value, runtime::Error &error) {
  return executor.read(tensor, std::as_writable_bytes(std::span(&value, 1)),
                       error);
}

bool OverflowWatch::open(const runtime::Executor &executor, int64_t step,
                         runtime::Error &error) {
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Counter counter{i, std::string(tensors[i].countsOverflowOf())};
    if (counter.name.empty())
      continue;
    if (!readCounter(executor, i, counter.before, error))
      return false;
    counter.now = counter.before;
    counter.lastClean = step;
    counters.push_back(std::move(counter));
  }
  return true;
}

bool OverflowWatch::look(const runtime::Executor &executor, int64_t step,
                         std::string &overflowed, runtime::Error &error) {
  overflowed.clear();
  for (Counter &counter : counters) {
    if (!readCounter(executor, counter.tensor, counter.now, error))
      return false;
    if (counter.firstSeen > 0)
      continue;
    if (counter.now == counter.before) {
      counter.lastClean = step;
      continue;
    }
    counter.firstSeen = step;
    if (overflowed.empty())
      overflowed = counter.name;
  }
  return true;
}

void OverflowWatch::print() const {
  for (const Counter &counter : counters)
    if (int64_t count = counter.now - counter.before; count != 0) {
      std::string first = std::to_string(counter.lastClean + 1),
                  seen = std::to_string(counter.firstSeen);
      std::printf(
          "overflow   %s element%s of '%s' %s infinite in f16, first "
          "in %s\n",
          std::to_string(count).c_str(), count == 1 ? "" : "s",
          counter.name.c_str(), count == 1 ? "was" : "were",
          (first == seen ? "step " + seen : "steps " + first + " to " + seen)
              .c_str());
    }
}
