//===- OrderingExact.cpp - orders below a peak, by search -----------------===//
//
// Depth first with an explicit stack; see the header for why it is complete.
//
//===----------------------------------------------------------------------===//

#include "OrderingExact.h"

#include "FlowNetwork.h"
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
  OrderSearcher(const OrderingGraph &graph, const OrderingDeferral &deferral,
                int64_t peak, std::span<const int32_t> rank, int64_t &looks)
      : graph(graph), deferral(deferral), peak(peak), rank(rank), looks(looks),
        state(graph), missing(graph.operations), ran(graph.operations, 0),
        operationVertex(graph.operations, -1), valueVertex(graph.values, -1) {
    SplitRandom random(1);
    for (int32_t i = 0; i < graph.operations; ++i) {
      codes.push_back({random.next(), random.next()});
      missing[i] = deferral.before.size(i);
      if (missing[i] == 0 && !deferral.waits[i])
        ready.push_back(i);
    }
  }

  OrderSearch run(std::vector<int32_t> &order);

private:
  struct Choice {
    std::vector<int32_t> operations; // to try, the next one last
    size_t done;                     // operations run before the choice
    int64_t live;                    // bytes at the choice
  };
  LiveBytes::Step look(int32_t operation);
  void performOne(int32_t operation);
  void perform(int32_t operation);
  void takeBackTo(size_t count);
  void runFree();
  bool runFreeChain();
  bool choose();
  bool isValley(size_t from);
  void settleValleys();

  const OrderingGraph &graph;
  const OrderingDeferral &deferral;
  int64_t peak;
  std::span<const int32_t> rank;
  int64_t &looks;
  LiveBytes state;
  // Of the operations that do not wait: predecessors that have not run, and
  // those without any.
  std::vector<int32_t> missing;
  std::vector<int32_t> ready;
  std::vector<char> ran;
  std::vector<Signature> codes;
  Signature signature;
  std::vector<int32_t> done;
  std::vector<LiveBytes::Step> steps;
  std::vector<Choice> choices;
  std::set<Signature> failed;
  std::vector<int32_t> operationVertex, valueVertex; // -1 between calls
};
} // namespace

/// What running it, after what it needs of those that wait, would do. Those
/// only add and are there while it runs, so the bytes during it are the most.
LiveBytes::Step OrderSearcher::look(int32_t operation) {
  --looks;
  const int64_t before = state.live();
  std::vector<std::pair<int32_t, LiveBytes::Step>> needed;
  for (int32_t other : deferral.needs[operation])
    if (!ran[other]) {
      --looks;
      needed.push_back({other, state.look(other)});
      state.run(other);
    }
  LiveBytes::Step step = state.look(operation);
  step.net += state.live() - before;
  for (; !needed.empty(); needed.pop_back())
    state.takeBack(needed.back().first, needed.back().second);
  return step;
}

void OrderSearcher::performOne(int32_t operation) {
  steps.push_back(state.look(operation));
  state.run(operation);
  done.push_back(operation);
  ran[operation] = 1;
  signature.first += codes[operation].first;
  signature.second += codes[operation].second;
}

void OrderSearcher::perform(int32_t operation) {
  for (int32_t other : deferral.needs[operation])
    if (!ran[other])
      performOne(other);
  performOne(operation);
  ready.erase(std::find(ready.begin(), ready.end(), operation));
  for (int32_t next : deferral.after[operation])
    if (--missing[next] == 0)
      ready.push_back(next);
}

void OrderSearcher::takeBackTo(size_t count) {
  while (done.size() > count) {
    int32_t operation = done.back();
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
    done.pop_back();
    steps.pop_back();
  }
}

