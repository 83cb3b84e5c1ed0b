//===- BlockOrder.cpp - An order that is changed move by move -------------===//
//
// See BlockOrder.h.
//
//===----------------------------------------------------------------------===//

#include "BlockOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace tenon;
using namespace tenon::memory;

BlockOrder::BlockOrder(const solver::OrderingProblem &problem)
    : problem(problem), touched(problem.operations.size()),
      touchedBy(size_t(problem.valueCount())),
      isKept(size_t(problem.valueCount())), earlier(problem.operations.size()),
      after(problem.operations.size()), order(problem.operations.size()),
      places(problem.operations.size()), wanted(problem.operations.size()) {
  std::iota(order.begin(), order.end(), 0);
  std::iota(places.begin(), places.end(), 0);
  auto follow = [&](int32_t first, int32_t second) {
    after[size_t(first)].push_back(second);
    earlier[size_t(second)].push_back(first);
  };
  auto touch = [&](int32_t operation, int32_t value) {
    if (llvm::is_contained(touched[size_t(operation)], value))
      return;
    touched[size_t(operation)].push_back(value);
    touchedBy[size_t(value)].push_back(operation);
  };
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    touch(problem.producer(value), value);
  for (const auto &use : problem.uses) {
    follow(problem.producer(use.value), use.user);
    touch(use.user, use.value);
  }
  for (int32_t value : problem.kept)
    isKept[size_t(value)] = true;
  for (const auto &control : problem.controls)
    follow(control.before, control.after);
}

size_t BlockOrder::dueOf(int32_t operation) const {
  size_t due = order.size();
  for (int32_t next : after[size_t(operation)])
    due = std::min(due, placeOf(next));
  return due;
}

size_t BlockOrder::readyOf(int32_t operation) const {
  size_t ready = 0;
  for (int32_t last : earlier[size_t(operation)])
    ready = std::max(ready, placeOf(last) + 1);
  return ready;
}

int64_t BlockOrder::timeOf(size_t begin, size_t end) const {
  int64_t time = 0;
  for (size_t place = begin; place < end; ++place)
    time += times[size_t(order[place])];
  return time;
}

size_t BlockOrder::lastBeside(int32_t operation) const {
  size_t place = placeOf(operation);
  int64_t left = wanted[size_t(operation)];
  if (left == 0)
    return place;
  for (const size_t due = dueOf(operation); left > 0 && place + 1 < due;
       left -= times[size_t(order[place])])
    ++place;
  return place;
}

std::vector<int64_t> BlockOrder::liveBytes() const {
  const auto values = size_t(problem.valueCount());
  std::vector<size_t> last(values);
  auto use = [&](int32_t value, int32_t operation) {
    size_t &known = last[size_t(value)];
    known = std::max(known, lastBeside(operation));
  };
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    use(value, problem.producer(value));
  for (const auto &read : problem.uses)
    use(read.value, read.user);
  for (int32_t value : problem.kept)
    last[size_t(value)] = order.size();
  std::vector<int64_t> change(order.size() + 1);
  auto live = [&](size_t begin, size_t end, int64_t bytes) {
    change[begin] += bytes;
    if (end < order.size())
      change[end + 1] -= bytes;
  };
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    live(placeOf(problem.producer(value)), last[size_t(value)],
         problem.bytes(value));
  for (size_t place = 0; place < order.size(); ++place)
    live(place, lastBeside(order[place]),
         problem.operations[size_t(order[place])].workspace);
  std::vector<int64_t> result(order.size());
  std::partial_sum(change.begin(), change.end() - 1, result.begin());
  return result;
}

std::vector<int64_t> BlockOrder::liveBytesBehindMove(std::vector<int64_t> live,
                                                     size_t from,
                                                     size_t to) const {
  const int32_t moving = order[from];
  const bool later = from < to;
  // The last place that it passes, and those that it passes.
  const size_t next = later ? to - 1 : to;
  const size_t begin = later ? from + 1 : to, end = later ? to : from;
  if (begin == end)
    return live;
  // Others stand at odd numbers in the order as it is, and it comes between.
  const size_t between = 2 * to;
  struct Life {
    size_t first, last;
    bool covers(size_t place) const {
      return first <= 2 * place + 1 && 2 * place + 1 <= last;
    }
  };
  auto lifeOf = [&](int32_t value, bool moved) {
    auto at = [&](int32_t operation) {
      return moved && operation == moving ? between
                                          : 2 * placeOf(operation) + 1;
    };
    Life life{at(problem.producer(value)), 0};
    for (int32_t operation : touchedBy[size_t(value)])
      life.last = std::max(life.last, at(operation));
    if (isKept[size_t(value)])
      life.last = 2 * order.size();
    return life;
  };
  // What others have live there, and it has.
  int64_t own = live[next] - workspaceOf(next) +
                problem.operations[size_t(moving)].workspace;
  llvm::ArrayRef<int32_t> values = touched[size_t(moving)];
  for (int32_t value : touched[size_t(order[next])]) {
    const Life life = lifeOf(value, /*moved=*/false);
    if (!llvm::is_contained(values, value) &&
        (later ? life.last : life.first) == 2 * next + 1)
      own -= problem.bytes(value);
  }
  for (int32_t value : values) {
    const int64_t bytes = problem.bytes(value);
    const Life before = lifeOf(value, /*moved=*/false);
    const Life after = lifeOf(value, /*moved=*/true);
    own += before.covers(next) ? 0 : bytes;
    if (before.first == after.first && before.last == after.last)
      continue;
    for (size_t place = begin; place < end; ++place)
      live[place] += bytes * (after.covers(place) - before.covers(place));
  }
  auto at = [&](size_t place) { return live.begin() + ptrdiff_t(place); };
  if (later)
    std::rotate(at(from), at(from) + 1, at(to));
  else
    std::rotate(at(to), at(from), at(from) + 1);
  live[next] = own;
  return live;
}

int64_t BlockOrder::peak() const {
  int64_t peak = 0;
  for (int64_t live : liveBytes())
    peak = std::max(peak, live);
  return peak;
}

void BlockOrder::move(size_t from, size_t to) {
  auto at = [&](size_t place) { return order.begin() + ptrdiff_t(place); };
  if (from < to)
    std::rotate(at(from), at(from) + 1, at(to));
  else
    std::rotate(at(to), at(from), at(from) + 1);
  for (size_t place = std::min(from, to);
       place <= std::max(from, to) && place < order.size(); ++place)
    places[size_t(order[place])] = place;
}
