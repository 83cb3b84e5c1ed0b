//===- ProgressLine.cpp - How far a run is, in one line -------------------===//
//
// See ProgressLine.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ProgressLine.h"

#include <cmath>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace tenon::tool;

static std::string formatted(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

/// 75 is 1:15, 3675 is 1:01:15.
static std::string clockText(double seconds) {
  auto left = int64_t(std::ceil(std::min(seconds, 1e9)));
  char text[64];
  if (left >= 3600)
    std::snprintf(text, sizeof(text), "%ld:%02ld:%02ld", long(left / 3600),
                  long(left / 60 % 60), long(left % 60));
  else
    std::snprintf(text, sizeof(text), "%ld:%02ld", long(left / 60),
                  long(left % 60));
  return text;
}

std::string tenon::tool::progressText(const Progress &progress) {
  std::string text = "step " + std::to_string(progress.step);
  if (progress.goal)
    text += "/" + std::to_string(*progress.goal);
  for (const auto &[name, value] : progress.results)
    text += "  " + name + " " + value;
  if (progress.smoothed)
    text += "  smoothed " + formatted("%.5g", *progress.smoothed);
  text += "  " + formatted("%.1f", progress.stepsPerSecond) + " steps/s";
  if (progress.itemsPerSecond > 0)
    text += "  " + formatted("%.0f", progress.itemsPerSecond) + " " +
            progress.items + "/s";
  if (progress.secondsLeft)
    text += "  " + clockText(*progress.secondsLeft) + " left";
  return text;
}

ProgressLine::ProgressLine(bool mayOverwrite)
    : isTerminal(mayOverwrite && isatty(STDOUT_FILENO) == 1) {}

bool ProgressLine::isDue(double seconds) const {
  return seconds - last > (isTerminal ? 0.2 : 1);
}

void ProgressLine::show(const Progress &progress, double seconds) {
  last = seconds;
  std::string text = progressText(progress);
  if (!isTerminal) {
    std::printf("%s\n", text.c_str());
  } else {
    // A line that wraps could not be written over.
    winsize size = {};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 &&
        text.size() >= size.ws_col)
      text.resize(size.ws_col - 1);
    std::printf("\r%s\x1b[K", text.c_str());
    isOpen = true;
  }
  std::fflush(stdout);
}

void ProgressLine::finish() {
  if (!isOpen)
    return;
  std::printf("\n");
  std::fflush(stdout);
  isOpen = false;
}

void SmoothedValue::add(double value) {
  constexpr double kept = 0.98;
  if (!std::isfinite(value))
    return;
  sum = kept * sum + (1 - kept) * value;
  weight = kept * weight + (1 - kept);
}

std::optional<double> SmoothedValue::value() const {
  return weight > 0 ? std::optional(sum / weight) : std::nullopt;
}
