//===- RecomputeCut.cpp - the Lagrangian single-cut bound -----------------===//
//
// Builds the network of one cut node, finds minimum cuts by maximum flows,
// and walks the front of (held bytes, recompute cost) lines to the price
// with the best bound.
//
//===----------------------------------------------------------------------===//

#include "RecomputeCut.h"

#include <algorithm>
#include <cmath>

using namespace tenon::solver;

CutNetwork::CutNetwork(const RecomputeGraph &graph, int32_t cut, bool anyOrder)
    : graph(graph), cut(cut), working(graph.workingSet(cut)) {
  std::vector<char> before(graph.nodes, 0), after(graph.nodes, 0);
  if (anyOrder) {
    before[cut] = 1;
    for (int32_t node = cut; node >= 0; --node)
      if (before[node])
        for (int32_t value : graph.inputs(node))
          before[graph.producer[value]] = 1;
    after[cut] = 1;
    for (int32_t node = cut; node < graph.nodes; ++node)
      if (after[node])
        for (int32_t value : graph.outputs(node))
          for (int32_t user : graph.users(value))
            after[user] = 1;
    before[cut] = after[cut] = 0;
  } else {
    std::fill(before.begin(), before.begin() + cut, 1);
    std::fill(after.begin() + cut + 1, after.end(), 1);
  }
  for (int32_t node = 0; node < graph.nodes; ++node)
    timeAfter += before[node] ? 0 : graph.mostCost[node];
  present.assign(graph.values, 0);
  for (int32_t value : graph.inputs(cut))
    present[value] = 1;

  // Needed values and everything their recomputation could read.
  std::vector<char> wanted(graph.values, 0), inNetwork(graph.nodes, 0);
  for (int32_t value = 0; value < graph.values; ++value) {
    if (!before[graph.producer[value]] || present[value])
      continue;
    for (int32_t user : graph.users(value))
      if (after[user]) {
        wanted[value] = 2;
        inNetwork[graph.producer[value]] = 1;
        needed += graph.freeBytes(value);
        break;
      }
  }
  for (int32_t node = cut - 1; node >= 0; --node)
    if (inNetwork[node])
      for (int32_t value : graph.inputs(node))
        if (!present[value]) {
          wanted[value] |= 1;
          inNetwork[graph.producer[value]] = 1;
        }
  for (int32_t node = 0; node < cut; ++node)
    if (inNetwork[node]) {
      netNodes.push_back(node);
      for (int32_t value : graph.outputs(node))
        if (wanted[value]) {
          netValues.push_back(value);
          isNeeded.push_back(wanted[value] >= 2);
        }
    }
  buildArcs();
}

void CutNetwork::buildArcs() {
  auto valueCount = static_cast<int32_t>(netValues.size());
  auto nodeCount = static_cast<int32_t>(netNodes.size());
  std::vector<int32_t> valueVertex(graph.values, -1), nodeVertex(cut + 1, -1);
  for (int32_t i = 0; i < valueCount; ++i)
    valueVertex[netValues[i]] = 2 + i;
  for (int32_t i = 0; i < nodeCount; ++i)
    nodeVertex[netNodes[i]] = 2 + valueCount + i;
  network.reset(2 + valueCount + nodeCount);
  for (int32_t i = 0; i < valueCount; ++i)
    network.addArc(2 + i, nodeVertex[graph.producer[netValues[i]]]);
  for (int32_t i = 0; i < nodeCount; ++i)
    network.addArc(2 + valueCount + i, FlowNetwork::sink);
  for (int32_t node : netNodes)
    for (int32_t value : graph.inputs(node))
      if (valueVertex[value] >= 0) {
        network.addArc(nodeVertex[node], valueVertex[value]);
        edges.push_back({value, node});
      }
  for (int32_t i = 0; i < valueCount; ++i)
    if (isNeeded[i])
      network.addArc(FlowNetwork::source, 2 + i);
  network.build();
}

