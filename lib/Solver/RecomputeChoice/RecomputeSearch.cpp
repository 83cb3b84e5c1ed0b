//===- RecomputeSearch.cpp - local search over recomputations -------------===//
//
// The incremental plan (runs, intervals, stages) with its undo log, the moves,
// and the annealing loop. See the header for the model.
//
//===----------------------------------------------------------------------===//

#include "RecomputeSearch.h"

#include "tenon/Support/PortableMath.h"

#include <algorithm>

using namespace tenon::solver;

PlanSearch::PlanSearch(const RecomputeGraph &graph, int64_t budget,
                       uint64_t seed)
    : graph(graph), budget(budget), random(seed), runs(graph.nodes),
      again(graph.nodes), held(graph.values), level(graph.nodes, 0),
      local(graph.nodes, 0), extraAt(graph.nodes), touchStamp(graph.values, 0),
      changeStamp(graph.values, 0), stageStamp(graph.nodes, 0),
      localStamp(graph.nodes, 0) {}

void PlanSearch::load(const Reruns &plan) {
  for (int32_t node = 0; node < graph.nodes; ++node) {
    runs[node].clear();
    again[node].clear();
    extraAt[node].clear();
  }
  extra.clear();
  for (std::vector<Interval> &intervals : held)
    intervals.clear();
  std::fill(level.begin(), level.end(), -budget);
  std::fill(local.begin(), local.end(), 0);
  currentCost = graph.baseCost;
  currentOver = currentArea = 0;
  bestIsCurrent = false;
  begin();
  for (auto [stage, node] : plan)
    if (!graph.pinned[node] && !hasRun(node, stage))
      insertRun(node, stage);
  for (int32_t value = 0; value < graph.values; ++value)
    touch(value);
  for (int32_t stage = 0; stage < graph.nodes; ++stage)
    markStage(stage);
  settle();
  if (feasible())
    saveBest();
}

static Reruns collect(const std::vector<std::vector<int32_t>> &runs) {
  Reruns result;
  for (size_t node = 0; node < runs.size(); ++node)
    for (int32_t stage : runs[node])
      result.push_back({stage, static_cast<int32_t>(node)});
  std::sort(result.begin(), result.end());
  return result;
}

Reruns PlanSearch::plan() const { return collect(runs); }

Reruns PlanSearch::bestPlan() const {
  return collect(bestIsCurrent ? runs : bestRuns);
}

//===----------------------------------------------------------------------===//
// Runs and intervals
//===----------------------------------------------------------------------===//

bool PlanSearch::hasRun(int32_t node, int32_t stage) const {
  return stage == node || std::find(runs[node].begin(), runs[node].end(),
                                    stage) != runs[node].end();
}

/// The stage of the last run of `node` before `stage`, or -1.
int32_t PlanSearch::lastRunBefore(int32_t node, int32_t stage) const {
  const Runs &list = runs[node];
  for (size_t i = list.size(); i-- > 0;)
    if (list[i] < stage)
      return list[i];
  return node < stage ? node : -1;
}

void PlanSearch::insertRun(int32_t node, int32_t stage) {
  Runs &list = runs[node];
  auto place = std::lower_bound(list.begin(), list.end(), stage);
  extraAt[node].insert(extraAt[node].begin() + (place - list.begin()),
                       static_cast<int32_t>(extra.size()));
  list.insert(place, stage);
  extra.push_back({node, stage, true});
  Runs &nodes = again[stage];
  nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), node), node);
  currentCost += graph.cost[node];
}

void PlanSearch::eraseRun(int32_t node, int32_t stage) {
  Runs &list = runs[node];
  auto place = std::lower_bound(list.begin(), list.end(), stage);
  auto slot = extraAt[node].begin() + (place - list.begin());
  int32_t index = *slot;
  extraAt[node].erase(slot);
  list.erase(place);
  if (index + 1 != static_cast<int32_t>(extra.size())) {
    Operation moved = extra.back();
    extra[index] = moved;
    const Runs &other = runs[moved.node];
    auto at = std::lower_bound(other.begin(), other.end(), moved.stage);
    extraAt[moved.node][at - other.begin()] = index;
  }
  extra.pop_back();
  Runs &nodes = again[stage];
  nodes.erase(std::lower_bound(nodes.begin(), nodes.end(), node));
  currentCost -= graph.cost[node];
}

void PlanSearch::touch(int32_t value) {
  if (touchStamp[value] == touchClock)
    return;
  touchStamp[value] = touchClock;
  touched.push_back(value);
}

