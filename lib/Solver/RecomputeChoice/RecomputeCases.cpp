//===- RecomputeCases.cpp - the bound of cuts, case by case ---------------===//
//
// Best-first branch and bound over the windows of RecomputeWindows.h.
//
//===----------------------------------------------------------------------===//

#include "RecomputeCases.h"

#include "RecomputeCaseTree.h"
#include "RecomputeWindows.h"

#include <algorithm>

using namespace tenon::solver;

namespace {
using Known = Series::Known;

/// Leaves for a first look, and for what looks best.
constexpr size_t few = 12, many = 48;

/// The cases of one window, or of some neighbouring ones that are looked at
/// together: best-first branch and bound.
class CaseTree {
public:
  CaseTree(const RecomputeGraph &graph, Series &series, size_t first,
           size_t count)
      : graph(&graph), series(&series), range{first, count, {}} {
    for (size_t i = 0; i < count; ++i)
      range.known.emplace_back(itemCount(i));
  }

  /// The least overhead of all cases, times the scale of the series.
  __int128 overhead() const { return cases[least()].overhead; }
  /// Looks for better prices of the case of the least overhead, or splits it
  /// where that was done; false if that cannot be done.
  bool grow(__int128 most, int64_t &flows);
  bool canGrow() const {
    if (cases.empty())
      return true;
    const Case &one = cases[least()];
    return !one.isClimbed || one.split.index >= 0;
  }
  size_t leaves() const { return (cases.size() + 1) / 2; }
  size_t first() const { return range.first; }
  size_t count() const { return range.count; }
  /// The same cases in a series that differs elsewhere; none where it differs
  /// here as well.
  void moveTo(Series &other, size_t first);
  /// The moments after the windows' cuts that are fuller than the budget if
  /// what the least case runs again is there only from its next reader on, the
  /// fullest first.
  std::vector<int32_t> fullMoments(std::span<const int64_t> fullness,
                                   int64_t budget) const;
  /// Where there is one case, its price and flows go into `cut`.
  void write(RecomputeFlow &cut,
             std::vector<RecomputeCertificate::Case> &result);

private:
  /// A node or value of one of the windows.
  struct Item {
    size_t window = 0;
    int32_t index = -1;
  };
  struct Case {
    int32_t parent = -1;
    Item item;         // what the parent splits
    bool holds = true; // the side of the parent
    __int128 overhead = 0;
    Series::Prices prices;
    Item split;
    bool isSeen = false;    // its prices were looked for,
    bool isClimbed = false; // and at length
    int32_t children = -1;  // the first of two, or -1
    /// Per window and node: whether it runs again.
    std::vector<std::vector<char>> rerun;
  };
  size_t itemCount(size_t window) const {
    const Window &one = series->window(range.first + window);
    return one.nodes.size() + one.values.size();
  }
  int32_t least() const { return leastLeaf(cases); }
  void follow(int32_t at);
  void evaluate(int32_t at, __int128 most, int64_t &flows);
  void chooseSplit(Case &one, std::span<const std::vector<double>> shares);
  void writeSplit(const Case &one, RecomputeCertificate::Case &entry) const;
  void write(int32_t at, RecomputeCertificate::Case &entry);

  const RecomputeGraph *graph;
  Series *series;
  Series::Range range; // what is known is of the present case
  std::vector<Case> cases;
};

/// The cases of all windows of a series.
class CaseForest {
public:
  CaseForest(const RecomputeGraph &graph, int64_t budget,
             const RecomputeCertificate &certificate, int64_t enough,
             bool inUnits)
      : graph(graph), budget(budget),
        series(std::make_unique<Series>(graph, budget, certificate)) {
    if (inUnits)
      series->chooseUnits();
    if (inUnits && series->size() > 1)
      series->improve(60, enough);
    for (size_t index = 0; index < series->size(); ++index)
      trees.emplace_back(graph, *series, index, 1);
  }

  /// Splits cases until their bound is `enough`, that does not help, or there
  /// are `leaves` in each window.
  void grow(size_t leaves, int64_t enough, int64_t &flows);
  /// Looks for moments at which what is known of the cut before has to be known
  /// as well.
  void join(std::span<const int64_t> fullness, size_t leaves, int64_t enough,
            int64_t &flows);
  int64_t bound() const { return series->boundFor(overhead()); }
  RecomputeCertificate certificate();

private:
  __int128 overhead() const {
    __int128 sum = 0;
    for (const CaseTree &tree : trees)
      sum += tree.overhead();
    return sum;
  }

