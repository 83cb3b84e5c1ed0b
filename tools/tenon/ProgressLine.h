//===- ProgressLine.h - How far a run is, in one line ---------------------===//
//
// On a terminal the line is written over itself, a few times a second; in a
// pipe or a file a new one is added each second.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_PROGRESSLINE_H
#define TENON_TOOLS_TENON_PROGRESSLINE_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenon::tool {

/// What a line says. Rates are per second.
struct Progress {
  int64_t step = 0;
  std::optional<int64_t> goal;
  std::vector<std::pair<std::string, std::string>> results; // name and value
  std::optional<double> smoothed;
  double stepsPerSecond = 0;
  double itemsPerSecond = 0; // 0 if there is nothing to count
  std::string items;         // what is counted: samples or tokens
  std::optional<double> secondsLeft;
};

/// `step 3/10  loss 0.5  smoothed 0.6  2.0 steps/s  64 samples/s  0:03 left`.
std::string progressText(const Progress &progress);

class ProgressLine {
public:
  explicit ProgressLine(bool mayOverwrite = true);
  /// Whether it is time for a line, `seconds` after the start.
  bool isDue(double seconds) const;
  void show(const Progress &progress, double seconds);
  /// Begins a new line where one was written over itself.
  void finish();

private:
  bool isTerminal = false, isOpen = false;
  double last = 0;
};

/// The mean of values, in which older ones count ever less.
class SmoothedValue {
public:
  /// Leaves out what is not finite.
  void add(double value);
  std::optional<double> value() const;

private:
  double sum = 0, weight = 0;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_PROGRESSLINE_H
