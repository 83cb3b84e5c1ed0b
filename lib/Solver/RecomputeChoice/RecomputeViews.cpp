//===- RecomputeViews.cpp - cases that are seen from several cuts ---------===//
//
// Best-first branch and bound over what runs again; each view is a series of
// one cut (RecomputeWindows.h).
//
//===----------------------------------------------------------------------===//

#include "RecomputeViews.h"

#include "RecomputeCaseTree.h"
#include "RecomputeWindows.h"

#include <algorithm>
#include <array>

using namespace tenon::solver;

namespace {
using Known = Series::Known;

class ViewTree {
public:
  ViewTree(const RecomputeGraph &graph, int64_t budget,
           std::span<const int32_t> cuts);

  /// Splits the case of the least bound; false if that cannot be done.
  bool grow(int64_t enough, int64_t &flows);
  int64_t bound() const { return views[0]->boundFor(cases[least()].overhead); }
  size_t leaves() const { return (cases.size() + 1) / 2; }
  RecomputeCertificate certificate();

private:
  struct Case {
    int32_t parent = -1;
    int32_t node = -1; // what the parent splits
    bool holds = true; // the side of the parent
    size_t view = 0;   // proves most
    int64_t price = 0;
    __int128 overhead = 0;
    std::vector<int32_t> splits; // nodes that may be worth it
    int32_t children = -1;       // the first of two, or -1
  };
  int32_t least() const { return leastLeaf(cases); }
  int32_t cutOf(size_t view) const { return views[view]->window(0).cut; }
  __int128 follow(int32_t at, size_t view);
  void evaluate(int32_t at, __int128 most, int64_t &flows);
  std::vector<int32_t> chooseSplits(size_t view,
                                    const Series::Summit &summit) const;
  Case child(int32_t at, int32_t node, bool holds, __int128 most,
             int64_t &flows);
  void write(int32_t at, RecomputeCertificate::Case &entry);

  const RecomputeGraph &graph;
  std::vector<std::unique_ptr<Series>> views; // by cut
  std::vector<Case> cases;
  std::vector<Known> known; // of the present case and view
};
} // namespace

ViewTree::ViewTree(const RecomputeGraph &graph, int64_t budget,
                   std::span<const int32_t> cuts)
    : graph(graph) {
  std::vector<int32_t> sorted(cuts.begin(), cuts.end());
  std::sort(sorted.begin(), sorted.end());
  for (int32_t cut : sorted) {
    views.push_back(
        std::make_unique<Series>(graph, budget, std::span(&cut, 1)));
    views.back()->chooseUnits();
  }
}

/// Collects what is known in a case of the nodes of a view; returns what the
/// others cost that are known to run again.
__int128 ViewTree::follow(int32_t at, size_t view) {
  const Window &window = views[view]->window(0);
  known.assign(window.nodes.size() + window.values.size(), Known::Nothing);
  __int128 cost = 0;
  for (; cases[at].parent >= 0; at = cases[at].parent) {
    const auto [node, holds] = std::pair(cases[at].node, cases[at].holds);
    auto place =
        std::lower_bound(window.nodes.begin(), window.nodes.end(), node);
    // After a later cut it need not run any more.
    if (place != window.nodes.end() && *place == node)
      known[place - window.nodes.begin()] = !holds ? Known::No
                                            : window.cut == cutOf(0)
                                                ? Known::Yes
                                                : Known::Paid;
    else if (holds)
      cost += __int128(views[view]->scale()) * graph.cost[node];
  }
  return cost;
}

/// Of the nodes whose running again the best price leaves open those on which
/// most time hangs, and of those that run again at any price around it.
std::vector<int32_t>
ViewTree::chooseSplits(size_t view, const Series::Summit &summit) const {
  constexpr size_t most = 2;
  std::vector<int32_t> result;
  if (summit.low.chosen.empty() || summit.high.chosen.empty())
    return result; // it all fits, or nothing does
  const Window &window = views[view]->window(0);
  for (bool isOpen : {true, false}) {
    std::vector<std::pair<int64_t, int32_t>> ranked;
    for (size_t i = 0; i < window.nodes.size(); ++i) {
      const int32_t node = window.nodes[i];
      if (node < cutOf(0) && !graph.pinned[node] &&
          known[i] == Known::Nothing && summit.high.chosen[i] &&
          isOpen == !summit.low.chosen[i])
        ranked.push_back({-graph.cost[node], node});
    }
    std::sort(ranked.begin(), ranked.end());
    for (size_t i = 0; i < ranked.size() && i < most; ++i)
      result.push_back(ranked[i].second);
  }
  return result;
}

