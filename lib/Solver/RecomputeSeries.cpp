//===- RecomputeSeries.cpp - the bound of several cuts together -----------===//
//
// The networks of a series with their prices, the subgradient steps, and the
// search for the cuts. Prices are integers over one denominator, so that the
// certificate is exact.
//
//===----------------------------------------------------------------------===//

#include "RecomputeSeries.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

using namespace tenon::solver;

namespace {
/// The network of one window: as in RecomputeCut.h, but what is read from it is
/// limited to the window, and values may have prices.
struct Window {
  int32_t cut, until;
  int64_t room;
  std::vector<int32_t> values, nodes;
  std::vector<char> needed;  // per value: read in this window
  std::vector<int32_t> slot; // value of the graph -> index here, or -1
  /// Per value: its index in the next window if holding it there is tied to
  /// having it here, else -1; and the same towards the window before.
  std::vector<int32_t> inNext, inPrevious;
  std::vector<RecomputeProblem::Edge> edges;
  // Arcs in this order: values (hold), nodes (rerun), edges, values (read).
  FlowNetwork network;
  double meanBytes = 1;

  int64_t price = 0;                // per byte held at the cut
  std::vector<int64_t> valuePrices; // per value: being held here
};

struct Prices {
  std::vector<int64_t> bytes;
  std::vector<std::vector<int64_t>> values;
};

class Series {
public:
  Series(const RecomputeGraph &graph, int64_t budget,
         std::span<const int32_t> cuts);

  /// Subgradient steps from the present prices; keeps the best ones met.
  void improve(int rounds, int64_t upper);
  int64_t bound() const;
  RecomputeCertificate certificate();

private:
  struct Slopes {
    std::vector<double> bytes;
    std::vector<std::vector<double>> values;
  };
  void build(Window &window, const Window *next);
  __int128 evaluate(Slopes *slopes);

  const RecomputeGraph &graph;
  int64_t denominator, mostValuePrice;
  std::vector<std::unique_ptr<Window>> windows;
  Prices best;
  __int128 bestOverhead = 0;
};
} // namespace

Series::Series(const RecomputeGraph &graph, int64_t budget,
               std::span<const int32_t> cuts)
    : graph(graph) {
  // Finite capacities add up to less than 2^62.
  denominator =
      std::max<int64_t>(1, int64_t(2e16 / double(graph.baseCost + 1)));
  mostValuePrice = int64_t(5e17) / (graph.values + 1);
  windows.resize(cuts.size());
  for (size_t k = cuts.size(); k-- > 0;) {
    windows[k] = std::make_unique<Window>();
    Window &window = *windows[k];
    window.cut = cuts[k];
    window.until = k + 1 < cuts.size() ? cuts[k + 1] : graph.nodes - 1;
    window.room = budget - graph.workingSet(window.cut);
    build(window, k + 1 < cuts.size() ? windows[k + 1].get() : nullptr);
  }
  for (const auto &window : windows) {
    best.bytes.push_back(0);
    best.values.emplace_back(window->values.size(), 0);
  }
}