void PlanSearch::markStage(int32_t stage) {
  if (stageStamp[stage] == stageClock)
    return;
  stageStamp[stage] = stageClock;
  dirty.push_back(stage);
}

void PlanSearch::noteChange(int32_t node, int32_t stage, bool isAdded) {
  operations.push_back({node, stage, isAdded});
  markStage(stage);
  for (int32_t value : graph.outputs(node))
    touch(value);
  for (int32_t value : graph.inputs(node))
    touch(value);
  for (int32_t value : graph.lateInputs(node))
    touch(value);
}

void PlanSearch::addRun(int32_t node, int32_t stage) {
  insertRun(node, stage);
  noteChange(node, stage, true);
}

void PlanSearch::removeRun(int32_t node, int32_t stage) {
  eraseRun(node, stage);
  noteChange(node, stage, false);
}

/// max(0, number) without a comparison: those of 64 bits are dear in vectors.
static int64_t positivePart(int64_t number) { return number & ~(number >> 63); }
static int64_t rise(int64_t from, int64_t to) {
  return positivePart(to - from);
}

namespace {
/// What is above the budget in a row of stages, after against before a change.
struct LevelChange {
  int64_t rises, area;
  int64_t old, now; // of the last stage
};
} // namespace

// A quarter of a search is this loop, so it is there for wider vectors, too;
// the dynamic linker takes what the processor has.
#if defined(__x86_64__) && defined(__ELF__)
__attribute__((target_clones("avx512dq", "avx2", "default")))
#endif
/// Adds to the levels [level, end), of stages behind one that is `previous`
/// above the budget.
static LevelChange addToLevels(int64_t *level, const int64_t *end,
                               int64_t bytes, int64_t previous) {
  constexpr int64_t block = 32;
  LevelChange change = {0, 0, previous, previous};
  while (level < end) {
    const int64_t count = end - level < block ? end - level : block;
    // Mostly there is room before and after in a whole block: its levels stay
    // at most zero, and there is nothing to count.
    int64_t room = -1;
    for (int64_t i = 0; i < count; ++i) {
      int64_t old = level[i];
      level[i] = old + bytes;
      room &= (old - 1) & (old + bytes - 1);
    }
    if (room < 0)
      change.now = change.old = 0;
    else
      for (int64_t i = 0; i < count; ++i) {
        int64_t now = positivePart(level[i]);
        int64_t old = positivePart(level[i] - bytes);
        change.rises += rise(change.now, now) - rise(change.old, old);
        change.area += now - old;
        change.now = now;
        change.old = old;
      }
    level += count;
  }
  return change;
}

void PlanSearch::setLocal(int32_t stage, int64_t bytes) {
  int64_t old = over(stage);
  level[stage] += bytes - local[stage];
  local[stage] = bytes;
  int64_t now = over(stage);
  int64_t before = stage > 0 ? over(stage - 1) : 0;
  int64_t after = stage + 1 < graph.nodes ? over(stage + 1) : 0;
  currentOver += rise(before, now) - rise(before, old) + rise(now, after) -
                 rise(old, after);
  currentArea += now - old;
}

/// Moves the bytes that span stages from one list of intervals to another; only
/// where they differ.
void PlanSearch::moveThrough(std::span<const Interval> from,
                             std::span<const Interval> to, int64_t bytes) {
  edges.clear();
  auto add = [&](std::span<const Interval> intervals, int64_t amount) {
    for (const Interval &interval : intervals)
      if (interval.begin + 1 < interval.end) {
        edges.push_back({interval.begin + 1, amount});
        edges.push_back({interval.end, -amount});
      }
  };
  add(from, -bytes);
  add(to, bytes);
  std::sort(edges.begin(), edges.end());
  int64_t now = 0;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    now += edges[i].second;
    if (now != 0 && edges[i].first < edges[i + 1].first)
      addThrough(edges[i].first, edges[i + 1].first, now);
  }
}

/// Adds to the stages [first, last).
void PlanSearch::addThrough(int32_t first, int32_t last, int64_t bytes) {
  ranges.push_back({first, last, bytes});
  const int64_t before = first > 0 ? over(first - 1) : 0;
  const LevelChange change =
      addToLevels(level.data() + first, level.data() + last, bytes, before);
  currentOver += change.rises;
  currentArea += change.area;
  if (last < graph.nodes)
    currentOver += rise(change.now, over(last)) - rise(change.old, over(last));
}

