//===- ShardingBound.cpp - improve messages and prices --------------------===//

#include "ShardingChoice/ShardingBound.h"

#include <algorithm>
#include <cmath>

using namespace tenon::solver;

/// Costs of labels with prices per row added.
static std::vector<std::vector<double>>
pricedCosts(const ShardingGroups &groups, const std::vector<double> &prices) {
  std::vector<double> sums = {0};
  for (double price : prices)
    sums.push_back(sums.back() + price);
  std::vector<std::vector<double>> costs;
  for (const ShardingGroups::Group &group : groups.groups) {
    costs.emplace_back(group.costs.begin(), group.costs.end());
    for (int32_t label = 0; label < group.size(); ++label)
      for (const ShardingGroups::Run &run : group.runs[label])
        costs.back()[label] +=
            double(run.bytes) * (sums[run.end] - sums[run.begin]);
  }
  return costs;
}

ShardingBound::ShardingBound(const ShardingGroups &groups)
    : groups(groups), tables(groups) {
  for (const ShardingGroups::Edge &edge : groups.edges) {
    const size_t rows = groups.groups[edge.first].costs.size();
    const size_t columns = groups.groups[edge.second].costs.size();
    now.messages.emplace_back(rows);
    now.messages.emplace_back(columns);
  }
  for (size_t group = 0; group < groups.groups.size(); ++group) {
    parts.emplace_back(groups.groups[group].costs.size());
    double before = 0, behind = 0;
    for (const ShardingGroups::Link &link : groups.groups[group].links)
      (size_t(link.other) < group ? before : behind) += link.perGroup;
    shares.push_back(1.0 / std::max({before, behind, 1.0}));
  }
  setPrices(std::vector<double>(groups.rows.size()));
  now.bound = measure(/*isPassedOn=*/false);
  best = now;
}

void ShardingBound::setPrices(const std::vector<double> &prices) {
  now.prices = prices;
  costs = pricedCosts(groups, prices);
}

void ShardingBound::addMessages(int32_t group,
                                std::vector<double> &costs) const {
  for (const ShardingGroups::Link &link : groups.groups[group].links) {
    const std::vector<double> &message =
        now.messages[2 * link.edge + (link.isFirst ? 0 : 1)];
    for (size_t i = 0; i < costs.size(); ++i)
      costs[i] += message[i];
  }
}

// Most of what messages take is this loop, so it is there for wider vectors,
// too; they give the same numbers.
#if defined(__x86_64__) && defined(__ELF__)
__attribute__((target_clones("avx512dq", "avx2", "default")))
#endif
/// Lowers columns to those of a row beyond what it keeps.
static void
lower(const double *row, double kept, double *columns, size_t count) {
  for (size_t column = 0; column < count; ++column)
    columns[column] = std::min(columns[column], row[column] - kept);
}

/// Without a limit, so many passes are made whatever they take: that time grows
/// with the problem alone.
static constexpr int leastPasses = 24;

/// A label that costs so many bounds is in no choice worth having.
static constexpr double mostOfBound = 64;

/// A number takes about as long as three of the search.
static constexpr int64_t effortPerNumber = 3;