Price CutNetwork::makePrice(double price, double transfer) const {
  int64_t cost = 1, bytes = 1;
  for (int32_t node : netNodes)
    cost += graph.cost[node];
  for (int32_t value : netValues) {
    bytes += graph.bytes[value];
    for (const RecomputeGraph::Form &form : graph.forms[value]) {
      bytes += form.bytes;
      cost += form.cost + form.loadCost + form.transfer;
    }
  }
  constexpr double room = 1e18;
  double scale = room / std::max(double(cost), price * double(bytes));
  scale = std::min(scale, room);
  Price result;
  result.denominator = std::max<int64_t>(1, int64_t(scale));
  double numerator = price * double(result.denominator);
  result.numerator = int64_t(std::min(numerator, room / double(bytes)));
  result.transfer = std::min(result.denominator,
                             int64_t(transfer * double(result.denominator)));
  return result;
}

bool CutNetwork::anyTransfer() const {
  for (int32_t value : netValues)
    for (const RecomputeGraph::Form &form : graph.forms[value])
      if (form.transfer > 0)
        return true;
  return false;
}

/// What holding a value in this form costs at these prices.
int64_t CutNetwork::formCost(const RecomputeGraph::Form &form,
                             Price price) const {
  if (freeRecompute)
    return price.numerator * form.bytes;
  return price.numerator * form.bytes + price.denominator * form.cost +
         (price.denominator - price.transfer) * form.loadCost +
         price.transfer * form.transfer;
}

RecomputeGraph::Form CutNetwork::formOf(int32_t value, Price price) const {
  return graph.cheapestForm(value, [&](const RecomputeGraph::Form &form) {
    return formCost(form, price);
  });
}

CutLine CutNetwork::minimumCut(Price price) {
  int32_t arc = 0;
  for (int32_t value : netValues)
    network.setCapacity(arc++, formCost(formOf(value, price), price));
  for (int32_t node : netNodes)
    network.setCapacity(arc++, graph.pinned[node] ? FlowNetwork::unlimited
                               : freeRecompute
                                   ? 0
                                   : (price.denominator - price.transfer) *
                                         graph.cost[node]);
  for (size_t i = 0; i < edges.size(); ++i)
    network.setCapacity(arc++, FlowNetwork::unlimited);
  for (size_t i = 0; i < netValues.size(); ++i)
    if (isNeeded[i])
      network.setCapacity(arc++, FlowNetwork::unlimited);
  network.maximize();

  // Vertices that no longer reach the sink are on the source side; among these
  // only what the needed values lead to counts.
  CutLine line;
  line.price = price;
  line.rerun.resize(netNodes.size());
  std::vector<char> wanted(graph.values, 0);
  for (size_t i = 0; i < netValues.size(); ++i)
    wanted[netValues[i]] = isNeeded[i];
  for (size_t i = netNodes.size(); i-- > 0;) {
    int32_t node = netNodes[i];
    bool any = false;
    int64_t bytes = 0, extra = 0;
    for (int32_t value : graph.outputs(node))
      if (wanted[value]) {
        any = true;
        RecomputeGraph::Form form = formOf(value, price);
        bytes += form.bytes;
        extra += form.cost + form.loadCost;
      }
    if (!any)
      continue;
    if (network.reachesSink(static_cast<int32_t>(2 + netValues.size() + i))) {
      line.held += bytes;
      line.cost += extra;
      continue;
    }
    line.cost += graph.cost[node];
    line.rerun[i] = true;
    for (int32_t value : graph.inputs(node))
      wanted[value] = !present[value];
  }
  return line;
}

RecomputeCertificate
CutNetwork::certificate(RecomputeCertificate::Kind kind) const {
  RecomputeCertificate result;
  result.kind = kind;
  result.cut = cut;
  int32_t arc = 0;
  for (int32_t value : netValues)
    if (int64_t flow = network.flow(arc++); flow > 0)
      result.valueFlows.push_back({value, flow});
  arc += static_cast<int32_t>(netNodes.size());
  for (auto [value, consumer] : edges)
    if (int64_t flow = network.flow(arc++); flow > 0)
      result.edgeFlows.push_back({value, consumer, flow});
  return result;
}

int64_t CutNetwork::flowValue() const {
  int64_t flow = 0;
  auto first = static_cast<int32_t>(netValues.size());
  for (size_t i = 0; i < netNodes.size(); ++i)
    flow += network.flow(first + static_cast<int32_t>(i));
  return flow;
}

int64_t CutNetwork::boundOf(Price price, int64_t flow, int64_t budget) const {
  __int128 overhead = flow - __int128(price.numerator) * room(budget) -
                      __int128(price.transfer) * timeAfter;
  if (overhead <= 0)
    return graph.baseCost;
  return graph.baseCost +
         int64_t((overhead + price.denominator - 1) / price.denominator);
}

