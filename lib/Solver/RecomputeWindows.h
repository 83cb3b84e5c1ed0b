//===- RecomputeWindows.h - the windows of a series and their prices ------===//
//
// What RecomputeSeries.h and RecomputeCases.h are made of: the minimum cuts of
// all windows of a series of cuts, the prices that tie them together, and the
// bound that these prove. The windows' bounds add up, so with the prices of
// values fixed each window is a question of its own: at which price of bytes,
// and in which cases, is its cut largest?
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTEWINDOWS_H
#define TENON_LIB_SOLVER_RECOMPUTEWINDOWS_H

#include "FlowNetwork.h"
#include "RecomputeGraph.h"

#include <memory>

namespace tenon::solver {

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

class Series {
public:
  /// False where the integers of a series would be too coarse.
  static bool canScale(const RecomputeGraph &graph);
  /// All prices are zero.
  Series(const RecomputeGraph &graph, int64_t budget,
         std::span<const int32_t> cuts);
  /// The cuts and prices of a certificate without cases.
  Series(const RecomputeGraph &graph, int64_t budget,
         const RecomputeCertificate &certificate);
  /// A series with one more cut, of window `added`, and prices that prove no
  /// less: the flow that what is read after the new cut has through `other` is
  /// its price there. The last prices of `other` must have been evaluated.
  Series(const Series &other, size_t added, int32_t cut);
  /// A series with one cut moved, to begin with the prices of `other`.
  static std::unique_ptr<Series> moved(const Series &other, size_t index,
                                       int32_t cut);

  /// Subgradient steps from the present prices; keeps the best ones met.
  void improve(int rounds, int64_t upper);
  int64_t bound() const { return boundFor(bestOverhead); }
  /// The bound that an overhead, times scale(), proves.
  int64_t boundFor(__int128 overhead) const;
  RecomputeCertificate certificate();
  /// Computes the flows of the best prices.
  void evaluateBest();

  std::vector<int32_t> cuts() const;
  size_t size() const { return windows.size(); }
  const Window &window(size_t index) const { return *windows[index]; }
  /// One unit of cost.
  int64_t scale() const { return denominator; }

  /// What is known of a window: of each node that it runs again, of each value
  /// that it is held; or that they do not and are not.
  enum class Known : char { Nothing, Yes, No };
  /// The minimum cut of one window.
  struct Answer {
    int64_t price = 0;
    __int128 overhead = 0; // times scale()
    double slope = 0;      // bytes held less the room
    std::vector<char> chosen;
  };
  /// `known` and the answer's `chosen`: nodes of the window, then values.
  Answer ask(size_t index, int64_t price, std::span<const Known> known);
  /// The largest price of bytes.
  int64_t highestPrice() const;
  /// A price of bytes to begin with.
  int64_t likelyPrice(size_t index) const;
  /// The flows of the last question.
  template <typename Cut>
  void writeFlows(size_t index, Cut &cut) const;

private:
  struct Prices {
    std::vector<int64_t> bytes;
    std::vector<std::vector<int64_t>> values;
  };
  struct Slopes {
    std::vector<double> bytes;
    std::vector<std::vector<double>> values;
  };
  void build(std::span<const int32_t> cuts);
  /// Takes the prices of a window of another series.
  void takePrices(size_t index, const Series &other, size_t from);
  void build(Window &window, Window *next);
  /// Makes the present prices the best ones.
  void adopt();
  /// The overhead that the present prices prove, times the denominator, and
  /// which way each price should go.
  __int128 evaluate(Slopes *slopes);
  /// How the last question about a window was answered; per node and value of
  /// the window.
  struct MinimumCut {
    std::vector<char> rerun, available, held;
  };
  MinimumCut minimumCut(size_t index) const;
  double heldBesideRoom(size_t index, std::span<const char> held) const;
  __int128 evaluate(size_t index, int64_t price, std::span<const Known> known);

  const RecomputeGraph &graph;
  int64_t budget;
  int64_t denominator, mostValuePrice;
  std::vector<std::unique_ptr<Window>> windows;
  Prices best;
  __int128 bestOverhead = 0;
};

template <typename Cut>
void Series::writeFlows(size_t index, Cut &cut) const {
  const Window &window = *windows[index];
  int32_t arc = 0;
  for (int32_t value : window.values)
    if (int64_t flow = window.network.flow(arc++); flow > 0)
      cut.valueFlows.push_back({value, flow});
  arc += static_cast<int32_t>(window.nodes.size());
  for (auto [value, consumer] : window.edges)
    if (int64_t flow = window.network.flow(arc++); flow > 0)
      cut.edgeFlows.push_back({value, consumer, flow});
}

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTEWINDOWS_H
