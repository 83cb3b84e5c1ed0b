//===- RecomputeCases.cpp - the bound of cuts, case by case ---------------===//
//
// Best-first branch and bound over the windows of RecomputeWindows.h.
//
//===----------------------------------------------------------------------===//

#include "RecomputeCases.h"

#include "RecomputeWindows.h"

#include <algorithm>

using namespace tenon::solver;

namespace {
using Known = Series::Known;

/// The cases of one window: best-first branch and bound.
class CaseTree {
public:
  CaseTree(const RecomputeGraph &graph, Series &series, size_t index)
      : graph(graph), series(series), index(index),
        known(series.window(index).nodes.size() +
              series.window(index).values.size()) {}

  /// The least overhead of all cases, times the scale of the series.
  __int128 overhead() const { return cases[least()].overhead; }
  /// Splits the case of the least overhead; false if that cannot be done.
  bool grow(__int128 most, int64_t &flows);
  size_t leaves() const { return (cases.size() + 1) / 2; }
  /// Where there is one case, its price and flows go into `cut`.
  template <typename Cut>
  void write(Cut &cut, std::vector<RecomputeCertificate::Case> &result);

private:
  struct Case {
    int32_t parent = -1;
    int32_t item = -1; // what the parent splits: a node or value of the window
    bool holds = true; // the side of the parent
    int64_t price = 0;
    __int128 overhead = 0;
    int32_t split = -1;
    int32_t children = -1; // the first of two, or -1
  };
  int32_t least() const;
  void follow(int32_t at);
  void evaluate(int32_t at, __int128 most, int64_t &flows);
  void chooseSplit(Case &one, const Series::Answer &low,
                   const Series::Answer &high);
  void write(int32_t at, __int128 proved,
             std::vector<RecomputeCertificate::Case> &result);

  const RecomputeGraph &graph;
  Series &series;
  size_t index;
  std::vector<Case> cases;
  std::vector<Known> known; // of the present case
};

/// The cases of all windows of a series.
class CaseForest {
public:
  CaseForest(const RecomputeGraph &graph, int64_t budget,
             const RecomputeCertificate &certificate)
      : graph(graph), series(graph, budget, certificate) {
    for (size_t index = 0; index < series.size(); ++index)
      trees.emplace_back(graph, series, index);
  }

  /// Splits cases until their bound is `enough`, that does not help, or there
  /// are `leaves` in each window.
  void grow(size_t leaves, int64_t enough, int64_t &flows);
  int64_t bound() const { return series.boundFor(overhead()); }
  RecomputeCertificate certificate();

private:
  __int128 overhead() const {
    __int128 sum = 0;
    for (const CaseTree &tree : trees)
      sum += tree.overhead();
    return sum;
  }

  const RecomputeGraph &graph;
  Series series;
  std::vector<CaseTree> trees;
};
} // namespace

int32_t CaseTree::least() const {
  int32_t least = -1;
  for (size_t i = 0; i < cases.size(); ++i)
    if (cases[i].children < 0 &&
        (least < 0 || cases[i].overhead < cases[least].overhead))
      least = static_cast<int32_t>(i);
  return least;
}

/// Collects what is known in a case.
void CaseTree::follow(int32_t at) {
  std::fill(known.begin(), known.end(), Known::Nothing);
  for (; cases[at].parent >= 0; at = cases[at].parent)
    known[cases[at].item] = cases[at].holds ? Known::Yes : Known::No;
}

/// Finds the price of a case: the overhead is concave in it, its slope the
/// bytes held beside the room, so the lines of a price that is too low and one
/// that is too high meet above the best.
void CaseTree::evaluate(int32_t at, __int128 most, int64_t &flows) {
  follow(at);
  Case &one = cases[at];
  const int64_t highest = series.highestPrice();
  bool any = false;
  auto ask = [&](int64_t price) {
    Series::Answer answer = series.ask(index, price, known);
    --flows;
    if (!any || answer.overhead > one.overhead) {
      one.overhead = answer.overhead;
      one.price = price;
    }
    any = true;
    return answer;
  };
  int64_t start =
      one.parent < 0 ? series.window(index).price : cases[one.parent].price;
  Series::Answer low = ask(start > 0 ? start : series.likelyPrice(index)), high;
  if (low.slope <= 0) {
    high = std::move(low);
    low = ask(0);
    if (low.slope <= 0)
      return; // it all fits
  }
  while (high.chosen.empty()) {
    // More must be held than there is room: no plan, at a high enough price.
    if (low.price >= highest || one.overhead >= most)
      return;
    Series::Answer next =
        ask(low.price < highest / 4 ? low.price * 4 : highest);
    (next.slope <= 0 ? high : low) = std::move(next);
  }
  for (int step = 0; step < 12; ++step) {
    double between = (double(high.overhead - low.overhead) -
                      high.slope * double(high.price - low.price)) /
                     (low.slope - high.slope);
    int64_t price = low.price + int64_t(between);
    if (price <= low.price || price >= high.price)
      break;
    Series::Answer answer = ask(price);
    double line = double(low.overhead) + low.slope * double(price - low.price);
    bool isCorner =
        double(answer.overhead) <
        line - 1e-10 * double(series.scale()) * double(graph.baseCost + 1);
    (answer.slope <= 0 ? high : low) = std::move(answer);
    if (!isCorner)
      break;
  }
  chooseSplit(one, low, high);
}