/// Runs what fits and does not grow, until nothing is left of that kind.
void OrderSearcher::runFree() {
  for (bool any = true; any;) {
    any = false;
    for (size_t i = 0; i < ready.size(); ++i) {
      LiveBytes::Step step = look(ready[i]);
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
      LiveBytes::Step step = look(next);
      if (step.during >= peak)
        break;
      perform(next);
      net += step.net;
      if (net <= 0)
        return true;
      int32_t last = next;
      int64_t least = 0;
      next = -1;
      for (int32_t follower : deferral.after[last]) {
        if (missing[follower] != 0)
          continue;
        if (int64_t change = look(follower).net; change < least) {
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
  Choice choice{{}, done.size(), state.live()};
  for (int32_t operation : ready)
    if (look(operation).during < peak)
      choice.operations.push_back(operation);
  if (choice.operations.empty())
    return false;
  std::sort(choice.operations.begin(), choice.operations.end(),
            [&](int32_t a, int32_t b) { return rank[a] > rank[b]; });
  choices.push_back(std::move(choice));
  return true;
}

/// Whether no set between the first `from` operations and all that have run now
/// holds less than now.
///
/// Seen from now: taking a set away, closed under who depends on whom, takes
/// away the bytes that it makes and are live, and brings back values that it
/// was the last to read and does not make. If bytes that it makes are not live,
/// they are both taken away and brought back. So the most that taking away can
/// gain is a maximum closure: operations bring the bytes that they make, and
/// cost those of the dead values that they read. Nothing is gained if a flow
/// pays for all that is made.
bool OrderSearcher::isValley(size_t from) {
  struct Arc {
    int32_t from, to;
    int64_t capacity;
  };
  std::vector<Arc> arcs;
  std::span<const int32_t> between = std::span(done).subspan(from);
  int32_t vertices = 2;
  for (int32_t operation : between)
    operationVertex[operation] = vertices++;
  std::vector<int32_t> values;
  int64_t made = 0;
  for (int32_t operation : between) {
    const int32_t vertex = operationVertex[operation];
    int64_t bytes = 0;
    for (int32_t value : graph.results[operation])
      if (graph.users.size(value) + graph.kept[value] > 0)
        bytes += graph.bytes[value];
    arcs.push_back({FlowNetwork::source, vertex, bytes});
    made += bytes;
    for (int32_t next : graph.after[operation])
      if (operationVertex[next] >= 0)
        arcs.push_back({vertex, operationVertex[next], FlowNetwork::unlimited});
    for (int32_t value : graph.operands[operation]) {
      if (state.left(value) > 0)
        continue;
      if (valueVertex[value] < 0) {
        valueVertex[value] = vertices++;
        values.push_back(value);
        arcs.push_back(
            {valueVertex[value], FlowNetwork::sink, graph.bytes[value]});
      }
      arcs.push_back({vertex, valueVertex[value], FlowNetwork::unlimited});
    }
  }
  looks -= static_cast<int64_t>(arcs.size());
  FlowNetwork network;
  network.reset(vertices);
  for (const Arc &arc : arcs)
    network.addArc(arc.from, arc.to);
  network.build();
  for (size_t i = 0; i < arcs.size(); ++i)
    network.setCapacity(static_cast<int32_t>(i), arcs[i].capacity);
  const bool paid = network.maximize() == made;
  for (int32_t operation : between)
    operationVertex[operation] = -1;
  for (int32_t value : values)
    valueVertex[value] = -1;
  return paid;
}

/// Drops what else could be chosen where the search came from, as far back as
/// the present state is a valley.
void OrderSearcher::settleValleys() {
  for (size_t i = choices.size(); i-- > 0;) {
    Choice &choice = choices[i];
    if (choice.operations.empty())
      continue;
    if (choice.live < state.live() || !isValley(choice.done))
      return;
    choice.operations.clear();
  }
}

OrderSearch OrderSearcher::run(std::vector<int32_t> &order) {
  constexpr size_t mostFailed = 400'000;
  while (looks > 0 && failed.size() < mostFailed) {
    runFree();
    if (done.size() == size_t(graph.operations)) {
      order = done;
      return OrderSearch::Found;
    }
    settleValleys();
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

OrderSearch tenon::solver::searchOrder(const OrderingGraph &graph,
                                       const OrderingDeferral &deferral,
                                       int64_t peak,
                                       std::span<const int32_t> rank,
                                       int64_t &looks,
                                       std::vector<int32_t> &order) {
  return OrderSearcher(graph, deferral, peak, rank, looks).run(order);
}
