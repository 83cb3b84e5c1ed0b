//===- RecomputeSeries.cpp - the bound of several cuts together -----------===//
//
// The search for the cuts of a series; its prices are found by
// RecomputeWindows.h.
//
//===----------------------------------------------------------------------===//

#include "RecomputeSeries.h"

#include "RecomputeWindows.h"

#include <algorithm>
#include <tuple>

using namespace tenon::solver;

SeriesProof tenon::solver::improveBySeries(const RecomputeGraph &graph,
                                           int64_t budget,
                                           const std::vector<int64_t> &fullness,
                                           SeriesProof known, int64_t upper,
                                           int tries) {
  if (!Series::canScale(graph) || known.certificate.cut < 0)
    return known;
  std::vector<int32_t> full;
  for (int32_t node = 0; node < graph.nodes; ++node)
    if (fullness[node] > budget)
      full.push_back(node);
  // Steps are cheap on small graphs, and more of them pay.
  const double nodes = double(graph.nodes) + 1;
  const int rounds =
      static_cast<int>(std::clamp(2.4e7 / (nodes * nodes), 60.0, 500.0));
  auto series = std::make_unique<Series>(graph, budget, known.certificate);
  auto fullest = [&](auto from, auto to) {
    return *std::max_element(from, to, [&](int32_t a, int32_t b) {
      return fullness[a] < fullness[b];
    });
  };
  // A cut that gains nothing soon seldom does later.
  const int atFirst = std::clamp(rounds / 6, 20, 60), briefly = 60;
  const auto lookedAtLonger = static_cast<size_t>(std::max(4, rounds / 20));
  // Does not pay for a longer certificate and dearer cases.
  auto tooLittle = [&] { return (series->bound() - graph.baseCost) / 2'000; };
  // Each time the best of a few cuts between any two, each where the step is
  // fullest.
  while (tries > 0 && series->bound() < upper) {
    const std::vector<int32_t> cuts = series->cuts();
    std::vector<std::pair<size_t, std::unique_ptr<Series>>> looks;
    series->evaluateBest();
    auto begin = full.begin();
    for (size_t place = 0; place <= cuts.size(); ++place) {
      auto end = place == cuts.size()
                     ? full.end()
                     : std::lower_bound(begin, full.end(), cuts[place]);
      int32_t last = -1;
      for (int eighth : {1, 3, 5}) {
        auto from = begin + (end - begin) * eighth / 8;
        auto to = begin + (end - begin) * (eighth + 2) / 8;
        if (begin == end || tries <= 0)
          continue;
        int32_t cut = fullest(from, std::max(to, from + 1));
        if (cut == last)
          continue;
        last = cut;
        --tries;
        auto longer = std::make_unique<Series>(*series, place, cut);
        longer->improveAround(place, atFirst, upper);
        looks.push_back({place, std::move(longer)});
      }
      if (place < cuts.size())
        begin = std::upper_bound(end, full.end(), cuts[place]);
    }
    std::sort(looks.begin(), looks.end(), [](const auto &a, const auto &b) {
      return std::tuple(-a.second->bound(), a.second->cuts()) <
             std::tuple(-b.second->bound(), b.second->cuts());
    });
    if (looks.size() > lookedAtLonger)
      looks.resize(lookedAtLonger);
    std::unique_ptr<Series> best;
    for (auto &[place, longer] : looks) {
      longer->improveAround(place, std::min(rounds, briefly), upper);
      if (longer->bound() > series->bound() + tooLittle())
        longer->improve(rounds, upper);
      if (!best || longer->bound() > best->bound())
        best = std::move(longer);
    }
    if (!best)
      break;
    best->improve(rounds * 4, upper);
    if (best->bound() <= series->bound() + tooLittle())
      break;
    series = std::move(best);
  }
  // Cuts move where that helps; a short look shows it.
  bool any = series->size() > 1;
  while (any && tries > 0 && series->bound() < upper) {
    any = false;
    for (int32_t distance : {8, 4, 2, 1})
      for (size_t i = 0; i < series->size(); ++i)
        for (int32_t way : {-distance, distance}) {
          const std::vector<int32_t> cuts = series->cuts();
          const int32_t cut = cuts[i] + way;
          if (cut < 0 || cut >= graph.nodes || fullness[cut] <= budget ||
              (i > 0 && cut <= cuts[i - 1]) ||
              (i + 1 < cuts.size() && cut >= cuts[i + 1]) || tries <= 0)
            continue;
          --tries;
          std::unique_ptr<Series> other = Series::moved(*series, i, cut);
          other->improveAround(i, rounds / 8, upper);
          if (other->bound() <= series->bound())
            continue;
          series = std::move(other);
          any = true;
        }
  }
  if (series->bound() <= known.bound)
    return known;
  return {series->bound(), series->certificate()};
}
