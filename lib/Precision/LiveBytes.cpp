//===- LiveBytes.cpp - What is in memory while kernels run ----------------===//
//
// See LiveBytes.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/LiveBytes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace tenon;
using namespace tenon::precision;

/// The largest share of f32's bytes that 16 bits leave.
static constexpr double leastShare = 0.5;

LiveBytes::LiveBytes(llvm::ArrayRef<PlannedKernel> kernels) {
  std::set<Key> read;
  for (const PlannedKernel &kernel : kernels)
    for (const Traffic &moved : kernel.reads)
      read.insert(keyOf(moved));
  std::vector<Interval> intervals;
  std::map<Key, size_t> latest; // interval
  auto extend = [&](const Traffic &moved, size_t runs, bool isMade) {
    const Key key = keyOf(moved);
    if (moved.operation < 0 || !read.count(key))
      return;
    auto [entry, isNew] = latest.try_emplace(key, intervals.size());
    // What is computed again is another one.
    if (isNew || isMade) {
      entry->second = intervals.size();
      intervals.push_back({key, runs, runs, 0});
    }
    Interval &interval = intervals[entry->second];
    interval.last = std::max(interval.last, runs);
    interval.bytes = std::max(interval.bytes, moved.wholeBytes);
  };
  for (auto [index, kernel] : llvm::enumerate(kernels)) {
    auto made = llvm::concat<const Traffic>(kernel.writes, kernel.copies);
    // What no kernel reads leaves the step, such as an update; that runs as
    // soon as what it reads is there, wherever it stands.
    const bool leaves = llvm::none_of(
        made, [&](const Traffic &moved) { return read.count(keyOf(moved)); });
    size_t runs = leaves ? 0 : index;
    for (const Traffic &moved : kernel.reads)
      if (auto found = latest.find(keyOf(moved)); found != latest.end())
        runs = std::max(runs, intervals[found->second].first);
    for (const Traffic &moved : kernel.reads)
      extend(moved, runs, /*isMade=*/false);
    for (const Traffic &moved : made)
      extend(moved, runs, /*isMade=*/true);
  }
  std::vector<double> changes(kernels.size() + 1);
  for (const Interval &interval : intervals) {
    changes[interval.first] += interval.bytes;
    changes[interval.last + 1] -= interval.bytes;
  }
  std::vector<double> live;
  double now = 0;
  for (size_t index = 0; index < kernels.size(); ++index)
    live.push_back(now += changes[index]);
  highest = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
  // Kernels before each that run at moments that count.
  std::vector<size_t> before{0};
  for (double bytes : live)
    before.push_back(before.back() + (bytes > leastShare * highest));
  for (const Interval &interval : intervals)
    if (before[interval.last + 1] > before[interval.first])
      high.insert(interval.key);
}

bool LiveBytes::isHigh(const Traffic &moved) const {
  return high.count(keyOf(moved)) != 0;
}