void Series::build(Window &window, const Window *next) {
  enum : char { No, Reachable, Needed };
  std::vector<char> wanted(graph.values, No), present(graph.values, 0);
  std::vector<char> inNetwork(graph.nodes, 0);
  for (int32_t value : graph.inputs(window.cut))
    present[value] = 1;
  for (int32_t value = 0; value < graph.values; ++value) {
    if (graph.producer[value] >= window.cut || present[value])
      continue;
    std::span<const int32_t> users = graph.users(value);
    auto user = std::upper_bound(users.begin(), users.end(), window.cut);
    if (user != users.end() && *user <= window.until)
      wanted[value] = Needed;
    else if (next && next->slot[value] >= 0)
      wanted[value] = Reachable;
    if (wanted[value] != No)
      inNetwork[graph.producer[value]] = 1;
  }
  for (int32_t node = window.cut - 1; node >= 0; --node)
    if (inNetwork[node])
      for (int32_t value : graph.inputs(node))
        if (!present[value]) {
          wanted[value] = std::max<char>(wanted[value], Reachable);
          inNetwork[graph.producer[value]] = 1;
        }
  std::vector<int32_t> vertex(graph.nodes, -1);
  window.slot.assign(graph.values, -1);
  double bytes = 0;
  for (int32_t value = 0; value < graph.values; ++value)
    if (wanted[value] != No) {
      window.slot[value] = static_cast<int32_t>(window.values.size());
      window.values.push_back(value);
      window.needed.push_back(wanted[value] == Needed);
      window.inNext.push_back(
          next && wanted[value] != Needed ? next->slot[value] : -1);
      bytes += double(graph.bytes[value]);
    }
  auto valueCount = static_cast<int32_t>(window.values.size());
  window.meanBytes = std::max(1.0, bytes / std::max(1, valueCount));
  window.inPrevious.assign(valueCount, -1);
  window.valuePrices.assign(valueCount, 0);
  for (int32_t node = 0; node < window.cut; ++node)
    if (inNetwork[node]) {
      vertex[node] = 2 + valueCount + static_cast<int32_t>(window.nodes.size());
      window.nodes.push_back(node);
    }
  FlowNetwork &network = window.network;
  network.reset(2 + valueCount + static_cast<int32_t>(window.nodes.size()));
  for (int32_t i = 0; i < valueCount; ++i)
    network.addArc(2 + i, vertex[graph.producer[window.values[i]]]);
  for (int32_t node : window.nodes)
    network.addArc(vertex[node], FlowNetwork::sink);
  for (int32_t node : window.nodes)
    for (int32_t value : graph.inputs(node))
      if (window.slot[value] >= 0) {
        network.addArc(vertex[node], 2 + window.slot[value]);
        window.edges.push_back({value, node});
      }
  for (int32_t i = 0; i < valueCount; ++i)
    network.addArc(FlowNetwork::source, 2 + i);
  network.build();
  // Ties are known from the earlier window; tell the later one.
  if (next) {
    Window &later = const_cast<Window &>(*next);
    for (int32_t i = 0; i < valueCount; ++i)
      if (window.inNext[i] >= 0)
        later.inPrevious[window.inNext[i]] = i;
  }
}

/// The overhead that the present prices prove, times the denominator, and which
/// way each price should go.
__int128 Series::evaluate(Slopes *slopes) {
  __int128 overhead = 0;
  std::vector<std::vector<char>> available(windows.size());
  for (size_t k = 0; k < windows.size(); ++k) {
    Window &window = *windows[k];
    FlowNetwork &network = window.network;
    int32_t arc = 0;
    const size_t count = window.values.size();
    for (size_t i = 0; i < count; ++i)
      network.setCapacity(arc++, window.price * graph.bytes[window.values[i]] +
                                     window.valuePrices[i]);
    for (int32_t node : window.nodes)
      network.setCapacity(arc++, graph.pinned[node]
                                     ? FlowNetwork::unlimited
                                     : denominator * graph.cost[node]);
    for (size_t i = 0; i < window.edges.size(); ++i)
      network.setCapacity(arc++, FlowNetwork::unlimited);
    for (size_t i = 0; i < count; ++i)
      network.setCapacity(arc++,
                          window.needed[i] ? FlowNetwork::unlimited
                          : window.inNext[i] >= 0
                              ? windows[k + 1]->valuePrices[window.inNext[i]]
                              : 0);
    overhead += network.maximize() - __int128(window.price) * window.room;
    for (int64_t price : window.valuePrices)
      overhead -= price;
    if (!slopes)
      continue;
    std::vector<char> rerun(graph.nodes, 0);
    auto first = static_cast<int32_t>(2 + count);
    for (size_t i = 0; i < window.nodes.size(); ++i)
      rerun[window.nodes[i]] =
          !network.reachesSink(first + static_cast<int32_t>(i));
    available[k].resize(count);
    double held = 0;
    for (size_t i = 0; i < count; ++i) {
      int32_t value = window.values[i];
      bool there = !network.reachesSink(static_cast<int32_t>(2 + i));
      bool holds = there && !rerun[graph.producer[value]];
      available[k][i] = there;
      if (holds)
        held += double(graph.bytes[value]);
      int32_t before = window.inPrevious[i];
      slopes->values[k][i] =
          before < 0 ? 0 : double(holds) - double(available[k - 1][before]);
    }
    slopes->bytes[k] = (held - double(window.room)) / window.meanBytes;
  }
  return overhead;
}