CutNetwork::Best CutNetwork::bestBound(int64_t budget,
                                       std::vector<CutLine> &front,
                                       int64_t &flows, int64_t known) {
  Best best;
  best.bound = graph.baseCost;
  const int64_t space = room(budget);
  if (needed <= space) { // everything fits: the line of price zero
    best.most = best.bound;
    return best;
  }
  auto insert = [&](CutLine line) {
    auto place = std::lower_bound(
        front.begin(), front.end(), line.held,
        [](const CutLine &a, int64_t held) { return a.held < held; });
    if (place != front.end() && place->held == line.held) {
      if (line.cost < place->cost)
        *place = std::move(line);
    } else {
      front.insert(place, std::move(line));
    }
  };
  if (front.empty()) {
    insert(minimumCut({0, 1}));
    // The far end: held bytes as few as possible.
    double price = 1e-6 * double(graph.baseCost + 1) / double(needed + 1);
    CutLine line;
    do {
      price *= 1e9;
      line = minimumCut(makePrice(price));
      flows -= 2;
    } while (price < 1e12 && line.held > 0);
    insert(std::move(line));
  }
  auto pick = [&](bool low) -> CutLine * {
    auto place = std::upper_bound(
        front.begin(), front.end(), space,
        [](int64_t held, const CutLine &a) { return held < a.held; });
    if (low)
      return place == front.begin() ? nullptr : &*(place - 1);
    return place == front.end() ? nullptr : &*place;
  };
  bool any = false;
  auto take = [&](Price price, int64_t flow) {
    int64_t bound = boundOf(price, flow, budget);
    if (bound > best.bound || (!any && bound == best.bound)) {
      best.bound = bound;
      best.price = price;
    }
    any = true;
  };
  for (int step = 0; step < 60 && flows > 0; ++step) {
    CutLine *fits = pick(true), *over = pick(false);
    if (!fits) {
      best.impossible = true;
      return best;
    }
    if (!over)
      break;
    if (fits->closed) {
      take(fits->meeting, fits->meetingFlow);
      best.most = best.bound;
      break;
    }
    double slope =
        double(fits->cost - over->cost) / double(over->held - fits->held);
    // No bound is above the point where both lines meet.
    best.most = graph.baseCost + over->cost + 1 +
                int64_t(slope * double(over->held - space));
    if (best.most < known)
      break;
    Price price = makePrice(slope);
    CutLine line = minimumCut(price);
    --flows;
    int64_t flow = flowValue();
    take(price, flow);
    bool isKnown = (line.held == fits->held && line.cost == fits->cost) ||
                   (line.held == over->held && line.cost == over->cost);
    // On the segment between both: no corner lies below it.
    double onSegment =
        double(over->cost) + slope * double(over->held - line.held);
    bool corner = double(line.cost) < onSegment - 1e-9 * (1 + onSegment);
    if (isKnown || !corner || line.held <= fits->held ||
        line.held >= over->held) {
      fits->closed = true;
      fits->meeting = price;
      fits->meetingFlow = flow;
      break;
    }
    insert(std::move(line));
  }
  auto place = std::upper_bound(
      front.begin(), front.end(), space,
      [](int64_t held, const CutLine &a) { return held < a.held; });
  best.feasible = static_cast<int32_t>(place - front.begin()) - 1;
  return best;
}

void CutNetwork::priceTransfers(int64_t budget, Best &best) {
  // Without a price on bytes yet: one at which holding everything costs a
  // little.
  double start = std::max(best.price.value(), 0.1 * double(graph.baseCost + 1) /
                                                  double(needed + 1));
  for (double transfer : {0.25, 0.5, 1.0})
    for (double factor : {1.0, 2.0, 4.0, 16.0}) {
      Price price = makePrice(start * factor, transfer);
      minimumCut(price);
      int64_t bound = boundOf(price, flowValue(), budget);
      if (bound > best.bound) {
        best.bound = bound;
        best.price = price;
      }
    }
}

int64_t CutNetwork::unavoidableBytes() {
  freeRecompute = true;
  minimumCut({1, 1});
  freeRecompute = false;
  return flowValue();
}
