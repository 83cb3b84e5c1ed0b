//===- RecomputeCases.cpp - the bound of a cut, case by case --------------===//
//
// Best-first branch and bound over the networks of RecomputeCut.h.
//
//===----------------------------------------------------------------------===//

#include "RecomputeCases.h"

#include "RecomputeCut.h"

#include <algorithm>
#include <memory>

using namespace tenon::solver;

namespace {
using Fixing = CutNetwork::Fixing;

class CaseTree {
public:
  CaseTree(const RecomputeGraph &graph, int32_t cut, int64_t budget,
           int64_t enough)
      : graph(graph), network(graph, cut, /*anyOrder=*/false, /*fixable=*/true),
        budget(budget), enough(enough) {
    tree.push_back({-1, -1, true});
    path.assign(network.nodes().size(), Fixing::None);
  }

  /// Splits cases while that can help and there are fewer than `leaves`.
  void grow(size_t leaves, int64_t &flows);
  int64_t bound() const;
  RecomputeCertificate certificate();

private:
  struct Case {
    int32_t parent;
    int32_t fixed; // index of the node that the parent splits
    bool again;    // the side of the parent
    int64_t bound = 0;
    Price price{};
    int32_t split = -1;    // index of a node, or -1
    int32_t children = -1; // the first of two, or -1
  };
  void evaluate(int32_t index, int64_t &flows);
  void follow(int32_t index);
  void write(int32_t index, RecomputeCertificate &result);

  const RecomputeGraph &graph;
  CutNetwork network;
  int64_t budget, enough;
  std::vector<Case> tree;
  std::vector<Fixing> path; // per node of the network
};
} // namespace

/// Fixes what is known in a case.
void CaseTree::follow(int32_t index) {
  std::fill(path.begin(), path.end(), Fixing::None);
  for (; tree[index].parent >= 0; index = tree[index].parent)
    path[tree[index].fixed] = tree[index].again ? Fixing::Again : Fixing::Never;
  network.fix(path);
}

void CaseTree::evaluate(int32_t index, int64_t &flows) {
  follow(index);
  Case &one = tree[index];
  std::vector<CutLine> front;
  int64_t allowance = std::min<int64_t>(flows, 24), before = allowance;
  CutNetwork::Best best = network.bestBound(budget, front, allowance);
  flows -= before - allowance + 2;
  if (best.impossible) {
    one.price = network.exclude(budget, enough);
    one.bound = enough;
    return;
  }
  one.bound = best.bound;
  one.price = best.price;
  // What differs between the two lines around the room: split where most time
  // hangs on it.
  if (best.feasible < 0 || best.feasible + 1 >= int32_t(front.size()))
    return;
  const CutLine &fits = front[best.feasible], &over = front[best.feasible + 1];
  int64_t most = -1;
  for (size_t i = 0; i < path.size(); ++i) {
    int32_t node = network.nodes()[i];
    if (fits.rerun[i] == over.rerun[i] || path[i] != Fixing::None ||
        graph.pinned[node])
      continue;
    if (graph.cost[node] > most) {
      most = graph.cost[node];
      one.split = static_cast<int32_t>(i);
    }
  }
}

void CaseTree::grow(size_t leaves, int64_t &flows) {
  if (tree.size() == 1)
    evaluate(0, flows);
  while (flows > 0 && (tree.size() + 1) / 2 < leaves) {
    int32_t least = -1;
    for (size_t i = 0; i < tree.size(); ++i)
      if (tree[i].children < 0 &&
          (least < 0 || tree[i].bound < tree[least].bound))
        least = static_cast<int32_t>(i);
    if (tree[least].bound >= enough || tree[least].split < 0)
      return;
    auto first = static_cast<int32_t>(tree.size());
    tree[least].children = first;
    tree.push_back({least, tree[least].split, true});
    tree.push_back({least, tree[least].split, false});
    for (int32_t child : {first, first + 1}) {
      evaluate(child, flows);
      // What holds in every case holds in each.
      if (tree[child].bound < tree[least].bound) {
        tree[child].bound = tree[least].bound;
        tree[child].price = tree[least].price;
      }
    }
  }
}

int64_t CaseTree::bound() const {
  int64_t least = INT64_MAX;
  for (const Case &one : tree)
    if (one.children < 0)
      least = std::min(least, one.bound);
  return least;
}

void CaseTree::write(int32_t index, RecomputeCertificate &result) {
  const Case &one = tree[index];
  RecomputeCertificate::Case entry;
  if (one.children >= 0) {
    entry.split = network.nodes()[one.split];
    result.cases.push_back(std::move(entry));
    write(one.children, result);
    write(one.children + 1, result);
    return;
  }
  follow(index);
  network.minimumCut(one.price);
  RecomputeCertificate flow =
      network.certificate(RecomputeCertificate::Kind::GivenOrder);
  entry.numerator = one.price.numerator;
  entry.denominator = one.price.denominator;
  entry.valueFlows = std::move(flow.valueFlows);
  entry.edgeFlows = std::move(flow.edgeFlows);
  result.cases.push_back(std::move(entry));
}

RecomputeCertificate CaseTree::certificate() {
  RecomputeCertificate result;
  result.kind = RecomputeCertificate::Kind::GivenOrder;
  result.cut = network.cutNode();
  write(0, result);
  return result;
}

SeriesProof tenon::solver::improveByCases(const RecomputeGraph &graph,
                                          int64_t budget,
                                          std::span<const int32_t> cuts,
                                          SeriesProof known, int64_t enough,
                                          int64_t flows) {
  // A few leaves at each cut, then more, the best cut first.
  constexpr size_t few = 12, many = 48;
  std::vector<std::unique_ptr<CaseTree>> trees;
  auto best = [&] { return trees.empty() ? 0 : trees.front()->bound(); };
  int64_t each = flows / (2 * static_cast<int64_t>(cuts.size()) + 1);
  for (int32_t cut : cuts) {
    if (best() >= enough)
      break;
    int64_t share = each;
    trees.push_back(std::make_unique<CaseTree>(graph, cut, budget, enough));
    trees.back()->grow(few, share);
    flows -= each - share;
    for (size_t i = trees.size() - 1;
         i > 0 && trees[i]->bound() > trees[i - 1]->bound(); --i)
      std::swap(trees[i], trees[i - 1]);
  }
  for (size_t i = 0; i < trees.size() && best() < enough; ++i) {
    int64_t share = flows / 2;
    flows -= share;
    trees[i]->grow(many, share);
    flows += share;
    if (trees[i]->bound() > best())
      std::swap(trees[0], trees[i]);
  }
  if (best() <= known.bound)
    return known;
  return {best(), trees.front()->certificate()};
}