/// What differs on both sides of the price: a node where most time hangs on it,
/// or else the largest value.
void CaseTree::chooseSplit(Case &one, const Series::Answer &low,
                           const Series::Answer &high) {
  const Window &window = series.window(index);
  const size_t nodes = window.nodes.size();
  int64_t most = -1;
  for (size_t i = 0; i < known.size(); ++i) {
    if (i == nodes && one.split >= 0)
      return;
    if (low.chosen[i] == high.chosen[i] || known[i] != Known::Nothing ||
        (i < nodes && graph.pinned[window.nodes[i]]))
      continue;
    int64_t weight = i < nodes ? graph.cost[window.nodes[i]]
                               : graph.bytes[window.values[i - nodes]];
    if (weight > most) {
      most = weight;
      one.split = static_cast<int32_t>(i);
    }
  }
}

bool CaseTree::grow(__int128 most, int64_t &flows) {
  if (cases.empty()) {
    cases.emplace_back();
    evaluate(0, most, flows);
    return true;
  }
  const int32_t at = least();
  if (cases[at].split < 0)
    return false;
  const auto first = static_cast<int32_t>(cases.size());
  cases[at].children = first;
  for (bool holds : {true, false}) {
    Case one;
    one.parent = at;
    one.item = cases[at].split;
    one.holds = holds;
    cases.push_back(one);
  }
  for (int32_t child : {first, first + 1}) {
    evaluate(child, most, flows);
    // What holds in every case holds in each.
    if (cases[child].overhead < cases[at].overhead) {
      cases[child].overhead = cases[at].overhead;
      cases[child].price = cases[at].price;
    }
  }
  return true;
}

/// Writes the cases below one, except where it proves enough by itself.
void CaseTree::write(int32_t at, __int128 proved,
                     std::vector<RecomputeCertificate::Case> &result) {
  const Case &one = cases[at];
  const auto nodes = static_cast<int32_t>(series.window(index).nodes.size());
  RecomputeCertificate::Case entry;
  if (one.children >= 0 && one.overhead < proved) {
    if (one.split < nodes)
      entry.split = series.window(index).nodes[one.split];
    else
      entry.held = series.window(index).values[one.split - nodes];
    result.push_back(std::move(entry));
    write(one.children, proved, result);
    write(one.children + 1, proved, result);
    return;
  }
  follow(at);
  series.ask(index, one.price, known);
  entry.numerator = one.price;
  series.writeFlows(index, entry);
  result.push_back(std::move(entry));
}

template <typename Cut>
void CaseTree::write(Cut &cut,
                     std::vector<RecomputeCertificate::Case> &result) {
  write(0, overhead(), result);
  cut.numerator = 0;
  cut.valueFlows.clear();
  cut.edgeFlows.clear();
  if (result.size() > 1)
    return;
  cut.numerator = result[0].numerator;
  cut.valueFlows = std::move(result[0].valueFlows);
  cut.edgeFlows = std::move(result[0].edgeFlows);
  result.clear();
}

void CaseForest::grow(size_t leaves, int64_t enough, int64_t &flows) {
  const __int128 most = __int128(enough - graph.baseCost) * series.scale();
  bool any = true;
  while (any && flows > 0) {
    any = false;
    for (CaseTree &tree : trees)
      if (tree.leaves() < leaves)
        any |= tree.grow(most, flows);
    if (overhead() >= most)
      return;
  }
}

RecomputeCertificate CaseForest::certificate() {
  RecomputeCertificate result = series.certificate();
  trees[0].write(result, result.cases);
  for (size_t k = 1; k < trees.size(); ++k)
    trees[k].write(result.later[k - 1], result.later[k - 1].cases);
  return result;
}

SeriesProof tenon::solver::improveByCases(const RecomputeGraph &graph,
                                          int64_t budget,
                                          std::span<const int32_t> cuts,
                                          SeriesProof known, int64_t enough,
                                          int64_t flows) {
  // A few leaves at each cut, then more, the best cut first.
  constexpr size_t few = 12, many = 48;
  std::vector<std::unique_ptr<CaseForest>> forests;
  auto best = [&] { return forests.empty() ? 0 : forests.front()->bound(); };
  int64_t each = flows / (2 * static_cast<int64_t>(cuts.size()) + 2);
  auto attempt = [&](const RecomputeCertificate &certificate) {
    if (best() >= enough)
      return;
    int64_t share = each;
    forests.push_back(std::make_unique<CaseForest>(graph, budget, certificate));
    forests.back()->grow(few, enough, share);
    flows -= each - share;
    for (size_t i = forests.size() - 1;
         i > 0 && forests[i]->bound() > forests[i - 1]->bound(); --i)
      std::swap(forests[i], forests[i - 1]);
  };
  if (known.certificate.cut >= 0)
    attempt(known.certificate);
  for (int32_t cut : cuts) {
    RecomputeCertificate single;
    single.cut = cut;
    if (cut != known.certificate.cut || !known.certificate.later.empty())
      attempt(single);
  }
  for (size_t i = 0; i < forests.size() && best() < enough; ++i) {
    int64_t share = flows / 2;
    flows -= share;
    forests[i]->grow(many, enough, share);
    flows += share;
    if (forests[i]->bound() > best())
      std::swap(forests[0], forests[i]);
  }
  if (best() <= known.bound)
    return known;
  return {best(), forests.front()->certificate()};
}
