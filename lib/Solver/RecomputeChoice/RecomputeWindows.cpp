//===- RecomputeWindows.cpp - the windows of a series and their prices ----===//
//
// The networks of a series with their prices, and the subgradient steps. Prices
// are integers over one denominator, so that the certificate is exact.
//
//===----------------------------------------------------------------------===//

#include "RecomputeWindows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

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
    setUnit(window, 1);
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
  setUnit(*windows[0], certificate.unit);
  windows[0]->price = rescale(certificate.numerator, windows[0]->highestPrice);
  for (size_t k = 1; k < windows.size(); ++k) {
    const RecomputeCertificate::Cut &cut = certificate.later[k - 1];
    setUnit(*windows[k], cut.unit);
    windows[k]->price = rescale(cut.numerator, windows[k]->highestPrice);
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
  setUnit(*windows[added], other.windows[added > 0 ? added - 1 : 0]->unit);
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

/// `rest` of a number that may be negative.
static int64_t restOf(int64_t number, int64_t unit) {
  return (number % unit + unit) % unit;
}

/// What a whole unit weighs.
static int64_t roundedUnit(const Window &window) {
  return window.unit - restOf(window.room, window.unit);
}

void Series::takePrices(size_t index, const Series &other, size_t from) {
  const Window &old = *other.windows[from];
  Window &window = *windows[index];
  // At another cut another share of a unit is left.
  setUnit(window, old.unit);
  window.price = int64_t(
      std::min(double(other.best.bytes[from]) * double(roundedUnit(old)) /
                   double(roundedUnit(window)),
               double(window.highestPrice)));
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
  best.overhead = evaluate(everything(), nullptr, nullptr);
}

void Series::evaluateBest() { evaluate(everything(), best); }

__int128 Series::evaluate(const Range &range, const Prices &prices) {
  for (size_t i = 0; i < range.count; ++i) {
    windows[range.first + i]->price = prices.bytes[i];
    windows[range.first + i]->valuePrices = prices.values[i];
  }
  return evaluate(range, nullptr, nullptr);
}

Series::Prices Series::bestPrices(size_t first, size_t count) const {
  Prices result;
  for (size_t k = first; k < first + count; ++k) {
    result.bytes.push_back(best.bytes[k]);
    result.values.push_back(best.values[k]);
  }
  return result;
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
  for (int32_t value = 0; value < graph.values; ++value)
    if (wanted[value] != No) {
      window.slot[value] = static_cast<int32_t>(window.values.size());
      window.values.push_back(value);
      window.needed.push_back(wanted[value] == Needed);
      window.inNext.push_back(
          next && wanted[value] != Needed ? next->slot[value] : -1);
    }
  auto valueCount = static_cast<int32_t>(window.values.size());
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
  for (size_t i = 0; i < window.edges.size(); ++i)
    network.setCapacity(
        static_cast<int32_t>(window.values.size() + window.nodes.size() + i),
        FlowNetwork::unlimited);
  // Ties are known from the earlier window; tell the later one.
  for (int32_t i = 0; i < valueCount; ++i)
    if (window.inNext[i] >= 0)
      next->inPrevious[window.inNext[i]] = i;
}

/// Mixed-integer rounding: of values that are held whole or not at all, those
/// that fit in the room fit in what is left of it once both are rounded.
void Series::setUnit(Window &window, int64_t unit) {
  window.unit = unit;
  const int64_t rest = restOf(window.room, unit), whole = unit - rest;
  auto weigh = [&](int64_t bytes) {
    int64_t own = restOf(bytes, unit);
    return (bytes - own) / unit * whole + std::max<int64_t>(0, own - rest);
  };
  window.space = weigh(window.room);
  window.weights.clear();
  double sum = 0;
  for (int32_t value : window.values) {
    window.weights.push_back(weigh(graph.bytes[value]));
    sum += double(window.weights.back());
  }
  window.meanWeight =
      std::max(1.0, sum / double(std::max<size_t>(1, window.values.size())));
  window.highestPrice = int64_t(5e17 / (sum + 1));
}

int64_t Series::likelyPrice(size_t index) const {
  double cost = 0.05 * double(graph.baseCost + 1) * double(denominator);
  const Window &window = *windows[index];
  double price = cost / double(std::max<int64_t>(1, window.space)) /
                 double(windows.size());
  return std::clamp<int64_t>(int64_t(std::min(price, 9e18)), 1,
                             window.highestPrice);
}

/// Computes the minimum cut of one window; the overhead is that of its flow,
/// its price and what is known of it.
__int128 Series::evaluate(size_t index, int64_t price,
                          std::span<const Known> known) {
  Window &window = *windows[index];
  FlowNetwork &network = window.network;
  const size_t nodes = window.nodes.size(), values = window.values.size();
  __int128 overhead = -__int128(price) * window.space;
  int32_t arc = 0;
  // What is known is paid for, and absorbs nothing; what is known not to be
  // absorbs everything.
  auto limit = [&](size_t item, int64_t capacity) {
    Known what = known.empty() ? Known::Nothing : known[item];
    const bool isPaid = what == Known::Yes || what == Known::Paid;
    if (isPaid)
      overhead += capacity;
    network.setCapacity(arc++, what == Known::Nothing ? capacity
                               : isPaid               ? 0
                                                      : FlowNetwork::unlimited);
  };
  for (size_t i = 0; i < values; ++i)
    limit(nodes + i, price * window.weights[i] + window.valuePrices[i]);
  for (size_t i = 0; i < nodes; ++i)
    limit(i, graph.pinned[window.nodes[i]]
                 ? FlowNetwork::unlimited
                 : denominator * graph.cost[window.nodes[i]]);
  arc += static_cast<int32_t>(window.edges.size());
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

Series::MinimumCut Series::minimumCut(size_t index,
                                      std::span<const Known> known) const {
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
    if (!known.empty() && known[nodes + i] == Known::Yes)
      cut.held[i] = 1;
  }
  return cut;
}

double Series::heldBesideRoom(size_t index, std::span<const char> held) const {
  const Window &window = *windows[index];
  double bytes = 0;
  for (size_t i = 0; i < held.size(); ++i)
    bytes += held[i] ? double(window.weights[i]) : 0;
  return bytes - double(window.space);
}

Series::Answer Series::ask(size_t index, int64_t price,
                           std::span<const Known> known) {
  Answer answer;
  answer.price = price;
  answer.overhead = evaluate(index, price, known);
  MinimumCut cut = minimumCut(index, known);
  answer.slope = heldBesideRoom(index, cut.held);
  answer.chosen = std::move(cut.rerun);
  answer.chosen.insert(answer.chosen.end(), cut.held.begin(), cut.held.end());
  return answer;
}

__int128 Series::evaluate(const Range &range, Slopes *slopes,
                          std::vector<std::vector<double>> *shares) {
  __int128 overhead = 0;
  std::vector<char> before; // what is available in the window before
  for (size_t i = 0; i < range.count; ++i) {
    const size_t k = range.first + i;
    const Window &window = *windows[k];
    std::span<const Known> known;
    if (!range.known.empty())
      known = range.known[i];
    overhead += evaluate(k, window.price, known);
    if (!slopes)
      continue;
    MinimumCut cut = minimumCut(k, known);
    for (size_t j = 0; j < window.values.size() && i > 0; ++j) {
      int32_t there = window.inPrevious[j];
      slopes->values[i][j] =
          there < 0 ? 0 : double(cut.held[j]) - double(before[there]);
    }
    slopes->bytes[i] = heldBesideRoom(k, cut.held) / window.meanWeight;
    if (shares) {
      std::vector<double> &share = (*shares)[i];
      for (size_t j = 0; j < share.size(); ++j)
        share[j] += 0.1 * (double(j < cut.rerun.size()
                                      ? cut.rerun[j]
                                      : cut.held[j - cut.rerun.size()]) -
                           share[j]);
    }
    before = std::move(cut.available);
  }
  return overhead;
}

void Series::improve(int rounds, int64_t upper) {
  int64_t flows = 0;
  climb(everything(), rounds, __int128(upper - graph.baseCost) * denominator,
        best, nullptr, flows);
  evaluateBest();
}

void Series::improveAround(size_t index, int rounds, int64_t upper) {
  int64_t flows = 0;
  const size_t first = index > 0 ? index - 1 : 0;
  const Range range{first, std::min(index + 2, windows.size()) - first, {}};
  Prices prices = bestPrices(first, range.count);
  prices.overhead = evaluate(range, prices);
  const __int128 rest = best.overhead - prices.overhead;
  climb(range, rounds, __int128(upper - graph.baseCost) * denominator - rest,
        prices, nullptr, flows);
  evaluate(range, prices);
  for (size_t i = 0; i < range.count; ++i) {
    best.bytes[first + i] = prices.bytes[i];
    best.values[first + i] = std::move(prices.values[i]);
  }
  best.overhead = rest + prices.overhead;
}

void Series::climb(const Range &range, int rounds, __int128 most,
                   Prices &prices, std::vector<std::vector<double>> *shares,
                   int64_t &flows) {
  const size_t count = range.count;
  const double scale = double(denominator);
  // Real-valued prices, in cost units; the price of bytes per mean weight.
  std::vector<double> bytes(count), bytesDrift(count, 0), bestBytes;
  std::vector<std::vector<double>> values(count), drift(count), bestValues;
  Slopes slopes{std::vector<double>(count), {}};
  for (size_t i = 0; i < count; ++i) {
    Window &window = *windows[range.first + i];
    bytes[i] = double(prices.bytes[i]) / scale * window.meanWeight;
    if (prices.bytes[i] == 0)
      bytes[i] =
          double(likelyPrice(range.first + i)) / scale * window.meanWeight;
    values[i].assign(window.values.size(), 0);
    for (size_t j = 0; j < values[i].size(); ++j)
      values[i][j] = double(prices.values[i][j]) / scale;
    drift[i].assign(window.values.size(), 0);
    slopes.values.emplace_back(window.values.size(), 0);
    window.valuePrices = prices.values[i];
    if (shares)
      shares->emplace_back(window.nodes.size() + window.values.size(), 0.5);
  }
  bestBytes = bytes;
  bestValues = values;
  double length = 1;
  int stalled = 0;
  for (int round = 0; round < rounds && prices.overhead < most; ++round) {
    for (size_t i = 0; i < count; ++i) {
      Window &window = *windows[range.first + i];
      double price = bytes[i] / window.meanWeight * scale;
      window.price = int64_t(std::min(price, double(window.highestPrice)));
      for (size_t j = 0; j < values[i].size() && i > 0; ++j)
        window.valuePrices[j] =
            int64_t(std::min(values[i][j] * scale, double(mostValuePrice)));
    }
    __int128 overhead = evaluate(range, &slopes, shares);
    flows -= static_cast<int64_t>(count);
    if (overhead > prices.overhead) {
      bool clearly = double(overhead - prices.overhead) >
                     1e-6 * scale * double(graph.baseCost + 1);
      stalled = clearly ? 0 : stalled + 1;
      prices.overhead = overhead;
      bestBytes = bytes;
      bestValues = values;
      for (size_t i = 0; i < count; ++i) {
        prices.bytes[i] = windows[range.first + i]->price;
        prices.values[i] = windows[range.first + i]->valuePrices;
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
    for (size_t i = 0; i < count; ++i) {
      bytesDrift[i] = memory * bytesDrift[i] + (1 - memory) * slopes.bytes[i];
      norm += bytesDrift[i] * bytesDrift[i];
      for (size_t j = 0; j < drift[i].size(); ++j) {
        drift[i][j] = memory * drift[i][j] + (1 - memory) * slopes.values[i][j];
        norm += drift[i][j] * drift[i][j];
      }
    }
    double missing = double(most - overhead) / scale;
    double step = length * std::max(missing, 1e-6) / norm;
    for (size_t i = 0; i < count; ++i) {
      bytes[i] = std::max(0.0, bytes[i] + step * bytesDrift[i]);
      for (size_t j = 0; j < drift[i].size(); ++j)
        values[i][j] = std::max(0.0, values[i][j] + step * drift[i][j]);
    }
  }
}

/// The overhead is concave in the price, its slope the weights held beside the
/// room, so the lines of a price that is too low and one that is too high meet
/// above the best.
Series::Summit Series::maximize(size_t index, std::span<const Known> known,
                                int64_t start, __int128 most, int64_t &flows) {
  const int64_t highest = windows[index]->highestPrice;
  Summit best;
  bool any = false;
  auto at = [&](int64_t price) {
    Answer answer = ask(index, price, known);
    --flows;
    if (!any || answer.overhead > best.overhead) {
      best.overhead = answer.overhead;
      best.price = price;
    }
    any = true;
    return answer;
  };
  Answer &low = best.low, &high = best.high;
  low = at(start > 0 ? std::min(start, highest) : likelyPrice(index));
  if (low.slope <= 0) {
    high = std::move(low);
    low = at(0);
    if (low.slope <= 0)
      return best; // it all fits
  }
  while (high.chosen.empty()) {
    // More must be held than there is room: no plan, at a high enough price.
    if (low.price >= highest || best.overhead >= most)
      return best;
    Answer next = at(low.price < highest / 4 ? low.price * 4 : highest);
    (next.slope <= 0 ? high : low) = std::move(next);
  }
  for (int step = 0; step < 12; ++step) {
    double between = (double(high.overhead - low.overhead) -
                      high.slope * double(high.price - low.price)) /
                     (low.slope - high.slope);
    int64_t price = low.price + int64_t(between);
    if (price <= low.price || price >= high.price)
      break;
    Answer answer = at(price);
    double line = double(low.overhead) + low.slope * double(price - low.price);
    bool isCorner = double(answer.overhead) <
                    line - 1e-10 * double(scale()) * double(graph.baseCost + 1);
    (answer.slope <= 0 ? high : low) = std::move(answer);
    if (!isCorner)
      break;
  }
  return best;
}

void Series::chooseUnits() {
  int64_t flows = 0;
  for (size_t k = 0; k < windows.size(); ++k) {
    Window &window = *windows[k];
    // Sizes of which there is most, and halves of them.
    std::map<int64_t, int64_t> bytes;
    for (int32_t value : window.values)
      if (graph.bytes[value] > 1)
        bytes[graph.bytes[value]] += graph.bytes[value];
    std::vector<std::pair<int64_t, int64_t>> ranked;
    for (auto [size, sum] : bytes)
      ranked.push_back({-sum, size});
    std::sort(ranked.begin(), ranked.end());
    std::set<int64_t> units = {1};
    for (size_t i = 0; i < ranked.size() && i < 6; ++i) {
      units.insert(ranked[i].second);
      units.insert(std::max<int64_t>(1, ranked[i].second / 2));
    }
    Summit best;
    int64_t unit = 0;
    for (int64_t one : units) {
      setUnit(window, one);
      Summit found = maximize(k, {}, 0, __int128(1) << 100, flows);
      if (unit != 0 && found.overhead <= best.overhead)
        continue;
      best = std::move(found);
      unit = one;
    }
    setUnit(window, unit);
    window.price = best.price;
  }
  adopt();
}

int64_t Series::boundFor(__int128 overhead) const {
  if (overhead <= 0)
    return graph.baseCost;
  return graph.baseCost + int64_t((overhead + denominator - 1) / denominator);
}

void Series::writeFlows(size_t index, RecomputeFlow &cut) const {
  const Window &window = *windows[index];
  cut.numerator = window.price;
  cut.unit = window.unit;
  int32_t arc = 0;
  for (int32_t value : window.values)
    if (int64_t flow = window.network.flow(arc++); flow > 0)
      cut.valueFlows.push_back({value, flow});
  arc += static_cast<int32_t>(window.nodes.size());
  for (auto [value, consumer] : window.edges)
    if (int64_t flow = window.network.flow(arc++); flow > 0)
      cut.edgeFlows.push_back({value, consumer, flow});
}

void Series::writePart(size_t index, RecomputeCertificate::Part &part) const {
  const Window &window = *windows[index];
  part.cut = window.cut;
  for (size_t i = 0; i < window.values.size(); ++i)
    if (window.valuePrices[i] > 0)
      part.prices.push_back({window.values[i], window.valuePrices[i]});
  writeFlows(index, part);
}

RecomputeCertificate Series::certificate() {
  evaluateBest();
  RecomputeCertificate result;
  result.kind = RecomputeCertificate::Kind::GivenOrder;
  result.denominator = denominator;
  result.cut = windows[0]->cut;
  writeFlows(0, result);
  for (size_t k = 1; k < windows.size(); ++k)
    writePart(k, result.later.emplace_back());
  return result;
}
