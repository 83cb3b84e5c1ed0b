//===- OrderingExact.cpp - orders below a peak, by search -----------------===//
//
// Depth first with an explicit stack; see the header for why it is complete.
//
//===----------------------------------------------------------------------===//

#include "OrderingExact.h"

#include "MinimumCut/FlowNetwork.h"
#include "OrderingBlocks.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace tenon::solver;

namespace {
class OrderSearcher {
public:
  OrderSearcher(const OrderingGraph &graph, const OrderingDeferral &deferral,
                int64_t peak, std::span<const int32_t> rank, int64_t &looks)
      : graph(graph), deferral(deferral), peak(peak), rank(rank), looks(looks),
        progress(graph, deferral, looks),
        blocks(graph, deferral, progress, looks),
        operationVertex(graph.operations, -1), valueVertex(graph.values, -1) {}

  OrderSearch run(std::vector<int32_t> &order);

private:
  struct Choice {
    std::vector<OrderBlock> blocks; // to try, the next one last
    size_t done;                    // operations run before the choice
    int64_t live;                   // bytes at the choice
  };
  void runFree();
  bool runFreeChain(int32_t head);
  void choose();
  bool isValley(size_t from);
  void settleValleys();

  const OrderingGraph &graph;
  const OrderingDeferral &deferral;
  int64_t peak;
  std::span<const int32_t> rank;
  int64_t &looks;
  OrderProgress progress;
  OrderBlocks blocks;
  std::vector<Choice> choices;
  std::set<OperationSet> failed;
  std::vector<int32_t> operationVertex, valueVertex; // -1 between calls
};
} // namespace

/// Runs chains that fit and do not grow, until nothing is left of that kind.
void OrderSearcher::runFree() {
  std::vector<int32_t> heads;
  for (bool any = true; any;) {
    any = false;
    progress.readyBelow(peak, heads);
    for (int32_t head : heads)
      any |= !progress.hasRun(head) && runFreeChain(head);
  }
}

/// Runs a chain, each operation waiting for the one before, if it fits and may
/// grow on the way, but does not in the end: a gradient and its update, or one
/// operation alone. Whatever else has run, having run all of it holds no more
/// than having run a part.
bool OrderSearcher::runFreeChain(int32_t head) {
  constexpr int longest = 4;
  const size_t before = progress.done().size();
  int64_t net = 0;
  int32_t next = head;
  for (int length = 0; length < longest && next >= 0; ++length) {
    LiveBytes::Step step = progress.look(next);
    if (step.during >= peak)
      break;
    progress.perform(next);
    net += step.net;
    if (net <= 0)
      return true;
    int32_t last = next;
    int64_t least = 0;
    next = -1;
    for (int32_t follower : deferral.after[last]) {
      if (progress.lacks(follower) != 0)
        continue;
      if (int64_t change = progress.look(follower).net;
          next < 0 ? change <= 0 : change < least) {
        least = change;
        next = follower;
      }
    }
  }
  progress.takeBackTo(before);
  return false;
}

/// Opens the choice among blocks that fit, if there are any: those that grow
/// first, which are tried last.
void OrderSearcher::choose() {
  std::vector<OrderBlocks::Next> all = blocks.all(peak);
  auto key = [&](const OrderBlocks::Next &next) {
    return std::tuple(next.net <= 0, -rank[next.block.back()],
                      -static_cast<int64_t>(next.block.size()));
  };
  std::sort(all.begin(), all.end(),
            [&](const OrderBlocks::Next &a, const OrderBlocks::Next &b) {
              auto first = key(a), second = key(b);
              return first != second ? first < second : a.block > b.block;
            });
  Choice choice{{}, progress.done().size(), progress.live()};
  for (OrderBlocks::Next &next : all)
    choice.blocks.push_back(std::move(next.block));
  choices.push_back(std::move(choice));
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
  std::span<const int32_t> between = std::span(progress.done()).subspan(from);
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
      if (progress.left(value) > 0)
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
  looks -= 4 * static_cast<int64_t>(arcs.size());
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

/// The present state has failed: drops what else could be chosen where the
/// search came from, as far back as it is a valley.
void OrderSearcher::settleValleys() {
  std::vector<size_t> open; // choices that hold no less, the last one first
  for (size_t i = choices.size(); i-- > 0;)
    if (!choices[i].blocks.empty()) {
      if (choices[i].live < progress.live() ||
          progress.leastSince(choices[i].done) < progress.live())
        break;
      open.push_back(i);
    }
  // Mostly it is one for all of them, or for the last alone.
  size_t settled = 0;
  if (open.size() > 1 && isValley(choices[open.back()].done))
    settled = open.size();
  while (settled < open.size() && isValley(choices[open[settled]].done))
    ++settled;
  for (size_t i = 0; i < settled; ++i)
    choices[open[i]].blocks.clear();
}

OrderSearch OrderSearcher::run(std::vector<int32_t> &order) {
  constexpr size_t mostFailed = 400'000;
  while (looks > 0 && failed.size() < mostFailed) {
    runFree();
    if (progress.done().size() == size_t(graph.operations)) {
      order = progress.done();
      return OrderSearch::Found;
    }
    // A state is entered once: it is marked as failed before it is tried.
    if (failed.insert(progress.set()).second)
      choose();
    else
      settleValleys();
    while (!choices.empty() && choices.back().blocks.empty()) {
      progress.takeBackTo(choices.back().done);
      choices.pop_back();
      settleValleys();
    }
    if (choices.empty())
      return blocks.leftOut() ? OrderSearch::Stopped : OrderSearch::Exhausted;
    Choice &choice = choices.back();
    progress.takeBackTo(choice.done);
    OrderBlock block = std::move(choice.blocks.back());
    choice.blocks.pop_back();
    for (int32_t operation : block)
      progress.perform(operation);
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
