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

#include "MinimumCut/FlowNetwork.h"
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
  /// Bytes as they count, in whole units (RecomputeCertificate::unit): per
  /// value, and of the room.
  int64_t unit = 1;
  std::vector<int64_t> weights;
  int64_t space = 0;
  double meanWeight = 1;
  int64_t highestPrice = 0;

  int64_t price = 0;                // per weight held at the cut
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

  /// Subgradient steps from the best prices; keeps the best ones met.
  void improve(int rounds, int64_t upper);
  /// The same for one window and its neighbours; the last prices must have been
  /// the best ones.
  void improveAround(size_t index, int rounds, int64_t upper);
  /// Looks for the units of each window that prove most, prices of values being
  /// what they are.
  void chooseUnits();
  int64_t bound() const { return boundFor(best.overhead); }
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
  /// that it is held; or that they do not and are not; or that a node's cost is
  /// paid, while it may have run before. Nodes of the window, then values.
  enum class Known : char { Nothing, Yes, No, Paid };
  /// The minimum cut of one window.
  struct Answer {
    int64_t price = 0;
    __int128 overhead = 0; // times scale()
    double slope = 0;      // weights held less the room
    std::vector<char> chosen;
  };
  /// The price of weights with the largest overhead in a window, beginning at
  /// `start`; done once it is `most`. `low` and `high` are the answers on both
  /// sides of it, empty where there is none.
  struct Summit {
    int64_t price = 0;
    __int128 overhead = 0;
    Answer low, high;
  };
  Summit maximize(size_t index, std::span<const Known> known, int64_t start,
                  __int128 most, int64_t &flows);

  /// Prices of neighbouring windows, and the overhead that they prove together.
  struct Prices {
    std::vector<int64_t> bytes;
    std::vector<std::vector<int64_t>> values;
    __int128 overhead = 0;
  };
  /// Neighbouring windows of which different things may be known.
  struct Range {
    size_t first, count;
    std::vector<std::vector<Known>> known; // per window; may be empty
  };
  /// The best prices, of some windows.
  Prices bestPrices(size_t first, size_t count) const;
  /// Subgradient steps from `prices` in some windows, while what is read from
  /// before them and after keeps its price; done once the overhead is `most`.
  /// Keeps the best prices met. `shares`, unless null, says how often nodes ran
  /// again and values were held lately.
  void climb(const Range &range, int rounds, __int128 most, Prices &prices,
             std::vector<std::vector<double>> *shares, int64_t &flows);
  /// Computes the flows of these windows, and their overhead.
  __int128 evaluate(const Range &range, const Prices &prices);
  /// A price of weights to begin with.
  int64_t likelyPrice(size_t index) const;
  /// The price and flows of the last question.
  void writeFlows(size_t index, RecomputeFlow &cut) const;
  /// With the node and the prices of values.
  void writePart(size_t index, RecomputeCertificate::Part &part) const;

private:
  struct Slopes {
    std::vector<double> bytes;
    std::vector<std::vector<double>> values;
  };
  void setUnit(Window &window, int64_t unit);
  void build(std::span<const int32_t> cuts);
  /// Takes the prices of a window of another series.
  void takePrices(size_t index, const Series &other, size_t from);
  void build(Window &window, Window *next);
  /// Makes the present prices the best ones.
  void adopt();
  /// The overhead that the present prices prove, times the denominator, and
  /// which way each price should go.
  __int128 evaluate(const Range &range, Slopes *slopes,
                    std::vector<std::vector<double>> *shares);
  Range everything() const { return {0, windows.size(), {}}; }
  Answer ask(size_t index, int64_t price, std::span<const Known> known);
  /// How the last question about a window was answered; per node and value of
  /// the window.
  struct MinimumCut {
    std::vector<char> rerun, available, held;
  };
  MinimumCut minimumCut(size_t index, std::span<const Known> known) const;
  double heldBesideRoom(size_t index, std::span<const char> held) const;
  __int128 evaluate(size_t index, int64_t price, std::span<const Known> known);

  const RecomputeGraph &graph;
  int64_t budget;
  int64_t denominator, mostValuePrice;
  std::vector<std::unique_ptr<Window>> windows;
  Prices best;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTEWINDOWS_H