  const RecomputeGraph &graph;
  int64_t budget;
  std::unique_ptr<Series> series;
  std::vector<CaseTree> trees;
};
} // namespace

/// Collects what is known in a case.
void CaseTree::follow(int32_t at) {
  for (std::vector<Known> &known : range.known)
    std::fill(known.begin(), known.end(), Known::Nothing);
  for (; cases[at].parent >= 0; at = cases[at].parent)
    range.known[cases[at].item.window][cases[at].item.index] =
        cases[at].holds ? Known::Yes : Known::No;
}

/// Prices of several windows are looked for briefly the first time and at
/// length the second, which most cases never see.
void CaseTree::evaluate(int32_t at, __int128 most, int64_t &flows) {
  follow(at);
  Case &one = cases[at];
  one.isClimbed = range.count == 1 || one.isSeen;
  one.isSeen = true;
  one.split = Item();
  one.rerun.clear();
  std::vector<std::vector<double>> shares;
  if (range.count > 1) {
    const int rounds = (one.isClimbed ? 80 : 20) * (at == 0 ? 3 : 1);
    one.prices.overhead = series->evaluate(range, one.prices);
    series->climb(range, rounds, most, one.prices, &shares, flows);
    one.overhead = one.prices.overhead;
  } else {
    Series::Prices &prices = one.prices;
    Series::Summit summit = series->maximize(range.first, range.known[0],
                                             prices.bytes[0], most, flows);
    one.overhead = summit.overhead;
    prices.bytes[0] = summit.price;
    if (summit.high.chosen.empty() || summit.low.chosen.empty())
      return; // it all fits, or nothing does
    std::vector<double> &share = shares.emplace_back();
    for (size_t i = 0; i < summit.low.chosen.size(); ++i)
      share.push_back((summit.low.chosen[i] + summit.high.chosen[i]) / 2.0);
  }
  for (size_t i = 0; i < range.count; ++i) {
    std::vector<char> &rerun = one.rerun.emplace_back();
    for (size_t j = 0; j < series->window(range.first + i).nodes.size(); ++j)
      rerun.push_back(shares[i][j] > 0.5);
  }
  if (one.overhead < most)
    chooseSplit(one, shares);
}

/// What the prices leave open: a node on which most time hangs, or else the
/// largest value.
void CaseTree::chooseSplit(Case &one,
                           std::span<const std::vector<double>> shares) {
  for (bool isNode : {true, false}) {
    double most = 0;
    for (size_t k = 0; k < range.count; ++k) {
      const Window &window = series->window(range.first + k);
      const size_t nodes = window.nodes.size();
      for (size_t i = isNode ? 0 : nodes; i < (isNode ? nodes : itemCount(k));
           ++i) {
        const double open = std::min(shares[k][i], 1 - shares[k][i]);
        if (open < 0.1 || range.known[k][i] != Known::Nothing ||
            (isNode && graph->pinned[window.nodes[i]]))
          continue;
        double weight =
            open * double(isNode ? graph->cost[window.nodes[i]]
                                 : graph->bytes[window.values[i - nodes]]);
        if (weight > most) {
          most = weight;
          one.split = {k, static_cast<int32_t>(i)};
        }
      }
    }
    if (most > 0)
      return;
  }
}

bool CaseTree::grow(__int128 most, int64_t &flows) {
  if (cases.empty()) {
    cases.emplace_back();
    cases[0].prices = series->bestPrices(range.first, range.count);
    evaluate(0, most, flows);
    return true;
  }
  const int32_t at = least();
  if (!cases[at].isClimbed) {
    const __int128 before = cases[at].overhead;
    evaluate(at, most, flows);
    cases[at].overhead = std::max(before, cases[at].overhead);
    return true;
  }
  if (cases[at].split.index < 0)
    return false;
  const auto first = static_cast<int32_t>(cases.size());
  cases[at].children = first;
  for (bool holds : {true, false}) {
    Case one;
    one.parent = at;
    one.item = cases[at].split;
    one.holds = holds;
    one.prices = cases[at].prices;
    cases.push_back(std::move(one));
  }
  for (int32_t child : {first, first + 1}) {
    evaluate(child, most, flows);
    // What holds in every case holds in each.
    if (cases[child].overhead < cases[at].overhead) {
      cases[child].overhead = cases[at].overhead;
      cases[child].prices = cases[at].prices;
    }
  }
  return true;
}

