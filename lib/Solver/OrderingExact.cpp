//===- OrderingExact.cpp - orders below a peak, by search -----------------===//
//
// Depth first with an explicit stack; see the header for why it is complete.
//
//===----------------------------------------------------------------------===//

#include "OrderingExact.h"

#include "SplitRandom.h"

#include <algorithm>
#include <set>

using namespace tenon::solver;

namespace {
struct Signature {
  uint64_t first = 0, second = 0;
  auto operator<=>(const Signature &) const = default;
};

class OrderSearcher {
public:
  OrderSearcher(const OrderingGraph &graph, int64_t peak,
                std::span<const int32_t> rank, int64_t &looks)
      : graph(graph), peak(peak), rank(rank), looks(looks), state(graph),
        missing(graph.operations) {
    SplitRandom random(1);
    for (int32_t i = 0; i < graph.operations; ++i) {
      codes.push_back({random.next(), random.next()});
      missing[i] = graph.before.size(i);
      if (missing[i] == 0)
        ready.push_back(i);
    }
  }

  OrderSearch run(std::vector<int32_t> &order);

private:
  struct Choice {
    std::vector<int32_t> operations; // to try, the next one last
    size_t done;                     // operations run before the choice
  };
  void perform(int32_t operation);
  void takeBackTo(size_t count);
  void runFree();
  bool runFreeChain();
  bool choose();

  const OrderingGraph &graph;
  int64_t peak;
  std::span<const int32_t> rank;
  int64_t &looks;
  LiveBytes state;
  std::vector<int32_t> missing; // -1: has run
  std::vector<int32_t> ready;
  std::vector<Signature> codes;
  Signature signature;
  std::vector<int32_t> done;
  std::vector<LiveBytes::Step> steps;
  std::vector<Choice> choices;
  std::set<Signature> failed;
};
} // namespace

void OrderSearcher::perform(int32_t operation) {
  steps.push_back(state.look(operation));
  state.run(operation);
  done.push_back(operation);
  ready.erase(std::find(ready.begin(), ready.end(), operation));
  missing[operation] = -1;
  signature.first += codes[operation].first;
  signature.second += codes[operation].second;
  for (int32_t next : graph.after[operation])
    if (--missing[next] == 0)
      ready.push_back(next);
}

void OrderSearcher::takeBackTo(size_t count) {
  while (done.size() > count) {
    int32_t operation = done.back();
    for (int32_t next : graph.after[operation])
      if (missing[next]++ == 0)
        ready.erase(std::find(ready.begin(), ready.end(), next));
    missing[operation] = 0;
    ready.push_back(operation);
    signature.first -= codes[operation].first;
    signature.second -= codes[operation].second;
    state.takeBack(operation, steps.back());
    done.pop_back();
    steps.pop_back();
  }
}

/// Runs what fits and does not grow, until nothing is left of that kind.
void OrderSearcher::runFree() {
  for (bool any = true; any;) {
    any = false;
    for (size_t i = 0; i < ready.size(); ++i) {
      --looks;
      LiveBytes::Step step = state.look(ready[i]);
      if (step.net > 0 || step.during >= peak)
        continue;
      perform(ready[i]);
      any = true;
      break;
    }
    any = any || runFreeChain();
  }
}

/// Runs a chain, each operation waiting for the one before, that fits, grows on
/// the way and does not in the end: a gradient and its update. Whatever else
/// has run, having run all of it holds no more than having run a part.
bool OrderSearcher::runFreeChain() {
  constexpr int longest = 4;
  const std::vector<int32_t> heads = ready;
  const size_t before = done.size();
  for (int32_t head : heads) {
    int64_t net = 0;
    int32_t next = head;
    for (int length = 0; length < longest && next >= 0; ++length) {
      --looks;
      LiveBytes::Step step = state.look(next);
      if (step.during >= peak)
        break;
      perform(next);
      net += step.net;
      if (net <= 0)
        return true;
      int32_t last = next;
      int64_t least = 0;
      next = -1;
      for (int32_t follower : graph.after[last]) {
        if (missing[follower] != 0)
          continue;
        --looks;
        if (int64_t change = state.look(follower).net; change < least) {
          least = change;
          next = follower;
        }
      }
    }
    takeBackTo(before);
  }
  return false;
}

/// Opens the choice among growing operations that fit; false if there is none.
bool OrderSearcher::choose() {
  Choice choice{{}, done.size()};
  for (int32_t operation : ready) {
    --looks;
    if (state.look(operation).during < peak)
      choice.operations.push_back(operation);
  }
  if (choice.operations.empty())
    return false;
  std::sort(choice.operations.begin(), choice.operations.end(),
            [&](int32_t a, int32_t b) { return rank[a] > rank[b]; });
  choices.push_back(std::move(choice));
  return true;
}

OrderSearch OrderSearcher::run(std::vector<int32_t> &order) {
  constexpr size_t mostFailed = 400'000;
  while (looks > 0 && failed.size() < mostFailed) {
    runFree();
    if (done.size() == size_t(graph.operations)) {
      order = done;
      return OrderSearch::Found;
    }
    // A state is entered once: it is marked as failed before it is tried.
    if (failed.insert(signature).second)
      choose();
    while (!choices.empty() && choices.back().operations.empty())
      choices.pop_back();
    if (choices.empty())
      return OrderSearch::Exhausted;
    Choice &choice = choices.back();
    takeBackTo(choice.done);
    int32_t next = choice.operations.back();
    choice.operations.pop_back();
    perform(next);
  }
  return OrderSearch::Stopped;
}

OrderSearch tenon::solver::searchOrder(const OrderingGraph &graph, int64_t peak,
                                       std::span<const int32_t> rank,
                                       int64_t &looks,
                                       std::vector<int32_t> &order) {
  return OrderSearcher(graph, peak, rank, looks).run(order);
}