/// Sets per column the least of the rows beyond what these keep back, and says
/// how many numbers were looked at.
int64_t ShardingBound::lowerColumns(const ShardingTables::Side &from) {
  const size_t width = from.width;
  if (!from.ends.empty()) {
    // Labels that were dropped for their bytes can leave columns without a row.
    lowest.assign(width, double(ShardingGroups::forbidden) -
                             *std::max_element(kept.begin(), kept.end()));
    size_t at = 0;
    for (size_t row = 0; row < kept.size(); ++row)
      for (; at < from.ends[row]; ++at) {
        double &target = lowest[from.permitted[at]];
        target = std::min(target, from.costs[row * width + from.permitted[at]] -
                                      kept[row]);
      }
    return static_cast<int64_t>(at);
  }
  // A row whose least number is above all columns changes none. The row with
  // the least one leaves few of the others.
  least.clear();
  for (size_t row = 0; row < kept.size(); ++row)
    least.push_back(from.least[row] - kept[row]);
  const size_t first =
      std::min_element(least.begin(), least.end()) - least.begin();
  const double *costs = from.costs.data() + first * width;
  lowest.assign(costs, costs + width);
  for (double &column : lowest)
    column -= kept[first];
  double most = *std::max_element(lowest.begin(), lowest.end());
  open.clear();
  for (size_t row = 0; row < least.size(); ++row)
    if (row != first && least[row] < most)
      open.push_back(static_cast<int32_t>(row));
  std::sort(open.begin(), open.end(),
            [&](int32_t a, int32_t b) { return least[a] < least[b]; });
  size_t taken = 1;
  for (int32_t row : open) {
    if (least[row] >= most)
      break;
    lower(from.costs.data() + size_t(row) * width, kept[row], lowest.data(),
          width);
    if (taken++ % 4 == 0)
      most = *std::max_element(lowest.begin(), lowest.end());
  }
  return static_cast<int64_t>(taken * width);
}

/// Of labels with equal rows, the one that keeps back most counts.
void ShardingBound::passOn(const ShardingTables::Side &from,
                           const ShardingTables::Side &to,
                           const std::vector<double> &back,
                           std::vector<double> &on) {
  kept.assign(to.width, -4e18);
  for (size_t label = 0; label < back.size(); ++label) {
    double &most = kept[from.rowOf[label]];
    most = std::max(most, back[label]);
  }
  const int64_t taken = lowerColumns(from);
  for (size_t label = 0; label < on.size(); ++label)
    on[label] = lowest[to.rowOf[label]];
  // Equal rows and columns count as if they were looked at.
  effort +=
      effortPerNumber * (taken * static_cast<int64_t>(back.size() * on.size()) /
                             static_cast<int64_t>(from.costs.size()) +
                         static_cast<int64_t>(back.size()));
}

/// Every group takes its share of what it costs back into each edge to a group
/// that comes later, and the edge passes on all that it can.
void ShardingBound::pass(bool forwards) {
  const auto count = static_cast<int32_t>(groups.groups.size());
  std::vector<double> sum;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t group = forwards ? i : count - 1 - i;
    sum = costs[group];
    addMessages(group, sum);
    if (!forwards && !groups.rows.empty())
      takeParts(group, sum);
    for (const ShardingGroups::Link &link : groups.groups[group].links) {
      if (forwards ? link.other < group : link.other > group)
        continue;
      std::vector<double> &back =
          now.messages[2 * link.edge + (link.isFirst ? 0 : 1)];
      std::vector<double> &on =
          now.messages[2 * link.edge + (link.isFirst ? 1 : 0)];
      const double share = shares[group] * link.perGroup;
      for (size_t row = 0; row < sum.size(); ++row)
        back[row] -= share * sum[row];
      passOn(tables.side(link.edge, link.isFirst),
             tables.side(link.edge, !link.isFirst), back, on);
      // A number that all messages of an edge share is moved back, so that the
      // messages stay small. One to a label without a permitted partner would
      // be huge, and leave no digits for the others.
      const double shared = *std::min_element(on.begin(), on.end());
      const double most = mostOfBound * std::max(1.0, std::fabs(best.bound));
      for (double &message : on)
        message = std::min(message - shared, most);
      for (double &message : back)
        message += shared;
    }
  }
}

double ShardingBound::measure(bool isPassedOn) const {
  double bound = double(groups.constant);
  // How large the numbers are that add up to the bound: where they are far
  // larger, rounding makes a bound that is none.
  double magnitude = 0;
  auto add = [&](double least) {
    bound += least;
    magnitude += std::fabs(least);
  };
  std::vector<double> sum;
  for (size_t group = 0; group < groups.groups.size(); ++group) {
    sum = costs[group];
    addMessages(static_cast<int32_t>(group), sum);
    add(*std::min_element(sum.begin(), sum.end()));
  }
  for (size_t edge = 0; edge < groups.edges.size(); ++edge) {
    for (const std::vector<double> *side :
         {&now.messages[2 * edge], &now.messages[2 * edge + 1]})
      for (double message : *side)
        magnitude += std::fabs(message);
    // What an edge passes on is all that it can, so nothing is left.
    const std::vector<double> &least =
        tables.side(static_cast<int32_t>(edge), true).least;
    if (!isPassedOn)
      add(*std::min_element(least.begin(), least.end()));
  }
  for (size_t row = 0; row < groups.rows.size(); ++row)
    add(-now.prices[row] * double(groups.rows[row].capacity));
  return bound - 1e-12 * magnitude;
}