void Series::improve(int rounds, int64_t upper) {
  const size_t count = windows.size();
  const double scale = double(denominator);
  // Real-valued prices, in cost units; the price of bytes per mean value.
  std::vector<double> bytes(count), bytesDrift(count, 0), bestBytes;
  std::vector<std::vector<double>> values(count), drift(count), bestValues;
  Slopes slopes{std::vector<double>(count), {}};
  int64_t mostBytes = 1;
  for (int32_t value = 0; value < graph.values; ++value)
    mostBytes += graph.bytes[value];
  for (size_t k = 0; k < count; ++k) {
    Window &window = *windows[k];
    bytes[k] = double(best.bytes[k]) / scale * window.meanBytes;
    if (best.bytes[k] == 0)
      bytes[k] = 0.05 * double(graph.baseCost + 1) * window.meanBytes /
                 double(std::max<int64_t>(1, window.room) * int64_t(count));
    values[k].assign(window.values.size(), 0);
    for (size_t i = 0; i < values[k].size(); ++i)
      values[k][i] = double(best.values[k][i]) / scale;
    drift[k].assign(window.values.size(), 0);
    slopes.values.emplace_back(window.values.size(), 0);
  }
  bestBytes = bytes;
  bestValues = values;
  double length = 1;
  int stalled = 0;
  for (int round = 0; round < rounds; ++round) {
    for (size_t k = 0; k < count; ++k) {
      Window &window = *windows[k];
      double price = bytes[k] / window.meanBytes * scale;
      window.price = int64_t(std::min(price, 5e17 / double(mostBytes)));
      for (size_t i = 0; i < values[k].size(); ++i)
        window.valuePrices[i] =
            int64_t(std::min(values[k][i] * scale, double(mostValuePrice)));
    }
    __int128 overhead = evaluate(&slopes);
    if (overhead > bestOverhead) {
      bool clearly = double(overhead - bestOverhead) >
                     1e-6 * scale * double(graph.baseCost + 1);
      stalled = clearly ? 0 : stalled + 1;
      bestOverhead = overhead;
      bestBytes = bytes;
      bestValues = values;
      for (size_t k = 0; k < count; ++k) {
        best.bytes[k] = windows[k]->price;
        best.values[k] = windows[k]->valuePrices;
      }
    } else {
      ++stalled;
    }
    if (stalled >= 8) {
      stalled = 0;
      length *= 0.7;
      bytes = bestBytes;
      values = bestValues;
      if (length < 1e-3)
        break;
    }
    // Polyak's step along a direction that remembers earlier ones.
    constexpr double memory = 0.7;
    double norm = 1e-9;
    for (size_t k = 0; k < count; ++k) {
      bytesDrift[k] = memory * bytesDrift[k] + (1 - memory) * slopes.bytes[k];
      norm += bytesDrift[k] * bytesDrift[k];
      for (size_t i = 0; i < drift[k].size(); ++i) {
        drift[k][i] = memory * drift[k][i] + (1 - memory) * slopes.values[k][i];
        norm += drift[k][i] * drift[k][i];
      }
    }
    double missing = double(upper - graph.baseCost) - double(overhead) / scale;
    double step = length * std::max(missing, 1e-6) / norm;
    for (size_t k = 0; k < count; ++k) {
      bytes[k] = std::max(0.0, bytes[k] + step * bytesDrift[k]);
      for (size_t i = 0; i < drift[k].size(); ++i)
        values[k][i] = std::max(0.0, values[k][i] + step * drift[k][i]);
    }
  }
  for (size_t k = 0; k < count; ++k) {
    windows[k]->price = best.bytes[k];
    windows[k]->valuePrices = best.values[k];
  }
}

int64_t Series::bound() const {
  if (bestOverhead <= 0)
    return graph.baseCost;
  return graph.baseCost +
         int64_t((bestOverhead + denominator - 1) / denominator);
}

