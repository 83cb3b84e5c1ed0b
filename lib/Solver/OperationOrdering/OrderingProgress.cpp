//===- OrderingProgress.cpp - how far an order has come -------------------===//
//
// Runs operations and takes them back.
//
//===----------------------------------------------------------------------===//

#include "OrderingProgress.h"

#include "SplitRandom.h"

#include <algorithm>

using namespace tenon::solver;

OrderProgress::OrderProgress(const OrderingGraph &graph,
                             const OrderingDeferral &deferral, int64_t &looks)
    : graph(graph), deferral(deferral), looks(looks), state(graph),
      missing(graph.operations), ran(graph.operations, 0) {
  SplitRandom random(1);
  for (int32_t i = 0; i < graph.operations; ++i) {
    codes.push_back({random.next(), random.next()});
    missing[i] = deferral.before.size(i);
    if (missing[i] == 0 && !deferral.waits[i])
      ready.push_back(i);
  }
}

void OrderProgress::readyBelow(int64_t peak,
                               std::vector<int32_t> &result) const {
  // To pass one over takes a fraction of a look.
  looks -= static_cast<int64_t>(ready.size() / 16);
  result.clear();
  for (int32_t operation : ready)
    if (!reaches(peak, operation))
      result.push_back(operation);
}

bool OrderProgress::growsIn(int32_t operation, LiveBytes::Step step) const {
  int64_t made = 0;
  for (int32_t value : graph.results[operation])
    made += graph.bytes[value];
  return step.net == made && step.during == state.live() + made &&
         graph.after.size(operation) > 0;
}

OrderProgress::Look OrderProgress::look(std::span<const int32_t> first,
                                        int32_t operation) {
  const int64_t before = state.live();
  auto lookAt = [&](int32_t other) {
    for (int32_t needed : deferral.needs[other])
      if (!ran[needed]) {
        --looks;
        tried.push_back({needed, state.look(needed)});
        state.run(needed);
        ran[needed] = 1;
      }
    --looks;
    return state.look(other);
  };
  Look result{true, false, {}};
  for (int32_t other : first) {
    LiveBytes::Step step = lookAt(other);
    if (!growsIn(other, step)) {
      result.growing = false;
      break;
    }
    tried.push_back({other, step});
    state.run(other);
    ran[other] = 1;
  }
  if (result.growing) {
    result.step = lookAt(operation);
    result.grows = growsIn(operation, result.step);
    result.step.net += state.live() - before;
  }
  for (; !tried.empty(); tried.pop_back()) {
    ran[tried.back().first] = 0;
    state.takeBack(tried.back().first, tried.back().second);
  }
  return result;
}

void OrderProgress::performOne(int32_t operation) {
  steps.push_back(state.look(operation));
  state.run(operation);
  order.push_back(operation);
  ran[operation] = 1;
  signature.first += codes[operation].first;
  signature.second += codes[operation].second;
}

void OrderProgress::perform(int32_t operation) {
  for (int32_t needed : deferral.needs[operation])
    if (!ran[needed])
      performOne(needed);
  performOne(operation);
  ready.erase(std::find(ready.begin(), ready.end(), operation));
  for (int32_t next : deferral.after[operation])
    if (--missing[next] == 0)
      ready.push_back(next);
}

void OrderProgress::takeBackTo(size_t count) {
  while (order.size() > count) {
    int32_t operation = order.back();
    if (!deferral.waits[operation]) {
      for (int32_t next : deferral.after[operation])
        if (missing[next]++ == 0)
          ready.erase(std::find(ready.begin(), ready.end(), next));
      ready.push_back(operation);
    }
    ran[operation] = 0;
    signature.first -= codes[operation].first;
    signature.second -= codes[operation].second;
    state.takeBack(operation, steps.back());
    order.pop_back();
    steps.pop_back();
  }
}

int64_t OrderProgress::leastSince(size_t count) const {
  int64_t bytes = state.live(), least = bytes;
  for (size_t i = order.size(); i-- > count;) {
    bytes -= steps[i].net;
    least = std::min(least, bytes);
  }
  return least;
}
