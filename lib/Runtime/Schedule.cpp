//===- Schedule.cpp - How a setting changes from step to step -------------===//
//
// The schedules are those of optax of the same names: `steps` of linear and
// cosine counts the warmup, that of exponential says after how many steps the
// rate has been applied once.
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Schedule.h"

#include "tenon/Support/ParseNumber.h"
#include "tenon/Support/PortableMath.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace tenon;
using namespace tenon::runtime;

/// What a kind is called and which parameters it takes.
struct Schedule::Shape {
  Kind kind;
  std::string_view name;
  bool steps, end, rate;
};

const Schedule::Shape Schedule::shapes[] = {
    {Kind::constant, "constant", false, false, false},
    {Kind::linear, "linear", true, true, false},
    {Kind::cosine, "cosine", true, true, false},
    {Kind::exponential, "exponential", true, true, true},
    {Kind::piecewise, "piecewise", false, false, false},
};

static constexpr std::string_view warmupPrefix = "warmup_";
static constexpr int64_t mostSteps = int64_t(1) << 53;

static std::string numberText(double number) {
  char text[64];
  return std::string(text,
                     std::to_chars(text, text + sizeof(text), number).ptr);
}

bool Schedule::take(std::string_view key, double number, std::string &error) {
  const Shape &shape = *std::ranges::find(shapes, kind, &Shape::kind);
  auto wrong = [&](const std::string &why) {
    error = why;
    return false;
  };
  auto count = [&](std::optional<int64_t> &into) {
    if (number < 1 || number > double(mostSteps) ||
        number != std::floor(number))
      return wrong(std::string(key) + " must be a whole number from 1 on");
    if (into)
      return wrong(std::string(key) + " is there twice");
    into = int64_t(number);
    return true;
  };
  auto once = [&](std::optional<double> &into) {
    if (into)
      return wrong(std::string(key) + " is there twice");
    into = number;
    return true;
  };
  if (kind == Kind::piecewise) {
    auto from = parseNumber(key);
    if (!from || *from < 0)
      return wrong("piecewise takes STEP=VALUE, such as 0=1e-3");
    if (pieces.empty() ? *from != 0 : *from <= pieces.back().first)
      return wrong("the steps of piecewise must begin with 0 and grow");
    pieces.emplace_back(*from, number);
    return true;
  }
  if (key == "value")
    return once(value);
  if (key == "steps" && shape.steps)
    return count(steps);
  if (key == "end" && shape.end)
    return once(end);
  if (key == "rate" && shape.rate)
    return number > 0 ? once(rate) : wrong("rate must be positive");
  if (key == "warmup" && hasWarmup)
    return count(warmup);
  if (key == "start" && hasWarmup)
    return once(start);
  std::string known = "value";
  known += shape.steps ? ", steps" : "";
  known += shape.end ? ", end" : "";
  known += shape.rate ? ", rate" : "";
  known += hasWarmup ? ", warmup, start" : "";
  return wrong("unknown parameter '" + std::string(key) + "', there are " +
               known);
}

std::string Schedule::whyIncomplete() const {
  const Shape &shape = *std::ranges::find(shapes, kind, &Shape::kind);
  if (kind == Kind::piecewise && pieces.empty())
    return "piecewise needs values, such as piecewise:0=1e-3,500=1e-4";
  if (shape.steps && !steps)
    return "steps is missing";
  if (shape.rate && !rate)
    return "rate is missing";
  if (hasWarmup && !warmup)
    return "warmup is missing";
  bool isDecay = kind == Kind::linear || kind == Kind::cosine;
  if (isDecay && hasWarmup && *warmup >= *steps)
    return "warmup must be less than steps, which counts it";
  return "";
}

std::optional<Schedule> Schedule::parse(std::string_view text,
                                        std::string &error) {
  Schedule schedule;
  size_t colon = std::min(text.find(':'), text.size());
  std::string_view name = text.substr(0, colon);
  std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  schedule.hasWarmup = name.starts_with(warmupPrefix);
  if (schedule.hasWarmup)
    name.remove_prefix(warmupPrefix.size());
  const Shape *shape = std::ranges::find(shapes, name, &Shape::name);
  if (shape == std::end(shapes) ||
      (schedule.hasWarmup && shape->kind == Kind::piecewise)) {
    error = "expected constant, linear, cosine, exponential (each also with "
            "warmup_ in front) or piecewise";
    return std::nullopt;
  }
  schedule.kind = shape->kind;
  while (!rest.empty()) {
    size_t comma = std::min(rest.find(','), rest.size());
    std::string_view entry = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    size_t equals = entry.find('=');
    auto number = equals == std::string_view::npos
                      ? std::nullopt
                      : parseNumber<double>(entry.substr(equals + 1));
    if (!number || !std::isfinite(*number)) {
      error = "'" + std::string(entry) +
              "' is not a parameter, such as "
              "steps=1000";
      return std::nullopt;
    }
    if (!schedule.take(entry.substr(0, equals), *number, error))
      return std::nullopt;
  }
  error = schedule.whyIncomplete();
  return error.empty() ? std::optional(schedule) : std::nullopt;
}

double Schedule::at(int64_t step) const {
  if (kind == Kind::piecewise) {
    auto next = std::ranges::upper_bound(pieces, step, {},
                                         &std::pair<int64_t, double>::first);
    return std::prev(next)->second;
  }
  int64_t warm = warmup.value_or(0);
  double top = *value;
  if (step < warm) {
    double from = start.value_or(0);
    return from + (top - from) * (double(step) / double(warm));
  }
  int64_t past = step - warm;
  switch (kind) {
  case Kind::linear:
  case Kind::cosine: {
    double last = end.value_or(0);
    int64_t length = *steps - warm;
    past = std::min(past, length);
    double left = kind == Kind::linear
                      ? double(length - past) / double(length)
                      : 0.5 * (1 + cosineOfTurn(past, 2 * length));
    return last + (top - last) * left;
  }
  case Kind::exponential: {
    double decayed = top * portableExponential(portableLogarithm(*rate) *
                                               (double(past) / double(*steps)));
    if (!end)
      return decayed;
    return *rate < 1 ? std::max(decayed, *end) : std::min(decayed, *end);
  }
  case Kind::constant:
  case Kind::piecewise:
    return top;
  }
  return top;
}

std::string Schedule::text() const {
  std::string parameters;
  auto add = [&](std::string_view key, const std::string &number) {
    parameters +=
        (parameters.empty() ? ":" : ",") + std::string(key) + "=" + number;
  };
  auto addNumber = [&](std::string_view key,
                       const std::optional<double> &number) {
    if (number)
      add(key, numberText(*number));
  };
  addNumber("value", value);
  if (warmup)
    add("warmup", std::to_string(*warmup));
  addNumber("start", start);
  if (steps)
    add("steps", std::to_string(*steps));
  addNumber("end", end);
  addNumber("rate", rate);
  for (auto [from, number] : pieces)
    add(std::to_string(from), numberText(number));
  return std::string(hasWarmup ? warmupPrefix : "") +
         std::string(std::ranges::find(shapes, kind, &Shape::kind)->name) +
         parameters;
}
