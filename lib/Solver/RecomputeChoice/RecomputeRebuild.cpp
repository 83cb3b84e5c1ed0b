//===- RecomputeRebuild.cpp - from a cut to a plan ------------------------===//
//
// Interpolates between two lines of the front and walks the stages after the
// cut, rebuilding what is missing. See the header for the idea.
//
//===----------------------------------------------------------------------===//

#include "RecomputeRebuild.h"

#include <algorithm>

using namespace tenon::solver;

std::vector<char> tenon::solver::chooseReruns(const RecomputeGraph &graph,
                                              const CutNetwork &network,
                                              const std::vector<CutLine> &front,
                                              int64_t room) {
  auto place = std::upper_bound(
      front.begin(), front.end(), room,
      [](int64_t held, const CutLine &line) { return held < line.held; });
  std::vector<char> rerun(graph.nodes, 0);
  if (place == front.begin())
    return rerun;
  const CutLine &fits = *(place - 1);
  std::span<const int32_t> nodes = network.nodes();
  for (size_t i = 0; i < nodes.size(); ++i)
    rerun[nodes[i]] = fits.rerun[i];
  if (place == front.end())
    return rerun;
  const std::vector<bool> &inBoth = place->rerun;
  // Hold the latest first: they are read, and freed, soonest after the cut.
  int64_t left = room - fits.held;
  for (size_t i = nodes.size(); i-- > 0 && left > 0;) {
    int32_t node = nodes[i];
    if (!fits.rerun[i] || inBoth[i])
      continue;
    int64_t bytes = 0;
    for (int32_t value : graph.outputs(node))
      for (int32_t user : graph.users(value))
        if (user > network.cutNode() || rerun[user]) {
          bytes += graph.bytes[value];
          break;
        }
    if (bytes > left)
      continue;
    rerun[node] = 0;
    left -= bytes;
  }
  return rerun;
}

namespace {
/// The walk over the stages after the cut.
class Rebuild {
public:
  Rebuild(const RecomputeGraph &graph, int32_t cut, std::vector<char> rerun,
          int64_t budget)
      : graph(graph), cut(cut), budget(budget), rerun(std::move(rerun)),
        rebuilt(graph.nodes, 0), inClosure(graph.nodes, 0),
        inUpper(graph.nodes, 0), level(graph.nodes + 1, 0) {}

  Reruns run(bool split);

private:
  int32_t lastUse(int32_t value) const {
    std::span<const int32_t> users = graph.users(value);
    return users.empty() ? -1 : users.back();
  }
  bool isMissing(int32_t value) const {
    int32_t node = graph.producer[value];
    return rerun[node] && !rebuilt[node];
  }
  void collect(int32_t stage);
  bool fits(int32_t stage, size_t from);
  size_t chooseSplit(int32_t stage);
  void holdBelow(int32_t node, int32_t first, int32_t stage);

  const RecomputeGraph &graph;
  int32_t cut;
  int64_t budget;
  std::vector<char> rerun, rebuilt, inClosure, inUpper;
  /// Bytes in each stage after the cut, without rebuilds still to come.
  std::vector<int64_t> level;
  std::vector<int32_t> closure; // ascending
  std::vector<int64_t> tail;
  std::vector<int32_t> stack;
};
} // namespace

/// The missing nodes that the first run of `stage` needs, transitively.
void Rebuild::collect(int32_t stage) {
  closure.clear();
  stack.assign(1, stage);
  while (!stack.empty()) {
    int32_t node = stack.back();
    stack.pop_back();
    for (int32_t value : graph.inputs(node)) {
      int32_t producer = graph.producer[value];
      if (isMissing(value) && !inClosure[producer]) {
        inClosure[producer] = 1;
        closure.push_back(producer);
        stack.push_back(producer);
      }
    }
  }
  std::sort(closure.begin(), closure.end());
}

/// Whether rebuilding closure[from..] in `stage` stays within the budget there
/// and until the last rebuilt value is freed.
bool Rebuild::fits(int32_t stage, size_t from) {
  for (size_t i = from; i < closure.size(); ++i)
    inUpper[closure[i]] = 1;
  int64_t now = 0, peak = 0, kept = 0;
  int32_t end = stage;
  for (size_t i = from; i < closure.size(); ++i) {
    int32_t node = closure[i];
    for (int32_t value : graph.outputs(node))
      now += graph.bytes[value];
    peak = std::max(peak, now + graph.workspace[node]);
    // Temporaries that only the rebuild reads leave with their last reader.
    for (int32_t value : graph.inputs(node)) {
      if (!inUpper[graph.producer[value]] || lastUse(value) >= stage)
        continue;
      bool last = true;
      for (int32_t user : graph.users(value))
        last &= user <= node || !inUpper[user];
      if (last)
        now -= graph.bytes[value];
    }
    for (int32_t value : graph.outputs(node))
      if (lastUse(value) >= stage)
        end = std::max(end, lastUse(value));
  }
  tail.assign(end - stage + 2, 0);
  for (size_t i = from; i < closure.size(); ++i)
    for (int32_t value : graph.outputs(closure[i]))
      if (lastUse(value) >= stage) {
        kept += graph.bytes[value];
        tail[lastUse(value) - stage + 1] += graph.bytes[value];
      }
  for (size_t i = from; i < closure.size(); ++i)
    inUpper[closure[i]] = 0;
  // The stage's own node has not run while the rebuild does, but its outputs
  // are small beside a rebuild; counting them keeps the test simple.
  if (level[stage] + peak > budget)
    return false;
  for (int32_t later = stage; later <= end; ++later) {
    kept -= tail[later - stage];
    if (level[later] + kept > budget)
      return false;
  }
  return true;
}