void CaseTree::moveTo(Series &other, size_t first) {
  bool same = true;
  for (size_t i = 0; i < range.count; ++i) {
    const Window &a = series->window(range.first + i);
    const Window &b = other.window(first + i);
    same &= a.nodes == b.nodes && a.values == b.values;
  }
  series = &other;
  range.first = first;
  if (same)
    return;
  cases.clear();
  for (size_t i = 0; i < range.count; ++i)
    range.known[i].assign(itemCount(i), Known::Nothing);
}

std::vector<int32_t> CaseTree::fullMoments(std::span<const int64_t> fullness,
                                           int64_t budget) const {
  std::vector<std::pair<int64_t, int32_t>> ranked;
  const Case &one = cases[least()];
  for (size_t k = 0; k < one.rerun.size(); ++k) {
    const Window &window = series->window(range.first + k);
    // Freed from the cut to the next reader.
    std::vector<int64_t> freed(window.until - window.cut + 1, 0);
    for (size_t i = 0; i < window.nodes.size(); ++i)
      for (int32_t value : graph->outputs(window.nodes[i])) {
        std::span<const int32_t> users = graph->users(value);
        if (!one.rerun[k][i] || users.empty() || users.back() <= window.cut)
          continue;
        int32_t next =
            *std::upper_bound(users.begin(), users.end(), window.cut);
        freed[std::min(next, window.until) - window.cut] += graph->bytes[value];
      }
    int64_t sum = 0;
    for (int32_t node = window.until - 1; node > window.cut; --node) {
      sum += freed[node + 1 - window.cut];
      ranked.push_back({budget + sum - fullness[node], node});
    }
  }
  std::vector<int32_t> result;
  auto take = [&](size_t count) {
    std::sort(ranked.begin(), ranked.end());
    for (auto [excess, node] : ranked)
      if (count > 0 && excess < 0 &&
          std::find(result.begin(), result.end(), node) == result.end()) {
        result.push_back(node);
        --count;
      }
  };
  take(2);
  for (auto &[excess, node] : ranked)
    excess = budget - fullness[node];
  take(2);
  return result;
}

/// What a case tells apart.
void CaseTree::writeSplit(const Case &one,
                          RecomputeCertificate::Case &entry) const {
  const Window &window = series->window(range.first + one.split.window);
  const auto nodes = static_cast<int32_t>(window.nodes.size());
  if (one.split.index < nodes)
    entry.split = window.nodes[one.split.index];
  else
    entry.held = window.values[one.split.index - nodes];
  if (one.split.window > 0)
    entry.at = window.cut;
}

/// What a case proves by itself.
void CaseTree::write(int32_t at, RecomputeCertificate::Case &entry) {
  follow(at);
  series->evaluate(range, cases[at].prices);
  for (size_t i = 0; i < range.count; ++i) {
    if (i == 0)
      series->writeFlows(range.first, entry);
    else
      series->writePart(range.first + i, entry.joined.emplace_back());
  }
}

void CaseTree::write(RecomputeFlow &cut,
                     std::vector<RecomputeCertificate::Case> &result) {
  listCases(
      cases, 0, overhead(),
      [&](const Case &one, RecomputeCertificate::Case &entry) {
        writeSplit(one, entry);
      },
      [&](int32_t at, RecomputeCertificate::Case &entry) { write(at, entry); },
      result);
  cut = RecomputeFlow();
  if (result.size() > 1 || range.count > 1)
    return;
  cut = std::move(result[0]);
  result.clear();
}

void CaseForest::grow(size_t leaves, int64_t enough, int64_t &flows) {
  const __int128 most = __int128(enough - graph.baseCost) * series->scale();
  for (CaseTree &tree : trees)
    if (tree.leaves() == 0)
      tree.grow(most, flows);
  bool any = true;
  while (any && flows > 0) {
    any = false;
    for (CaseTree &tree : trees)
      if (tree.leaves() < leaves)
        any |= tree.grow(most - (overhead() - tree.overhead()), flows);
    if (overhead() >= most)
      return;
  }
}