RecomputeCertificate Series::certificate() {
  evaluate(nullptr);
  RecomputeCertificate result;
  result.kind = RecomputeCertificate::Kind::GivenOrder;
  result.denominator = denominator;
  for (size_t k = 0; k < windows.size(); ++k) {
    const Window &window = *windows[k];
    RecomputeCertificate::Cut cut;
    cut.cut = window.cut;
    cut.numerator = window.price;
    int32_t arc = 0;
    for (size_t i = 0; i < window.values.size(); ++i) {
      if (window.valuePrices[i] > 0)
        cut.prices.push_back({window.values[i], window.valuePrices[i]});
      if (int64_t flow = window.network.flow(arc++); flow > 0)
        cut.valueFlows.push_back({window.values[i], flow});
    }
    arc += static_cast<int32_t>(window.nodes.size());
    for (auto [value, consumer] : window.edges)
      if (int64_t flow = window.network.flow(arc++); flow > 0)
        cut.edgeFlows.push_back({value, consumer, flow});
    if (k == 0) {
      result.cut = cut.cut;
      result.numerator = cut.numerator;
      result.valueFlows = std::move(cut.valueFlows);
      result.edgeFlows = std::move(cut.edgeFlows);
    } else {
      result.later.push_back(std::move(cut));
    }
  }
  return result;
}

SeriesProof tenon::solver::improveBySeries(const RecomputeGraph &graph,
                                           int64_t budget,
                                           const std::vector<int64_t> &fullness,
                                           SeriesProof known, int64_t upper,
                                           int tries) {
  using Cuts = std::vector<int32_t>;
  int64_t bytes = 0;
  for (int64_t size : graph.bytes)
    bytes += size;
  // Beyond these the integers of a series would be too coarse.
  if (graph.baseCost > int64_t(1e15) || bytes > int64_t(1e15))
    return known;
  // Steps are cheap on small graphs.
  const int rounds = std::clamp(50'000 / (graph.nodes + 1), 120, 500);
  Cuts cuts;
  int64_t bound = known.bound;
  auto attempt = [&](Cuts candidate) {
    std::sort(candidate.begin(), candidate.end());
    candidate.erase(std::unique(candidate.begin(), candidate.end()),
                    candidate.end());
    for (int32_t cut : candidate)
      if (cut < 0 || cut >= graph.nodes || fullness[cut] <= budget)
        return false;
    if (candidate.empty() || tries <= 0)
      return false;
    --tries;
    Series series(graph, budget, candidate);
    series.improve(rounds, upper);
    if (series.bound() <= bound && !cuts.empty())
      return false;
    bound = std::max(bound, series.bound());
    cuts = std::move(candidate);
    return true;
  };
  // Several even divisions of the full part of the graph, each cut where it is
  // fullest.
  Cuts full;
  for (int32_t node = 0; node < graph.nodes; ++node)
    if (fullness[node] > budget)
      full.push_back(node);
  if (full.empty())
    return known;
  if (known.certificate.cut >= 0)
    attempt({known.certificate.cut});
  for (size_t count : {1, 2, 3, 4, 6, 8}) {
    Cuts candidate;
    for (size_t i = 0; i < count; ++i) {
      auto begin = full.begin() + i * full.size() / count;
      auto end = full.begin() + (i + 1) * full.size() / count;
      if (begin != end)
        candidate.push_back(
            *std::max_element(begin, end, [&](int32_t a, int32_t b) {
              return fullness[a] < fullness[b];
            }));
    }
    attempt(std::move(candidate));
  }
  bool improved = true;
  while (improved && tries > 0 && bound < upper) {
    improved = false;
    for (int32_t distance : {16, 8, 4, 2, 1})
      for (size_t i = 0; i < cuts.size(); ++i)
        for (int32_t way : {-distance, distance}) {
          Cuts candidate = cuts;
          if (i < candidate.size()) {
            candidate[i] += way;
            improved |= attempt(std::move(candidate));
          }
        }
    for (size_t i = 0; i < cuts.size(); ++i) {
      Cuts candidate = cuts;
      candidate.erase(candidate.begin() + i);
      improved |= attempt(std::move(candidate));
    }
    for (size_t i = 0; i <= cuts.size(); ++i) {
      int32_t begin = i == 0 ? full.front() : cuts[i - 1];
      int32_t end = i == cuts.size() ? full.back() : cuts[i];
      for (int32_t quarter : {2, 1, 3}) {
        Cuts candidate = cuts;
        candidate.push_back(begin + (end - begin) / 4 * quarter);
        if (attempt(std::move(candidate))) {
          improved = true;
          break;
        }
      }
    }
  }
  if (cuts.empty() || bound <= known.bound)
    return known;
  Series series(graph, budget, cuts);
  series.improve(rounds * 4, upper);
  return {series.bound(), series.certificate()};
}