void ShardingBound::takeParts(int32_t group, const std::vector<double> &sum) {
  std::vector<double> &part = parts[group];
  const double least = *std::min_element(sum.begin(), sum.end());
  double all = 0;
  for (size_t label = 0; label < sum.size(); ++label) {
    part[label] =
        std::max(0.0, nearness - shares[group] * (sum[label] - least));
    all += part[label];
  }
  for (double &value : part)
    value /= all;
}

std::vector<double> ShardingBound::excess() const {
  std::vector<double> change(groups.rows.size() + 1);
  for (size_t group = 0; group < parts.size(); ++group)
    for (size_t label = 0; label < parts[group].size(); ++label) {
      const double part = parts[group][label];
      if (part <= 0)
        continue;
      for (const ShardingGroups::Run &run : groups.groups[group].runs[label]) {
        change[run.begin] += part * double(run.bytes);
        change[run.end] -= part * double(run.bytes);
      }
    }
  std::vector<double> excess;
  double taken = 0;
  for (size_t row = 0; row < groups.rows.size(); ++row) {
    taken += change[row];
    excess.push_back(taken - double(groups.rows[row].capacity));
  }
  return excess;
}

bool ShardingBound::keepIfBetter() {
  now.bound = measure(/*isPassedOn=*/true);
  // A step that is far too long can end in numbers that are none.
  if (!(now.bound > best.bound))
    return false;
  best = now;
  return true;
}

/// So many passes are made both ways before the bound is looked at.
static constexpr int passesAtOnce = 4;

/// Of the bound.
static constexpr double hasSettled = 1e-5;

void ShardingBound::settle(int mostPasses, double enough) {
  for (int passes = 0; passes < mostPasses; passes += passesAtOnce) {
    for (int i = 0; i < passesAtOnce; ++i) {
      pass(true);
      pass(false);
    }
    const double before = best.bound;
    if (!keepIfBetter() || best.bound > enough ||
        best.bound - before < hasSettled * best.bound)
      return;
  }
}

void ShardingBound::passBothWays(int times) {
  for (int i = 0; i < times; ++i) {
    pass(true);
    pass(false);
    ++effort;
  }
}

/// Labels count for a step of prices if they cost so much more than the
/// cheapest, at first and at last, in parts of the bound per group.
static constexpr double firstNearness = 0.2, lastNearness = 0.0005;

/// The part of the effort that goes into prices; passes at each step of them.
static constexpr double effortOnPrices = 0.85;
static constexpr int passesPerStep = 2;

/// After so many steps that lead to no better bound they become shorter.
static constexpr int mostWorse = 4;

void ShardingBound::improve(int64_t mostEffort, std::optional<double> above) {
  const int64_t end = effort + mostEffort;
  // Messages alone until they settle, then prices with them.
  for (double before = best.bound; effort < end; before = best.bound) {
    passBothWays(8);
    if (!keepIfBetter() ||
        best.bound - before < 1e-4 * (above.value_or(2 * before) - before))
      break;
  }
  if (groups.rows.empty()) {
    for (int pass = 8; effort < end || pass < leastPasses; pass += 8) {
      passBothWays(8);
      const double before = best.bound;
      if (!keepIfBetter() ||
          (effort >= end && best.bound - before < 1e-4 * best.bound))
        break;
    }
    return;
  }
  improvePrices(effort + int64_t(effortOnPrices * double(end - effort)), above);
  // The passes of a step leave messages far from settled.
  for (double before = best.bound; effort < end; before = best.bound) {
    passBothWays(8);
    if (!keepIfBetter() || best.bound - before < 1e-6 * best.bound)
      break;
  }
  now = best;
  setPrices(best.prices);
}

