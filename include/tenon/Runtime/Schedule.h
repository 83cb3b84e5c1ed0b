//===- Schedule.h - How a setting changes from step to step ---------------===//
//
// A value per step, as text and as a function: `cosine:steps=1000,end=0` goes
// from the setting's value to 0 along half a cosine. The step counts from 0,
// as the count in an optimizer's state does before the step increments it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_SCHEDULE_H
#define TENON_RUNTIME_SCHEDULE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::runtime {

class Schedule {
public:
  /// Nothing with what is wrong in `error`.
  static std::optional<Schedule> parse(std::string_view text,
                                       std::string &error);

  /// Whether it still lacks the value that it starts from, after a warmup.
  bool needsValue() const { return kind != Kind::piecewise && !value; }
  void setValue(double given) { value = given; }

  /// The value of step `step`, which is not negative.
  double at(int64_t step) const;
  /// What parse() reads, with the value.
  std::string text() const;

private:
  enum class Kind { constant, linear, cosine, exponential, piecewise };
  struct Shape;
  static const Shape shapes[];

  bool take(std::string_view key, double number, std::string &error);
  std::string whyIncomplete() const;

  Kind kind = Kind::constant;
  bool hasWarmup = false;
  std::optional<double> value, end, rate, start;
  std::optional<int64_t> steps, warmup;
  std::vector<std::pair<int64_t, double>> pieces; // from which step, in order
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_SCHEDULE_H