/// Rebuilds the intervals of a value and spreads the difference.
void PlanSearch::refresh(int32_t value) {
  int32_t producer = graph.producer[value];
  const Runs &list = runs[producer];
  scratch.clear();
  size_t count = list.size() + 1;
  for (size_t i = 0; i < count; ++i)
    scratch.push_back({i == 0 ? producer : list[i - 1], -1, -1});
  for (int32_t user : graph.users(value)) {
    // The last use of this user in every interval: walk its runs backwards.
    const Runs &times = runs[user];
    size_t interval = count;
    for (size_t i = times.size() + 1; i-- > 0;) {
      int32_t stage = i == 0 ? user : times[i - 1];
      size_t at = interval;
      while (at > 0 && scratch[at - 1].begin > stage)
        --at;
      // `at - 1` serves this use; earlier uses in it are no last uses.
      if (at == interval && interval != count)
        continue;
      scratch[at - 1].use(stage, user);
      interval = at;
      if (interval == 0)
        break;
    }
  }
  for (int32_t user : graph.lateUsers(value))
    for (int32_t stage : runs[user]) {
      size_t at = count;
      while (at > 0 && scratch[at - 1].begin >= stage)
        --at;
      if (at > 0)
        scratch[at - 1].use(stage, user);
    }
  std::vector<Interval> &now = held[value];
  if (now == scratch)
    return;
  // Mostly a single interval becomes two, or two become one.
  size_t same = 0, less = std::min(now.size(), scratch.size());
  while (same < less && now[same] == scratch[same])
    ++same;
  size_t tail = 0;
  while (tail < less - same &&
         now[now.size() - 1 - tail] == scratch[scratch.size() - 1 - tail])
    ++tail;
  std::span<const Interval> from(now.begin() + same, now.end() - tail);
  std::span<const Interval> to(scratch.begin() + same, scratch.end() - tail);
  for (std::span<const Interval> intervals : {from, to})
    for (const Interval &interval : intervals) {
      markStage(interval.begin);
      if (interval.end >= 0)
        markStage(interval.end);
    }
  if (graph.bytes[value] != 0)
    moveThrough(from, to, graph.bytes[value]);
  if (changeStamp[value] != changeClock) {
    changeStamp[value] = changeClock;
    changed.push_back(value);
    if (changedCount == changedOld.size())
      changedOld.emplace_back();
    changedOld[changedCount++].swap(now);
  }
  now.swap(scratch);
}

/// Brings intervals and stages up to date after runs were added and removed;
/// removes runs that nobody reads.
void PlanSearch::settle() {
  while (!touched.empty()) {
    size_t count = touched.size();
    for (size_t i = 0; i < count; ++i)
      refresh(touched[i]);
    std::vector<int32_t> list;
    list.swap(touched);
    ++touchClock;
    for (int32_t value : list) {
      int32_t node = graph.producer[value];
      for (size_t i = runs[node].size(); i-- > 0;) {
        bool read = false;
        for (int32_t output : graph.outputs(node))
          // A sibling that is about to be refreshed still has its old length;
          // nothing runs for late reads.
          read |= !graph.users(output).empty() &&
                  (touchStamp[output] == touchClock ||
                   held[output].size() != runs[node].size() + 1 ||
                   held[output][i + 1].end >= 0);
        if (!read)
          removeRun(node, runs[node][i]);
      }
    }
  }
  evaluateStages();
}