void ViewTree::evaluate(int32_t at, __int128 most, int64_t &flows) {
  Case &one = cases[at];
  // The parent's view first.
  const size_t first = one.view;
  for (size_t i = 0; i < views.size(); ++i) {
    const size_t view = i == 0 ? first : i <= first ? i - 1 : i;
    const __int128 cost = follow(at, view);
    Series::Summit summit = views[view]->maximize(
        0, known, view == one.view ? one.price : views[view]->window(0).price,
        most - cost, flows);
    if (i > 0 && summit.overhead + cost <= one.overhead)
      continue;
    one.overhead = summit.overhead + cost;
    one.view = view;
    one.price = summit.price;
    one.splits = chooseSplits(view, summit);
    if (one.overhead >= most)
      return;
  }
}

bool ViewTree::grow(int64_t enough, int64_t &flows) {
  const __int128 most = __int128(enough - graph.baseCost) * views[0]->scale();
  if (cases.empty()) {
    cases.emplace_back();
    evaluate(0, most, flows);
    return true;
  }
  const int32_t at = least();
  // The split of which the lesser case proves most.
  std::array<Case, 2> best;
  for (int32_t node : cases[at].splits) {
    std::array<Case, 2> both;
    for (bool holds : {true, false})
      both[holds ? 0 : 1] = child(at, node, holds, most, flows);
    auto rank = [](const std::array<Case, 2> &pair) {
      return std::pair(std::min(pair[0].overhead, pair[1].overhead),
                       std::max(pair[0].overhead, pair[1].overhead));
    };
    if (best[0].node < 0 || rank(both) > rank(best))
      best = std::move(both);
  }
  if (best[0].node < 0)
    return false;
  cases[at].children = static_cast<int32_t>(cases.size());
  for (Case &one : best)
    cases.push_back(std::move(one));
  return true;
}

/// One side of a split.
ViewTree::Case ViewTree::child(int32_t at, int32_t node, bool holds,
                               __int128 most, int64_t &flows) {
  Case one = cases[at];
  one.parent = at;
  one.node = node;
  one.holds = holds;
  cases.push_back(std::move(one));
  evaluate(static_cast<int32_t>(cases.size()) - 1, most, flows);
  one = std::move(cases.back());
  cases.pop_back();
  // What holds in every case holds in each.
  if (one.overhead < cases[at].overhead) {
    one.overhead = cases[at].overhead;
    one.view = cases[at].view;
    one.price = cases[at].price;
  }
  return one;
}

/// What a case proves by itself.
void ViewTree::write(int32_t at, RecomputeCertificate::Case &entry) {
  const Case &one = cases[at];
  follow(at, one.view);
  Series &view = *views[one.view];
  view.evaluate({0, 1, {known}}, {{one.price}, view.bestPrices(0, 1).values});
  view.writeFlows(0, entry);
  if (one.view > 0)
    entry.at = cutOf(one.view);
}

RecomputeCertificate ViewTree::certificate() {
  RecomputeCertificate result;
  result.kind = RecomputeCertificate::Kind::GivenOrder;
  result.denominator = views[0]->scale();
  result.cut = cutOf(0);
  listCases(
      cases, 0, cases[least()].overhead,
      [&](const Case &one, RecomputeCertificate::Case &entry) {
        entry.split = cases[one.children].node;
      },
      [&](int32_t at, RecomputeCertificate::Case &entry) { write(at, entry); },
      result.cases);
  if (result.cases.size() == 1) {
    if (result.cases[0].at >= 0)
      result.cut = result.cases[0].at;
    static_cast<RecomputeFlow &>(result) = std::move(result.cases[0]);
    result.cases.clear();
  }
  return result;
}

SeriesProof tenon::solver::improveByViews(const RecomputeGraph &graph,
                                          int64_t budget,
                                          std::span<const int32_t> cuts,
                                          SeriesProof known, int64_t enough,
                                          int64_t flows) {
  constexpr size_t most = 32; // leaves
  if (cuts.empty() || !Series::canScale(graph))
    return known;
  ViewTree tree(graph, budget, cuts);
  tree.grow(enough, flows);
  while (tree.bound() < enough && tree.leaves() < most && flows > 0 &&
         tree.grow(enough, flows))
    continue;
  if (tree.bound() <= known.bound)
    return known;
  return {tree.bound(), tree.certificate()};
}