/// The start of the part of the closure to rebuild now.
size_t Rebuild::chooseSplit(int32_t stage) {
  // The longest upper part that fits, by bisection.
  size_t low = 0, high = closure.size() - 1; // the last node alone
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (fits(stage, middle))
      high = middle;
    else
      low = middle + 1;
  }
  // Among the shorter ones the best ratio of bytes held to bytes rebuilt.
  size_t best = high;
  double bestRatio = -1;
  int64_t boundary = 0, rebuiltBytes = 0;
  std::vector<int32_t> crossing;
  for (size_t i = closure.size(); i-- > high;) {
    int32_t node = closure[i];
    inUpper[node] = 1;
    for (int32_t value : graph.outputs(node)) {
      rebuiltBytes += graph.bytes[value];
      if (inUpper[graph.producer[value]] == 1)
        for (int32_t user : graph.users(value))
          if (user < stage && inUpper[user] && user != node) {
            boundary -= graph.bytes[value];
            break;
          }
    }
    for (int32_t value : graph.inputs(node)) {
      int32_t producer = graph.producer[value];
      if (!inClosure[producer])
        continue;
      bool counted = false;
      for (int32_t user : graph.users(value))
        counted |= user != node && user < stage && inUpper[user] != 0;
      if (!counted)
        boundary += graph.bytes[value];
    }
    double ratio = (double(boundary) + 1) / (double(rebuiltBytes) + 1);
    if (bestRatio < 0 || ratio <= bestRatio) {
      bestRatio = ratio;
      best = i;
    }
  }
  for (size_t i = high; i < closure.size(); ++i)
    inUpper[closure[i]] = 0;
  return best;
}

/// Holds across the cut what `node` reads from the closure below `first`.
void Rebuild::holdBelow(int32_t node, int32_t first, int32_t stage) {
  for (int32_t value : graph.inputs(node)) {
    int32_t producer = graph.producer[value];
    if (!inClosure[producer] || producer >= first || !rerun[producer])
      continue;
    rerun[producer] = 0;
    for (int32_t output : graph.outputs(producer))
      for (int32_t later = stage; later <= lastUse(output); ++later)
        level[later] += graph.bytes[output];
  }
}

Reruns Rebuild::run(bool split) {
  Reruns plan;
  // What is there in each later stage: first runs after the cut, held values.
  for (int32_t value = 0; value < graph.values; ++value) {
    int32_t node = graph.producer[value], end = lastUse(value);
    if (node > cut) {
      level[node] += graph.bytes[value];
      level[std::max(node, end) + 1] -= graph.bytes[value];
    } else if (end > cut && !rerun[node]) {
      level[cut] += graph.bytes[value];
      level[end + 1] -= graph.bytes[value];
    }
  }
  for (int32_t stage = 1; stage <= graph.nodes; ++stage)
    level[stage] += level[stage - 1];
  for (int32_t stage = cut + 1; stage < graph.nodes; ++stage)
    level[stage] += graph.workspace[stage];

  for (int32_t stage = cut + 1; stage < graph.nodes; ++stage) {
    collect(stage);
    if (closure.empty())
      continue;
    size_t from = 0;
    if (split && !fits(stage, 0)) {
      from = chooseSplit(stage);
      for (size_t i = from; i < closure.size(); ++i)
        holdBelow(closure[i], closure[from], stage);
      holdBelow(stage, closure[from], stage);
    }
    for (int32_t node : closure)
      inClosure[node] = 0;
    for (size_t i = from; i < closure.size(); ++i) {
      int32_t node = closure[i];
      rebuilt[node] = 1;
      plan.push_back({stage, node});
      for (int32_t value : graph.outputs(node))
        for (int32_t later = stage; later <= lastUse(value); ++later)
          level[later] += graph.bytes[value];
    }
  }
  return plan;
}

Reruns tenon::solver::placeReruns(const RecomputeGraph &graph, int32_t cut,
                                  std::vector<char> rerun, int64_t budget,
                                  bool split) {
  return Rebuild(graph, cut, std::move(rerun), budget).run(split);
}