/// The largest number of bytes in a stage beside what spans it.
int64_t PlanSearch::evaluateStage(int32_t stage) {
  const Runs &nodes = again[stage];
  auto lastBegun = [&](int32_t value) -> const Interval & {
    const std::vector<Interval> &intervals = held[value];
    size_t at = intervals.size() - 1;
    while (intervals[at].begin > stage)
      --at;
    return intervals[at];
  };
  // What a late read holds, if its value is there.
  auto begunBefore = [&](int32_t value) -> const Interval * {
    const std::vector<Interval> &intervals = held[value];
    size_t at = intervals.size();
    while (at > 0 && intervals[at - 1].begin >= stage)
      --at;
    return at > 0 ? &intervals[at - 1] : nullptr;
  };
  // Relative to what was there before and ends in the stage.
  int64_t before = 0, now = 0, peak = 0;
  for (size_t i = 0; i <= nodes.size(); ++i) {
    int32_t node = i == nodes.size() ? stage : nodes[i];
    int64_t freed = 0;
    auto free = [&](const Interval &interval, int64_t bytes) {
      if (interval.end == stage && interval.endNode == node) {
        freed += bytes;
        if (interval.begin < stage)
          before += bytes;
      }
    };
    for (int32_t value : graph.inputs(node))
      free(lastBegun(value), graph.bytes[value]);
    if (i < nodes.size())
      for (int32_t value : graph.lateInputs(node))
        if (const Interval *interval = begunBefore(value))
          free(*interval, graph.bytes[value]);
    for (int32_t value : graph.outputs(node)) {
      now += graph.bytes[value];
      if (lastBegun(value).end < 0)
        freed += graph.bytes[value];
    }
    int64_t during = graph.workspace[node];
    if (i < nodes.size())
      during += graph.again[node];
    for (auto [value, bytes] : graph.overwrites(node)) {
      const Interval &interval = lastBegun(value);
      bool dies = interval.end < 0 ||
                  (interval.end == stage && interval.endNode == node);
      during += dies ? 0 : bytes;
    }
    peak = std::max(peak, now + during);
    now -= freed;
  }
  return before + peak;
}