void CaseForest::join(std::span<const int64_t> fullness, size_t leaves,
                      int64_t enough, int64_t &flows) {
  const __int128 most = __int128(enough - graph.baseCost) * series->scale();
  for (bool any = true; any && flows > 0 && overhead() < most;) {
    any = false;
    for (size_t index = 0; index < trees.size(); ++index) {
      const CaseTree &tree = trees[index];
      const __int128 goal = most - (overhead() - tree.overhead());
      auto growTo = [&](CaseTree &one, size_t count) {
        while (one.leaves() < count && flows > 0 && one.grow(goal, flows) &&
               one.overhead() < goal)
          continue;
      };
      auto isFar = [&](const CaseTree &one, double share) {
        return double(one.overhead()) < (1 - share) * double(tree.overhead());
      };
      std::unique_ptr<Series> bestSeries;
      std::optional<CaseTree> best;
      for (int32_t cut : tree.fullMoments(fullness, budget)) {
        if (flows <= 0 || overhead() >= most)
          break;
        size_t place = tree.first();
        while (place < series->size() && series->window(place).cut < cut)
          ++place;
        series->evaluateBest();
        auto longer = std::make_unique<Series>(*series, place, cut);
        CaseTree joined(graph, *longer, tree.first(), tree.count() + 1);
        // A brief look, then a longer one.
        joined.grow(goal, flows);
        if (isFar(joined, 0.3))
          continue;
        joined.grow(goal, flows);
        if (best && joined.overhead() <= best->overhead())
          continue;
        best.emplace(std::move(joined));
        bestSeries = std::move(longer);
      }
      if (!best || isFar(*best, 0.05))
        continue;
      growTo(*best, few);
      if (best->overhead() > tree.overhead())
        growTo(*best, leaves);
      if (best->overhead() <= tree.overhead())
        continue;
      any = true;
      for (size_t i = 0; i < trees.size(); ++i)
        if (i != index)
          trees[i].moveTo(*bestSeries, trees[i].first() + (i > index ? 1 : 0));
      trees[index] = std::move(*best);
      series = std::move(bestSeries);
      for (CaseTree &tree : trees)
        while (tree.leaves() == 0 && tree.grow(most, flows))
          continue;
    }
  }
}

RecomputeCertificate CaseForest::certificate() {
  const RecomputeCertificate whole = series->certificate();
  RecomputeCertificate result = whole;
  result.later.clear();
  for (CaseTree &tree : trees) {
    if (tree.first() == 0)
      tree.write(result, result.cases);
    else
      tree.write(result.later.emplace_back(whole.later[tree.first() - 1]),
                 result.later.back().cases);
  }
  return result;
}

SeriesProof tenon::solver::improveByCases(const RecomputeGraph &graph,
                                          int64_t budget,
                                          std::span<const int64_t> fullness,
                                          std::span<const int32_t> cuts,
                                          SeriesProof known, int64_t enough,
                                          int64_t flows, int64_t joinFlows) {
  // A few leaves at each cut, then more, the best cut first.
  std::vector<std::unique_ptr<CaseForest>> forests;
  auto best = [&] { return forests.empty() ? 0 : forests.front()->bound(); };
  int64_t each = flows / (2 * static_cast<int64_t>(cuts.size()) + 2);
  auto attempt = [&](const RecomputeCertificate &certificate, bool inUnits) {
    if (best() >= enough)
      return;
    int64_t share = each;
    forests.push_back(std::make_unique<CaseForest>(graph, budget, certificate,
                                                   enough, inUnits));
    forests.back()->grow(few, enough, share);
    flows -= each - share;
    for (size_t i = forests.size() - 1;
         i > 0 && forests[i]->bound() > forests[i - 1]->bound(); --i)
      std::swap(forests[i], forests[i - 1]);
  };
  // A series has prices of values that may suit bytes better than units.
  if (known.certificate.cut >= 0)
    for (bool inUnits : {true, false})
      if (inUnits || !known.certificate.later.empty())
        attempt(known.certificate, inUnits);
  for (int32_t cut : cuts) {
    RecomputeCertificate single;
    single.cut = cut;
    if (cut != known.certificate.cut || !known.certificate.later.empty())
      attempt(single, true);
  }
  for (size_t i = 0; i < std::min<size_t>(forests.size(), 2) && best() < enough;
       ++i) {
    int64_t share = flows / 2;
    flows -= share;
    forests[i]->grow(many, enough, share);
    flows += share;
    if (forests[i]->bound() > best())
      std::swap(forests[0], forests[i]);
  }
  // Joining is dear: only while the bound is far from the plan, by more than
  // 5 % of the extra cost and 0.05 % of the whole.
  const int64_t extra = enough - graph.baseCost;
  const int64_t near =
      graph.baseCost +
      int64_t((double(extra) - 0.0005 * double(graph.baseCost)) / 1.05);
  if (!forests.empty() && best() < near)
    forests.front()->join(fullness, many, near, joinFlows);
  if (best() <= known.bound)
    return known;
  return {best(), forests.front()->certificate()};
}