/// Steps lead to a cost that the bound may reach. Where a known cost is far
/// away they are too long, so in turn they lead to a little above the bound;
/// where none is known, to far above it.
void ShardingBound::improvePrices(int64_t end, std::optional<double> above) {
  const int64_t begin = effort;
  const double perGroup = std::max(1.0, std::fabs(best.bound)) /
                          double(std::max<size_t>(1, groups.groups.size()));
  auto setNearness = [&] {
    const double left = 1 - double(effort - begin) / double(end - begin);
    nearness = perGroup * (lastNearness + firstNearness * left * left * left);
  };
  if (effort >= end)
    return;
  setNearness();
  passBothWays(1);
  std::vector<double> direction = excess();
  double length = 0.5;
  bool isNear = !above || *above > 1.2 * best.bound;
  int worse = 0;
  while (effort < end) {
    setNearness();
    std::vector<double> step = direction;
    double square = 0;
    for (size_t row = 0; row < step.size(); ++row) {
      if (best.prices[row] <= 0 && step[row] < 0)
        step[row] = 0;
      square += step[row] * step[row];
    }
    if (square <= 0)
      break;
    const double far = above.value_or(1.5 * best.bound);
    const double target = isNear ? std::min(far, 1.05 * best.bound) : far;
    const double scale =
        length * std::max(target - best.bound, 1e-4 * target) / square;
    std::vector<double> prices = best.prices;
    for (size_t row = 0; row < step.size(); ++row)
      prices[row] = std::max(0.0, prices[row] + scale * step[row]);
    setPrices(prices);
    passBothWays(passesPerStep);
    const std::vector<double> seen = excess();
    for (size_t row = 0; row < seen.size(); ++row)
      direction[row] = 0.8 * direction[row] + 0.2 * seen[row];
    if (keepIfBetter()) {
      worse = 0;
      length = std::min(2.0, 1.2 * length);
    } else if (++worse == mostWorse) {
      worse = 0;
      length *= 0.6;
      now.messages = best.messages;
      if (length < 1e-4) {
        length = 0.5;
        isNear = !isNear;
        direction = seen;
      }
    }
  }
  now = best;
  setPrices(best.prices);
}

std::vector<int32_t> ShardingBound::decode() const {
  std::vector<int32_t> labels;
  const std::vector<std::vector<double>> priced =
      pricedCosts(groups, best.prices);
  for (size_t i = 0; i < groups.groups.size(); ++i) {
    std::vector<double> sum = priced[i];
    for (const ShardingGroups::Link &link : groups.groups[i].links) {
      if (size_t(link.other) > i) {
        const std::vector<double> &message =
            best.messages[2 * link.edge + (link.isFirst ? 0 : 1)];
        for (size_t label = 0; label < sum.size(); ++label)
          sum[label] += message[label];
        continue;
      }
      const double *row =
          tables.side(link.edge, !link.isFirst).row(labels[link.other]);
      const std::vector<int32_t> &columnOf =
          tables.side(link.edge, link.isFirst).rowOf;
      for (size_t label = 0; label < sum.size(); ++label)
        sum[label] += row[columnOf[label]];
    }
    labels.push_back(static_cast<int32_t>(
        std::min_element(sum.begin(), sum.end()) - sum.begin()));
  }
  return labels;
}

std::vector<std::vector<double>> ShardingBound::reducedCosts() const {
  std::vector<std::vector<double>> reduced = pricedCosts(groups, best.prices);
  for (size_t i = 0; i < reduced.size(); ++i) {
    std::vector<double> &sum = reduced[i];
    for (const ShardingGroups::Link &link : groups.groups[i].links) {
      const std::vector<double> &message =
          best.messages[2 * link.edge + (link.isFirst ? 0 : 1)];
      for (size_t label = 0; label < sum.size(); ++label)
        sum[label] += message[label];
    }
    const double least = *std::min_element(sum.begin(), sum.end());
    for (double &cost : sum)
      cost -= least;
  }
  return reduced;
}
