//===- RecomputeWindows.cpp - the windows of a series and their prices ----===//
//
// The networks of a series with their prices, and the subgradient steps. Prices
// are integers over one denominator, so that the certificate is exact.
//
//===----------------------------------------------------------------------===//

#include "RecomputeWindows.h"

#include <algorithm>
#include <cmath>

using namespace tenon::solver;

bool Series::canScale(const RecomputeGraph &graph) {
  int64_t bytes = 0;
  for (int64_t size : graph.bytes)
    bytes += size;
  return graph.baseCost <= int64_t(1e15) && bytes <= int64_t(1e15);
}

Series::Series(const RecomputeGraph &graph, int64_t budget,
               std::span<const int32_t> cuts)
    : graph(graph), budget(budget) {
  build(cuts);
}

void Series::build(std::span<const int32_t> cuts) {
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

Series::Series(const RecomputeGraph &graph, int64_t budget,
               const RecomputeCertificate &certificate)
    : graph(graph), budget(budget) {
  std::vector<int32_t> cuts = {certificate.cut};
  for (const RecomputeCertificate::Cut &cut : certificate.later)
    cuts.push_back(cut.cut);
  build(cuts);
  // A price over another denominator proves nearly as much.
  auto rescale = [&](int64_t price, int64_t most) {
    return certificate.denominator == denominator
               ? price
               : int64_t(
                     std::min(double(price) / double(certificate.denominator) *
                                  double(denominator),
                              double(most)));
  };
  const int64_t highest = highestPrice();
  windows[0]->price = rescale(certificate.numerator, highest);
  for (size_t k = 1; k < windows.size(); ++k) {
    const RecomputeCertificate::Cut &cut = certificate.later[k - 1];
    windows[k]->price = rescale(cut.numerator, highest);
    for (auto [value, price] : cut.prices)
      windows[k]->valuePrices[windows[k]->slot[value]] =
          rescale(price, mostValuePrice);
  }
  adopt();
}

Series::Series(const Series &other, size_t added, int32_t cut)
    : graph(other.graph), budget(other.budget) {
  std::vector<int32_t> cuts = other.cuts();
  cuts.insert(cuts.begin() + static_cast<int64_t>(added), cut);
  build(cuts);
  for (size_t k = 0; k < windows.size(); ++k) {
    if (k == added)
      continue;
    takePrices(k, other, k < added ? k : k - 1);
  }
  if (added > 0) {
    const Window &from = *other.windows[added - 1];
    const Window &before = *windows[added - 1];
    Window &to = *windows[added];
    auto arc = static_cast<int32_t>(from.values.size() + from.nodes.size() +
                                    from.edges.size());
    for (int32_t value : from.values) {
      int64_t flow = from.network.flow(arc++);
      int32_t here = to.slot[value], there = before.slot[value];
      if (here >= 0 && there >= 0 && before.inNext[there] == here)
        to.valuePrices[here] = std::min(flow, mostValuePrice);
    }
  }
  adopt();
}

std::unique_ptr<Series> Series::moved(const Series &other, size_t index,
                                      int32_t cut) {
  std::vector<int32_t> cuts = other.cuts();
  cuts[index] = cut;
  auto result = std::make_unique<Series>(other.graph, other.budget, cuts);
  for (size_t k = 0; k < cuts.size(); ++k)
    result->takePrices(k, other, k);
  result->adopt();
  return result;
}

void Series::takePrices(size_t index, const Series &other, size_t from) {
  const Window &old = *other.windows[from];
  Window &window = *windows[index];
  window.price = other.best.bytes[from];
  for (size_t i = 0; i < old.values.size(); ++i) {
    int32_t here = window.slot[old.values[i]];
    if (here >= 0 && window.inPrevious[here] >= 0)
      window.valuePrices[here] = other.best.values[from][i];
  }
}

void Series::adopt() {
  for (size_t k = 0; k < windows.size(); ++k) {
    best.bytes[k] = windows[k]->price;
    best.values[k] = windows[k]->valuePrices;
  }
  bestOverhead = evaluate(nullptr);
}

void Series::evaluateBest() {
  for (size_t k = 0; k < windows.size(); ++k) {
    windows[k]->price = best.bytes[k];
    windows[k]->valuePrices = best.values[k];
  }
  evaluate(nullptr);
}

std::vector<int32_t> Series::cuts() const {
  std::vector<int32_t> result;
  for (const auto &window : windows)
    result.push_back(window->cut);
  return result;
}

void Series::build(Window &window, Window *next) {
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
  for (int32_t i = 0; i < valueCount; ++i)
    if (window.inNext[i] >= 0)
      next->inPrevious[window.inNext[i]] = i;
}

int64_t Series::highestPrice() const {
  int64_t most = 1;
  for (int64_t bytes : graph.bytes)
    most += bytes;
  return int64_t(5e17 / double(most));
}

int64_t Series::likelyPrice(size_t index) const {
  double cost = 0.05 * double(graph.baseCost + 1) * double(denominator);
  double price = cost / double(std::max<int64_t>(1, windows[index]->room)) /
                 double(windows.size());
  return std::clamp<int64_t>(int64_t(std::min(price, 9e18)), 1, highestPrice());
}

/// Computes the minimum cut of one window; the overhead is that of its flow,
/// its price and what is known of it.
__int128 Series::evaluate(size_t index, int64_t price,
                          std::span<const Known> known) {
  Window &window = *windows[index];
  FlowNetwork &network = window.network;
  const size_t nodes = window.nodes.size(), values = window.values.size();
  __int128 overhead = -__int128(price) * window.room;
  int32_t arc = 0;
  // What is known is paid for, and absorbs nothing; what is known not to be
  // absorbs everything.
  auto limit = [&](size_t item, int64_t capacity) {
    Known what = known.empty() ? Known::Nothing : known[item];
    if (what == Known::Yes)
      overhead += capacity;
    network.setCapacity(arc++, what == Known::Nothing ? capacity
                               : what == Known::Yes   ? 0
                                                      : FlowNetwork::unlimited);
  };
  for (size_t i = 0; i < values; ++i)
    limit(nodes + i,
          price * graph.bytes[window.values[i]] + window.valuePrices[i]);
  for (size_t i = 0; i < nodes; ++i)
    limit(i, graph.pinned[window.nodes[i]]
                 ? FlowNetwork::unlimited
                 : denominator * graph.cost[window.nodes[i]]);
  for (size_t i = 0; i < window.edges.size(); ++i)
    network.setCapacity(arc++, FlowNetwork::unlimited);
  const int32_t reads = arc;
  for (size_t i = 0; i < values; ++i)
    network.setCapacity(arc++,
                        window.needed[i] ? FlowNetwork::unlimited
                        : window.inNext[i] >= 0
                            ? windows[index + 1]->valuePrices[window.inNext[i]]
                            : 0);
  // Who is known to run again reads.
  for (size_t i = 0; i < nodes && !known.empty(); ++i)
    if (known[i] == Known::Yes)
      for (int32_t value : graph.inputs(window.nodes[i]))
        if (window.slot[value] >= 0)
          network.setCapacity(reads + window.slot[value],
                              FlowNetwork::unlimited);
  overhead += network.maximize();
  for (int64_t valuePrice : window.valuePrices)
    overhead -= valuePrice;
  return overhead;
}

Series::MinimumCut Series::minimumCut(size_t index) const {
  const Window &window = *windows[index];
  const size_t nodes = window.nodes.size(), values = window.values.size();
  MinimumCut cut;
  std::vector<char> rerun(graph.nodes, 0);
  for (size_t i = 0; i < nodes; ++i) {
    cut.rerun.push_back(
        !window.network.reachesSink(static_cast<int32_t>(2 + values + i)));
    rerun[window.nodes[i]] = cut.rerun[i];
  }
  for (size_t i = 0; i < values; ++i) {
    cut.available.push_back(
        !window.network.reachesSink(static_cast<int32_t>(2 + i)));
    cut.held.push_back(cut.available[i] &&
                       !rerun[graph.producer[window.values[i]]]);
  }
  return cut;
}

double Series::heldBesideRoom(size_t index, std::span<const char> held) const {
  const Window &window = *windows[index];
  double bytes = 0;
  for (size_t i = 0; i < held.size(); ++i)
    bytes += held[i] ? double(graph.bytes[window.values[i]]) : 0;
  return bytes - double(window.room);
}

Series::Answer Series::ask(size_t index, int64_t price,
                           std::span<const Known> known) {
  Answer answer;
  answer.price = price;
  answer.overhead = evaluate(index, price, known);
  MinimumCut cut = minimumCut(index);
  for (size_t i = 0; i < cut.held.size(); ++i)
    if (known[cut.rerun.size() + i] == Known::Yes)
      cut.held[i] = 1;
  answer.slope = heldBesideRoom(index, cut.held);
  answer.chosen = std::move(cut.rerun);
  answer.chosen.insert(answer.chosen.end(), cut.held.begin(), cut.held.end());
  return answer;
}

__int128 Series::evaluate(Slopes *slopes) {
  __int128 overhead = 0;
  std::vector<char> before; // what is available in the window before
  for (size_t k = 0; k < windows.size(); ++k) {
    const Window &window = *windows[k];
    overhead += evaluate(k, window.price, {});
    if (!slopes)
      continue;
    MinimumCut cut = minimumCut(k);
    for (size_t i = 0; i < window.values.size(); ++i) {
      int32_t there = window.inPrevious[i];
      slopes->values[k][i] =
          there < 0 ? 0 : double(cut.held[i]) - double(before[there]);
    }
    slopes->bytes[k] = heldBesideRoom(k, cut.held) / window.meanBytes;
    before = std::move(cut.available);
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
  const auto highest = double(highestPrice());
  for (size_t k = 0; k < count; ++k) {
    Window &window = *windows[k];
    bytes[k] = double(best.bytes[k]) / scale * window.meanBytes;
    if (best.bytes[k] == 0)
      bytes[k] = double(likelyPrice(k)) / scale * window.meanBytes;
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
      window.price = int64_t(std::min(price, highest));
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
  evaluateBest();
}

int64_t Series::boundFor(__int128 overhead) const {
  if (overhead <= 0)
    return graph.baseCost;
  return graph.baseCost + int64_t((overhead + denominator - 1) / denominator);
}

RecomputeCertificate Series::certificate() {
  evaluateBest();
  RecomputeCertificate result;
  result.kind = RecomputeCertificate::Kind::GivenOrder;
  result.denominator = denominator;
  for (size_t k = 0; k < windows.size(); ++k) {
    const Window &window = *windows[k];
    RecomputeCertificate::Cut cut;
    cut.cut = window.cut;
    cut.numerator = window.price;
    for (size_t i = 0; i < window.values.size(); ++i)
      if (window.valuePrices[i] > 0)
        cut.prices.push_back({window.values[i], window.valuePrices[i]});
    writeFlows(k, cut);
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