void PlanSearch::evaluateStages() {
  for (int32_t stage : dirty) {
    int64_t now = evaluateStage(stage);
    if (now == local[stage])
      continue;
    if (localStamp[stage] != changeClock) {
      localStamp[stage] = changeClock;
      oldLocal.push_back({stage, local[stage]});
    }
    setLocal(stage, now);
  }
  dirty.clear();
  ++stageClock;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

void PlanSearch::begin() {
  operations.clear();
  touched.clear();
  changed.clear();
  changedCount = 0;
  oldLocal.clear();
  ranges.clear();
  dirty.clear();
  ++touchClock;
  ++changeClock;
  ++stageClock;
  oldCost = currentCost;
  oldOver = currentOver;
  oldArea = currentArea;
}

void PlanSearch::undo() {
  for (size_t i = operations.size(); i-- > 0;) {
    const Operation &operation = operations[i];
    if (operation.added)
      eraseRun(operation.node, operation.stage);
    else
      insertRun(operation.node, operation.stage);
  }
  for (auto [stage, bytes] : oldLocal) {
    level[stage] += bytes - local[stage];
    local[stage] = bytes;
  }
  for (const Range &range : ranges)
    for (int32_t stage = range.first; stage < range.last; ++stage)
      level[stage] -= range.bytes;
  currentOver = oldOver;
  currentArea = oldArea;
  for (size_t i = 0; i < changed.size(); ++i)
    held[changed[i]].swap(changedOld[i]);
}

/// Whether a value is in memory when `node` runs in `stage`.
bool PlanSearch::isThere(int32_t value, int32_t stage, int32_t node) const {
  if (hasRun(graph.producer[value], stage))
    return true;
  const std::vector<Interval> &intervals = held[value];
  size_t at = intervals.size();
  while (at > 0 && intervals[at - 1].begin > stage)
    --at;
  if (at == 0)
    return false;
  const Interval &interval = intervals[at - 1];
  return interval.end > stage ||
         (interval.end == stage && interval.endNode >= node);
}

bool PlanSearch::addTransitively(int32_t node, int32_t stage) {
  // How eagerly missing inputs are held instead: one temper per move.
  struct Temper {
    int64_t holdOf16;
    size_t limit;
  };
  static constexpr Temper tempers[] = {
      {1, 64}, {2, 256}, {2, 8}, {8, 8}, {14, 4}};
  const Temper &temper = tempers[random.below(std::size(tempers))];
  return addTransitively(node, stage, temper.holdOf16, temper.limit);
}

bool PlanSearch::addTransitively(int32_t node, int32_t stage, int64_t hold,
                                 size_t limit) {
  if (hasRun(node, stage))
    return true;
  if (operations.size() >= limit)
    return false;
  addRun(node, stage);
  for (int32_t value : graph.inputs(node)) {
    int32_t producer = graph.producer[value];
    if (graph.pinned[producer] || isThere(value, stage, node))
      continue;
    if (random.below(16) < hold)
      continue; // hold it until here instead
    if (!addTransitively(producer, stage, hold, limit))
      return false;
  }
  return true;
}

/// The distinct stages in [from, to] in which a value is read.
void PlanSearch::collectUses(int32_t value, int32_t from, int32_t to) {
  uses.clear();
  for (int32_t user : graph.users(value)) {
    if (user >= from && user <= to)
      uses.push_back(user);
    for (int32_t stage : runs[user])
      if (stage >= from && stage <= to)
        uses.push_back(stage);
  }
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
}

/// A stage above the budget, or -1 if none is met soon.
int32_t PlanSearch::findOverflow() {
  auto stage = static_cast<int32_t>(random.below(graph.nodes));
  for (int32_t i = 0; i < 1024 && i < graph.nodes; ++i) {
    if (level[stage] > 0)
      return stage;
    if (++stage == graph.nodes)
      stage = 0;
  }
  return -1;
}

bool PlanSearch::drop() {
  int32_t full = currentOver > 0 && random.below(2) == 0 ? findOverflow() : -1;
  int32_t value = -1;
  Interval interval{};
  for (int attempt = 0; attempt < (full < 0 ? 1 : 64) && value < 0; ++attempt) {
    auto candidate = static_cast<int32_t>(random.below(graph.values));
    const std::vector<Interval> &intervals = held[candidate];
    interval = intervals[random.below(intervals.size())];
    bool useful = full < 0 ? interval.end > interval.begin + 1
                           : interval.begin < full && interval.end > full;
    if (useful && graph.bytes[candidate] != 0 &&
        !graph.users(candidate).empty() &&
        !graph.pinned[graph.producer[candidate]])
      value = candidate;
  }
  if (value < 0)
    return false;
  int32_t producer = graph.producer[value];
  collectUses(value, interval.begin, interval.end);
  // What only late reads hold cannot be computed again for them.
  if (uses.empty() || uses.back() <= full)
    return false;
  // A gap: from one event to the next use.
  int32_t stage = -1;
  if (full >= 0) {
    stage = *std::upper_bound(uses.begin(), uses.end(), full);
  } else if (random.below(2) == 0) {
    int32_t previous = interval.begin, longest = 1;
    for (int32_t use : uses) {
      if (use - previous > longest) {
        longest = use - previous;
        stage = use;
      }
      previous = use;
    }
  } else {
    stage = uses[random.below(uses.size())];
  }
  if (stage <= interval.begin || hasRun(producer, stage))
    return false;
  bool done = addTransitively(producer, stage);
  settle();
  return done;
}

bool PlanSearch::keep() {
  if (extra.empty())
    return false;
  Operation run = extra[random.below(extra.size())];
  removeRun(run.node, run.stage);
  settle();
  return true;
}

bool PlanSearch::shift() {
  if (extra.empty())
    return false;
  Operation run = extra[random.below(extra.size())];
  std::span<const int32_t> outputs = graph.outputs(run.node);
  int32_t value = outputs[random.below(outputs.size())];
  const Runs &list = runs[run.node];
  size_t at =
      std::lower_bound(list.begin(), list.end(), run.stage) - list.begin();
  int32_t from = at == 0 ? run.node : list[at - 1];
  int32_t to = at + 1 < list.size() ? list[at + 1] - 1 : graph.nodes - 1;
  collectUses(value, from + 1, to);
  if (uses.empty())
    return false;
  int32_t stage = uses[random.below(uses.size())];
  if (stage == run.stage || hasRun(run.node, stage))
    return false;
  removeRun(run.node, run.stage);
  settle();
  bool done = addTransitively(run.node, stage);
  settle();
  return done;
}

bool PlanSearch::adopt(std::span<const Reruns> guides) {
  const Reruns &guide = guides[random.below(int64_t(guides.size()))];
  // Mostly few stages, sometimes most of them.
  double part = random.unit();
  auto first = static_cast<int32_t>(random.below(graph.nodes));
  auto last = std::min<int32_t>(
      graph.nodes, first + 1 + int32_t(part * part * part * graph.nodes));
  mine.clear();
  for (int32_t stage = first; stage < last; ++stage)
    for (int32_t node : again[stage])
      mine.push_back({stage, node});
  std::span<const Rerun> its(
      std::lower_bound(guide.begin(), guide.end(), Rerun{first, -1}),
      std::lower_bound(guide.begin(), guide.end(), Rerun{last, -1}));
  changes.clear();
  std::set_difference(mine.begin(), mine.end(), its.begin(), its.end(),
                      std::back_inserter(changes));
  for (auto [stage, node] : changes)
    removeRun(node, stage);
  size_t removed = changes.size();
  changes.clear();
  std::set_difference(its.begin(), its.end(), mine.begin(), mine.end(),
                      std::back_inserter(changes));
  for (auto [stage, node] : changes)
    if (!graph.pinned[node])
      addRun(node, stage);
  settle();
  return removed + changes.size() > 0;
}

int32_t PlanSearch::fullestStage() const {
  return static_cast<int32_t>(std::max_element(level.begin(), level.end()) -
                              level.begin());
}

int64_t PlanSearch::relieve(int64_t moves, int32_t width) {
  int64_t spent = 0;
  std::vector<int32_t> candidates;
  while (currentOver > 0 && spent < moves) {
    int32_t full = fullestStage();
    candidates.clear();
    for (int32_t value = 0; value < graph.values; ++value) {
      if (graph.bytes[value] == 0 || graph.pinned[graph.producer[value]])
        continue;
      for (const Interval &interval : held[value])
        if (interval.begin < full && interval.end > full)
          candidates.push_back(value);
    }
    while (static_cast<int32_t>(candidates.size()) > width) {
      size_t at = random.below(candidates.size());
      candidates[at] = candidates.back();
      candidates.pop_back();
    }
    double bestScore = 0;
    std::vector<Operation> best;
    for (int32_t value : candidates)
      for (int64_t hold : {0, 16}) {
        collectUses(value, full, graph.nodes - 1);
        auto next = std::upper_bound(uses.begin(), uses.end(), full);
        if (next == uses.end())
          continue;
        begin();
        int64_t area = currentArea;
        ++spent;
        bool done = addTransitively(graph.producer[value], *next, hold, 64);
        settle();
        double gain = double(area - currentArea);
        double score = gain / (double(currentCost - oldCost) + 0.5);
        if (done && gain > 0 && score > bestScore) {
          bestScore = score;
          best = operations;
        }
        if (!operations.empty())
          undo();
      }
    if (best.empty())
      break;
    begin();
    for (const Operation &operation : best)
      if (operation.added)
        addRun(operation.node, operation.stage);
    settle();
  }
  if (currentOver == 0 && (bestCost < 0 || currentCost < bestCost))
    saveBest();
  return spent;
}

void PlanSearch::saveBest() {
  bestCost = currentCost;
  bestIsCurrent = true;
}

void PlanSearch::anneal(const Schedule &schedule) {
  double weight = schedule.weight;
  int64_t perCycle = std::max<int64_t>(1, schedule.moves / schedule.cycles);
  // Short runs adapt the weight more often.
  int64_t block = std::clamp<int64_t>(schedule.moves / 1000, 1, 64);
  const double cooling = portableLogarithm(schedule.cold / schedule.hot);
  double temperature = schedule.hot;
  for (int64_t move = 0; move < schedule.moves; ++move) {
    if (move % block == 0) {
      double part = double(move % perCycle) / double(perCycle);
      temperature = schedule.hot * portableExponential(cooling * part);
      weight *= currentOver > 0 ? 1.01 : 0.995;
      if (bestCost >= 0 && bestCost <= schedule.target)
        return;
    }
    begin();
    int64_t overBefore = currentOver;
    constexpr double adoptShare = 0.15;
    bool done;
    if (!schedule.guides.empty() && random.unit() < adoptShare)
      done = adopt(schedule.guides);
    else if (int64_t kind = random.below(16); kind < 5)
      done = drop();
    else if (kind < 10)
      done = keep();
    else if (kind < 12)
      done = shift();
    else if (kind < 14)
      done = drop() && keep();
    else
      done = keep() && drop();
    if (!done) {
      if (!operations.empty())
        undo();
      continue;
    }
    double delta = double(currentCost - oldCost) +
                   weight * double(currentOver - overBefore);
    if (delta <= 0 ||
        random.unit() < portableExponential(-delta / temperature)) {
      if (bestIsCurrent && !operations.empty()) {
        // Leaving the best plan: remember it before the change.
        std::vector<Runs> saved = runs;
        bestRuns.swap(saved);
        for (size_t i = operations.size(); i-- > 0;) {
          const Operation &operation = operations[i];
          Runs &list = bestRuns[operation.node];
          auto place =
              std::lower_bound(list.begin(), list.end(), operation.stage);
          if (operation.added)
            list.erase(place);
          else
            list.insert(place, operation.stage);
        }
        bestIsCurrent = false;
      }
      if (currentOver == 0 && (bestCost < 0 || currentCost < bestCost))
        saveBest();
    } else {
      undo();
    }
  }
}
